//! Alice connects her account, and nothing of it is left lying about.

use super::{
    driver::{Browsers, Profile},
    steps::{SIGN_IN, person},
};
use crate::{
    engine::Database,
    world::{FILES, World},
};

on_both_engines!(alice_connects);

async fn alice_connects(database: Database) {
    let (world, browsers) = tokio::join!(World::start(database), Browsers::start());
    let alice = browsers.open().await;
    alice_connects_in(&world, &alice).await;
}

/// The whole way, with what must be so on each page of it.
pub(super) async fn alice_connects_in(world: &World, alice: &Profile) {
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    alice.open(&link.url).await;
    alice.sees("sign-in").await;
    loads_nothing_from_elsewhere(world, alice).await;
    alice.click(SIGN_IN).await;
    alice.click(&person("alice")).await;
    alice.sees("ready").await;
    let text = alice.text().await;
    for word in [
        "signed in as alice",
        "Example Files",
        "See the names of your files",
        "Connect Example Files to list",
    ] {
        assert!(text.contains(word), "{word} is not in: {text}");
    }
    loads_nothing_from_elsewhere(world, alice).await;
    alice.connects_as("octocat").await;
    loads_nothing_from_elsewhere(world, alice).await;

    assert_eq!(api.elicitation(&link.id).await["state"], "completed");
    let resolved = api.resolves("alice", FILES).await;
    assert_eq!(resolved["status"], "ready", "{resolved}");
    assert_eq!(resolved["connection"]["account"]["label"], "octocat");
    assert_eq!(super::codes(world), 1);
    keeps_no_code(world, alice).await;
    tells_no_referrer(world);
}

/// R41: what a page of ours is made of comes from us, and none of it is a script.
async fn loads_nothing_from_elsewhere(world: &World, browser: &Profile) {
    let loaded = browser.run("return performance.getEntriesByType('resource').map(one => one.name)").await;
    let loaded = loaded.as_array().unwrap();
    let ours = format!("{}/static/", world.public_url);
    assert!(loaded.iter().all(|one| one.as_str().unwrap().starts_with(&ours)), "{loaded:?}");
    assert!(loaded.iter().any(|one| one.as_str().unwrap().ends_with(".css")), "{loaded:?}");
    assert_eq!(browser.count("script, [onclick], [onload], [style]").await, 0);
}

/// R44: neither the address bar nor the history has what came back from anybody.
async fn keeps_no_code(world: &World, browser: &Profile) {
    let mut kept = browser.history().await;
    kept.push(browser.url().await);
    for address in kept {
        let is_ours = address.starts_with(&world.public_url);
        assert!(!address.contains("code="), "{address}");
        assert!(!is_ours || !(address.contains("state=") || address.contains("/callback/")), "{address}");
    }
}

/// R43: nobody is told from where the browser comes.
fn tells_no_referrer(world: &World) {
    for received in [world.id.log().entries(), world.files.log().entries()].concat() {
        let referrer = received.header("referer").unwrap_or_default();
        assert!(!referrer.contains("localhost"), "{} {}: {referrer}", received.method, received.path);
        assert!(received.path != "/authorize" || referrer.is_empty(), "{referrer}");
    }
}
