//! What a provider is told of a disconnect, seen from the provider.

use std::time::Duration;

use consentry::{
    config::{
        ClientAuthentication, OwnRevocation, RevocationBody, RevocationEnds, RevocationMethod,
        RevocationProof, RevocationToken, Settings,
    },
    elicitation::ProviderId,
    revocation::State,
};
use consentry_fakes::{Answer, Gate};

use crate::{
    engine::Database,
    rows::rows,
    world::{FILES, Link, NOTES, World},
};

on_both_engines!(
    r83_a_provider_that_is_away_is_told_later,
    r83_a_claim_whose_process_died_is_taken_over,
    r83_no_token_is_sent_while_another_connection_has_the_account,
    r83_a_revocation_that_is_due_is_not_sent_after_a_reconnect,
    r83_a_grant_is_ended_by_a_token_that_lives,
    r83_a_token_that_is_not_let_in_is_not_sent_again,
    r83_whichever_account_is_not_used_is_given_back,
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

/// Ends grants as GitHub does, by an access token that lives.
fn by_access_token(settings: &mut Settings, proof: RevocationProof) {
    let provider = settings.providers.iter_mut().find(|one| one.id.as_str() == FILES).unwrap();
    let issuer = provider.issuer.clone().unwrap();
    provider.revocation = Some(OwnRevocation {
        method: RevocationMethod::Delete,
        url: format!("{issuer}/applications/{}/grant", provider.client_id).parse().unwrap(),
        body: RevocationBody::Json,
        params: [("access_token".into(), "{token}".into())].into(),
        token: RevocationToken::AccessToken,
        proof,
        headers: [].into(),
        gone: Vec::new(),
        ends: RevocationEnds::Grant,
    });
}

/// R83: an access token that has run out ends nothing, and is refreshed while the connection is still there.
async fn r83_a_grant_is_ended_by_a_token_that_lives(db: Database) {
    let by_client = RevocationProof::By(ClientAuthentication::Basic);
    let world = World::start_with(db, |settings| by_access_token(settings, by_client)).await;
    let id = connected(&world, "files", FILES, "octocat").await;
    let first = world.api("files").resolves("alice", FILES).await["credential"]["access_token"].clone();
    world.advance(Duration::from_secs(7200));
    removes(&world, "files", &id).await;
    until(&world, State::Confirmed, 1).await;
    let told = world.files.revocations().entries();
    assert_eq!(told.iter().map(|one| one.revoked).collect::<Vec<_>>(), [true]);
    assert_ne!(told[0].token.as_deref(), first.as_str());
    let answer = world.api("files").resolves("alice", FILES).await;
    assert_eq!(answer["status"], "action_required", "nothing has brought it back");
}

/// R83: where it cannot be refreshed, what cannot work is not repeated, and the record has it.
async fn r83_a_token_that_is_not_let_in_is_not_sent_again(db: Database) {
    let world = World::start_with(db, |settings| by_access_token(settings, RevocationProof::Nothing)).await;
    let id = connected(&world, "files", FILES, "octocat").await;
    world.advance(Duration::from_secs(7200));
    world.files.always_answer("/token", Answer::error(400, "invalid_grant"));
    removes(&world, "files", &id).await;
    until(&world, State::Dead, 1).await;
    assert_eq!(world.files.revocations().entries().len(), 1);
    let audit = format!("{:?}", rows(&world.database).await["audit"]);
    assert!(audit.contains("revocation_given_up") && audit.contains("token_refused"), "{audit}");
}

/// The account that gives way is given back, and so is the one that nobody wants.
async fn r83_whichever_account_is_not_used_is_given_back(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    connected(&world, "files", FILES, "octocat").await;
    let mut alice = world.browser();
    for (number, account, press) in
        [(1, "hubot", Some("new")), (2, "octocat", Some("previous")), (3, "octocat", None)]
    {
        let answer = api.post("/v1/elicitations", &api.question("alice", FILES)).await;
        alice.opens(&crate::world::link(&answer.body["elicitation"]).url).await;
        if number == 1 {
            alice.signs_in("alice").await;
        }
        alice.page().is("already-connected");
        alice.connects(account).await.is("account-changed");
        match press {
            Some(press) => {
                let said = ("use".to_owned(), press.to_owned());
                let form = alice.page().forms().into_iter().find(|form| form.fields.contains(&said)).unwrap();
                alice.submits(form).await;
                alice.follows().await.is("connected");
            }
            None => drop(alice.declines().await.is("declined")),
        }
        until(&world, State::Confirmed, number).await;
        let connection = api.resolves("alice", FILES).await["connection"].clone();
        assert_eq!(connection["account"]["label"], "hubot", "{press:?}");
    }
    // Each was of its own account alone: what is used was never ended.
    let told = world.files.revocations().entries();
    assert!(told.iter().all(|one| one.revoked), "{told:?}");
    world.advance(Duration::from_secs(7200));
    assert_eq!(api.resolves("alice", FILES).await["status"], "ready");
}
