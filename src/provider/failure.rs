//! What a token endpoint's "no" means, as data: one table, used for the exchange and for refreshes alike.
//!
//! Content goes before status (R76), but never against it where that would cost a user the connection: what a proxy or
//! an overloaded server says with 429 or 5xx is only "later", whatever its body holds. A provider's own words
//! (`error_classes`) are looked up before the common ones. Total: every input has a class.

use std::time::Duration;

use crate::{
    config::{ErrorClass, Provider},
    outbound::OutboundError,
    provider::{
        answer::{Answered, Reading},
        diagnosis::Spot,
        error::{ProviderError, clean},
    },
};

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The grant is dead.
    Terminal,
    /// Our client is refused; every grant is kept.
    Operator,
    /// Our request is refused; every grant is kept.
    Configuration,
    /// Later.
    Transient,
    /// An answer that no token endpoint should give; once more, then back off.
    Suspicious,
    /// Nothing arrived there; safe to try again.
    NotSent,
    /// It may have arrived, and what came of it is unknown.
    Ambiguous,
    /// A redirect, or a target that we do not send to; never followed.
    Policy,
}

impl Class {
    /// Each of them.
    pub const ALL: [Self; 8] = [
        Self::Terminal,
        Self::Operator,
        Self::Configuration,
        Self::Transient,
        Self::Suspicious,
        Self::NotSent,
        Self::Ambiguous,
        Self::Policy,
    ];

    /// A stable name, for metrics and reasons.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Operator => "operator",
            Self::Configuration => "configuration",
            Self::Transient => "transient",
            Self::Suspicious => "suspicious",
            Self::NotSent => "not_sent",
            Self::Ambiguous => "ambiguous",
            Self::Policy => "policy",
        }
    }
}

impl From<ErrorClass> for Class {
    fn from(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Terminal => Self::Terminal,
            ErrorClass::Operator => Self::Operator,
            ErrorClass::Configuration => Self::Configuration,
            ErrorClass::Transient => Self::Transient,
        }
    }
}

/// A failure with its class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What follows from it.
    pub class: Class,
    /// The provider's error code, cleaned.
    pub code: Option<String>,
    /// The status of the answer, where there was one.
    pub status: Option<u16>,
    /// How long the provider asks us to wait, at most an hour.
    pub retry_after: Option<Duration>,
    /// What is wrong with an answer that cannot be read, as a stable word.
    pub what: &'static str,
    /// Where it was, for the log.
    pub spot: Box<Spot>,
}

/// As much of a provider's `Retry-After` as is heeded.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Error codes of RFC 6749, section 5.2, and what providers say instead.
const BY_CODE: &[(&str, Class)] = &[
    ("invalid_grant", Class::Terminal),
    ("bad_code", Class::Terminal),
    ("bad_refresh_token", Class::Terminal),
    ("bad_verification_code", Class::Terminal),
    ("code_already_used", Class::Terminal),
    ("code_expired", Class::Terminal),
    ("expired_token", Class::Terminal),
    ("invalid_code", Class::Terminal),
    ("invalid_refresh_token", Class::Terminal),
    ("refresh_token_expired", Class::Terminal),
    ("token_expired", Class::Terminal),
    ("token_revoked", Class::Terminal),
    ("invalid_client", Class::Operator),
    ("unauthorized_client", Class::Operator),
    ("bad_client_secret", Class::Operator),
    ("incorrect_client_credentials", Class::Operator),
    ("invalid_client_id", Class::Operator),
    ("invalid_client_secret", Class::Operator),
    ("application_suspended", Class::Operator),
    ("invalid_request", Class::Configuration),
    ("invalid_scope", Class::Configuration),
    ("invalid_target", Class::Configuration),
    ("unsupported_grant_type", Class::Configuration),
    ("unsupported_token_type", Class::Configuration),
    ("bad_redirect_uri", Class::Configuration),
    ("redirect_uri_mismatch", Class::Configuration),
    ("server_error", Class::Transient),
    ("temporarily_unavailable", Class::Transient),
    ("internal_error", Class::Transient),
    ("rate_limited", Class::Transient),
    ("ratelimited", Class::Transient),
    ("service_unavailable", Class::Transient),
    ("slow_down", Class::Transient),
    ("too_many_requests", Class::Transient),
];

/// Whether a code means, wherever it is known, that the provider cannot do it now: no grant is dead because of it.
pub fn means_later(code: &str) -> bool {
    BY_CODE.iter().any(|(known, class)| *class == Class::Transient && known.eq_ignore_ascii_case(code))
}

/// What the status decides before the body is looked at.
fn by_status_first(status: u16) -> Option<Class> {
    Some(match status {
        300..=399 => Class::Policy,
        408 | 425 | 429 | 500..=599 => Class::Transient,
        _ => return None,
    })
}

/// What the status decides when the body says nothing that is known.
fn by_status_last(status: u16, has_code: bool) -> Class {
    match status {
        401 => Class::Operator,
        // An unknown code from a 4xx is the provider's clear refusal of what we sent; that costs nobody a connection.
        400..=499 if has_code => Class::Configuration,
        404 | 405 | 406 | 410 | 411 | 413 | 415 => Class::Configuration,
        _ => Class::Suspicious,
    }
}

/// The provider's own meaning of a code, else the common one.
fn by_code(provider: &Provider, code: &str) -> Option<Class> {
    let own = provider.error_classes.get(code).map(|class| Class::from(*class));
    own.or_else(|| BY_CODE.iter().find(|(known, _)| *known == code).map(|(_, class)| *class))
}

impl Failure {
    /// What went wrong in a word, for logs and reasons: the provider's code, else ours.
    pub fn word(&self) -> &str {
        self.code.as_deref().unwrap_or(self.what)
    }

    /// Of what went wrong before anything was sent to the token endpoint.
    pub(super) fn before_sending(error: ProviderError) -> Self {
        let what = error.code();
        let (class, code, retry_after) = match error {
            ProviderError::Unreachable { retry_after, .. } => (Class::NotSent, None, retry_after),
            ProviderError::Misconfigured { code } => (Class::Configuration, Some(code), None),
            ProviderError::Policy => (Class::Policy, None, None),
            ProviderError::Malformed { .. }
            | ProviderError::CodeRefused { .. }
            | ProviderError::Denied { .. }
            | ProviderError::AccountMismatch => (Class::NotSent, None, None),
        };
        Self { class, code, status: None, retry_after, what, spot: Box::default() }
    }

    /// Of an answer that holds no usable tokens.
    pub(super) fn of_answer(provider: &Provider, answer: &Answered) -> Self {
        let code = match &answer.reading {
            Reading::Error { code } => code.as_deref(),
            Reading::Fields(_) | Reading::Unreadable(_) => None,
        };
        let named = code.and_then(|code| by_code(provider, code));
        let is_error = matches!(answer.reading, Reading::Error { .. });
        let class =
            by_status_first(answer.status).or(named).unwrap_or_else(|| match (is_error, answer.status) {
                // An error inside of a success whose code nobody knows.
                (true, 200..=299) if code.is_some() => Class::Configuration,
                (_, status) => by_status_last(status, code.is_some()),
            });
        Self {
            class,
            code: code.and_then(clean),
            status: Some(answer.status),
            retry_after: answer.retry_after.map(|wait| wait.min(LONGEST_WAIT)),
            what: match answer.reading {
                Reading::Unreadable(what) => what,
                Reading::Fields(_) | Reading::Error { .. } => "no_token",
            },
            spot: Box::default(),
        }
    }

    /// Of a success whose tokens cannot be used, because of `what`.
    pub(super) fn unusable(what: &'static str) -> Self {
        let class = Class::Suspicious;
        Self { class, code: None, status: Some(200), retry_after: None, what, spot: Box::default() }
    }

    /// The same with where it was.
    pub(super) fn found(mut self, spot: Spot) -> Self {
        self.spot = Box::new(spot);
        self
    }

    /// Of a request without an answer.
    pub(super) fn of_outbound(error: OutboundError) -> Self {
        let class = match error {
            OutboundError::Refused(_) => Class::Policy,
            OutboundError::Unwritable => Class::Configuration,
            OutboundError::TooLarge | OutboundError::Garbled => Class::Suspicious,
            OutboundError::NotSent(_) | OutboundError::TimedOut { sent: false } => Class::NotSent,
            OutboundError::TimedOut { sent: true } | OutboundError::Cut => Class::Ambiguous,
        };
        Self { class, code: None, status: None, retry_after: None, what: error.code(), spot: Box::default() }
    }
}

impl From<Failure> for ProviderError {
    /// For a request that a person waits for.
    fn from(failure: Failure) -> Self {
        let Failure { class, code, retry_after, what, .. } = failure;
        match class {
            Class::Terminal => Self::CodeRefused { code },
            Class::Operator => Self::Misconfigured { code: code.unwrap_or_else(|| "client_refused".into()) },
            Class::Configuration => {
                Self::Misconfigured { code: code.unwrap_or_else(|| "request_refused".into()) }
            }
            Class::Transient | Class::Ambiguous => Self::Unreachable { maybe_sent: true, retry_after },
            Class::NotSent => Self::Unreachable { maybe_sent: false, retry_after: None },
            Class::Suspicious => Self::Malformed { what },
            Class::Policy => Self::Policy,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{outbound::NotSent, provider::tests::acme};

    fn class(status: u16, body: &str) -> Class {
        let answer = Answered { status, retry_after: None, reading: Reading::of(body.as_bytes()) };
        Failure::of_answer(&acme("https://acme.example"), &answer).class
    }

    /// R76: by content, whatever the status and the notation are.
    #[test]
    fn r76_failures_are_sorted_by_content() {
        for (status, body, expected) in [
            (400, r#"{"error":"invalid_grant"}"#, Class::Terminal),
            (401, r#"{"error":"invalid_grant"}"#, Class::Terminal),
            (403, r#"{"error":"invalid_grant"}"#, Class::Terminal),
            (200, r#"{"error":"bad_verification_code"}"#, Class::Terminal),
            (200, "error=bad_verification_code&error_description=x", Class::Terminal),
            (200, r#"{"ok":false,"error":"invalid_code"}"#, Class::Terminal),
            (400, r#"{"error":{"code":"invalid_grant","message":"x"}}"#, Class::Terminal),
            (400, r#"{"error":"invalid_client"}"#, Class::Operator),
            (401, "", Class::Operator),
            (401, "<html>", Class::Operator),
            (200, r#"{"error":"incorrect_client_credentials"}"#, Class::Operator),
            (400, r#"{"error":"unauthorized_client"}"#, Class::Operator),
            (400, r#"{"error":"invalid_request"}"#, Class::Configuration),
            (400, r#"{"error":"invalid_scope"}"#, Class::Configuration),
            (400, r#"{"error":"never_heard_of"}"#, Class::Configuration),
            (404, "", Class::Configuration),
            (408, "", Class::Transient),
            (429, r#"{"error":"invalid_grant"}"#, Class::Transient),
            (500, r#"{"error":"invalid_grant"}"#, Class::Transient),
            (503, "<html>", Class::Transient),
            (400, r#"{"error":"temporarily_unavailable"}"#, Class::Transient),
            (200, r#"{"error":"server_error"}"#, Class::Transient),
            (200, "", Class::Suspicious),
            (200, "{}", Class::Suspicious),
            (200, "<!doctype html>", Class::Suspicious),
            (200, r#"{"access_token":"abc"#, Class::Suspicious),
            (204, "", Class::Suspicious),
            (400, "", Class::Suspicious),
            (403, "<html>", Class::Suspicious),
            (301, r#"{"error":"invalid_grant"}"#, Class::Policy),
            (307, "", Class::Policy),
        ] {
            assert_eq!(class(status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn a_request_without_an_answer_tells_what_is_known_of_it() {
        for (error, expected, maybe_sent) in [
            (OutboundError::NotSent(NotSent::Dns), Class::NotSent, Some(false)),
            (OutboundError::TimedOut { sent: false }, Class::NotSent, Some(false)),
            (OutboundError::TimedOut { sent: true }, Class::Ambiguous, Some(true)),
            (OutboundError::Cut, Class::Ambiguous, Some(true)),
            (OutboundError::TooLarge, Class::Suspicious, None),
        ] {
            let failure = Failure::of_outbound(error);
            assert_eq!(failure.class, expected, "{error}");
            let sent = match ProviderError::from(failure) {
                ProviderError::Unreachable { maybe_sent, .. } => Some(maybe_sent),
                _ => None,
            };
            assert_eq!(sent, maybe_sent, "{error}");
        }
    }

    #[test]
    fn no_code_stands_twice() {
        let mut codes: Vec<_> = BY_CODE.iter().map(|(code, _)| *code).collect();
        codes.sort_unstable();
        let before = codes.len();
        codes.dedup();
        assert_eq!(codes.len(), before);
    }

    proptest! {
        /// Every answer has a class, and none that only a proxy can have given ends a grant.
        #[test]
        fn every_answer_has_a_class(status: u16, body in any::<Vec<u8>>(), wait in proptest::option::of(any::<u64>())) {
            let answer = Answered { status, retry_after: wait.map(Duration::from_secs), reading: Reading::of(&body) };
            let failure = Failure::of_answer(&acme("https://acme.example"), &answer);
            prop_assert!(failure.retry_after.is_none_or(|wait| wait <= LONGEST_WAIT));
            let _ = ProviderError::from(failure).code();
        }

        /// R77: a grant is dead only by the provider's clear word, the common ones or its own.
        #[test]
        fn r77_only_a_known_word_ends_a_grant(
            status: u16,
            body in prop_oneof![
                any::<Vec<u8>>(),
                "\\PC{0,60}".prop_map(String::into_bytes),
                "[a-z_]{1,20}".prop_map(|code| format!(r#"{{"error":"{code}"}}"#).into_bytes()),
                (0..BY_CODE.len()).prop_map(|n| format!("error={}", BY_CODE[n].0).into_bytes()),
            ],
            own in proptest::collection::btree_map("[a-z_]{1,20}", 0_usize..4, 0..4),
        ) {
            let classes =
                [ErrorClass::Terminal, ErrorClass::Operator, ErrorClass::Configuration, ErrorClass::Transient];
            let mut provider = acme("https://acme.example");
            provider.error_classes = own.into_iter().map(|(code, class)| (code, classes[class])).collect();
            let answer = Answered { status, retry_after: None, reading: Reading::of(&body) };
            let failure = Failure::of_answer(&provider, &answer);
            if failure.class == Class::Terminal {
                let code = failure.code.unwrap();
                prop_assert_eq!(by_code(&provider, &code), Some(Class::Terminal));
                prop_assert!(!matches!(status, 300..=399 | 408 | 425 | 429 | 500..=599));
            }
        }

        #[test]
        fn an_outage_ends_no_grant(status in prop_oneof![Just(408u16), Just(429), 300u16..400, 500u16..600], index in 0..BY_CODE.len()) {
            let body = format!(r#"{{"error":"{}"}}"#, BY_CODE[index].0);
            prop_assert_ne!(class(status, &body), Class::Terminal);
            prop_assert_ne!(class(status, &body), Class::Operator);
        }
    }
}
