//! Why a request is not answered with a result: a JSON-RPC error, and the HTTP status that goes with it.
//!
//! The texts are ours; nothing of what a client sent is repeated but the names of protocol versions.

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use consentry_elicitation::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use serde_json::{Value, json};

use super::message::Id;
use crate::{connect::Refusal, store::StoreError};

/// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const METHOD_NOT_FOUND: i64 = -32_601;
/// 2026-07-28, basic/index, "Error Codes".
const HEADER_MISMATCH: i64 = -32_020;
const UNSUPPORTED_VERSION: i64 = -32_022;

/// A refusal.
#[derive(Debug)]
pub(super) struct Fault(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    code: i64,
    message: String,
    data: Option<Value>,
    /// The request's id, once it is known.
    id: Option<Id>,
    /// For `WWW-Authenticate`.
    challenge: Option<String>,
    retry_after: Option<Duration>,
}

impl Fault {
    fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        let (data, id, challenge, retry_after) = (None, None, None, None);
        Self(Box::new(Parts { status, code, message: message.into(), data, id, challenge, retry_after }))
    }

    pub(super) fn parse_error(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, PARSE_ERROR, message)
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
    }

    /// Parameters that are missing or wrong. A client of the legacy era reads errors in answers with the status 200
    /// alone; in the modern one it is 400 (M19).
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, INVALID_PARAMS, message)
    }

    /// 404 in the modern era (basic/transports/streamable-http, "Protocol Version Header").
    pub(super) fn method_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, "There is no such method.")
    }

    pub(super) fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, HEADER_MISMATCH, message)
    }

    pub(super) fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let mut fault = Self::new(
            StatusCode::BAD_REQUEST,
            UNSUPPORTED_VERSION,
            "This protocol version is not spoken here.",
        );
        fault.0.data = Some(json!({ "supported": supported, "requested": requested }));
        fault
    }

    /// Something of ours does not work. Trying again later may help.
    pub(super) fn internal() -> Self {
        Self::new(StatusCode::OK, INTERNAL_ERROR, "This does not work at the moment; try again later.")
    }

    pub(super) fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, INVALID_REQUEST, "The body is too long.")
    }

    pub(super) fn media_type() -> Self {
        let message = "Send the body as application/json, in UTF-8.";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, message)
    }

    pub(super) fn not_acceptable(message: &str) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, message)
    }

    pub(super) fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, "Send a POST.")
    }

    /// M26: a page of another origin asks.
    pub(super) fn foreign_origin() -> Self {
        Self::new(StatusCode::FORBIDDEN, INVALID_REQUEST, "Pages of this origin may not ask here.")
    }

    /// Unknown, ended, run out, or another person's; a client begins a new one (2025-11-25, basic/transports).
    pub(super) fn no_session() -> Self {
        Self::new(StatusCode::NOT_FOUND, INVALID_REQUEST, "There is no such session.")
    }

    /// 401 or 403 with the challenge of RFC 6750, section 3.
    pub(super) fn challenged(status: StatusCode, message: &str, challenge: String) -> Self {
        let mut fault = Self::new(status, INVALID_REQUEST, message);
        fault.0.challenge = Some(challenge);
        fault
    }

    /// The authorization server cannot be asked now.
    pub(super) fn unavailable(wait: Duration) -> Self {
        let message = "Who you are cannot be checked at the moment.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, INTERNAL_ERROR, message).after(wait)
    }

    /// Too many requests of one person, or with tokens that nobody knows.
    pub(super) fn too_many(wait: Duration) -> Self {
        let message = "There are too many requests.";
        Self::new(StatusCode::TOO_MANY_REQUESTS, INVALID_REQUEST, message).after(wait)
    }

    /// To be tried again then.
    fn after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// The answer to this request, unless it is to an earlier one.
    pub(super) fn for_request(mut self, id: Id) -> Self {
        self.0.id.get_or_insert(id);
        self
    }

    /// The same with the status that a client of the legacy era reads errors of.
    pub(super) fn in_a_result(mut self) -> Self {
        self.0.status = StatusCode::OK;
        self
    }

    /// The JSON-RPC message.
    pub(super) fn body(&self) -> Value {
        let Parts { code, message, data, id, .. } = &*self.0;
        let mut error = json!({ "code": code, "message": message });
        if let Some(data) = data {
            error["data"] = data.clone();
        }
        let mut body = json!({ "jsonrpc": "2.0", "error": error });
        if let Some(id) = id {
            body["id"] = id.to_json();
        }
        body
    }
}

impl From<RpcError> for Fault {
    /// With the status 400: the errors of the elicitation crate are of what a client sent or declared.
    fn from(error: RpcError) -> Self {
        let mut fault = Self::new(StatusCode::BAD_REQUEST, error.code, error.message);
        fault.0.data = error.data;
        fault
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        tracing::warn!(error = %refusal, "a call of the MCP endpoint failed");
        Self::internal()
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Refusal::Store(error).into()
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let Parts { status, challenge, retry_after, .. } = &*self.0;
        let mut response = (*status, Json(self.body())).into_response();
        let headers = response.headers_mut();
        if let Some(challenge) = challenge.as_deref().and_then(|text| HeaderValue::try_from(text).ok()) {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(wait) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs().saturating_add(1)));
        }
        if *status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
        }
        response
    }
}
