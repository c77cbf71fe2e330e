//! The user's MCP access token, as an MCP server passes it on: a JWT of RFC 9068, or whatever the issuer says of it
//! by RFC 7662. It must be the server's own (`aud`), the issuer's, and alive (R2).
//!
//! What it must never do: build a URL from a token (R95); remember a refusal of a signed one, which a new key could make wrong.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use consentry_jwt::Jws;
use serde_json::{Map, Value};

use super::{TokenRefusal, claims::Claims};
use crate::{clock::Millis, config::AuthorizationServer, scope::Scopes, secret::Hash, subject::Subject};

/// How long the issuer's yes is believed.
const INTROSPECTED_LIFE: Duration = Duration::from_secs(30);
/// Tokens of which is known what was said.
const RECENT_MAX: usize = 10_000;

/// Whose token it is, and what it allows.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// The user.
    pub subject: Subject,
    /// What was granted (RFC 9068, section 2.2.3); none when the token says nothing.
    pub scopes: Scopes,
    /// From when on it is refused, by its `exp` and the leeway; none when the issuer tells no end (RFC 7662 need not).
    pub expires_at: Option<Millis>,
}

/// Checks the header's type, before any key is asked for. Many servers still send `JWT`; what tells their ID tokens
/// apart is in the claims.
pub(super) fn check_type(jws: &Jws<'_>) -> Result<(), TokenRefusal> {
    match jws.typ.as_deref() {
        None | Some("at+jwt" | "jwt") => Ok(()),
        Some(_) => Err(TokenRefusal::Type),
    }
}

/// Checks the claims of a token whose signature holds.
pub(super) fn check(
    claims: Map<String, Value>,
    typ: Option<&str>,
    server: &AuthorizationServer,
    resource: &str,
    now: Millis,
) -> Result<Bearer, TokenRefusal> {
    let claims = Claims::new(claims);
    if claims.text("iss")? != Some(&server.issuer) {
        return Err(TokenRefusal::Issuer);
    }
    if !claims.audiences()?.contains(&resource) {
        return Err(TokenRefusal::Audience);
    }
    let expires_at = claims.check_times(now, server.leeway)?;
    // One that went to a client must not speak for its user here.
    if claims.are_of_id_token(typ) {
        return Err(TokenRefusal::Type);
    }
    bearer(&claims, server, Some(expires_at))
}

/// `scope` is one text in both (RFC 9068, section 2.2.3; RFC 7662, section 2.2).
fn bearer(
    claims: &Claims,
    server: &AuthorizationServer,
    expires_at: Option<Millis>,
) -> Result<Bearer, TokenRefusal> {
    let subject = claims.subject(&server.issuer, &server.subject_claim)?;
    // Some servers write a list, which is no claim of the standard's; such a token allows nothing by scope.
    let scopes = claims.text("scope").ok().flatten().map(Scopes::lenient).unwrap_or_default();
    Ok(Bearer { subject, scopes, expires_at: expires_at.map(|at| at.plus(server.leeway)) })
}

/// Checks an introspection response (RFC 7662, section 2.2). It is the issuer's own, so that `iss` and `exp` may be
/// absent; `aud` may not, for nothing else says whom the token is for.
pub(super) fn check_introspected(
    response: Map<String, Value>,
    server: &AuthorizationServer,
    resource: &str,
    now: Millis,
) -> Result<(Bearer, Millis), TokenRefusal> {
    if response.get("active") != Some(&Value::Bool(true)) {
        return Err(TokenRefusal::Inactive);
    }
    let claims = Claims::new(response);
    if claims.text("iss")?.is_some_and(|issuer| issuer != server.issuer) {
        return Err(TokenRefusal::Issuer);
    }
    if !claims.audiences()?.contains(&resource) {
        return Err(TokenRefusal::Audience);
    }
    let believed = now.plus(INTROSPECTED_LIFE);
    let expires_at = if claims.has("exp") { Some(claims.check_times(now, server.leeway)?) } else { None };
    let until = expires_at.map_or(believed, |at| at.min(believed));
    Ok((bearer(&claims, server, expires_at)?, until))
}

/// What a token is known by: its hash, and whom it was checked for.
pub(super) fn key(server: &AuthorizationServer, resource: &str, token: &str) -> Hash {
    let parts = [server.id.as_bytes(), resource.as_bytes(), token.as_bytes()].map(Hash::of);
    Hash::of(&parts.map(|part| part.0).concat())
}

/// What an issuer has said of tokens lately.
pub(super) struct Recent<T>(Mutex<HashMap<Hash, (T, Millis)>>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Recent<T> {
    /// What still holds.
    pub(super) fn get(&self, key: &Hash, now: Millis) -> Option<T> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).filter(|(_, until)| now < *until).map(|(said, _)| said.clone())
    }

    /// Whether anything was said, though it may not hold any more.
    pub(super) fn has(&self, key: &Hash) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(key)
    }

    pub(super) fn forget(&self, key: &Hash) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    pub(super) fn keep(&self, key: Hash, said: T, until: Millis, now: Millis) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= RECENT_MAX {
            known.retain(|_, (_, until)| now < *until);
        }
        if known.len() < RECENT_MAX {
            known.insert(key, (said, until));
        }
    }
}
