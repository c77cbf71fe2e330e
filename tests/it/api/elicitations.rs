//! Elicitations: made once per key, read and waited for, answered, withdrawn.

use std::time::Duration;

use consentry::elicitation::State;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::bench::Bench;
use crate::engine::Database;

on_both_engines!(
    r14_an_elicitation_has_these_fields_and_no_others,
    r112_one_key_makes_one_elicitation,
    r112_at_the_same_moment_too,
    r112_several_at_once,
    a_wait_is_woken_by_the_outcome,
    a_wait_ends_with_the_expiry,
    a_wait_ends_with_its_time,
    what_the_client_answered,
    a_creation_asks_although_there_is_a_connection,
    what_is_over_stays_as_it_is,
);

fn ask(sub: &str) -> Value {
    json!({
        "provider": "acme",
        "subject": { "sub": sub },
        "client": { "protocol_version": "2025-11-25", "elicitation": { "url": {} }, "ref": format!("session-{sub}"), "name": "Some Client" },
        "message": "Connect Acme to list your files."
    })
}

async fn r14_an_elicitation_has_these_fields_and_no_others(db: Database) {
    let bench = Bench::new(db).await;
    let created = bench.clock.now().rfc3339();
    let id = bench.files().asked(&ask("alice")).await;
    let connection = bench.complete(id).await;
    let answer = bench.files().get(&format!("/v1/elicitations/{id}")).await.ok(200);
    assert_eq!(
        answer,
        json!({
            "id": id.to_string(),
            "url": format!("http://localhost:8080/connect?elicitationId={id}"),
            "state": "completed",
            "provider": "acme",
            "scopes": ["read"],
            "subject": { "issuer": "https://id.example.com", "sub": "alice" },
            "client_ref": "session-alice",
            "connection": connection.id.to_string(),
            "reason": "connected",
            "created_at": created,
            "expires_at": bench.elicitation(id).await.expires_at.rfc3339(),
            "closed_at": created
        })
    );
}

async fn r112_one_key_makes_one_elicitation(db: Database) {
    let bench = Bench::new(db).await;
    let key = [("idempotency-key", "key-1")];
    let create = async |caller: super::calls::Caller<'_>, body: &Value| {
        caller.post_with("/v1/elicitations", body, &key).await
    };
    let first = create(bench.files(), &ask("alice")).await;
    assert!(!first.headers.contains_key("idempotent-replayed"));
    let first = first.ok(201);
    let again = create(bench.files(), &ask("alice")).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.ok(201), first);
    create(bench.files(), &ask("bob")).await.refused(422, "idempotency_key_reused");
    // A key is one MCP server's own.
    let other = create(bench.notes(), &ask("bob")).await.ok(201);
    assert_ne!(other["elicitation"]["id"], first["elicitation"]["id"]);
    bench.clock.advance(Duration::from_secs(1));
    // An open one that is used again is remembered under the key as well.
    let reused =
        bench.files().post_with("/v1/elicitations", &ask("alice"), &[("idempotency-key", "key-2")]).await;
    assert_eq!(reused.ok(200)["elicitation"]["id"], first["elicitation"]["id"]);
    let reused =
        bench.files().post_with("/v1/elicitations", &ask("alice"), &[("idempotency-key", "key-2")]).await;
    assert_eq!(reused.headers["idempotent-replayed"], "true");
    assert_eq!(reused.ok(200)["elicitation"]["id"], first["elicitation"]["id"]);
    for bad in ["", "a b", &"x".repeat(256)] {
        let answer =
            bench.files().post_with("/v1/elicitations", &ask("alice"), &[("idempotency-key", bad)]).await;
        answer.refused(400, "invalid_parameter");
    }
    let twice = [("idempotency-key", "a"), ("idempotency-key", "a")];
    bench
        .files()
        .post_with("/v1/elicitations", &ask("alice"), &twice)
        .await
        .refused(400, "duplicate_parameter");
}

/// R112: twenty parallel creations with one key.
async fn r112_at_the_same_moment_too(db: Database) {
    let bench = Bench::new(db).await;
    let mut body = ask("alice");
    body["client"]["ref"] = json!(null);
    let caller = bench.files();
    let each = (0..20).map(|_| caller.post_with("/v1/elicitations", &body, &[("idempotency-key", "one")]));
    let answers = join_all(each).await;
    let mut ids: Vec<String> =
        answers.into_iter().map(|answer| answer.ok(201)["elicitation"]["id"].to_string()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(bench.app.store.elicitations(None, None, 100).await.unwrap().len(), 1);
}

async fn r112_several_at_once(db: Database) {
    let bench = Bench::new(db).await;
    let body = json!({ "requests": [{ "provider": "acme" }, { "provider": "globex" }], "subject": { "sub": "alice" } });
    let key = [("idempotency-key", "both")];
    let first = bench.files().post_with("/v1/elicitations", &body, &key).await.ok(201);
    assert_eq!(first["elicitations"].as_array().unwrap().len(), 2);
    assert_eq!(bench.files().post_with("/v1/elicitations", &body, &key).await.ok(201), first);
    assert_eq!(bench.app.store.elicitations(None, None, 100).await.unwrap().len(), 2);
}

/// The clock stands still: only the wake-up can end the wait.
async fn a_wait_is_woken_by_the_outcome(db: Database) {
    let bench = Bench::new(db).await;
    let id = bench.files().asked(&ask("alice")).await;
    let files = bench.files();
    let path = format!("/v1/elicitations/{id}?wait_seconds=50");
    let (answer, _) = tokio::join!(files.get(&path), async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        bench.complete(id).await
    });
    assert_eq!(answer.ok(200)["state"], "completed");
}

/// Nobody sweeps here: the wait itself closes it, with its signal.
async fn a_wait_ends_with_the_expiry(db: Database) {
    let bench = Bench::new(db).await;
    let id = bench.files().asked(&ask("alice")).await;
    bench.clock.advance(Duration::from_secs(30 * 60 - 5));
    let files = bench.files();
    let path = format!("/v1/elicitations/{id}?wait_seconds=50");
    let (answer, ()) = tokio::join!(files.get(&path), pass(&bench, 6));
    let answer = answer.ok(200);
    assert_eq!((&answer["state"], &answer["reason"]), (&json!("expired"), &json!("expired")));
    let page = files.get("/v1/events").await.ok(200);
    assert_eq!(page["events"][0]["type"], "elicitation.expired");
}

async fn a_wait_ends_with_its_time(db: Database) {
    let bench = Bench::new(db).await;
    let id = bench.files().asked(&ask("alice")).await;
    let files = bench.files();
    let path = format!("/v1/elicitations/{id}?wait_seconds=2");
    let (answer, ()) = tokio::join!(files.get(&path), pass(&bench, 3));
    assert_eq!(answer.ok(200)["state"], "pending");
}

async fn pass(bench: &Bench, seconds: u64) {
    for _ in 0..seconds {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        bench.clock.advance(Duration::from_secs(1));
    }
}

async fn what_the_client_answered(db: Database) {
    let bench = Bench::new(db).await;
    let id = bench.files().asked(&ask("alice")).await;
    let path = format!("/v1/elicitations/{id}/response");
    let say = async |body: Value| bench.files().post(&path, &body).await;
    let answer = say(json!({ "action": "accept" })).await.ok(200);
    assert_eq!(answer["elicitation"]["state"], "pending", "accept changes nothing");
    assert!(answer.get("reply").is_none());
    let answer = say(json!({ "action": "error" })).await.ok(200);
    assert_eq!(answer["elicitation"]["state"], "pending");
    assert_eq!(answer["reply"]["kind"], "tool_result");
    let text = answer["reply"]["body"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Connect Acme to list your files.") && text.contains(&id.to_string()), "{text}");
    let client = json!({ "method": "prompts/get", "elicitation": { "url": {} } });
    let answer = say(json!({ "action": "error", "client": client })).await.ok(200);
    assert_eq!(answer["reply"]["body"]["code"], -32603);
    for (body, code) in [
        (json!({ "action": "done" }), "invalid_field"),
        (json!({}), "invalid_field"),
        (json!({ "action": "accept", "content": {} }), "unknown_field"),
    ] {
        say(body).await.refused(400, code);
    }
    let answer = say(json!({ "action": "decline" })).await.ok(200);
    let closed = &answer["elicitation"];
    assert_eq!((&closed["state"], &closed["reason"]), (&json!("declined"), &json!("declined_by_client")));
    // After that nothing moves it, and the words say so.
    let answer = say(json!({ "action": "cancel" })).await.ok(200);
    assert_eq!(answer["elicitation"]["state"], "declined");
    let answer = say(json!({ "action": "error" })).await.ok(200);
    assert!(answer["reply"]["body"]["content"][0]["text"].as_str().unwrap().contains("declined"));
    let other = bench.files().asked(&ask("bob")).await;
    let path = format!("/v1/elicitations/{other}/response");
    let answer = bench.files().post(&path, &json!({ "action": "cancel" })).await.ok(200);
    assert_eq!(answer["elicitation"]["reason"], "cancelled_by_client");
}

async fn a_creation_asks_although_there_is_a_connection(db: Database) {
    let bench = Bench::new(db).await;
    bench.connected(bench.files(), "alice", "acme").await;
    let id = bench.files().asked(&ask("alice")).await;
    // The connection that was there does not complete it.
    let path = format!("/v1/elicitations/{id}");
    assert_eq!(bench.files().get(&path).await.ok(200)["state"], "pending");
    let connection = bench.complete(id).await;
    assert_eq!(connection.generation, 2);
    assert_eq!(bench.files().get(&path).await.ok(200)["state"], "completed");
    let retried = json!({ "provider": "acme", "subject": { "sub": "alice" }, "request_state": "x" });
    bench.files().post("/v1/elicitations", &retried).await.refused(400, "invalid_field");
}

async fn what_is_over_stays_as_it_is(db: Database) {
    let bench = Bench::new(db).await;
    let id = bench.files().asked(&ask("alice")).await;
    let path = format!("/v1/elicitations/{id}/cancel");
    let bearer = bench.files().bearer();
    let headers = [("authorization", bearer.as_str())];
    let answer = bench.call("POST", &path, &headers, axum::body::Body::empty()).await.ok(200);
    assert_eq!(answer["elicitation"]["reason"], "cancelled_by_server");
    assert_eq!(bench.files().post(&path, &json!({})).await.ok(200), answer);
    bench.files().post(&path, &json!({ "why": "x" })).await.refused(400, "unknown_field");
    assert_eq!(bench.elicitation(id).await.stored, State::Cancelled);
    let page = bench.files().get("/v1/events").await.ok(200);
    assert_eq!(page["events"].as_array().unwrap().len(), 1, "one signal for one end");
    let done = bench.files().asked(&ask("bob")).await;
    bench.complete(done).await;
    let answer = bench.files().post(&format!("/v1/elicitations/{done}/cancel"), &json!({})).await.ok(200);
    assert_eq!(answer["elicitation"]["state"], "completed");
}
