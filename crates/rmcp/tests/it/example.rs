//! `examples/rust`: driven as a person would, and its lines counted.

use consentry_example_rust::{Settings, app};
use serde_json::json;

use crate::{
    client::{ACCEPT, Client},
    stand::Stand,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_example_lists_the_files_of_the_account_that_alice_connects_in_both_eras() {
    let mut stand = Stand::new().await;
    let settings = Settings {
        resource: stand.resource(),
        issuer: stand.id.base_url().to_owned(),
        consentry: stand.internal[0].clone(),
        api_key: stand.api_key.clone(),
        files: stand.files.base_url().to_owned(),
    };
    let mcp = stand.serve_app(app(settings).unwrap());
    let alice = Client::legacy(&mcp, &stand.token("alice"), json!({ "url": {} })).await;
    let bob = Client::modern(&mcp, &stand.token("bob"), json!({ "url": {} })).await;
    for (client, person, account) in [(&alice, "alice", "octocat"), (&bob, "bob", "hubot")] {
        let browsing = async { stand.connects(&client.is_asked(1).await, person, account).await };
        let (called, ()) = tokio::join!(client.call(ACCEPT), browsing);
        assert_eq!(called.text(), format!("{account} has: {account}-notes.txt, {account}-budget.ods"));
    }
    // Without a token there is nothing but the way to one.
    let refused = crate::http().post(&mcp).json(&json!({})).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert!(refused.headers()["www-authenticate"].to_str().unwrap().contains("resource_metadata="));
    stand.ends().await;
}

/// The lines between the markers, less blank ones.
fn added(source: &str) -> Vec<&str> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in source.lines().map(str::trim) {
        match line {
            "// consentry: begin" => inside = true,
            "// consentry: end" => inside = false,
            "" => {}
            line if inside => lines.push(line),
            _ => {}
        }
    }
    assert!(!inside);
    lines
}

/// "A developer adds Consentry to an existing rmcp server in under 30 lines", and the README shows these very lines.
#[test]
fn consentry_is_added_in_under_30_lines_and_the_readme_shows_them() {
    let lines = added(include_str!("../../../../examples/rust/src/lib.rs"));
    assert!((5..30).contains(&lines.len()), "{}", lines.len());
    let readme = include_str!("../../../../examples/rust/README.md");
    for line in &lines {
        assert!(readme.contains(line), "the README does not show: {line}");
    }
    let said = format!("{} lines", lines.len());
    assert!(readme.contains(&said), "the README does not say that it is {said}");
}
