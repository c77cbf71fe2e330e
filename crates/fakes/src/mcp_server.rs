//! "Example Tools": somebody else's MCP server, which takes the tokens of an authorization server and says so (RFC 9728).
//!
//! Strict in what it takes: a Bearer token in the header, alive, and made for this server and no other. It speaks no more
//! MCP than that.

use std::io;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use serde_json::{Map, Value, json};

use crate::authorization_server::{AuthorizationServer, Judge};
use crate::clock::Clock;
use crate::log::{Log, Received, lock};
use crate::observe::logged;
use crate::script::{Script, merge, scripted};
use crate::serve::{Listen, Running, bind};

const ENDPOINT: &str = "/mcp";
const AT_ROOT: &str = "/.well-known/oauth-protected-resource";
const AT_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// What it says of itself. Changed at any time by `configure`.
#[derive(Clone, Debug)]
pub struct Says {
    /// The challenge names the metadata's address (RFC 9728, section 5.1).
    pub in_challenge: bool,
    /// The challenge asks for these scopes.
    pub challenge_scope: Option<String>,
    /// The metadata stands at the well-known address with the path.
    pub at_path: bool,
    /// It stands at the one without.
    pub at_root: bool,
    /// What `authorization_servers` lists.
    pub issuers: Vec<String>,
    /// What `scopes_supported` lists.
    pub scopes: Vec<String>,
    /// Members of the metadata that are replaced; `null` removes one.
    pub changes: Map<String, Value>,
}

/// A running MCP server; dropping it stops it.
#[derive(Debug)]
pub struct McpServer {
    inner: Arc<Inner>,
    running: Running,
}

#[derive(Debug)]
struct Inner {
    base_url: String,
    judges: Mutex<Vec<Judge>>,
    says: Mutex<Says>,
    log: Log<Received>,
    clock: Clock,
    script: Script,
}

scripted!(McpServer, inner.script);

impl McpServer {
    /// Starts it, with the tokens of this authorization server.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start(listen: Listen, of: &AuthorizationServer) -> io::Result<Self> {
        let bound = bind(listen).await?;
        let says = Says {
            in_challenge: true,
            challenge_scope: None,
            at_path: true,
            at_root: true,
            issuers: vec![of.base_url().to_owned()],
            scopes: vec!["mcp".to_owned(), "files.read".to_owned()],
            changes: Map::new(),
        };
        let inner = Arc::new(Inner {
            base_url: bound.base_url.clone(),
            judges: Mutex::new(vec![of.judge()]),
            says: Mutex::new(says),
            log: Log::default(),
            clock: Clock::default(),
            script: Script::default(),
        });
        let router = Router::new().fallback(receive).with_state(Arc::clone(&inner));
        let running = bound.serve(router);
        Ok(Self { inner, running })
    }

    /// `http://127.0.0.7:41234/mcp`.
    pub fn url(&self) -> String {
        format!("{}{ENDPOINT}", self.running.base_url)
    }

    /// Takes the tokens of another authorization server too; [`Says::issuers`] is not changed.
    pub fn trusts(&self, other: &AuthorizationServer) {
        lock(&self.inner.judges).push(other.judge());
    }

    /// Changes what it says, from the next request on.
    pub fn configure(&self, change: impl FnOnce(&mut Says)) {
        change(&mut lock(&self.inner.says));
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
    let ordinary = work(&inner, &request);
    match inner.script.take(&path) {
        None => ordinary,
        Some(answer) => answer.give(async { ordinary }).await,
    }
}

fn work(inner: &Inner, request: &Request) -> Response {
    let says = lock(&inner.says).clone();
    match (request.method().as_str(), request.uri().path()) {
        ("GET", AT_PATH) if says.at_path => json_answer(200, &inner.metadata(says)),
        ("GET", AT_ROOT) if says.at_root => json_answer(200, &inner.metadata(says)),
        ("POST", ENDPOINT) => match inner.caller(request) {
            Some(subject) => {
                json_answer(200, &json!({ "jsonrpc": "2.0", "id": 1, "result": { "subject": subject } }))
            }
            None => inner.challenge(&says),
        },
        _ => json_answer(404, &json!({ "error": "no such path" })),
    }
}

impl Inner {
    fn metadata(&self, says: Says) -> Value {
        let mut document = Map::new();
        document.insert("resource".to_owned(), json!(format!("{}{ENDPOINT}", self.base_url)));
        document.insert("authorization_servers".to_owned(), json!(says.issuers));
        document.insert("scopes_supported".to_owned(), json!(says.scopes));
        document.insert("bearer_methods_supported".to_owned(), json!(["header"]));
        merge(&mut document, says.changes);
        Value::Object(document)
    }

    /// Whose token this is, where it is one for this server.
    fn caller(&self, request: &Request) -> Option<String> {
        let mut values = request.headers().get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let token = value.to_str().ok()?.strip_prefix("Bearer ")?;
        let here = format!("{}{ENDPOINT}", self.base_url);
        let known = lock(&self.judges).iter().find_map(|judge| judge.judge(token));
        known.filter(|(_, audience)| *audience == [here]).map(|(subject, _)| subject)
    }

    fn challenge(&self, says: &Says) -> Response {
        let mut challenge = "Bearer error=\"invalid_token\"".to_owned();
        if says.in_challenge {
            challenge.push_str(&format!(", resource_metadata=\"{}{AT_PATH}\"", self.base_url));
        }
        if let Some(scope) = &says.challenge_scope {
            challenge.push_str(&format!(", scope=\"{scope}\""));
        }
        (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, challenge)]).into_response()
    }
}

fn json_answer(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
