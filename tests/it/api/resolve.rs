//! `resolve` without a retry: what is handed out, and what is asked.

use std::time::Duration;

use axum::body::Body;
use consentry::{elicitation::ElicitationId, scope::Scopes, store::ConnectionFilter};
use consentry_fakes::{AuthorizationServer, Listen};
use serde_json::{Value, json};

use super::bench::{Bench, With};
use crate::engine::Database;

on_both_engines!(
    r111_ready_has_these_fields_and_no_others,
    what_was_refused_once_is_missing_and_not_asked_again,
    several_providers_get_one_answer,
    the_same_question_gets_the_same_link,
    one_user_is_not_asked_too_often,
    r2_a_token_speaks_for_its_user_when_it_is_this_servers,
    r102_what_does_not_open_is_an_error,
);

fn ask(scopes: &[&str]) -> Value {
    json!({ "provider": "acme", "scopes": scopes, "subject": { "sub": "alice" } })
}

async fn r111_ready_has_these_fields_and_no_others(db: Database) {
    let bench = Bench::new(db).await;
    let id = bench.files().asked(&ask(&["read"])).await;
    let life = Duration::from_hours(1);
    let ends = bench.clock.now().plus(life).rfc3339();
    let connection = bench.complete_with(id, Scopes::new(["read"]).unwrap(), Some(life)).await;
    let answer = bench.files().resolve(&ask(&["read"])).await.ok(200);
    assert_eq!(
        answer,
        json!({
            "status": "ready",
            "credential": {
                "kind": "oauth2",
                "access_token": "canary-files-alice-acme-1",
                "token_type": "Bearer",
                "expires_at": ends,
                "scopes": ["read"],
                "missing_scopes": [],
                "use": {
                    "base_url": null,
                    "headers": { "Authorization": "Bearer canary-files-alice-acme-1" },
                    "query": {}
                }
            },
            "connection": {
                "id": connection.id.to_string(),
                "provider": "acme",
                "account": { "id": "583231", "label": "octocat" },
                "generation": 1
            }
        })
    );
}

async fn what_was_refused_once_is_missing_and_not_asked_again(db: Database) {
    let bench = Bench::new(db).await;
    let id = bench.files().asked(&ask(&["read", "write"])).await;
    bench.complete_with(id, Scopes::new(["read"]).unwrap(), None).await;
    let answer = bench.files().resolve(&ask(&["read", "write"])).await.ok(200);
    assert_eq!(answer["credential"]["missing_scopes"], json!(["write"]));
    assert_eq!(answer["credential"]["expires_at"], Value::Null);
    // A creation asks again.
    bench.files().asked(&ask(&["read", "write"])).await;
}

async fn several_providers_get_one_answer(db: Database) {
    let bench = Bench::new(db).await;
    let body = json!({
        "requests": [{ "provider": "acme" }, { "provider": "globex", "scopes": ["write"] }],
        "subject": { "issuer": "https://id.example.com", "sub": "alice" },
        "client": { "protocol_version": "2025-11-25", "elicitation": { "url": {} } }
    });
    let answer = bench.files().resolve(&body).await.ok(200);
    assert_eq!(answer["reply"]["body"]["code"], -32042);
    assert_eq!(answer["reply"]["body"]["data"]["elicitations"].as_array().unwrap().len(), 2);
    let asked = answer["elicitations"].as_array().unwrap();
    assert_eq!((&asked[0]["provider"], &asked[1]["provider"]), (&json!("acme"), &json!("globex")));
    bench.complete(id_of(&asked[0])).await;
    // Only what is missing is asked for.
    let answer = bench.files().resolve(&body).await.ok(200);
    let asked = answer["elicitations"].as_array().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["provider"], "globex");
    bench.complete(id_of(&asked[0])).await;
    let answer = bench.files().resolve(&body).await.ok(200);
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[1]["provider"], "globex");
    assert_eq!(results[1]["credential"]["access_token"], "canary-files-alice-globex-1");
    assert_eq!(results[1]["connection"]["provider"], "globex");
}

async fn the_same_question_gets_the_same_link(db: Database) {
    let bench = Bench::new(db).await;
    let body = |reference: &str, version: &str| {
        json!({ "provider": "acme", "subject": { "sub": "alice" },
            "client": { "ref": reference, "protocol_version": version, "elicitation": { "url": {} } } })
    };
    let asked = async |body: &Value| id_of(&bench.files().resolve(body).await.ok(200)["elicitation"]);
    let first = asked(&body("one", "2025-11-25")).await;
    assert_eq!(asked(&body("one", "2025-11-25")).await, first);
    let answer = bench.files().post("/v1/elicitations", &body("one", "2025-11-25")).await;
    assert_eq!(id_of(&answer.ok(200)["elicitation"]), first);
    for other in [body("two", "2025-11-25"), body("one", "2026-07-28"), body("", "2025-11-25")] {
        assert_ne!(asked(&other).await, first, "{other}");
    }
    assert_ne!(asked(&body("", "2025-11-25")).await, asked(&body("", "2025-11-25")).await);
    // With less than two minutes left it is given to nobody else.
    bench.clock.advance(Duration::from_secs(28 * 60 + 1));
    assert_ne!(asked(&body("one", "2025-11-25")).await, first);
}

async fn one_user_is_not_asked_too_often(db: Database) {
    let bench = Bench::with(db, With { limits: "elicitations_per_minute = 3", ..With::default() }).await;
    let with_ref = json!({ "provider": "acme", "subject": { "sub": "alice" }, "client": { "ref": "one" } });
    for _ in 0..3 {
        // An open one handed out again asks nobody anything.
        for _ in 0..5 {
            bench.files().resolve(&with_ref).await.ok(200);
        }
        if bench.files().resolve(&ask(&["read"])).await.status != 200 {
            break;
        }
    }
    let answer = bench.files().resolve(&ask(&["read"])).await;
    answer.refused(429, "too_many_elicitations");
    let wait: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait));
    bench.files().post("/v1/elicitations", &ask(&["read"])).await.refused(429, "too_many_elicitations");
    bench.files().resolve(&with_ref).await.ok(200);
    bench.files().resolve(&json!({ "provider": "acme", "subject": { "sub": "bob" } })).await.ok(200);
    bench.notes().resolve(&ask(&["read"])).await.ok(200);
    bench.clock.advance(Duration::from_secs(wait));
    bench.files().resolve(&ask(&["read"])).await.ok(200);
}

/// R2, R109: signature, issuer, audience and life are checked here; naming the user instead is not enough.
async fn r2_a_token_speaks_for_its_user_when_it_is_this_servers(db: Database) {
    let issuer = AuthorizationServer::start(Listen::default()).await.unwrap();
    let bench = Bench::with(db, With { issuer: issuer.base_url(), ..With::default() }).await;
    let (mine, other) = ("https://careful.example.com/mcp", "https://files.example.com/mcp");
    let with_token = |token: &str| json!({ "provider": "acme", "subject_token": token });
    let honest = issuer.access_token_for("alice", mine).unwrap();
    let answer = bench.careful().post("/v1/elicitations", &with_token(&honest)).await.ok(201);
    let id = id_of(&answer["elicitation"]);
    let asked = bench.elicitation(id).await;
    assert_eq!(asked.owner.issuer, issuer.base_url());
    bench.complete(id).await;
    let answer = bench.careful().resolve(&with_token(&honest)).await.ok(200);
    assert_eq!(answer["status"], "ready");
    let mut changed = honest.clone();
    let last = changed.pop().unwrap();
    changed.push(if last == 'A' { 'B' } else { 'A' });
    let (head, _) = honest.rsplit_once('.').unwrap();
    for refused in [
        issuer.access_token_for("alice", other).unwrap(),
        changed,
        format!("{head}."),
        "opaque".to_owned(),
        "x".repeat(10_000),
    ] {
        let answer = bench.careful().resolve(&with_token(&refused)).await;
        answer.refused(401, "subject_token_invalid");
        assert!(answer.headers.contains_key("www-authenticate"));
    }
    bench.clock.advance(Duration::from_hours(2));
    bench.careful().resolve(&with_token(&honest)).await.refused(401, "subject_token_invalid");
    let named = json!({ "provider": "acme", "subject": { "sub": "alice" } });
    bench.careful().resolve(&named).await.refused(400, "subject_token_required");
    bench.careful().post("/v1/elicitations", &named).await.refused(400, "subject_token_required");
    bench.careful().get("/v1/connections?sub=alice").await.refused(400, "subject_token_required");
    let both = json!({ "provider": "acme", "subject": { "sub": "bob" }, "subject_token": honest });
    bench.files().resolve(&both).await.refused(400, "invalid_field");
}

/// R102: never "not connected".
async fn r102_what_does_not_open_is_an_error(db: Database) {
    let bench = Bench::new(db.clone()).await;
    bench.connected(bench.files(), "alice", "acme").await;
    // The same database under another key.
    let other = Bench::new(db).await;
    let answer = other.files().resolve(&ask(&["read"])).await;
    answer.refused(500, "sealed_value_unreadable");
    assert!(other.app.metrics.text().contains("security_events_total{code=\"sealed_value_unreadable\"} 1"));
    let all = other.app.store.connections(ConnectionFilter::default(), 10).await.unwrap();
    assert_eq!(all.len(), 1);
    let open = other.app.store.elicitations(None, None, 10).await.unwrap();
    assert!(open.iter().all(|one| !one.stored.is_open()), "nothing was asked");
}

fn id_of(elicitation: &Value) -> ElicitationId {
    elicitation["id"].as_str().unwrap().parse().unwrap()
}

/// A database that is away is a problem that says when to come back.
#[tokio::test]
async fn a_store_that_is_away_is_503() {
    let bench = Bench::new(Database::start(crate::engine::Engine::Sqlite).await).await;
    bench.app.store.shut_down().await;
    let answer = bench.files().resolve(&ask(&["read"])).await;
    answer.refused(503, "unavailable");
    assert_eq!(answer.headers["retry-after"], "2");
    let answer = bench.call("GET", "/readyz", &[], Body::empty()).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.body["database"], false);
}
