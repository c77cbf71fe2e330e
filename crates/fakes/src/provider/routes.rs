//! The routes of "Example Files".

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router, middleware};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri};
use serde_json::{Map, json};

use super::{Inner, api, consent, own_revocation};
use crate::entropy;
use crate::observe::{not_a_token_post, observed, revocation_endpoint, token_endpoint};

pub(super) fn router(inner: Arc<Inner>) -> Router {
    let core = Arc::clone(&inner.core);
    Router::new()
        .route("/.well-known/oauth-authorization-server", get(metadata))
        .route("/authorize", get(consent::authorize).post(consent::authorize))
        .route("/consent", post(consent::answer))
        .route("/par", post(par))
        .route("/token", post(token).fallback(no_token))
        .route("/refresh", post(token))
        .route("/long-lived", get(long_lived))
        .route("/renew", get(renew))
        .route("/tokens/current", delete(own_revocation::current))
        .route("/deauthorize", post(own_revocation::asked))
        .route("/revoke", post(revoke))
        .route("/applications/{client_id}/grant", delete(end_grant))
        .route("/me", get(api::me))
        .route("/userinfo", get(api::userinfo).post(api::userinfo))
        .route("/files", get(api::files))
        .route("/user/repos", get(api::repositories))
        .layer(middleware::from_fn_with_state(core, observed))
        .with_state(inner)
}

async fn metadata(State(inner): State<Arc<Inner>>) -> Response {
    if !inner.core.settings().metadata {
        return StatusCode::NOT_FOUND.into_response();
    }
    let own = json!({ "userinfo_endpoint": inner.core.url("/userinfo") });
    Json(inner.core.metadata(own)).into_response()
}

async fn par(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    inner.core.push(&headers, &body)
}

async fn revoke(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    revocation_endpoint(&inner.core, &headers, &body).await
}

/// Revocation as GitHub has it, in place of RFC 7009.
async fn end_grant(
    State(inner): State<Arc<Inner>>,
    Path(client_id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    inner.core.end_grant(&client_id, &headers, &body)
}

async fn token(State(inner): State<Arc<Inner>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let core = &inner.core;
    let (headers, body) = match core.settings().dialect.token_request(&uri, headers, body) {
        Ok(standard) => standard,
        Err(error) => return error.into_response(),
    };
    token_endpoint(core, &headers, &body, async |scripted| match core.decide(&headers, &body, scripted) {
        Err(error) => error.into_response(),
        Ok(issue) => {
            let access_token = entropy::secret("access_");
            core.remember(&access_token, &issue, &issue.approval.account, issue.resources.clone());
            issue.answer(&access_token, Map::new())
        }
    })
    .await
}

/// Another access token for a young one, which its client's secret goes along with.
async fn long_lived(State(inner): State<Arc<Inner>>, uri: Uri, body: Bytes) -> Response {
    inner.core.exchange_access(&uri, &body, true)
}

/// Another for one of those, by itself.
async fn renew(State(inner): State<Arc<Inner>>, uri: Uri, body: Bytes) -> Response {
    inner.core.exchange_access(&uri, &body, false)
}

async fn no_token(State(inner): State<Arc<Inner>>, uri: Uri, headers: HeaderMap) -> Response {
    not_a_token_post(&inner.core, &headers, uri.query()).await
}
