//! Consentry as the MCP server sees it, with one elicitation, and Example Files' API beside it. Which reply a client
//! gets is chosen by the same code as in the real one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use consentry_elicitation::{Ask, Capability, Client, Outcome, Prefer, Turn, choose};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

pub(crate) const LINK: &str = "http://localhost:8080/connect?elicitationId=e-1";

#[derive(Clone)]
pub(crate) struct Consentry {
    pub(crate) url: String,
    state: watch::Sender<&'static str>,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
    prefer: Arc<Mutex<Prefer>>,
    /// Example Files refuses the token from now on.
    refuses: Arc<Mutex<bool>>,
}

impl Consentry {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = watch::Sender::new("pending");
        let (calls, prefer, refuses) = Default::default();
        let played = Self { url, state, calls, prefer, refuses };
        let router = Router::new()
            .route("/v1/credentials/resolve", post(resolve))
            .route("/v1/credentials/report", post(report))
            .route("/v1/elicitations/{id}", get(elicitation))
            .route("/v1/events", get(events))
            .route("/v1/elicitations/{id}/response", post(response))
            .route("/files", get(files))
            .with_state(played.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        played
    }

    /// The user comes to an end in the browser.
    pub(crate) fn becomes(&self, state: &'static str) {
        self.state.send_replace(state);
    }

    pub(crate) fn prefer_errors(&self) {
        *self.prefer.lock().unwrap() = Prefer::Error;
    }

    pub(crate) fn files_refuses(&self) {
        *self.refuses.lock().unwrap() = true;
    }

    /// The bodies of all calls of this name.
    pub(crate) fn calls(&self, name: &str) -> Vec<Value> {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|(called, _)| called == name).map(|(_, body)| body.clone()).collect()
    }

    fn note(&self, name: &str, body: Value) {
        self.calls.lock().unwrap().push((name.to_owned(), body));
    }

    fn state(&self) -> &'static str {
        *self.state.borrow()
    }

    fn shown(&self) -> Value {
        json!({ "id": "e-1", "url": LINK, "state": self.state(), "expires_at": "2099-01-01T00:00:00Z" })
    }

    fn ask(&self) -> Ask {
        let why = "Connect Example Files to list your files.";
        Ask::new("example-files", "Example Files", "e-1", LINK.parse().unwrap()).message(why)
    }
}

fn client(body: &Value) -> Client {
    let client = &body["client"];
    let capability = Capability::declared(client.get("elicitation")).unwrap();
    let version = client["protocol_version"].as_str().unwrap().parse().unwrap();
    Client::new(version, capability, client["method"].as_str().unwrap()).target("list_files")
}

async fn resolve(State(played): State<Consentry>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    played.note("resolve", body.clone());
    if headers["authorization"] != "Bearer the API key" {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let client = client(&body).prefer(*played.prefer.lock().unwrap());
    let retried = body.get("request_state").is_some();
    if retried && body["request_state"] != "sealed" {
        let problem = json!({ "code": "request_state_invalid", "status": 400 });
        return (StatusCode::BAD_REQUEST, Json(problem)).into_response();
    }
    let ask = |turn| json!(choose(&client, &[played.ask()], turn));
    let (status, reply) = match played.state() {
        "completed" => {
            let credential =
                json!({ "kind": "oauth2", "access_token": "files-token", "token_type": "Bearer" });
            let connection = json!({ "id": "c-1", "provider": "example-files", "generation": 4 });
            let ready = json!({ "status": "ready", "credential": credential, "connection": connection });
            return Json(ready).into_response();
        }
        "declined" if retried => {
            let reply = ask(Turn::Refused(Outcome::Declined));
            let refused = json!({ "status": "refused", "outcome": "declined", "elicitation": played.shown(), "reply": reply });
            return Json(refused).into_response();
        }
        _ if retried => ("action_required", ask(Turn::Wait { request_state: "sealed" })),
        _ => ("action_required", ask(Turn::Ask { request_state: Some("sealed") })),
    };
    Json(json!({ "status": status, "elicitation": played.shown(), "reply": reply })).into_response()
}

#[derive(Deserialize)]
struct Wait {
    wait_seconds: Option<u64>,
}

async fn elicitation(
    State(played): State<Consentry>,
    Path(_): Path<String>,
    Query(wait): Query<Wait>,
) -> Json<Value> {
    let mut state = played.state.subscribe();
    let ended = state.wait_for(|state| *state != "pending");
    let _ = tokio::time::timeout(Duration::from_secs(wait.wait_seconds.unwrap_or(0)), ended).await;
    Json(played.shown())
}

async fn response(
    State(played): State<Consentry>,
    Path(_): Path<String>,
    Json(body): Json<Value>,
) -> Json<Value> {
    played.note("response", body.clone());
    let client =
        Client::new("2025-11-25".parse().unwrap(), Capability::URL, "tools/call").target("list_files");
    let reply = match body["action"].as_str().unwrap() {
        "accept" => return Json(json!({ "elicitation": played.shown() })),
        "decline" => {
            played.becomes("declined");
            choose(&client, &[played.ask()], Turn::Refused(Outcome::Declined))
        }
        "cancel" => {
            played.becomes("cancelled");
            choose(&client, &[played.ask()], Turn::Refused(Outcome::Cancelled))
        }
        _ => choose(&client, &[played.ask()], Turn::Tell),
    };
    Json(json!({ "elicitation": played.shown(), "reply": reply }))
}

/// One signal, when the user has connected: for the client that asked first.
async fn events(State(played): State<Consentry>) -> Response {
    let begun = stream::iter([": connected\nid: 0\n\n".to_owned()]);
    let completed = stream::once(async move {
        let _ = played.state.subscribe().wait_for(|state| *state == "completed").await;
        let asked = played.calls("resolve").swap_remove(0);
        let mcp =
            json!({ "method": "notifications/elicitation/complete", "params": { "elicitationId": "e-1" } });
        let data = json!({ "sequence": 1, "elicitation_id": "e-1", "client_ref": asked["client"]["ref"], "mcp": mcp });
        let signal =
            json!({ "type": "elicitation.completed", "timestamp": "2026-11-29T12:00:00Z", "data": data });
        format!("id: 1\ndata: {signal}\n\n")
    });
    let told = begun.chain(completed).chain(stream::pending()).map(Ok::<_, std::convert::Infallible>);
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(told)).into_response()
}

async fn report(State(played): State<Consentry>, Json(body): Json<Value>) -> StatusCode {
    played.note("report", body);
    StatusCode::NO_CONTENT
}

async fn files(State(played): State<Consentry>, headers: HeaderMap) -> Response {
    if headers["authorization"] != "Bearer files-token" || *played.refuses.lock().unwrap() {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    Json(json!({ "owner": "octocat", "files": [{ "id": 1, "name": "notes.txt" }] })).into_response()
}
