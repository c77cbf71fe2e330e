//! What comes of a trip: parked answers, another account, and what the third party may say.

use std::time::Duration;

use consentry_fakes::Answer;
use serde_json::json;

use super::{about_to_return, pairs, ready, token_requests, with_query};
use crate::{
    engine::Database,
    rows::rows,
    world::{Browser, FILES, Form, Page, World},
};

on_both_engines! {
    a_parked_answer_dies_with_its_time,
    a_parked_answer_dies_with_a_sign_out,
    another_account_is_asked_about,
    what_the_third_party_says_is_told_in_our_words,
    what_its_token_endpoint_says_is_told_in_our_words,
    a_link_that_has_ended_is_not_said_to_work_again,
}

/// A cleaned browser brings an answer back: it is parked.
async fn parked(world: &World) -> (Browser, crate::world::Link) {
    let (mut alice, link, callback) = about_to_return(world).await;
    alice.jar().lose("localhost", "consentry-session");
    alice.opens(callback.as_str()).await.is("sign-in");
    assert!(alice.page().url.path().ends_with("/resume"));
    (alice, link)
}

async fn a_parked_answer_dies_with_its_time(db: Database) {
    let world = World::start(db).await;
    let (mut alice, link) = parked(&world).await;
    // Nobody else gets it out.
    let address = alice.page().url.clone();
    let mut bob = world.browser();
    bob.opens(address.as_str()).await.is("sign-in");
    bob.signs_in("bob").await.is("wrong-account");
    world.advance(Duration::from_secs(5 * 60 + 1));
    alice.reloads().await.is("sign-in");
    alice.signs_in("alice").await.is("ready");
    assert_eq!(token_requests(&world), 0);
    assert!(matches!(
        world.api("files").elicitation(&link.id).await["state"].as_str(),
        Some("pending" | "authorizing")
    ));
    alice.connects("octocat").await.is("connected");
}

async fn a_parked_answer_dies_with_a_sign_out(db: Database) {
    let world = World::start(db).await;
    let (mut alice, link, callback) = about_to_return(&world).await;
    let session = alice.jar().clone();
    alice.jar().lose("localhost", "consentry-session");
    alice.opens(callback.as_str()).await.is("sign-in");
    let resume = alice.page().url.clone();
    *alice.jar() = session;
    alice.opens(&link.url).await.is("ready");
    let attempt = alice.jar().of("localhost").find(|one| one.name.starts_with("consentry-attempt-")).cloned();
    alice.presses("/sign-out").await;
    let stored = rows(&world.database).await;
    let columns = stored["attempts"].concat();
    assert!(columns.contains("ended"), "{columns}");
    // Even with the trip's cookie put back, there is nothing left to take up.
    let attempt = attempt.expect("the trip's cookie");
    alice.opens(&link.url).await.is("sign-in");
    alice.signs_in("alice").await.is("ready");
    let session = alice.jar().header(&resume, false, world.clock.now()).unwrap();
    let cookies = format!("{session}; {}={}", attempt.name, attempt.value);
    let mut tab = alice.tab();
    tab.more_headers.insert("cookie", cookies.parse().unwrap());
    tab.opens(resume.as_str()).await.is("ready");
    assert_eq!(token_requests(&world), 0);
    alice.connects("octocat").await.is("connected");
}

/// R12: the new one, the former one, and an answer that a second tab has made stale.
async fn another_account_is_asked_about(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let first = api.asks("alice", FILES).await;
    let mut alice = ready(&world, "alice", &first).await;
    alice.connects("octocat").await.is("connected");
    let again = async || {
        let answer = api.post("/v1/elicitations", &api.question("alice", FILES)).await;
        crate::world::link(&answer.body["elicitation"])
    };
    let label = async || api.resolves("alice", FILES).await["connection"]["account"]["label"].clone();

    let link = again().await;
    alice.opens(&link.url).await.is("already-connected");
    let asked = alice.connects("hubot").await.is("account-changed").text();
    assert!(asked.contains("hubot") && asked.contains("octocat"), "{asked}");
    assert_eq!(label().await, "octocat", "not handed out before it was answered");
    let mut bob = world.browser();
    let address = alice.page().url.clone();
    bob.opens(address.as_str()).await;
    assert!(!bob.page().text().contains("hubot"));
    // Only the browser of the trip may answer.
    let mut phone = world.browser();
    phone.opens(&link.url).await.is("sign-in");
    phone.signs_in("alice").await.is("already-connected");
    phone.opens(address.as_str()).await;
    if phone.page().name().as_deref() == Some("account-changed") {
        let form = choice(phone.page(), "new");
        phone.submits(form).await;
        phone.follows().await.is("other-browser");
    }
    assert_eq!(label().await, "octocat");
    let previous = choice(alice.page(), "previous");
    alice.submits(previous).await;
    alice.follows().await.is("connected");
    assert_eq!(label().await, "octocat");

    // Two tabs are asked; the first answer stands.
    let link = again().await;
    alice.opens(&link.url).await.is("already-connected");
    let mut tab = alice.tab();
    tab.opens(&link.url).await.is("already-connected");
    alice.connects("hubot").await.is("account-changed");
    tab.connects("hubot").await.is("account-changed");
    let (new, stale) = (choice(alice.page(), "new"), choice(tab.page(), "previous"));
    alice.submits(new).await;
    alice.follows().await.is("connected");
    assert_eq!(label().await, "hubot");
    tab.submits(stale).await;
    tab.follows().await.is("connected");
    assert_eq!(label().await, "hubot");
    let ends = api.told().await.into_iter().filter(|(_, about)| *about == json!(link.id)).count();
    assert_eq!(ends, 1);
}

/// The form of that answer on `account-changed`.
fn choice(page: &Page, answer: &str) -> Form {
    let is_it = |form: &Form| form.fields.iter().any(|(name, value)| name == "use" && value == answer);
    page.forms().into_iter().find(is_it).expect("a form for each answer")
}

async fn what_the_third_party_says_is_told_in_our_words(db: Database) {
    let world = World::start(db).await;
    let (mut alice, link, callback) = about_to_return(&world).await;
    let mut callback = Some(callback);
    for (error, page, status) in [
        ("access_denied", "not-connected", 200),
        ("server_error", "provider-unreachable", 502),
        ("temporarily_unavailable", "provider-unreachable", 502),
        ("invalid_scope", "provider-misconfigured", 502),
        ("unauthorized_client", "provider-misconfigured", 502),
        ("something_new", "not-connected", 200),
        ("<script>alert(1)</script>", "not-connected", 200),
    ] {
        let url = match callback.take() {
            Some(url) => url,
            None => {
                alice.opens(&link.url).await.is("ready");
                alice.agrees().await;
                alice.leaves().await;
                alice.approves("octocat").await.location().unwrap()
            }
        };
        let mut said: Vec<(String, String)> =
            pairs(&url).into_iter().filter(|(name, _)| name != "code").collect();
        said.push(("error".into(), error.into()));
        said.push(("error_description".into(), "<b>the owner is Alice</b>".into()));
        let shown = alice.opens(with_query(&url, &said).as_str()).await.is(page);
        assert_eq!(shown.status.as_u16(), status, "{error}");
        assert!(!shown.html.contains("<script") && !shown.html.contains("the owner is"), "{error}");
        assert_eq!(world.api("files").elicitation(&link.id).await["state"], "pending", "{error}");
        // R59: spent by the no as well.
        alice.opens(url.as_str()).await.is(page);
        assert_eq!(token_requests(&world), 0, "{error}");
    }
    alice.opens(&link.url).await.is("ready");
    alice.connects("octocat").await.is("connected");
}

async fn what_its_token_endpoint_says_is_told_in_our_words(db: Database) {
    let world = World::start(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, "alice", &link).await;
    for (answer, page, status) in [
        (Answer::error(400, "invalid_grant"), "not-connected", 200),
        (Answer::status(503), "provider-unreachable", 502),
        (Answer::html(200), "provider-unreachable", 502),
        (Answer::drop_connection(), "provider-unreachable", 502),
        (Answer::redirect("http://127.0.0.4/token"), "provider-misconfigured", 502),
    ] {
        world.files.next_token_answer(answer);
        alice.opens(&link.url).await.is("ready");
        let shown = alice.connects("octocat").await.is(page);
        assert_eq!(shown.status.as_u16(), status, "{page}");
        assert_eq!(world.api("files").elicitation(&link.id).await["state"], "pending", "{page}");
        assert!(rows(&world.database).await["connections"].is_empty());
    }
    alice.opens(&link.url).await.is("ready");
    alice.connects("octocat").await.is("connected");
    assert_eq!(world.api("files").told().await.len(), 2);
}

/// Whether the link will work again is known, and said: where our client is refused it has ended.
async fn a_link_that_has_ended_is_not_said_to_work_again(db: Database) {
    let world = World::start(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, "alice", &link).await;
    for (answer, state, says) in [
        (Answer::redirect("http://127.0.0.4/token"), "pending", "The link will work"),
        (Answer::error(401, "invalid_client"), "failed", "This link has ended"),
    ] {
        world.files.next_token_answer(answer);
        alice.opens(&link.url).await.is("ready");
        let shown = alice.connects("octocat").await.is("provider-misconfigured");
        assert!(shown.text().contains(says), "{state}: {}", shown.text());
        assert_eq!(world.api("files").elicitation(&link.id).await["state"], state);
    }
}
