//! One issuer's keys: an RSA and an EC key in use, and former ones that are still published.

use std::sync::{Arc, Mutex, OnceLock};

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::entropy;
use crate::log::lock;

/// Signing failed: the crypto library refuses to work.
#[derive(Debug, thiserror::Error)]
#[error("a key could not be made or used")]
pub(crate) struct KeyError;

/// RSA keys that no living issuer uses. Making one takes a tenth of a second and more, and a long test starts hundreds
/// of issuers; two that live at the same time never share a key.
static FREE: Mutex<Vec<Arc<RsaKeyPair>>> = Mutex::new(Vec::new());

/// A pair of signing keys with their ids.
#[derive(Debug)]
pub(crate) struct KeyPairs {
    rsa: Arc<RsaKeyPair>,
    pub(super) rsa_kid: String,
    ec: EcdsaKeyPair,
    pub(super) ec_kid: String,
}

impl KeyPairs {
    /// Keys with fresh ids that no other living issuer has.
    pub(crate) fn take() -> Result<Self, KeyError> {
        let free = lock(&FREE).pop();
        let rsa = match free {
            Some(free) => free,
            None => Arc::new(RsaKeyPair::generate(KeySize::Rsa2048).map_err(|_| KeyError)?),
        };
        Ok(Self {
            rsa,
            rsa_kid: format!("rsa-{}", entropy::label()),
            ec: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(|_| KeyError)?,
            ec_kid: format!("ec-{}", entropy::label()),
        })
    }

    pub(super) fn sign_rs256(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let mut signature = vec![0; self.rsa.public_modulus_len()];
        self.rsa
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
            .map_err(|_| KeyError)?;
        Ok(signature)
    }

    pub(super) fn sign_es256(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.ec
            .sign(&SystemRandom::new(), message)
            .map(|signature| signature.as_ref().to_vec())
            .map_err(|_| KeyError)
    }

    pub(super) fn rsa_jwk(&self) -> Value {
        // RFC 8017 appendix A.1.1 in DER. For a key of 2048 bits made here: nine bytes of heads and sign, the modulus,
        // and the exponent 65537.
        let modulus = self.rsa.public_key().as_ref().get(9..265).unwrap_or_default();
        json!({
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.rsa_kid,
            "n": URL_SAFE_NO_PAD.encode(modulus), "e": "AQAB",
        })
    }

    fn ec_jwk(&self) -> Value {
        // SEC 1 uncompressed point: 0x04, then x and y of 32 bytes each.
        let point = self.ec.public_key().as_ref();
        json!({
            "kty": "EC", "use": "sig", "alg": "ES256", "crv": "P-256", "kid": self.ec_kid,
            "x": URL_SAFE_NO_PAD.encode(&point[1..33]), "y": URL_SAFE_NO_PAD.encode(&point[33..65]),
        })
    }

    /// The RSA public key as PEM: what a verifier that takes any key for an HMAC secret would use.
    pub(super) fn rsa_pem(&self) -> Result<String, KeyError> {
        let der = self.rsa.public_key().as_der().map_err(|_| KeyError)?;
        let encoded = STANDARD.encode(der.as_ref());
        let lines: Vec<&str> =
            encoded.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap_or_default()).collect();
        Ok(format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n")))
    }
}

impl Drop for KeyPairs {
    fn drop(&mut self) {
        lock(&FREE).push(Arc::clone(&self.rsa));
    }
}

/// Keys in use and former keys, published or not; these are kept so that a rotation never brings one back.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(super) current: KeyPairs,
    former: Vec<KeyPairs>,
    former_published: bool,
}

impl Keys {
    pub(crate) fn generate() -> Result<Self, KeyError> {
        Ok(Self { current: KeyPairs::take()?, former: Vec::new(), former_published: false })
    }

    /// Keys to rotate to.
    pub(crate) fn fresh_pairs() -> Result<KeyPairs, KeyError> {
        KeyPairs::take()
    }

    /// New keys take over; the last ones stay in the published set when `publish_former`.
    pub(crate) fn rotate(&mut self, fresh: KeyPairs, publish_former: bool) {
        self.former.push(std::mem::replace(&mut self.current, fresh));
        self.former_published = publish_former;
    }

    /// The published set (RFC 7517).
    pub(crate) fn jwks(&self) -> Value {
        let last = self.former.last().filter(|_| self.former_published);
        let published = std::iter::once(&self.current).chain(last);
        let keys: Vec<Value> = published.flat_map(|pairs| [pairs.rsa_jwk(), pairs.ec_jwk()]).collect();
        json!({ "keys": keys })
    }
}

/// Keys that no issuer publishes, made once per process.
pub(super) fn stranger() -> Result<&'static KeyPairs, KeyError> {
    static STRANGER: OnceLock<KeyPairs> = OnceLock::new();
    if let Some(known) = STRANGER.get() {
        return Ok(known);
    }
    let fresh = KeyPairs::take()?;
    Ok(STRANGER.get_or_init(|| fresh))
}
