//! Signed JWTs (RFC 7515, RFC 7519), read strictly: what the server and an MCP server's own token check have in common.
//!
//! | you want | see |
//! |---|---|
//! | the token taken apart, and its signature verified | [`Jws`] |
//! | an issuer's keys | [`KeySet`] |
//! | its claims, each of the type that the standard gives it | [`Claims`] |
//! | a token signed by a private key of one's own | [`SigningKey`] |
//!
//! The crate does no I/O and keeps no clock. It never takes a key, or the address of one, from a token, and no error
//! holds a word of one.
//!
//! ```
//! use consentry_jwt::{Jws, KeySet, Refused, algorithm};
//!
//! let allowed = [algorithm("ES256").unwrap()];
//! // `none`, by somebody who hopes that nobody looks.
//! assert_eq!(Jws::parse("eyJhbGciOiJub25lIn0.e30.", &allowed).unwrap_err(), Refused::Algorithm);
//! let keys = serde_json::from_str(r#"{ "keys": [] }"#).unwrap();
//! assert!(KeySet::parse(&keys).unwrap().is_empty());
//! ```

mod claims;
mod jwks;
mod jws;
mod sign;

pub use claims::Claims;
pub use jsonwebtoken::Algorithm;
pub use jwks::KeySet;
pub use jws::{Jws, algorithm};
pub use sign::{SigningKey, Unusable};

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not a signed JWT, too long, or a claim of the wrong type.
    #[error("malformed")]
    Malformed,
    /// A header parameter that must be understood and is not (RFC 7515, section 4.1.11).
    #[error("an extension that is not understood")]
    Critical,
    /// `alg` is not one that is allowed.
    #[error("an algorithm that is not allowed")]
    Algorithm,
    /// No key of the issuer verifies it.
    #[error("no key of the issuer verifies it")]
    Signature,
    /// Too old, or without an end.
    #[error("expired")]
    Expired,
    /// Not valid yet, or issued in the future.
    #[error("not valid yet")]
    NotYet,
}
