//! What it costs to tell an outcome: from the commit to the bytes on a stream, of the same process and of another one
//! on the same Postgres; many streams under many outcomes; the memory of a stream at rest.
//!
//! This process commits and reads; the second server is the program itself. Run it with `scripts/measure signals`, which
//! brings a Postgres that does not wait for its disk: what is measured is the way from a commit, not the commit.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark stops with a sentence, and prints"
)]

mod process;
mod reader;
mod world;

use std::time::{Duration, Instant};

use consentry::{clock::Clock, elicitation::Elicitation, store::Store};
use tokio::task::JoinSet;

use reader::Reader;
use world::World;

/// Outcomes whose latency is measured, one at a time.
const SINGLE: usize = 500;
/// Outcomes of the load, a second and in all.
const A_SECOND: usize = 1_000;
const LOAD: usize = 10_000;
/// Streams under load, and at rest.
const STREAMS: usize = 50;
const AT_REST: usize = 500;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(measure());
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is told where its database is")]
async fn measure() {
    let postgres = std::env::var("CONSENTRY_TEST_POSTGRES").expect("run it with scripts/measure signals");
    let world = World::start(&postgres).await;
    println!("| from a commit to the bytes on a stream | p50 ms | p99 ms |\n|---|---|---|");
    for (name, port) in [("of the same process", world.here), ("of another process", world.there.internal)] {
        let (half, most) = latency(&world, port).await;
        println!("| {name} | {half:.2} | {most:.2} |");
    }
    at_rest(&world).await;
    load(&world).await;
}

/// Ends elicitations one after the other, each when the one before has arrived.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
async fn latency(world: &World, port: u16) -> (f64, f64) {
    let asked = world.ask(SINGLE).await;
    let mut reader = Reader::open(port).await;
    let mut spans = Vec::with_capacity(SINGLE);
    for elicitation in &asked {
        let store = world.store.clone();
        let ending = elicitation.clone();
        let committed = tokio::spawn(async move {
            end(&store, &ending).await;
            Instant::now()
        });
        reader.event().await;
        let arrived = Instant::now();
        let committed = committed.await.expect("an end");
        spans.push(arrived.saturating_duration_since(committed).as_secs_f64() * 1e3);
        // As outcomes come in life: not while the last one is still told.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    spans.sort_by(f64::total_cmp);
    (spans[SINGLE / 2], spans[SINGLE * 99 / 100])
}

async fn at_rest(world: &World) {
    let before = process::resident_kib(world.there.pid);
    let mut readers = Vec::with_capacity(AT_REST);
    for _ in 0..AT_REST {
        readers.push(Reader::open(world.there.internal).await);
    }
    let grown = process::resident_kib(world.there.pid).saturating_sub(before);
    println!("\nMemory of a stream at rest, over {AT_REST}: {:.1} KiB", f64::from(grown) / AT_REST as f64);
}

/// Outcomes at a steady pace; every stream must see each of them once and in order.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
async fn load(world: &World) {
    let asked = world.ask(LOAD).await;
    let mut reading = JoinSet::new();
    for _ in 0..STREAMS {
        let mut reader = Reader::open(world.there.internal).await;
        reading.spawn(async move {
            let mut last = None;
            for _ in 0..LOAD {
                let sequence = reader.event().await;
                assert!(last.is_none_or(|last| sequence == last + 1), "a stream skipped a number");
                last = Some(sequence);
            }
        });
    }
    let cpu = process::seconds(world.there.pid);
    let started = Instant::now();
    let mut ending = JoinSet::new();
    for (at, elicitation) in asked.into_iter().enumerate() {
        let due = Duration::from_secs(1) * u32::try_from(at).expect("few") / A_SECOND as u32;
        tokio::time::sleep_until((started + due).into()).await;
        let store = world.store.clone();
        ending.spawn(async move { end(&store, &elicitation).await });
        while ending.len() > 64 {
            ending.join_next().await;
        }
    }
    while ending.join_next().await.is_some() {}
    let ended = started.elapsed().as_secs_f64();
    while let Some(read) = reading.join_next().await {
        read.expect("a stream with every outcome");
    }
    let told = started.elapsed().as_secs_f64();
    let spent = process::seconds(world.there.pid) - cpu;
    println!(
        "\n{LOAD} outcomes in {ended:.1} s ({:.0} a second) to {STREAMS} streams: every one told by {told:.1} s, in order, \
         {:.1} µs of the server's CPU for each of {} events",
        LOAD as f64 / ended,
        spent * 1e6 / (LOAD * STREAMS) as f64,
        LOAD * STREAMS
    );
}

async fn end(store: &Store, elicitation: &Elicitation) {
    let now = Clock::system().now();
    let mine = elicitation.clone().owned_by(&elicitation.owner).expect("its owner").open(now).expect("open");
    assert!(store.decline(&mine, now).await.expect("a store"));
}
