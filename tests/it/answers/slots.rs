//! Several tokens of one grant: handed out together, refreshed one by one, ended together.

use std::time::Duration;

use consentry::config::{Settings, Slot};
use consentry_fakes::Answer;
use serde_json::json;

use super::{files, members, ready};
use crate::{
    engine::Database,
    rows::rows,
    world::{FILES, World},
};

on_both_engines! {
    both_tokens_are_handed_out_and_refreshed_by_themselves,
    the_further_token_is_refreshed_alone_when_it_ends_first,
    a_refresh_may_answer_where_the_first_answer_did,
    r78_what_a_refresh_says_only_in_part_of_another_token_is_kept,
    a_grant_without_the_further_token_is_like_any_other,
    all_tokens_are_ended_with_the_connection,
}

pub(crate) fn with_user(settings: &mut Settings) {
    let reads = &mut files(settings).reads;
    reads.answer.scheme = Some("Bearer".into());
    let slot = Slot {
        access_token: "authed_user.access_token".into(),
        refresh_token: Some("authed_user.refresh_token".into()),
        expires_in: Some("authed_user.expires_in".into()),
        scope: Some("authed_user.scope".into()),
    };
    reads.slots.insert("user".into(), slot);
}

pub(crate) async fn connected(world: &World, expires_in: u64, user_expires_in: u64) {
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(world, &link).await;
    let said = json!({"expires_in": expires_in, "token_type": "bot", "authed_user": {
        "access_token": "user-1", "refresh_token": "user-refresh-1", "expires_in": user_expires_in,
        "scope": "search:read",
    }});
    world.files.next_token_answer(Answer::changed(members(&said)));
    alice.connects("octocat").await.is("connected");
}

fn sent(world: &World) -> Vec<String> {
    world.files.token_log().into_iter().filter_map(|request| request.refresh_token).collect()
}

/// What a refresh of the user's token gives.
pub(crate) fn renewed() -> Answer {
    let body = json!({"access_token": "user-2", "refresh_token": "user-refresh-2", "expires_in": 43200,
        "token_type": "user", "scope": "search:read"});
    Answer::json(200, &body)
}

async fn both_tokens_are_handed_out_and_refreshed_by_themselves(db: Database) {
    let world = World::start_with(db, with_user).await;
    connected(&world, 3600, 3600).await;
    let api = world.api("files");
    let first = api.resolves("alice", FILES).await["credential"].clone();
    let user = &first["slots"]["user"];
    assert_eq!((&user["access_token"], &user["token_type"]), (&json!("user-1"), &json!("Bearer")));
    assert_eq!((&user["scopes"], &first["token_type"]), (&json!(["search:read"]), &json!("Bearer")));
    assert_eq!(user["expires_at"], first["expires_at"]);
    // Sealed: no row shows either.
    let stored = format!("{:?}", rows(&world.database).await);
    assert!(!stored.contains("user-1") && !stored.contains("user-refresh-1"));

    world.advance(Duration::from_secs(3601));
    world.files.next_token_answer(Answer::genuine());
    world.files.next_token_answer(renewed());
    let second = api.resolves("alice", FILES).await["credential"].clone();
    assert_ne!(second["access_token"], first["access_token"]);
    assert_eq!(second["slots"]["user"]["access_token"], "user-2");
    assert_eq!(sent(&world).len(), 2);
    assert_eq!(sent(&world)[1], "user-refresh-1");
    let third = api.resolves("alice", FILES).await;
    assert_eq!((&third["credential"], &third["connection"]["generation"]), (&second, &json!(3)));
}

async fn the_further_token_is_refreshed_alone_when_it_ends_first(db: Database) {
    let world = World::start_with(db, with_user).await;
    connected(&world, 86_400, 600).await;
    let api = world.api("files");
    let first = api.resolves("alice", FILES).await["credential"].clone();
    world.advance(Duration::from_secs(601));
    world.files.next_token_answer(renewed());
    let second = api.resolves("alice", FILES).await["credential"].clone();
    assert_eq!(second["access_token"], first["access_token"]);
    assert_eq!(second["slots"]["user"]["access_token"], "user-2");
    assert_eq!(sent(&world), ["user-refresh-1"]);
    // The next one is the new one.
    world.advance(Duration::from_secs(43_201));
    world.files.next_token_answer(renewed());
    api.resolves("alice", FILES).await;
    assert_eq!(sent(&world), ["user-refresh-1", "user-refresh-2"]);
}

async fn a_refresh_may_answer_where_the_first_answer_did(db: Database) {
    let world = World::start_with(db, with_user).await;
    connected(&world, 86_400, 600).await;
    let api = world.api("files");
    let first = api.resolves("alice", FILES).await["credential"].clone();
    world.advance(Duration::from_secs(601));
    let user = json!({"access_token": "user-2", "refresh_token": "user-refresh-2", "expires_in": 43200});
    world.files.next_token_answer(Answer::json(200, &json!({"ok": true, "authed_user": user})));
    let second = api.resolves("alice", FILES).await["credential"].clone();
    assert_eq!(second["access_token"], first["access_token"]);
    assert_eq!(second["slots"]["user"]["access_token"], "user-2");
    assert_eq!(second["slots"]["user"]["scopes"], json!(["search:read"]));
    assert_eq!(second["scopes"], first["scopes"]);
    world.advance(Duration::from_secs(43_201));
    world.files.next_token_answer(renewed());
    api.resolves("alice", FILES).await;
    assert_eq!(sent(&world), ["user-refresh-1", "user-refresh-2"]);
}

/// R78: a refresh of the main token that tells of the other one too, without a refresh token and a scope.
async fn r78_what_a_refresh_says_only_in_part_of_another_token_is_kept(db: Database) {
    let world = World::start_with(db, with_user).await;
    connected(&world, 600, 86_400).await;
    let api = world.api("files");
    let first = api.resolves("alice", FILES).await["credential"].clone();
    world.advance(Duration::from_secs(601));
    let said = json!({"authed_user": {"access_token": "user-2", "expires_in": 600}});
    world.files.next_token_answer(Answer::changed(members(&said)));
    let second = api.resolves("alice", FILES).await["credential"].clone();
    assert_eq!(second["slots"]["user"]["access_token"], "user-2");
    assert_eq!(second["slots"]["user"]["scopes"], json!(["search:read"]));
    assert_eq!(second["scopes"], first["scopes"]);
    world.advance(Duration::from_secs(601));
    world.files.next_token_answer(renewed());
    api.resolves("alice", FILES).await;
    assert_eq!(sent(&world)[1], "user-refresh-1");
}

async fn a_grant_without_the_further_token_is_like_any_other(db: Database) {
    let world = World::start_with(db, with_user).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, &link).await;
    world.files.next_token_answer(Answer::with_member("authed_user", json!({"id": "U1"})));
    alice.connects("octocat").await.is("connected");
    let credential = world.api("files").resolves("alice", FILES).await["credential"].clone();
    assert_eq!((&credential["token_type"], &credential["slots"]), (&json!("Bearer"), &json!(null)));
}

async fn all_tokens_are_ended_with_the_connection(db: Database) {
    let world = World::start_with(db, with_user).await;
    connected(&world, 3600, 3600).await;
    let api = world.api("files");
    let id = api.resolves("alice", FILES).await["connection"]["id"].as_str().unwrap().to_owned();
    api.delete(&format!("/v1/connections/{id}")).await.expect(204);
    let asked = || -> Vec<String> {
        world.files.revocations().entries().into_iter().filter_map(|one| one.token).collect()
    };
    world.until(async || asked().len() == 2).await;
    assert!(asked().contains(&"user-refresh-1".to_owned()), "{:?}", asked());
}
