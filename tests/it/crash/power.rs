//! A power cut under SQLite (F42): of what was written, the disk has what was synced, and of the rest any part, down to
//! single sectors. What was promised is there, and the file is whole.
//!
//! `strace` records every write and sync of a server under load. From the record the files are built as a cut at any
//! moment would have left them.

mod record;

use std::fs;

use consentry::{clock::Clock, random::Random};

use self::record::{Keeps, Record};
use super::{is_long, kills::stored, load, process::until, scene::Scene};
use crate::{contract::raw::Raw, engine::Engine};

/// Callers at the same time, and what each is promised.
const CALLERS: usize = 4;
const PROMISES: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn f42_what_was_promised_outlives_a_power_cut() {
    let scene = Scene::start(Engine::Sqlite).await;
    let main = fs::read(scene.file()).unwrap();
    let log = scene.path("strace.log");
    let process = scene.serves_by(record::traced(&scene.program(&["serve"]), scene.file(), &log), 0).await;
    let each = if is_long() { PROMISES * 20 } else { PROMISES };
    let promised = promises(&scene, &process, each).await;
    let (first, last) = (promised[0].1, promised[promised.len() - 1].1);
    process.killed();
    until("strace has ended", async || (!record::is_traced(&log)).then_some(())).await;
    let record = Record::parse(&fs::read_to_string(&log).unwrap(), scene.file());

    let cuts = if is_long() { 500 } else { 8 };
    let mut torn = 0;
    for number in 0..=cuts {
        let span = u64::try_from(last + 1 - first).unwrap();
        let at = if number == cuts { last + 1 } else { first + i64::try_from(Random.below(span)).unwrap() };
        for keeps in [Keeps::Nothing, Keeps::Sectors] {
            let image = record.image(&main, at, keeps);
            torn += usize::from(image.is_torn);
            let lost = lost(&image, &promised, at).await;
            assert!(lost.is_empty(), "{keeps:?} at {at}: {} promises are lost", lost.len());
        }
    }
    // That the syncs are what it hangs on: without them the same cut loses promises.
    let lost = lost(&record.image(&main, last + 1, Keeps::NoSync), &promised, last + 1).await;
    assert!(!lost.is_empty(), "the record says nothing");
    println!(
        "{} promises, {} writes, {} syncs, {} checkpoints; {cuts} cuts, twice each, {torn} torn: none lost; without syncs {}",
        promised.len(),
        record.writes(),
        record.syncs(),
        record.checkpoints(),
        lost.len()
    );
}

/// Elicitations that were promised, each with the moment at which its promise was there, in order.
async fn promises(scene: &Scene, process: &super::process::Process, each: usize) -> Vec<(String, i64)> {
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..CALLERS {
        let api = scene.api(process);
        callers.spawn(async move {
            let mut promised = Vec::with_capacity(each);
            for number in 0..each {
                let answer =
                    load::resolve(&api, &format!("stranger-{caller}-{number}")).await.unwrap().expect(200);
                let id = answer["elicitation"]["id"].as_str().unwrap().to_owned();
                promised.push((id, Clock::system().now().0));
            }
            promised
        });
    }
    let mut promised: Vec<(String, i64)> = callers.join_all().await.into_iter().flatten().collect();
    promised.sort_by_key(|(_, at)| *at);
    promised
}

/// The promises before `at` that the files do not have.
async fn lost(image: &record::Image, promised: &[(String, i64)], at: i64) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("consentry.db");
    fs::write(&file, &image.main).unwrap();
    fs::write(directory.path().join("consentry.db-wal"), &image.wal).unwrap();
    let mut raw = Raw::open(Engine::Sqlite, &format!("sqlite:{}", file.display())).await;
    assert_eq!(raw.texts("PRAGMA integrity_check").await, ["ok"], "at {at}");
    let stored = stored(&mut raw).await;
    promised
        .iter()
        .filter(|(id, when)| *when < at && !stored.contains(id))
        .map(|(id, _)| id.clone())
        .collect()
}
