//! A backlog for a receiver that takes nothing, with attempts that are used up and signals that cannot be read (F36):
//! nobody else waits for it, what is given up is listed, and it arrives when it is replayed.

use std::{collections::HashSet, net::Ipv4Addr, time::Duration};

use consentry::{clock::Clock, random::Random};
use consentry_fakes::{Answer, Listen, Sink};
use serde_json::json;

use super::{
    is_long,
    process::{PATIENCE, Process},
    scene::{Scene, webhook_secret},
};
use crate::{contract::raw::Raw, engine::Engine, world::FILES};

/// Posts that the receiver never answers, as many as are made to it at once.
const HANGING: usize = 4;
/// One in so many has no signal any more.
const UNREADABLE: usize = 100;
/// How soon a healthy receiver hears of what happens, on a machine that does much else.
const SOON: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f36_a_poisoned_backlog_holds_nobody_up_on_postgres() {
    a_poisoned_backlog(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f36_a_poisoned_backlog_holds_nobody_up_on_sqlite() {
    a_poisoned_backlog(Engine::Sqlite).await;
}

async fn a_poisoned_backlog(engine: Engine) {
    // Each post on SQLite is a few commits, and each of these waits for the disk.
    let number = match (engine, is_long()) {
        (Engine::Postgres, true) => 100_000,
        (Engine::Postgres, false) => 1_000,
        (Engine::Sqlite, true) => 10_000,
        (Engine::Sqlite, false) => 200,
    };
    let mut scene = Scene::start(engine).await;
    let poison = Sink::start(Listen::on(Ipv4Addr::new(127, 0, 0, 6))).await.unwrap();
    poison.always_answer(Answer::status(500));
    for _ in 0..HANGING {
        poison.next_answer(Answer::status(204).delayed(Duration::from_secs(60)));
    }
    scene.plan.more = more(&poison);
    let mut raw = scene.raw().await;
    seed(&mut raw, engine, number).await;
    let dead = i64::try_from(number - number / UNREADABLE).unwrap();

    let process = scene.serves().await;
    let clock = Clock::system();
    let began = clock.now();
    let slowest = drains(&scene, &process, &mut raw, number).await;
    let took = began.until(clock.now());
    assert!(slowest < SOON, "a healthy receiver waited for {slowest:?}");
    assert_eq!(count(&mut raw, "state = 'dead'").await, dead);
    assert_eq!(
        count(&mut raw, "state = 'dropped' AND last_error = 'signal_unreadable'").await,
        number as i64 - dead
    );
    let listed =
        scene.runs(&["webhooks", "list", "--server", "poison", "--state", "dead", "--limit", "1000"], 0);
    assert_eq!(listed["deliveries"].as_array().unwrap().len(), 1000.min(usize::try_from(dead).unwrap()));
    println!(
        "{engine:?}: {dead} given up within {took:?}; a healthy receiver waited for {slowest:?} at most"
    );

    poison.answer_normally();
    poison.log().clear();
    let replayed = scene.runs(&["webhooks", "replay", "--server", "poison", "--dead"], 0);
    assert_eq!(replayed["replayed"], dead);
    let began = clock.now();
    let slowest = drains(&scene, &process, &mut raw, number).await;
    let took = began.until(clock.now());
    assert!(slowest < SOON, "a healthy receiver waited for {slowest:?}");
    assert_eq!(count(&mut raw, "state = 'delivered'").await, dead);
    let posts = poison.log().entries();
    let ids: HashSet<&str> = posts.iter().filter_map(|post| post.header("webhook-id")).collect();
    assert_eq!((posts.len(), ids.len()), (usize::try_from(dead).unwrap(), posts.len()), "each once");
    println!(
        "{engine:?}: {dead} replayed within {took:?}; a healthy receiver waited for {slowest:?} at most"
    );
}

/// Waits until nothing is due for the poisoned receiver, while things happen that the healthy one is told of; the longest
/// time that one of these took.
async fn drains(scene: &Scene, process: &Process, raw: &mut Raw, number: usize) -> Duration {
    let (api, clock) = (scene.api(process), Clock::system());
    let (mut slowest, mut left, mut since) =
        (Duration::ZERO, i64::try_from(number).unwrap() + 1, clock.now());
    loop {
        let link = api.asks(&format!("nobody-{}", scene.number()), FILES).await;
        api.post(&format!("/v1/elicitations/{}/cancel", link.id), &json!({})).await.expect(200);
        let cancelled = clock.now();
        let is_there = |post: &consentry_fakes::Received| {
            post.json().is_some_and(|body| body["data"]["elicitation_id"] == link.id.as_str())
        };
        scene.sink.log().until(PATIENCE, |posts| posts.iter().rev().any(is_there)).await.expect("it arrives");
        slowest = slowest.max(cancelled.until(clock.now()));
        scene.sink.log().clear();
        match count(raw, "state = 'due'").await {
            0 => return slowest,
            due if due < left => (left, since) = (due, clock.now()),
            due => assert!(since.until(clock.now()) < PATIENCE, "{due} are due, and get no fewer"),
        }
    }
}

async fn count(raw: &mut Raw, matching: &str) -> i64 {
    raw.number(&format!("SELECT COUNT(*) FROM deliveries WHERE server = 'poison' AND {matching}")).await
}

/// The MCP server of the poisoned receiver.
fn more(poison: &Sink) -> String {
    let (key, secret, sink) = (Random.secret(), webhook_secret(), poison.base_url());
    format!(
        r#"
[webhooks]
timeout = "2s"

[[mcp_servers]]
id = "poison"
name = "The poisoned tools"
resource = "https://poison.example/mcp"
authorization_server = "{}"
api_keys = [{{ value = "{}" }}]
providers = ["{FILES}"]
webhook = {{ url = "{sink}/hook", secret = {{ value = "{secret}" }} }}
"#,
        crate::world::ID,
        key.expose()
    )
}

/// Deliveries with one try left, put in past the store.
async fn seed(raw: &mut Raw, engine: Engine, number: usize) {
    let (id, now) = match engine {
        Engine::Sqlite => ("randomblob(16)", Clock::system().now().0),
        Engine::Postgres => ("gen_random_uuid()", Clock::system().now().0),
    };
    let signals = format!(
        "INSERT INTO signals (id, server, sequence, kind, connection, provider, issuer, sub, client_ref, legacy, at_ms) \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {number}) \
         SELECT {id}, 'poison', i, 'connection.deleted', {id}, '{FILES}', 'https://id.example', 'user-' || i, '', FALSE, \
         {now} FROM n"
    );
    assert_eq!(raw.run(&signals).await, number as u64);
    raw.run(&format!("INSERT INTO signal_heads (server, sequence) VALUES ('poison', {number})")).await;
    let deliveries = format!(
        "INSERT INTO deliveries (signal, server, sequence, state, tries, next_at_ms, created_at_ms) \
         SELECT id, server, sequence, 'due', {}, {now}, {now} FROM signals WHERE server = 'poison'",
        consentry::ladder::TRIES_MAX - 1
    );
    assert_eq!(raw.run(&deliveries).await, number as u64);
    raw.run(&format!("DELETE FROM signals WHERE server = 'poison' AND sequence % {UNREADABLE} = 0")).await;
}
