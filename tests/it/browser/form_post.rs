//! A third party that answers by a form that it posts: the browser brings it from another site, with the attempt's cookie
//! and no other.

use super::{
    driver::{Browsers, Habits},
    steps::{self, DENY},
};
use crate::{
    engine::{Database, Engine},
    world::{FILES, World},
};

const TLS: Habits = Habits { any_certificate: true, no_scripts: false };

async fn start() -> (World, Browsers) {
    let world = async {
        let database = Database::start(Engine::Sqlite).await;
        World::start_over_tls_with(database, |settings| {
            for provider in &mut settings.providers {
                provider.form_post = true;
            }
        })
        .await
    };
    tokio::join!(world, Browsers::start())
}

/// R35: the session's cookie stays home, so that the answer waits for a moment and is taken up by `resume`.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_comes_back_by_a_form_post() {
    let (world, browsers) = start().await;
    let alice = browsers.open_with(TLS).await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    let authorize = alice.leaves().await;
    assert!(authorize.contains("response_mode=form_post"), "{authorize}");
    let cookies = alice.cookies().await;
    assert!(!cookies.iter().any(|cookie| cookie.name.contains("consentry")), "they are not this site's");
    alice.allows_as("octocat").await;
    alice.sees("connected").await;
    let at = alice.url().await;
    assert!(!at.contains("code=") && !at.contains("state="), "{at}");
    assert_eq!(super::codes(&world), 1);
    assert_eq!(api.elicitation(&link.id).await["state"], "completed");
    alice.reload().await;
    alice.sees("connected").await;
    assert_eq!(super::codes(&world), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_no_comes_back_by_a_form_post_too() {
    let (world, browsers) = start().await;
    let alice = browsers.open_with(TLS).await;
    let link = world.api("files").asks("alice", FILES).await;
    alice.opens_as("alice", &link.url).await;
    alice.sees("ready").await;
    alice.leaves().await;
    alice.click(DENY).await;
    alice.sees("not-connected").await;
    assert_eq!(super::codes(&world), 0);
    alice.leaves().await;
    alice.click(&steps::account("octocat")).await;
    alice.sees("connected").await;
    assert_eq!(super::codes(&world), 1);
}
