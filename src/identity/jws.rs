//! Reading a signed JWT and verifying its signature, and nothing more: what the claims mean is decided elsewhere.
//!
//! The algorithm must be one that the settings allow and one that the issuer's key can do (R17). A key that a token
//! brings along or points to is never looked at (R29).

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, crypto};
use serde_json::{Map, Value};

use super::{TokenRefusal, jwks::KeySet};

/// Longer than any token that is passed in an HTTP header.
const BYTES_MAX: usize = 32 * 1024;

/// A JWT of the right form, nothing of it believed yet.
pub(super) struct Jws<'a> {
    /// `typ` in lower case, without the `application/` that may stand before it (RFC 7515, section 4.1.9).
    pub(super) typ: Option<String>,
    pub(super) algorithm: Algorithm,
    kid: Option<String>,
    message: &'a str,
    payload: &'a str,
    signature: &'a str,
}

impl<'a> Jws<'a> {
    /// Takes a compact JWS apart (RFC 7515, section 7.1).
    pub(super) fn parse(token: &'a str, allowed: &[Algorithm]) -> Result<Self, TokenRefusal> {
        if token.len() > BYTES_MAX {
            return Err(TokenRefusal::Malformed);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenRefusal::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(TokenRefusal::Malformed)?;
        if payload.contains('.') {
            return Err(TokenRefusal::Malformed);
        }
        let header = object(header)?;
        // No extension is understood here, and an unencoded payload would be one.
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(TokenRefusal::Critical);
        }
        let text = |name: &str| match header.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(TokenRefusal::Malformed),
        };
        let algorithm =
            text("alg")?.and_then(self::algorithm).filter(|algorithm| allowed.contains(algorithm));
        let typ = text("typ")?.map(str::to_ascii_lowercase);
        Ok(Self {
            typ: typ.map(|typ| typ.strip_prefix("application/").map(str::to_owned).unwrap_or(typ)),
            algorithm: algorithm.ok_or(TokenRefusal::Algorithm)?,
            kid: text("kid")?.map(str::to_owned),
            message,
            payload,
            signature,
        })
    }

    /// The claims, when one of the keys has signed them.
    pub(super) fn verify(&self, keys: &KeySet) -> Result<Map<String, Value>, TokenRefusal> {
        let signed = keys.candidates(self.algorithm, self.kid.as_deref()).any(|key| {
            crypto::verify(self.signature, self.message.as_bytes(), key, self.algorithm).unwrap_or(false)
        });
        if signed { object(self.payload) } else { Err(TokenRefusal::Signature) }
    }
}

/// The algorithm of a name, symmetric ones and `none` excepted: no secret of ours verifies anything.
pub(super) fn algorithm(name: &str) -> Option<Algorithm> {
    Some(match name {
        "RS256" => Algorithm::RS256,
        "RS384" => Algorithm::RS384,
        "RS512" => Algorithm::RS512,
        "PS256" => Algorithm::PS256,
        "PS384" => Algorithm::PS384,
        "PS512" => Algorithm::PS512,
        "ES256" => Algorithm::ES256,
        "ES384" => Algorithm::ES384,
        // RFC 9864 gives the one curve of EdDSA that is known here a name of its own.
        "EdDSA" | "Ed25519" => Algorithm::EdDSA,
        _ => return None,
    })
}

fn object(part: &str) -> Result<Map<String, Value>, TokenRefusal> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenRefusal::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenRefusal::Malformed)
}
