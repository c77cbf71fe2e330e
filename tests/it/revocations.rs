//! What a provider is told of a disconnect, seen from the provider.

use std::time::Duration;

use consentry::{elicitation::ProviderId, revocation::State};
use consentry_fakes::{Answer, Gate};

use crate::{
    engine::Database,
    world::{FILES, Link, NOTES, World},
};

on_both_engines!(
    r83_a_provider_that_is_away_is_told_later,
    r83_a_claim_whose_process_died_is_taken_over,
    r83_no_token_is_sent_while_another_connection_has_the_account,
    r83_a_revocation_that_is_due_is_not_sent_after_a_reconnect,
    a_provider_without_a_way_to_be_told,
    a_slow_provider_keeps_no_other_waiting,
    one_that_never_answers_is_given_up_and_its_token_is_erased,
);

const PATIENCE: Duration = Duration::from_secs(20);

async fn connected(world: &World, server: &str, provider: &str, account: &str) -> String {
    let link = world.api(server).asks("alice", provider).await;
    connects(world, &link, account).await;
    let listed = world.api(server).get("/v1/connections?limit=200").await.expect(200);
    let all = listed["connections"].as_array().unwrap();
    let of = all.iter().find(|one| one["provider"] == provider).unwrap();
    of["id"].as_str().unwrap().to_owned()
}

async fn connects(world: &World, link: &Link, account: &str) {
    let mut alice = world.browser();
    alice.opens(&link.url).await.is("sign-in");
    alice.signs_in("alice").await.is("ready");
    alice.connects(account).await.is("connected");
}

async fn removes(world: &World, server: &str, id: &str) {
    world.api(server).delete(&format!("/v1/connections/{id}")).await.expect(204);
}

async fn count(world: &World, state: State) -> i64 {
    let provider: ProviderId = FILES.parse().unwrap();
    let counts = world.database.store.revocations_by_state(&provider).await.unwrap();
    counts.into_iter().find(|(found, _)| *found == state).map_or(0, |(_, number)| number)
}

/// Moves the clock in small steps until so many are in this state.
async fn until(world: &World, state: State, number: i64) {
    world
        .until(|| async {
            world.advance(Duration::from_millis(500));
            count(world, state).await == number
        })
        .await;
}

/// R83: three times 503, then the provider has revoked; here nothing was handed out from the first moment on.
async fn r83_a_provider_that_is_away_is_told_later(db: Database) {
    let world = World::start(db).await;
    let id = connected(&world, "files", FILES, "octocat").await;
    for _ in 0..3 {
        world.files.next_answer("/revoke", Answer::status(503));
    }
    removes(&world, "files", &id).await;
    let answer = world.api("files").resolves("alice", FILES).await;
    assert_eq!(answer["status"], "action_required");
    until(&world, State::Confirmed, 1).await;
    let told = world.files.revocations().entries();
    assert_eq!(told.iter().map(|one| one.revoked).collect::<Vec<_>>(), [false, false, false, true]);
    assert!(
        told.iter().all(|one| one.token == told[0].token && one.hint.as_deref() == Some("refresh_token"))
    );
}

/// R83, as a crash looks from outside: claimed, and never ended.
async fn r83_a_claim_whose_process_died_is_taken_over(db: Database) {
    let world = World::start(db).await;
    let id = connected(&world, "files", FILES, "octocat").await;
    world.files.always_answer("/revoke", Answer::status(503));
    removes(&world, "files", &id).await;
    world.files.revocations().until(PATIENCE, |told| !told.is_empty()).await.unwrap();
    let later = world.clock.now().plus(Duration::from_secs(30));
    let provider: ProviderId = FILES.parse().unwrap();
    let until_then = later.plus(Duration::from_mins(3));
    world
        .until(|| async {
            let dead = world.database.store.claim_revocations(&provider, 1, later, until_then).await.unwrap();
            dead.len() == 1
        })
        .await;
    world.files.answer_normally("/revoke");
    world.advance(Duration::from_mins(2));
    assert_eq!(count(&world, State::Due).await, 1, "nobody else has it");
    world.advance(Duration::from_mins(2));
    until(&world, State::Confirmed, 1).await;
}

async fn r83_no_token_is_sent_while_another_connection_has_the_account(db: Database) {
    let world = World::start(db).await;
    let id = connected(&world, "files", FILES, "octocat").await;
    let other = connected(&world, "notes", FILES, "octocat").await;
    removes(&world, "files", &id).await;
    until(&world, State::Shared, 1).await;
    assert!(world.files.revocations().is_empty());
    removes(&world, "notes", &other).await;
    until(&world, State::Confirmed, 1).await;
}

async fn r83_a_revocation_that_is_due_is_not_sent_after_a_reconnect(db: Database) {
    let world = World::start(db).await;
    let id = connected(&world, "files", FILES, "octocat").await;
    world.files.always_answer("/revoke", Answer::status(503));
    removes(&world, "files", &id).await;
    world.files.revocations().until(PATIENCE, |told| !told.is_empty()).await.unwrap();
    connected(&world, "files", FILES, "octocat").await;
    world.files.answer_normally("/revoke");
    until(&world, State::Shared, 1).await;
    assert!(world.files.revocations().entries().iter().all(|one| !one.revoked));
}

async fn a_provider_without_a_way_to_be_told(db: Database) {
    let world = World::start_with(db, |settings| {
        for provider in &mut settings.providers {
            let at = |path| Some(format!("{}{path}", provider.issuer.as_deref().unwrap()).parse().unwrap());
            provider.authorization_endpoint = at("/authorize");
            provider.token_endpoint = at("/token");
        }
    })
    .await;
    let id = connected(&world, "files", FILES, "octocat").await;
    removes(&world, "files", &id).await;
    until(&world, State::Impossible, 1).await;
}

async fn a_slow_provider_keeps_no_other_waiting(db: Database) {
    let world = World::start(db).await;
    let slow = connected(&world, "files", FILES, "octocat").await;
    let quick = connected(&world, "files", NOTES, "octocat").await;
    let gate = Gate::shut();
    world.files.always_answer("/revoke", Answer::genuine().held(&gate));
    removes(&world, "files", &slow).await;
    world.until(|| async { world.files.log().entries().iter().any(|one| one.path == "/revoke") }).await;
    removes(&world, "files", &quick).await;
    world.notes.revocations().until(PATIENCE, |told| told.iter().any(|one| one.revoked)).await.unwrap();
    gate.open();
    until(&world, State::Confirmed, 1).await;
}

async fn one_that_never_answers_is_given_up_and_its_token_is_erased(db: Database) {
    let world = World::start(db).await;
    let id = connected(&world, "files", FILES, "octocat").await;
    world.files.always_answer("/revoke", Answer::status(503).header("retry-after", "1"));
    removes(&world, "files", &id).await;
    world
        .until(|| async {
            world.advance(Duration::from_hours(1));
            let before = world.files.revocations().len();
            world.files.revocations().until(Duration::from_millis(20), |told| told.len() > before).await;
            count(&world, State::Dead).await == 1
        })
        .await;
    // At least: the clock may leap over a claim while a request is under way.
    assert!(world.files.revocations().len() >= 16);
    let rows = crate::rows::rows(&world.database).await;
    assert!(rows["revocations"].iter().all(|row| row.contains("dead")));
}
