//! What else people do: say no, here or at the third party, come too late, lose their sign-in, be somebody else.

use std::time::Duration;

use super::{
    steps::{self, DECLINE, DENY, SIGN_IN},
    world_and_browser,
};
use crate::world::FILES;

const SESSION: &str = "consentry-session";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_declines() {
    let (world, _browsers, alice) = world_and_browser().await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.click(DECLINE).await;
    alice.is_refused_by("declined", 200).await;
    assert_eq!(api.elicitation(&link.id).await["state"], "declined");
    alice.open(&link.url).await;
    alice.sees("declined").await;
    assert_eq!(alice.count(steps::CONTINUE).await, 0);
    assert!(world.files.authorize_log().is_empty());
    assert_eq!(super::codes(&world), 0);
}

/// R13: the third party's "no" spends the attempt and not the question.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_says_no_at_the_third_party_and_then_yes() {
    let (world, _browsers, alice) = world_and_browser().await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    alice.leaves().await;
    alice.click(DENY).await;
    alice.is_refused_by("not-connected", 200).await;
    assert_eq!(super::codes(&world), 0);
    assert_eq!(api.elicitation(&link.id).await["state"], "pending");
    alice.leaves().await;
    alice.allows_as("octocat").await;
    alice.sees("connected").await;
    assert_eq!(super::codes(&world), 1);
    assert_eq!(api.elicitation(&link.id).await["state"], "completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_link_that_is_too_old_can_be_asked_for_anew() {
    let (world, _browsers, alice) = world_and_browser().await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    world.advance(Duration::from_secs(31 * 60));
    alice.opens_as("alice", &link.url).await;
    alice.is_refused_by("expired", 410).await;
    alice.click("form[action$='/restart'] button").await;
    alice.sees("ready").await;
    assert!(!alice.url().await.contains(&link.id), "another question");
    alice.connects_as("octocat").await;
    assert_eq!(super::codes(&world), 1);
    assert_eq!(api.elicitation(&link.id).await["state"], "expired", "what is final stays so");
    assert_eq!(api.resolves("alice", FILES).await["status"], "ready");
}

/// R4: without a sign-in at the way back, the answer waits for one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_has_lost_her_sign_in_on_the_way() {
    let (world, _browsers, alice) = world_and_browser().await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    alice.leaves().await;
    alice.loses_cookie(&world.public_url, SESSION).await;
    alice.allows_as("octocat").await;
    alice.sees("sign-in").await;
    let at = alice.url().await;
    assert!(at.contains("/resume?attempt=") && !at.contains("code="), "{at}");
    assert_eq!(super::codes(&world), 0, "nothing is redeemed for nobody");
    // Example ID still knows her, so that this is one click.
    alice.click(SIGN_IN).await;
    alice.sees("connected").await;
    assert_eq!(super::codes(&world), 1);
    assert_eq!(world.api("files").elicitation(&link.id).await["state"], "completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_is_signed_in_as_somebody_else_can_switch() {
    let (world, _browsers, browser) = world_and_browser().await;
    let link = world.api("files").asks("alice", FILES).await;
    browser.opens_as("bob", &link.url).await;
    browser.sees("wrong-account").await;
    browser.click("main a[href*='switch=1']").await;
    browser.click(&steps::person("alice")).await;
    // A sign-in that changes this browser's person counts only after a yes.
    browser.sees("sign-in").await;
    let text = browser.text().await;
    assert!(text.contains("You are now alice"), "{text}");
    browser.open(&link.url).await;
    browser.sees("wrong-account").await;
    browser.back().await;
    browser.click("form[action='/sign-in/confirm'] button").await;
    browser.connects_as("octocat").await;
    assert_eq!(super::codes(&world), 1);
}

/// R37: whoever signs out leaves nothing at this browser for the next person.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_signs_out() {
    let (world, _browsers, alice) = world_and_browser().await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    let authorize = alice.leaves().await;
    alice.open(&link.url).await;
    alice.click("form[action='/sign-out'] button").await;
    alice.sees("signed-out").await;
    let left: Vec<_> = alice.cookies().await.into_iter().map(|cookie| cookie.name).collect();
    assert!(!left.iter().any(|name| name == SESSION || name.contains("attempt")), "{left:?}");
    // What was under way has ended with it.
    alice.open(&world.files.approve(&authorize, "octocat").unwrap()).await;
    alice.sees("other-browser").await;
    assert_eq!(super::codes(&world), 0);
    alice.open(&link.url).await;
    alice.sees("sign-in").await;
}
