//! Sessions of the legacy era belong to the user who opened them. rmcp serves a session to whoever knows its id: with
//! another's token, calls would run inside it and its news would go to the wrong reader.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use consentry_bearer::Principal;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use crate::call::SESSION;

/// Who opened which session.
pub(crate) struct Sessions {
    pub(crate) living: Arc<LocalSessionManager>,
    owners: Mutex<HashMap<Arc<str>, Principal>>,
}

/// Lets a request through when the session that it names is its user's. Stands behind the token check.
pub(crate) async fn check(State(sessions): State<Arc<Sessions>>, request: Request, next: Next) -> Response {
    let Some(who) = request.extensions().get::<Principal>().cloned() else {
        return (StatusCode::UNAUTHORIZED, "no user\n").into_response();
    };
    let mut named = request.headers().get_all(SESSION).iter();
    if let Some(id) = named.next() {
        let owned = id.to_str().is_ok_and(|id| sessions.is_owned_by(&who, id)) && named.next().is_none();
        if !owned {
            // As for a session that does not exist: its owner's client begins a new one, and nobody learns more.
            return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
        }
    }
    let response = next.run(request).await;
    if let Some(id) = opened(response.headers()) {
        sessions.bind(who, id).await;
    }
    response
}

fn opened(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}

impl Sessions {
    pub(crate) fn new(living: Arc<LocalSessionManager>) -> Self {
        Self { living, owners: Mutex::default() }
    }

    fn is_owned_by(&self, who: &Principal, id: &str) -> bool {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.get(id).is_some_and(|owner| owner == who)
    }

    /// A new session is its opener's; those that are gone are forgotten.
    async fn bind(&self, who: Principal, id: &str) {
        let living = self.living.sessions.read().await;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if !owners.contains_key(id) {
            owners.retain(|id, _| living.contains_key(id));
            owners.insert(id.into(), who);
        }
    }
}
