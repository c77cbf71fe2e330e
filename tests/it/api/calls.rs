//! Calling the API, and reading what it answers.

use axum::{
    body::Body,
    http::{HeaderMap, Request, StatusCode},
};
use consentry::elicitation::ElicitationId;
use serde_json::Value;
use tower::ServiceExt;

use super::bench::Bench;

/// One call as it was answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

impl Answer {
    /// The code of a problem, which is well formed.
    pub(super) fn code(&self) -> &str {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        let code = self.body["code"].as_str().unwrap();
        assert_eq!(self.body["type"], format!("urn:consentry:problem:{code}"));
        assert_eq!(self.body["status"], self.status.as_u16());
        assert_eq!(self.headers["x-request-id"], self.body["request_id"].as_str().unwrap());
        for field in ["title", "detail"] {
            assert!(self.body[field].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        }
        code
    }

    /// The body of a success of this status.
    #[track_caller]
    pub(super) fn ok(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self.body
    }

    /// Checks a refusal.
    #[track_caller]
    pub(super) fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status.as_u16(), self.code()), (status, code), "{self:?}");
    }
}

/// An MCP server that calls.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) bench: &'a Bench,
    pub(super) key: &'a str,
}

impl Caller<'_> {
    pub(super) async fn get(&self, path: &str) -> Answer {
        self.bench.call("GET", path, &[("authorization", &self.bearer())], Body::empty()).await
    }

    pub(super) async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let bearer = self.bearer();
        let mut all = vec![("authorization", bearer.as_str())];
        all.extend_from_slice(headers);
        self.bench.call("GET", path, &all, Body::empty()).await
    }

    pub(super) async fn delete(&self, path: &str) -> Answer {
        self.bench.call("DELETE", path, &[("authorization", &self.bearer())], Body::empty()).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, body, &[]).await
    }

    pub(super) async fn post_with(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Answer {
        let bearer = self.bearer();
        let mut all = vec![("authorization", bearer.as_str()), ("content-type", "application/json")];
        all.extend_from_slice(headers);
        self.bench.call("POST", path, &all, Body::from(body.to_string())).await
    }

    pub(super) async fn resolve(&self, body: &Value) -> Answer {
        self.post("/v1/credentials/resolve", body).await
    }

    /// A new elicitation by the call for it, and its id.
    pub(super) async fn asked(&self, body: &Value) -> ElicitationId {
        let answer = self.post("/v1/elicitations", body).await.ok(201);
        answer["elicitation"]["id"].as_str().unwrap().parse().unwrap()
    }

    /// An open stream of events.
    pub(super) async fn stream(&self, last_event_id: Option<&str>) -> Stream {
        let mut request = Request::get("/v1/events")
            .header("authorization", self.bearer())
            .header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = self.bench.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Stream { body: response.into_body() }
    }

    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.key)
    }
}

/// A stream, read frame by frame.
pub(super) struct Stream {
    body: Body,
}

impl Stream {
    /// The next frame as it stands; none at the end.
    pub(super) async fn frame(&mut self) -> Option<String> {
        use http_body_util::BodyExt;
        let frame = self.body.frame().await?.unwrap();
        Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
    }

    /// The next event's id, type and data.
    pub(super) async fn event(&mut self) -> (String, String, Value) {
        loop {
            let frame = self.frame().await.unwrap();
            if frame.starts_with(':') {
                continue;
            }
            let mut fields = frame.strip_suffix("\n\n").unwrap().lines();
            let mut field = |name: &str| fields.next().unwrap().strip_prefix(name).unwrap().to_owned();
            let (id, kind, data) = (field("id: "), field("event: "), field("data: "));
            return (id, kind, serde_json::from_str(&data).unwrap());
        }
    }
}
