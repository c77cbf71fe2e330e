//! Who is at the browser, and who is behind an access token: both as an authorization server of the settings says,
//! and both as `(iss, sub)`, so that they can be compared.
//!
//! `discovery` reads what a server publishes, `claims` reads tokens (with `crates/jwt`), `sign_in` and `access_token`
//! decide. Nothing is believed before its signature, its issuer, its audience and its time are checked, each by us and
//! by our clock. What it must never do: fall back to an e-mail address (R22); print what a peer sent.

mod access_token;
mod claims;
mod discovery;
mod error;
mod fetch;
mod id_token;
mod outside;
mod pending;
mod remote;
mod response;
mod session;
mod sign_in;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use consentry_jwt::{Algorithm, Jws, KeySet, Refused};
use http::StatusCode;
use serde_json::{Map, Value};
use url::Url;

pub use self::{
    access_token::Bearer,
    discovery::Metadata,
    error::{IdentityError, SignInRefusal, TokenRefusal},
    pending::Target,
    response::Response,
    session::{SessionId, SessionLife},
    sign_in::{Arrived, Begun},
};
use self::{
    access_token::Recent,
    outside::Outside,
    remote::{Life, Remote},
};
use crate::{
    clock::Clock,
    config::{AccessTokens, AuthorizationServer, PublicUrl},
    outbound::Outbound,
    random::Random,
    secret::Secret,
    subject::Subject,
    vault::Vault,
};

const METADATA_LIFE: Life = Life { fresh: Duration::from_hours(1), stale: Duration::from_hours(24) };
/// A key that an issuer has withdrawn verifies no longer than the longer of the two.
const KEYS_LIFE: Life = Life { fresh: Duration::from_mins(5), stale: Duration::from_hours(1) };

/// Establishes who somebody is. Cloning shares everything.
#[derive(Clone)]
pub struct Identity(Arc<Inner>);

struct Inner {
    peers: Vec<Peer>,
    outbound: Outbound,
    vault: Vault,
    clock: Clock,
    random: Random,
    public_url: PublicUrl,
}

/// One authorization server and what is known of it.
struct Peer {
    settings: AuthorizationServer,
    algorithms: Vec<Algorithm>,
    metadata: Remote<Metadata>,
    keys: Mutex<Option<(Url, Arc<Remote<KeySet>>)>>,
    /// The issuer's recent yeses.
    introspected: Recent<Bearer>,
    outside: Outside,
}

impl Identity {
    /// Over the authorization servers of the settings. Asks nobody anything yet.
    pub fn new(
        authorization_servers: Vec<AuthorizationServer>,
        outbound: Outbound,
        vault: Vault,
        clock: Clock,
        random: Random,
        public_url: PublicUrl,
    ) -> Self {
        let peers = authorization_servers.into_iter().map(|settings| Peer {
            algorithms: settings
                .algorithms
                .iter()
                .filter_map(|name| consentry_jwt::algorithm(name))
                .collect(),
            metadata: Remote::new(METADATA_LIFE, clock.clone()),
            keys: Mutex::new(None),
            introspected: Recent::default(),
            outside: Outside::new(clock.clone()),
            settings,
        });
        let peers = peers.collect();
        Self(Arc::new(Inner { peers, outbound, vault, clock, random, public_url }))
    }

    /// The settings of the server of this id.
    pub fn server(&self, id: &str) -> Option<&AuthorizationServer> {
        self.peer(id).ok().map(|peer| &peer.settings)
    }

    /// The settings of the server of this issuer, compared byte for byte.
    pub fn by_issuer(&self, issuer: &str) -> Option<&AuthorizationServer> {
        self.0.peers.iter().map(|peer| &peer.settings).find(|settings| settings.issuer == issuer)
    }

    /// Whether signatures of this name are verified here at all, for the settings' check (R17).
    pub fn knows_algorithm(name: &str) -> bool {
        consentry_jwt::algorithm(name).is_some()
    }

    /// Asks the server of this id for its metadata and its keys, for start-up and `doctor`.
    ///
    /// # Errors
    /// [`IdentityError`]: every error but `Unreachable` is the operator's to mend.
    pub async fn probe(&self, id: &str) -> Result<Arc<Metadata>, IdentityError> {
        let peer = self.peer(id)?;
        let metadata = self.metadata(peer).await?;
        let introspects = peer.settings.access_tokens == AccessTokens::Introspection;
        if introspects && metadata.introspection_endpoint.is_none() {
            return Err(IdentityError::Metadata("it names no introspection endpoint"));
        }
        self.keys(peer, &metadata).get(self.fetch_keys(&metadata)).await?;
        Ok(metadata)
    }

    /// Whose access token this is, where it is one of the server of this id, made for `resource` and alive.
    ///
    /// # Errors
    /// `Token` when it proves nothing; anything else when that could not be found out.
    pub async fn subject_of(
        &self,
        id: &str,
        token: &Secret,
        resource: &str,
    ) -> Result<Subject, IdentityError> {
        Ok(self.bearer(id, token, resource).await?.subject)
    }

    /// The same, with what the token allows, where anybody may present one: a token that nobody knows is not worth a question
    /// each time.
    ///
    /// # Errors
    /// As [`Identity::subject_of`]; and `Busy` when the authorization server is asked too much.
    pub async fn bearer_from_outside(
        &self,
        id: &str,
        token: &Secret,
        resource: &str,
    ) -> Result<Bearer, IdentityError> {
        let peer = self.peer(id)?;
        if peer.settings.access_tokens == AccessTokens::Jwt {
            return self.bearer(id, token, resource).await;
        }
        let key = access_token::key(&peer.settings, resource, token.expose());
        if let Some(known) = peer.introspected.get(&key, self.0.clock.now()) {
            return Ok(known);
        }
        let _turn = peer.outside.turn(&key, !peer.introspected.has(&key)).await?;
        let asked = self.introspect(peer, token, resource).await;
        if let Err(IdentityError::Token(refusal)) = asked {
            peer.introspected.forget(&key);
            peer.outside.refuse(key, refusal);
        }
        asked
    }

    async fn bearer(&self, id: &str, token: &Secret, resource: &str) -> Result<Bearer, IdentityError> {
        let peer = self.peer(id)?;
        match peer.settings.access_tokens {
            AccessTokens::Jwt => {
                let jws = Jws::parse(token.expose(), &peer.algorithms)?;
                access_token::check_type(&jws)?;
                let claims = self.verified(peer, &jws).await?;
                let now = self.0.clock.now();
                Ok(access_token::check(claims, jws.typ.as_deref(), &peer.settings, resource, now)?)
            }
            AccessTokens::Introspection => self.introspect(peer, token, resource).await,
        }
    }

    async fn introspect(&self, peer: &Peer, token: &Secret, resource: &str) -> Result<Bearer, IdentityError> {
        let key = access_token::key(&peer.settings, resource, token.expose());
        if let Some(known) = peer.introspected.get(&key, self.0.clock.now()) {
            return Ok(known);
        }
        let metadata = self.metadata(peer).await?;
        let endpoint = metadata.introspection_endpoint.as_ref();
        let endpoint = endpoint.ok_or(IdentityError::Metadata("it names no introspection endpoint"))?;
        let parameters = [("token", token.expose()), ("token_type_hint", "access_token")];
        let asked = fetch::form(&self.0.outbound, &peer.settings, &metadata, endpoint, &parameters).await?;
        let response = match asked {
            (StatusCode::OK, Some(response)) => response,
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => {
                return Err(IdentityError::ClientRefused);
            }
            _ => return Err(IdentityError::Unreachable("its answer cannot be read")),
        };
        let now = self.0.clock.now();
        let (bearer, until) = access_token::check_introspected(response, &peer.settings, resource, now)?;
        peer.introspected.keep(key, bearer.clone(), until, now);
        Ok(bearer)
    }

    fn peer(&self, id: &str) -> Result<&Peer, IdentityError> {
        self.0.peers.iter().find(|peer| peer.settings.id == id).ok_or(IdentityError::UnknownServer)
    }

    async fn metadata(&self, peer: &Peer) -> Result<Arc<Metadata>, IdentityError> {
        peer.metadata.get(discovery::discover(&self.0.outbound, &peer.settings)).await
    }

    fn keys(&self, peer: &Peer, metadata: &Metadata) -> Arc<Remote<KeySet>> {
        let mut known = peer.keys.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((url, keys)) if *url == metadata.jwks_uri => keys.clone(),
            _ => {
                let keys = Arc::new(Remote::new(KEYS_LIFE, self.0.clock.clone()));
                *known = Some((metadata.jwks_uri.clone(), keys.clone()));
                keys
            }
        }
    }

    async fn fetch_keys(&self, metadata: &Metadata) -> Result<KeySet, IdentityError> {
        let document = fetch::json(&self.0.outbound, &metadata.jwks_uri).await?;
        let keys = KeySet::parse(&document).filter(|keys| !keys.is_empty());
        keys.ok_or(IdentityError::Metadata("it publishes no key that can verify"))
    }

    /// The claims of a token, when a key of the issuer has signed it. A key that is not known yet is looked for once,
    /// and at most once a minute (R30).
    async fn verified(&self, peer: &Peer, jws: &Jws<'_>) -> Result<Map<String, Value>, IdentityError> {
        let metadata = self.metadata(peer).await?;
        let keys = self.keys(peer, &metadata);
        let known = keys.get(self.fetch_keys(&metadata)).await?;
        match jws.verify(&known) {
            Err(Refused::Signature) => {}
            decided => return Ok(decided?),
        }
        match keys.forced(self.fetch_keys(&metadata)).await {
            Some(fresh) => Ok(jws.verify(&*fresh?)?),
            None => Err(TokenRefusal::Signature.into()),
        }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.peers.iter().map(|peer| &peer.settings.id)).finish()
    }
}

#[cfg(test)]
mod tests;
