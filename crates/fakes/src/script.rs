//! Scripted answers: what a fake says instead of, or after, doing its work.
//!
//! An [`Answer`] is queued for a path (used once, in order) or set for it (used until cleared). By default it stands in
//! for the work: the request is logged, and nothing is issued, spent or revoked. [`Answer::after_work`] does the work
//! first and then says this instead: the answer that was lost on the way.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::clock::pause;
use crate::connection::Misbehave;
use crate::log::lock;

/// What a fake with a script can be told: its answers by path, and whether it is there.
macro_rules! scripted {
    ($fake:ident, $($script:ident).+) => {
        impl $fake {
            /// Queues an answer for a path, such as `/jwks` or `/me`; it is used once.
            pub fn next_answer(&self, path: &str, answer: crate::Answer) {
                self.$($script).+.next(path, answer);
            }

            /// Sets the answer for a path whenever nothing is queued for it.
            pub fn always_answer(&self, path: &str, answer: crate::Answer) {
                self.$($script).+.always(path, answer);
            }

            /// Back to the ordinary answers for a path.
            pub fn answer_normally(&self, path: &str) {
                self.$($script).+.clear(path);
            }

            /// `false` closes the port (connecting is refused) and ends open connections; `true` opens it again. Returns
            /// when it is so.
            ///
            /// # Errors
            /// When somebody else has taken the port meanwhile.
            pub async fn accept_connections(&self, open: bool) -> std::io::Result<()> {
                self.running.accept(open).await
            }
        }
    };
}
pub(crate) use scripted;

/// An answer out of the ordinary.
#[derive(Clone, Debug)]
pub struct Answer {
    content: Content,
    headers: Vec<(String, String)>,
    work: bool,
    delay: Duration,
    gate: Option<Gate>,
}

#[derive(Clone, Debug)]
enum Content {
    /// What the work said, with these members of its JSON changed (`null` removes one).
    Genuine(Map<String, Value>),
    Fixed(u16, Bytes),
    Misbehave(Misbehave),
}

impl Answer {
    fn new(content: Content) -> Self {
        Self { content, headers: Vec::new(), work: false, delay: Duration::ZERO, gate: None }
    }

    /// The ordinary answer; a place in the queue, or something to delay or hold.
    pub fn genuine() -> Self {
        Self::changed(Map::new())
    }

    /// The ordinary answer with members of its JSON object replaced; a `null` removes the member.
    pub fn changed(members: Map<String, Value>) -> Self {
        Self { work: true, ..Self::new(Content::Genuine(members)) }
    }

    /// The ordinary answer with one member of its JSON object replaced.
    pub fn with_member(name: &str, value: Value) -> Self {
        Self::changed(Map::from_iter([(name.to_owned(), value)]))
    }

    /// This status with an empty body.
    pub fn status(status: u16) -> Self {
        Self::new(Content::Fixed(status, Bytes::new()))
    }

    /// This status and JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::body(status, "application/json", body.to_string())
    }

    /// This status and any body.
    pub fn body(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self::new(Content::Fixed(status, body.into())).header("content-type", content_type)
    }

    /// An OAuth error answer (RFC 6749 section 5.2) with any status, 200 too.
    pub fn error(status: u16, error: &str) -> Self {
        Self::json(status, &serde_json::json!({ "error": error }))
    }

    /// A web page where JSON was expected.
    pub fn html(status: u16) -> Self {
        Self::body(
            status,
            "text/html; charset=utf-8",
            "<!doctype html><title>Be right back</title><h1>Be right back</h1>",
        )
    }

    /// 302 to somewhere else.
    pub fn redirect(location: &str) -> Self {
        Self::status(302).header(LOCATION.as_str(), location)
    }

    /// 429 with that `Retry-After`, which may be seconds, a date or nonsense.
    pub fn too_many(retry_after: &str) -> Self {
        Self::error(429, "slow_down").header(RETRY_AFTER.as_str(), retry_after)
    }

    /// The whole request is read, then the connection is closed without a byte.
    pub fn drop_connection() -> Self {
        Self::raw(Vec::new())
    }

    /// These bytes on the socket, each after its pause, and then the connection is closed: broken heads, bad chunks,
    /// slow bytes.
    pub fn raw(pieces: Vec<(Duration, Bytes)>) -> Self {
        Self::new(Content::Misbehave(Misbehave { pieces, endless: false }))
    }

    /// A 200 that promises more bytes than it sends.
    pub fn truncated(content_type: &str, body: &str) -> Self {
        let promised = body.len() + 100;
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {promised}\r\n\r\n{body}"
        );
        Self::raw(vec![(Duration::ZERO, Bytes::from(head))])
    }

    /// A 200 whose body goes on until the peer hangs up.
    pub fn endless(content_type: &str) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n{{\"filler\":\""
        );
        Self::new(Content::Misbehave(Misbehave {
            pieces: vec![
                (Duration::ZERO, Bytes::from(head)),
                (Duration::ZERO, Bytes::from(vec![b'x'; 16 * 1024])),
            ],
            endless: true,
        }))
    }

    /// A whole answer, one byte at a time with that pause before each.
    pub fn trickle(every: Duration, answer: &str) -> Self {
        Self::raw(answer.bytes().map(|byte| (every, Bytes::from(vec![byte]))).collect())
    }

    /// One more header. Names and values that are not allowed in HTTP are left out; use [`Answer::raw`] for those.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Do the work (spend the code, rotate the token), then say this.
    #[must_use]
    pub fn after_work(mut self) -> Self {
        self.work = true;
        self
    }

    /// Say it after that much wall time.
    #[must_use]
    pub fn delayed(mut self, by: Duration) -> Self {
        self.delay = by;
        self
    }

    /// Say it when the gate is opened. The work, if any, is done before.
    #[must_use]
    pub fn held(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    pub(crate) fn does_work(&self) -> bool {
        self.work
    }

    /// Runs `work` if this answer wants it, and answers.
    pub(crate) async fn give(self, work: impl Future<Output = Response>) -> Response {
        let genuine = if self.work { Some(work.await) } else { None };
        if let Some(gate) = &self.gate {
            gate.wait().await;
        }
        if !self.delay.is_zero() {
            pause(self.delay).await;
        }
        let mut response = match (self.content, genuine) {
            (Content::Genuine(members), Some(genuine)) => change(genuine, members).await,
            (Content::Genuine(_), None) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            (Content::Fixed(status, body), _) => fixed(status, body),
            (Content::Misbehave(plan), _) => {
                let mut response = Response::new(Body::empty());
                response.extensions_mut().insert(plan);
                response
            }
        };
        for (name, value) in self.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}

fn fixed(status: u16, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

async fn change(genuine: Response, members: Map<String, Value>) -> Response {
    if members.is_empty() {
        return genuine;
    }
    let (mut head, body) = genuine.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let Ok(Value::Object(mut object)) = serde_json::from_slice(&bytes) else {
        return Response::from_parts(head, Body::from(bytes));
    };
    merge(&mut object, members);
    head.headers.remove(http::header::CONTENT_LENGTH);
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(head, Body::from(Value::Object(object).to_string()))
}

/// Replaces members; `null` removes one.
pub(crate) fn merge(object: &mut Map<String, Value>, members: Map<String, Value>) {
    for (name, value) in members {
        if value.is_null() {
            object.remove(&name);
        } else {
            object.insert(name, value);
        }
    }
}

/// Holds answers back until a test opens it.
#[derive(Clone, Debug)]
pub struct Gate {
    open: Arc<watch::Sender<bool>>,
    waiting: Arc<watch::Sender<usize>>,
}

impl Gate {
    /// A shut gate.
    pub fn shut() -> Self {
        Self { open: Arc::new(watch::Sender::new(false)), waiting: Arc::new(watch::Sender::new(0)) }
    }

    /// Lets every held answer go, and all later ones.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until that many requests have come to stand before the gate (those that hung up meanwhile count too).
    pub async fn reached_by(&self, requests: usize) {
        drop(self.waiting.subscribe().wait_for(|waiting| *waiting >= requests).await);
    }

    async fn wait(&self) {
        self.waiting.send_modify(|waiting| *waiting += 1);
        drop(self.open.subscribe().wait_for(|open| *open).await);
    }
}

/// The answers planned for each path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    planned: Arc<Mutex<HashMap<String, Plan>>>,
}

#[derive(Debug, Default)]
struct Plan {
    next: VecDeque<Answer>,
    always: Option<Answer>,
}

impl Script {
    pub(crate) fn next(&self, path: &str, answer: Answer) {
        lock(&self.planned).entry(path.to_owned()).or_default().next.push_back(answer);
    }

    pub(crate) fn always(&self, path: &str, answer: Answer) {
        lock(&self.planned).entry(path.to_owned()).or_default().always = Some(answer);
    }

    pub(crate) fn clear(&self, path: &str) {
        lock(&self.planned).remove(path);
    }

    pub(crate) fn unused(&self, path: &str) -> usize {
        lock(&self.planned).get(path).map_or(0, |plan| plan.next.len())
    }

    pub(crate) fn take(&self, path: &str) -> Option<Answer> {
        let mut planned = lock(&self.planned);
        let plan = planned.get_mut(path)?;
        plan.next.pop_front().or_else(|| plan.always.clone())
    }
}
