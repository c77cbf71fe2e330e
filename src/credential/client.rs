//! Our client at the authorization server of a third-party MCP server: the operator's, one that a document of ours
//! describes, or one that was registered here.
//!
//! A registration is made once for all processes, kept sealed, and made again only when it has ended or the authorization server says
//! that it does not know it; then what was granted to the former client needs its person. What it must never do: send a
//! secret to another issuer than the one that gave it (R63).

use std::{sync::Arc, time::Duration};

use crate::{
    app::App,
    clock::Millis,
    config::{ClientAuthentication, Provider, Registration as How},
    connection::PROVIDER_CHANGED,
    elicitation::ServerId,
    provider::{Endpoints, NotConcrete, ProviderError, mcp::Registered},
    registration::{Registration, secret_place},
    scope::Scopes,
    secret::Secret,
    store::{NewRegistration, RegistrationClaim, StoreError, ToRegister},
    values::Values,
    vault::OpenError,
};

/// How long a process may take to register.
const CLAIM: Duration = Duration::from_mins(1);
/// How long a registration must last for a trip to begin with it.
const TRIP: Duration = Duration::from_mins(15);
/// Between two registrations of one client, and after one that failed.
const PAUSE: Duration = Duration::from_mins(10);
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(30);
/// The longest that an authorization server's own wish is heeded.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// For how long a refusal is remembered.
const MEMORY: Duration = Duration::from_hours(1);
/// Looks at another process that registers.
const LOOKS: u32 = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Why our client is not at hand.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its secret does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Where a trip to a third-party MCP server begins.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// The place, to be kept with the attempt.
    pub values: Values,
    /// The provider there.
    pub provider: Arc<Provider>,
    /// What is asked for when nobody says otherwise.
    pub scopes: Scopes,
    /// What is asked for besides, so that there is a refresh token.
    pub always: Scopes,
}

/// Who refused, and so how much it says: a code that a person has just brought is refused for no other reason, a refresh might
/// be an accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The exchange of a code.
    Exchange,
    /// A refresh.
    Refresh,
}

/// Finds out where a trip begins; registers our client where that is to be done.
///
/// # Errors
/// The provider's.
pub async fn begin(app: &App, server: &ServerId, base: &Provider) -> Result<Beginning, ProviderError> {
    let (found, mut place) = app.providers.find(&base.id).await?;
    let (at, _) = app.providers.at(&base.id, &place).map_err(gone)?;
    let endpoints = app.providers.endpoints(&at).await?;
    app.providers.registrable(&at, &endpoints)?;
    let scopes = if base.scopes.is_empty() { found.scopes.clone() } else { base.scopes.clone() };
    let always = if endpoints.offers.offline_access { "offline_access" } else { "" };
    let always = Scopes::lenient(always);
    place.client_id = match &base.mcp {
        Some(mcp) if mcp.registration == How::ClientIdMetadataDocument => {
            mcp.document(server.as_str(), base.id.as_str())
        }
        Some(mcp) if mcp.registration == How::Dynamic => {
            let registration = current(app, server, &at, &endpoints, &scopes.union(&always), TRIP).await?;
            registration.client_id.ok_or_else(|| ProviderError::misconfigured("client_id_missing"))?
        }
        _ => base.client_id.clone(),
    };
    let (provider, _) = app.providers.at(&base.id, &place).map_err(gone)?;
    Ok(Beginning { values: place.values(), provider, scopes, always })
}

/// The provider with what proves our client there; none when that client is no more, so that nothing of it can be used.
///
/// # Errors
/// [`ClientError`].
pub async fn armed(
    app: &App,
    server: &ServerId,
    provider: Arc<Provider>,
) -> Result<Option<Arc<Provider>>, ClientError> {
    let Some(issuer) = registered_at(&provider) else { return Ok(Some(provider)) };
    let callback = app.redirect_uri(server, &provider.id);
    let registration = app.store.registration(issuer, &callback).await?;
    let ours = registration.filter(|one| one.client_id.as_deref() == Some(&provider.client_id));
    ours.map(|registration| arm(app, &provider, &registration)).transpose().map_err(Into::into)
}

/// The same for a refresh: a client that has ended, or that was refused, is registered again first, as far as that is
/// possible now. Then the one that the grant is of is no more.
///
/// # Errors
/// As [`armed`].
pub async fn armed_lastingly(
    app: &App,
    server: &ServerId,
    provider: Arc<Provider>,
) -> Result<Option<Arc<Provider>>, ClientError> {
    if let Some(issuer) = registered_at(&provider)
        && let Some(registration) =
            app.store.registration(issuer, &app.redirect_uri(server, &provider.id)).await?
        && !registration.lasts(app.clock.now(), Duration::ZERO)
        && let Ok(endpoints) = app.providers.endpoints(&provider).await
    {
        // What fails is in the log, and everything is kept.
        let _ = current(app, server, &provider, &endpoints, &provider.scopes, Duration::ZERO).await;
    }
    armed(app, server, provider).await
}

fn arm(app: &App, provider: &Provider, registration: &Registration) -> Result<Arc<Provider>, OpenError> {
    let secret = match &registration.secret {
        Some(sealed) => {
            let plain = app.vault.open(&registration.place(), sealed)?;
            Some(plain.into_secret().ok_or(OpenError::Malformed)?)
        }
        None => None,
    };
    let mut armed = provider.clone();
    armed.client_authentication = Some(read(registration.authentication.as_deref(), secret.is_some()));
    armed.client_secret = secret;
    Ok(Arc::new(armed))
}

/// The authorization server says that it does not know our client. Where that one was registered here, it is registered
/// anew the next time that somebody needs it.
pub async fn refused(app: &App, server: &ServerId, provider: &Provider, by: Refused) {
    let Some(issuer) = registered_at(provider) else { return };
    let callback = app.redirect_uri(server, &provider.id);
    let weight = match by {
        Refused::Exchange => 2,
        Refused::Refresh => 1,
    };
    let now = app.clock.now();
    let since = Millis(now.0.saturating_sub(i64::try_from(MEMORY.as_millis()).unwrap_or(i64::MAX)));
    tracing::warn!(provider = %provider.id, "the authorization server does not know the client that was registered");
    let noted =
        app.store.registration_refused((issuer, &callback), &provider.client_id, weight, since, now).await;
    if let Err(error) = noted {
        tracing::warn!(provider = %provider.id, %error, "a refused registration could not be noted");
    }
}

/// Whether our client there is registered by Consentry itself.
pub fn registers_itself(provider: &Provider) -> bool {
    provider.mcp.as_ref().is_some_and(|mcp| mcp.registration == How::Dynamic)
}

/// The authorization server at which it is.
fn registered_at(provider: &Provider) -> Option<&str> {
    provider.issuer.as_deref().filter(|_| registers_itself(provider))
}

/// The registration that is there and lasts, else a new one; by one process alone, and nobody who hangs up ends it.
async fn current(
    app: &App,
    server: &ServerId,
    at: &Arc<Provider>,
    endpoints: &Arc<Endpoints>,
    scopes: &Scopes,
    span: Duration,
) -> Result<Registration, ProviderError> {
    let Some(issuer) = at.issuer.clone() else { return Err(ProviderError::misconfigured("not_mcp")) };
    let callback = app.redirect_uri(server, &at.id);
    let mut seen = 0;
    for _ in 0..LOOKS {
        let known = app.store.registration(&issuer, &callback).await.map_err(|error| away(&error))?;
        if let Some(known) = &known {
            if known.lasts(app.clock.now(), span) {
                return Ok(known.clone());
            }
            let wait = app.clock.now().until(known.next_at);
            if !wait.is_zero() {
                // Tried a moment ago, by whomever: once is enough.
                return Err(ProviderError::Unreachable { maybe_sent: false, retry_after: Some(wait) });
            }
            seen = known.generation;
        }
        let (own, to) = (app.clone(), (server.clone(), at.clone(), endpoints.clone(), scopes.clone()));
        let (issuer, callback) = (issuer.clone(), callback.clone());
        let trying = async move {
            let (server, at, endpoints, scopes) = to;
            let turn = Turn { app: &own, server: &server, at: &at, issuer: &issuer, callback: &callback };
            turn.register(seen, &endpoints, &scopes).await
        };
        match app.to_the_end(trying).await {
            Some(Ok(true)) => {}
            Some(Ok(false)) => pause().await,
            Some(Err(error)) => return Err(error),
            None => break,
        }
    }
    Err(ProviderError::Unreachable { maybe_sent: false, retry_after: None })
}

/// One try to register.
struct Turn<'a> {
    app: &'a App,
    server: &'a ServerId,
    at: &'a Provider,
    issuer: &'a str,
    callback: &'a str,
}

impl Turn<'_> {
    /// False when it is somebody else's turn.
    async fn register(
        &self,
        seen: i64,
        endpoints: &Endpoints,
        scopes: &Scopes,
    ) -> Result<bool, ProviderError> {
        let (app, now) = (self.app, self.app.clock.now());
        let by = ToRegister {
            issuer: self.issuer,
            redirect_uri: self.callback,
            server: self.server.as_str(),
            provider: self.at.id.as_str(),
            seen,
            id: app.random.row_id(now),
            claim: app.random.uuid(),
        };
        let claimed = app.store.claim_registration(by, now, now.plus(CLAIM)).await;
        let Some(claim) = claimed.map_err(|error| away(&error))? else { return Ok(false) };
        let name = app.server_name(self.server);
        match app.providers.register(self.at, endpoints, &name, self.callback, scopes).await {
            Ok(registered) => self.keep(claim, &registered).await.map_err(|error| away(&error)),
            Err(error) => {
                let asked = match &error {
                    ProviderError::Unreachable { retry_after, .. } => *retry_after,
                    _ => None,
                };
                let wait = asked.unwrap_or_default().clamp(PAUSE_AFTER_FAILURE, LONGEST_PAUSE);
                let put_off = app.store.put_registration_off(claim, app.clock.now().plus(wait)).await;
                put_off.map_err(|error| away(&error))?;
                Err(error)
            }
        }
    }

    async fn keep(&self, claim: RegistrationClaim, registered: &Registered) -> Result<bool, StoreError> {
        let (app, now) = (self.app, self.app.clock.now());
        let generation = claim.generation.saturating_add(1);
        let (server, provider) = (self.server.as_str(), self.at.id.as_str());
        let place = secret_place(claim.id, server, self.issuer, provider, generation);
        let seal = |secret: &Secret| app.vault.seal(&place, secret.expose().as_bytes());
        let new = NewRegistration {
            client_id: &registered.client_id,
            secret: registered.secret.as_ref().map(seal),
            authentication: written(registered.authentication),
            secret_expires_at: registered.secret_expires_at,
            next_at: now.plus(PAUSE),
        };
        tracing::info!(provider, server, issuer = self.issuer, "a client was registered");
        app.store.keep_registration(claim, &new, now).await
    }
}

/// As a registration has it (RFC 7591, section 2).
fn written(way: ClientAuthentication) -> &'static str {
    match way {
        ClientAuthentication::Post => "client_secret_post",
        ClientAuthentication::None => "none",
        // Others are not registered.
        _ => "client_secret_basic",
    }
}

fn read(way: Option<&str>, has_secret: bool) -> ClientAuthentication {
    match way {
        Some("client_secret_post") if has_secret => ClientAuthentication::Post,
        _ if has_secret => ClientAuthentication::Basic,
        _ => ClientAuthentication::None,
    }
}

fn gone(_: NotConcrete) -> ProviderError {
    ProviderError::misconfigured(PROVIDER_CHANGED)
}

fn away(error: &StoreError) -> ProviderError {
    tracing::error!(%error, "the store failed a registration");
    ProviderError::Unreachable { maybe_sent: false, retry_after: None }
}

/// Another process is a peer: it goes on in real time, whatever this process's clock shows.
async fn pause() {
    #[expect(clippy::disallowed_methods, reason = "a peer lives in real time")]
    tokio::time::sleep(BETWEEN_LOOKS).await;
}
