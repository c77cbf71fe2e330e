//! Two processes of everything: the session is on one MCP server, its question was made by one replica of Consentry, and the
//! user's browser comes back to the other.

use consentry::clock::Clock;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::{
    client::{ACCEPT, Client},
    stand::Stand,
};

/// A database on the tests' server, removed by [`Database::drop_it`].
struct Database {
    admin: PgConnection,
    name: String,
    url: String,
}

impl Database {
    async fn create() -> Self {
        #[expect(clippy::disallowed_methods, reason = "scripts/test says here where its server is")]
        let server = std::env::var("CONSENTRY_TEST_POSTGRES");
        let server = server.expect(
            "CONSENTRY_TEST_POSTGRES is not set; run scripts/test, or eval \"$(scripts/postgres start)\" before",
        );
        let mut admin = PgConnection::connect(&server).await.unwrap();
        let name = format!("rmcp_{}", std::process::id());
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut admin).await.unwrap();
        let url = format!("{}/{name}", server.rsplit_once('/').unwrap().0);
        Self { admin, name, url }
    }

    async fn drop_it(mut self) {
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut self.admin).await.unwrap();
    }
}

/// Trap 9, E14: the session that was asked hears of it, wherever the callback landed, and no other does, on neither server.
#[tokio::test(flavor = "multi_thread")]
async fn trap_9_the_news_find_the_session_that_asked_across_replicas() {
    let database = Database::create().await;
    let mut stand = Stand::on(tempfile::tempdir().unwrap(), &database.url, 2, Clock::system()).await;
    let here = stand.mcp_with(consentry_rmcp::Builder::prefer_errors).await;
    let there = stand.further_mcp(1).await;
    let token = stand.token("alice");
    let asking = Client::legacy(&here, &token, json!({ "url": {} })).await;
    let beside = Client::legacy(&here, &token, json!({ "url": {} })).await;
    let beyond = Client::legacy(&there, &token, json!({ "url": {} })).await;

    let called = asking.call(ACCEPT).await;
    assert_eq!(called.code(), -32042);
    let elicitation = &called.message["error"]["data"]["elicitations"][0];
    // The other server listens as well: its session has a question of its own.
    let browsing = async {
        beyond.is_asked(1).await;
        stand.browsers_reach(1);
        stand.connects(elicitation["url"].as_str().unwrap(), "alice", "octocat").await;
    };
    let (waited, ()) = tokio::join!(beyond.call(ACCEPT), browsing);
    assert_eq!(asking.is_told(1).await, [json!({ "elicitationId": elicitation["elicitationId"] })]);
    // One connection answers both questions, and each session hears of its own.
    assert_eq!(waited.text(), "octocat");
    let own = beyond.asked.borrow()[0]["elicitationId"].clone();
    assert_ne!(own, elicitation["elicitationId"]);
    assert_eq!(beyond.told_by_now().await, [json!({ "elicitationId": own })]);
    assert!(beside.told_by_now().await.is_empty());
    assert_eq!(asking.told_by_now().await.len(), 1);
    stand.ends().await;
    database.drop_it().await;
}
