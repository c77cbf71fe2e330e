//! The same answer more than once, at the same moment.

use consentry_fakes::{Answer, Gate};
use futures_util::future::join_all;
use serde_json::json;

use super::{about_to_return, token_requests};
use crate::{
    engine::Database,
    rows::rows,
    world::{FILES, World},
};

on_both_engines! {
    r9_fifty_callbacks_on_two_servers_are_one,
    whoever_comes_second_is_told_that_it_is_being_worked_on,
}

/// R9: one token request, one connection, one signal.
async fn r9_fifty_callbacks_on_two_servers_are_one(db: Database) {
    let world = World::start(db).await;
    let replica = world.replica().await;
    let (mut alice, link, callback) = about_to_return(&world).await;
    let cookie = alice.jar().header(&callback, false, world.clock.now()).unwrap();
    let calls = (0..50).map(|n| {
        let own = world.public_url.strip_prefix("http://").unwrap();
        let at = if n % 2 == 0 { own } else { &*replica.address };
        let url = callback.as_str().replacen(own, at, 1);
        let mut tab = world.browser();
        tab.more_headers.insert("host", own.parse().unwrap());
        tab.more_headers.insert("cookie", cookie.parse().unwrap());
        async move { tab.goes(&url).await.location() }
    });
    for leads in join_all(calls).await {
        assert!(leads.unwrap().path().ends_with("/done"));
    }
    assert_eq!(token_requests(&world), 1);
    let stored = rows(&world.database).await;
    assert_eq!((stored["connections"].len(), stored["signals"].len()), (1, 2), "created, and completed");
    let told = world.api("files").told().await;
    let expected = [("connection.created", json!(null)), ("elicitation.completed", json!(link.id))];
    assert_eq!(told, expected.map(|(kind, about)| (kind.to_owned(), about)));
    alice.opens(callback.as_str()).await.is("connected");
    assert_eq!(token_requests(&world), 1);
    replica.stops().await;
}

async fn whoever_comes_second_is_told_that_it_is_being_worked_on(db: Database) {
    let world = World::start(db).await;
    let (mut alice, _, callback) = about_to_return(&world).await;
    let gate = Gate::shut();
    world.files.next_token_answer(Answer::genuine().held(&gate));
    let (mut second, mut first) = (alice.tab(), alice.tab());
    let looks = async {
        gate.reached_by(1).await;
        second.opens(callback.as_str()).await.is("working");
        second.reloads().await.is("working");
        gate.open();
    };
    let (connected, ()) = tokio::join!(async { first.opens(callback.as_str()).await.name() }, looks);
    assert_eq!(connected.as_deref(), Some("connected"));
    second.reloads().await.is("connected");
    alice.opens(&format!("{}/connections?server=files", world.public_url)).await;
    assert!(alice.page().text().contains("octocat"));
    assert_eq!(world.api("files").resolves("alice", FILES).await["status"], "ready");
    assert_eq!(token_requests(&world), 1);
}
