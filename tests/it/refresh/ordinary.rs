//! Refreshing while everybody behaves.

use std::{collections::HashSet, time::Duration};

use consentry_fakes::{Answer, Gate, Refresh};
use serde_json::json;

use super::stand::{LIFE, Stand, handed};
use crate::{
    engine::Database,
    world::{FILES, NOTES, World},
};

on_both_engines! {
    a_token_that_has_run_out_is_refreshed_before_the_answer,
    a_token_that_soon_runs_out_is_handed_out_and_refreshed_behind_the_answer,
    reading_writes_nothing,
    r78_the_refresh_token_is_replaced_or_kept,
    r79_many_callers_cause_one_refresh,
    several_that_have_run_out_are_refreshed_at_the_same_time,
    r81_who_hangs_up_cancels_nothing,
    callers_have_deadlines_of_their_own,
    what_a_refresh_grants_is_told,
}

mod postgres_alone {
    use super::*;
    use crate::engine::Engine;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn r79_two_replicas_cause_one_refresh() {
        super::two_replicas_cause_one_refresh(Database::start(Engine::Postgres).await).await;
    }
}

async fn a_token_that_has_run_out_is_refreshed_before_the_answer(db: Database) {
    let stand = Stand::new(db).await;
    let first = stand.resolves().await;
    stand.runs_out();
    let second = stand.resolves().await;
    assert_eq!((first.generation, second.generation), (1, 2));
    assert_ne!(first.token, second.token);
    assert_eq!(stand.resolves().await, second);
    assert_eq!(stand.refreshes().len(), 1);
    assert!(stand.stored().await.access_expires_at.unwrap() >= stand.world.clock.now().plus(LIFE));
    assert!(stand.needs_reconnect().await.is_empty());
}

/// Each provider holds its answer until both were asked: one after the other would never end.
async fn several_that_have_run_out_are_refreshed_at_the_same_time(db: Database) {
    let mut stand = Stand::new(db).await;
    let link = stand.api.asks("alice", NOTES).await;
    stand.alice.opens(&link.url).await.is("ready");
    stand.alice.connects("octocat").await.is("connected");
    stand.runs_out();
    let (first, second) = (Gate::shut(), Gate::shut());
    stand.world.files.next_token_answer(Answer::genuine().held(&first));
    stand.world.notes.next_token_answer(Answer::genuine().held(&second));
    let mut question = stand.api.question("alice", FILES);
    question.as_object_mut().unwrap().remove("provider");
    question["requests"] = json!([{ "provider": FILES }, { "provider": NOTES }]);
    let both_are_asked = async {
        first.reached_by(1).await;
        second.reached_by(1).await;
        first.open();
        second.open();
    };
    let (answer, ()) = tokio::join!(stand.api.post("/v1/credentials/resolve", &question), both_are_asked);
    let answer = answer.expect(200);
    assert_eq!(answer["status"], "ready");
    let results = answer["results"].as_array().unwrap();
    let told: Vec<_> =
        results.iter().map(|one| (&one["provider"], &one["connection"]["generation"])).collect();
    assert_eq!(told, [(&json!(FILES), &json!(2)), (&json!(NOTES), &json!(2))]);
}

async fn a_token_that_soon_runs_out_is_handed_out_and_refreshed_behind_the_answer(db: Database) {
    let stand = Stand::new(db).await;
    let first = stand.resolves().await;
    stand.world.advance(LIFE - Duration::from_secs(370));
    assert_eq!(stand.resolves().await, first);
    assert!(stand.refreshes().is_empty(), "not before a tenth of its life is left");
    stand.world.advance(Duration::from_secs(90));
    let gate = Gate::shut();
    stand.world.files.next_token_answer(Answer::genuine().held(&gate));
    assert_eq!(stand.resolves().await, first, "nobody waits for it");
    gate.reached_by(1).await;
    assert_eq!(stand.resolves().await, first);
    gate.open();
    stand.world.until(async || stand.stored().await.generation == 2).await;
    assert_eq!(stand.resolves().await.generation, 2);
    assert_eq!(stand.refreshes().len(), 1);
}

async fn reading_writes_nothing(db: Database) {
    let stand = Stand::new(db).await;
    let before = stand.rows().await;
    for _ in 0..3 {
        stand.resolves().await;
    }
    assert_eq!(stand.rows().await, before);
}

/// Absent, null and empty are all "no new one".
async fn r78_the_refresh_token_is_replaced_or_kept(db: Database) {
    let stand = Stand::new(db).await;
    for round in 0..6 {
        stand.runs_out();
        assert_eq!(stand.resolves().await.generation, round + 2);
    }
    let sent: HashSet<_> = stand.refreshes().iter().map(|one| one.refresh_token.clone()).collect();
    assert_eq!(sent.len(), 6, "each was used once");
    assert_eq!(stand.world.files.reuse_kills(), 0);
    stand.world.files.configure(|settings| settings.refresh = Refresh::Static);
    let kept = [json!(null), json!(""), json!(null)];
    for (round, nothing) in (0..).zip(&kept) {
        stand.runs_out();
        stand.world.files.next_token_answer(Answer::with_member("refresh_token", nothing.clone()));
        assert_eq!(stand.resolves().await.generation, round + 8);
    }
    let sent: HashSet<_> = stand.refreshes().iter().skip(6).map(|one| one.refresh_token.clone()).collect();
    assert_eq!(sent.len(), 1, "the same one again");
}

async fn r79_many_callers_cause_one_refresh(db: Database) {
    let stand = Stand::new(db).await;
    for round in 0..5 {
        stand.runs_out();
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..40 {
            let api = stand.api.clone();
            asking.spawn(async move { handed(&api.resolves("alice", FILES).await) });
        }
        let handed = asking.join_all().await;
        assert!(handed.iter().all(|one| one.generation == round + 2 && one.token == handed[0].token));
    }
    assert_eq!(stand.refreshes().len(), 5);
    assert_eq!(stand.world.files.reuse_kills(), 0);
}

/// F5: a provider that kills the whole family when a token comes twice.
async fn two_replicas_cause_one_refresh(db: Database) {
    let stand = Stand::in_world(World::start(db).await).await;
    let replica = stand.world.replica().await;
    let other = stand.world.api_at(&replica, "files");
    for round in 0..10 {
        stand.runs_out();
        let mut asking = tokio::task::JoinSet::new();
        for caller in 0..400 {
            let api = if caller % 2 == 0 { stand.api.clone() } else { other.clone() };
            asking.spawn(async move { handed(&api.resolves("alice", FILES).await) });
        }
        let handed = asking.join_all().await;
        assert_eq!(handed.len(), 400);
        assert!(handed.iter().all(|one| one.generation == round + 2 && one.token == handed[0].token));
    }
    assert_eq!(stand.refreshes().len(), 10, "one for each generation");
    assert_eq!(stand.world.files.reuse_kills(), 0);
    replica.stops().await;
}

async fn r81_who_hangs_up_cancels_nothing(db: Database) {
    let stand = Stand::new(db).await;
    for round in 0..5 {
        stand.runs_out();
        let gate = Gate::shut();
        stand.world.files.next_token_answer(Answer::genuine().held(&gate));
        let api = stand.api.clone();
        let caller = tokio::spawn(async move { api.resolves("alice", FILES).await });
        gate.reached_by(1).await;
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        gate.open();
        stand.world.until(async || stand.stored().await.generation == round + 2).await;
        assert_eq!(stand.resolves().await.generation, round + 2);
    }
    assert_eq!(stand.refreshes().len(), 5);
}

async fn callers_have_deadlines_of_their_own(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    let gate = Gate::shut();
    stand.world.files.next_token_answer(Answer::genuine().held(&gate));
    let api = stand.api.clone();
    let question = stand.api.question("alice", FILES);
    let first = tokio::spawn(async move { api.post("/v1/credentials/resolve", &question).await });
    gate.reached_by(1).await;
    stand.world.clock.advance(Duration::from_secs(19));
    let api = stand.api.clone();
    let second = tokio::spawn(async move { api.resolves("alice", FILES).await });
    // The second must have come before the clock moves on; it waits for the same refresh.
    stand.world.until(async || stand.api.get("/v1/providers").await.status == 200).await;
    stand.world.clock.advance(Duration::from_secs(1));
    assert_eq!(first.await.unwrap().expect(503)["code"], "provider_unavailable");
    gate.open();
    assert_eq!(handed(&second.await.unwrap()).generation, 2);
    assert_eq!(stand.refreshes().len(), 1);
}

async fn what_a_refresh_grants_is_told(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    stand.world.files.next_token_answer(Answer::with_member("scope", json!("files.read profile")));
    let answer = stand.api.resolves("alice", FILES).await;
    assert_eq!(answer["credential"]["scopes"], json!(["files.read", "profile"]));
    stand.runs_out();
    stand.world.files.next_token_answer(Answer::with_member("scope", json!(null)));
    let answer = stand.api.resolves("alice", FILES).await;
    assert_eq!(answer["credential"]["scopes"], json!(["files.read", "profile"]), "silence changes nothing");
}
