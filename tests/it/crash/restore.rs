//! A backup that comes back while providers have gone on (R107, F44): its operator says so, nothing is refreshed before
//! the word, then every token is tried once at the provider's pace, and what was lost is counted and said.

use std::time::Duration;

use consentry::clock::Clock;
use serde_json::{Value, json};

use super::{
    backup::Backup,
    process::Process,
    rounds,
    scene::{Scene, User},
};
use crate::{
    engine::Engine,
    world::{FILES, api::Answer},
};

/// Tries in a second, and the window in which they are counted.
const RATE: u32 = 10;
const WINDOW: Duration = Duration::from_millis(1050);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r107_f44_an_older_backup_comes_back_on_postgres() {
    an_older_backup_comes_back(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r107_f44_an_older_backup_comes_back_on_sqlite() {
    an_older_backup_comes_back(Engine::Sqlite).await;
}

async fn an_older_backup_comes_back(engine: Engine) {
    let mut scene = Scene::start(engine).await;
    let process = scene.serves().await;
    let mut users = Vec::new();
    for _ in 0..rounds(4) * 5 {
        users.push(scene.user(&process).await);
    }
    process.killed();
    scene.is_left_alone().await;
    let backup = Backup::of(&scene).await;

    // The provider goes on with every other user.
    let process = scene.serves().await;
    let rotated: Vec<&User> = users.iter().step_by(2).collect();
    for user in &rotated {
        scene.expires(user).await;
        assert_eq!(resolve(&scene, &process, user).await.body["connection"]["generation"], 2);
    }
    process.killed();
    scene.is_left_alone().await;
    backup.comes_back(&scene).await;
    for user in users.iter().step_by(3) {
        scene.expires(user).await;
    }
    scene.plan.rate = RATE;
    scene.runs(&["restored", "status"], 1);
    let told = scene.runs(&["restored", "declare"], 0);
    assert_eq!(told["connections"], users.len());

    let process = scene.serves().await;
    let sent = refreshes(&scene);
    for (number, user) in users.iter().enumerate() {
        let answer = resolve(&scene, &process, user).await;
        if number % 3 == 0 {
            let again: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((60..=3600).contains(&again), "{again}");
            assert_eq!(answer.expect(503)["code"], "provider_unavailable");
        } else {
            let body = answer.expect(200);
            assert_eq!((&body["status"], &body["connection"]["generation"]), (&"ready".into(), &1.into()));
        }
    }
    assert_eq!(refreshes(&scene), sent, "nothing is refreshed before it is told to");
    let status = scene.runs(&["restored", "status"], 0);
    assert_eq!((&status["in_doubt"], &status["refreshes_go_since"]), (&users.len().into(), &Value::Null));

    let (clock, kills) = (Clock::system(), scene.files.reuse_kills());
    let began = clock.now();
    let told = scene.runs(&["restored", "verify"], 0);
    let took = began.until(clock.now());
    println!("{engine:?}: {told}, within {took:?}");
    let least = WINDOW * (u32::try_from(users.len() - 1).unwrap() / RATE);
    assert!(took >= least, "{took:?}: more than {RATE} tries in a second");
    assert_eq!(refreshes(&scene) - sent, users.len(), "each is tried once");
    assert_eq!(scene.files.reuse_kills() - kills, rotated.len());
    let renewed = users.len() - rotated.len();
    is_counted(
        &told,
        &json!({ "renewed": renewed, "rotation_lost": rotated.len(), "ended_otherwise": 0,
        "gone": 0, "in_doubt": 0, "connections": users.len() }),
    );
    judge(&scene, &process, &users, &rotated).await;

    let again = scene.runs(&["restored", "verify"], 0);
    is_counted(&again, &json!({ "renewed": renewed, "rotation_lost": rotated.len(), "in_doubt": 0 }));
    assert_eq!(refreshes(&scene) - sent, users.len(), "what is known is not asked again");
}

fn is_counted(told: &Value, counts: &Value) {
    for (name, count) in counts.as_object().unwrap() {
        assert_eq!(&told[name], count, "{name}: {told}");
    }
}

/// What was counted is what is stored, said to the MCP server, and answered.
pub(super) async fn judge(scene: &Scene, process: &Process, users: &[User], lost: &[&User]) {
    let mut raw = scene.raw().await;
    let sql =
        "SELECT COUNT(*) FROM connections WHERE status = 'needs_reconnect' AND reason = 'rotation_lost'";
    assert_eq!(usize::try_from(raw.number(sql).await).unwrap(), lost.len());
    let events = scene.events(process).await;
    for user in users {
        let is_lost = lost.iter().any(|one| one.sub == user.sub);
        let told: Vec<&Value> = events
            .iter()
            .filter(|event| event["type"] == "connection.needs_reconnect")
            .filter(|event| event["data"]["connection_id"] == user.connection.as_str())
            .map(|event| &event["data"]["reason"])
            .collect();
        let shown = scene.api(process).get(&format!("/v1/connections/{}", user.connection)).await.expect(200);
        if is_lost {
            assert_eq!(told, ["rotation_lost"], "{}", user.sub);
            assert_eq!(
                (&shown["status"], &shown["reason"]),
                (&"needs_reconnect".into(), &"rotation_lost".into())
            );
        } else {
            assert!(told.is_empty(), "{}: {told:?}", user.sub);
            let body = resolve(scene, process, user).await.expect(200);
            assert_eq!((&body["status"], &body["connection"]["generation"]), (&"ready".into(), &2.into()));
            // Nobody else's account.
            assert_eq!(body["connection"]["account"]["label"], user.sub.as_str(), "{body}");
        }
    }
}

pub(super) async fn resolve(scene: &Scene, process: &Process, user: &User) -> Answer {
    let api = scene.api(process);
    api.post("/v1/credentials/resolve", &api.question(&user.sub, FILES)).await
}

fn refreshes(scene: &Scene) -> usize {
    scene.files.token_log().iter().filter(|request| request.is_refresh()).count()
}
