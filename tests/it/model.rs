//! The model of the attacker: Alice, Bob and Mallory, browsers, and every address that any of them ever saw, delivered
//! anywhere in any order. (R3, R4, R8, R9, R24, R39, R59, R60, R70.)
//!
//! A run is a list of random steps in a world. Its judge is what the parties log: a code is redeemed only where the
//! owner's own browser, signed in as the owner, pressed the button and brought that trip's answer back; what is stored
//! for a person came from there; nothing that a stranger does ends an elicitation or spends a trip; and each end is
//! told once.
//!
//! `CONSENTRY_MODEL_RUNS` sets how many runs there are, `CONSENTRY_MODEL_SEED` plays one again. A run that fails says its
//! seed and its steps.

pub(crate) mod chance;
mod judge;
mod run;
mod scene;
mod steps;

use std::time::Duration;

use self::run::{Heard, run};
use crate::{
    engine::{Database, Engine},
    world::World,
};

/// Runs on SQLite; Postgres gets a quarter of them.
const RUNS: u64 = 160;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_connects_for_somebody_else_on_sqlite() {
    play(Engine::Sqlite, 0..setting("CONSENTRY_MODEL_RUNS").unwrap_or(RUNS)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_connects_for_somebody_else_on_postgres() {
    let runs = setting("CONSENTRY_MODEL_RUNS").unwrap_or(RUNS) / 4;
    play(Engine::Postgres, 1_000_000..1_000_000 + runs).await;
}

async fn play(engine: Engine, seeds: std::ops::Range<u64>) {
    let seeds = match setting("CONSENTRY_MODEL_SEED") {
        Some(seed) => seed..seed + 1,
        None => seeds,
    };
    let world = World::start(Database::start(engine).await).await;
    world.id.add_person(consentry_fakes::Person::new("mallory", "Mallory"));
    let mut heard = Heard::default();
    let (mut redeemed, mut refused) = (0, 0);
    let runs = seeds.end - seeds.start;
    for seed in seeds {
        catch_up(&world);
        let tally = run(&world, seed, &mut heard).await;
        redeemed += tally.redeemed;
        refused += tally.refused;
    }
    // A model in which nothing succeeds proves nothing.
    assert!(runs < 20 || (redeemed > runs / 5 && refused > runs), "{redeemed} redeemed, {refused} refused");
}

/// The parties' clocks go by themselves, ours does not; after a while no sign-in would be believed any more.
fn catch_up(world: &World) {
    let behind = world.id.clock().now_ms() - world.clock.now().0;
    world.clock.advance(Duration::from_millis(u64::try_from(behind).unwrap_or(0)));
}

#[expect(clippy::disallowed_methods, reason = "how long to look is for whoever starts the tests")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}
