//! Who is calling: checks the access token that the user's MCP client sends with every request.
//!
//! A token counts when the authorization server has signed it (its JWKS), and when it is meant for this very server
//! (`aud`, RFC 8707), is an access token (RFC 9068), and is alive. It is never passed on to anybody.

use std::time::Duration;

use axum::http::{HeaderMap, header::AUTHORIZATION};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, jwk::JwkSet};
use serde::Deserialize;
use tokio::{sync::Mutex, time::Instant};

/// The scope that a token must have.
pub(super) const SCOPE: &str = "mcp";

/// Keys are fetched again for a key id that is not among them, but not more often than this.
const REFETCH: Duration = Duration::from_secs(10);
/// Keys that the authorization server has withdrawn are forgotten after this long.
const KEYS_LIVE: Duration = Duration::from_secs(600);

/// The user behind a request. Handlers find it in the request's extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct User {
    /// `sub`: who, at the authorization server.
    pub(super) subject: String,
    /// `client_id`: through which OAuth client.
    pub(super) client: String,
}

/// Why a request has no user.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("no access token was sent")]
    Missing,
    #[error("{0}")]
    Invalid(&'static str),
    #[error("the access token lacks the scope {SCOPE}")]
    Scope,
    #[error("the authorization server's keys cannot be had")]
    NoKeys,
}

/// Checks tokens of one authorization server for one resource.
#[derive(Debug)]
pub(super) struct Bearer {
    issuer: String,
    resource: String,
    http: reqwest::Client,
    keys: Mutex<Option<(Instant, JwkSet)>>,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

/// RFC 9068, section 2.2. `iss`, `aud` and `exp` are looked at by the library.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    client_id: String,
    #[serde(default)]
    scope: String,
}

impl Bearer {
    pub(super) fn new(issuer: String, resource: String, http: reqwest::Client) -> Self {
        Self { issuer, resource, http, keys: Mutex::default() }
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The user whose token stands in the `Authorization` header, the only place where one counts.
    pub(super) async fn user(&self, headers: &HeaderMap) -> Result<User, Refusal> {
        let value = headers.get(AUTHORIZATION).ok_or(Refusal::Missing)?;
        let (scheme, token) = value.to_str().ok().and_then(|text| text.split_once(' ')).unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Refusal::Missing);
        }
        let claims = self.verified(token.trim()).await?;
        if !claims.scope.split(' ').any(|scope| scope == SCOPE) {
            return Err(Refusal::Scope);
        }
        Ok(User { subject: claims.sub, client: claims.client_id })
    }

    async fn verified(&self, token: &str) -> Result<Claims, Refusal> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Refusal::Invalid("this is no JWT"))?;
        // The algorithm is chosen here, not by the token; an ID token is signed by the same keys and is no access token.
        if !matches!(header.alg, Algorithm::RS256 | Algorithm::ES256) {
            return Err(Refusal::Invalid("this signature algorithm is not accepted"));
        }
        if !matches!(header.typ.as_deref(), Some("at+jwt" | "application/at+jwt")) {
            return Err(Refusal::Invalid("this is no access token"));
        }
        let key = self.key(&header).await?;
        let mut validation = Validation::new(header.alg);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.resource]);
        validation.set_required_spec_claims(&["iss", "aud", "exp", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = 30;
        let token = jsonwebtoken::decode::<Claims>(token, &key, &validation);
        token.map(|token| token.claims).map_err(|error| Refusal::Invalid(words(&error)))
    }

    /// The key of that id; one the authorization server has taken into use since is fetched.
    async fn key(&self, header: &Header) -> Result<DecodingKey, Refusal> {
        let kid = header.kid.as_deref().ok_or(Refusal::Invalid("the token names no key"))?;
        // Held while fetching, so that many requests at once fetch once.
        let mut cached = self.keys.lock().await;
        let age = cached.as_ref().map(|(fetched, _)| fetched.elapsed());
        let known = cached.as_ref().is_some_and(|(_, keys)| keys.find(kid).is_some());
        if age.is_none_or(|age| age > if known { KEYS_LIVE } else { REFETCH }) {
            *cached = Some((Instant::now(), self.fetch().await.ok_or(Refusal::NoKeys)?));
        }
        let key = cached.as_ref().and_then(|(_, keys)| keys.find(kid));
        let key = key.ok_or(Refusal::Invalid("the token names an unknown key"))?;
        DecodingKey::from_jwk(key).map_err(|_| Refusal::Invalid("the token's key cannot be used"))
    }

    /// RFC 8414 metadata, then the keys it points to.
    async fn fetch(&self) -> Option<JwkSet> {
        let metadata = format!("{}/.well-known/oauth-authorization-server", self.issuer);
        let metadata: Metadata = self.http.get(metadata).send().await.ok()?.json().await.ok()?;
        if metadata.issuer != self.issuer {
            return None;
        }
        self.http.get(metadata.jwks_uri).send().await.ok()?.json().await.ok()
    }
}

fn words(error: &jsonwebtoken::errors::Error) -> &'static str {
    use jsonwebtoken::errors::ErrorKind;
    match error.kind() {
        ErrorKind::ExpiredSignature => "the access token has expired",
        ErrorKind::ImmatureSignature => "the access token is not valid yet",
        ErrorKind::InvalidAudience => "the access token is meant for another server",
        ErrorKind::InvalidIssuer => "the access token is from another authorization server",
        ErrorKind::MissingRequiredClaim(_) => "the access token lacks a claim",
        _ => "the access token cannot be verified",
    }
}
