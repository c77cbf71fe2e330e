//! OpenID Connect discovery, RFC 8414 metadata (one document under both names) and the key set.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

use super::Inner;
use crate::log::lock;

pub(super) async fn metadata(State(inner): State<Arc<Inner>>) -> Response {
    if !inner.core.settings().metadata {
        return StatusCode::NOT_FOUND.into_response();
    }
    Json(inner.core.metadata(own(&inner))).into_response()
}

fn own(inner: &Inner) -> Value {
    let url = |path: &str| inner.core.url(path);
    let identity = inner.identity();
    let subject = if identity.pairwise_subjects { "pairwise" } else { "public" };
    let mut own = json!({
        "jwks_uri": url("/jwks"),
        "userinfo_endpoint": url("/userinfo"),
        "introspection_endpoint": url("/introspect"),
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "subject_types_supported": [subject],
        "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        "prompt_values_supported": ["none", "login", "select_account", "consent"],
        "claims_supported": ["sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "name", "preferred_username",
            "email", "email_verified"],
        "request_parameter_supported": false,
        "client_id_metadata_document_supported": identity.client_documents,
    });
    if identity.dynamic_registration {
        own["registration_endpoint"] = json!(url("/register"));
    }
    own
}

pub(super) async fn jwks(State(inner): State<Arc<Inner>>) -> Response {
    let keys = lock(&inner.keys).jwks();
    Json(keys).into_response()
}
