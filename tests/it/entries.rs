//! Every entry of the catalogue, played: its provider is a strict stand-in that does what the entry and its documented
//! answers say, and the whole connect, refresh and disconnect goes over the real router. A new entry is tested by being
//! there.
//!
//! The entries are not changed for it. The settings name an HTTP proxy and a certificate authority, behind which each
//! provider's own host is played.

mod asked;
mod fact;
mod key;
mod key_service;
mod oauth;
mod player;
mod proxy;
mod sample;
mod unused;

use std::sync::Arc;

use self::{
    asked::Asked,
    fact::{Fact, Told},
    key_service::KeyServices,
    player::Player,
    proxy::Proxy,
};
use crate::{canaries::Logged, engine::Database, world::World};

on_both_engines! {
    every_provider_of_the_catalogue_is_connected_refreshed_and_disconnected,
    r50_every_key_of_the_catalogue_is_checked_handed_out_replaced_and_removed,
    r117_a_key_that_stands_in_an_address_is_not_logged,
}

async fn every_provider_of_the_catalogue_is_connected_refreshed_and_disconnected(db: Database) {
    let stage = Stage::start(db, of_kind("oauth2"), Player::new).await;
    stage.plays_all(oauth::plays).await;
}

async fn r50_every_key_of_the_catalogue_is_checked_handed_out_replaced_and_removed(db: Database) {
    let stage = Stage::start(db, of_kind("secret"), KeyServices::new).await;
    stage.plays_all(key::plays).await;
}

/// The whole log at its most talkative, of those entries whose keys are easiest to log by mistake.
async fn r117_a_key_that_stands_in_an_address_is_not_logged(db: Database) {
    let logged = Logged::start();
    let in_address = |fact: &Fact| key_service::IN_ADDRESS.iter().any(|(id, _)| *id == fact.id);
    let facts: Vec<Fact> = of_kind("secret").into_iter().filter(in_address).collect();
    assert_eq!(facts.len(), key_service::IN_ADDRESS.len());
    let stage = Stage::start(db, facts, KeyServices::new).await;
    stage.plays_all(key::plays).await;
    let text = logged.text();
    assert!(text.contains("serpapi"), "the log is of another test");
    let known = stage.player.known();
    assert!(known.len() >= 9, "{known:?}");
    for key in known {
        for written in [key_service::encoded(&key), key] {
            let line = text.lines().find(|line| line.contains(&written));
            assert!(line.is_none(), "{written} stands in {line:?}");
        }
    }
}

/// The entries of a kind.
fn of_kind(kind: &str) -> Vec<Fact> {
    let facts: Vec<Fact> = fact::all().into_iter().filter(|fact| fact.is(kind)).collect();
    assert!(facts.len() >= 40, "{} entries of the kind {kind}", facts.len());
    facts
}

/// Whoever is behind the proxy.
trait Plays: Send + Sync + 'static {
    /// Answers a request.
    fn hears(&self, asked: &Asked) -> Told;

    /// What is played, by id.
    fn facts(&self) -> Vec<Fact>;

    /// What was done wrong at a provider, or, with no id, at nobody that is known; and forgets it.
    fn faults(&self, id: &str) -> Vec<String>;

    /// What came for it.
    fn heard(&self, id: &str) -> String;
}

/// A world in which entries are configured.
struct Stage<P> {
    world: World,
    player: Arc<P>,
    _proxy: Proxy,
    _directory: tempfile::TempDir,
}

impl<P: Plays> Stage<P> {
    async fn start(db: Database, facts: Vec<Fact>, player: impl FnOnce(Vec<Fact>) -> P) -> Self {
        let settings: String = facts.iter().map(Fact::settings).collect();
        let ids: Vec<String> = facts.iter().map(|fact| format!("\"{}\"", fact.id)).collect();
        let player = Arc::new(player(facts));
        let behind: Arc<dyn Plays> = player.clone();
        let proxy = Proxy::start(behind).await;
        let directory = tempfile::tempdir().unwrap();
        let authority = directory.path().join("authority.pem");
        std::fs::write(&authority, &proxy.authority).unwrap();
        let outbound =
            format!("\n[outbound]\nproxy = \"{}\"\nca_files = ['{}']\n", proxy.url, authority.display());
        let world = World::start_written(db, |text| {
            let offered = "providers = [\"example-files\", \"example-notes\"]";
            assert!(text.contains(offered));
            let more = format!("providers = [\"example-files\", \"example-notes\", {}]", ids.join(", "));
            text.replacen(offered, &more, 1) + settings.as_str() + outbound.as_str()
        });
        Self { world: world.await, player, _proxy: proxy, _directory: directory }
    }

    /// Plays each entry, and names all that failed.
    async fn plays_all(&self, play: impl AsyncFn(&Self, &Fact) -> Result<(), String>) {
        let mut failures = Vec::new();
        for fact in &self.player.facts() {
            self.world.catches_up();
            let played = play(self, fact).await;
            let faults: Vec<String> =
                [fact.id.as_str(), ""].into_iter().flat_map(|id| self.player.faults(id)).collect();
            if played.is_err() || !faults.is_empty() {
                let (what, heard) = (played.err().unwrap_or_default(), self.player.heard(&fact.id));
                failures.push(format!("{}: {what}; {faults:?} after {heard}", fact.id));
            }
        }
        assert!(failures.is_empty(), "{} entries failed:\n{}", failures.len(), failures.join("\n"));
    }
}
