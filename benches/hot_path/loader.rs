//! The second baseline: a micro-batched loader with no product around it. A task owns one connection and answers all
//! that has come meanwhile with one prepared statement over the same composite key; each value is opened with the
//! same AEAD. No authentication, no parsing, no policy: what a look-up cannot cost less than in this stack.

use axum::{Json, Router, extract::State, http::StatusCode, routing::get};
use consentry::{
    random::Random,
    secret::Secret,
    vault::{Key, Place, Sealed, Vault},
};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, Row, postgres::PgRow};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::seed;

const LOOK_UP: &str = "SELECT k.n, c.id, c.account_id, c.account_label, c.granted, c.access, c.generation, \
    c.access_expires_at_ms \
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) AS k (n, server, issuer, sub, provider) \
    JOIN connections c ON c.server = k.server AND c.issuer = k.issuer AND c.sub = k.sub AND c.provider = k.provider";

type Answer = oneshot::Sender<Option<PgRow>>;

#[derive(Clone)]
struct Loader {
    queue: mpsc::Sender<(String, Answer)>,
    vault: Vault,
}

/// `loader <database> <port> <key file>`.
pub(crate) fn main(arguments: &[String]) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let key = std::fs::read_to_string(&arguments[2]).expect("a key file");
        let key = Key::from_base64(seed::key_id(), &Secret::new(key.trim())).expect("a key");
        let vault = Vault::new(vec![key], Random).expect("a vault");
        let connection = PgConnection::connect(&arguments[0]).await.expect("a database");
        let (queue, wanted) = mpsc::channel(4096);
        tokio::spawn(lane(connection, wanted));
        let address = format!("127.0.0.1:{}", arguments[1]);
        let listener = tokio::net::TcpListener::bind(address).await.expect("a port");
        let router = Router::new()
            .route("/{sub}", get(answer))
            .fallback(|| async { StatusCode::NOT_FOUND })
            .with_state(Loader { queue, vault });
        axum::serve(listener, router).await.expect("a server");
    });
}

async fn lane(mut connection: PgConnection, mut wanted: mpsc::Receiver<(String, Answer)>) {
    let mut batch = Vec::with_capacity(64);
    while wanted.recv_many(&mut batch, 64).await > 0 {
        let numbers: Vec<i64> = (0..).take(batch.len()).collect();
        let subs: Vec<&str> = batch.iter().map(|(sub, _)| sub.as_str()).collect();
        let rows = sqlx::query(LOOK_UP)
            .bind(numbers)
            .bind(vec!["files"; batch.len()])
            .bind(vec![seed::ISSUER; batch.len()])
            .bind(subs)
            .bind(vec![seed::PROVIDER; batch.len()])
            .fetch_all(&mut connection)
            .await
            .expect("rows");
        let mut found: Vec<Option<PgRow>> = batch.iter().map(|_| None).collect();
        for row in rows {
            let at = usize::try_from(row.get::<i64, _>(0)).expect("a number of ours");
            found[at] = Some(row);
        }
        for ((_, answer), row) in batch.drain(..).zip(found) {
            let _ = answer.send(row);
        }
    }
}

async fn answer(
    State(loader): State<Loader>,
    axum::extract::Path(sub): axum::extract::Path<String>,
) -> Result<Json<Value>, StatusCode> {
    let (answer, answered) = oneshot::channel();
    loader.queue.send((sub.clone(), answer)).await.expect("a lane");
    let row = answered.await.expect("an answer").ok_or(StatusCode::NOT_FOUND)?;
    let place = Place {
        table: "connections",
        column: "access",
        row: row.get::<Uuid, _>(1),
        server: "files",
        issuer: seed::ISSUER,
        sub: &sub,
        provider: seed::PROVIDER,
        generation: row.get(6),
    };
    let opened = loader.vault.open(&place, &Sealed::from_bytes(row.get(5))).expect("a value that opens");
    let token = opened.into_secret().expect("text");
    Ok(Json(json!({
        "status": "ready",
        "connection": {
            "id": row.get::<Uuid, _>(1),
            "account": { "id": row.get::<Option<String>, _>(2), "label": row.get::<Option<String>, _>(3) },
            "generation": row.get::<i64, _>(6),
        },
        "credential": {
            "scopes": row.get::<String, _>(4),
            "access_token": token.expose(),
            "expires_at": row.get::<Option<i64>, _>(7),
        },
    })))
}
