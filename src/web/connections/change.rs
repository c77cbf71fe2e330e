//! What a person changes on their connections page: disconnecting one, disconnecting all, connecting again.
//!
//! Each answers with a redirect to a page that is safe to reload (R45).

use axum::{body::Bytes, response::Response};
use futures_util::future::join_all;

use crate::{
    app::App,
    connect::{self, Refusal},
    connection::OwnConnection,
    credential,
    store::{StoreError, Visitor},
    web::{
        csrf,
        here::{Here, connect_path, see_other},
        pages::{self, Bad},
        parameters::{ParameterError, Parameters},
        segments::{Body, Segments},
    },
};

use super::{
    LISTED_MAX, Refused,
    gone::{Gone, One},
};

/// Why, in the signal and the record.
const REASON: &str = "disconnected_by_user";

/// `POST /connections/{id}/disconnect`. Another person's connection is not found, like an unknown one.
pub async fn disconnect(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let (visitor, mine) = match here.posted_own(&id, &body).await {
        Ok(posted) => posted,
        Err(response) => return *response,
    };
    match take_away(&here.app, &mine).await {
        Ok(Some(one)) => {
            let mut gone = Gone::default();
            gone.add(&mine.connection().owner, vec![one]);
            see_other(&here.gone_path(gone))
        }
        // Somebody else was faster, on another page of theirs say.
        Ok(None) => see_other("/connections"),
        Err(refusal) => here.not_removed(&refusal, &visitor),
    }
}

/// `POST /connections/disconnect-all`: everything that the page before has shown.
pub async fn disconnect_all(here: Here, Body(body): Body) -> Response {
    let form = match here.posted_form(&body).await {
        Ok(form) => form,
        Err(response) => return *response,
    };
    let Some(reach) = here.reach(form.get("server")) else { return here.not_found() };
    let row = match here.people().await {
        Ok(Some(row)) => row,
        Ok(None) => return see_other(&reach.path()),
        Err(error) => return here.store_trouble(&error),
    };
    let mut gone = Gone::default();
    for person in row.sign_ins.iter().filter(|one| reach.covers(&one.subject.issuer)) {
        let held = match here.app.store.connections_of(&person.subject, LISTED_MAX).await {
            Ok(held) => held,
            Err(error) => return here.store_trouble(&error),
        };
        let own = held.into_iter().filter_map(|held| held.connection.owned_by(&person.subject).ok());
        let own: Vec<OwnConnection> = own.collect();
        let removed = join_all(own.iter().map(|mine| take_away(&here.app, mine))).await;
        let mut list = Vec::new();
        for one in removed {
            match one {
                Ok(one) => list.extend(one),
                Err(refusal) => {
                    tracing::error!(reference = here.reference, error = %refusal, "a connection could not be removed");
                    gone.failed += 1;
                }
            }
        }
        gone.add(&person.subject, list);
    }
    if gone.is_empty() {
        return see_other(&reach.path());
    }
    see_other(&here.gone_path(gone))
}

/// `POST /connections/{id}/reconnect`: the question for everything that it lacks, to its owner.
pub async fn reconnect(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let (visitor, mine) = match here.posted_own(&id, &body).await {
        Ok(posted) => posted,
        Err(response) => return *response,
    };
    match connect::reconnect(&here.app, &mine).await {
        Ok(id) => see_other(&connect_path(id)),
        Err(Refusal::ProviderGone) => see_other(&format!("/connections/{}", mine.connection().id)),
        Err(refusal) => here.not_removed(&refusal, &visitor),
    }
}

/// Removes it, and waits a little for the provider's word. `None` when it was gone.
async fn take_away(app: &App, mine: &OwnConnection) -> Result<Option<One>, Refusal> {
    let connection = mine.connection();
    let Some(removed) = credential::disconnect(app, &connection.server, connection.id, REASON).await? else {
        return Ok(None);
    };
    Ok(Some(One::new(connection, removed.revocation(app).await)))
}

impl Here {
    /// What every post of these pages begins with: a session, and the token of its form.
    async fn posted_form(&self, body: &Bytes) -> Result<Parameters, Refused> {
        let form = Parameters::form(&self.headers, body).map_err(|error| {
            Box::new(self.bad(match error {
                ParameterError::MediaType => Bad::MediaType,
                ParameterError::Twice | ParameterError::Encoding => Bad::Malformed,
            }))
        })?;
        let Some(session) = self.session() else { return Err(Box::new(self.not_found())) };
        csrf::check(&self.app, &self.headers, &session, form.get(csrf::FIELD))
            .map_err(|_| Box::new(self.bad(Bad::FromElsewhere)))?;
        Ok(form)
    }

    async fn posted_own(&self, id: &str, body: &Bytes) -> Result<(Visitor, OwnConnection), Refused> {
        self.posted_form(body).await?;
        self.own(id).await
    }

    fn not_removed(&self, refusal: &Refusal, visitor: &Visitor) -> Response {
        if let Refusal::Store(error @ (StoreError::Unavailable(_) | StoreError::Corrupt { .. })) = refusal {
            return self.store_trouble(error);
        }
        tracing::error!(reference = self.reference, error = %refusal, "a connection could not be changed");
        self.show(&pages::ServerError { frame: self.frame_of(visitor) })
    }
}
