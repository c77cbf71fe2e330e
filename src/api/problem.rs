//! Every refusal of the API: RFC 9457 `application/problem+json`, with a code that stays the same.
//!
//! `mapping` gives each error its problem. What it must never do: put an inner error's text, a token or a user's name
//! into an answer.

mod code;
mod mapping;

use std::{borrow::Cow, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

pub(super) use self::code::Code;
use crate::{
    identity::IdentityError, provider::ProviderError, store::StoreError, telemetry::Metrics, vault::OpenError,
};

/// Bytes of a caller's own field name that an answer repeats.
const FIELD_BYTES_MAX: usize = 200;

/// A refusal on its way to the caller. As a response it is empty until [`Problem::render`] gives it its body.
#[derive(Clone, Debug)]
pub(super) struct Problem {
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
    pub(super) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into(), field: None, retry_after: None, cause: None }
    }

    /// The same, with the field or parameter that is to blame.
    pub(super) fn field(mut self, field: impl Into<String>) -> Self {
        let mut field = field.into();
        if field.len() > FIELD_BYTES_MAX {
            field.truncate(field.floor_char_boundary(FIELD_BYTES_MAX));
            field.push('…');
        }
        self.field = Some(field);
        self
    }

    /// The same, with how long to wait before another try.
    pub(super) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    fn cause(mut self, cause: Cause) -> Self {
        self.cause = Some(cause);
        self
    }

    /// A field of the body that is missing, of the wrong type, or out of bounds.
    pub(super) fn invalid_field(field: impl Into<String>, what: &'static str) -> Self {
        let field = field.into();
        Self::new(Code::InvalidField, what).field(field)
    }

    /// A query parameter or header that cannot be read or is out of bounds.
    pub(super) fn invalid_parameter(name: &'static str, what: &'static str) -> Self {
        Self::new(Code::InvalidParameter, what).field(name)
    }

    /// A fault of ours.
    pub(super) fn internal() -> Self {
        Self::new(Code::Internal, "The call failed here; the operator finds the reason by the request id.")
    }

    /// An unknown id, or another MCP server's: the same answer for both (R54).
    pub(super) fn not_found() -> Self {
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
