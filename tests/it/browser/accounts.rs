//! Which account: keeping the one that is there, taking another in its place, taking it away again.

use super::world_and_browser;
use crate::world::{
    FILES, World,
    api::{Link, link},
};

const KEEP: &str = "form[action$='/keep'] button";
const USE_NEW: &str = "form:has(input[name=use][value=new]) button";

/// A question that is asked although there is a connection.
async fn asks_anew(world: &World, client: &str) -> Link {
    let api = world.api("files");
    let mut question = api.question("alice", FILES);
    question["client"]["ref"] = client.into();
    link(&api.post("/v1/elicitations", &question).await.expect(201)["elicitation"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_takes_another_account_and_then_none() {
    let (world, _browsers, alice) = world_and_browser().await;
    let api = world.api("files");
    let first = api.asks("alice", FILES).await;
    alice.opens_as("alice", &first.url).await;
    alice.connects_as("octocat").await;

    // It will do.
    let second = asks_anew(&world, "second").await;
    alice.open(&second.url).await;
    alice.sees("already-connected").await;
    alice.click(KEEP).await;
    alice.sees("connected").await;
    assert_eq!(super::codes(&world), 1);

    // It will not; and it counts only after a second look.
    let third = asks_anew(&world, "third").await;
    alice.open(&third.url).await;
    alice.sees("already-connected").await;
    alice.leaves().await;
    alice.allows_as("hubot").await;
    alice.sees("account-changed").await;
    assert_eq!(api.resolves("alice", FILES).await["connection"]["account"]["label"], "octocat");
    alice.click(USE_NEW).await;
    alice.sees("connected").await;
    assert!(alice.text().await.contains("hubot"));
    assert_eq!(api.resolves("alice", FILES).await["connection"]["account"]["label"], "hubot");
    for asked in [first, second, third] {
        assert_eq!(api.elicitation(&asked.id).await["state"], "completed");
    }

    alice.click("main a[href^='/connections?']").await;
    alice.sees("connections").await;
    assert!(alice.text().await.contains("hubot"));
    alice.click("details:has(form[action$='/disconnect']) summary").await;
    alice.click("form[action$='/disconnect'] button").await;
    alice.sees("disconnected").await;
    assert_eq!(api.resolves("alice", FILES).await["status"], "action_required");
    assert_eq!(super::codes(&world), 2);
}
