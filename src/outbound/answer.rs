//! What came back.
//!
//! What it must never do: show a body or a header; either may hold a token.

use std::{fmt, time::Duration};

use http::{HeaderMap, Response, StatusCode, header};
use serde::de::DeserializeOwned;
use time::{PrimitiveDateTime, format_description::BorrowedFormatItem, macros::format_description};
use zeroize::Zeroize;

use crate::clock::Millis;

const LONGEST_WAIT: Duration = Duration::from_hours(24);
/// RFC 9110, section 5.6.7; the two obsolete forms are not read.
const HTTP_DATE: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

/// A whole answer, 3xx included: nothing is followed. The body is wiped when it is dropped.
#[non_exhaustive]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body, no longer than the limit.
    pub body: Vec<u8>,
    /// When it was there.
    pub received_at: Millis,
}

/// The body is not the JSON that was expected. Says where, and nothing of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is not the expected JSON (line {line}, column {column})")]
pub struct BadJson {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1; 0 at the start of a line.
    pub column: usize,
}

impl Answer {
    /// Reads the body as JSON, at most 128 levels deep. The content type is the caller's to judge.
    ///
    /// # Errors
    /// [`BadJson`].
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, BadJson> {
        // The parser's own error quotes the value it stumbled over.
        serde_json::from_slice(&self.body)
            .map_err(|error| BadJson { line: error.line(), column: error.column() })
    }

    /// How long the other side asks us to wait (RFC 9110, section 10.2.3), at most a day; `None` when it does not, or not
    /// understandably.
    pub fn retry_after(&self, now: Millis) -> Option<Duration> {
        let value = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
        let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
            value.parse().map_or(LONGEST_WAIT, Duration::from_secs)
        } else {
            let at = PrimitiveDateTime::parse(value, HTTP_DATE).ok()?.assume_utc();
            now.until(Millis::from_seconds(at.unix_timestamp()))
        };
        Some(wait.min(LONGEST_WAIT))
    }

    /// The answer in the types of the `http` crate, for a library that wants it so; wiping the body is then its part.
    pub fn into_response(mut self) -> Response<Vec<u8>> {
        let mut response = Response::new(std::mem::take(&mut self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = std::mem::take(&mut self.headers);
        response
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.body.zeroize();
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer({}, {} bytes)", self.status.as_u16(), self.body.len())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn answer(retry_after: &[u8], body: &[u8]) -> Answer {
        let value = HeaderValue::from_bytes(retry_after).unwrap();
        let headers = HeaderMap::from_iter([(header::RETRY_AFTER, value)]);
        Answer { status: StatusCode::OK, headers, body: body.to_vec(), received_at: Millis(0) }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_clamped() {
        let now = Millis(1_764_417_600_000); // 2025-11-29T12:00:00Z, a Saturday
        for (value, seconds) in [
            ("0", Some(0)),
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("86401", Some(86_400)),
            ("99999999999999999999999", Some(86_400)),
            ("Sat, 29 Nov 2025 12:00:30 GMT", Some(30)),
            ("Sat, 29 Nov 2025 11:00:00 GMT", Some(0)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(86_400)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
            ("Sat, 31 Feb 2026 11:00:00 GMT", None),
        ] {
            let wait = answer(value.as_bytes(), b"").retry_after(now);
            assert_eq!(wait, seconds.map(Duration::from_secs), "{value}");
        }
    }

    proptest! {
        #[test]
        fn any_retry_after_is_survived(value in "[ -~]{0,40}", now: i64) {
            let wait = answer(value.as_bytes(), b"").retry_after(Millis(now));
            prop_assert!(wait.is_none_or(|wait| wait <= LONGEST_WAIT));
        }
    }

    #[test]
    fn nothing_of_a_body_is_shown() {
        let answer = answer(b"0", br#"{"n":"canary-4711"}"#);
        let error = answer.json::<std::collections::HashMap<String, u32>>().unwrap_err();
        let shown = format!("{answer:?} {error:?} {error}");
        assert!(!shown.contains("canary"), "{shown}");
        assert!(answer.json::<serde_json::Value>().is_ok());
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
        assert!(answer(b"0", &deep).json::<serde_json::Value>().is_err());
    }
}
