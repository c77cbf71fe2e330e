//! An issuer's keys (RFC 7517), as far as they can verify: RSA of 2048 to 8192 bits, P-256, P-384, Ed25519.
//!
//! Keys belong to the issuer and the URL that they came from and are never looked up by `kid` alone (R94). What is
//! not understood is skipped. What it must never do: take a key from a token (R29).

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::{Map, Value};

/// More keys than any issuer publishes; what lies behind is skipped.
const KEYS_MAX: usize = 64;
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// The keys of one issuer.
pub struct KeySet(Vec<PublicKey>);

struct PublicKey {
    kid: Option<String>,
    alg: Option<String>,
    kind: Kind,
    key: DecodingKey,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl KeySet {
    /// Reads a JWK set; `None` when it is none.
    #[must_use]
    pub fn parse(document: &Map<String, Value>) -> Option<Self> {
        let keys = document.get("keys")?.as_array()?;
        let usable = keys.iter().filter_map(Value::as_object).filter_map(PublicKey::parse);
        Some(Self(usable.take(KEYS_MAX).collect()))
    }

    /// Whether there is anything to verify with.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys that may have signed a token of this header.
    pub(crate) fn candidates(
        &self,
        algorithm: Algorithm,
        kid: Option<&str>,
    ) -> impl Iterator<Item = &DecodingKey> {
        let fits = move |key: &&PublicKey| {
            let named = kid.is_none_or(|kid| key.kid.as_deref() == Some(kid));
            let made_for = key.alg.as_deref().is_none_or(|alg| crate::algorithm(alg) == Some(algorithm));
            named && made_for && key.kind.signs(algorithm)
        };
        self.0.iter().filter(fits).map(|key| &key.key)
    }
}

impl Kind {
    fn signs(self, algorithm: Algorithm) -> bool {
        use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
        match algorithm {
            RS256 | RS384 | RS512 | PS256 | PS384 | PS512 => self == Self::Rsa,
            ES256 => self == Self::P256,
            ES384 => self == Self::P384,
            EdDSA => self == Self::Ed25519,
            // Symmetric ones: a public key is no secret.
            _ => false,
        }
    }
}

impl PublicKey {
    fn parse(jwk: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        if jwk.contains_key("use") && text("use") != Some("sig") {
            return None;
        }
        let may_verify = |ops: &Value| ops.as_array().is_some_and(|ops| ops.iter().any(|op| op == "verify"));
        if jwk.get("key_ops").is_some_and(|ops| !may_verify(ops)) {
            return None;
        }
        let bytes = |name: &str| BASE64_URL_SAFE_NO_PAD.decode(text(name)?).ok();
        let (kind, key) = match (text("kty")?, text("crv")) {
            ("RSA", _) => (Kind::Rsa, rsa(&bytes("n")?, &bytes("e")?)?),
            ("EC", Some("P-256")) => (Kind::P256, ec(&bytes("x")?, &bytes("y")?, 32)?),
            ("EC", Some("P-384")) => (Kind::P384, ec(&bytes("x")?, &bytes("y")?, 48)?),
            ("OKP", Some("Ed25519")) => {
                let x = bytes("x").filter(|x| x.len() == 32)?;
                (Kind::Ed25519, DecodingKey::from_ed_der(&x))
            }
            _ => return None,
        };
        let optional = |name: &str| match jwk.get(name) {
            None => Some(None),
            Some(value) => value.as_str().map(|text| Some(text.to_owned())),
        };
        Some(Self { kid: optional("kid")?, alg: optional("alg")?, kind, key })
    }
}

fn rsa(modulus: &[u8], exponent: &[u8]) -> Option<DecodingKey> {
    let significant = |bytes: &[u8]| bytes.iter().skip_while(|byte| **byte == 0).copied().collect::<Vec<_>>();
    let (n, e) = (significant(modulus), significant(exponent));
    // 256 bytes are 2048 bits only when the first bit is set.
    let strong = RSA_BYTES.contains(&n.len()) && (n.len() > 256 || n[0] & 0x80 != 0);
    // An exponent of 1 verifies anything; an even one is no RSA key.
    let sane = e.len() <= 4 && e.last().is_some_and(|last| last & 1 == 1) && e != [1];
    (strong && sane).then(|| DecodingKey::from_rsa_raw_components(&n, &e))
}

fn ec(x: &[u8], y: &[u8], length: usize) -> Option<DecodingKey> {
    (x.len() == length && y.len() == length).then(|| DecodingKey::from_ec_der(&[&[4], x, y].concat()))
}
