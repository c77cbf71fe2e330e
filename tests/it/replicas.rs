//! Two processes on one Postgres: what one commits, waiters and streams of the other learn at once by `NOTIFY`, and
//! within a second by looking when the listener is cut off.
//!
//! Time stands still unless a test moves it, so that what arrives without that was not found by polling.

use std::time::Duration;

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::{
    engine::{Database, Engine},
    world::{Api, FILES, Replica, World},
};

/// Longer than a wake-up can take, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);
/// Within it nothing may arrive that only time brings.
const SILENCE: Duration = Duration::from_millis(300);
/// How often a process looks by itself.
const POLL: Duration = Duration::from_secs(1);
/// The connections that listen in this database.
const LISTENERS: &str = "FROM pg_stat_activity WHERE application_name = 'consentry listener' AND query LIKE 'LISTEN%' AND datname";

/// Two servers, and the database past both.
struct Pair {
    world: World,
    other: Replica,
    database: String,
    /// Connected beside the database, for nobody may close the one that they are in.
    raw: PgConnection,
}

impl Pair {
    async fn start() -> Self {
        let world = World::start(Database::start(Engine::Postgres).await).await;
        let other = world.replica().await;
        let (server, database) = world.database.url.expose().rsplit_once('/').unwrap();
        let (raw, database) = (format!("{server}/postgres"), database.to_owned());
        let raw = PgConnection::connect(&raw).await.unwrap();
        Self { world, other, database, raw }
    }

    /// The MCP server's calls to the replica that commits.
    fn here(&self) -> Api {
        self.world.api("files")
    }

    /// Its calls to the one that waits.
    fn there(&self) -> Api {
        self.world.api_at(&self.other, "files")
    }

    async fn asks(&self, sub: &str) -> String {
        self.here().asks(sub, FILES).await.id
    }

    async fn ends(&self, id: &str) {
        self.here().post(&format!("/v1/elicitations/{id}/cancel"), &json!({})).await.expect(200);
    }

    async fn run(&mut self, sql: &str) {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut self.raw).await.unwrap();
    }

    async fn listeners(&mut self) -> i64 {
        let count = format!("SELECT COUNT(*) {LISTENERS} = '{}'", self.database);
        sqlx::query_scalar(AssertSqlSafe(count)).fetch_one(&mut self.raw).await.unwrap()
    }

    /// Nobody new may connect, and who listens is gone.
    async fn cut(&mut self) {
        self.run(&format!("ALTER DATABASE {} ALLOW_CONNECTIONS false", self.database)).await;
        self.run(&format!("SELECT pg_terminate_backend(pid) {LISTENERS} = '{}'", self.database)).await;
    }

    async fn mend(&mut self) {
        self.run(&format!("ALTER DATABASE {} ALLOW_CONNECTIONS true", self.database)).await;
        let listening = async {
            while self.listeners().await == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, listening).await.expect("it listens again");
    }
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it arrives")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stream_of_another_replica_is_woken_by_a_notice() {
    let pair = Pair::start().await;
    let mut stream = pair.there().stream(None).await;
    for user in 0..5 {
        let id = pair.asks(&format!("user-{user}")).await;
        pair.ends(&id).await;
        assert_eq!(soon(stream.event()).await, (user + 1, json!(id)));
    }
    drop(stream);
    pair.other.stops().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_waiter_of_another_replica_is_woken_by_a_notice() {
    let pair = Pair::start().await;
    let id = pair.asks("alice").await;
    let there = pair.there();
    let waiting = tokio::spawn({
        let path = format!("/v1/elicitations/{id}?wait_seconds=50");
        async move { there.get(&path).await.expect(200) }
    });
    // It holds on while nothing happens, and another's news are not its own.
    let other = pair.asks("bob").await;
    pair.ends(&other).await;
    pair.ends(&id).await;
    assert_eq!(soon(waiting).await.unwrap()["state"], "cancelled");
    pair.other.stops().await;
}

/// F43: the listener is cut off and cannot come back. The next look finds everything, at most a second later; when
/// it can connect again, notices work again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f43_polling_finds_what_a_lost_listener_misses() {
    let mut pair = Pair::start().await;
    let mut stream = pair.there().stream(None).await;
    let (first, second, third) = (pair.asks("one").await, pair.asks("two").await, pair.asks("three").await);
    pair.ends(&first).await;
    assert_eq!(soon(stream.event()).await, (1, json!(first)));

    pair.cut().await;
    pair.ends(&second).await;
    let early = tokio::time::timeout(SILENCE, stream.event()).await;
    assert!(early.is_err(), "without a listener only time brings it: {early:?}");
    pair.world.advance(POLL);
    assert_eq!(soon(stream.event()).await, (2, json!(second)));

    pair.mend().await;
    pair.ends(&third).await;
    assert_eq!(soon(stream.event()).await, (3, json!(third)));
    drop(stream);
    pair.other.stops().await;
}

/// The same of a long wait, by the clock alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f43_a_waiter_polls_while_the_listener_is_lost() {
    let mut pair = Pair::start().await;
    let id = pair.asks("alice").await;
    // Both replicas have the connections that they need.
    let there = pair.there();
    there.elicitation(&id).await;
    let mut waiting = tokio::spawn({
        let path = format!("/v1/elicitations/{id}?wait_seconds=50");
        async move { there.get(&path).await.expect(200) }
    });
    while pair.listeners().await < 1 {
        tokio::task::yield_now().await;
    }
    pair.cut().await;
    pair.ends(&id).await;
    assert!(tokio::time::timeout(SILENCE, &mut waiting).await.is_err(), "only time brings it");
    pair.world.advance(POLL);
    assert_eq!(soon(waiting).await.unwrap()["state"], "cancelled");
    pair.mend().await;
    pair.other.stops().await;
}
