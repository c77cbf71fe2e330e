//! The door of the MCP server: RFC 9728 metadata for whoever has no token yet, a check of the token for everybody
//! else, and sessions that belong to the user who opened them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header::WWW_AUTHENTICATE},
    middleware::Next,
    response::{IntoResponse, Response},
};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::json;

use super::bearer::{Bearer, Refusal, SCOPE, User};

/// Where the metadata of `/mcp` is (RFC 9728, section 3.1).
pub(super) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// What the door knows.
pub(super) struct Gate {
    pub(super) origin: String,
    pub(super) bearer: Bearer,
    pub(super) sessions: Arc<LocalSessionManager>,
    /// The subject that opened each session.
    pub(super) owners: Mutex<HashMap<Arc<str>, String>>,
}

/// `GET /.well-known/oauth-protected-resource/mcp`: where a client gets a token for this server, and with which scope.
pub(super) async fn metadata(State(gate): State<Arc<Gate>>) -> Response {
    Json(json!({
        "resource": format!("{}/mcp", gate.origin),
        "resource_name": super::NAME,
        "authorization_servers": [gate.bearer.issuer()],
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
    }))
    .into_response()
}

/// Lets a request in when it has a user, and when the session that it names is that user's.
pub(super) async fn check(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let user = match gate.bearer.user(request.headers()).await {
        Ok(user) => user,
        Err(refusal) => return gate.refuse(&refusal),
    };
    if session(request.headers()).is_some_and(|id| !gate.owns(&user, id)) {
        // As for a session that does not exist: the client begins a new one.
        return (StatusCode::NOT_FOUND, "no such session").into_response();
    }
    request.extensions_mut().insert(user.clone());
    let response = next.run(request).await;
    if let Some(id) = session(response.headers()) {
        gate.bind(user, id).await;
    }
    response
}

fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id").map(|id| id.to_str().unwrap_or_default())
}

impl Gate {
    fn owns(&self, user: &User, session: &str) -> bool {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.get(session).is_some_and(|owner| *owner == user.subject)
    }

    /// A new session is its opener's; those that are gone are forgotten.
    async fn bind(&self, user: User, session: &str) {
        let living = self.sessions.sessions.read().await;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if !owners.contains_key(session) {
            owners.retain(|id, _| living.contains_key(id));
            owners.insert(session.into(), user.subject);
        }
    }

    /// RFC 6750, section 3, with the pointer of RFC 9728, section 5.1.
    fn refuse(&self, refusal: &Refusal) -> Response {
        let (status, error) = match refusal {
            Refusal::Missing => (StatusCode::UNAUTHORIZED, None),
            Refusal::Invalid(_) => (StatusCode::UNAUTHORIZED, Some("invalid_token")),
            Refusal::Scope => (StatusCode::FORBIDDEN, Some("insufficient_scope")),
            Refusal::NoKeys => return (StatusCode::SERVICE_UNAVAILABLE, refusal.to_string()).into_response(),
        };
        let mut challenge =
            format!("Bearer resource_metadata=\"{}{METADATA_PATH}\", scope=\"{SCOPE}\"", self.origin);
        if let Some(error) = error {
            challenge.push_str(&format!(", error=\"{error}\", error_description=\"{refusal}\""));
        }
        let mut response = (status, refusal.to_string()).into_response();
        if let Ok(challenge) = HeaderValue::try_from(challenge) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}
