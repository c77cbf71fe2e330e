//! How a JWT is to differ from an honest one. An empty forge signs honestly.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::keys::{KeyError, Keys, stranger};

/// Who signs, and by which algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signature {
    /// RS256 by the issuer's key.
    #[default]
    Rs256,
    /// ES256 by the issuer's key.
    Es256,
    /// `alg: none` and no signature.
    Nothing,
    /// HS256 with the PEM of the issuer's RSA public key as the secret.
    PublicKeyAsSecret,
    /// RS256 by a key that the issuer never published, under the issuer's `kid`.
    Stranger,
    /// RS256 by such a key, which the header carries along as `jwk`.
    EmbeddedKey,
    /// RS256 by the issuer's key, one bit changed afterwards.
    Broken,
}

/// A recipe for a JWT that is wrong in a chosen way.
#[derive(Clone, Debug, Default)]
pub struct Forge {
    claims: Map<String, Value>,
    removed: Vec<String>,
    header: Map<String, Value>,
    removed_headers: Vec<String>,
    signature: Signature,
    payload: Option<String>,
}

impl Forge {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Each way to present a token that no key of the issuer has signed, with a name for it. Nobody may take one.
    pub fn unproven() -> [(&'static str, Self); 6] {
        let signed = |signature| Self::new().signed(signature);
        [
            ("an unknown key", Self::new().unknown_kid()),
            ("unsigned", signed(Signature::Nothing)),
            ("symmetric", signed(Signature::PublicKeyAsSecret)),
            ("a stranger's key", signed(Signature::Stranger)),
            ("a key of its own", signed(Signature::EmbeddedKey)),
            ("tampered with", signed(Signature::Broken)),
        ]
    }

    /// Sets a claim to any value, `null` included.
    #[must_use]
    pub fn claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.claims.insert(name.to_owned(), value.into());
        self
    }

    /// Leaves a claim out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.removed.push(name.to_owned());
        self
    }

    /// Sets a header parameter, after the signature's own (`alg` too: the header then lies about the signature).
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.header.insert(name.to_owned(), value.into());
        self
    }

    /// Leaves a header parameter out.
    #[must_use]
    pub fn without_header(mut self, name: &str) -> Self {
        self.removed_headers.push(name.to_owned());
        self
    }

    /// A `kid` that is in no published set.
    #[must_use]
    pub fn unknown_kid(self) -> Self {
        let kid = format!("unknown-{}", crate::entropy::label());
        self.header("kid", kid)
    }

    /// Signs in another way.
    #[must_use]
    pub fn signed(mut self, signature: Signature) -> Self {
        self.signature = signature;
        self
    }

    /// This text as the payload, whatever the claims are: duplicate members, numbers out of range, no JSON at all.
    #[must_use]
    pub fn payload(mut self, text: &str) -> Self {
        self.payload = Some(text.to_owned());
        self
    }

    /// Signs `claims`, changed by this recipe, as a token of type `typ`.
    pub(crate) fn sign(
        &self,
        keys: &Keys,
        typ: &str,
        claims: Map<String, Value>,
    ) -> Result<String, KeyError> {
        let mut claims = claims;
        claims.extend(self.claims.clone());
        claims.retain(|name, _| !self.removed.contains(name));
        let payload = self.payload.clone().unwrap_or_else(|| Value::Object(claims).to_string());
        let mut header = self.honest_header(keys, typ)?;
        header.extend(self.header.clone());
        header.retain(|name, _| !self.removed_headers.contains(name));
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text.as_bytes());
        let message = format!("{}.{}", encode(&Value::Object(header).to_string()), encode(&payload));
        let signature = self.signature_of(keys, message.as_bytes())?;
        Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn honest_header(&self, keys: &Keys, typ: &str) -> Result<Map<String, Value>, KeyError> {
        let (rsa, ec) = (&keys.current.rsa_kid, &keys.current.ec_kid);
        let header = match self.signature {
            Signature::Rs256 | Signature::Stranger | Signature::Broken => {
                json!({ "alg": "RS256", "kid": rsa })
            }
            Signature::Es256 => json!({ "alg": "ES256", "kid": ec }),
            Signature::Nothing => json!({ "alg": "none" }),
            Signature::PublicKeyAsSecret => json!({ "alg": "HS256", "kid": rsa }),
            Signature::EmbeddedKey => json!({ "alg": "RS256", "jwk": stranger()?.rsa_jwk() }),
        };
        let mut members = match header {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        members.insert("typ".to_owned(), json!(typ));
        Ok(members)
    }

    fn signature_of(&self, keys: &Keys, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match self.signature {
            Signature::Rs256 => keys.current.sign_rs256(message),
            Signature::Es256 => keys.current.sign_es256(message),
            Signature::Nothing => Ok(Vec::new()),
            Signature::Stranger | Signature::EmbeddedKey => stranger()?.sign_rs256(message),
            Signature::PublicKeyAsSecret => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, keys.current.rsa_pem()?.as_bytes());
                Ok(hmac::sign(&key, message).as_ref().to_vec())
            }
            Signature::Broken => {
                let mut signature = keys.current.sign_rs256(message)?;
                if let Some(last) = signature.last_mut() {
                    *last ^= 1;
                }
                Ok(signature)
            }
        }
    }
}
