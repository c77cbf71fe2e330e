//! Every entry of the catalogue, played: its provider is a strict stand-in that does what the entry and its documented
//! answers say, and the whole connect, refresh and disconnect goes over the real router. A new entry is tested by being
//! there.
//!
//! The entries are not changed for it. The settings name an HTTP proxy and a certificate authority, behind which each
//! provider's own host is played.

mod asked;
mod fact;
mod oauth;
mod player;
mod proxy;

use std::sync::Arc;

use self::{fact::Fact, player::Player, proxy::Proxy};
use crate::{engine::Database, world::World};

on_both_engines! {
    every_provider_of_the_catalogue_is_connected_refreshed_and_disconnected,
}

async fn every_provider_of_the_catalogue_is_connected_refreshed_and_disconnected(db: Database) {
    let stage = Stage::start(db, "oauth2").await;
    stage.plays_all(oauth::plays).await;
}

/// A world in which entries are configured.
struct Stage {
    world: World,
    player: Arc<Player>,
    _proxy: Proxy,
    _directory: tempfile::TempDir,
}

impl Stage {
    async fn start(db: Database, kind: &str) -> Self {
        let facts: Vec<Fact> = fact::all().into_iter().filter(|fact| fact.is(kind)).collect();
        assert!(facts.len() >= 40, "{} entries of the kind {kind}", facts.len());
        let settings: String = facts.iter().map(Fact::settings).collect();
        let ids: Vec<String> = facts.iter().map(|fact| format!("\"{}\"", fact.id)).collect();
        let player = Arc::new(Player::new(facts));
        let proxy = Proxy::start(Arc::clone(&player)).await;
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
    async fn plays_all(&self, play: impl AsyncFn(&Stage, &Fact) -> Result<(), String>) {
        let mut failures = Vec::new();
        for fact in self.player.facts.values() {
            let played = play(self, fact).await;
            let faults: Vec<String> =
                [fact.id.as_str(), ""].into_iter().flat_map(|id| self.player.faults(id)).collect();
            if played.is_err() || !faults.is_empty() {
                let heard = self.player.with(&fact.id, |state| state.heard.join(", "));
                failures.push(format!(
                    "{}: {}; {faults:?} after {heard}",
                    fact.id,
                    played.err().unwrap_or_default()
                ));
            }
        }
        assert!(failures.is_empty(), "{} entries failed:\n{}", failures.len(), failures.join("\n"));
    }
}
