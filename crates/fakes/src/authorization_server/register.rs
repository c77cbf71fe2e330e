//! Dynamic client registration (RFC 7591), as MCP clients of the older protocol revisions use it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Inner;
use crate::clients::{Authentication, Client};
use crate::entropy;

/// Client metadata as registered or as served under a `client_id` URL; what is not used here is ignored.
#[derive(Debug, Deserialize)]
pub(super) struct ClientMetadata {
    pub(super) client_id: Option<String>,
    pub(super) client_name: Option<String>,
    #[serde(default)]
    pub(super) redirect_uris: Vec<String>,
    pub(super) token_endpoint_auth_method: Option<String>,
    pub(super) client_secret: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

/// An error of RFC 7591 section 3.2.2.
type Wrong = (&'static str, &'static str);

pub(super) async fn register(State(inner): State<Arc<Inner>>, body: Bytes) -> Response {
    if !inner.identity().dynamic_registration {
        return StatusCode::NOT_FOUND.into_response();
    }
    match accept(&inner, &body) {
        Ok(answer) => (StatusCode::CREATED, [("cache-control", "no-store")], Json(answer)).into_response(),
        Err((error, why)) => {
            let body = json!({ "error": error, "error_description": why });
            (StatusCode::BAD_REQUEST, Json(body)).into_response()
        }
    }
}

fn accept(inner: &Inner, body: &Bytes) -> Result<Value, Wrong> {
    let asked: Value =
        serde_json::from_slice(body).map_err(|_| ("invalid_client_metadata", "this is no JSON"))?;
    let metadata: ClientMetadata = serde_json::from_value(asked.clone())
        .map_err(|_| ("invalid_client_metadata", "a member has the wrong type"))?;
    metadata.check()?;
    let id = format!("dynamic-{}", entropy::label());
    let secret = entropy::secret("secret_");
    let authentication = match metadata.token_endpoint_auth_method.as_deref() {
        Some("none") => Authentication::None,
        None | Some("client_secret_basic") => Authentication::Basic(secret.clone()),
        Some("client_secret_post") => Authentication::Post(secret.clone()),
        Some(_) => {
            return Err(("invalid_client_metadata", "this token_endpoint_auth_method is not supported"));
        }
    };
    let confidential = authentication != Authentication::None;
    let mut answer = asked;
    answer["client_id"] = json!(id);
    answer["client_id_issued_at"] = json!(inner.core.clock.now_s());
    answer["token_endpoint_auth_method"] = json!(authentication.method());
    if confidential {
        answer["client_secret"] = json!(secret);
        answer["client_secret_expires_at"] = json!(0);
    }
    inner.core.register(metadata.client(&id, authentication, false));
    Ok(answer)
}

impl ClientMetadata {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        if self.redirect_uris.is_empty() {
            return Err(("invalid_redirect_uri", "redirect_uris is missing"));
        }
        if !self.redirect_uris.iter().all(|uri| is_allowed_redirect(uri)) {
            return Err(("invalid_redirect_uri", "redirect URIs are https or loopback, without a fragment"));
        }
        let only = |list: &Option<Vec<String>>, known: &[&str]| {
            list.iter().flatten().all(|entry| known.contains(&entry.as_str()))
        };
        if !only(&self.grant_types, &["authorization_code", "refresh_token"])
            || !only(&self.response_types, &["code"])
        {
            return Err(("invalid_client_metadata", "only the code flow is supported"));
        }
        Ok(())
    }

    pub(super) fn client(self, id: &str, authentication: Authentication, any_loopback_port: bool) -> Client {
        Client {
            id: id.to_owned(),
            name: self.client_name.unwrap_or_else(|| id.to_owned()),
            authentication,
            redirect_uris: self.redirect_uris,
            any_loopback_port,
            unvetted: true,
        }
    }
}

/// MCP authorization: redirect URIs are https, or on this machine.
fn is_allowed_redirect(uri: &str) -> bool {
    let Ok(url) = url::Url::parse(uri) else { return false };
    url.fragment().is_none() && (url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url)))
}

pub(super) fn is_loopback(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}
