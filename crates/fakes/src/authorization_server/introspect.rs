//! Introspection (RFC 7662), for confidential clients only.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};

use super::Inner;
use crate::clients::{Authentication, Presented};
use crate::oauth::TokenError;
use crate::parameters::Parameters;

pub(super) async fn introspect(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    match explain(&inner, &headers, &body) {
        Ok(answer) => ([("cache-control", "no-store")], Json(answer)).into_response(),
        Err(error) => error.into_response(),
    }
}

fn explain(inner: &Inner, headers: &HeaderMap, body: &Bytes) -> Result<Value, TokenError> {
    let sent = Parameters::form(headers, body).map_err(|error| TokenError::request(error.to_string()))?;
    let client = inner.core.authenticate(&Presented::read(headers, &sent))?;
    if client.authentication == Authentication::None {
        return Err(TokenError::client("introspection is for confidential clients"));
    }
    let token = sent.get("token").ok_or_else(|| TokenError::request("token is missing"))?;
    let Some(access) = inner.core.living(token) else { return Ok(json!({ "active": false })) };
    let audience = match access.audience.as_slice() {
        [one] => json!(one),
        several => json!(several),
    };
    Ok(json!({
        "active": true, "iss": inner.core.issuer, "sub": access.subject, "aud": audience,
        "client_id": access.client_id, "scope": access.scopes.join(" "), "token_type": "Bearer",
        "iat": access.issued_ms.div_euclid(1000), "exp": access.expires_ms.div_euclid(1000),
    }))
}
