//! On `expired`: the same question again, for the same person, as a new elicitation.

use crate::{
    app::App,
    elicitation::{ElicitationId, NewElicitation, State},
};

use super::{Refusal, open::Opened};

/// Makes the successor of an elicitation that ran out; its expiry is signalled first.
///
/// # Errors
/// [`Refusal::Moved`] when it did not run out; [`Refusal::ProviderGone`] when nobody could answer it.
pub async fn restart(app: &App, opened: &Opened) -> Result<ElicitationId, Refusal> {
    let now = app.clock.now();
    let old = opened.mine.elicitation();
    if old.state(now) != State::Expired {
        return Err(Refusal::Moved);
    }
    app.store.expire(old.id, now).await?;
    app.offers(&old.server, &old.provider).ok_or(Refusal::ProviderGone)?;
    let seen = opened.connection.as_ref().filter(|one| one.suits(&old.scopes, &old.values, now));
    let new = NewElicitation {
        id: ElicitationId(app.random.uuid()),
        server: old.server.clone(),
        owner: old.owner.clone(),
        provider: old.provider.clone(),
        scopes: old.scopes.clone(),
        values: old.values.clone(),
        typed: old.typed.clone(),
        legacy: old.legacy,
        client_ref: old.client_ref.clone(),
        client_name: old.client_name.clone(),
        message: old.message.clone(),
        seen: seen.map(crate::connection::Connection::as_grant),
        expires_at: now.plus(app.settings.lifetimes.elicitation),
        restart_of: Some(old.id),
    };
    Ok(app.store.create(&new, now).await?.elicitation.id)
}
