//! A change of the encryption key under load, whose command is killed again and again (F30): everything opens all the
//! time, by servers whose rings are in either order, and in the end nothing needs the old key.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::{
    chance,
    process::Process,
    rounds,
    scene::{Scene, User},
};
use crate::{engine::Engine, world::FILES};

/// Connections that are sealed anew.
const CONNECTIONS: usize = 12;
/// Values a second, so that a run takes a while.
const PACE: &str = "20";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_killed_change_of_keys_goes_on_on_postgres() {
    let mut scene = Scene::start(Engine::Postgres).await;
    for _ in 0..rounds(1).div_ceil(25) {
        change(&mut scene, true).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_killed_change_of_keys_goes_on_on_sqlite() {
    let mut scene = Scene::start(Engine::Sqlite).await;
    for _ in 0..rounds(1).div_ceil(25) {
        change(&mut scene, false).await;
    }
}

async fn change(scene: &mut Scene, has_two: bool) {
    let old = scene.plan.keys[0].clone();
    let new = format!("key-{}", scene.number());
    scene.makes_key(&new);
    scene.plan.keys = vec![old.clone(), new.clone()];
    let mut first = scene.serves().await;
    let mut users = Vec::new();
    for _ in 0..CONNECTIONS {
        users.push(scene.user(&first).await);
    }
    scene.plan.keys = vec![new.clone(), old.clone()];
    let second = if has_two { Some(scene.serves_on(1).await) } else { None };
    for _ in 0..rounds(3).min(25) {
        let mut rotating = rotates(scene).stdout(Stdio::null()).spawn().unwrap();
        chance(600).await;
        rotating.kill().unwrap();
        rotating.wait().unwrap();
        assert!(!retires(scene, &old), "what a server seals with, or a row needs, was let go");
        all_open(scene, &first, &users).await;
        if let Some(second) = &second {
            all_open(scene, second, &users).await;
        }
    }
    // The servers with the old order go; then nothing more is sealed with the old key.
    first.killed();
    scene.raw().await.run("DELETE FROM replicas").await;
    first = scene.serves().await;
    let output = rotates(scene).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["ok"], true, "{told}");
    assert!(retires(scene, &old));
    drop((first, second));
    scene.plan.keys = vec![new];
    let process = scene.serves().await;
    all_open(scene, &process, &users).await;
    drop(process);
    // A process that was killed counts as there for a minute; the next change does not wait for that.
    scene.raw().await.run("DELETE FROM replicas").await;
    println!(
        "{:?}: {} runs of the command killed, {CONNECTIONS} connections open",
        scene.engine,
        rounds(3).min(25)
    );
}

fn rotates(scene: &Scene) -> Command {
    scene.program(&["key", "rotate", "--pace", PACE, "--json"])
}

fn retires(scene: &Scene, key: &str) -> bool {
    scene.program(&["key", "retire", key, "--json"]).output().unwrap().status.success()
}

async fn all_open(scene: &Scene, process: &Process, users: &[User]) {
    for user in users {
        assert_eq!(scene.api(process).resolves(&user.sub, FILES).await["status"], "ready");
    }
}
