//! The main job as its people meet it: asked, signed in, agreed, connected; and the ways in which it ends otherwise.

use std::time::Duration;

use consentry::{
    random::Random,
    server::{BuildError, Server},
    store::ConnectionFilter,
    vault::Key,
};
use serde_json::json;

use crate::{
    engine::Database,
    world::{FILES, NOTES, World},
};

on_both_engines! {
    a_user_connects_and_the_tool_gets_the_credential,
    a_decline_is_told_and_a_fresh_question_may_be_asked,
    a_no_at_the_provider_leaves_the_link_good,
    an_expired_link_asks_anew,
    a_session_that_is_lost_on_the_way_is_asked_for_and_the_trip_goes_on,
    two_tabs_may_finish_in_reverse_order,
    r3_somebody_else_sees_that_it_is_not_theirs,
    r39_a_form_of_another_site_or_session_does_nothing,
    r98_what_is_stored_is_sealed,
    r102_another_key_under_the_same_id_is_not_served_with,
    r109_an_mcp_server_sees_its_own_alone,
}

/// Otherwise what is stored and what is sealed from then on would need two keys of one name.
async fn r102_another_key_under_the_same_id_is_not_served_with(db: Database) {
    let world = World::start(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await;
    alice.connects("octocat").await.is("connected");
    let mut settings = world.settings();
    let (other, _) = Key::generate(settings.keys[0].id().clone(), &Random);
    settings.keys = vec![other];
    let refused = Server::build(settings, world.clock.clone()).await;
    assert!(matches!(refused, Err(BuildError::KeyWrong)));
    assert!(Server::build(world.settings(), world.clock.clone()).await.is_ok());
}

async fn a_user_connects_and_the_tool_gets_the_credential(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    assert_eq!(link.url, format!("{}/connect?elicitationId={}", world.public_url, link.id));

    let mut alice = world.browser();
    alice.opens(&link.url).await.is("sign-in");
    let ready = alice.signs_in("alice").await.is("ready").text();
    for told in ["The files tools", "Example Files", "See the names of your files", "signed in as alice"] {
        assert!(ready.contains(told), "{told}: {ready}");
    }
    assert_eq!(api.elicitation(&link.id).await["state"], "pending", "opening it changes nothing");
    for cookie in alice.jar().of("localhost") {
        let lax = cookie.same_site.as_deref() == Some("Lax");
        assert!(cookie.http_only && lax && cookie.path == "/", "{cookie:?}");
    }

    let leaving = alice.agrees().await.is("leaving").text();
    assert!(leaving.contains("127.0.0.3"), "{leaving}");
    assert_eq!(api.elicitation(&link.id).await["state"], "authorizing");
    alice.leaves().await;
    alice.approves("octocat").await;
    assert_eq!(world.redeemed(), 0);
    let connected = alice.returns().await.is("connected").text();
    assert!(connected.contains("octocat"), "{connected}");
    let shown = alice.page().url.clone();
    assert!(!shown.as_str().contains("code=") && !shown.as_str().contains("state="), "{shown}");
    alice.reloads().await.is("connected");
    assert_eq!(world.redeemed(), 1);

    let elicitation = api.elicitation(&link.id).await;
    assert_eq!((&elicitation["state"], &elicitation["reason"]), (&json!("completed"), &json!("connected")));
    let told = api.told().await;
    let expected = [("connection.created", json!(null)), ("elicitation.completed", json!(link.id))];
    assert_eq!(told, expected.map(|(kind, about)| (kind.to_owned(), about)));
    let answer = api.resolves("alice", FILES).await;
    assert_eq!(answer["status"], "ready", "{answer}");
    assert_eq!(answer["connection"]["account"], json!({ "id": "583231", "label": "octocat" }));
    assert_eq!(answer["credential"]["scopes"], json!(["files.read"]));
    let token = answer["credential"]["access_token"].as_str().unwrap();
    let redeemed = world.files.token_log();
    assert!(!token.is_empty() && redeemed.len() == 1);
}

async fn a_decline_is_told_and_a_fresh_question_may_be_asked(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("ready");
    alice.declines().await.is("declined");
    alice.opens(&link.url).await.is("declined");
    assert_eq!(api.elicitation(&link.id).await["state"], "declined");
    assert_eq!(api.told().await, [("elicitation.declined".to_owned(), json!(link.id))]);
    assert!(world.files.authorize_log().is_empty() && world.files.token_log().is_empty());

    let again = api.asks("alice", FILES).await;
    assert_ne!(again.id, link.id);
    alice.opens(&again.url).await.is("ready");
    alice.connects("octocat").await.is("connected");
}

async fn a_no_at_the_provider_leaves_the_link_good(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("ready");
    alice.agrees().await.is("leaving");
    alice.leaves().await;
    alice.denies().await;
    alice.returns().await.is("not-connected");
    assert_eq!(api.elicitation(&link.id).await["state"], "pending");
    assert!(api.told().await.is_empty());
    alice.connects("hubot").await.is("connected");
    assert_eq!(api.elicitation(&link.id).await["state"], "completed");
    assert_eq!(world.redeemed(), 1);
}

async fn an_expired_link_asks_anew(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    world.advance(Duration::from_secs(1_800));
    let mut alice = world.browser();
    alice.opens(&link.url).await.is("sign-in");
    alice.signs_in("alice").await.is("expired");
    assert_eq!(api.elicitation(&link.id).await["state"], "expired");
    world.until(async || !api.told().await.is_empty()).await;
    assert_eq!(api.told().await, [("elicitation.expired".to_owned(), json!(link.id))]);
    alice.presses("/restart").await.is("ready");
    alice.connects("octocat").await.is("connected");
    assert_eq!(api.elicitation(&link.id).await["state"], "expired", "what ended stays ended");
    assert_eq!(api.resolves("alice", FILES).await["status"], "ready");
}

/// A private window, a cleaned browser: the provider's answer waits, sealed, until the person has signed in again.
async fn a_session_that_is_lost_on_the_way_is_asked_for_and_the_trip_goes_on(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("ready");
    alice.agrees().await.is("leaving");
    alice.leaves().await;
    alice.approves("octocat").await;
    alice.jar().lose("localhost", "consentry-session");
    alice.returns().await.is("sign-in");
    assert_eq!(world.redeemed(), 0);
    alice.signs_in("alice").await.is("connected");
    assert_eq!(api.elicitation(&link.id).await["state"], "completed");
}

async fn two_tabs_may_finish_in_reverse_order(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let (files, notes) = (api.asks("alice", FILES).await, api.asks("alice", NOTES).await);
    let mut first = world.browser();
    first.opens(&files.url).await;
    first.signs_in("alice").await.is("ready");
    let mut second = first.tab();
    second.opens(&notes.url).await.is("ready");
    for tab in [&mut first, &mut second] {
        tab.agrees().await.is("leaving");
        tab.leaves().await;
    }
    second.approves("hubot").await;
    second.returns().await.is("connected");
    first.approves("octocat").await;
    first.returns().await.is("connected");
    for (provider, label) in [(FILES, "octocat"), (NOTES, "hubot")] {
        let answer = api.resolves("alice", provider).await;
        assert_eq!(answer["connection"]["account"]["label"], label, "{answer}");
    }
    let pages = first.history().iter().chain(second.history());
    let ours = pages.filter(|page| page.url.as_str().starts_with(&world.public_url));
    for page in ours {
        assert_eq!(page.header("cache-control"), "no-store", "{}", page.url);
    }
}

async fn r3_somebody_else_sees_that_it_is_not_theirs(db: Database) {
    let world = World::start(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut bob = world.browser();
    bob.opens(&link.url).await;
    let refused = bob.signs_in("bob").await.is("wrong-account").text();
    assert!(!refused.to_lowercase().contains("alice"), "the owner is not named: {refused}");
    let switch = bob.page().link_to("/sign-in");
    bob.clicks(switch).await;
    bob.answers_as("alice").await.is("sign-in");
    bob.confirms().await.is("ready");
    assert!(world.files.authorize_log().is_empty());
}

async fn r39_a_form_of_another_site_or_session_does_nothing(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("ready");
    let form = alice.page().form_to("/continue");
    for forged in [form.clone().set("csrf", ""), form.clone().set("csrf", &"A".repeat(43))] {
        assert!(alice.submits(forged).await.status.is_client_error());
    }
    let elsewhere = format!("http://{}/", world.files.address());
    alice.goes(&elsewhere).await;
    alice.submits(form).await;
    alice.follows().await.is("ready");
    assert_eq!(api.elicitation(&link.id).await["state"], "pending");
}

async fn r98_what_is_stored_is_sealed(db: Database) {
    let world = World::start(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await;
    alice.connects("octocat").await.is("connected");
    let answer = world.api("files").resolves("alice", FILES).await;
    let token = answer["credential"]["access_token"].as_str().unwrap().as_bytes();
    let stored = world.database.store.connections(ConnectionFilter::default(), 9).await.unwrap();
    assert_eq!(stored.len(), 1);
    let refresh = stored[0].refresh.as_ref().unwrap();
    for sealed in [stored[0].access.as_bytes(), refresh.as_bytes()] {
        assert!(!sealed.windows(token.len()).any(|part| part == token));
    }
}

async fn r109_an_mcp_server_sees_its_own_alone(db: Database) {
    let world = World::start(db).await;
    let (api, other) = (world.api("files"), world.api("notes"));
    let link = api.asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await;
    alice.connects("octocat").await.is("connected");
    let connection = api.resolves("alice", FILES).await["connection"]["id"].clone();
    let connection = format!("/v1/connections/{}", connection.as_str().unwrap());
    let elicitation = format!("/v1/elicitations/{}", link.id);
    for foreign in [&connection, &elicitation] {
        let refused = other.get(foreign).await;
        assert_eq!(refused.headers["cache-control"], "no-store");
        refused.expect(404);
        api.with_key("").get(foreign).await.expect(401);
        api.with_key(&"x".repeat(43)).get(foreign).await.expect(401);
    }
    other.delete(&connection).await.expect(404);
    assert!(other.told().await.is_empty());
    assert_eq!(other.resolves("alice", FILES).await["status"], "action_required");
    assert!(api.delete(&connection).await.status.is_success());
    assert_eq!(api.resolves("alice", FILES).await["status"], "action_required");
}
