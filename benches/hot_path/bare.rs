//! The baseline: axum, sqlx with the defaults of its pool, one joined select, its row as JSON. No check of anything.

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::get,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use sqlx::{PgPool, Row, postgres::PgPoolOptions};
use uuid::Uuid;

use crate::{CONNECTIONS, seed};

/// `bare <database> <port>`.
pub(crate) fn main(arguments: &[String]) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS as u32);
        let pool = pool.connect(&arguments[0]).await.expect("a database");
        let listener =
            tokio::net::TcpListener::bind(format!("127.0.0.1:{}", arguments[1])).await.expect("a port");
        let ready = get(|| async { StatusCode::NOT_FOUND });
        let router = Router::new().route("/readyz", ready).route("/{sub}", get(answer)).with_state(pool);
        axum::serve(listener, router).await.expect("a server");
    });
}

async fn answer(State(pool): State<PgPool>, Path(sub): Path<String>) -> Json<Value> {
    let row = sqlx::query(
        "SELECT c.id, c.account_id, c.account_label, c.granted, c.access, c.generation, c.access_expires_at_ms \
         FROM measure_keys k JOIN connections c ON c.server = k.server \
         WHERE k.key = $1 AND c.issuer = $2 AND c.sub = $3 AND c.provider = $4",
    )
    .bind(seed::API_KEY)
    .bind(seed::ISSUER)
    .bind(sub)
    .bind(seed::PROVIDER)
    .fetch_one(&pool)
    .await
    .expect("the row");
    Json(json!({
        "status": "ready",
        "connection": {
            "id": row.get::<Uuid, _>(0),
            "account": { "id": row.get::<Option<String>, _>(1), "label": row.get::<Option<String>, _>(2) },
            "generation": row.get::<i64, _>(5),
        },
        "credential": {
            "scopes": row.get::<String, _>(3),
            "access_token": BASE64_STANDARD.encode(row.get::<Vec<u8>, _>(4)),
            "expires_at": row.get::<Option<i64>, _>(6),
        },
    }))
}
