//! Every refusal of the API: RFC 9457 `application/problem+json`, with a code that stays the same.
//!
//! One function maps each error to its problem, without a catch-all arm. What it must never do: put an inner error's
//! text, a token or a user's name into an answer.

use std::{borrow::Cow, sync::Arc, time::Duration};

use crate::{
    connect::Refusal, identity::IdentityError, provider::ProviderError, store::StoreError,
    telemetry::Metrics, vault::OpenError,
};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

/// Before a call should be tried again when the database is away.
const STORE_RETRY: Duration = Duration::from_secs(2);
/// Before a call should be tried again when another party is away and does not say.
const PARTY_RETRY: Duration = Duration::from_secs(10);
/// Bytes of a caller's own field name that an answer repeats.
const FIELD_BYTES_MAX: usize = 200;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:ident, $title:literal;)*) => {
        /// What is wrong. The texts are part of the API: they may be added to and never renamed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code.
            #[cfg(test)]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// As answers write it.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// The HTTP status.
            pub(crate) fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            fn urn(self) -> &'static str {
                match self { $(Self::$name => concat!("urn:consentry:problem:", $code),)* }
            }
        }
    };
}

codes! {
    /// The body is no JSON.
    MalformedBody = "malformed_body", BAD_REQUEST, "The body is not valid JSON";
    /// A field that this call does not have.
    UnknownField = "unknown_field", BAD_REQUEST, "The body has an unknown field";
    /// A field that is missing, of the wrong type, or out of bounds.
    InvalidField = "invalid_field", BAD_REQUEST, "A field of the body is not valid";
    /// A query parameter that this call does not have.
    UnknownParameter = "unknown_parameter", BAD_REQUEST, "The query has an unknown parameter";
    /// A query parameter or header that is given twice.
    DuplicateParameter = "duplicate_parameter", BAD_REQUEST, "A parameter is given twice";
    /// A query parameter or header that cannot be read or is out of bounds.
    InvalidParameter = "invalid_parameter", BAD_REQUEST, "A parameter is not valid";
    /// A cursor that this list did not give.
    InvalidCursor = "invalid_cursor", BAD_REQUEST, "The cursor is not one of this list";
    /// The subject is of another issuer than the MCP server's users are.
    IssuerNotAllowed = "issuer_not_allowed", BAD_REQUEST, "The issuer is not this MCP server's";
    /// This MCP server must pass the user's token and may not name the user.
    SubjectTokenRequired = "subject_token_required", BAD_REQUEST, "The user's access token is required";
    /// Unknown, or not for this MCP server.
    ProviderNotAllowed = "provider_not_allowed", BAD_REQUEST, "The provider is not one that this MCP server may ask for";
    /// Beyond the provider's `allowed_scopes`.
    ScopeNotAllowed = "scope_not_allowed", BAD_REQUEST, "A scope is not allowed for this provider";
    /// Forged, or bound to something else; for the MCP client, error -32602.
    RequestStateInvalid = "request_state_invalid", BAD_REQUEST, "The request state is not one of this request";
    /// No API key, or none that is known.
    Unauthorized = "unauthorized", UNAUTHORIZED, "The API key is missing or unknown";
    /// The user's access token proves nothing.
    SubjectTokenInvalid = "subject_token_invalid", UNAUTHORIZED, "The user's access token is not valid here";
    /// Unknown, or another MCP server's.
    NotFound = "not_found", NOT_FOUND, "Not found";
    /// The resource has no such method; `Allow` names those it has.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "The method is not allowed here";
    /// None of the accepted types can be given.
    NotAcceptable = "not_acceptable", NOT_ACCEPTABLE, "No acceptable type of answer";
    /// The body did not arrive in time.
    RequestTimeout = "request_timeout", REQUEST_TIMEOUT, "The request took too long to arrive";
    /// It moved while the call was under way.
    Conflict = "conflict", CONFLICT, "It has changed meanwhile";
    /// Beyond `limits.body`.
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE, "The body is too large";
    /// Not `application/json`.
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The body must be application/json";
    /// The same key came with another body before.
    IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY, "The idempotency key was used for another request";
    /// This user was asked too often.
    TooManyElicitations = "too_many_elicitations", TOO_MANY_REQUESTS, "Too many new elicitations for this user";
    /// This MCP server has too many streams open.
    TooManyStreams = "too_many_streams", TOO_MANY_REQUESTS, "Too many event streams of this MCP server";
    /// A fault of ours.
    Internal = "internal_error", INTERNAL_SERVER_ERROR, "Something went wrong here";
    /// A stored credential does not open: an alert, never "not connected".
    SealedValueUnreadable = "sealed_value_unreadable", INTERNAL_SERVER_ERROR, "A stored credential cannot be read";
    /// The provider refuses our configuration, or answers nonsense.
    ProviderMisconfigured = "provider_misconfigured", BAD_GATEWAY, "The provider cannot be worked with";
    /// The authorization server cannot be worked with.
    AuthorizationServerMisconfigured = "authorization_server_misconfigured", BAD_GATEWAY, "The authorization server cannot be worked with";
    /// The database is away.
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "The service is unavailable for the moment";
    /// The provider is away.
    ProviderUnavailable = "provider_unavailable", SERVICE_UNAVAILABLE, "The provider is unavailable for the moment";
    /// The authorization server is away.
    AuthorizationServerUnavailable = "authorization_server_unavailable", SERVICE_UNAVAILABLE, "The authorization server is unavailable for the moment";
}

/// A refusal on its way to the caller. As a response it is empty until [`Problem::render`] gives it its body.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    code: Code,
    detail: Cow<'static, str>,
    field: Option<String>,
    retry_after: Option<Duration>,
    cause: Option<Cause>,
}

/// What the log and the counters are told, and the caller is not. No text of it holds a value of a user's.
#[derive(Clone, Debug)]
enum Cause {
    Store(Arc<StoreError>),
    Provider(ProviderError),
    Identity(IdentityError),
    Sealed(OpenError),
}

/// The body (RFC 9457, section 3).
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(super) struct ProblemBody<'a> {
    /// Names the kind of problem: `urn:consentry:problem:` and the code.
    #[serde(rename = "type")]
    kind: &'a str,
    /// The kind in a few words.
    title: &'a str,
    /// The HTTP status.
    status: u16,
    /// This occurrence of it.
    detail: &'a str,
    /// The kind as a word that stays the same.
    code: &'a str,
    /// Finds this answer in the server's log.
    request_id: &'a str,
    /// The field or parameter, where one is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
}

impl Problem {
    /// A problem of this kind.
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into(), field: None, retry_after: None, cause: None }
    }

    /// The same, with the field or parameter that is to blame.
    pub(crate) fn field(mut self, field: impl Into<String>) -> Self {
        let mut field = field.into();
        if field.len() > FIELD_BYTES_MAX {
            field.truncate(field.floor_char_boundary(FIELD_BYTES_MAX));
            field.push('…');
        }
        self.field = Some(field);
        self
    }

    /// The same, with how long to wait before another try.
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    fn cause(mut self, cause: Cause) -> Self {
        self.cause = Some(cause);
        self
    }

    /// A field of the body that is missing, of the wrong type, or out of bounds.
    pub(crate) fn invalid_field(field: impl Into<String>, what: &'static str) -> Self {
        let field = field.into();
        Self::new(Code::InvalidField, what).field(field)
    }

    /// A query parameter or header that cannot be read or is out of bounds.
    pub(crate) fn invalid_parameter(name: &'static str, what: &'static str) -> Self {
        Self::new(Code::InvalidParameter, what).field(name)
    }

    /// A fault of ours.
    pub(crate) fn internal() -> Self {
        Self::new(Code::Internal, "The call failed here; the operator finds the reason by the request id.")
    }

    /// An unknown id, or another MCP server's: the same answer for both (R54).
    pub(crate) fn not_found() -> Self {
        Self::new(Code::NotFound, "There is nothing here, or it is not this MCP server's.")
    }

    /// Gives the answer its body and its headers, and the log its line.
    pub(super) fn render(&self, request_id: &str, metrics: &Metrics, mut response: Response) -> Response {
        let (code, status) = (self.code.as_str(), self.code.status());
        self.tell(request_id, metrics);
        let body = ProblemBody {
            kind: self.code.urn(),
            title: self.code.title(),
            status: status.as_u16(),
            detail: &self.detail,
            code,
            request_id,
            field: self.field.as_deref(),
        };
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.remove(header::CONTENT_LENGTH);
        if let Some(wait) = self.retry_after {
            headers.insert(
                header::RETRY_AFTER,
                HeaderValue::from(wait.as_secs() + u64::from(wait.subsec_nanos() > 0)),
            );
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"consentry\""));
        }
        *response.status_mut() = status;
        *response.body_mut() = Body::from(serde_json::to_vec(&body).unwrap_or_default());
        response
    }
}

impl Problem {
    fn tell(&self, request_id: &str, metrics: &Metrics) {
        let code = self.code.as_str();
        match &self.cause {
            None if self.code.status().is_server_error() => {
                tracing::error!(request_id, code, "a call of the API failed");
            }
            None => tracing::debug!(request_id, code, "a call of the API was refused"),
            Some(Cause::Store(error)) => {
                metrics.store_error(error);
                tracing::error!(request_id, code, %error, "the store failed a call of the API");
            }
            Some(Cause::Provider(error)) => {
                let why = error.code();
                tracing::warn!(request_id, code, why, "a provider failed a call of the API");
            }
            Some(Cause::Identity(error)) => {
                tracing::warn!(request_id, code, %error, "an access token could not be checked");
            }
            Some(Cause::Sealed(error)) => {
                tracing::error!(request_id, code, %error, "a sealed value does not open");
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let away = || {
            Self::new(Code::Unavailable, "The database does not answer now; try again.")
                .retry_after(STORE_RETRY)
        };
        match &error {
            StoreError::Unavailable(_) => away(),
            StoreError::Refused(_) if error.is_transient() => away(),
            StoreError::Url
            | StoreError::Corrupt { .. }
            | StoreError::Migration(_)
            | StoreError::Refused(_) => Self::internal(),
        }
        .cause(Cause::Store(Arc::new(error)))
    }
}

impl From<ProviderError> for Problem {
    fn from(error: ProviderError) -> Self {
        match &error {
            ProviderError::Unreachable { retry_after, .. } => {
                Self::new(Code::ProviderUnavailable, "The provider does not answer now; try again later.")
                    .retry_after(retry_after.unwrap_or(PARTY_RETRY))
            }
            ProviderError::CodeRefused { .. }
            | ProviderError::Misconfigured { .. }
            | ProviderError::Denied { .. }
            | ProviderError::Malformed { .. }
            | ProviderError::AccountMismatch
            | ProviderError::Policy => {
                Self::new(Code::ProviderMisconfigured, "The provider's answer cannot be used.")
            }
        }
        .cause(Cause::Provider(error))
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            // The middle three are about browsers and cannot come up here; nothing is told of them all the same.
            Refusal::NotFound | Refusal::NotSignedIn | Refusal::WrongAccount | Refusal::OtherBrowser => {
                Self::not_found()
            }
            Refusal::Moved => Self::new(Code::Conflict, "It has changed while this call was under way."),
            Refusal::ProviderGone => {
                Self::new(Code::ProviderNotAllowed, "The provider is not configured any more.")
            }
            Refusal::Provider(error) => error.into(),
            Refusal::Store(error) => error.into(),
            Refusal::Unreadable(error) => {
                let detail =
                    "The connection exists, but what is stored of it does not open; the operator is told.";
                Self::new(Code::SealedValueUnreadable, detail).cause(Cause::Sealed(error))
            }
        }
    }
}

impl From<IdentityError> for Problem {
    fn from(error: IdentityError) -> Self {
        match &error {
            IdentityError::Token(_) | IdentityError::SignIn(_) => {
                let detail = "The token is not a valid access token of this MCP server's users.";
                Self::new(Code::SubjectTokenInvalid, detail)
            }
            IdentityError::Unreachable(_) => {
                let detail = "The authorization server does not answer now; try again later.";
                Self::new(Code::AuthorizationServerUnavailable, detail).retry_after(PARTY_RETRY)
            }
            IdentityError::UnknownServer
            | IdentityError::Metadata(_)
            | IdentityError::PairwiseOnly
            | IdentityError::ClientRefused => {
                let detail = "The authorization server does not let tokens be checked.";
                Self::new(Code::AuthorizationServerMisconfigured, detail)
            }
        }
        .cause(Cause::Identity(error))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_words_and_differ() {
        let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), Code::ALL.len());
        assert!(codes.iter().all(|code| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')));
    }

    /// What is documented is what there is, status by status.
    #[test]
    fn every_code_stands_in_the_documentation() {
        let page = include_str!("../../docs/http-api.md");
        let documented: BTreeSet<(u16, &str)> = page
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| ")?.split(" | ");
                let status = cells.next()?.parse().ok()?;
                Some((status, cells.next()?.trim_matches('`')))
            })
            .collect();
        let codes: BTreeSet<(u16, &str)> =
            Code::ALL.iter().map(|code| (code.status().as_u16(), code.as_str())).collect();
        assert_eq!(documented, codes);
    }

    #[test]
    fn a_long_name_of_a_field_is_cut() {
        let problem = Problem::new(Code::UnknownField, "x").field("é".repeat(500));
        assert!(problem.field.unwrap().len() <= FIELD_BYTES_MAX + '…'.len_utf8());
    }
}
