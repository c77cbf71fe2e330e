//! The layer around every route of a fake: log the whole request first, then let a script answer or the handler work.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::clock::Clock;
use crate::log::{Log, Received};
use crate::oauth::Core;

/// More than any honest peer sends here.
const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// Paths whose handlers consult the script themselves, because their logs must have every request.
const OWN_SCRIPT: [&str; 2] = ["/token", "/revoke"];

pub(crate) async fn observed(State(core): State<Arc<Core>>, request: Request, next: Next) -> Response {
    let (request, path) = match logged(&core.received, &core.clock, request).await {
        Ok(logged) => logged,
        Err(refusal) => return refusal,
    };
    let answer = if OWN_SCRIPT.contains(&path.as_str()) { None } else { core.script.take(&path) };
    match answer {
        None => next.run(request).await,
        Some(answer) => answer.give(next.run(request)).await,
    }
}

/// Reads the body, logs the request, and puts it together again.
pub(crate) async fn logged(
    log: &Log<Received>,
    clock: &Clock,
    request: Request,
) -> Result<(Request, String), Response> {
    let (head, body) = request.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, BODY_LIMIT).await else {
        return Err(StatusCode::PAYLOAD_TOO_LARGE.into_response());
    };
    let path = head.uri.path().to_owned();
    log.push(Received {
        at_ms: clock.now_ms(),
        method: head.method.to_string(),
        path: path.clone(),
        query: head.uri.query().map(str::to_owned),
        headers: header_pairs(&head.headers),
        body: bytes.to_vec(),
    });
    Ok((Request::from_parts(head, Body::from(bytes)), path))
}

fn header_pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

/// The token endpoint's use of the script: logged in every case, worked only when the answer wants it.
pub(crate) async fn token_endpoint(
    core: &Core,
    headers: &HeaderMap,
    body: &Bytes,
    work: impl AsyncFnOnce(bool) -> Response,
) -> Response {
    match core.script.take("/token") {
        None => work(false).await,
        Some(answer) => {
            if !answer.does_work() {
                core.note_token_request(headers, body);
            }
            answer.give(work(true)).await
        }
    }
}

/// Anything but a POST to the token endpoint: refused, and in its log with what the query said.
pub(crate) async fn not_a_token_post(core: &Core, headers: &HeaderMap, query: Option<&str>) -> Response {
    core.note_wrong_method(headers, query.unwrap_or_default());
    (StatusCode::METHOD_NOT_ALLOWED, [("allow", "POST")]).into_response()
}

/// The revocation endpoint, likewise.
pub(crate) async fn revocation_endpoint(core: &Core, headers: &HeaderMap, body: &Bytes) -> Response {
    match core.script.take("/revoke") {
        None => core.revoke(headers, body),
        Some(answer) => {
            if !answer.does_work() {
                core.note_revocation(headers, body);
            }
            answer.give(async { core.revoke(headers, body) }).await
        }
    }
}
