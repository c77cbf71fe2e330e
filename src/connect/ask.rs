//! Asking a user to connect: an elicitation is made, or the open one for the same question is used again.

use consentry_elicitation::Ask;

use crate::{
    app::App,
    connection::Connection,
    credential::home::seen_now,
    elicitation::{Elicitation, ElicitationId, NewElicitation, ProviderId, ServerId, State},
    scope::Scopes,
    store::{Created, CreatedOnce, Idempotency},
    subject::Subject,
    values::Values,
};

use super::Refusal;

/// A question to a user, from a caller that was authenticated.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who asks.
    pub server: ServerId,
    /// Who is asked.
    pub owner: Subject,
    /// What is wanted.
    pub provider: ProviderId,
    /// With which permissions; within the provider's `allowed_scopes`.
    pub scopes: Scopes,
    /// The provider's variables, as the caller gives them: checked.
    pub values: Values,
    /// Whether the client is of the legacy era.
    pub legacy: bool,
    /// The caller's reference; empty when none.
    pub client_ref: String,
    /// The client's name.
    pub client_name: Option<String>,
    /// The MCP server's words.
    pub message: Option<String>,
}

/// A question that was prepared, with the id that its elicitation gets when it is new.
#[derive(Clone, Debug)]
pub struct Prepared(NewElicitation);

impl Question {
    /// Notes which satisfying grant there is already, so that a connection that comes later completes the elicitation
    /// and one that was there does not.
    pub fn prepare(self, app: &App, existing: Option<&Connection>) -> Prepared {
        let now = app.clock.now();
        let seen = existing.filter(|one| one.suits(&self.scopes, &self.values, now));
        Prepared(NewElicitation {
            id: ElicitationId(app.random.uuid()),
            server: self.server,
            owner: self.owner,
            provider: self.provider,
            scopes: self.scopes,
            values: self.values,
            typed: Values::default(),
            legacy: self.legacy,
            client_ref: self.client_ref,
            client_name: self.client_name,
            message: self.message,
            seen: seen.map(Connection::as_grant),
            expires_at: now.plus(app.settings.lifetimes.elicitation),
            restart_of: None,
        })
    }
}

/// Makes the elicitation.
///
/// # Errors
/// The store's.
pub async fn ask(app: &App, question: &Prepared) -> Result<Created, Refusal> {
    let created = app.store.create(&question.0, app.clock.now()).await?;
    app.metrics.elicitation_made(created.is_new);
    Ok(created)
}

/// Makes the elicitation under an idempotency key (R112).
///
/// # Errors
/// The store's.
pub async fn ask_once(
    app: &App,
    question: &Prepared,
    idempotency: Idempotency,
) -> Result<CreatedOnce, Refusal> {
    let created = app.store.create_once(&question.0, idempotency, app.clock.now()).await?;
    if let CreatedOnce::Now(created) = &created {
        app.metrics.elicitation_made(created.is_new);
    }
    Ok(created)
}

/// The open elicitation that asking would give again, found without a write.
///
/// # Errors
/// The store's.
pub async fn asked_before(app: &App, question: &Prepared) -> Result<Option<Elicitation>, Refusal> {
    let found = app.store.open_like(&question.0, app.clock.now()).await?;
    if found.is_some() {
        app.metrics.elicitation_made(false);
    }
    Ok(found)
}

/// Reads an elicitation for the API: one that ran out is closed with its signal, and one that a connection came to
/// satisfy without it is completed, so that neither hangs.
///
/// # Errors
/// [`Refusal::NotFound`], also for another MCP server's; the store's.
pub async fn read(app: &App, server: &ServerId, id: ElicitationId) -> Result<Elicitation, Refusal> {
    let now = app.clock.now();
    let found = app.store.elicitation_of(server, id).await?.ok_or(Refusal::NotFound)?;
    let moved = match found.state(now) {
        State::Expired if found.stored.is_open() => app.store.expire(id, now).await?,
        State::Pending | State::Authorizing => satisfy(app, &found).await?,
        _ => false,
    };
    if !moved {
        return Ok(found);
    }
    app.store.elicitation_of(server, id).await?.ok_or(Refusal::NotFound)
}

/// Completes an open elicitation that a connection came to satisfy without it. False when none does.
///
/// # Errors
/// The store's.
pub async fn satisfy(app: &App, found: &Elicitation) -> Result<bool, Refusal> {
    let now = app.clock.now();
    let existing = app.store.connection_for(&found.server, &found.owner, &found.provider).await?;
    let existing = existing.map(|one| seen_now(app, one));
    let Some(existing) = existing.filter(|one| one.suits(&found.scopes, &found.values, now)) else {
        return Ok(false);
    };
    if found.seen == Some(existing.as_grant()) {
        return Ok(false);
    }
    Ok(app.store.satisfy(found, existing.as_grant(), now).await?)
}

/// The link as the choice of a reply sees it; with `message` in place of the elicitation's own.
///
/// # Errors
/// When the link is no URL, which is a mistake of ours.
pub fn as_ask(app: &App, asked: &Elicitation, message: Option<&str>) -> Result<Ask, url::ParseError> {
    let name = app.provider_name(&asked.provider);
    let ask = Ask::new(asked.provider.as_str(), name, asked.id.to_string(), link(app, asked.id).parse()?);
    Ok(ask.message(message.or(asked.message.as_deref()).unwrap_or_default()))
}

/// The link that the user opens; it holds the id and nothing else (R6).
pub fn link(app: &App, id: ElicitationId) -> String {
    app.settings.public_url.join(&format!("/connect?elicitationId={id}"))
}
