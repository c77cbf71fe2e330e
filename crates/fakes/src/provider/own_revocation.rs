//! Other ways of revoking than RFC 7009: the token as its own proof, and in the query.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri};

use super::Inner;
use crate::answers::bearer;
use crate::parameters::Parameters;

/// `DELETE /tokens/current`: the token as `Authorization: Bearer`, and nothing else.
pub(super) async fn current(
    State(inner): State<Arc<Inner>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if uri.query().is_some() || !body.is_empty() {
        return StatusCode::UNPROCESSABLE_ENTITY.into_response();
    }
    ended(&inner, bearer(&headers), StatusCode::UNAUTHORIZED)
}

/// `POST /deauthorize?token=`: the token in the query, alone.
pub(super) async fn asked(
    State(inner): State<Arc<Inner>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let sent = Parameters::parse(uri.query().unwrap_or_default().as_bytes());
    if headers.contains_key(http::header::AUTHORIZATION) || !body.is_empty() || sent.0.len() != 1 {
        return StatusCode::UNPROCESSABLE_ENTITY.into_response();
    }
    ended(&inner, sent.get("token"), StatusCode::NOT_FOUND)
}

fn ended(inner: &Inner, token: Option<&str>, otherwise: StatusCode) -> Response {
    let lived = token.is_some_and(|token| inner.core.end_token(token));
    if lived { StatusCode::NO_CONTENT } else { otherwise }.into_response()
}
