//! A server on loopback that plays prepared answers and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

/// What the server was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

#[derive(Clone, Default)]
pub(crate) struct Server {
    answers: Arc<Mutex<VecDeque<Response>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Starts it; the answers are given in their order, and then 418.
    pub(crate) async fn playing(answers: impl IntoIterator<Item = Response>) -> (Self, String) {
        let server =
            Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), asked: Arc::default() };
        let router = Router::new().fallback(answer).with_state(server.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (server, base)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn answer(State(server): State<Server>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    let asked = Asked { method: parts.method, uri: parts.uri.to_string(), headers: parts.headers, body };
    server.asked.lock().unwrap().push(asked);
    let next = server.answers.lock().unwrap().pop_front();
    next.unwrap_or_else(|| StatusCode::IM_A_TEAPOT.into_response())
}

pub(crate) fn json(status: u16, body: &Value) -> Response {
    let headers = [("content-type", "application/json")];
    (StatusCode::from_u16(status).unwrap(), headers, body.to_string()).into_response()
}

pub(crate) fn problem(status: u16, code: &str, retry_after: Option<&str>) -> Response {
    let body = serde_json::json!({ "type": "about:blank", "title": "No", "status": status, "detail": "Because.",
        "code": code, "request_id": "r-1" });
    let mut response = json(status, &body);
    if let Some(after) = retry_after {
        response.headers_mut().insert("retry-after", after.parse().unwrap());
    }
    response
}

/// A stream of these pieces, which then breaks off, or stays open and silent.
pub(crate) fn stream(pieces: &[&str], stays: bool) -> Response {
    use futures_util::StreamExt;
    let pieces: Vec<Result<String, std::io::Error>> =
        pieces.iter().map(|piece| Ok((*piece).to_owned())).collect();
    let end = if stays {
        futures_util::stream::pending().left_stream()
    } else {
        futures_util::stream::empty().right_stream()
    };
    let body = Body::from_stream(futures_util::stream::iter(pieces).chain(end));
    ([("content-type", "text/event-stream")], body).into_response()
}
