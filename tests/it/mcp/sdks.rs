//! The official SDKs as clients of Consentry's own MCP endpoint, in each era that they speak: a form, a link, and a browser in between.
//! (The programs are `tests/peers/mcp-client.mjs` and `tests/peers/mcp_client.py`.)

use serde_json::{Value, json};

use super::desk::Desk;
use crate::{
    engine::{Database, Engine},
    peers::program::Peer,
    world::FILES,
};

fn clients() -> [(&'static str, Value); 5] {
    [
        ("mcp-client.mjs", json!({ "sdk": 1 })),
        ("mcp-client.mjs", json!({ "sdk": 2 })),
        ("mcp_client.py", json!({})),
        ("mcp-client.mjs", json!({ "sdk": 2, "era": "modern" })),
        ("mcp_client.py", json!({ "era": "modern" })),
    ]
}

fn client(desk: &Desk, script: &'static str, more: &[&Value]) -> Peer {
    let mut given = json!({ "url": desk.resource(), "token": desk.token("alice") });
    let more = more.iter().flat_map(|more| more.as_object().unwrap().clone());
    given.as_object_mut().unwrap().extend(more);
    Peer::start(script, &given)
}

/// E5, E10, E11, E13, M28: which account by a form, then its link, then the result when the browser is done; at one address in both eras.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e10_e11_m28_each_sdk_chooses_by_a_form_and_connects_by_a_link() {
    for (script, era) in clients() {
        let desk = Desk::start(Database::start(Engine::Sqlite).await).await;
        let content = json!({ "content": { "connection": format!("files/{FILES}") } });
        let connect = client(&desk, script, &[&era, &content, &json!({ "tool": "connect" })]);
        let is_link = |one: &Value| (one["mode"] == "url").then(|| one.clone());
        let asked = connect.until("a link", is_link).await;
        let form = &connect.events("elicitation")[0];
        assert_eq!(
            (&form["mode"], &form["schema"]["type"]),
            (&json!("form"), &json!("object")),
            "{script} {form}"
        );
        assert!(connect.events("result").is_empty(), "{script} {era}");

        let mut alice = desk.world.browser();
        desk.connects(&mut alice, "alice", asked["url"].as_str().unwrap(), "octocat").await;
        let result = connect.tells("result").await;
        assert_eq!(result["is_error"], false, "{script} {result}");
        assert_eq!(result["structured"]["connection"]["account"], "octocat", "{script} {result}");
        assert_eq!(connect.tells("end").await["missing"], json!([]), "{script} {era}");
        let told = connect.events("complete").len();
        assert_eq!(told, usize::from(era["era"] != "modern"), "{script} {era}");
        assert_eq!(connect.events("elicitation").len(), 2, "{script} {era}");

        let list = client(&desk, script, &[&era, &json!({ "tool": "list_connections" })]);
        let listed = list.tells("result").await["structured"]["connections"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 1, "{script} {listed}");
        let gone = json!({ "connection": listed[0]["id"], "confirm": true });
        let disconnect = client(
            &desk,
            script,
            &[&era, &json!({ "tool": "disconnect", "arguments": gone, "elicitation": null })],
        );
        let result = disconnect.tells("result").await;
        assert_eq!(result["structured"]["disconnected"], true, "{script} {result}");
    }
}

/// E7, E21: a no, and a client that cannot be asked, are told in words.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e7_e21_each_sdk_is_told_in_words_what_it_cannot_be_asked() {
    for (script, era) in clients() {
        // Time stands still, and one person may not call too often in no time.
        let desk = Desk::start(Database::start(Engine::Sqlite).await).await;
        for what in
            [json!({ "action": "decline" }), json!({ "action": "cancel" }), json!({ "elicitation": null })]
        {
            let connect = client(&desk, script, &[&era, &what, &json!({ "tool": "connect" })]);
            let result = connect.tells("result").await;
            assert_eq!(result["is_error"], true, "{script} {era} {what} {result}");
            let asks = what.get("elicitation").is_none();
            assert_eq!(connect.events("elicitation").len(), usize::from(asks), "{script} {era} {what}");
        }
    }
}
