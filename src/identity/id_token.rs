//! The ID token's rules (OpenID Connect Core 1.0, section 3.1.3.7), each decided here and by our clock.

use aws_lc_rs::{constant_time, digest};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use consentry_jwt::{Algorithm, Jws};
use serde_json::{Map, Value};

use super::{TokenRefusal, claims::Claims};
use crate::{clock::Millis, config::AuthorizationServer, secret::Secret, subject::Subject};

/// What an ID token must belong to.
pub(super) struct Expected<'a> {
    pub(super) server: &'a AuthorizationServer,
    pub(super) nonce: &'a Secret,
    pub(super) code: &'a Secret,
    pub(super) access_token: Option<&'a Secret>,
    pub(super) now: Millis,
}

/// Who an ID token says has signed in.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) subject: Subject,
    pub(super) label: Option<String>,
}

/// Checks the header's type, before any key is asked for.
pub(super) fn check_type(jws: &Jws<'_>) -> Result<(), TokenRefusal> {
    match jws.typ.as_deref() {
        None | Some("jwt" | "id_token+jwt") => Ok(()),
        Some(_) => Err(TokenRefusal::Type),
    }
}

/// Checks the claims of a token whose signature holds.
pub(super) fn check(
    claims: Map<String, Value>,
    algorithm: Algorithm,
    expected: &Expected<'_>,
) -> Result<Named, TokenRefusal> {
    let server = expected.server;
    let claims = Claims::new(claims);
    if claims.text("iss")? != Some(&server.issuer) {
        return Err(TokenRefusal::Issuer);
    }
    // Ours alone: a token that others may use too could have been passed on by one of them.
    let audiences = claims.audiences()?;
    if audiences.is_empty() || audiences.iter().any(|audience| *audience != server.client_id) {
        return Err(TokenRefusal::Audience);
    }
    if claims.text("azp")?.is_some_and(|party| party != server.client_id) {
        return Err(TokenRefusal::AuthorizedParty);
    }
    let expires = claims.check_times(expected.now, server.leeway)?;
    if claims.time("iat")?.is_none_or(|issued| issued > expires) {
        return Err(TokenRefusal::NotYet);
    }
    let nonce = claims.text("nonce")?.ok_or(TokenRefusal::Nonce)?;
    if !same(nonce, expected.nonce.expose()) {
        return Err(TokenRefusal::Nonce);
    }
    check_hash(&claims, "at_hash", algorithm, expected.access_token)?;
    check_hash(&claims, "c_hash", algorithm, Some(expected.code))?;
    Ok(Named { subject: claims.subject(&server.issuer, &server.subject_claim)?, label: claims.label() })
}

/// OpenID Connect Core, section 3.1.3.6: the left half of the digest that the algorithm names.
fn check_hash(
    claims: &Claims,
    name: &str,
    algorithm: Algorithm,
    of: Option<&Secret>,
) -> Result<(), TokenRefusal> {
    if !claims.has(name) {
        return Ok(());
    }
    let claimed = claims.text(name)?.ok_or(TokenRefusal::Hash)?;
    let of = of.ok_or(TokenRefusal::Hash)?;
    let digest = digest::digest(digest_of(algorithm).ok_or(TokenRefusal::Hash)?, of.expose().as_bytes());
    let half = &digest.as_ref()[..digest.as_ref().len() / 2];
    if same(claimed, &BASE64_URL_SAFE_NO_PAD.encode(half)) { Ok(()) } else { Err(TokenRefusal::Hash) }
}

fn digest_of(algorithm: Algorithm) -> Option<&'static digest::Algorithm> {
    match algorithm {
        Algorithm::RS256 | Algorithm::PS256 | Algorithm::ES256 => Some(&digest::SHA256),
        Algorithm::RS384 | Algorithm::PS384 | Algorithm::ES384 => Some(&digest::SHA384),
        Algorithm::RS512 | Algorithm::PS512 | Algorithm::EdDSA => Some(&digest::SHA512),
        _ => None,
    }
}

fn same(a: &str, b: &str) -> bool {
    constant_time::verify_slices_are_equal(a.as_bytes(), b.as_bytes()).is_ok()
}
