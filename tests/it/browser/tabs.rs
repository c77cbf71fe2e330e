//! Tabs, and the buttons of the browser itself: in whatever order things arrive, each happens once.

use super::{steps::DENY, world_and_browser};
use crate::world::{FILES, NOTES};

/// R36: two questions in two tabs, and the later one is finished first.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_questions_in_two_tabs_are_finished_in_reverse() {
    let (world, _browsers, alice) = world_and_browser().await;
    let api = world.api("files");
    let (files, notes) = tokio::join!(api.asks("alice", FILES), api.asks("alice", NOTES));
    let first = alice.tab().await;
    alice.opens_as("alice", &files.url).await;
    alice.sees("ready").await;
    alice.leaves().await;
    let second = alice.open_tab().await;
    alice.open(&notes.url).await;
    alice.sees("ready").await;
    alice.leaves().await;
    alice.allows_as("hubot").await;
    alice.sees("connected").await;
    alice.look_at(&first).await;
    alice.allows_as("octocat").await;
    alice.sees("connected").await;
    assert!(alice.text().await.contains("octocat"));
    alice.look_at(&second).await;
    alice.reload().await;
    alice.sees("connected").await;
    assert!(alice.text().await.contains("hubot"));
    for link in [files, notes] {
        assert_eq!(api.elicitation(&link.id).await["state"], "completed");
    }
    assert_eq!((world.files.token_log().len(), world.notes.token_log().len()), (1, 1));
}

/// One question in two tabs: whichever comes back first has answered it, and the other is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_question_in_two_tabs_is_answered_once() {
    let (world, _browsers, alice) = world_and_browser().await;
    let link = world.api("files").asks("alice", FILES).await;
    let first = alice.tab().await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    alice.leaves().await;
    alice.open_tab().await;
    alice.open(&link.url).await;
    alice.sees("ready").await;
    alice.leaves().await;
    alice.allows_as("octocat").await;
    alice.sees("connected").await;
    alice.look_at(&first).await;
    alice.allows_as("hubot").await;
    alice.sees("connected").await;
    let text = alice.text().await;
    assert!(text.contains("octocat") && !text.contains("hubot"), "{text}");
    assert_eq!(super::codes(&world), 1);
}

/// R44: what is done stays done, whatever is pressed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reload_back_and_once_more_change_nothing() {
    let (world, _browsers, alice) = world_and_browser().await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    let authorize = alice.leaves().await;
    alice.allows_as("octocat").await;
    alice.sees("connected").await;
    let done = alice.url().await;
    alice.reload().await;
    alice.sees("connected").await;

    // Back at the third party, and the same question to the same end.
    alice.back().await;
    alice.find(DENY).await;
    alice.reload().await;
    alice.allows_as("octocat").await;
    alice.sees("connected").await;
    assert_eq!(alice.url().await, done);

    // Back to where it began: the question has its answer.
    alice.back().await;
    alice.back().await;
    alice.sees("connected").await;
    alice.open(&link.url).await;
    alice.sees("connected").await;

    // The way back, from wherever it was kept, twice.
    let back = world.files.approve(&authorize, "hubot").unwrap();
    for _ in 0..2 {
        alice.open(&back).await;
        alice.sees("connected").await;
        assert!(alice.text().await.contains("octocat"));
    }
    assert_eq!(world.files.token_log().len(), 1, "one request, and no more");
}
