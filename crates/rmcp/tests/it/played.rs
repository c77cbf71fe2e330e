//! A Consentry that answers whatever a test wants, also what it must not, and the MCP server in front of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::{Path, Query, State},
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use consentry_fakes::{AuthorizationServer, Listen};
use consentry_rmcp::{Consentry, Endpoint, bearer::Bearer, client};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};

use crate::stand::Tools;

pub(crate) const LINK: &str = "http://localhost:8080/connect?elicitationId=e-1";

type Answer = dyn Fn(&Value) -> Value + Send + Sync;

#[derive(Clone)]
pub(crate) struct Played {
    answer: Arc<Answer>,
    /// Bodies of the calls to resolve.
    pub(crate) asked: Arc<Mutex<Vec<Value>>>,
    /// Resolve waits for this.
    pub(crate) released: watch::Sender<bool>,
    /// What the stream of signals tells, in its form.
    pub(crate) signals: watch::Sender<String>,
}

impl Played {
    /// The MCP server, its authorization server, and this behind.
    pub(crate) async fn door(answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> (Self, Door) {
        let played = Self {
            answer: Arc::new(answer),
            asked: Arc::default(),
            released: watch::Sender::new(true),
            signals: watch::Sender::new(": connected\nid: 0\n\n".to_owned()),
        };
        let router = Router::new()
            .route("/v1/credentials/resolve", post(resolve))
            .route("/v1/elicitations/{id}", get(elicitation))
            .route("/v1/elicitations/{id}/response", post(async || Json(json!({}))))
            .route("/v1/events", get(events))
            .with_state(played.clone());
        let url = serve(router).await;
        let id = AuthorizationServer::start(Listen::default()).await.unwrap();
        let consentry = Consentry::new(client::Client::new(url, "key").unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let resource = format!("http://{}/mcp", listener.local_addr().unwrap());
        let bearer = Bearer::builder(&resource, id.base_url()).build().unwrap();
        let endpoint = Endpoint::new(bearer).origins(["http://localhost:*"]);
        let router = endpoint.router(move || Ok(Tools(consentry.clone())));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (played, Door { id, url: resource })
    }

    pub(crate) fn asked(&self, nth: usize) -> Value {
        self.asked.lock().unwrap()[nth].clone()
    }

    pub(crate) async fn is_asked(&self, times: usize) {
        while self.asked.lock().unwrap().len() < times {
            tokio::task::yield_now().await;
        }
    }

    /// A signal about `e-1` for a client.
    pub(crate) fn signals(&self, sequence: u64, kind: &str, client_ref: &Value) {
        let mcp =
            json!({ "method": "notifications/elicitation/complete", "params": { "elicitationId": "e-1" } });
        let data = json!({ "type": kind, "timestamp": "2026-11-29T12:00:00Z", "data": { "sequence": sequence,
            "elicitation_id": "e-1", "client_ref": client_ref, "mcp": mcp } });
        self.signals.send_modify(|text| text.push_str(&format!("id: {sequence}\ndata: {data}\n\n")));
    }
}

pub(crate) struct Door {
    pub(crate) id: AuthorizationServer,
    pub(crate) url: String,
}

impl Door {
    pub(crate) fn token(&self, person: &str) -> String {
        self.id.access_token_for(person, &self.url).unwrap()
    }
}

async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// Nobody has connected; this is the reply for the client.
pub(crate) fn needed(reply: &Value) -> Value {
    json!({ "status": "action_required", "elicitation": shown(), "reply": reply })
}

fn shown() -> Value {
    json!({ "id": "e-1", "url": LINK, "state": "pending", "expires_at": "2099-01-01T00:00:00Z" })
}

pub(crate) fn request() -> Value {
    let body = json!({ "mode": "url", "message": "m", "url": LINK, "elicitationId": "e-1" });
    json!({ "kind": "elicitation_request", "body": body })
}

pub(crate) fn error() -> Value {
    let elicitation = request()["body"].clone();
    let body = json!({ "code": -32042, "message": "m", "data": { "elicitations": [elicitation] } });
    json!({ "kind": "jsonrpc_error", "body": body })
}

pub(crate) fn round() -> Value {
    let params = json!({ "mode": "url", "message": "m", "url": LINK });
    let requests = json!({ "connect-a": { "method": "elicitation/create", "params": params } });
    let body = json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "s" });
    json!({ "kind": "input_required", "body": body })
}

pub(crate) fn waiting() -> Value {
    let body = json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "s" });
    json!({ "kind": "input_required", "body": body })
}

pub(crate) fn ready() -> Value {
    json!({ "status": "ready",
        "credential": { "kind": "oauth2", "access_token": "t", "token_type": "Bearer" },
        "connection": { "id": "c-1", "provider": "a", "generation": 1 } })
}

async fn resolve(State(played): State<Played>, Json(body): Json<Value>) -> Json<Value> {
    played.asked.lock().unwrap().push(body.clone());
    let _ = played.released.subscribe().wait_for(|released| *released).await;
    Json((played.answer)(&body))
}

async fn elicitation(Path(_): Path<String>, Query(wait): Query<HashMap<String, u64>>) -> Json<Value> {
    let seconds = wait.get("wait_seconds").copied().unwrap_or(0);
    let never = tokio::time::timeout(Duration::from_secs(seconds), std::future::pending::<()>());
    let _ = never.await;
    Json(shown())
}

async fn events(State(played): State<Played>) -> Response {
    let told =
        futures_util::stream::unfold((played.signals.subscribe(), 0), |(mut signals, sent)| async move {
            let text = signals.wait_for(|text| text.len() > sent).await.ok()?.clone();
            Some((Ok::<_, std::convert::Infallible>(text[sent..].to_owned()), (signals, text.len())))
        });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(told.boxed())).into_response()
}
