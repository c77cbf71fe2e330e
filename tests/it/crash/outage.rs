//! The database goes and comes back, in every way that Postgres has (F37, F39): whoever asks meanwhile is told to come
//! again, nothing that was promised is lost, and nobody has to restart Consentry.

use std::time::Duration;

use consentry::clock::Clock;

use super::{
    cluster::Cluster,
    load::{self, Load},
    process::{Process, until},
    proxy::Proxy,
    scene::{Scene, User},
};
use crate::{engine::Engine, world};

/// How long after Postgres is back Consentry may still say no.
const BACK_WITHIN: Duration = Duration::from_secs(3);
/// How long a call may take that cannot be served: twice the wait for a lock (one queues, one is at its head), and the machine.
const NO_WITHIN: Duration = Duration::from_secs(13);

/// The status of a look at the process's own state.
async fn status(process: &Process, path: &str) -> u16 {
    let client = world::client(process.public);
    client.get(format!("{}{path}", process.internal)).send().await.unwrap().status().as_u16()
}

async fn is_ready(process: &Process, ready: bool) {
    let wanted = if ready { 200 } else { 503 };
    until("readiness flips", async || (status(process, "/readyz").await == wanted).then_some(())).await;
}

/// Load, the outage, the way back; what was promised meanwhile is judged at the end.
async fn ride(
    scene: &Scene,
    process: &mut Process,
    user: &User,
    break_it: impl AsyncFnOnce(),
    mend: impl AsyncFnOnce(),
) {
    let clock = Clock::system();
    let load = Load::on(scene, process, &user.sub);
    until("the load runs", async || (load.handed_out() > 20).then_some(())).await;
    break_it().await;
    is_ready(process, false).await;
    assert_eq!(status(process, "/livez").await, 200);
    until("callers are told to come again", async || (load.refused() > 0).then_some(())).await;
    mend().await;
    let back = clock.now();
    is_ready(process, true).await;
    let before = load.handed_out();
    until("credentials are handed out again", async || (load.handed_out() > before + 20).then_some(())).await;
    let took = back.until(clock.now());
    assert!(took < BACK_WITHIN, "{took:?}");
    let seen = load.ends().await;
    println!(
        "{} handed out, {} promised, {} refused; back after {took:?}",
        seen.handed_out,
        seen.promised.len(),
        seen.refused
    );
    load::judge(scene, process, &seen).await;
    assert!(process.runs());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_restarts_and_consentry_does_not() {
    let cluster = Cluster::start();
    let scene = Scene::on(Engine::Postgres, cluster.url.clone(), None).await;
    let mut process = scene.serves().await;
    let user = scene.user(&process).await;
    for mode in ["fast", "immediate"] {
        let halt = async || tokio::task::block_in_place(|| cluster.halts(mode));
        let resume = async || tokio::task::block_in_place(|| cluster.resumes());
        ride(&scene, &mut process, &user, halt, resume).await;
    }
    drop(process);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_that_nobody_reaches_is_used_again_when_it_is_back() {
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    let mut process = scene.serves().await;
    let user = scene.user(&process).await;
    ride(&scene, &mut process, &user, async || proxy.is_away().await, async || proxy.is_back()).await;
}

/// What a broken connection does to a call is over with that call.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_that_break_under_load_cost_at_most_their_own_calls() {
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    let process = scene.serves().await;
    let user = scene.user(&process).await;
    let load = Load::on(&scene, &process, &user.sub);
    for _ in 0..5 {
        let before = load.handed_out();
        until("the load runs", async || (load.handed_out() > before + 20).then_some(())).await;
        proxy.cuts();
    }
    let before = load.handed_out();
    until("the load runs", async || (load.handed_out() > before + 20).then_some(())).await;
    let seen = load.ends().await;
    println!("{} handed out, {} promised, {} refused", seen.handed_out, seen.promised.len(), seen.refused);
    load::judge(&scene, &process, &seen).await;
}

/// Neither a packet nor an end: nobody tells a client that its peer is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_that_falls_silent_is_told_as_unavailable() {
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    let mut process = scene.serves().await;
    let user = scene.user(&process).await;
    ride(&scene, &mut process, &user, async || proxy.is_deaf(), async || proxy.is_back()).await;
}

/// The same, and its place is taken by another that knows nothing of the connections: they stay silent for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failover_that_drops_packets_needs_no_restart() {
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    let process = scene.serves().await;
    let user = scene.user(&process).await;
    let load = Load::on(&scene, &process, &user.sub);
    until("the load runs", async || (load.handed_out() > 50).then_some(())).await;
    proxy.forgets();
    let promised = load.promised();
    until("it writes again", async || (load.promised() > promised + 50).then_some(())).await;
    is_ready(&process, true).await;
    let seen = load.ends().await;
    println!("{} handed out, {} promised, {} refused", seen.handed_out, seen.promised.len(), seen.refused);
    load::judge(&scene, &process, &seen).await;
}

/// F39: somebody's lock takes what waits for it, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lock_that_is_held_long_stops_nobody_else() {
    let mut scene = Scene::start(Engine::Postgres).await;
    scene.database.push_str("?sslmode=disable");
    let process = scene.serves().await;
    let (user, other) = (scene.user(&process).await, scene.user(&process).await);
    let mut raw = scene.raw().await;
    raw.begin().await;
    raw.run(&format!("SELECT 1 FROM connections WHERE sub = '{}' FOR UPDATE", user.sub)).await;
    let api = scene.api(&process);
    let clock = Clock::system();
    let began = clock.now();
    let path = format!("/v1/connections/{}", user.connection);
    let calls = (0..40).map(|_| api.delete(&path));
    let waiting = futures_util::future::join_all(calls);
    let meanwhile = async {
        assert_eq!(status(&process, "/livez").await, 200);
        assert_eq!(api.resolves(&other.sub, world::FILES).await["status"], "ready");
    };
    let (answers, ()) = tokio::join!(waiting, meanwhile);
    let took = began.until(clock.now());
    for answer in answers {
        assert_eq!(answer.status, 503, "{}", answer.body);
        assert!(answer.headers.contains_key("retry-after"));
    }
    assert!(took < NO_WITHIN, "{took:?}");
    raw.run("ROLLBACK").await;
    is_ready(&process, true).await;
    api.delete(&path).await.expect(204);
}
