//! "Example Keys": a service whose users call its API with a key.
//!
//! Strict in where the key stands: each path takes it in one place alone, and a request that shows it in two is refused.
//! Its log has every request, so that a test can tell what a key was sent in, and where it was not.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::log::{Log, Received, lock};
use crate::observe::logged;
use crate::script::{Script, scripted};
use crate::serve::{Listen, Running, bind};

/// A running service; dropping it stops it.
///
/// | path | where the key stands |
/// |---|---|
/// | `GET /bearer` | `Authorization: Bearer {key}` |
/// | `GET /header` | `X-Api-Key: {key}` |
/// | `GET /basic` | `Authorization: Basic`, the owner's address as user name and the key as password |
/// | `GET /query` | `?api_key={key}` |
/// | `POST /graphql` | `Authorization: {key}`, and a JSON body with a `query` |
///
/// Each answers with whose key it is: `{ "id", "email" }`, in GraphQL `{ "data": { "viewer": { ... } } }`.
#[derive(Debug)]
pub struct KeyService {
    inner: Arc<Inner>,
    running: Running,
}

#[derive(Debug, Default)]
struct Inner {
    log: Log<Received>,
    clock: Clock,
    script: Script,
    keys: Mutex<BTreeMap<String, Owner>>,
}

#[derive(Clone, Debug)]
struct Owner {
    id: String,
    email: String,
    may_read: bool,
}

scripted!(KeyService, inner.script);

impl KeyService {
    /// Starts listening, with no key.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start(listen: Listen) -> io::Result<Self> {
        let bound = bind(listen).await?;
        let inner = Arc::new(Inner::default());
        let router = Router::new().fallback(receive).with_state(Arc::clone(&inner));
        let running = bound.serve(router);
        Ok(Self { inner, running })
    }

    /// `http://127.0.0.6:41234`.
    pub fn base_url(&self) -> &str {
        &self.running.base_url
    }

    /// Makes a key for an account.
    pub fn add_key(&self, key: &str, id: &str, email: &str) {
        let owner = Owner { id: id.to_owned(), email: email.to_owned(), may_read: true };
        lock(&self.inner.keys).insert(key.to_owned(), owner);
    }

    /// A key that is known and may do nothing: 403.
    pub fn forbid(&self, key: &str) {
        if let Some(owner) = lock(&self.inner.keys).get_mut(key) {
            owner.may_read = false;
        }
    }

    /// Its owner removes a key: 401.
    pub fn remove_key(&self, key: &str) {
        lock(&self.inner.keys).remove(key);
    }

    /// What came, to be read or waited on.
    pub fn log(&self) -> &Log<Received> {
        &self.inner.log
    }
}

async fn receive(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    let (request, path) = match logged(&inner.log, &inner.clock, request).await {
        Ok(logged) => logged,
        Err(refusal) => return refusal,
    };
    let answer = inner.script.take(&path);
    let ordinary = work(&inner, request);
    match answer {
        None => ordinary.await,
        Some(answer) => answer.give(ordinary).await,
    }
}

/// A key and where it was shown.
#[derive(Debug, PartialEq, Eq)]
enum Shown {
    Bearer(String),
    Plain(String),
    Header(String),
    Basic(String, String),
    Query(String),
}

async fn work(inner: &Inner, request: Request) -> Response {
    let Ok(shown) = shown(&request) else { return refused(400, "one key, in one place") };
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let is_json = head.headers.get(CONTENT_TYPE).is_some_and(|value| value == "application/json");
    let is_get = head.method == "GET" && body.is_empty();
    let graphql = serde_json::from_slice::<Value>(&body).is_ok_and(|body| body["query"].is_string());
    let (key, user) = match (head.uri.path(), shown) {
        ("/bearer", Shown::Bearer(key)) | ("/header", Shown::Header(key)) | ("/query", Shown::Query(key))
            if is_get =>
        {
            (key, None)
        }
        ("/basic", Shown::Basic(user, key)) if is_get => (key, Some(user)),
        ("/graphql", Shown::Plain(key)) if head.method == "POST" && is_json && graphql => (key, None),
        ("/bearer" | "/header" | "/query" | "/basic" | "/graphql", _) => return refused(400, "not so"),
        _ => return refused(404, "no such path"),
    };
    let owner = lock(&inner.keys).get(&key).cloned();
    let owner = owner.filter(|owner| user.is_none_or(|user| user == owner.email));
    let in_graphql = head.uri.path() == "/graphql";
    match owner {
        // As GraphQL services do: what is wrong stands in a 200.
        None if in_graphql => json_answer(200, &json!({ "errors": [{ "message": "unknown key" }] })),
        None => refused(401, "unknown key"),
        Some(Owner { may_read: false, .. }) => refused(403, "this key may not"),
        Some(Owner { id, email, .. }) if in_graphql => {
            json_answer(200, &json!({ "data": { "viewer": { "id": id, "email": email } } }))
        }
        Some(Owner { id, email, .. }) => json_answer(200, &json!({ "id": id, "email": email })),
    }
}

/// The one key of a request; more than one place is an error.
fn shown(request: &Request) -> Result<Shown, ()> {
    let mut places = Vec::new();
    let headers = request.headers();
    for value in headers.get_all(AUTHORIZATION) {
        let value = value.to_str().map_err(|_| ())?;
        places.push(match value.split_once(' ') {
            Some(("Bearer", key)) => Shown::Bearer(key.to_owned()),
            Some(("Basic", pair)) => {
                let pair = BASE64_STANDARD.decode(pair).map_err(|_| ())?;
                let pair = String::from_utf8(pair).map_err(|_| ())?;
                let (user, key) = pair.split_once(':').ok_or(())?;
                Shown::Basic(user.to_owned(), key.to_owned())
            }
            Some(_) => return Err(()),
            None => Shown::Plain(value.to_owned()),
        });
    }
    for value in headers.get_all("x-api-key") {
        places.push(Shown::Header(value.to_str().map_err(|_| ())?.to_owned()));
    }
    for (name, value) in url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes()) {
        if name != "api_key" {
            return Err(());
        }
        places.push(Shown::Query(value.into_owned()));
    }
    let mut places = places.into_iter();
    match (places.next(), places.next()) {
        (Some(one), None) => Ok(one),
        (_, _) => Err(()),
    }
}

fn refused(status: u16, what: &str) -> Response {
    json_answer(status, &json!({ "error": what }))
}

fn json_answer(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
