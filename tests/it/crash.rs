//! What must hold when a process dies, when the database goes, when the disk is full: with real `consentry serve`
//! processes, killed by `kill -9` at a marked point.
//!
//! The parties around Consentry run in the test ([`scene`]), so that a fake can hold an answer while the process that
//! waits for it is killed; a proxy in front of Postgres ([`proxy`]) holds a statement, a commit or its answer. On SQLite,
//! which has no wire, a lock on the file takes the proxy's place. Each test plays its rounds on one database: a few in CI,
//! as many as `CONSENTRY_CRASH_ROUNDS` says in `scripts/crash`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a long mode tells what it has counted, a failure what the server logged"
)]

mod backup;
mod cluster;
mod delivery;
mod disconnect;
mod disk;
mod exchange;
mod failover;
mod held;
mod kills;
mod load;
mod outage;
mod poison;
mod power;
mod process;
mod provider;
mod proxy;
mod refresh;
mod replicas;
mod reseal;
mod restore;
mod scene;
mod settings;

use std::time::Duration;

use consentry::{clock::Clock, random::Random};

/// Whether this is the long mode.
fn is_long() -> bool {
    rounds(0) > 0
}

/// How often each marked point is played.
fn rounds(in_ci: usize) -> usize {
    #[expect(clippy::disallowed_methods, reason = "scripts/crash says here how long its longer mode is")]
    let asked = std::env::var("CONSENTRY_CRASH_ROUNDS");
    asked.ok().map_or(in_ci, |rounds| rounds.parse().expect("CONSENTRY_CRASH_ROUNDS is a number"))
}

/// Up to so many milliseconds: a moment that nobody has chosen.
async fn chance(millis: u64) {
    Clock::system().sleep(Duration::from_millis(Random.below(millis + 1))).await;
}
