//! Nothing of another MCP server's, or of another user's, is seen, changed or handed out.

use serde_json::{Value, json};

use super::{
    bench::{Bench, token},
    calls::Caller,
};
use crate::engine::Database;

on_both_engines!(
    r1_another_tenants_ids_are_unknown_ids,
    r109_a_credential_is_handed_out_for_its_own_user_alone,
    r16_each_tenant_is_told_of_its_own_alone,
);

/// R1, R54, R109: every verb, with the same answer as for an id that nobody has.
async fn r1_another_tenants_ids_are_unknown_ids(db: Database) {
    let bench = Bench::new(db).await;
    let elicitation =
        bench.files().asked(&json!({ "provider": "globex", "subject": { "sub": "alice" } })).await;
    let connection = bench.connected(bench.files(), "alice", "acme").await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    let foreign = async |caller: Caller<'_>, elicitation: &str, connection: &str| {
        let cancel = format!("/v1/elicitations/{elicitation}/cancel");
        let response = format!("/v1/elicitations/{elicitation}/response");
        let report = json!({ "connection": connection, "generation": 1, "problem": "unauthorized" });
        let mut answers = vec![
            caller.get(&format!("/v1/elicitations/{elicitation}?wait_seconds=50")).await,
            caller.post(&response, &json!({ "action": "decline" })).await,
            caller.post(&response, &json!({ "action": "error" })).await,
            caller.post(&cancel, &json!({})).await,
            caller.get(&format!("/v1/connections/{connection}")).await,
            caller.delete(&format!("/v1/connections/{connection}")).await,
            caller.post("/v1/credentials/report", &report).await,
        ];
        for answer in &mut answers {
            answer.refused(404, "not_found");
            answer.body["request_id"] = Value::Null;
        }
        answers.into_iter().map(|answer| answer.body).collect::<Vec<_>>()
    };
    let (theirs, held) = (elicitation.to_string(), connection.id.to_string());
    let seen = foreign(bench.notes(), &theirs, &held).await;
    assert_eq!(seen, foreign(bench.notes(), unknown, unknown).await);
    assert_eq!(seen, foreign(bench.files(), &theirs.to_uppercase(), &held.replace('-', "")).await);
    assert!(bench.elicitation(elicitation).await.stored.is_open(), "nothing was closed");
    let list = bench.notes().get("/v1/connections").await.ok(200);
    assert_eq!(list, json!({ "connections": [], "next_cursor": null }));
    let answer = bench.files().get(&format!("/v1/connections/{held}")).await.ok(200);
    assert_eq!(answer["status"], "active");
}

/// R109: two tenants, two users, two providers; the token always names whom it is for.
async fn r109_a_credential_is_handed_out_for_its_own_user_alone(db: Database) {
    let bench = Bench::new(db).await;
    let callers = [(bench.files(), "files"), (bench.notes(), "notes")];
    let ask = |sub: &str, provider: &str| json!({ "provider": provider, "subject": { "sub": sub } });
    for (caller, _) in callers {
        for sub in ["alice", "bob"] {
            for provider in ["acme", "globex"] {
                bench.connected(caller, sub, provider).await;
            }
        }
    }
    for (caller, server) in callers {
        for sub in ["alice", "bob"] {
            for provider in ["acme", "globex"] {
                let answer = caller.resolve(&ask(sub, provider)).await.ok(200);
                let expected = token(&server.parse().unwrap(), sub, provider, 1);
                assert_eq!(answer["credential"]["access_token"], expected.as_str());
            }
        }
        // Whom nobody has connected, and who only looks alike.
        for sub in ["carol", "Alice", "alice "] {
            let answer = caller.resolve(&ask(sub, "acme")).await.ok(200);
            assert_eq!(answer["status"], "action_required", "{sub}");
        }
    }
}

/// R16: set equality for each tenant, by the page and by the stream.
async fn r16_each_tenant_is_told_of_its_own_alone(db: Database) {
    let bench = Bench::new(db).await;
    let mut streams = [bench.files().stream(None).await, bench.notes().stream(None).await];
    let callers = [bench.files(), bench.notes()];
    let mut made: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    for round in 0..10 {
        for (caller, made) in callers.iter().zip(&mut made) {
            let body = json!({ "provider": "acme", "subject": { "sub": format!("user-{round}") } });
            let id = caller.asked(&body).await;
            caller.post(&format!("/v1/elicitations/{id}/cancel"), &json!({})).await.ok(200);
            made.push(id.to_string());
        }
    }
    for ((caller, made), stream) in callers.iter().zip(&made).zip(&mut streams) {
        let page = caller.get("/v1/events?after=0&limit=200").await.ok(200);
        let told: Vec<&str> = page["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["data"]["elicitation_id"].as_str().unwrap())
            .collect();
        assert_eq!(told, *made);
        for id in made {
            assert_eq!(stream.event().await.2["data"]["elicitation_id"], id.as_str());
        }
    }
}
