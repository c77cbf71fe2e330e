//! Receivers of webhooks: what came, and whether it verifies as the client library verifies.

use std::{collections::BTreeSet, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use consentry::{
    clock::Millis,
    config::{Settings, Webhook},
    delivery::State,
    secret::{Hash, Secret},
};
use consentry_client::{Event, webhook};
use consentry_fakes::{Listen, Received, Sink};
use serde_json::Value;

use crate::{
    engine::Database,
    world::{SERVERS, World},
};

/// How long a post that is due may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Names of the secrets: the first signs, the second comes after it.
pub(crate) const SECRETS: [&str; 2] = ["the first secret", "the second secret"];

/// A signing secret.
pub(crate) fn secret(name: &str) -> String {
    format!("whsec_{}", BASE64_STANDARD.encode(Hash::of(name.as_bytes()).as_bytes()))
}

/// A receiver for each MCP server of a world.
pub(crate) struct Receivers {
    pub(crate) files: Receiver,
    pub(crate) notes: Receiver,
}

/// One of them.
pub(crate) struct Receiver {
    pub(crate) sink: Sink,
    url: String,
}

/// A post as it came.
pub(crate) struct Post(Received);

impl Receivers {
    pub(crate) async fn start() -> Self {
        Self { files: Receiver::start().await, notes: Receiver::start().await }
    }

    /// A world that posts to them, signed with the first secret.
    pub(crate) async fn world(&self, db: Database) -> World {
        World::start_with(db, |settings| self.set(settings, SECRETS[0], None)).await
    }

    /// The same while the second secret takes the place of the first.
    pub(crate) async fn changing_world(&self, db: Database) -> World {
        World::start_with(db, |settings| self.set(settings, SECRETS[1], Some(SECRETS[0]))).await
    }

    /// Moves the clock to when something is next due, and lets what is under way end: a clock that leaps over a claim
    /// is a process that stood still for as long.
    pub(crate) async fn comes_round(&self, world: &World) {
        let due = world.database.store.deliveries(None, Some(State::Due), 1_000).await.unwrap();
        let next = due.iter().map(|one| one.next_at).min();
        let now = world.clock.now();
        let wait = next.map_or(Duration::ZERO, |next| now.until(next));
        world.clock.advance(wait.max(Duration::from_millis(500)));
        let before = self.files.sink.log().len();
        self.files.sink.log().until(Duration::from_millis(10), |came| came.len() > before).await;
    }

    /// Names them in the settings.
    pub(crate) fn set(&self, settings: &mut Settings, name: &str, former: Option<&str>) {
        for (id, receiver) in SERVERS.iter().zip([&self.files, &self.notes]) {
            let server = settings.mcp_servers.iter_mut().find(|server| server.id.as_str() == *id).unwrap();
            server.webhook = Some(Webhook {
                url: receiver.url.parse().unwrap(),
                secret: Secret::new(secret(name)),
                former_secret: former.map(|name| Secret::new(secret(name))),
            });
        }
    }
}

impl Receiver {
    async fn start() -> Self {
        let sink = Sink::start(Listen::default()).await.unwrap();
        let url = format!("{}/hooks/consentry", sink.base_url());
        Self { sink, url }
    }

    /// As the store knows it.
    pub(crate) fn hash(&self) -> Hash {
        Hash::of(self.url.as_bytes())
    }

    /// Waits until so many have come.
    pub(crate) async fn posts(&self, number: usize) -> Vec<Post> {
        let came = self.sink.log().until(PATIENCE, |came| came.len() >= number).await;
        let Some(came) = came else { panic!("{} of {number} have come", self.sink.log().len()) };
        came.into_iter().map(Post).collect()
    }

    /// The elicitations that were told of so far.
    pub(crate) fn elicitations(&self) -> BTreeSet<String> {
        let ids = self.sink.log().entries().into_iter();
        ids.filter_map(|post| post.json()?["data"]["elicitation_id"].as_str().map(str::to_owned)).collect()
    }
}

impl Post {
    pub(crate) fn id(&self) -> String {
        self.0.header("webhook-id").unwrap().to_owned()
    }

    pub(crate) fn timestamp(&self) -> i64 {
        self.0.header("webhook-timestamp").unwrap().parse().unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        self.0.json().unwrap()
    }

    /// Path, headers and body, to be searched.
    pub(crate) fn everything(&self) -> String {
        format!("{} {:?} {:?} {}", self.0.path, self.0.query, self.0.headers, self.0.text())
    }

    /// As a receiver with these secrets verifies it at `now`.
    pub(crate) fn verify(&self, names: &[&str], now: Millis) -> Result<Event, webhook::Refused> {
        let keys: Vec<webhook::Key> =
            names.iter().map(|name| webhook::Key::new(&secret(name)).unwrap()).collect();
        let header = |name: &str| self.0.header(name);
        let post = webhook::verify(&keys, header, &self.0.body, now.seconds())?;
        assert_eq!(post.webhook_id, self.id());
        Ok(post.event)
    }

    #[track_caller]
    pub(crate) fn verified(&self, names: &[&str], now: Millis) -> Event {
        assert_eq!((self.0.method.as_str(), self.0.path.as_str()), ("POST", "/hooks/consentry"));
        assert_eq!(self.0.header("content-type"), Some("application/json"));
        self.verify(names, now).unwrap()
    }
}
