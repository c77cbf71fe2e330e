//! What many expired credentials cost: one refresh for a thousand callers over two processes, and ten thousand that
//! end together while others are asked for.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{Form, Json, Router, extract::State, routing::post};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, Row};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    CONNECTIONS, load,
    seed::{self, Herd, World},
    serve,
};

/// Callers of the one connection, half of them at each process.
const CALLERS: usize = 1_000;
/// What the provider takes for an answer.
const LATENCY: Duration = Duration::from_millis(500);
/// Connections that end together.
const TOGETHER: usize = 10_000;
/// Refreshes a second that the provider is asked for, by one process.
const RATE: u32 = 200;

/// A token endpoint that answers each refresh with new tokens, after a while.
#[derive(Clone)]
struct Provider {
    latency: Duration,
    asked: Arc<Mutex<Vec<Instant>>>,
}

impl Provider {
    async fn start(latency: Duration) -> (Self, u16) {
        let provider = Self { latency, asked: Arc::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let router = Router::new().route("/token", post(token)).with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.expect("a provider") });
        (provider, port)
    }

    fn asked(&self) -> Vec<Instant> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
async fn token(State(provider): State<Provider>, Form(form): Form<Vec<(String, String)>>) -> Json<Value> {
    assert!(form.iter().any(|(name, value)| name == "grant_type" && value == "refresh_token"), "a refresh");
    let number = {
        let mut asked = provider.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(Instant::now());
        asked.len()
    };
    tokio::time::sleep(provider.latency).await;
    Json(json!({
        "access_token": format!("access-{number}"),
        "refresh_token": format!("refresh-{number}"),
        "token_type": "Bearer",
        "expires_in": 3600,
    }))
}

/// A thousand callers of one expired connection, at two processes on one database.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) async fn one_for_all(postgres: &str) {
    let database = seed::create_database(postgres).await;
    let (provider, port) = Provider::start(LATENCY).await;
    let herd = Herd { port, rate: RATE, connections: 1, ends_in: Duration::ZERO };
    let world = World::seed_herd(&database, herd).await;
    let replicas = [serve::consentry(&world, &database).await, serve::consentry(&world, &database).await];
    let started = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|n| {
            let (port, request) = (replicas[n % 2].internal, world.resolve_herd(&replicas[n % 2], 0));
            tokio::spawn(async move {
                let status = ask(port, &request).await;
                (status, started.elapsed())
            })
        })
        .collect();
    tokio::time::sleep(LATENCY / 2).await;
    let held = in_transaction(&database).await;
    let mut answers = Vec::new();
    for caller in callers {
        answers.push(caller.await.expect("a caller that does not panic"));
    }
    let ready = answers.iter().filter(|(status, _)| status == "200").count();
    let last = answers.iter().map(|(_, after)| *after).max().unwrap_or_default();
    println!("| what | figure |\n|---|---|");
    println!("| callers answered with the new token | {ready} of {CALLERS} |");
    println!("| requests that the provider saw | {} |", provider.asked().len());
    println!("| transactions open while it was asked | {held} |");
    println!(
        "| last answer after the provider's {} ms | {} ms |",
        LATENCY.as_millis(),
        (last.saturating_sub(LATENCY)).as_millis()
    );
}

/// Ten thousand connections near their end are asked for once, which hands each out and refreshes it behind; meanwhile
/// others are asked for as fast as they can be.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) async fn together(postgres: &str, requests: usize) {
    let database = seed::create_database(postgres).await;
    let (provider, port) = Provider::start(Duration::from_millis(50)).await;
    let herd = Herd { port, rate: RATE, connections: TOGETHER, ends_in: Duration::from_secs(30) };
    let world = World::seed_herd(&database, herd).await;
    let server = serve::consentry(&world, &database).await;
    let others = world.resolve(&server);
    load::run(&others, requests / 10, CONNECTIONS).await;
    let idle = rate(&others, requests).await;
    for first in (0..TOGETHER).step_by(CONNECTIONS) {
        let asked = (first..TOGETHER.min(first + CONNECTIONS)).map(|n| {
            let (port, request) = (server.internal, world.resolve_herd(&server, n));
            async move { assert_eq!(ask(port, &request).await, "200", "the old token is handed out") }
        });
        futures_util::future::join_all(asked).await;
    }
    let busy = rate(&others, requests).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let asked = provider.asked();
    let second = Duration::from_secs(1);
    let most =
        asked.iter().map(|at| asked.iter().filter(|other| **other >= *at && **other < *at + second).count());
    println!("| what | figure |\n|---|---|");
    println!("| refreshes a second, as configured | {RATE} |");
    println!("| most refreshes in any second | {} |", most.max().unwrap_or(0));
    println!("| refreshes so far | {} |", asked.len());
    println!("| hand-outs of others to their rate before | {:.2} |", busy / idle);
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
async fn rate(target: &load::Target, requests: usize) -> f64 {
    let started = Instant::now();
    load::run(target, requests, CONNECTIONS).await;
    requests as f64 / started.elapsed().as_secs_f64()
}

/// One request on a connection of its own; its status.
async fn ask(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a listener");
    stream.write_all(request.as_bytes()).await.expect("a connection that takes requests");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or_default().to_owned()
}

/// Connections of the database that are inside a transaction or a statement, this one apart.
async fn in_transaction(database: &str) -> i64 {
    let mut connection = PgConnection::connect(database).await.expect("a database");
    let row = sqlx::query(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
         AND backend_type = 'client backend' AND state <> 'idle'",
    );
    row.fetch_one(&mut connection).await.expect("a count").get(0)
}
