//! Alice connects her account of one `oidc-provider`, signed in at another.

use serde_json::{Value, json};

use super::stand::Stand;
use crate::{
    browser::{
        driver::{Browsers, Profile},
        steps::{CONTINUE, SIGN_IN},
    },
    world::{FILES, api::Link},
};

/// A stand, a browser, and Alice in it on `ready`: signed in at the authorization server.
async fn alice_is_ready() -> (Stand, Browsers, Profile, Link) {
    let (stand, browsers) = tokio::join!(Stand::start(), Browsers::start());
    let alice = browsers.open().await;
    let link = stand.api.asks("alice", FILES).await;
    alice.open(&link.url).await;
    alice.sees("sign-in").await;
    alice.click(SIGN_IN).await;
    alice.gives_the_name("alice").await;
    assert!(alice.url().await.starts_with(&stand.id.issuer), "{}", alice.url().await);
    alice.consents().await;
    alice.sees("ready").await;
    (stand, browsers, alice, link)
}

/// R57, R61, R68: a code flow with PKCE (both parties insist on it) and `iss` (both promise it, so that it is
/// required), the sign-in's request pushed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_connects_at_a_server_that_others_wrote() {
    let (stand, _browsers, alice, link) = alice_is_ready().await;
    for party in [&stand.id, &stand.files] {
        assert_eq!(party.metadata["authorization_response_iss_parameter_supported"], true);
    }
    let pushed = stand.id.peer.tells("pushed_authorization_request.success").await;
    assert_eq!(pushed["client_id"], "consentry", "{pushed}");
    assert_eq!(stand.id.peer.tells("grant.success").await["sub"], "alice");

    alice.click(CONTINUE).await;
    alice.gives_the_name("octocat").await;
    assert!(alice.url().await.starts_with(&stand.files.issuer), "{}", alice.url().await);
    assert!(stand.files.peer.events("grant.success").is_empty());
    alice.consents().await;
    alice.sees("connected").await;
    let text = alice.text().await;
    assert!(text.contains("octocat@example.test"), "{text}");

    is_connected(&stand, &link).await;
    for party in [&stand.id, &stand.files] {
        assert_eq!(party.peer.events("grant.success").len(), 1);
        assert_eq!(party.errors(), [] as [Value; 0]);
    }
    for address in alice.history().await {
        let is_ours = address.starts_with(&stand.public_url);
        assert!(!address.contains("code="), "{address}");
        assert!(!is_ours || !address.contains("state="), "{address}");
    }
    stand.ends().await;
}

/// R13: a refusal of the third party's own making, `iss` included, is read as one; and the same link still works.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alice_says_no_at_a_server_that_others_wrote_and_then_yes() {
    let (stand, _browsers, alice, link) = alice_is_ready().await;
    alice.click(CONTINUE).await;
    alice.gives_the_name("octocat").await;
    alice.aborts().await;
    alice.sees("not-connected").await;
    assert_eq!(stand.api.elicitation(&link.id).await["state"], "pending");
    assert!(stand.files.peer.events("grant.success").is_empty());

    // The third party knows this browser by now, and asks only whether it may.
    alice.click(CONTINUE).await;
    alice.consents().await;
    alice.sees("connected").await;
    is_connected(&stand, &link).await;
    stand.ends().await;
}

/// The question is answered, and the token that the MCP server gets for it is good at the third party.
async fn is_connected(stand: &Stand, link: &Link) {
    assert_eq!(stand.api.elicitation(&link.id).await["state"], "completed");
    let told = stand.api.told().await;
    assert!(told.contains(&("elicitation.completed".to_owned(), json!(link.id))), "{told:?}");
    let resolved = stand.api.resolves("alice", FILES).await;
    assert_eq!(resolved["status"], "ready", "{resolved}");
    assert_eq!(
        resolved["connection"]["account"],
        json!({ "id": "octocat", "label": "octocat@example.test" })
    );
    assert_eq!(resolved["credential"]["missing_scopes"], json!([]), "{resolved}");
    let token = resolved["credential"]["access_token"].as_str().unwrap();
    let userinfo = stand.client.get(stand.files.endpoint("userinfo_endpoint")).bearer_auth(token);
    let told: Value = userinfo.send().await.unwrap().error_for_status().unwrap().json().await.unwrap();
    assert_eq!(told["sub"], "octocat");
    // Nor does anybody else get it.
    assert_eq!(stand.api.resolves("bob", FILES).await["status"], "action_required");
}
