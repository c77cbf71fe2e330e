//! The internal API: what MCP servers and the operator call. `docs/http-api.md` describes it for them.
//!
//! Every call under `/v1` begins with [`auth::Caller`], and everything it reads or changes is that MCP server's own
//! (R1, R109). Answers are never cached. What it must never do: decide what `connect` and `credential` decide.

mod answer;
mod auth;
mod beside;
mod code;
mod connections;
mod create;
mod elicitations;
mod events;
mod hosted;
mod input;
mod links;
mod openapi;
mod operations;
mod pace;
mod problem;
mod providers;
mod question;
mod report;
mod request_state;
mod resolve;
mod retry;
mod subject;
#[cfg(test)]
mod tests;
mod variables;
mod view;

use std::{any::Any, ops::Deref, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use self::openapi::openapi;
use self::{
    pace::{Pace, Streams},
    problem::{Code, Problem},
};
use crate::app::App;

/// What a call can reach. Cloning shares it.
#[derive(Clone)]
struct Api(Arc<Inner>);

struct Inner {
    app: App,
    pace: Pace,
    streams: Streams,
    /// The description of the API, as it is served.
    description: Bytes,
}

impl Deref for Api {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Everything that the internal listener serves.
pub fn router(app: App) -> Router {
    let limits = app.settings.limits;
    let (calls, description) = calls().split_for_parts();
    let api = Api(Arc::new(Inner {
        pace: Pace::new(limits.elicitations_per_minute, app.clock.clone()),
        streams: Streams::new(app.settings.mcp_servers.len(), limits.streams_per_server),
        description: description.to_json().unwrap_or_default().into(),
        app,
    }));
    calls
        .route("/openapi.json", get(operations::description))
        .route("/metrics", get(operations::metrics))
        .route("/livez", get(operations::alive))
        .route("/readyz", get(operations::ready))
        .fallback(|| async { Problem::not_found() })
        .method_not_allowed_fallback(|| async {
            Problem::new(Code::MethodNotAllowed, "The header `Allow` names the methods that are.")
        })
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(api.clone(), finish))
        .with_state(api)
}

/// The calls under `/v1`, each with its description.
fn calls() -> OpenApiRouter<Api> {
    OpenApiRouter::with_openapi(openapi::base())
        .routes(routes!(resolve::resolve))
        .routes(routes!(report::report))
        .routes(routes!(create::create))
        .routes(routes!(elicitations::read))
        .routes(routes!(elicitations::respond))
        .routes(routes!(elicitations::cancel))
        .routes(routes!(hosted::redeem))
        .routes(routes!(hosted::result))
        .routes(routes!(connections::list))
        .routes(routes!(connections::read, connections::delete))
        .routes(routes!(events::events))
        .routes(routes!(providers::list))
}

/// Gives every answer its reference and its headers, and a problem its body.
async fn finish(State(api): State<Api>, request: Request, next: Next) -> Response {
    let id = format!("{:016x}", u64::from_be_bytes(api.app.random.bytes()));
    tracing::Span::current().record("request_id", id.as_str());
    let mut response = next.run(request).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        response = problem.render(&id, &api.app.metrics, response);
    }
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(id) = HeaderValue::try_from(id) {
        headers.insert(HeaderName::from_static("x-request-id"), id);
    }
    response
}

fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!("a handler of the API panicked");
    Problem::internal().into_response()
}
