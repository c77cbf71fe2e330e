//! The official SDKs as clients of the demo's MCP server, in each era that they speak; a person browses with the link that they
//! were handed. (The programs are `tests/peers/mcp-client.mjs` and `tests/peers/mcp_client.py`.)

use std::time::Duration;

use consentry_client::Prefer;
use demo::{Options, World};
use serde_json::{Value, json};

use crate::{program::Peer, whole::browse};

/// TypeScript 1.x, TypeScript 2.x, Python, and what each is told of the era.
fn clients() -> Vec<(&'static str, Value)> {
    vec![
        ("mcp-client.mjs", json!({ "sdk": 1 })),
        ("mcp-client.mjs", json!({ "sdk": 2 })),
        ("mcp_client.py", json!({})),
        ("mcp-client.mjs", json!({ "sdk": 2, "era": "modern" })),
        ("mcp_client.py", json!({ "era": "modern" })),
    ]
}

fn legacy_clients() -> impl Iterator<Item = (&'static str, Value)> {
    clients().into_iter().filter(|(_, more)| !is_modern(more))
}

fn is_modern(more: &Value) -> bool {
    more["era"] == "modern"
}

/// A client of the demo's tool, with more said to it.
fn client(world: &World, script: &'static str, more: &[&Value]) -> Peer {
    let mut given = json!({
        "url": world.mcp_server.url(),
        "token": world.token_for("alice").unwrap(),
        "tool": "list_files",
    });
    let more = more.iter().flat_map(|more| more.as_object().unwrap().clone());
    given.as_object_mut().unwrap().extend(more);
    Peer::start(script, &given)
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// E3, E5, E11, E13, E15, E21, M7, M14: asked once and in the form of its era, it waits while alice connects (in the call, or from
/// round to round), and then has what it called for. Its `accept` was no connection; nor is the visit of somebody else.
#[tokio::test(flavor = "multi_thread")]
async fn e5_e11_e15_each_sdk_is_asked_and_told_and_given_the_files() {
    for (script, more) in clients() {
        let world = World::start(Options::default()).await.unwrap();
        let peer = client(&world, script, &[&more]);
        let version = peer.tells("connected").await["protocol_version"].clone();
        assert_eq!(version, if is_modern(&more) { "2026-07-28" } else { "2025-11-25" }, "{script} {more}");
        let asked = peer.tells("elicitation").await;
        assert_eq!((&asked["via"], &asked["mode"]), (&json!("request"), &json!("url")), "{asked}");
        let link = asked["url"].as_str().unwrap();
        let (page, id) = link.split_once("/connect?elicitationId=").unwrap();
        assert_eq!(page, world.consentry.public_url);
        // The Python SDK's own type has an empty one where the message has none.
        let expected = if is_modern(&more) { "" } else { id };
        assert_eq!(asked["elicitation_id"].as_str().unwrap_or_default(), expected, "{script} {more}");

        assert_eq!(browse(link, "bob", "hubot").await.page(), "wrong-account");
        for early in ["complete", "result"] {
            assert!(peer.events(early).is_empty(), "{script} {more}");
        }
        assert_eq!(browse(link, "alice", "octocat").await.page(), "connected");
        let result = peer.tells("result").await;
        assert_eq!(result["is_error"], false);
        assert!(text(&result).contains("octocat-notes.txt"));
        assert_eq!(peer.tells("end").await["missing"], json!([]));
        let told = peer.events("complete");
        assert_eq!(told.len(), usize::from(!is_modern(&more)), "{script} {more}");
        assert!(told.iter().all(|told| told["elicitation_id"] == id));
        assert_eq!(peer.events("elicitation").len(), 1);
        assert!(peer.events("error").is_empty());

        // Connected once, the next call needs nobody.
        let next = client(&world, script, &[&more]);
        assert!(text(&next.tells("result").await).contains("octocat-notes.txt"));
        assert!(next.events("elicitation").is_empty());
        next.tells("end").await;
        world.stop().await;
    }
}

/// E14, E16 to E19: with `-32042`, each SDK finds its link in the error, hears of the end on its own session, and calls again; a
/// client that dies in between leaves a question that can still be answered, and whose news nobody else gets.
#[tokio::test(flavor = "multi_thread")]
async fn e14_e16_e19_each_sdk_reads_the_error_and_calls_again() {
    for (script, more) in legacy_clients() {
        let world = World::start(Options { prefer: Prefer::Error, ..Options::default() }).await.unwrap();
        let dies = client(&world, script, &[&more]);
        let left = dies.tells("elicitation").await;
        drop(dies);
        let peer = client(&world, script, &[&more]);
        let asked = peer.tells("elicitation").await;
        assert_eq!((&asked["via"], &asked["mode"]), (&json!("error"), &json!("url")), "{asked}");
        assert_ne!(asked["elicitation_id"], left["elicitation_id"], "another session");
        let link = left["url"].as_str().unwrap();
        assert_eq!(browse(link, "alice", "octocat").await.page(), "connected", "{script} {more}");
        peer.tells("retry").await;
        let result = peer.tells("result").await;
        assert!(text(&result).contains("octocat-notes.txt"), "{script} {more}");
        peer.tells("end").await;
        let told = peer.events("complete");
        assert_eq!(told.len(), 1, "{script} {more}");
        assert_eq!(told[0]["elicitation_id"], asked["elicitation_id"], "{script} {more}");
        world.stop().await;
    }
}

/// E7, E21, M8, M9: a no, a closed question, a failed request, a mode that was not declared, and a link that is never opened: each
/// ends the call, with words, and nobody is asked in a mode that they did not declare.
#[tokio::test(flavor = "multi_thread")]
async fn e7_e21_m9_each_sdk_hears_in_words_why_there_is_nothing() {
    let link = "/connect?elicitationId=";
    let world =
        World::start(Options { patience: Duration::from_secs(1), ..Options::default() }).await.unwrap();
    for (script, more) in clients() {
        for (what, words) in [
            (json!({ "action": "decline" }), "declined"),
            (json!({ "action": "cancel" }), "not"),
            (json!({ "action": "error" }), link),
            (json!({ "elicitation": null }), link),
            (json!({ "elicitation": { "form": {} } }), link),
            (json!({ "completion_ms": 1 }), link),
        ] {
            // In the modern era a request that fails at the client never comes back to the server.
            if is_modern(&more) && what["action"] == "error" {
                continue;
            }
            let peer = client(&world, script, &[&more, &what]);
            let result = peer.tells("result").await;
            assert_eq!(result["is_error"], true, "{script} {more} {what} {result}");
            assert!(text(&result).contains(words), "{script} {more} {what} {result}");
            let asks = what.get("elicitation").is_none();
            assert_eq!(peer.events("elicitation").len(), usize::from(asks), "{script} {more} {what}");
            assert!(peer.events("complete").is_empty(), "{script} {more} {what}");
        }
    }
    world.stop().await;
}
