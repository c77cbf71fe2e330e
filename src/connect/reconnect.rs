//! The person asks themselves, on their connections page: for a connection that no longer works, or for the
//! permissions that it lacks.

use crate::{
    app::App,
    connection::{Connection, OwnConnection},
    elicitation::{ElicitationId, NewElicitation, OWN_REF},
    scope::Scopes,
    values::Values,
};

use super::Refusal;

/// Makes the question, or finds the one that is open already, for everything that was ever asked for and may still be.
///
/// # Errors
/// [`Refusal::ProviderGone`] when nobody could answer it; the store's.
pub async fn reconnect(app: &App, mine: &OwnConnection) -> Result<ElicitationId, Refusal> {
    let now = app.clock.now();
    let existing = mine.connection();
    let scopes = worth_asking(app, existing).ok_or(Refusal::ProviderGone)?;
    let seen = existing.satisfies(&scopes, now).then(|| existing.as_grant());
    let new = NewElicitation {
        id: ElicitationId(app.random.uuid()),
        server: existing.server.clone(),
        owner: existing.owner.clone(),
        provider: existing.provider.clone(),
        scopes,
        values: Values::default(),
        typed: Values::default(),
        legacy: false,
        client_ref: OWN_REF.to_owned(),
        client_name: None,
        message: None,
        seen,
        expires_at: now.plus(app.settings.lifetimes.elicitation),
        restart_of: None,
    };
    let created = app.store.create(&new, now).await?;
    app.metrics.elicitation_made(created.is_new);
    Ok(created.elicitation.id)
}

/// What a person can be asked for to mend a connection; none when its provider or MCP server was removed, and for what is
/// done on a page: there is nothing to mend, and the MCP server alone knows what for it would be done again.
pub fn worth_asking(app: &App, connection: &Connection) -> Option<Scopes> {
    let provider = app.may_ask(&connection.server, &connection.provider)?;
    if provider.hosted_page().is_some() {
        return None;
    }
    let all = connection.granted.union(&connection.asked);
    let allowed = all.without(&all.without(&provider.allowed_scopes()));
    Some(if allowed.is_empty() { provider.scopes() } else { allowed })
}
