//! Keys of an issuer and the signing of JWTs: RS256 and ES256 as they should be, and every wrong way by [`Forge`].

mod forge;
mod keys;

pub use forge::{Forge, Signature};
pub(crate) use keys::Keys;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The `at_hash` of an access token for RS256 and ES256 (OpenID Connect Core 3.1.3.6).
pub(crate) fn at_hash(access_token: &str) -> String {
    let hash = digest::digest(&digest::SHA256, access_token.as_bytes());
    URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16])
}

/// SHA-256 in base64url of several parts.
pub(crate) fn fingerprint(parts: &[&str]) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, parts.join("\n").as_bytes()))
}
