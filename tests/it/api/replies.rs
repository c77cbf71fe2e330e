//! Every shape of the reply, judged by a client that obeys the protocol to the letter.

use consentry_elicitation::{Capability, Client, Model, Prefer};
use serde_json::{Value, json};

use super::bench::Bench;
use crate::engine::Database;

on_both_engines!(every_reply_is_one_that_its_client_can_take);

const METHODS: [&str; 4] = ["tools/call", "prompts/get", "resources/read", "completion/complete"];

/// The table of the contract, row by row.
fn expected(modern: bool, url: bool, method: &str, error: bool, several: bool) -> &'static str {
    match (url, modern, method) {
        (true, false, _) if error || several => "jsonrpc_error",
        (true, false, _) => "elicitation_request",
        (true, true, "tools/call" | "prompts/get" | "resources/read") => "input_required",
        (_, _, "tools/call") => "tool_result",
        _ => "jsonrpc_error",
    }
}

async fn every_reply_is_one_that_its_client_can_take(db: Database) {
    let bench = Bench::new(db).await;
    let mut user = 0;
    for version in ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28", "2027-01-01"] {
        for declared in [json!(null), json!({}), json!({ "url": {} }), json!({ "form": {}, "url": {} })] {
            for method in METHODS {
                for prefer in ["request", "error"] {
                    for several in [false, true] {
                        user += 1;
                        let body = body(&format!("user-{user}"), version, &declared, method, prefer, several);
                        let answer = bench.files().resolve(&body).await.ok(200);
                        assert_eq!(answer["status"], "action_required");
                        let reply = &answer["reply"];
                        let modern = version >= "2026";
                        let url = declared.get("url").is_some();
                        let kind = expected(modern, url, method, prefer == "error", several);
                        assert_eq!(reply["kind"], kind, "{body}");
                        let client = client(version, &declared, method, prefer);
                        assert_eq!(Model::new(&client).receive_value(reply), [], "{body}\n{reply}");
                        links_are_whole(&answer);
                    }
                }
            }
        }
    }
}

/// Each link stands in the reply, and nothing but the link and the words does (R14).
fn links_are_whole(answer: &Value) {
    let asked = match answer.get("elicitations") {
        Some(several) => several.as_array().unwrap().clone(),
        None => vec![answer["elicitation"].clone()],
    };
    let reply = answer["reply"].to_string();
    for elicitation in asked {
        let id = elicitation["id"].as_str().unwrap();
        let url = format!("http://localhost:8080/connect?elicitationId={id}");
        assert_eq!(elicitation["url"], url.as_str());
        assert_eq!(elicitation["state"], "pending");
        assert!(reply.contains(&url), "{reply}");
    }
}

fn client(version: &str, declared: &Value, method: &str, prefer: &str) -> Client {
    let prefer = if prefer == "error" { Prefer::Error } else { Prefer::Request };
    Client::new(version.parse().unwrap(), Capability::declared(Some(declared)).unwrap(), method)
        .prefer(prefer)
}

fn body(sub: &str, version: &str, declared: &Value, method: &str, prefer: &str, several: bool) -> Value {
    let mut body = json!({
        "subject": { "sub": sub },
        "client": { "protocol_version": version, "elicitation": declared, "method": method,
            "target": "list_files", "prefer": prefer }
    });
    if several {
        body["requests"] = json!([{ "provider": "acme" }, { "provider": "globex" }]);
    } else {
        body["provider"] = json!("acme");
    }
    body
}
