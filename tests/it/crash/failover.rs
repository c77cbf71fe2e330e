//! A failover to a standby that misses the last commits (F38): Consentry runs on without a restart, and what the
//! providers have rotated in the gap is told as lost, each once, and nothing else.
//!
//! The standby is a copy of the database that takes its name, behind the same address; whoever was connected is cut off,
//! as by a failover.

use super::{
    backup::Backup,
    process::{Process, until},
    proxy::Proxy,
    restore::{judge, resolve},
    rounds,
    scene::{Scene, User},
};
use crate::{engine::Engine, world::FILES};

/// More than a server's pool has connections.
const POOL: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f38_a_standby_without_the_last_commits_takes_over() {
    let mut scene = Scene::start(Engine::Postgres).await;
    let (proxy, through) = Proxy::before(&scene.database).await;
    scene.database = through;
    let mut process = scene.serves().await;
    let mut users: Vec<User> = Vec::new();
    for _ in 0..rounds(3) * 3 {
        users.push(scene.user(&process).await);
    }
    proxy.is_away().await;
    let standby = Backup::of(&scene).await;
    proxy.is_back();

    // The gap: rotations, a consent, and a disconnect that are nowhere else.
    let rotated: Vec<&User> = users.iter().step_by(3).collect();
    for user in &rotated {
        scene.expires(user).await;
        let body = until("the database is back", async || {
            let answer = resolve(&scene, &process, user).await;
            (answer.status == 200).then_some(answer.body)
        })
        .await;
        assert_eq!(body["connection"]["generation"], 2);
    }
    let late = scene.user(&process).await;
    proxy.is_away().await;
    standby.comes_back(&scene).await;
    proxy.is_back();
    let ready = || scene.runs(&["restored", "declare"], 0);
    assert_eq!(ready()["connections"], users.len());

    let told = scene.runs(&["restored", "verify"], 0);
    println!("{told}");
    assert_eq!(told["rotation_lost"], rotated.len(), "{told}");
    assert_eq!(told["renewed"], users.len() - rotated.len(), "{told}");
    answers_again(&scene, &process, &users[0]).await;
    judge(&scene, &process, &users, &rotated).await;
    // Who connected in the gap is asked again, and is not somebody else.
    assert_eq!(scene.api(&process).resolves(&late.sub, FILES).await["status"], "action_required");
    assert!(process.runs(), "it was never restarted");
}

/// Each connection of the server's pool learns by itself that it was cut off, and one request is told so (503): until they
/// are all new.
async fn answers_again(scene: &Scene, process: &Process, user: &User) {
    let path = format!("/v1/connections/{}", user.connection);
    let mut good = 0;
    until("every connection of the pool is new", async || {
        let answer = scene.api(process).get(&path).await;
        good = if answer.status == 200 { good + 1 } else { 0 };
        (good > POOL).then_some(())
    })
    .await;
}
