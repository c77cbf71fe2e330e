//! What whoever runs the process asks of it: is it alive, is it ready, what has it counted.
//!
//! For the internal listener. The answers hold no secret and need no key.

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde::Serialize;

use crate::{app::App, store::StoreError};

/// `/livez`, `/readyz` and `/metrics`.
pub fn operations(app: App) -> Router {
    Router::new()
        .route("/livez", get(|| async { ([(header::CACHE_CONTROL, "no-store")], "ok") }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(app)
}

/// What is well and what is not.
#[derive(Debug, Serialize)]
struct Readiness {
    ready: bool,
    database: &'static str,
    schema: &'static str,
    keys: &'static str,
    draining: bool,
}

async fn ready(State(app): State<App>) -> Response {
    let (database, schema) = match app.store.is_migrated().await {
        Ok(true) => ("ok", "ok"),
        Ok(false) | Err(StoreError::Refused(_)) => ("ok", "behind"),
        Err(error) => {
            app.metrics.store_error(&error);
            ("unavailable", "unknown")
        }
    };
    // A ring that cannot open what is stored stops the start.
    let keys = if app.vault.keys().next().is_some() { "ok" } else { "missing" };
    let draining = app.shutdown.is_cancelled();
    let ready = [database, schema, keys] == ["ok"; 3] && !draining;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let readiness = Readiness { ready, database, schema, keys, draining };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(readiness)).into_response()
}

async fn metrics(State(app): State<App>) -> Response {
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-store")], app.metrics.text())
        .into_response()
}
