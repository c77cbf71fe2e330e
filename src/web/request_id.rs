//! A reference for each request: in the log, on the page, in the answer's header. Never the caller's own.

use std::fmt;

use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};

use crate::app::App;

/// One request's reference: 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(u64);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Gives a request its reference.
pub async fn assign(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let id = RequestId(u64::from_be_bytes(app.random.bytes()));
    request.extensions_mut().insert(id);
    tracing::Span::current().record("request_id", tracing::field::display(id));
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::try_from(id.to_string()) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
    }
    response
}
