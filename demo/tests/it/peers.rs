//! The TypeScript MCP SDK, of the legacy era, as the client of the demo's MCP server; a person browses with the link that
//! it was handed. (The program is `tests/peers/mcp-client.mjs`.)

use demo::{Options, World};
use serde_json::{Value, json};

use crate::{node::Peer, whole::browse};

fn client(world: &World) -> Peer {
    let given = json!({
        "url": world.mcp_server.url(),
        "token": world.token_for("alice").unwrap(),
        "tool": "list_files",
    });
    Peer::start("mcp-client.mjs", &given)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// The call waits while alice connects, and then gives what it was called for.
#[tokio::test(flavor = "multi_thread")]
async fn the_typescript_sdk_is_asked_and_told_and_given_the_files() {
    let world = World::start(Options::default()).await.unwrap();
    let peer = client(&world);
    assert_eq!(peer.tells("connected").await["protocol_version"], "2025-11-25");
    let asked = peer.tells("elicitation").await;
    assert_eq!((&asked["via"], &asked["mode"]), (&json!("request"), &json!("url")), "{asked}");
    let (id, link) = (&asked["elicitation_id"], asked["url"].as_str().unwrap());
    let expected = format!("{}/connect?elicitationId={}", world.consentry.public_url, id.as_str().unwrap());
    assert_eq!(link, expected);

    // It has accepted, which is no connection; nor is the visit of somebody else.
    assert_eq!(browse(link, "bob", "hubot").await.page(), "wrong-account");
    for early in ["complete", "result"] {
        assert!(peer.events(early).is_empty());
    }

    assert_eq!(browse(link, "alice", "octocat").await.page(), "connected");
    let result = peer.tells("result").await;
    assert_eq!(result["is_error"], false);
    assert!(text(&result).contains("octocat-notes.txt"));
    assert_eq!(peer.tells("end").await["missing"], json!([]));
    let told = peer.events("complete");
    assert_eq!(told.len(), 1);
    assert_eq!(&told[0]["elicitation_id"], id);
    assert_eq!(peer.events("elicitation").len(), 1);
    assert!(peer.events("error").is_empty());

    // Connected once, the next call needs nobody.
    let next = client(&world);
    let result = next.tells("result").await;
    assert!(text(&result).contains("octocat-notes.txt"));
    assert!(next.events("elicitation").is_empty());
    next.tells("end").await;
    world.stop().await;
}
