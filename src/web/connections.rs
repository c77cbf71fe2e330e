//! `/connections`: what a person has connected at one MCP server's issuer, and disconnecting it.

use axum::{extract::RawQuery, response::Response};
use futures_util::future::try_join;
use time::OffsetDateTime;

use crate::{
    clock::Millis,
    connect::Refusal,
    connection::{Connection, ConnectionId, Status},
    credential::{self, Revocation},
    elicitation::ServerId,
    store::{ConnectionFilter, Visitor},
};

use super::{
    csrf,
    here::{Here, see_other},
    pages::{self, Away, Bad, Label, Standing},
    parameters::{ParameterError, Parameters},
    segments::{Body, Segments},
};

/// More than anybody has; the page says nothing of a second one.
const LISTED_MAX: u32 = 200;

/// `GET /connections?server={id}`.
pub async fn list(here: Here, RawQuery(query): RawQuery) -> Response {
    let Ok(parameters) = Parameters::query(query.as_deref()) else { return here.bad(Bad::Malformed) };
    let server = parameters.get("server").and_then(|id| id.parse::<ServerId>().ok());
    let Some(server) = server.and_then(|id| here.app.server(&id).cloned()) else { return here.not_found() };
    let Some(issuer) = here.app.issuer_of(&server).map(str::to_owned) else { return here.not_found() };
    let visitor = match here.visitor_of(&issuer).await {
        Ok(visitor) => visitor,
        Err(error) => return here.store_trouble(&error),
    };
    let Some((visitor, subject)) = visitor.and_then(|one| one.subject.clone().map(|subject| (one, subject)))
    else {
        return here.show(&pages::SignIn {
            frame: here.frame(),
            purpose: pages::SignInFor::Connections(Label::new(&server.name)),
            authority: here
                .app
                .identity
                .by_issuer(&issuer)
                .and_then(|one| one.name.as_deref())
                .map(Label::new),
            sign_in: format!("/sign-in?server={}", server.id),
        });
    };
    // Everything at this issuer, whichever MCP server uses it: they are all the person's own.
    let filter =
        ConnectionFilter { issuer: Some(&issuer), sub: Some(&subject.sub), ..ConnectionFilter::default() };
    let store = &here.app.store;
    match try_join(store.connections(filter, LISTED_MAX), store.last_uses(filter, LISTED_MAX)).await {
        Ok((connections, used)) => here.show(&pages::Connections {
            frame: here.frame_of(&visitor),
            listed: connections.iter().map(|one| here.listed(one, used.get(&one.id).copied())).collect(),
        }),
        Err(error) => here.store_trouble(&error),
    }
}

/// `POST /connections/{id}/disconnect`. Another person's connection is not found, like an unknown one.
pub async fn disconnect(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let Ok(id) = id.parse::<ConnectionId>() else { return here.not_found() };
    let form = match Parameters::form(&here.headers, &body) {
        Ok(form) => form,
        Err(ParameterError::MediaType) => return here.bad(Bad::MediaType),
        Err(ParameterError::Twice | ParameterError::Encoding) => return here.bad(Bad::Malformed),
    };
    let found = match here.app.store.any_connection(id).await {
        Ok(found) => found,
        Err(error) => return here.store_trouble(&error),
    };
    let Some(session) = here.session() else { return here.not_found() };
    if csrf::check(&here.app, &here.headers, &session, form.get(csrf::FIELD)).is_err() {
        return here.bad(Bad::FromElsewhere);
    }
    let Some(found) = found else { return here.not_found() };
    let visitor = match here.visitor_of(&found.owner.issuer).await {
        Ok(visitor) => visitor,
        Err(error) => return here.store_trouble(&error),
    };
    let Some(visitor) = visitor else { return see_other(&format!("/connections?server={}", found.server)) };
    if visitor.subject.as_ref() != Some(&found.owner) {
        return here.not_found();
    }
    let removed = credential::disconnect(&here.app, &found.server, id, "disconnected_by_user").await;
    match removed {
        Ok(None) => see_other(&format!("/connections?server={}", found.server)),
        Ok(Some(removed)) => {
            let revocation = removed.revocation(&here.app).await;
            here.disconnected(&visitor, &found, revocation)
        }
        Err(Refusal::Store(error)) => here.store_trouble(&error),
        Err(refusal) => {
            tracing::error!(reference = here.reference, error = %refusal, "a connection could not be removed");
            here.show(&pages::ServerError { frame: here.frame() })
        }
    }
}

impl Here {
    fn listed(&self, connection: &Connection, last_used_at: Option<Millis>) -> pages::Listed {
        let provider = self.app.providers.get(&connection.provider);
        let words = |scope: &str| {
            let known = provider.as_ref().and_then(|provider| provider.scope_words.get(scope));
            Label::new(known.map_or(scope, String::as_str))
        };
        let partly = !connection.granted.covers(&connection.asked);
        pages::Listed {
            provider: self.provider_name(connection),
            account: account_of(connection),
            server: self.server_name(connection),
            standing: match (connection.status, partly) {
                (Status::Active, _) if !connection.is_alive(self.app.clock.now()) => Standing::NeedsReconnect,
                (Status::Active, false) => Standing::Active,
                (Status::Active, true) => Standing::Limited,
                (Status::NeedsReconnect, _) => Standing::NeedsReconnect,
                (Status::Quarantined, _) => Standing::Quarantined,
            },
            permissions: connection
                .granted
                .iter()
                .map(|scope| pages::Permission { words: words(scope), technical: Label::new(scope) })
                .collect(),
            connected_at: moment(connection.created_at),
            last_used_at: last_used_at.map(moment),
            ends_at: connection.refresh_expires_at.map(moment),
            disconnect: self.post(format!("/connections/{}/disconnect", connection.id)),
        }
    }

    fn disconnected(&self, visitor: &Visitor, gone: &Connection, revocation: Revocation) -> Response {
        let provider = self.app.providers.get(&gone.provider);
        self.show(&pages::Disconnected {
            frame: self.frame_of(visitor),
            provider: self.provider_name(gone),
            account: account_of(gone),
            server: self.server_name(gone),
            revocation: match revocation {
                Revocation::Confirmed => pages::Revocation::Confirmed,
                Revocation::Pending => pages::Revocation::Pending,
                Revocation::Impossible => pages::Revocation::Impossible,
                Revocation::Shared => pages::Revocation::Shared,
            },
            settings: provider.and_then(|provider| provider.manage_url.clone()).and_then(Away::new),
            connections: format!("/connections?server={}", gone.server),
        })
    }

    fn provider_name(&self, connection: &Connection) -> Label {
        let provider = self.app.providers.get(&connection.provider);
        Label::new(provider.as_deref().map_or(connection.provider.as_str(), |provider| &provider.name))
    }

    fn server_name(&self, connection: &Connection) -> Label {
        let server = self.app.server(&connection.server);
        Label::new(server.map_or(connection.server.as_str(), |server| &server.name))
    }
}

fn account_of(connection: &Connection) -> Label {
    let account = &connection.account;
    Label::new(account.label.as_deref().or(account.id.as_deref()).unwrap_or_default())
}

fn moment(at: Millis) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(at.seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}
