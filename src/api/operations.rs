//! For the operator: the API's description, the counters, and whether the process lives and may be sent calls.
//!
//! Nothing of a user's is told here, for no key is asked for.

use std::time::Duration;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{store::StoreError, vault::Purpose};

use super::{Api, answer::json, problem::Problem};

/// How long `/readyz` waits for the database; who asks has little patience.
const DATABASE_MAX: Duration = Duration::from_millis(2_500);

/// What readiness is made of; each must be true.
#[derive(Serialize)]
struct Ready {
    ready: bool,
    database: bool,
    schema: bool,
    keys: bool,
    /// False from the moment that the process drains.
    accepting: bool,
}

/// `GET /openapi.json`.
pub(super) async fn description(State(api): State<Api>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], api.description.clone())
        .into_response()
}

/// `GET /metrics`, in the text format of OpenMetrics that Prometheus reads.
pub(super) async fn metrics(State(api): State<Api>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], api.app.metrics.text()).into_response()
}

/// `GET /livez`: the process answers, whatever else is the matter.
pub(super) async fn alive() -> &'static str {
    "ok"
}

/// `GET /readyz`: 200 when calls can be served, 503 otherwise.
pub(super) async fn ready(State(api): State<Api>) -> Result<Response, Problem> {
    let asked = tokio::time::timeout(DATABASE_MAX, api.app.store.is_migrated()).await;
    let schema = asked.unwrap_or(Err(StoreError::Unavailable("it did not answer in time")));
    let database = match &schema {
        Ok(_) => true,
        Err(error) => !matches!(error, StoreError::Unavailable(_)),
    };
    let schema = schema.unwrap_or(false);
    let keys = keys_work(&api);
    let accepting = !api.app.shutdown.is_cancelled();
    let ready = database && schema && keys && accepting;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json(status, &Ready { ready, database, schema, keys, accepting })
}

/// Whether what is sealed now opens again.
fn keys_work(api: &Api) -> bool {
    let context = ["readyz"];
    let sealed = api.app.vault.seal_text(Purpose::ApiCursor, &context, b"readyz");
    api.app
        .vault
        .open_text(Purpose::ApiCursor, &context, &sealed)
        .is_ok_and(|plain| plain.expose() == b"readyz")
}
