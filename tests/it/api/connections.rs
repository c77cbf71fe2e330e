//! Connections: listed page by page, removed, and reported.

use serde_json::{Value, json};

use super::bench::Bench;
use crate::engine::Database;

on_both_engines!(
    a_connection_has_these_fields_and_no_others,
    pages_hold_everything_once,
    filters_narrow,
    a_removed_connection_is_handed_out_no_more,
    a_refused_token_is_handed_out_no_more,
);

async fn a_connection_has_these_fields_and_no_others(db: Database) {
    let bench = Bench::new(db).await;
    let now = bench.clock.now().rfc3339();
    let connection = bench.connected(bench.files(), "alice", "acme").await;
    let expected = json!({
        "id": connection.id.to_string(),
        "provider": "acme",
        "subject": { "issuer": "https://id.example.com", "sub": "alice" },
        "kind": "oauth2",
        "unchecked": false,
        "test_mode": false,
        "account": { "id": "583231", "label": "octocat" },
        "scopes": ["read"],
        "status": "active",
        "reason": null,
        "generation": 1,
        "expires_at": null,
        "renewable_until": null,
        "consent_expires_at": null,
        "created_at": now,
        "updated_at": now,
        "last_used_at": null
    });
    let answer = bench.files().get(&format!("/v1/connections/{}", connection.id)).await.ok(200);
    assert_eq!(answer, expected);
    let list = bench.files().get("/v1/connections").await.ok(200);
    assert_eq!(list, json!({ "connections": [expected], "next_cursor": null }));
    assert!(!list.to_string().contains("canary"));
}

async fn pages_hold_everything_once(db: Database) {
    let bench = Bench::new(db).await;
    let mut made = Vec::new();
    for user in 0..7 {
        made.push(bench.connected(bench.files(), &format!("user-{user}"), "acme").await.id.to_string());
        bench.connected(bench.notes(), &format!("user-{user}"), "acme").await;
    }
    made.sort();
    let mut seen = Vec::new();
    let mut path = "/v1/connections?limit=3".to_owned();
    loop {
        let page = bench.files().get(&path).await.ok(200);
        let connections = page["connections"].as_array().unwrap();
        assert!(connections.len() <= 3);
        seen.extend(connections.iter().map(|one| one["id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/connections?limit=3&cursor={cursor}");
        // Of this list alone: another's, or with other filters, it is none.
        bench.notes().get(&path).await.refused(400, "invalid_cursor");
        bench.files().get(&format!("{path}&provider=acme")).await.refused(400, "invalid_cursor");
    }
    assert_eq!(seen, made);
}

async fn filters_narrow(db: Database) {
    let bench = Bench::new(db).await;
    for sub in ["alice", "bob"] {
        for provider in ["acme", "globex"] {
            bench.connected(bench.files(), sub, provider).await;
        }
    }
    let count = async |query: &str| {
        let page = bench.files().get(&format!("/v1/connections?{query}")).await.ok(200);
        page["connections"].as_array().unwrap().len()
    };
    assert_eq!(count("").await, 4);
    assert_eq!(count("sub=alice").await, 2);
    assert_eq!(count("sub=alice&provider=acme").await, 1);
    assert_eq!(count("provider=globex").await, 2);
    assert_eq!(count("issuer=https%3A%2F%2Fid.example.com&sub=bob").await, 2);
    for none in ["sub=Alice", "sub=carol", "issuer=https%3A%2F%2Fother.example", "provider=nobody"] {
        assert_eq!(count(none).await, 0, "{none}");
    }
}

async fn a_removed_connection_is_handed_out_no_more(db: Database) {
    let bench = Bench::new(db).await;
    let connection = bench.connected(bench.files(), "alice", "acme").await;
    let ask = json!({ "provider": "acme", "subject": { "sub": "alice" } });
    let open = bench.files().asked(&ask).await;
    let path = format!("/v1/connections/{}", connection.id);
    let answer = bench.files().delete(&path).await;
    assert_eq!((answer.status.as_u16(), answer.body), (204, Value::String(String::new())));
    bench.files().delete(&path).await.refused(404, "not_found");
    bench.files().get(&path).await.refused(404, "not_found");
    assert_eq!(bench.files().resolve(&ask).await.ok(200)["status"], "action_required");
    let closed = bench.files().get(&format!("/v1/elicitations/{open}")).await.ok(200);
    assert_eq!((&closed["state"], &closed["reason"]), (&json!("cancelled"), &json!("disconnected")));
}

async fn a_refused_token_is_handed_out_no_more(db: Database) {
    let bench = Bench::new(db).await;
    let ask = json!({ "provider": "acme", "subject": { "sub": "alice" } });
    bench.connected(bench.files(), "alice", "acme").await;
    let connection = bench.connected(bench.files(), "alice", "acme").await;
    let report = |generation: Value| json!({ "connection": connection.id.to_string(), "generation": generation, "problem": "unauthorized" });
    let send = async |body: Value| bench.files().post("/v1/credentials/report", &body).await;
    for other in [0, 1, 3] {
        let answer = send(report(json!(other))).await.ok(200);
        assert_eq!(answer["connection"]["status"], "active", "generation {other} changes nothing");
    }
    assert_eq!(bench.files().resolve(&ask).await.ok(200)["status"], "ready");
    for _ in 0..2 {
        let answer = send(report(json!(2))).await.ok(200);
        let connection = &answer["connection"];
        assert_eq!(
            (&connection["status"], &connection["reason"]),
            (&json!("needs_reconnect"), &json!("unauthorized"))
        );
    }
    assert_eq!(bench.files().resolve(&ask).await.ok(200)["status"], "action_required");
    let page = bench.files().get("/v1/events?limit=200").await.ok(200);
    let told =
        |kind: &str| page["events"].as_array().unwrap().iter().filter(|event| event["type"] == kind).count();
    assert_eq!(told("connection.needs_reconnect"), 1, "it is told once");
    for (body, code) in [
        (report(json!("2")), "invalid_field"),
        (json!({ "connection": "x", "problem": "unauthorized" }), "invalid_field"),
        (json!({ "connection": "x", "generation": 1, "problem": "slow" }), "invalid_field"),
    ] {
        send(body).await.refused(400, code);
    }
}
