//! Answers that are lost, and processes that die between the request and the store.

use std::time::Duration;

use consentry::{connection::Status, random::Random};
use consentry_fakes::Answer;
use reqwest::StatusCode;

use super::stand::{Stand, handed};
use crate::{engine::Database, world::FILES};

on_both_engines! {
    r80_an_answer_that_was_lost_is_asked_for_once_more,
    r80_a_lost_rotation_is_said_and_never_looped,
    r80_a_lease_of_a_dead_process_is_taken_over,
    r80_a_rotation_lost_by_a_dead_process_is_said,
    a_lease_that_is_held_is_waited_for,
}

const SECOND: Duration = Duration::from_secs(1);

/// Asks while an answer is lost: the second try comes a second later.
async fn asks_through_a_lost_answer(stand: &Stand) -> crate::world::api::Answer {
    stand.runs_out();
    stand.world.files.next_token_answer(Answer::drop_connection().after_work());
    let (api, question) = (stand.api.clone(), stand.api.question("alice", FILES));
    let caller = tokio::spawn(async move { api.post("/v1/credentials/resolve", &question).await });
    stand.world.until(async || stand.stored().await.failures == 1).await;
    assert_eq!(stand.stored().await.failure.as_deref(), Some("ambiguous"));
    stand.world.advance(SECOND);
    caller.await.unwrap()
}

/// F2, with a provider that lets a former token in for a while.
async fn r80_an_answer_that_was_lost_is_asked_for_once_more(db: Database) {
    let stand = Stand::new(db).await;
    stand.world.files.configure(|settings| settings.rotation_grace = 60 * SECOND);
    let answer = asks_through_a_lost_answer(&stand).await.expect(200);
    assert_eq!(handed(&answer).generation, 2);
    let sent = stand.refreshes();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].refresh_token, sent[1].refresh_token, "with the token that is stored");
    assert!(stand.needs_reconnect().await.is_empty());
    stand.runs_out();
    assert_eq!(stand.resolves().await.generation, 3);
}

/// F2, with one that does not.
async fn r80_a_lost_rotation_is_said_and_never_looped(db: Database) {
    let stand = Stand::new(db).await;
    let answer = asks_through_a_lost_answer(&stand).await.expect(200);
    assert_eq!(answer["status"], "action_required");
    assert_eq!(stand.until_status("needs_reconnect").await, "rotation_lost");
    for _ in 0..3 {
        stand.world.advance(60 * SECOND);
        stand.asks().await;
    }
    assert_eq!(stand.refreshes().len(), 2);
    assert_eq!(stand.needs_reconnect().await, ["rotation_lost"]);
}

/// The lease of a process that died has run out.
async fn died(stand: &Stand) {
    let store = &stand.world.database.store;
    let length = Duration::from_millis(1);
    let now = stand.world.clock.now();
    let generation = stand.stored().await.generation;
    let taken = store.take_lease(stand.id, generation, Random.uuid(), length, now).await.unwrap();
    assert!(taken.is_some());
    stand
        .world
        .until(async || store.watch_connection(stand.id).await.unwrap().unwrap().lease_left.is_none())
        .await;
}

/// F1: it died before it sent anything.
async fn r80_a_lease_of_a_dead_process_is_taken_over(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    died(&stand).await;
    assert_eq!(stand.resolves().await.generation, 2);
    assert_eq!(stand.refreshes().len(), 1);
}

/// F3: it died after the provider had answered it.
async fn r80_a_rotation_lost_by_a_dead_process_is_said(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    died(&stand).await;
    stand.world.files.next_token_answer(Answer::error(400, "invalid_grant"));
    stand.asks().await;
    assert_eq!(stand.until_status("needs_reconnect").await, "rotation_lost");
    assert_eq!(stand.refreshes().len(), 1);
}

/// Another replica is at it: nothing is sent, and its result is everybody's.
async fn a_lease_that_is_held_is_waited_for(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    let (store, now) = (stand.world.database.store.clone(), stand.world.clock.now());
    let taken = store.take_lease(stand.id, 1, Random.uuid(), 60 * SECOND, now).await.unwrap();
    let (lease, _) = taken.unwrap();
    let (api, question) = (stand.api.clone(), stand.api.question("alice", FILES));
    let caller = tokio::spawn(async move { api.post("/v1/credentials/resolve", &question).await });
    stand.world.until(async || stand.api.get("/v1/providers").await.status == StatusCode::OK).await;
    let ended = store.end_refresh(&lease, Status::NeedsReconnect, "refused_by_provider", now).await.unwrap();
    assert!(ended.is_some());
    assert_eq!(caller.await.unwrap().expect(200)["status"], "action_required");
    assert!(stand.refreshes().is_empty());
}
