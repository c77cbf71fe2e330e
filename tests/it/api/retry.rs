//! A modern client's retry: `requestState` and what the store says.

use std::time::Duration;

use consentry::elicitation::{ElicitationId, State};
use consentry_elicitation::{Capability, Client, Model, ProtocolVersion};
use serde_json::{Value, json};

use super::{
    bench::Bench,
    calls::{Answer, Caller},
};
use crate::engine::Database;

on_both_engines!(
    r15_a_state_is_of_no_use_for_anything_else,
    r15_a_replay_is_answered_from_the_store,
    r15_a_state_that_is_too_old_begins_anew,
    a_retry_waits_twice_and_then_tells,
    a_retry_is_woken_by_the_outcome,
    a_no_of_the_client_closes_and_a_yes_does_nothing,
    one_no_of_several_is_a_no,
    r15_several_are_waited_for_together,
    a_drain_ends_the_wait,
);

fn ask() -> Value {
    json!({
        "provider": "acme",
        "scopes": ["read"],
        "subject": { "sub": "alice" },
        "client": {
            "protocol_version": "2026-07-28",
            "elicitation": { "url": {} },
            "method": "tools/call",
            "target": "list_files",
            "params_digest": "sha256:1"
        }
    })
}

fn with(mut body: Value, path: &[&str], value: Value) -> Value {
    let mut place = &mut body;
    for name in path {
        place = &mut place[*name];
    }
    *place = value;
    body
}

fn retrying(state: &str) -> Value {
    with(with(ask(), &["request_state"], json!(state)), &["wait_seconds"], json!(50))
}

/// The sealed state of an answer, whose reply the client can take.
fn state_of(answer: &Value) -> String {
    let client = Client::new(ProtocolVersion::V2026_07_28, Capability::URL, "tools/call");
    assert_eq!(Model::new(&client).receive_value(&answer["reply"]), [], "{answer}");
    assert_eq!(answer["reply"]["kind"], "input_required", "{answer}");
    answer["reply"]["body"]["requestState"].as_str().unwrap().to_owned()
}

fn id_of(answer: &Value) -> ElicitationId {
    answer["elicitation"]["id"].as_str().unwrap().parse().unwrap()
}

async fn first(caller: Caller<'_>) -> (ElicitationId, String) {
    let answer = caller.resolve(&ask()).await.ok(200);
    (id_of(&answer), state_of(&answer))
}

/// R15: one bit, another user, another call, another MCP server.
async fn r15_a_state_is_of_no_use_for_anything_else(db: Database) {
    let bench = Bench::new(db).await;
    let (id, state) = first(bench.files()).await;
    for index in 0..state.len() {
        let mut forged = state.clone().into_bytes();
        forged[index] = if forged[index] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(forged).unwrap();
        bench.files().resolve(&retrying(&forged)).await.refused(400, "request_state_invalid");
    }
    let longer = format!("{state}AAAA");
    for forged in ["", "x", &state[..state.len() - 4], &longer, "{}", &"A".repeat(5000)] {
        bench.files().resolve(&retrying(forged)).await.refused(400, "request_state_invalid");
    }
    let retry = retrying(&state);
    for (path, value) in [
        (&["subject", "sub"][..], json!("bob")),
        (&["client", "method"], json!("prompts/get")),
        (&["client", "target"], json!("delete_files")),
        (&["client", "target"], json!(null)),
        (&["client", "params_digest"], json!("sha256:2")),
        (&["client", "params_digest"], json!(null)),
        (&["provider"], json!("globex")),
        (&["scopes"], json!(["read", "write"])),
    ] {
        let other = with(retry.clone(), path, value);
        bench.files().resolve(&other).await.refused(400, "request_state_invalid");
    }
    bench.notes().resolve(&retry).await.refused(400, "request_state_invalid");
    assert!(bench.elicitation(id).await.stored.is_open());
    // It is still good for what it was made for.
    bench.complete(id).await;
    assert_eq!(bench.files().resolve(&retry).await.ok(200)["status"], "ready");
}

async fn r15_a_replay_is_answered_from_the_store(db: Database) {
    let bench = Bench::new(db).await;
    let (id, state) = first(bench.files()).await;
    let connection = bench.complete(id).await;
    for _ in 0..3 {
        let answer = bench.files().resolve(&retrying(&state)).await.ok(200);
        assert_eq!(answer["credential"]["access_token"], "canary-files-alice-acme-1");
    }
    // Gone since: a replay gives nothing that the store does not have, and asks anew.
    bench.files().delete(&format!("/v1/connections/{}", connection.id)).await;
    let answer = bench.files().resolve(&retrying(&state)).await.ok(200);
    assert_eq!(answer["status"], "action_required");
    assert_ne!(id_of(&answer), id);
}

async fn r15_a_state_that_is_too_old_begins_anew(db: Database) {
    let bench = Bench::new(db).await;
    let (id, state) = first(bench.files()).await;
    bench.clock.advance(Duration::from_mins(30));
    let answer = bench.files().resolve(&retrying(&state)).await.ok(200);
    assert_eq!(answer["status"], "action_required");
    assert_ne!(id_of(&answer), id);
    assert_eq!(answer["reply"]["body"]["inputRequests"].as_object().unwrap().len(), 1);
    // Too old and for somebody else is still for somebody else.
    let other = with(retrying(&state), &["subject", "sub"], json!("bob"));
    bench.files().resolve(&other).await.refused(400, "request_state_invalid");
}

async fn a_retry_waits_twice_and_then_tells(db: Database) {
    let bench = Bench::new(db).await;
    let (id, mut state) = first(bench.files()).await;
    for round in 0..2 {
        let retry = retrying(&state);
        let files = bench.files();
        let (answer, ()) = tokio::join!(files.resolve(&retry), pass(&bench, 50));
        let answer = answer.ok(200);
        assert_eq!(answer["reply"]["body"]["inputRequests"], json!({}), "round {round}");
        assert_eq!(id_of(&answer), id);
        state = state_of(&answer);
    }
    let answer = bench.files().resolve(&with(retrying(&state), &["wait_seconds"], json!(0))).await.ok(200);
    assert_eq!(answer["status"], "action_required");
    assert_eq!(answer["reply"]["kind"], "tool_result");
    assert!(answer["reply"]["body"]["content"][0]["text"].as_str().unwrap().contains(&id.to_string()));
    // The counter is inside of the seal: an older state only gives its own rounds again.
    bench.complete(id).await;
    assert_eq!(bench.files().resolve(&retrying(&state)).await.ok(200)["status"], "ready");
}

/// Lets seconds pass until whoever waits has had enough.
async fn pass(bench: &Bench, seconds: u64) {
    for _ in 0..seconds + 1 {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        bench.clock.advance(Duration::from_secs(1));
    }
}

/// The clock stands still: only the wake-up can end the wait.
async fn a_retry_is_woken_by_the_outcome(db: Database) {
    let bench = Bench::new(db).await;
    let (id, state) = first(bench.files()).await;
    let retry = retrying(&state);
    let files = bench.files();
    let waiting = files.resolve(&retry);
    tokio::pin!(waiting);
    assert!(still_waits(&mut waiting).await);
    // Both go on together: one that is left alone in the middle of its look may hold what the other needs.
    let (answer, _) = tokio::join!(waiting, bench.complete(id));
    assert_eq!(answer.ok(200)["status"], "ready");
}

async fn still_waits<F: Future<Output = Answer> + Unpin>(waiting: &mut F) -> bool {
    for _ in 0..200 {
        tokio::select! {
            biased;
            _ = &mut *waiting => return false,
            () = tokio::task::yield_now() => {}
        }
    }
    true
}

async fn a_no_of_the_client_closes_and_a_yes_does_nothing(db: Database) {
    let bench = Bench::new(db).await;
    for (action, state, outcome) in
        [("decline", State::Declined, "declined"), ("cancel", State::Cancelled, "cancelled")]
    {
        let (id, sealed) = first(bench.files()).await;
        let said = |action: &str| json!({ "connect-acme": { "action": action }, "other": { "action": "decline" }, "junk": 7 });
        let now = with(retrying(&sealed), &["wait_seconds"], json!(0));
        let answer =
            bench.files().resolve(&with(now.clone(), &["input_responses"], said("accept"))).await.ok(200);
        assert_eq!(answer["status"], "action_required", "accept is never taken for completion");
        let no = with(retrying(&sealed), &["input_responses"], said(action));
        let answer = bench.files().resolve(&no).await.ok(200);
        assert_eq!((&answer["status"], &answer["outcome"]), (&json!("refused"), &json!(outcome)));
        assert_eq!(answer["elicitation"]["state"], outcome);
        assert_eq!(answer["reply"]["kind"], "tool_result");
        assert_eq!(answer["reply"]["body"]["isError"], true);
        let closed = bench.elicitation(id).await;
        assert_eq!((closed.stored, closed.reason), (state, Some(format!("{outcome}_by_client"))));
        // A replay is told the same; a fresh call asks anew.
        assert_eq!(bench.files().resolve(&now).await.ok(200)["outcome"], outcome);
        assert_eq!(bench.files().resolve(&ask()).await.ok(200)["status"], "action_required");
    }
}

async fn one_no_of_several_is_a_no(db: Database) {
    let bench = Bench::new(db).await;
    let body = with(ask(), &["requests"], json!([{ "provider": "acme" }, { "provider": "globex" }]));
    let mut body = body;
    body.as_object_mut().unwrap().retain(|name, _| name != "provider" && name != "scopes");
    let answer = bench.files().resolve(&body).await.ok(200);
    let state = state_of(&answer);
    let requests = answer["reply"]["body"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["connect-acme", "connect-globex"]);
    let mut retry = with(body, &["request_state"], json!(state));
    retry["wait_seconds"] = json!(50);
    retry["input_responses"] =
        json!({ "connect-acme": { "action": "accept" }, "connect-globex": { "action": "decline" } });
    let answer = bench.files().resolve(&retry).await.ok(200);
    assert_eq!(answer["outcome"], "declined");
    let states: Vec<&Value> =
        answer["elicitations"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["pending", "declined"]);
}

/// One outcome is not all; a state is of no use for other providers, or fewer.
async fn r15_several_are_waited_for_together(db: Database) {
    let bench = Bench::new(db).await;
    let mut body = with(ask(), &["requests"], json!([{ "provider": "acme" }, { "provider": "globex" }]));
    body.as_object_mut().unwrap().retain(|name, _| name != "provider" && name != "scopes");
    body["client"]["ref"] = json!("one");
    let answer = bench.files().resolve(&body).await.ok(200);
    let ids = |answer: &Value| -> Vec<ElicitationId> {
        let asked = answer["elicitations"].as_array().unwrap();
        asked.iter().map(|one| one["id"].as_str().unwrap().parse().unwrap()).collect()
    };
    let asked = ids(&answer);
    // Open ones are asked for again, not anew.
    let again = bench.files().resolve(&body).await.ok(200);
    assert_eq!(ids(&again), asked);
    let created = bench.files().post("/v1/elicitations", &body).await.ok(200);
    assert_eq!(ids(&created), asked);
    let retry = with(body.clone(), &["request_state"], json!(state_of(&answer)));
    for requests in [
        json!([{ "provider": "acme" }]),
        json!([{ "provider": "globex" }, { "provider": "acme" }]),
        json!([{ "provider": "acme" }, { "provider": "globex", "scopes": ["write"] }]),
    ] {
        let other = with(retry.clone(), &["requests"], requests);
        bench.files().resolve(&other).await.refused(400, "request_state_invalid");
    }
    let waiting = with(retry.clone(), &["wait_seconds"], json!(50));
    let files = bench.files();
    let held = files.resolve(&waiting);
    tokio::pin!(held);
    assert!(still_waits(&mut held).await);
    tokio::select! {
        _ = &mut held => panic!("one is not all"),
        _ = bench.complete(asked[0]) => {}
    }
    assert!(still_waits(&mut held).await, "one is not all");
    let (answer, _) = tokio::join!(held, bench.complete(asked[1]));
    let answer = answer.ok(200);
    let results = answer["results"].as_array().unwrap();
    let of: Vec<&Value> = results.iter().map(|one| &one["provider"]).collect();
    assert_eq!(of, ["acme", "globex"]);
    for (one, provider) in results.iter().zip(["acme", "globex"]) {
        assert_eq!(one["credential"]["access_token"], format!("canary-files-alice-{provider}-1"));
        assert_eq!(one["connection"]["provider"], provider);
    }
}

async fn a_drain_ends_the_wait(db: Database) {
    let bench = Bench::new(db).await;
    let (_, state) = first(bench.files()).await;
    let retry = retrying(&state);
    let files = bench.files();
    let waiting = files.resolve(&retry);
    tokio::pin!(waiting);
    assert!(still_waits(&mut waiting).await);
    bench.app.shutdown.cancel();
    assert_eq!(waiting.await.ok(200)["status"], "action_required");
}
