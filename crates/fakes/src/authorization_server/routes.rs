//! The routes of "Example ID".

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Router, middleware};
use bytes::Bytes;
use http::{HeaderMap, Uri};

use super::{Inner, cors, discovery, introspect, issue, register, sign_in};
use crate::observe::{not_a_token_post, observed, revocation_endpoint};

pub(super) fn router(inner: Arc<Inner>) -> Router {
    let core = Arc::clone(&inner.core);
    Router::new()
        .route("/.well-known/openid-configuration", get(discovery::metadata))
        .route("/.well-known/oauth-authorization-server", get(discovery::metadata))
        .route("/jwks", get(discovery::jwks))
        .route("/authorize", get(sign_in::authorize).post(sign_in::authorize))
        .route("/sign-in", post(sign_in::answer))
        .route("/par", post(par))
        .route("/token", post(issue::token).fallback(no_token))
        .route("/revoke", post(revoke))
        .route("/introspect", post(introspect::introspect))
        .route("/userinfo", get(issue::userinfo).post(issue::userinfo))
        .route("/register", post(register::register))
        .layer(middleware::from_fn_with_state(core, observed))
        .layer(middleware::from_fn(cors::open_endpoints))
        .with_state(inner)
}

async fn par(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    inner.core.push(&headers, &body)
}

async fn revoke(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    revocation_endpoint(&inner.core, &headers, &body).await
}

async fn no_token(State(inner): State<Arc<Inner>>, uri: Uri, headers: HeaderMap) -> Response {
    not_a_token_post(&inner.core, &headers, uri.query()).await
}
