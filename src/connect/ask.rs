//! Asking a user to connect: an elicitation is made, or the open one for the same question is used again.

use crate::{
    app::App,
    connection::Connection,
    elicitation::{Elicitation, ElicitationId, NewElicitation, ProviderId, ServerId, State},
    scope::Scopes,
    store::Created,
    subject::Subject,
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
    /// Whether the client is of the legacy era.
    pub legacy: bool,
    /// The caller's reference; empty when none.
    pub client_ref: String,
    /// The client's name.
    pub client_name: Option<String>,
    /// The MCP server's words.
    pub message: Option<String>,
}

/// Makes the elicitation. Which satisfying grant it saw is recorded, so that a connection that comes later completes
/// it and one that was there does not.
///
/// # Errors
/// The store's.
pub async fn ask(app: &App, question: Question, existing: Option<&Connection>) -> Result<Created, Refusal> {
    let now = app.clock.now();
    let seen = existing.filter(|one| one.satisfies(&question.scopes, now));
    let new = NewElicitation {
        id: ElicitationId(app.random.uuid()),
        server: question.server,
        owner: question.owner,
        provider: question.provider,
        scopes: question.scopes,
        legacy: question.legacy,
        client_ref: question.client_ref,
        client_name: question.client_name,
        message: question.message,
        seen: seen.map(Connection::as_grant),
        expires_at: now.plus(app.settings.lifetimes.elicitation),
    };
    let created = app.store.create(&new, now).await?;
    app.metrics.elicitation_made(created.is_new);
    Ok(created)
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

async fn satisfy(app: &App, found: &Elicitation) -> Result<bool, Refusal> {
    let now = app.clock.now();
    let existing = app.store.connection_for(&found.server, &found.owner, &found.provider).await?;
    let Some(existing) = existing.filter(|one| one.satisfies(&found.scopes, now)) else { return Ok(false) };
    if found.seen == Some(existing.as_grant()) {
        return Ok(false);
    }
    Ok(app.store.satisfy(found, existing.as_grant(), now).await?)
}

/// The link that the user opens; it holds the id and nothing else (R6).
pub fn link(app: &App, id: ElicitationId) -> String {
    app.settings.public_url.join(&format!("/connect?elicitationId={id}"))
}
