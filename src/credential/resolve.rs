//! The one call a tool needs: is there a credential for this user, and may it be handed out?

use std::time::Duration;

use crate::{
    app::App,
    audit::Actor,
    clock::Millis,
    connect::Refusal,
    connection::Connection,
    elicitation::{ProviderId, ServerId},
    provider::ProviderError,
    scope::Scopes,
    store::StoreError,
    subject::Subject,
    telemetry::{Lookup, SecurityEvent},
    values::Values,
    vault::OpenError,
};

use super::{
    Credential,
    home::settle_now,
    open,
    refresh::{Ending, Finish, Need, need},
};

/// Refreshes that one call waits for; each but the last was another's, or came to nothing.
const ROUNDS: u32 = 5;
/// The least that a caller is asked to wait, and what when nobody knows.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// The most: what is held back after a restore has no time at which it goes on.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// What a tool wants.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Of which provider.
    pub provider: ProviderId,
    /// With which permissions; within the provider's `allowed_scopes`.
    pub scopes: Scopes,
    /// Variables of its addresses, as the caller gives them: a connection that was made with others does not do.
    pub values: Values,
}

/// What there is.
#[derive(Debug)]
pub enum Resolved {
    /// A credential to hand out.
    Ready {
        /// The connection that it is of.
        connection: Box<Connection>,
        /// What it holds, opened.
        credential: Credential,
        /// What was wanted, asked for once, and not granted.
        missing: Scopes,
    },
    /// The user must be asked; with the connection that does not do, if there is one.
    Missing(Option<Box<Connection>>),
}

/// Looks the user's connection up and opens it if it will do. One round trip and no write; a token that has run out is
/// refreshed first, one that soon will behind the answer.
///
/// # Errors
/// The store's; [`Refusal::Unreadable`] when the sealed value does not open; [`Refusal::Provider`] with how long to wait
/// when the token has run out and the provider gives no other.
pub async fn resolve(
    app: &App,
    server: &ServerId,
    owner: &Subject,
    wanted: &Wanted,
) -> Result<Resolved, Refusal> {
    let resolved = look_up(app, server, owner, wanted).await;
    app.metrics.credential_lookup(match &resolved {
        Ok(Resolved::Ready { .. }) => Lookup::Ready,
        Ok(Resolved::Missing(_)) => Lookup::Missing,
        Err(_) => Lookup::Failed,
    });
    resolved
}

async fn look_up(
    app: &App,
    server: &ServerId,
    owner: &Subject,
    wanted: &Wanted,
) -> Result<Resolved, Refusal> {
    let deadline = app.clock.now().plus(app.settings.refresh.wait);
    let mut before = None;
    for _ in 0..ROUNDS {
        let now = app.clock.now();
        let found = app.store.connection_to_hand_out(server, owner, &wanted.provider).await?;
        let Some(connection) = found else { return Ok(Resolved::Missing(None)) };
        let connection = settle_now(app, connection).await?;
        if !connection.values.hold(&wanted.values) {
            return Ok(Resolved::Missing(Some(Box::new(connection))));
        }
        if !connection.is_settled(&wanted.scopes) {
            return Ok(Resolved::Missing(Some(Box::new(connection))));
        }
        match need(&connection, now) {
            Need::Nothing if connection.is_usable(now) => return hand_out(app, connection, wanted),
            Need::Nothing => return Ok(Resolved::Missing(Some(Box::new(connection)))),
            Need::Behind => {
                // A process that is about to end begins nothing that can wait.
                if app.shutdown.is_cancelled() {
                    return hand_out(app, connection, wanted);
                }
                drop(app.refreshes.join(app, connection.id, connection.generation));
                return hand_out(app, connection, wanted);
            }
            // It was made a moment ago: by the clocks that disagree it has run out, by the provider's it has not.
            Need::First if is_new(&connection, before) => return hand_out(app, connection, wanted),
            Need::First => {}
        }
        if let Some(at) = connection.next_attempt_at.filter(|at| *at > now) {
            return Err(unavailable(now, at));
        }
        before = Some(connection.generation);
        let flight = app.refreshes.join(app, connection.id, connection.generation);
        tokio::select! {
            ending = flight.end() => judge(app.clock.now(), ending)?,
            () = app.clock.sleep_until(deadline) => return Err(unavailable(deadline, deadline)),
        }
    }
    Err(unavailable(deadline, deadline))
}

fn is_new(connection: &Connection, before: Option<i64>) -> bool {
    before.is_some_and(|before| connection.generation > before)
        && connection.refused_generation != Some(connection.generation)
}

fn hand_out(app: &App, connection: Connection, wanted: &Wanted) -> Result<Resolved, Refusal> {
    let credential = open(&app.vault, &connection).inspect_err(|_| {
        app.security_event(SecurityEvent::SealedValueUnreadable, Actor::Server, &connection);
    })?;
    let missing = wanted.scopes.without(&connection.granted);
    Ok(Resolved::Ready { connection: Box::new(connection), credential, missing })
}

/// Whether it is worth another look.
fn judge(now: Millis, ending: Option<Ending>) -> Result<(), Refusal> {
    let away = |what| Err(Refusal::Store(StoreError::Unavailable(what)));
    let Some(Ending { finish, unreadable }) = ending else { return away("a refresh broke off") };
    match finish {
        Finish::Renewed
        | Finish::Moved
        | Finish::Fenced
        | Finish::GaveBack
        | Finish::Ended(_)
        | Finish::Busy => Ok(()),
        Finish::Failed { next_attempt_at, .. } => Err(unavailable(now, next_attempt_at.unwrap_or(now))),
        Finish::Later(at) | Finish::Paused(at) => Err(unavailable(now, at)),
        Finish::Unreadable => Err(Refusal::Unreadable(unreadable.unwrap_or(OpenError::Refused))),
        Finish::StoreAway => away("it did not take a refresh"),
        Finish::Drained => away("this process is about to end"),
    }
}

/// An outage: never a reason to ask the person.
fn unavailable(now: Millis, at: Millis) -> Refusal {
    let wait = now.until(at).clamp(SHORTEST_WAIT, LONGEST_WAIT);
    Refusal::Provider(ProviderError::Unreachable { maybe_sent: false, retry_after: Some(wait) })
}
