//! Reading a signed JWT and verifying its signature, and nothing more: what the claims mean is decided elsewhere.
//!
//! The algorithm must be one that the settings allow and one that the issuer's key can do (R17). A key that a token
//! brings along or points to is never looked at (R29).

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, crypto};
use serde_json::{Map, Value};

use crate::{KeySet, Refused};

/// Longer than any token that is passed in an HTTP header.
const BYTES_MAX: usize = 32 * 1024;

/// A JWT of the right form, nothing of it believed yet.
#[derive(Debug)]
pub struct Jws<'a> {
    /// `typ` in lower case, without the `application/` that may stand before it (RFC 7515, section 4.1.9).
    pub typ: Option<String>,
    /// `alg`, one of those that are allowed.
    pub algorithm: Algorithm,
    kid: Option<String>,
    message: &'a str,
    payload: &'a str,
    signature: &'a str,
}

impl<'a> Jws<'a> {
    /// Takes a compact JWS apart (RFC 7515, section 7.1).
    ///
    /// # Errors
    ///
    /// [`Refused`], for what stands in the header.
    pub fn parse(token: &'a str, allowed: &[Algorithm]) -> Result<Self, Refused> {
        if token.len() > BYTES_MAX {
            return Err(Refused::Malformed);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(Refused::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(Refused::Malformed)?;
        if payload.contains('.') {
            return Err(Refused::Malformed);
        }
        let header = object(header)?;
        // No extension is understood here, and an unencoded payload would be one.
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(Refused::Critical);
        }
        let text = |name: &str| match header.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(Refused::Malformed),
        };
        let algorithm =
            text("alg")?.and_then(self::algorithm).filter(|algorithm| allowed.contains(algorithm));
        let typ = text("typ")?.map(str::to_ascii_lowercase);
        Ok(Self {
            typ: typ.map(|typ| typ.strip_prefix("application/").map(str::to_owned).unwrap_or(typ)),
            algorithm: algorithm.ok_or(Refused::Algorithm)?,
            kid: text("kid")?.map(str::to_owned),
            message,
            payload,
            signature,
        })
    }

    /// The claims, when one of the keys has signed them.
    ///
    /// # Errors
    ///
    /// [`Refused::Signature`] when none has, [`Refused::Malformed`] when what was signed is no object.
    pub fn verify(&self, keys: &KeySet) -> Result<Map<String, Value>, Refused> {
        let signed = keys.candidates(self.algorithm, self.kid.as_deref()).any(|key| {
            crypto::verify(self.signature, self.message.as_bytes(), key, self.algorithm).unwrap_or(false)
        });
        if signed { object(self.payload) } else { Err(Refused::Signature) }
    }
}

/// The algorithm of a name, symmetric ones and `none` excepted: no secret of ours verifies anything.
#[must_use]
pub fn algorithm(name: &str) -> Option<Algorithm> {
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

fn object(part: &str) -> Result<Map<String, Value>, Refused> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| Refused::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| Refused::Malformed)
}
