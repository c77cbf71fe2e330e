//! What the operator asks for.

use axum::body::Body;
use serde_json::json;

use super::bench::Bench;
use crate::engine::Database;

on_both_engines!(the_process_says_how_it_is, providers_are_the_callers_own);

async fn the_process_says_how_it_is(db: Database) {
    let bench = Bench::new(db).await;
    let get = async |path: &str| bench.call("GET", path, &[], Body::empty()).await;
    assert_eq!(get("/livez").await.ok(200), json!("ok"));
    let ready = json!({ "ready": true, "database": true, "schema": true, "keys": true, "accepting": true });
    assert_eq!(get("/readyz").await.ok(200), ready);
    let answer = get("/metrics").await;
    assert!(answer.headers["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    assert!(answer.body.as_str().unwrap().ends_with("# EOF\n"));
    let description = get("/openapi.json").await.ok(200);
    assert_eq!(description, serde_json::to_value(consentry::api::openapi()).unwrap());
    bench.app.shutdown.cancel();
    let draining = get("/readyz").await.ok(503);
    assert_eq!((&draining["ready"], &draining["accepting"]), (&json!(false), &json!(false)));
    assert_eq!(get("/livez").await.status, 200);
}

async fn providers_are_the_callers_own(db: Database) {
    let bench = Bench::new(db).await;
    let provider = |id: &str, name: &str| json!({ "id": id, "kind": "oauth2", "name": name, "scopes": ["read"], "allowed_scopes": ["read", "write"], "variables": [] });
    assert_eq!(
        bench.files().get("/v1/providers").await.ok(200),
        json!({ "providers": [provider("acme", "Acme"), provider("globex", "Globex")] })
    );
}
