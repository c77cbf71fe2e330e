//! Sessions of the legacy era belong to the user who opened them. rmcp serves a session to whoever knows its id: with
//! another's token, calls would run inside it and its news would go to the wrong reader. Nor does rmcp bound how many one user
//! opens, each of which costs memory until it has been quiet for long.

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
use rmcp::transport::streamable_http_server::session::{SessionManager, local::LocalSessionManager};

use crate::call::SESSION;

/// Sessions of one user at the same time; whoever opens another loses their oldest.
const SESSIONS_MAX: usize = 32;

/// Who opened which session.
pub(crate) struct Sessions {
    pub(crate) living: Arc<LocalSessionManager>,
    opened: Mutex<Opened>,
}

/// By the session's id.
#[derive(Default)]
struct Opened {
    owners: HashMap<Arc<str>, Owner>,
    /// How many there have been.
    count: u64,
}

struct Owner {
    who: Principal,
    /// The lower, the older.
    number: u64,
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
        Self { living, opened: Mutex::default() }
    }

    fn is_owned_by(&self, who: &Principal, id: &str) -> bool {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.owners.get(id).is_some_and(|owner| owner.who == *who)
    }

    /// A new session is its opener's; those that are gone are forgotten, and the opener's oldest end where there are too many.
    async fn bind(&self, who: Principal, id: &str) {
        let oldest = {
            let living = self.living.sessions.read().await;
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            if opened.owners.contains_key(id) {
                return;
            }
            opened.owners.retain(|id, _| living.contains_key(id));
            opened.open(who, id)
        };
        // No lock is held: closing takes the sessions' own, and waits for the session.
        for id in oldest {
            if let Err(error) = self.living.close_session(&id).await {
                tracing::debug!(%error, "a session could not be closed; it is unknown all the same");
            }
        }
    }
}

impl Opened {
    /// The ids that must end for it.
    fn open(&mut self, who: Principal, id: &str) -> Vec<Arc<str>> {
        let mut theirs: Vec<(u64, Arc<str>)> = self
            .owners
            .iter()
            .filter(|(_, owner)| owner.who == who)
            .map(|(id, owner)| (owner.number, Arc::clone(id)))
            .collect();
        theirs.sort_unstable_by_key(|(number, _)| *number);
        let over = (theirs.len() + 1).saturating_sub(SESSIONS_MAX);
        let oldest: Vec<Arc<str>> = theirs.into_iter().take(over).map(|(_, id)| id).collect();
        for id in &oldest {
            self.owners.remove(id);
        }
        self.count += 1;
        self.owners.insert(id.into(), Owner { who, number: self.count });
        oldest
    }
}
