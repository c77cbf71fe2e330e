//! One line in the log and one tick of the counters for each request.
//!
//! What it must never do: tell a query, a header, a body or a path as it was sent; routes are told by their patterns
//! (R117).

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use tokio::time::Instant;
use tracing::{Instrument, Span, field::Empty};

use crate::telemetry::{Answered, Metrics};

/// What a listener's requests are counted by.
#[derive(Clone)]
struct Observer {
    metrics: Metrics,
    listener: &'static str,
}

/// The router with every request logged and counted under the name of `listener`.
pub fn observed(router: Router, metrics: &Metrics, listener: &'static str) -> Router {
    router.layer(from_fn_with_state(Observer { metrics: metrics.clone(), listener }, observe))
}

async fn observe(State(observer): State<Observer>, request: Request, next: Next) -> Response {
    let route = route(&request);
    let method = method(&request);
    let listener = observer.listener;
    // `request_id::assign` fills the last one in.
    let span = tracing::info_span!("request", listener, method, route, request_id = Empty);
    let mut asked = Asked { observer, route, began: Instant::now(), span: span.clone(), status: None };
    let response = next.run(request).instrument(span).await;
    asked.status = Some(response.status().as_u16());
    response
}

/// The route's pattern. What matches none is `other`: a label's values must not be the caller's to choose.
fn route(request: &Request) -> String {
    request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned()
}

fn method(request: &Request) -> &'static str {
    match request.method().as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// A request on the way. Dropped without a status when the client hung up.
struct Asked {
    observer: Observer,
    route: String,
    began: Instant,
    span: Span,
    status: Option<u16>,
}

/// As nginx writes it: the client closed the request.
const HUNG_UP: u16 = 499;

impl Drop for Asked {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        let status = self.status.unwrap_or(HUNG_UP);
        let Observer { metrics, listener } = &self.observer;
        metrics.answered(&Answered { listener, route: &self.route, status, took });
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let _entered = self.span.enter();
        match self.route.as_str() {
            // Asked for every few seconds by whoever watches over the process.
            "/livez" | "/readyz" | "/metrics" => tracing::debug!(status, millis, "answered"),
            // Once for each call of a tool. The audit record has every hand-out, and a line would cost a tenth of it.
            "/v1/credentials/resolve" if status < 300 => tracing::debug!(status, millis, "answered"),
            _ => tracing::info!(status, millis, "answered"),
        }
    }
}
