//! A world in which Alice is connected, and what its tests ask of it.

use std::time::Duration;

use consentry::{
    config::Settings,
    connection::{Connection, ConnectionId},
};
use consentry_fakes::TokenRequest;
use serde_json::{Value, json};

use crate::{
    engine::Database,
    rows,
    world::{Api, Browser, FILES, World},
};

/// Life of an access token of "Example Files".
pub(super) const LIFE: Duration = Duration::from_secs(3600);

/// See the head.
pub(super) struct Stand {
    pub(super) world: World,
    pub(super) api: Api,
    pub(super) alice: Browser,
    pub(super) id: ConnectionId,
}

/// What `resolve` has handed out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Handed {
    pub(super) token: String,
    pub(super) generation: i64,
}

impl Stand {
    pub(super) async fn new(db: Database) -> Self {
        Self::with(db, |_| ()).await
    }

    pub(super) async fn with(db: Database, change: impl Fn(&mut Settings)) -> Self {
        Self::in_world(World::start_with(db, change).await).await
    }

    pub(super) async fn in_world(world: World) -> Self {
        let api = world.api("files");
        let link = api.asks("alice", FILES).await;
        let mut alice = world.browser();
        alice.opens(&link.url).await;
        alice.signs_in("alice").await;
        alice.connects("octocat").await.is("connected");
        let answer = api.resolves("alice", FILES).await;
        let id = answer["connection"]["id"].as_str().unwrap().parse().unwrap();
        Self { world, api, alice, id }
    }

    /// A credential that is there.
    pub(super) async fn resolves(&self) -> Handed {
        handed(&self.api.resolves("alice", FILES).await)
    }

    /// An outage: 503, with how many seconds to wait.
    pub(super) async fn is_unavailable(&self) -> u64 {
        let answer = self.api.post("/v1/credentials/resolve", &self.api.question("alice", FILES)).await;
        let wait = answer.headers.get("retry-after").map(|wait| wait.to_str().unwrap().parse().unwrap());
        let body = answer.expect(503);
        assert_eq!(body["code"], "provider_unavailable", "{body}");
        wait.expect("it says when to come again")
    }

    /// Alice has to act.
    pub(super) async fn asks(&self) {
        self.api.asks("alice", FILES).await;
    }

    /// Refreshes that have reached the provider.
    pub(super) fn refreshes(&self) -> Vec<TokenRequest> {
        let mut log = self.world.files.token_log();
        log.retain(TokenRequest::is_refresh);
        log
    }

    pub(super) async fn until_refreshes(&self, number: usize) {
        self.world.until(async || self.refreshes().len() >= number).await;
    }

    /// Everybody's clock is past the token's life.
    pub(super) fn runs_out(&self) {
        self.world.advance(LIFE);
    }

    /// As it is stored.
    pub(super) async fn stored(&self) -> Connection {
        self.world.database.store.any_connection(self.id).await.unwrap().expect("it is there")
    }

    /// As the API shows it.
    pub(super) async fn shown(&self) -> Value {
        self.api.get(&format!("/v1/connections/{}", self.id)).await.expect(200)
    }

    /// Waits until the API shows this status, and gives the reason.
    pub(super) async fn until_status(&self, status: &str) -> String {
        self.world.until(async || self.shown().await["status"] == status).await;
        self.shown().await["reason"].as_str().unwrap_or_default().to_owned()
    }

    /// The reasons of the signals that Alice must act, in their order.
    pub(super) async fn needs_reconnect(&self) -> Vec<String> {
        let headers = [("accept", "application/json")];
        let path = "/v1/events?after=0&limit=200";
        let page = self.api.call(reqwest::Method::GET, path, None, &headers).await.expect(200);
        let events = page["events"].as_array().unwrap().clone();
        let of_it = |event: &&Value| event["type"] == "connection.needs_reconnect";
        events
            .iter()
            .filter(of_it)
            .map(|event| event["data"]["reason"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(super) async fn reports(&self, generation: i64) -> Value {
        let body =
            json!({ "connection": self.id.to_string(), "generation": generation, "problem": "unauthorized" });
        self.api.post("/v1/credentials/report", &body).await.expect(200)["connection"].clone()
    }

    /// Every row of `connections`, as text.
    pub(super) async fn rows(&self) -> Vec<String> {
        rows::rows(&self.world.database).await["connections"].clone()
    }
}

/// Reads a credential of an answer.
#[track_caller]
pub(super) fn handed(answer: &Value) -> Handed {
    assert_eq!(answer["status"], "ready", "{answer}");
    Handed {
        token: answer["credential"]["access_token"].as_str().unwrap().to_owned(),
        generation: answer["connection"]["generation"].as_i64().unwrap(),
    }
}
