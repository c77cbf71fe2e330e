//! Why the third party's side did not work, as the moves and the pages need to know it.
//!
//! What it must never do: hold a body, a token, or a word of the provider's that [`clean`] did not pass.

use std::time::Duration;

use crate::config::Provider;

/// Why a provider did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The code (or, when refreshing, the refresh token) is not taken; the person can try again.
    #[error("the provider does not take the grant")]
    CodeRefused {
        /// The provider's error code.
        code: Option<String>,
    },
    /// Trying again cannot mend it; the operator can.
    #[error("the provider refuses our configuration")]
    Misconfigured {
        /// The provider's error code, or ours for what is wrong.
        code: String,
    },
    /// The provider does not let this token see its own account.
    #[error("the provider does not let the token in")]
    Denied {
        /// The status of the answer.
        status: u16,
    },
    /// No answer, or one that says "later".
    #[error("the provider cannot be reached")]
    Unreachable {
        /// Whether the request may have been acted on.
        maybe_sent: bool,
        /// How long the provider asks us to wait, within bounds.
        retry_after: Option<Duration>,
    },
    /// An answer that cannot be used.
    #[error("the provider's answer cannot be used: {what}")]
    Malformed {
        /// What is wrong with it, as a stable word.
        what: &'static str,
    },
    /// Two answers speak of two accounts (OpenID Connect Core, section 5.3.2).
    #[error("the provider speaks of two accounts")]
    AccountMismatch,
    /// A redirect, or a target that we do not send to.
    #[error("the provider's answer or address is against the policy")]
    Policy,
}

impl ProviderError {
    /// A stable name, for logs, metrics and reasons.
    pub fn code(&self) -> &'static str {
        match self {
            Self::CodeRefused { .. } => "code_refused",
            Self::Misconfigured { .. } => "provider_misconfigured",
            Self::Denied { .. } => "provider_denied",
            Self::Unreachable { .. } => "provider_unreachable",
            Self::Malformed { .. } => "provider_answer_malformed",
            Self::AccountMismatch => "account_mismatch",
            Self::Policy => "provider_policy",
        }
    }

    /// What the provider said, or what is wrong, for a page's details: short and plain.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::CodeRefused { code } => code.as_deref(),
            Self::Misconfigured { code } => Some(code),
            Self::Malformed { what } => Some(what),
            Self::Denied { .. } | Self::Unreachable { .. } | Self::AccountMismatch | Self::Policy => None,
        }
    }

    /// Whether only the operator can mend it.
    pub fn is_misconfigured(&self) -> bool {
        matches!(self, Self::Misconfigured { .. } | Self::Policy)
    }

    /// Whether the provider could not be reached, or asked to come later.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    pub(crate) fn misconfigured(code: &str) -> Self {
        Self::Misconfigured { code: code.to_owned() }
    }
}

/// What the `error` of an authorization response means (RFC 6749, section 4.1.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizationError {
    /// The person said no.
    Denied,
    /// An administrator must allow it first.
    AdminApproval,
    /// The provider is out of order for the moment.
    Transient,
    /// Our registration or request is refused.
    Misconfigured,
    /// Anything else; the person can try again.
    Other,
}

/// Codes that providers really send, whatever their specification is.
const AUTHORIZATION_ERRORS: &[(&str, AuthorizationError)] = &[
    ("access_denied", AuthorizationError::Denied),
    ("user_denied", AuthorizationError::Denied),
    ("user_cancelled_authorize", AuthorizationError::Denied),
    ("user_cancelled_login", AuthorizationError::Denied),
    ("access_not_configured", AuthorizationError::AdminApproval),
    ("admin_consent_required", AuthorizationError::AdminApproval),
    ("admin_policy_enforced", AuthorizationError::AdminApproval),
    ("approval_required", AuthorizationError::AdminApproval),
    ("server_error", AuthorizationError::Transient),
    ("temporarily_unavailable", AuthorizationError::Transient),
    ("application_suspended", AuthorizationError::Misconfigured),
    ("invalid_client", AuthorizationError::Misconfigured),
    ("invalid_redirect_uri", AuthorizationError::Misconfigured),
    ("invalid_request", AuthorizationError::Misconfigured),
    ("invalid_request_object", AuthorizationError::Misconfigured),
    ("invalid_request_uri", AuthorizationError::Misconfigured),
    ("invalid_scope", AuthorizationError::Misconfigured),
    ("invalid_target", AuthorizationError::Misconfigured),
    ("org_internal", AuthorizationError::Misconfigured),
    ("redirect_uri_mismatch", AuthorizationError::Misconfigured),
    ("request_not_supported", AuthorizationError::Misconfigured),
    ("request_uri_not_supported", AuthorizationError::Misconfigured),
    ("unauthorized_client", AuthorizationError::Misconfigured),
    ("unsupported_response_type", AuthorizationError::Misconfigured),
];

/// Sorts the `error` of an authorization response; the provider's own codes go first. Total: any text has a
/// class.
pub fn classify_authorization_error(provider: &Provider, code: &str) -> AuthorizationError {
    if provider.cancel_codes.iter().any(|cancel| cancel == code) {
        return AuthorizationError::Denied;
    }
    if provider.reads.admin_codes.iter().any(|admin| admin == code) {
        return AuthorizationError::AdminApproval;
    }
    AUTHORIZATION_ERRORS
        .iter()
        .find(|(known, _)| *known == code)
        .map_or(AuthorizationError::Other, |(_, class)| *class)
}

/// A provider's error code as it may be shown and logged: 1 to 64 of `A-Z a-z 0-9 _ . -`; none when it is anything
/// else.
pub fn clean(code: &str) -> Option<String> {
    let plain = code.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    (plain && (1..=64).contains(&code.len())).then(|| code.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::provider::tests::acme;

    /// R70: unknown codes are handled, and a provider's own word for "no" is known.
    #[test]
    fn r70_authorization_errors_are_sorted() {
        let mut provider = acme("https://acme.example");
        provider.cancel_codes = vec!["consent_refused".into()];
        provider.reads.admin_codes = vec!["app_not_approved".into()];
        for (code, class) in [
            ("access_denied", AuthorizationError::Denied),
            ("consent_refused", AuthorizationError::Denied),
            ("app_not_approved", AuthorizationError::AdminApproval),
            ("admin_policy_enforced", AuthorizationError::AdminApproval),
            ("temporarily_unavailable", AuthorizationError::Transient),
            ("invalid_scope", AuthorizationError::Misconfigured),
            ("Access_Denied", AuthorizationError::Other),
            ("", AuthorizationError::Other),
            ("<script>", AuthorizationError::Other),
        ] {
            assert_eq!(classify_authorization_error(&provider, code), class, "{code}");
        }
    }

    proptest! {
        #[test]
        fn a_clean_code_is_short_and_plain(code in ".{0,80}") {
            if let Some(clean) = clean(&code) {
                prop_assert_eq!(&clean, &code);
                prop_assert!(clean.len() <= 64 && !clean.is_empty());
                prop_assert!(!clean.contains(['<', '>', '"', '&', ' ', '\n', '%']));
            }
        }
    }
}
