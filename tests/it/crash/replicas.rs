//! Two processes on one Postgres, a provider that kills what is presented twice: one refresh for each generation,
//! whoever asks, stands still, hangs up or is told to stop (F5 to F7, F9, F10, F12, F46).

use std::time::Duration;

use consentry_fakes::{Answer, Gate};
use futures_util::future::join_all;
use reqwest::Method;
use rustix::process::Signal;
use serde_json::Value;

use super::{
    chance,
    process::{Process, until},
    proxy::{Moment, Proxy},
    refresh::STORE,
    rounds,
    scene::{Scene, User},
};
use crate::{
    engine::Engine,
    world::{
        FILES,
        api::{Answer as Reply, Api},
    },
};

/// Callers at the same time, on both processes together.
const CALLERS: usize = 400;

async fn two() -> (Scene, [Process; 2], User) {
    let scene = Scene::start(Engine::Postgres).await;
    let processes = [scene.serves_on(0).await, scene.serves_on(1).await];
    let user = scene.user(&processes[0]).await;
    (scene, processes, user)
}

/// `resolve`, whatever comes of it.
async fn resolve(api: Api, sub: String) -> Result<Reply, reqwest::Error> {
    let question = api.question(&sub, FILES);
    api.tries(Method::POST, "/v1/credentials/resolve", Some(&question), &[]).await
}

fn spawn_resolve(
    scene: &Scene,
    process: &Process,
    user: &User,
) -> tokio::task::JoinHandle<Result<Reply, reqwest::Error>> {
    tokio::spawn(resolve(scene.api(process), user.sub.clone()))
}

async fn generation(scene: &Scene, user: &User) -> i64 {
    scene.raw().await.number(&format!("SELECT generation FROM connections WHERE sub = '{}'", user.sub)).await
}

/// F5, F12.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_hundred_callers_at_expiry_cost_one_refresh() {
    let (scene, processes, user) = two().await;
    for generation in 2..=rounds(3) + 1 {
        scene.expires(&user).await;
        let apis = [scene.api(&processes[0]), scene.api(&processes[1])];
        let calls = (0..CALLERS).map(|n| resolve(apis[n % 2].clone(), user.sub.clone()));
        let mut tokens: Vec<Value> = Vec::new();
        for reply in join_all(calls).await {
            let body = reply.unwrap().expect(200);
            assert_eq!(
                (&body["status"], &body["connection"]["generation"]),
                (&"ready".into(), &generation.into())
            );
            tokens.push(body["credential"]["access_token"].clone());
        }
        tokens.dedup();
        assert_eq!(tokens.len(), 1);
        assert_eq!(scene.refreshes_of(&user), generation - 1);
    }
    assert_eq!(scene.files.reuse_kills(), 0);
}

/// F6: who stands still for longer than its lease is overtaken, and changes nothing when it wakes. The provider forgives
/// a token that comes again, else the overtaking itself would be the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_process_that_stood_still_is_fenced_off() {
    let (scene, [first, second], user) = two().await;
    scene.files.configure(|settings| settings.rotation_grace = Duration::from_secs(3600));
    for round in 0..rounds(1) {
        let before = generation(&scene, &user).await;
        scene.expires(&user).await;
        let gate = Gate::shut();
        scene.files.next_token_answer(Answer::genuine().held(&gate));
        let slow = spawn_resolve(&scene, &first, &user);
        gate.reached_by(1).await;
        first.stands_still().await;
        gate.open();
        scene.leases_run_out().await;
        let overtaking = resolve(scene.api(&second), user.sub.clone()).await.unwrap().expect(200);
        first.signal(Signal::CONT);
        let slow = slow.await.unwrap().unwrap().expect(200);
        for body in [&overtaking, &slow] {
            assert_eq!(
                (&body["status"], &body["connection"]["generation"]),
                (&"ready".into(), &(before + 1).into()),
                "{round}"
            );
        }
        assert_eq!(slow["credential"]["access_token"], overtaking["credential"]["access_token"]);
        assert_eq!(generation(&scene, &user).await, before + 1);
    }
    assert!(
        scene.files.revocations().is_empty(),
        "what is fenced off is dropped, and not revoked with the grant"
    );
    let metrics = scene.api(&first).get("/metrics").await.body;
    assert!(
        metrics.as_str().unwrap().lines().any(|line| line.contains("fenced") && !line.ends_with(" 0")),
        "{metrics}"
    );
}

/// F7: tokens that cannot be stored are kept until they can, and are handed out then.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_the_provider_gave_outlives_a_database_that_goes() {
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    let process = scene.serves().await;
    let user = scene.user(&process).await;
    for round in 0..rounds(1) {
        let before = generation(&scene, &user).await;
        scene.expires(&user).await;
        let gate = Gate::shut();
        scene.files.next_token_answer(Answer::genuine().held(&gate));
        let call = spawn_resolve(&scene, &process, &user);
        gate.reached_by(1).await;
        proxy.is_away().await;
        gate.open();
        chance(500).await;
        assert_eq!(generation(&scene, &user).await, before);
        proxy.is_back();
        // The caller may be told to come again meanwhile, never a token that is not stored.
        let early = call.await.unwrap().unwrap();
        assert!(early.status == 200 || early.status == 503, "{}", early.body);
        until("the tokens are stored", async || {
            (generation(&scene, &user).await == before + 1).then_some(())
        })
        .await;
        let answer = scene.api(&process).resolves(&user.sub, FILES).await;
        assert_eq!(
            (&answer["status"], &answer["connection"]["generation"]),
            (&"ready".into(), &(before + 1).into())
        );
        assert_eq!(scene.refreshes_of(&user), round + 1);
    }
    assert_eq!(scene.files.reuse_kills(), 0);
}

/// The same where the database breaks between the commit and its answer: whether it was stored is found out.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_whose_answer_is_lost_is_found_out() {
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    let process = scene.serves().await;
    let user = scene.user(&process).await;
    for moment in [Moment::Statement, Moment::Commit, Moment::Committed] {
        let before = generation(&scene, &user).await;
        scene.expires(&user).await;
        let mut hold = proxy.holds(STORE, moment);
        let call = spawn_resolve(&scene, &process, &user);
        hold.reached().await;
        drop(hold);
        let early = call.await.unwrap().unwrap();
        assert!(early.status == 200 || early.status == 503, "{}", early.body);
        until("the tokens are stored", async || {
            (generation(&scene, &user).await == before + 1).then_some(())
        })
        .await;
        let answer = scene.api(&process).resolves(&user.sub, FILES).await;
        assert_eq!(
            (&answer["status"], &answer["connection"]["generation"]),
            (&"ready".into(), &(before + 1).into())
        );
    }
    assert_eq!((scene.refreshes_of(&user), scene.files.reuse_kills()), (3, 0));
}

/// F9.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_that_hang_up_lose_nothing() {
    let (scene, processes, user) = two().await;
    for round in 0..rounds(10) {
        let before = generation(&scene, &user).await;
        scene.expires(&user).await;
        let calls: Vec<_> = (0..4).map(|n| spawn_resolve(&scene, &processes[n % 2], &user)).collect();
        chance(40).await;
        for call in calls {
            call.abort();
        }
        // One who stays.
        let answer = scene.api(&processes[round % 2]).resolves(&user.sub, FILES).await;
        assert_eq!(
            (&answer["status"], &answer["connection"]["generation"]),
            (&"ready".into(), &(before + 1).into())
        );
        assert_eq!(generation(&scene, &user).await, before + 1);
    }
    assert_eq!((scene.refreshes_of(&user), scene.files.reuse_kills()), (rounds(10), 0));
    let idle =
        "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'";
    let mut raw = scene.raw().await;
    until("no transaction is left open", async || (raw.number(idle).await == 0).then_some(())).await;
}

/// F10: on the other process, at any moment of a refresh.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_disconnect_during_a_refresh_is_final() {
    let (scene, [first, second], _) = two().await;
    for round in 0..rounds(4) {
        let user = scene.user(&first).await;
        scene.expires(&user).await;
        let gate = Gate::shut();
        let held = round % 2 == 0;
        if held {
            scene.files.next_token_answer(Answer::genuine().held(&gate));
        }
        let call = spawn_resolve(&scene, &first, &user);
        if held {
            gate.reached_by(1).await;
        } else {
            chance(40).await;
        }
        let path = format!("/v1/connections/{}", user.connection);
        scene.api(&second).delete(&path).await.expect(204);
        gate.open();
        let answer = call.await.unwrap().unwrap();
        // Before the disconnect it may have been handed out, unless it was held until after it.
        assert!(!held || answer.body["status"] != "ready", "{}", answer.body);
        let sql = format!("SELECT COUNT(*) FROM revocations WHERE sub = '{}' AND state = 'due'", user.sub);
        let mut raw = scene.raw().await;
        until("the provider was told", async || (raw.number(&sql).await == 0).then_some(())).await;
        scene.api(&first).get(&path).await.expect(404);
        assert_eq!(scene.api(&first).resolves(&user.sub, FILES).await["status"], "action_required");
        let sql = format!("SELECT COUNT(*) FROM connections WHERE sub = '{}'", user.sub);
        assert_eq!(raw.number(&sql).await, 0);
        assert!(scene.files.revocations().entries().iter().any(|one| one.revoked));
        scene.files.revocations().clear();
    }
}

/// F46: told to stop, a process finishes the refresh that it has begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stop_finishes_the_refresh_that_is_under_way() {
    let (scene, [first, second], user) = two().await;
    scene.expires(&user).await;
    let gate = Gate::shut();
    scene.files.next_token_answer(Answer::genuine().held(&gate));
    let call = spawn_resolve(&scene, &first, &user);
    gate.reached_by(1).await;
    first.signal(Signal::TERM);
    let other = spawn_resolve(&scene, &second, &user);
    gate.open();
    assert_eq!(first.ends().await, Some(0));
    let other = other.await.unwrap().unwrap().expect(200);
    assert_eq!((&other["status"], &other["connection"]["generation"]), (&"ready".into(), &2.into()));
    if let Ok(answer) = call.await.unwrap() {
        assert!(answer.body["status"] == "ready" || answer.status == 503, "{}", answer.body);
    }
    assert_eq!((scene.refreshes_of(&user), scene.files.reuse_kills()), (1, 0));
}
