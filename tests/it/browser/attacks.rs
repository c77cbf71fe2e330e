//! Bob wants Alice's account connected for himself, or his own for her. He is signed in as himself, has a browser of his
//! own, and gets hold of whatever passes Alice's.

use super::driver::{Browsers, Profile};
use crate::world::{FILES, World, api::Link};

async fn alice_and_bob() -> (World, Browsers, Profile, Profile) {
    let (world, browsers, alice) = super::world_and_browser().await;
    let bob = browsers.open().await;
    (world, browsers, alice, bob)
}

/// R3: whoever opens a link that is not theirs gets no further, and learns nothing of its owner.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bob_opens_the_link_of_alice() {
    let (world, _browsers, alice, bob) = alice_and_bob().await;
    let link = world.api("files").asks("alice", FILES).await;
    bob_opens_the_link_in(&world, &bob, &link).await;
    alice.opens_as("alice", &link.url).await;
    alice.connects_as("octocat").await;
    assert_eq!(super::codes(&world), 1);
    assert_eq!(world.api("files").elicitation(&link.id).await["state"], "completed");
}

/// With Bob signed in as nobody yet.
pub(super) async fn bob_opens_the_link_in(world: &World, bob: &Profile, link: &Link) {
    bob.opens_as("bob", &link.url).await;
    bob.is_refused_by("wrong-account", 403).await;
    let page = bob.source().await.to_lowercase();
    assert!(page.contains("bob") && !page.contains("alice"), "{page}");
    assert_eq!(bob.count("form[action*='/connect/']").await, 0);
    // The addresses further on are as closed as the link.
    for path in ["done", "leaving?attempt=0198d0c4-0000-7000-8000-000000000000"] {
        bob.open(&format!("{}/connect/{}/{path}", world.public_url, link.id)).await;
        bob.is_refused_by("wrong-account", 403).await;
    }
    assert!(world.files.authorize_log().is_empty());
    assert_eq!(super::codes(world), 0);
}

/// R59: Alice sends Bob where she was about to go (or he reads it off her screen), and he agrees there with his account.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bob_answers_at_the_third_party_in_place_of_alice() {
    let (world, _browsers, alice, bob) = alice_and_bob().await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    bob.opens_as("bob", &link.url).await;
    bob.sees("wrong-account").await;
    bob_answers_in(&world, &alice, &bob).await;
    assert_eq!(world.api("files").elicitation(&link.id).await["state"], "completed");
}

/// With Alice on `ready`.
pub(super) async fn bob_answers_in(world: &World, alice: &Profile, bob: &Profile) {
    alice.sees("ready").await;
    let authorize = alice.leaves().await;
    let before = super::codes(world);
    bob.open(&authorize).await;
    bob.allows_as("hubot").await;
    bob.is_refused_by("other-browser", 400).await;
    assert_eq!(super::codes(world), before, "nothing was redeemed");

    // Nothing was spent: the same attempt still works for her.
    alice.allows_as("octocat").await;
    alice.sees("connected").await;
    assert_eq!(super::codes(world), before + 1);
    let redeemed = world.files.token_log().pop().unwrap();
    assert_eq!(redeemed.approval.unwrap().account, "octocat");
}

/// R4, R59: the way back of Alice's, in Bob's browser, before it reaches hers.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bob_takes_the_way_back_of_alice() {
    let (world, _browsers, alice, bob) = alice_and_bob().await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    bob.opens_as("bob", &link.url).await;
    bob.sees("wrong-account").await;
    bob_takes_the_way_back_in(&world, &alice, &bob).await;
    assert_eq!(world.api("files").elicitation(&link.id).await["state"], "completed");
}

/// The same in a browser that nobody is signed in at.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stranger_takes_the_way_back_of_alice() {
    let (world, _browsers, alice, stranger) = alice_and_bob().await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    bob_takes_the_way_back_in(&world, &alice, &stranger).await;
    assert_eq!(world.api("files").elicitation(&link.id).await["state"], "completed");
}

/// With Alice on `ready`.
pub(super) async fn bob_takes_the_way_back_in(world: &World, alice: &Profile, bob: &Profile) {
    alice.sees("ready").await;
    let authorize = alice.leaves().await;
    let before = super::codes(world);
    // What the third party says for her, and a refusal that Bob gets from it for himself.
    let back = world.files.approve(&authorize, "octocat").unwrap();
    for back in [&back, &world.files.deny(&authorize).unwrap()] {
        bob.open(back).await;
        bob.is_refused_by("other-browser", 400).await;
        assert!(!bob.url().await.contains("state="));
    }
    assert_eq!(super::codes(world), before, "nothing was redeemed");

    alice.open(&back).await;
    alice.sees("connected").await;
    assert_eq!(super::codes(world), before + 1);
}

/// R4: Alice's attempt, Alice's browser, and at the way back it is Bob who is signed in there.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bob_takes_over_the_browser_of_alice() {
    let (world, _browsers, browser) = super::world_and_browser().await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    browser.opens_as("alice", &link.url).await;
    browser.sees("ready").await;
    let authorize = browser.leaves().await;
    let back = world.files.approve(&authorize, "octocat").unwrap();

    browser.becomes("bob", &link.url).await;
    browser.is_refused_by("wrong-account", 403).await;
    browser.open(&back).await;
    browser.is_refused_by("wrong-account", 403).await;
    assert_eq!(super::codes(&world), 0, "nothing was redeemed");
    assert_ne!(api.elicitation(&link.id).await["state"], "completed");

    browser.becomes("alice", &link.url).await;
    browser.connects_as("octocat").await;
    assert_eq!(super::codes(&world), 1);
}
