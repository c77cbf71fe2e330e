//! The same over TLS, as in production: cookies are `__Host-` and `Secure`, and Bob gets no further.

use thirtyfour::{Cookie, SameSite};

use super::{
    attacks,
    driver::{Browsers, Habits, Profile},
    happy,
};
use crate::{
    engine::{Database, Engine},
    world::{FILES, NOTES, World},
};

const TLS: Habits = Habits { any_certificate: true, no_scripts: false };

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_connects_over_tls() {
    let (world, browsers) = start().await;
    let alice = browsers.open_with(TLS).await;
    happy::alice_connects_in(&world, &alice).await;

    // One that is under way, to see its cookie.
    let link = world.api("files").asks("alice", NOTES).await;
    alice.open(&link.url).await;
    alice.sees("ready").await;
    has_host_cookies(&alice, 1).await;
    alice.leaves().await;
    alice.open(&link.url).await;
    has_host_cookies(&alice, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bob_gets_no_further_over_tls() {
    let (world, browsers) = start().await;
    let (alice, bob) = tokio::join!(browsers.open_with(TLS), browsers.open_with(TLS));
    let (files, notes) = (world.api("files"), world.api("notes"));
    let link = files.asks("alice", FILES).await;
    attacks::bob_opens_the_link_in(&world, &bob, &link).await;
    alice.opens_as("alice", &link.url).await;
    attacks::bob_answers_in(&world, &alice, &bob).await;
    // Another MCP server's users connect anew.
    let link = notes.asks("alice", FILES).await;
    alice.open(&link.url).await;
    attacks::bob_takes_the_way_back_in(&world, &alice, &bob).await;
    assert_eq!(super::codes(&world), 2);
}

async fn start() -> (World, Browsers) {
    let world = async { World::start_over_tls(Database::start(Engine::Sqlite).await).await };
    let (world, browsers) = tokio::join!(world, Browsers::start());
    assert!(world.public_url.starts_with("https://localhost:"), "{}", world.public_url);
    (world, browsers)
}

/// R35, as the browser keeps them.
async fn has_host_cookies(browser: &Profile, at_least: usize) {
    let cookies = browser.cookies().await;
    assert!(cookies.len() >= at_least, "{:?}", names(&cookies));
    for cookie in &cookies {
        let name = &cookie.name;
        assert!(name.starts_with("__Host-consentry-"), "{name}");
        assert_eq!(cookie.secure, Some(true), "{name}");
        assert_eq!(cookie.http_only, Some(true), "{name}");
        assert_eq!(cookie.same_site, Some(SameSite::Lax), "{name}");
        assert_eq!(cookie.path.as_deref(), Some("/"), "{name}");
        // No `Domain`: of this host alone.
        assert_eq!(cookie.domain.as_deref(), Some("localhost"), "{name}");
    }
    let has = |start: &str| cookies.iter().any(|cookie| cookie.name.starts_with(start));
    assert!(has("__Host-consentry-session"), "{:?}", names(&cookies));
    assert!(at_least < 2 || has("__Host-consentry-attempt-"), "{:?}", names(&cookies));
}

fn names(cookies: &[Cookie]) -> Vec<&str> {
    cookies.iter().map(|cookie| &*cookie.name).collect()
}
