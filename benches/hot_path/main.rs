//! What the two hot requests cost: CPU time of server and database together, beside two baselines.
//!
//! The bare endpoint answers with one joined select over the same row and key, through a pool with sqlx's defaults, of
//! 32 connections. The loader batches look-ups over the same key and opens the same values, and does nothing else. Arms are interleaved; each figure is the median of five with its spread. A ratio of the same run is
//! the result, never a time. Run it with `scripts/measure`, which brings a Postgres.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark stops with a sentence, and prints"
)]

mod bare;
mod cpu;
mod herd;
mod load;
mod loader;
mod seed;
mod serve;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use load::Target;
use seed::World;
use serve::Running;

/// Rounds of each arm.
const ROUNDS: usize = 5;
/// Connections of the load.
const CONNECTIONS: usize = 32;
/// Stored connections, where nothing else is said.
const STORED: usize = 10_000;
/// Few and many.
const FEW: usize = 1_000;
const MANY: usize = 1_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    match arguments.next().as_deref() {
        Some("bare") => return bare::main(&arguments.collect::<Vec<_>>()),
        Some("loader") => return loader::main(&arguments.collect::<Vec<_>>()),
        _ => {}
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(measure());
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is told where its database is")]
async fn measure() {
    let postgres = std::env::var("CONSENTRY_TEST_POSTGRES").expect("run it with scripts/measure");
    let requests: usize =
        std::env::var("MEASURE_REQUESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);

    let only: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let wanted = |section: &str| only.is_empty() || only.iter().any(|name| name == section);
    if wanted("requests") {
        println!(
            "## Postgres, {CONNECTIONS} connections, {requests} requests a round, median of {ROUNDS} [spread]\n"
        );
        let database = seed::create_database(&postgres).await;
        engine(&database, requests, true).await;
    }
    if wanted("many") {
        println!("\n## Postgres, {MANY} stored connections beside {FEW}\n");
        many(&postgres, requests).await;
    }
    if wanted("one") {
        println!("\n## One expired connection, a thousand callers, two processes\n");
        herd::one_for_all(&postgres).await;
    }
    if wanted("together") {
        println!("\n## Ten thousand that end together\n");
        herd::together(&postgres, requests).await;
    }
    if wanted("sqlite") {
        println!("\n## SQLite, the same\n");
        let folder = tempfile::tempdir().expect("a folder");
        let database = format!("sqlite:{}", folder.path().join("measure.db").display());
        engine(&database, requests / 4, false).await;
    }
    if wanted("rest") {
        println!("\n## At rest, on SQLite\n");
        at_rest().await;
    }
}

async fn engine(database: &str, requests: usize, is_postgres: bool) {
    let world = World::seed(database, STORED).await;
    let server = serve::consentry(&world, database).await;
    let mut arms: Vec<(&str, &Running, Target)> = vec![
        ("resolve, ready", &server, world.resolve(&server)),
        ("GET /connect, signed-in owner", &server, world.connect(&server)),
    ];
    let baselines = match is_postgres {
        true => Some((serve::bare(database).await, serve::loader(&world, database).await)),
        false => None,
    };
    if let Some((bare, loader)) = &baselines {
        arms.insert(0, (BARE, bare, world.bare(bare)));
        arms.insert(1, (LOADER, loader, world.loader(loader)));
    }
    let spent = take_turns(&arms, requests, is_postgres, &world).await;
    println!("| request | server µs | database µs | together µs [spread] | to bare | to loader |");
    println!("|---|---|---|---|---|---|");
    let to = |baseline: &str, together: f64| {
        let cost = spent.get(baseline).map(|costs| median(costs, Cost::together));
        cost.map_or("-".to_owned(), |cost| format!("{:.2}", together / cost))
    };
    for (name, _, _) in &arms {
        let costs = &spent[name];
        let together = median(costs, Cost::together);
        let (low, high) = spread(costs, Cost::together);
        println!(
            "| {name} | {:.0} | {:.0} | {together:.0} [{low:.0}-{high:.0}] | {} | {} |",
            median(costs, |cost| cost.server),
            median(costs, |cost| cost.database),
            to(BARE, together),
            to(LOADER, together),
        );
    }
}

/// The same request against few stored connections and against many: what it costs, and how many a second there are.
async fn many(postgres: &str, requests: usize) {
    let (few, many) = (seed::create_database(postgres).await, seed::create_database(postgres).await);
    let (few_world, many_world) = (World::seed(&few, FEW).await, World::seed(&many, MANY).await);
    let servers = (serve::consentry(&few_world, &few).await, serve::consentry(&many_world, &many).await);
    let arms = [
        ("few", &servers.0, few_world.resolve(&servers.0)),
        ("many", &servers.1, many_world.resolve(&servers.1)),
    ];
    let spent = take_turns(&arms, requests, true, &few_world).await;
    println!("| stored | together µs [spread] | a second |\n|---|---|---|");
    for (name, _, _) in &arms {
        let (low, high) = spread(&spent[name], Cost::together);
        println!(
            "| {name} | {:.0} [{low:.0}-{high:.0}] | {:.0} |",
            median(&spent[name], Cost::together),
            median(&spent[name], |cost| cost.rate),
        );
    }
    let rate = |name| median(&spent[name], |cost: &Cost| cost.rate);
    println!("\nRate with many to the rate with few: {:.2}", rate("many") / rate("few"));
}

/// Lets the arms take turns.
async fn take_turns<'a>(
    arms: &[(&'a str, &Running, Target)],
    requests: usize,
    is_postgres: bool,
    world: &World,
) -> BTreeMap<&'a str, Vec<Cost>> {
    for (_, _, target) in arms {
        load::run(target, requests / 10, CONNECTIONS).await;
    }
    let mut spent: BTreeMap<&str, Vec<Cost>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for (name, running, target) in arms {
            spent.entry(name).or_default().push(cost(running, target, requests, is_postgres, world).await);
        }
    }
    spent
}

/// The baselines' names.
const BARE: &str = "bare endpoint";
const LOADER: &str = "batched loader";

/// Microseconds of CPU time for one request, and how many requests a second there were.
struct Cost {
    server: f64,
    database: f64,
    rate: f64,
}

impl Cost {
    fn together(&self) -> f64 {
        self.server + self.database
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
async fn cost(running: &Running, target: &Target, requests: usize, is_postgres: bool, world: &World) -> Cost {
    let (server, database) =
        (cpu::of(running.pid), if is_postgres { cpu::of_postgres(world).await } else { 0.0 });
    let started = Instant::now();
    load::run(target, requests, CONNECTIONS).await;
    let rate = requests as f64 / started.elapsed().as_secs_f64();
    let each = |seconds: f64| seconds * 1e6 / requests as f64;
    let server = each(cpu::of(running.pid) - server);
    let database = if is_postgres { each(cpu::of_postgres(world).await - database) } else { 0.0 };
    Cost { server, database, rate }
}

fn median(costs: &[Cost], part: impl Fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = costs.iter().map(part).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn spread(costs: &[Cost], part: impl Fn(&Cost) -> f64) -> (f64, f64) {
    costs.iter().map(part).fold((f64::MAX, 0.0), |(low, high), value| (low.min(value), high.max(value)))
}

async fn at_rest() {
    let mut starts = Vec::new();
    let mut resident = 0;
    for _ in 0..ROUNDS {
        let folder = tempfile::tempdir().expect("a folder");
        let database = format!("sqlite:{}", folder.path().join("rest.db").display());
        let world = World::empty(&database);
        let server = serve::consentry(&world, &database).await;
        starts.push(server.started_in);
        resident = cpu::resident_kib(server.pid);
    }
    starts.sort_unstable();
    let size = std::fs::metadata(env!("CARGO_BIN_EXE_consentry")).map(|file| file.len()).unwrap_or(0);
    println!("| what | figure |\n|---|---|");
    println!("| resident, idle | {:.1} MiB |", f64::from(resident) / 1024.0);
    println!(
        "| from start to ready, a new database, median of {ROUNDS} | {} ms |",
        as_millis(starts[ROUNDS / 2])
    );
    println!("| binary | {:.1} MiB |", size as f64 / 1024.0 / 1024.0);
}

fn as_millis(span: Duration) -> u128 {
    span.as_millis()
}
