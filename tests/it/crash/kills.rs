//! SQLite and `kill -9` at any moment of a load, again and again (F42): what was promised is there, and the file is whole.

use std::collections::HashSet;

use super::{chance, load::Load, process::until, rounds, scene::Scene};
use crate::engine::Engine;

/// Promises before each death, at least.
const PROMISES: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f42_what_was_promised_outlives_every_kill() {
    let scene = Scene::start(Engine::Sqlite).await;
    let process = scene.serves().await;
    let user = scene.user(&process).await;
    process.killed();
    let mut promised: Vec<String> = Vec::new();
    let deaths = rounds(1) * 5;
    for _ in 0..deaths {
        let process = scene.serves().await;
        let load = Load::on(&scene, &process, &user.sub);
        until("the load runs", async || (load.promised() >= PROMISES).then_some(())).await;
        chance(50).await;
        process.killed();
        promised.extend(load.ends().await.promised);
        let mut raw = scene.raw().await;
        assert_eq!(raw.texts("PRAGMA integrity_check").await, ["ok"]);
        let stored = stored(&mut raw).await;
        let lost: Vec<&String> = promised.iter().filter(|id| !stored.contains(*id)).collect();
        assert!(lost.is_empty(), "{} of {} are lost", lost.len(), promised.len());
    }
    println!("{deaths} deaths, {} promises, none lost", promised.len());
}

/// The ids of all elicitations.
pub(super) async fn stored(raw: &mut crate::contract::raw::Raw) -> HashSet<String> {
    let hex = raw.texts("SELECT lower(hex(id)) FROM elicitations").await;
    hex.iter().map(|id| uuid::Uuid::parse_str(id).unwrap().to_string()).collect()
}
