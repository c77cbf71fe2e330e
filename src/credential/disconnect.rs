//! Disconnecting: local first and final, then the provider is told.
//!
//! From the store's commit on nothing hands the credential out, and nothing that was under way brings it back. What
//! the provider is to be told is queued in the same commit, so that it is told whatever becomes of this process. What
//! it says changes nothing of the rest. The one thing before the commit is a refresh, where nothing but a live access token
//! ends the grant.

use std::time::Duration;

use crate::{
    app::App,
    audit::Actor,
    clock::Millis,
    connect::Refusal,
    connection::{Connection, ConnectionId},
    elicitation::ServerId,
    provider::fingerprint,
    revocation::{Hint, NewRevocation, RevocationId, State},
    secret::Secret,
    store::StoreError,
    telemetry::SecurityEvent,
    vault::OpenError,
};

use super::{
    REVOCATION_CLAIM, Unwanted,
    home::Home,
    open_access,
    refresh::{Need, need},
    revoke,
};

/// How long a page waits for the provider's word.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the store is asked when no wake-up comes.
const POLL: Duration = Duration::from_secs(1);

/// What the provider knows of a disconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// It has confirmed that the access ended.
    Confirmed,
    /// Not yet; it is tried again for some days.
    Pending,
    /// It has no way to be told.
    Impossible,
    /// Not told, because the stored credential did not open.
    Unreadable,
    /// Not told, because the settings do not have it any more.
    Unconfigured,
    /// Not told, because that would end another connection with the same account too.
    Shared,
}

/// A connection that is no more.
#[derive(Debug)]
pub struct Removed {
    /// What was removed.
    pub connection: Connection,
    /// What is queued for the provider, or why nothing is.
    queued: Result<RevocationId, Revocation>,
}

/// Removes a connection of an MCP server. `None` when it is not there. A running server tells the provider;
/// [`Removed::revocation`] does it at once.
///
/// # Errors
/// The store's; then nothing was removed.
pub async fn disconnect(
    app: &App,
    server: &ServerId,
    id: ConnectionId,
    reason: &str,
) -> Result<Option<Removed>, Refusal> {
    freshen(app, server, id).await?;
    let mut why = Revocation::Impossible;
    let to_revoke = |connection: &Connection| {
        to_revoke(app, connection).map_err(|because| why = because).unwrap_or_default()
    };
    let gone = app.store.disconnect(server, id, reason, to_revoke, app.clock.now()).await?;
    Ok(gone.map(|gone| Removed { connection: gone.connection, queued: gone.revocation.ok_or(why) }))
}

/// Where only an access token ends the grant, one that has run out ends nothing: it is refreshed first, as for anybody who
/// wants to use it, while the connection is still there. So nothing can bring it back afterwards. A provider that does not
/// do it in time holds nothing up.
async fn freshen(app: &App, server: &ServerId, id: ConnectionId) -> Result<(), StoreError> {
    let Some(connection) = app.store.connection(server, id).await? else { return Ok(()) };
    let provider = Home::of_connection(app, &connection).provider();
    let by_access_token = provider.is_some_and(|provider| provider.revokes_by_access_token());
    if !by_access_token || connection.is_taken_out() || need(&connection, app.clock.now()) != Need::First {
        return Ok(());
    }
    let flight = app.refreshes.join(app, id, connection.generation);
    tokio::select! {
        _ = flight.end() => {}
        () = app.clock.sleep(PATIENCE) => {}
    }
    Ok(())
}

impl Removed {
    /// Sees to it that the provider is told now, and waits a little for its word.
    pub async fn revocation(self, app: &App) -> Revocation {
        let id = match self.queued {
            Ok(id) => id,
            Err(why) => return why,
        };
        let work = app.clone();
        // Whoever hangs up must not cut a request.
        app.tasks.spawn(async move { now(&work, id).await });
        let until = app.clock.now().plus(PATIENCE);
        word(app, id, until).await.unwrap_or_else(|error| {
            tracing::warn!(revocation = %id, %error, "what became of it could not be read");
            Revocation::Pending
        })
    }
}

/// Works on it, unless another worker has it.
async fn now(app: &App, id: RevocationId) {
    let now = app.clock.now();
    match app.store.claim_revocation(id, now, now.plus(REVOCATION_CLAIM)).await {
        Ok(Some(claimed)) => revoke(app, &claimed).await,
        Ok(None) => {}
        Err(error) => tracing::warn!(revocation = %id, %error, "it is left to the next round"),
    }
}

async fn word(app: &App, id: RevocationId, until: Millis) -> Result<Revocation, StoreError> {
    // Before the first look, or what is stored in between wakes nobody.
    let mut woken = app.store.revocations_tried();
    loop {
        let standing = app.store.revocation_standing(id).await?;
        match standing.map(|it| (it.state, it.failed)) {
            Some((State::Confirmed, _)) => return Ok(Revocation::Confirmed),
            Some((State::Impossible, _)) => return Ok(Revocation::Impossible),
            Some((State::Shared, _)) => return Ok(Revocation::Shared),
            Some((State::Due, false)) => {}
            Some((State::Due, true) | (State::Dead, _)) | None => return Ok(Revocation::Pending),
        }
        let now = app.clock.now();
        if now >= until || app.shutdown.is_cancelled() {
            return Ok(Revocation::Pending);
        }
        tokio::select! {
            _ = woken.changed() => {}
            () = app.clock.sleep_until(until.min(now.plus(POLL))) => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}

/// What the provider is told of a connection that is removed, or whose account gives way to another, or why it is told
/// nothing.
pub(crate) fn to_revoke(app: &App, connection: &Connection) -> Result<Vec<NewRevocation>, Revocation> {
    let provider = match Home::of_connection(app, connection) {
        Home::Same(provider) | Home::Unsaid(provider) => provider,
        // To another place than the one that it is for, nothing is sent (R63).
        Home::Changed => return Err(Revocation::Unconfigured),
        Home::Gone => {
            return Err(match app.connectable(&connection.provider) {
                // A key is ended where it was made, by whoever made it.
                Some(_) => Revocation::Impossible,
                None => Revocation::Unconfigured,
            });
        }
    };
    let opened = tokens(app, connection, provider.revokes_by_access_token()).inspect_err(|error| {
        app.security_event(SecurityEvent::SealedValueUnreadable, Actor::Program, connection);
        tracing::error!(connection = %connection.id, %error, "a removed credential does not open");
    });
    let place = fingerprint(&provider);
    let sealed =
        |(token, hint): &(Secret, Hint)| Unwanted::of(connection, token, *hint, Some(place)).seal(app);
    let opened = opened.map_err(|_| Revocation::Unreadable)?;
    Ok(opened.iter().map(sealed).collect())
}

/// The refresh token where there is one: revoking it ends what was made from it (RFC 7009, section 2.1). A provider with
/// a way of its own may want the access token. Then the further tokens of the grant, each in the same way.
fn tokens(app: &App, connection: &Connection, by_access: bool) -> Result<Vec<(Secret, Hint)>, OpenError> {
    let access = open_access(&app.vault, connection);
    let mut all = Vec::new();
    match connection.refresh.as_ref().filter(|_| !by_access) {
        Some(sealed) => {
            let token = app.vault.open(&connection.place("refresh"), sealed)?.into_secret();
            all.push((token.ok_or(OpenError::Malformed)?, Hint::Refresh));
        }
        None => all.push((access.clone()?.token, Hint::Access)),
    }
    for slot in access.iter().flat_map(|access| access.slots.values()) {
        let (token, hint) = slot.to_revoke(by_access);
        all.push((token.clone(), hint));
    }
    Ok(all)
}
