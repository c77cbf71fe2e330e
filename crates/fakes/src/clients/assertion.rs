//! What proves a client that signs (RFC 7523, section 3): once used, soon over, for one audience, by the key it registered.

use std::collections::HashSet;

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::Deserialize;

/// RFC 7523, section 2.2.
pub(crate) const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Longer than an honest client needs.
const LONGEST_LIFE_S: i64 = 300;

/// How a client signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// A P-256 public key in PEM.
    pub public_key: Vec<u8>,
    /// The one `aud` that is taken.
    pub audience: String,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    /// One text: a list is refused, for it could name others as well.
    aud: String,
    jti: String,
    exp: i64,
    iat: i64,
}

impl Assertion {
    /// `Ok(true)`, or why not.
    pub(crate) fn check(
        &self,
        signed: &str,
        client_id: &str,
        now_s: i64,
        seen: &mut HashSet<String>,
    ) -> Result<bool, &'static str> {
        let key = DecodingKey::from_ec_pem(&self.public_key).map_err(|_| "no usable key is registered")?;
        let mut validation = Validation::new(Algorithm::ES256);
        // By this server's clock, below.
        validation.validate_exp = false;
        validation.validate_aud = false;
        let claims = decode::<Claims>(signed, &key, &validation)
            .map_err(|_| "not signed by the registered key")?
            .claims;
        let lives = claims.exp > now_s && claims.exp - claims.iat <= LONGEST_LIFE_S && claims.iat <= now_s;
        if claims.iss != client_id || claims.sub != client_id {
            return Err("iss and sub are not the client");
        }
        if claims.aud != self.audience {
            return Err("aud is not this server");
        }
        if !lives {
            return Err("too old, too young, or for too long");
        }
        seen.insert(claims.jti).then_some(true).ok_or("this assertion was used before")
    }
}
