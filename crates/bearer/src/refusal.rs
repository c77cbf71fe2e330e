//! Why a request is not let in, and how that is said (RFC 6750, section 3; RFC 9728, section 5.1).

use consentry_jwt::Refused;
use http::{HeaderValue, Response, StatusCode, header};

use crate::check::Inner;

/// Why a request is not let in. No kind holds a word of what was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No token, or not in the `Authorization` header.
    #[error("no access token was sent")]
    Missing,
    /// More than one, or not what a token looks like.
    #[error("the Authorization header holds no single bearer token")]
    Malformed,
    /// A token that proves nothing: 401 `invalid_token`.
    #[error("the access token is {0}")]
    Invalid(&'static str),
    /// A good token for less than is asked: 403, and what would be sufficient.
    #[error("the access token does not allow this")]
    Scope(Vec<String>),
    /// Whether it is good cannot be found out now: 503.
    #[error("the authorization server's keys cannot be had")]
    Unavailable,
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Self::Invalid(match refused {
            Refused::Malformed => "malformed, or no JWT",
            Refused::Critical => "made with an extension that is not understood",
            Refused::Algorithm => "signed with an algorithm that is not accepted",
            Refused::Signature => "not signed by the authorization server",
            Refused::Expired => "expired",
            Refused::NotYet => "not valid yet",
        })
    }
}

impl Refusal {
    /// The status that says it.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Missing | Self::Invalid(_) => StatusCode::UNAUTHORIZED,
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Scope(_) => StatusCode::FORBIDDEN,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn error(&self) -> Option<&'static str> {
        match self {
            // Who has not tried is not told of an error.
            Self::Missing | Self::Unavailable => None,
            Self::Malformed => Some("invalid_request"),
            Self::Invalid(_) => Some("invalid_token"),
            Self::Scope(_) => Some("insufficient_scope"),
        }
    }

    pub(crate) fn response<B: From<String>>(&self, server: &Inner, wanted: &[String]) -> Response<B> {
        let mut response = Response::new(B::from(format!("{self}\n")));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if matches!(self, Self::Unavailable) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            return response;
        }
        let mut challenge = format!("Bearer resource_metadata=\"{}\"", server.metadata_url());
        let wanted = if let Self::Scope(wanted) = self { wanted } else { wanted };
        if !wanted.is_empty() {
            challenge.push_str(&format!(", scope=\"{}\"", wanted.join(" ")));
        }
        if let Some(error) = self.error() {
            challenge.push_str(&format!(", error=\"{error}\", error_description=\"{self}\""));
        }
        if let Ok(challenge) = HeaderValue::try_from(challenge) {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}
