//! Verifying what Consentry posts to a webhook (Standard Webhooks 1.0, the symmetric scheme `v1`).
//!
//! Verify the bytes as they came, before anything reads them. Each post comes **at least once**: keep the
//! [`webhook_id`](Post::webhook_id) of what you have dealt with for some days, and answer `2xx` to one that comes again. Posts of one
//! MCP server may overtake each other; [`sequence`](crate::EventData::sequence) tells their order.
//!
//! ```
//! use consentry_client::webhook::{self, Key};
//!
//! // Both while the secret changes; one otherwise.
//! let keys = [Key::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?];
//! let headers = |name: &str| Some("what the request's header of that name holds").filter(|_| name == "webhook-id");
//! match webhook::verify(&keys, headers, b"the request's body", 1_764_417_600) {
//!     Ok(event) => { /* 204, and deal with `event.event` unless `event.webhook_id` is known */ }
//!     Err(_) => { /* 401, and nothing else */ }
//! }
//! # Ok::<(), consentry_client::webhook::BadKey>(())
//! ```

use std::fmt;

use aws_lc_rs::hmac;
use base64::{Engine, prelude::BASE64_STANDARD};
use zeroize::Zeroizing;

use crate::Event;

/// How far a timestamp may be from now, in seconds, either way: what is older may be a recording that somebody plays
/// again.
pub const TOLERANCE: i64 = 300;

/// Signatures in one header that are looked at; nobody signs with more.
const SIGNATURES_MAX: usize = 8;

/// A signing secret, `whsec_` and base64.
#[derive(Clone)]
pub struct Key(hmac::Key);

/// Not `whsec_` and base64 of 24 to 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not whsec_ and base64 of 24 to 64 bytes")]
pub struct BadKey;

/// A post that is genuine, and fresh.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Post {
    /// The same over all tries of one signal: what has been dealt with under it need not be again.
    pub webhook_id: String,
    /// What happened.
    pub event: Event,
}

/// Why a post is not to be believed. Answer `401` and say no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing or malformed.
    #[error("a webhook header is missing or malformed")]
    Headers,
    /// The timestamp is more than [`TOLERANCE`] from now.
    #[error("the timestamp is too far from now")]
    Stale,
    /// No signature is of one of the keys.
    #[error("no signature fits")]
    Signature,
    /// The signature fits, and the body is not an event that this version can read.
    #[error("the body is no event")]
    Body,
}

impl Key {
    /// Reads a secret.
    ///
    /// # Errors
    ///
    /// [`BadKey`].
    pub fn new(secret: &str) -> Result<Self, BadKey> {
        let encoded = secret.strip_prefix("whsec_").ok_or(BadKey)?;
        let bytes = Zeroizing::new(BASE64_STANDARD.decode(encoded).map_err(|_| BadKey)?);
        if !(24..=64).contains(&bytes.len()) {
            return Err(BadKey);
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[secret]")
    }
}

/// Verifies a post: `header` gives the request's header of a name (in lower case), `body` is its body as it came,
/// `now` is the time in seconds since the Unix epoch. A post is genuine when one signature of the header fits one of the
/// keys, so that during a change of secrets the receiver can have both, or either. Signatures are compared in constant
/// time.
///
/// # Errors
///
/// [`Refused`].
pub fn verify<'a>(
    keys: &[Key],
    header: impl Fn(&str) -> Option<&'a str>,
    body: &[u8],
    now: i64,
) -> Result<Post, Refused> {
    let id = header("webhook-id").filter(|id| !id.is_empty()).ok_or(Refused::Headers)?;
    let timestamp = header("webhook-timestamp").ok_or(Refused::Headers)?;
    let signatures = header("webhook-signature").ok_or(Refused::Headers)?;
    // One spelling alone: it is what was signed.
    let seconds: i64 = timestamp.parse().map_err(|_| Refused::Headers)?;
    let content = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
    let fits = signatures
        .split_ascii_whitespace()
        .take(SIGNATURES_MAX)
        .filter_map(|signature| BASE64_STANDARD.decode(signature.strip_prefix("v1,")?).ok())
        .any(|tag| keys.iter().any(|key| hmac::verify(&key.0, &content, &tag).is_ok()));
    if !fits {
        return Err(Refused::Signature);
    }
    if now.abs_diff(seconds) > TOLERANCE.unsigned_abs() {
        return Err(Refused::Stale);
    }
    let event = serde_json::from_slice(body).map_err(|_| Refused::Body)?;
    Ok(Post { webhook_id: id.to_owned(), event })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT: i64 = 1_614_265_330;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    /// No event of ours, so that a signature that fits shows as [`Refused::Body`].
    const BODY: &[u8] = br#"{"test": 2432232314}"#;

    fn tried(signature: &str, body: &[u8], now: i64) -> Refused {
        let header = |name: &str| match name {
            "webhook-id" => Some(ID),
            "webhook-timestamp" => Some("1614265330"),
            "webhook-signature" => Some(signature),
            _ => None,
        };
        verify(&[Key::new(SECRET).unwrap()], header, body, now).unwrap_err()
    }

    /// The example that the specification's own libraries are tested with.
    #[test]
    fn the_specifications_example_fits() {
        assert_eq!(tried(SIGNATURE, BODY, AT), Refused::Body);
        assert_eq!(tried(SIGNATURE, b"{}", AT), Refused::Signature);
    }

    #[test]
    fn one_signature_that_fits_is_enough_and_other_schemes_are_passed_over() {
        let others = "v1,AAAA v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg== v2,x";
        assert_eq!(tried(&format!("{others} {SIGNATURE}"), BODY, AT), Refused::Body);
        assert_eq!(tried(others, BODY, AT), Refused::Signature);
        assert_eq!(tried("", BODY, AT), Refused::Signature);
        assert_eq!(tried(&SIGNATURE.replace("v1,", ""), BODY, AT), Refused::Signature);
        assert_eq!(tried(&SIGNATURE.replace("v1,", "v2,"), BODY, AT), Refused::Signature);
    }

    #[test]
    fn five_minutes_either_way_are_fresh() {
        for (now, refused) in [
            (AT + TOLERANCE, Refused::Body),
            (AT - TOLERANCE, Refused::Body),
            (AT + TOLERANCE + 1, Refused::Stale),
            (AT - TOLERANCE - 1, Refused::Stale),
            (i64::MIN, Refused::Stale),
        ] {
            assert_eq!(tried(SIGNATURE, BODY, now), refused, "{now}");
        }
    }

    #[test]
    fn what_is_missing_is_refused() {
        let key = [Key::new(SECRET).unwrap()];
        for missing in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            let header = |name: &str| Some("1614265330").filter(|_| name != missing);
            assert_eq!(verify(&key, header, BODY, AT), Err(Refused::Headers), "{missing}");
        }
    }

    #[test]
    fn a_secret_has_its_form_and_is_not_shown() {
        for secret in ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_AAAA", "whsec_ not base64"] {
            assert_eq!(Key::new(secret).unwrap_err(), BadKey, "{secret}");
        }
        assert_eq!(format!("{:?}", Key::new(SECRET).unwrap()), "[secret]");
    }
}
