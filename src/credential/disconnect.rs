//! Disconnecting: local first and final, then the provider is told.
//!
//! From the store's commit on nothing hands the credential out, and nothing that was under way brings it back. What
//! the provider says changes nothing of that.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::{
    app::App,
    connect::Refusal,
    connection::{Connection, ConnectionId},
    elicitation::ServerId,
    provider::ProviderError,
    secret::Secret,
    telemetry::SecurityEvent,
    vault::OpenError,
};

use super::open_access;

/// Tries of one revocation, and the pauses between them.
const PAUSES: [Duration; 4] =
    [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(15), Duration::from_mins(1)];
/// How long a page waits for the provider's word.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the provider knows of a disconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// It has confirmed that the access ended.
    Confirmed,
    /// Not yet; it is tried again while this process lives.
    Pending,
    /// It has no way to be told.
    Impossible,
    /// Not told, because that would end another connection with the same account too.
    Shared,
}

/// A connection that is no more.
#[derive(Debug)]
pub struct Removed {
    /// What was removed.
    pub connection: Connection,
    /// Comes when the provider has answered.
    told: Telling,
}

#[derive(Debug)]
enum Telling {
    No(Revocation),
    Under(oneshot::Receiver<Revocation>),
}

/// Removes a connection of an MCP server. `None` when it is not there. The provider is told in a task of its own.
///
/// # Errors
/// The store's; then nothing was removed.
pub async fn disconnect(
    app: &App,
    server: &ServerId,
    id: ConnectionId,
    reason: &str,
) -> Result<Option<Removed>, Refusal> {
    let (work, server, reason) = (app.clone(), server.clone(), reason.to_owned());
    // Whoever hangs up after the commit must not keep the provider from being told.
    let removed = app.to_the_end(async move {
        let Some(gone) = work.store.disconnect(&server, id, &reason, work.clock.now()).await? else {
            return Ok(None);
        };
        let told = tell(&work, &gone.connection).await;
        Ok(Some(Removed { connection: gone.connection, told }))
    });
    removed.await.unwrap_or(Err(Refusal::Moved))
}

impl Removed {
    /// Waits a little for the provider's word.
    pub async fn revocation(self, app: &App) -> Revocation {
        match self.told {
            Telling::No(revocation) => revocation,
            Telling::Under(told) => tokio::select! {
                told = told => told.unwrap_or(Revocation::Pending),
                () = app.clock.sleep(PATIENCE) => Revocation::Pending,
            },
        }
    }
}

async fn tell(app: &App, connection: &Connection) -> Telling {
    let Connection { provider, account, owner, .. } = connection;
    match app.store.account_in_use(provider, account, owner).await {
        Ok(false) => {}
        Ok(true) => return Telling::No(Revocation::Shared),
        Err(error) => {
            // Removed it is; what else uses the account is not known, so that nothing is ended there.
            tracing::error!(connection = %connection.id, %error, "a revocation was not tried");
            return Telling::No(Revocation::Shared);
        }
    }
    let Some(provider) = app.providers.get(&connection.provider) else {
        return Telling::No(Revocation::Impossible);
    };
    let (token, hint) = match token(app, connection) {
        Ok(token) => token,
        Err(error) => {
            app.metrics.security_event(SecurityEvent::SealedValueUnreadable);
            tracing::error!(connection = %connection.id, %error, "a removed credential does not open");
            return Telling::No(Revocation::Impossible);
        }
    };
    let (tell, told) = oneshot::channel();
    let app = app.clone();
    app.tasks.clone().spawn(async move {
        let mut outcome = Revocation::Pending;
        for pause in PAUSES {
            tokio::select! {
                () = app.clock.sleep(pause) => {}
                () = app.shutdown.cancelled() => break,
            }
            match app.providers.revoke(&provider, &token, hint).await {
                Ok(()) => outcome = Revocation::Confirmed,
                Err(error @ (ProviderError::Misconfigured { .. } | ProviderError::Policy)) => {
                    tracing::warn!(provider = %provider.id, code = error.code(), "a revocation is impossible");
                    outcome = Revocation::Impossible;
                }
                Err(error) => {
                    tracing::warn!(provider = %provider.id, code = error.code(), "a revocation failed");
                    continue;
                }
            }
            break;
        }
        if tell.send(outcome).is_err() {
            tracing::debug!(?outcome, "nobody waits for a revocation any more");
        }
    });
    Telling::Under(told)
}

/// The refresh token where there is one: revoking it ends what was made from it (RFC 7009, section 2.1).
fn token(app: &App, connection: &Connection) -> Result<(Secret, &'static str), OpenError> {
    let Some(sealed) = &connection.refresh else {
        return Ok((open_access(&app.vault, connection)?.token, "access_token"));
    };
    let token =
        app.vault.open(&connection.place("refresh"), sealed)?.into_secret().ok_or(OpenError::Malformed)?;
    Ok((token, "refresh_token"))
}
