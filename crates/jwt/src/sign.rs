//! Signing with a private key of our own: what proves a client (RFC 7523).

use std::fmt;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Map, Value};

/// A private key with the one algorithm that it signs by. Cannot be printed.
pub struct SigningKey {
    key: EncodingKey,
    algorithm: Algorithm,
}

/// A key that does not sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// Not a private key in PEM of the kind that the algorithm wants.
    #[error("is no private key in PEM that fits its algorithm")]
    Key,
    /// An algorithm of shared secrets, or of none.
    #[error("is not an algorithm of private keys")]
    Algorithm,
}

impl SigningKey {
    /// Reads a private key (PKCS #8, or PKCS #1 for RSA) and signs with it once, so that one that cannot is found here.
    ///
    /// # Errors
    ///
    /// [`Unusable`].
    pub fn from_pem(pem: &[u8], algorithm: Algorithm) -> Result<Self, Unusable> {
        let key = match algorithm {
            Algorithm::RS256
            | Algorithm::RS384
            | Algorithm::RS512
            | Algorithm::PS256
            | Algorithm::PS384
            | Algorithm::PS512 => EncodingKey::from_rsa_pem(pem),
            Algorithm::ES256 | Algorithm::ES384 => EncodingKey::from_ec_pem(pem),
            Algorithm::EdDSA => EncodingKey::from_ed_pem(pem),
            _ => return Err(Unusable::Algorithm),
        };
        let signing = Self { key: key.map_err(|_| Unusable::Key)?, algorithm };
        signing.sign(None, None, &Map::new())?;
        Ok(signing)
    }

    /// A compact JWS of `claims` (RFC 7515, section 7.1), with `kid` and `x5t#S256` where they are given.
    ///
    /// # Errors
    ///
    /// [`Unusable::Key`] for a key that [`Self::from_pem`] would not have taken.
    pub fn sign(
        &self,
        kid: Option<&str>,
        thumbprint: Option<&str>,
        claims: &Map<String, Value>,
    ) -> Result<String, Unusable> {
        let mut header = Header::new(self.algorithm);
        header.kid = kid.map(str::to_owned);
        header.x5t_s256 = thumbprint.map(str::to_owned);
        jsonwebtoken::encode(&header, claims, &self.key).map_err(|_| Unusable::Key)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}
