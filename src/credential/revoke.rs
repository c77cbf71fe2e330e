//! Telling providers that a token is no longer wanted, from the outbox: tried until the provider has understood.
//!
//! What it must never do: send a token while another connection has the same account, unless the provider's settings say
//! that nothing but the token ends. It may end the whole grant of our client with it.

use std::time::Duration;

use tracing::Instrument;

use crate::{
    app::App,
    audit::{About, Actor},
    config::RevocationEnds,
    connection::{Connection, ConnectionId, PROVIDER_CHANGED},
    elicitation::{ProviderId, ServerId},
    ladder,
    provider::ProviderError,
    revocation::{Hint, NewRevocation, Revocation, RevocationId, State, place},
    secret::{Hash, Secret},
    store::StoreError,
    subject::Subject,
    telemetry::SecurityEvent,
    values::Values,
};

use super::{
    client::{self, ClientError},
    home::Home,
};

/// How long a process has for one try; longer than any request.
pub const REVOCATION_CLAIM: Duration = Duration::from_mins(3);

/// Why a revocation is given up at once: the access token that would end the grant is not let in.
const TOKEN_REFUSED: &str = "token_refused";

/// A token that nobody is to use any more.
#[derive(Clone, Copy, Debug)]
pub struct Unwanted<'a> {
    /// The connection that it was of; none when it never became one's.
    pub connection: Option<ConnectionId>,
    /// The tenant.
    pub server: &'a ServerId,
    /// Whose it is.
    pub owner: &'a Subject,
    /// Who gave it.
    pub provider: &'a ProviderId,
    /// The account there, where it is known.
    pub account_id: Option<&'a str>,
    /// The token.
    pub token: &'a Secret,
    /// Which of the two.
    pub hint: Hint,
    /// The variables that it was got with, and what answers were read for.
    pub values: &'a Values,
    /// The digest of the place that it is for.
    pub fingerprint: Option<Hash>,
}

impl<'a> Unwanted<'a> {
    /// A token of a connection, got at the place with this fingerprint.
    pub fn of(connection: &'a Connection, token: &'a Secret, hint: Hint, fingerprint: Option<Hash>) -> Self {
        Self {
            connection: Some(connection.id),
            server: &connection.server,
            owner: &connection.owner,
            provider: &connection.provider,
            account_id: connection.account.id.as_deref(),
            token,
            hint,
            values: &connection.values,
            fingerprint,
        }
    }
}

impl Unwanted<'_> {
    /// Sealed for a row of its own, to be queued with the change that it follows from.
    pub fn seal(&self, app: &App) -> NewRevocation {
        let id = RevocationId(app.random.row_id(app.clock.now()));
        let cell = place(id, self.server, self.owner, self.provider);
        NewRevocation {
            id,
            connection: self.connection,
            server: self.server.clone(),
            owner: self.owner.clone(),
            provider: self.provider.clone(),
            account_id: self.account_id.map(str::to_owned),
            hint: self.hint,
            token: app.vault.seal(&cell, self.token.expose().as_bytes()),
            values: self.values.clone(),
            fingerprint: self.fingerprint,
        }
    }

    /// Queues it by itself.
    ///
    /// # Errors
    /// The store's.
    pub async fn queue(&self, app: &App) -> Result<(), StoreError> {
        app.store.queue_revocation(&self.seal(app), app.clock.now()).await
    }
}

/// Works on a revocation that was claimed: tells the provider, or puts it off. What became of it is stored.
pub async fn revoke(app: &App, claimed: &Revocation) {
    let (id, provider) = (claimed.queued.id, &claimed.queued.provider);
    let (server, tries) = (&claimed.queued.server, claimed.tries);
    let span = tracing::error_span!("revocation", revocation = %id, %server, tries);
    let result = try_once(app, claimed).instrument(span).await;
    let stored = match result {
        Ok((State::Dead, error)) => give_up(app, claimed, error.unwrap_or("dead")).await,
        Ok((state, error)) => {
            app.metrics.revocation(provider, state);
            app.store.end_revocation(id, state, error, app.clock.now()).await
        }
        Err(Later { code, asked, told }) => {
            if !told {
                tracing::warn!(revocation = %id, %server, %provider, code, tries, "a revocation failed");
            }
            let now = app.clock.now();
            match ladder::pause(claimed.tries, asked, app.random) {
                Some(pause) => {
                    app.metrics.revocation(provider, State::Due);
                    app.store.put_revocation_off(claimed, now.plus(pause), code).await
                }
                None => give_up(app, claimed, code).await,
            }
        }
    };
    if let Err(error) = stored {
        // The claim ends by itself, and then it is tried again.
        tracing::warn!(revocation = %id, %error, "what became of a revocation could not be stored");
    }
}

async fn give_up(app: &App, claimed: &Revocation, code: &str) -> Result<(), StoreError> {
    let (id, provider) = (claimed.queued.id, &claimed.queued.provider);
    tracing::error!(revocation = %id, server = %claimed.queued.server, %provider, code, "a revocation is given up");
    app.metrics.revocation(provider, State::Dead);
    app.store.give_revocation_up(claimed, code, app.clock.now()).await
}

/// Why it is tried again.
struct Later {
    code: &'static str,
    asked: Option<Duration>,
    /// Whether the log has it already, as a step at the provider.
    told: bool,
}

impl Later {
    fn because(code: &'static str) -> Self {
        Self { code, asked: None, told: false }
    }
}

async fn try_once(app: &App, claimed: &Revocation) -> Result<(State, Option<&'static str>), Later> {
    let queued = &claimed.queued;
    let (account, of) = (queued.account_id.as_deref(), queued.connection);
    let home = Home::of(app, &queued.provider, &queued.values, queued.fingerprint.as_ref());
    // Where nothing but the token ends, nobody else loses by it.
    if home.as_provider().is_none_or(|provider| provider.revocation_ends() != RevocationEnds::Token) {
        let shared = app.store.account_in_use(
            &queued.provider,
            account,
            &queued.owner,
            of,
            queued.fingerprint.as_ref(),
        );
        let shared = shared.await;
        if shared.map_err(|_| Later::because("store_unavailable"))? {
            return Ok((State::Shared, None));
        }
    }
    let provider = match home {
        Home::Same(provider) | Home::Unsaid(provider) => provider,
        // Another place than the one that it is for is told nothing (R63).
        Home::Changed => return Ok((State::Impossible, Some(PROVIDER_CHANGED))),
        Home::Gone => return Err(Later::because("provider_not_configured")),
    };
    let provider = match client::armed(app, &queued.server, provider).await {
        Ok(Some(provider)) => provider,
        // A client that is no more can end nothing.
        Ok(None) => return Ok((State::Impossible, Some(PROVIDER_CHANGED))),
        Err(ClientError::Store(_)) => return Err(Later::because("store_unavailable")),
        Err(ClientError::Open(_)) => return Err(Later::because("sealed_value_unreadable")),
    };
    let cell = place(queued.id, &queued.server, &queued.owner, &queued.provider);
    let opened = app.vault.open(&cell, &queued.token).ok().and_then(|plain| plain.into_secret());
    let token = opened.ok_or_else(|| {
        let about = About {
            server: Some(queued.server.clone()),
            provider: Some(queued.provider.clone()),
            subject: Some(queued.owner.clone()),
            ..About::default()
        };
        app.security_event(SecurityEvent::SealedValueUnreadable, Actor::Program, about);
        Later::because("sealed_value_unreadable")
    })?;
    match app.providers.revoke(&provider, &token, queued.hint.as_str(), &queued.values).await {
        Ok(()) => Ok((State::Confirmed, None)),
        Err(ProviderError::Misconfigured { code }) if code == "no_revocation_endpoint" => {
            Ok((State::Impossible, Some("no_revocation_endpoint")))
        }
        // The token itself is not let in, and will not be later.
        Err(ProviderError::Denied { .. }) => Ok((State::Dead, Some(TOKEN_REFUSED))),
        Err(ProviderError::Unreachable { retry_after, .. }) => {
            Err(Later { code: "provider_unreachable", asked: retry_after, told: true })
        }
        Err(error) => Err(Later { code: error.code(), asked: None, told: true }),
    }
}
