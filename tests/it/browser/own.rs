//! The connections page in a real browser: seen, mended and ended, by mouse, by keyboard, and without scripts.

use thirtyfour::Key;

use super::{
    driver::{Habits, Profile},
    steps::SIGN_IN,
    world_and_browser, world_and_browser_with,
};
use crate::{
    rows,
    world::{FILES, World},
};

const DISCONNECT: &str = "form[action$='/disconnect'] button";

async fn connected(world: &World, alice: &Profile) {
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.connects_as("octocat").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_mends_a_connection_and_ends_it() {
    let (world, _browsers, alice) = world_and_browser().await;
    connected(&world, &alice).await;
    let broken = "UPDATE connections SET status = 'needs_reconnect', reason = 'refused_by_provider'";
    rows::change(&world.database, broken).await;

    alice.open(&format!("{}/connections", world.public_url)).await;
    alice.sees("connections").await;
    let text = alice.text().await;
    assert!(text.contains("Needs to be connected again") && text.contains("no longer accepts it"), "{text}");
    alice.click("form[action$='/reconnect'] button").await;
    alice.sees("ready").await;
    alice.connects_as("octocat").await;
    alice.click("main a[href^='/connections']").await;
    alice.sees("connections").await;
    assert!(!alice.text().await.contains("Needs to be connected again"));

    alice.click("main li a[href^='/connections/']").await;
    alice.sees("connection").await;
    let text = alice.text().await;
    assert!(text.contains("What happened") && text.contains("as asked in Some Client"), "{text}");
    let at = alice.url().await;
    alice.open(&format!("{at}/disconnect")).await;
    alice.sees("disconnect").await;
    alice.click(DISCONNECT).await;
    alice.sees("disconnected").await;
    assert!(alice.text().await.contains("has confirmed that the access has ended"));
    alice.reload().await;
    alice.sees("disconnected").await;
    assert_eq!(world.files.revocations().len(), 1);
    assert_eq!(world.api("files").resolves("alice", FILES).await["status"], "action_required");
}

/// Every control is reached by Tab and worked by the keyboard, what unfolds too.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_ends_one_with_a_keyboard_only() {
    let (world, _browsers, alice) = world_and_browser().await;
    connected(&world, &alice).await;
    alice.open(&format!("{}/connections", world.public_url)).await;
    alice.tab_to("details:has(form[action$='/disconnect']) summary", 4).await;
    alice.press(Key::Enter).await;
    alice.tab_to(DISCONNECT, 2).await;
    alice.press(Key::Enter).await;
    alice.sees("disconnected").await;
    // Nothing is skipped on the way through the headings.
    alice.open(&format!("{}/connections", world.public_url)).await;
    alice.sees("connections").await;
    assert_eq!(alice.count("h1").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_ends_everything_with_scripts_off() {
    let habits = Habits { no_scripts: true, ..Habits::default() };
    let (world, browsers, alice) = world_and_browser_with(habits).await;
    connected(&world, &alice).await;
    alice.open(&format!("{}/connections", world.public_url)).await;
    alice.click("main a[href^='/connections/disconnect-all']").await;
    alice.sees("disconnect-all").await;
    alice.click("form[action='/connections/disconnect-all'] button").await;
    alice.sees("disconnected").await;
    assert_eq!(world.api("files").resolves("alice", FILES).await["status"], "action_required");
    // Another browser asks who is there.
    let bob = browsers.open().await;
    bob.open(&format!("{}/connections", world.public_url)).await;
    bob.sees("sign-in").await;
    bob.click(SIGN_IN).await;
    bob.click(&super::steps::person("bob")).await;
    bob.sees("connections").await;
    assert!(bob.text().await.contains("Nothing is connected"));
}
