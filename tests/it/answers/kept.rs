//! Values of the provider's answers: handed out with the token, and never one whose host is not the provider's.

use std::time::Duration;

use consentry::{
    config::{CaptureFrom, Expected, Granted, Precondition, PreconditionKind, Settings},
    scope::Scopes,
};
use consentry_fakes::Answer;
use serde_json::{Value, json};

use super::{asks_anew, capture, files, members, ready};
use crate::{
    engine::Database,
    rows::rows,
    world::{FILES, World},
};

on_both_engines! {
    what_the_answers_say_is_handed_out_with_the_token,
    r73_a_host_that_is_not_the_providers_connects_nothing,
    what_a_refresh_says_anew_is_handed_out_from_then_on,
    r73_r78_a_refreshs_host_that_is_not_the_providers_is_not_taken_and_its_tokens_are,
    r73_a_stored_host_is_held_against_its_list_again,
    r82_a_refresh_that_names_another_account_is_not_stored,
    an_account_is_named_by_several_places,
    a_person_is_told_what_must_be_there_first,
    what_was_granted_is_asked_where_no_answer_says_it,
}

fn keeping(settings: &mut Settings) {
    let captures = &mut files(settings).reads.captures;
    captures.insert("api_url".into(), capture(CaptureFrom::Answer, "data.api", &[".files.example"]));
    captures.insert("login".into(), capture(CaptureFrom::Probe, "login", &[]));
}

async fn what_the_answers_say_is_handed_out_with_the_token(db: Database) {
    let world = World::start_with(db, keeping).await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    let said = json!({"data": {"api": "https://EU.files.example/api/"}});
    world.files.next_token_answer(Answer::changed(members(&said)));
    alice.connects("octocat").await.is("connected");
    let expected = json!({"api_url": "https://eu.files.example/api", "login": "octocat"});
    assert_eq!(api.resolves("alice", FILES).await["credential"]["values"], expected);
    assert_eq!(api.resolves("alice", FILES).await["credential"]["slots"], json!(null));
}

/// R73: the host that an answer names would be where tokens are sent.
async fn r73_a_host_that_is_not_the_providers_connects_nothing(db: Database) {
    let world = World::start_with(db, keeping).await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    for said in [
        json!("https://eu.files.example.evil.example"),
        json!("https://evil.example/.files.example"),
        json!("http://eu.files.example"),
        json!("https://eu.files.example@evil.example"),
        json!({"host": "eu.files.example"}),
        json!(null),
    ] {
        world.files.next_token_answer(Answer::changed(members(&json!({"data": {"api": said}}))));
        alice.opens(&link.url).await.is("ready");
        alice.connects("octocat").await.is("provider-unreachable");
        assert!(rows(&world.database).await["connections"].is_empty(), "{said}");
        assert_eq!(api.elicitation(&link.id).await["state"], "pending", "{said}");
        assert_eq!(api.resolves("alice", FILES).await["status"], "action_required", "{said}");
    }
    // What was not kept is given back.
    world
        .until(async || world.files.revocations().entries().iter().filter(|one| one.revoked).count() == 6)
        .await;
}

/// Alice is connected, at this host.
async fn kept(world: &World, host: &str) {
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(world, &link).await;
    world.files.next_token_answer(Answer::changed(members(&json!({"data": {"api": host}}))));
    alice.connects("octocat").await.is("connected");
}

async fn what_a_refresh_says_anew_is_handed_out_from_then_on(db: Database) {
    let world = World::start_with(db, keeping).await;
    kept(&world, "eu.files.example").await;
    let api = world.api("files");
    let refreshed = async |said: Value| {
        world.advance(Duration::from_secs(3_700));
        world.files.next_token_answer(Answer::changed(members(&said)));
        api.resolves("alice", FILES).await
    };
    let moved = refreshed(json!({"data": {"api": "https://us.files.example/"}})).await;
    let expected = json!({"api_url": "https://us.files.example", "login": "octocat"});
    assert_eq!((&moved["credential"]["values"], &moved["connection"]["generation"]), (&expected, &json!(2)));
    // What it does not say stays.
    for said in [json!({}), json!({"data": null}), json!({"data": {"api": ""}})] {
        assert_eq!(refreshed(said.clone()).await["credential"]["values"], expected, "{said}");
    }
}

/// Nothing is sent to another host, and what the connection lives by is not lost for it.
async fn r73_r78_a_refreshs_host_that_is_not_the_providers_is_not_taken_and_its_tokens_are(db: Database) {
    let world = World::start_with(db, |settings| {
        keeping(settings);
        let note = capture(CaptureFrom::Answer, "note", &[]);
        files(settings)
            .reads
            .captures
            .insert("note".into(), consentry::config::Capture { required: false, ..note });
    })
    .await;
    kept(&world, "eu.files.example").await;
    let api = world.api("files");
    let mut before = api.resolves("alice", FILES).await;
    for (said, note) in [
        ("https://eu.files.example.evil.example", "a"),
        ("https://evil.example/.files.example", "b"),
        ("http://eu.files.example", "c"),
        ("https://eu.files.example@evil.example", "d"),
        ("https://eu.files.example:8443", "e"),
        ("https://evil.example#.files.example", "f"),
    ] {
        world.advance(Duration::from_secs(3_700));
        world
            .files
            .next_token_answer(Answer::changed(members(&json!({"data": {"api": said}, "note": note}))));
        let now = api.resolves("alice", FILES).await;
        let expected = json!({"api_url": "eu.files.example", "login": "octocat", "note": note});
        assert_eq!(now["credential"]["values"], expected, "{said}");
        assert_ne!(now["credential"]["access_token"], before["credential"]["access_token"], "{said}");
        before = now;
    }
    assert_eq!(before["connection"]["generation"], 7);
    // One beyond all bounds is as bad as another host.
    world.advance(Duration::from_secs(3_700));
    world.files.next_token_answer(Answer::changed(members(&json!({"note": "x".repeat(2_000)}))));
    let now = api.resolves("alice", FILES).await;
    assert_eq!((&now["credential"]["values"]["note"], &now["status"]), (&json!("f"), &json!("ready")));
}

/// Whoever writes into the database, or has written there before the list was narrowed, does not choose the host.
async fn r73_a_stored_host_is_held_against_its_list_again(db: Database) {
    let world = World::start_with(db, keeping).await;
    kept(&world, "eu.files.example").await;
    let api = world.api("files");
    assert_eq!(api.resolves("alice", FILES).await["status"], "ready");
    let mut raw = crate::contract::raw::Raw::connect(&world.database).await;
    let evil = "UPDATE connections SET values_json = '{\"api_url\":\"https://evil.example\"}'";
    assert_eq!(raw.run(evil).await, 1);
    let answer = api.resolves("alice", FILES).await;
    assert_eq!(answer["status"], "action_required");
    assert!(!answer.to_string().contains("evil.example"), "{answer}");
    // Connected anew it is right again.
    let mut alice = ready(&world, &crate::world::link(&answer["elicitation"])).await;
    let said = json!({"data": {"api": "https://us.files.example"}});
    world.files.next_token_answer(Answer::changed(members(&said)));
    alice.connects("octocat").await.is("connected");
    let values = api.resolves("alice", FILES).await["credential"]["values"].clone();
    assert_eq!(values["api_url"], "https://us.files.example");
}

/// As Slack's answers name the workspace that the account is of, and Sentry's the account.
async fn r82_a_refresh_that_names_another_account_is_not_stored(db: Database) {
    let world = World::start_with(db, |settings| {
        let provider = files(settings);
        provider.reads.captures.insert("team_id".into(), capture(CaptureFrom::Answer, "team.id", &[]));
        provider.probe.as_mut().expect("it has one").id = "{team_id}:{login}".into();
    })
    .await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    let team = |id: &str| Answer::changed(members(&json!({"team": {"id": id}})));
    world.files.next_token_answer(team("T1"));
    alice.connects("octocat").await.is("connected");
    let first = api.resolves("alice", FILES).await;
    assert_eq!(first["connection"]["account"]["id"], "T1:octocat");
    for (said, generation) in [(team("T1"), 2), (Answer::genuine(), 3)] {
        world.advance(Duration::from_secs(3_700));
        world.files.next_token_answer(said);
        assert_eq!(api.resolves("alice", FILES).await["connection"]["generation"], generation);
    }
    world.advance(Duration::from_secs(3_700));
    world.files.next_token_answer(team("T2"));
    assert_eq!(api.resolves("alice", FILES).await["status"], "action_required");
    let id = first["connection"]["id"].as_str().unwrap();
    let shown = api.get(&format!("/v1/connections/{id}")).await.expect(200);
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("quarantined"), &json!("account_mismatch")));
}

async fn an_account_is_named_by_several_places(db: Database) {
    let world = World::start_with(db, |settings| {
        keeping(settings);
        let probe = files(settings).probe.as_mut().expect("it has one");
        probe.id = "{id}@{login}".into();
        probe.label = "{nothing|login} ({email})".into();
    })
    .await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    let said = json!({"data": {"api": "eu.files.example"}});
    world.files.next_token_answer(Answer::changed(members(&said)));
    world
        .files
        .next_answer("/me", Answer::json(200, &json!({"id": 7, "login": "octocat", "email": "o@x.example"})));
    alice.connects("octocat").await.is("connected");
    let account = api.resolves("alice", FILES).await["connection"]["account"].clone();
    assert_eq!(account, json!({"id": "7@octocat", "label": "octocat (o@x.example)"}));
    // A part of the id that is missing leaves it untold.
    let link = asks_anew(&world).await;
    alice.opens(&link.url).await.is("already-connected");
    world.files.next_token_answer(Answer::changed(members(&said)));
    world.files.next_answer("/me", Answer::json(200, &json!({"id": 7})));
    alice.connects("octocat").await.is("provider-unreachable");
}

async fn a_person_is_told_what_must_be_there_first(db: Database) {
    let world = World::start_with(db, |settings| {
        let reads = &mut files(settings).reads;
        reads.preconditions = vec![Precondition {
            kind: PreconditionKind::Admin,
            text: "An owner must have <b>allowed</b> it.".into(),
            url: Some("https://files.example/admin".parse().unwrap()),
        }];
        reads.picker = Some("Choose the folders to share.".into());
        reads.admin_codes = vec!["not_allowed_here".into()];
    })
    .await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    let text = alice.page().text();
    assert!(text.contains("An owner must have <b>allowed</b> it."), "{text}");
    assert!(text.contains("Choose the folders to share.") && text.contains("files.example"), "{text}");
    alice.agrees().await.is("leaving");
    alice.leaves().await;
    let mut back = alice.approves("octocat").await.location().unwrap();
    let kept: Vec<(String, String)> =
        back.query_pairs().into_owned().filter(|(name, _)| name != "code").collect();
    back.query_pairs_mut().clear().extend_pairs(kept).append_pair("error", "not_allowed_here");
    alice.opens(back.as_str()).await.is("admin-approval");
    alice
        .page()
        .links()
        .iter()
        .find(|(url, _)| url.as_str() == "https://files.example/admin")
        .expect("a link");
    assert_eq!(world.api("files").elicitation(&link.id).await["state"], "pending");
    alice.opens(&link.url).await.is("ready");
    alice.connects("octocat").await.is("connected");
}

async fn what_was_granted_is_asked_where_no_answer_says_it(db: Database) {
    let world = World::start_with(db, |settings| {
        let provider = files(settings);
        provider.scopes = Scopes::new(["files.read", "profile"]).unwrap();
        provider.reads.granted = Some(Granted {
            url: format!("{}/permissions", provider.issuer.as_deref().unwrap()),
            list: "data".into(),
            scope: "permission".into(),
            only: Some(Expected { path: "status".into(), equals: json!("granted") }),
        });
    })
    .await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    world.files.next_answer("/permissions", Answer::json(200, &json!({"error": "none"})));
    alice.connects("octocat").await.is("provider-unreachable");
    assert!(rows(&world.database).await["connections"].is_empty());
    alice.opens(&link.url).await.is("ready");
    let entry = |permission: &str, status: &str| json!({"permission": permission, "status": status});
    let list = json!({"data": [entry("files.read", "granted"), entry("profile", "declined")]});
    world.files.next_answer("/permissions", Answer::json(200, &list));
    alice.connects("octocat").await.is("partly-connected");
    let credential = world.api("files").resolves("alice", FILES).await["credential"].clone();
    assert_eq!(credential["scopes"], json!(["files.read"]));
    assert_eq!(credential["missing_scopes"], json!(["profile"]));
}
