//! The one call a tool needs: is there a credential for this user, and may it be handed out?

use crate::{
    app::App,
    audit::Actor,
    connect::Refusal,
    connection::Connection,
    elicitation::{ProviderId, ServerId},
    scope::Scopes,
    subject::Subject,
    telemetry::{Lookup, SecurityEvent},
};

use super::{Access, open_access};

/// What a tool wants.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Of which provider.
    pub provider: ProviderId,
    /// With which permissions; within the provider's `allowed_scopes`.
    pub scopes: Scopes,
}

/// What there is.
#[derive(Debug)]
pub enum Resolved {
    /// A credential to hand out.
    Ready {
        /// The connection that it is of.
        connection: Box<Connection>,
        /// The opened access token.
        access: Access,
        /// What was wanted, asked for once, and not granted.
        missing: Scopes,
    },
    /// The user must be asked; with the connection that does not do, if there is one.
    Missing(Option<Box<Connection>>),
}

/// Looks the user's connection up and opens it if it will do. One round trip, no write.
///
/// # Errors
/// The store's; [`Refusal::Unreadable`] when the sealed value does not open.
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
    let now = app.clock.now();
    let found = app.store.connection_to_hand_out(server, owner, &wanted.provider).await?;
    let Some(connection) = found else { return Ok(Resolved::Missing(None)) };
    if !connection.satisfies(&wanted.scopes, now) || !connection.is_usable(now) {
        return Ok(Resolved::Missing(Some(Box::new(connection))));
    }
    let access = open_access(&app.vault, &connection).inspect_err(|_| {
        app.security_event(SecurityEvent::SealedValueUnreadable, Actor::Server, &connection);
    })?;
    let missing = wanted.scopes.without(&connection.granted);
    Ok(Resolved::Ready { connection: Box::new(connection), access, missing })
}
