//! The whole life of a connection, for each way of registering.

use std::time::Duration;

use consentry_fakes::TokenRequest;
use serde_json::json;

use super::{DOCUMENT, DYNAMIC, STATIC, Stand, TOOLS};
use crate::engine::Database;

on_both_engines!(
    r67_with_a_client_by_hand,
    r67_with_a_client_metadata_document,
    r67_with_a_client_that_registers_itself,
    the_document_is_what_the_settings_say,
    doctor_goes_the_whole_way,
    what_is_asked_for_follows_the_specification,
    where_the_metadata_stands_follows_the_specification,
);

/// Connect, hand-out, refresh, disconnect; `resource` in each request (R67), `iss` checked (R61), PKCE (R57).
async fn whole_life(stand: &Stand) -> Vec<TokenRequest> {
    let answer = stand.connected().await;
    assert_eq!(stand.calls(&answer).await, 200, "{answer}");
    assert_eq!(answer["credential"]["use"]["base_url"], json!(stand.tools.url()));
    assert!(answer["credential"].get("values").is_none(), "{answer}");
    let asked = stand.third.authorize_log();
    let [asked] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(asked.parameter("resource"), Some(stand.tools.url().as_str()));
    assert_eq!(asked.parameter("code_challenge_method"), Some("S256"));
    let metadata = stand.asked("/.well-known/");
    // A refresh, to which the same resource goes.
    stand.advance(Duration::from_secs(3_590));
    let renewed = stand.resolves().await;
    stand.world.until(async || stand.third.token_log().len() == 2).await;
    let renewed = if renewed["connection"]["generation"] == 2 { renewed } else { stand.resolves().await };
    assert_eq!(stand.calls(&renewed).await, 200, "{renewed}");
    assert_eq!(stand.asked("/.well-known/"), metadata, "it is known for a while");
    let log = stand.third.token_log();
    assert!(log.iter().all(|one| one.accepted && one.resources == [stand.tools.url()]), "{log:?}");
    // And its end: the refresh token is revoked where the metadata says.
    let api = stand.world.api("files");
    let id = answer["connection"]["id"].as_str().unwrap();
    api.delete(&format!("/v1/connections/{id}")).await.expect(204);
    stand.world.until(async || !stand.third.revocations().entries().is_empty()).await;
    assert_eq!(stand.resolves().await["status"], "action_required");
    assert_eq!(stand.calls(&renewed).await, 401);
    log
}

async fn r67_with_a_client_by_hand(db: Database) {
    let stand = Stand::with(db, STATIC).await;
    let log = whole_life(&stand).await;
    assert!(log.iter().all(|one| one.client_id.as_deref() == Some("by-hand")));
    assert_eq!(stand.asked("/register"), 0);
}

async fn r67_with_a_client_metadata_document(db: Database) {
    let stand = Stand::with(db, DOCUMENT).await;
    let log = whole_life(&stand).await;
    let id = format!("{}/client-metadata/files/{TOOLS}", stand.world.public_url);
    assert!(log.iter().all(|one| one.client_id.as_deref() == Some(id.as_str())), "{log:?}");
    assert_eq!(stand.asked("/register"), 0);
}

async fn r67_with_a_client_that_registers_itself(db: Database) {
    let stand = Stand::with(db, DYNAMIC).await;
    let log = whole_life(&stand).await;
    assert!(log.iter().all(|one| one.client_id.as_ref().is_some_and(|id| id.starts_with("dynamic-"))));
    assert_eq!(stand.asked("/register"), 1);
}

async fn the_document_is_what_the_settings_say(db: Database) {
    let stand = Stand::with(db, DOCUMENT).await;
    let url = format!("{}/client-metadata/files/{TOOLS}", stand.world.public_url);
    let mut anybody = stand.world.browser();
    let page = anybody.opens(&url).await;
    assert_eq!(
        (page.header("content-type"), page.header("cache-control")),
        ("application/json", "public, max-age=3600")
    );
    let document: serde_json::Value = serde_json::from_str(&page.html).unwrap();
    let expected = json!({
        "client_id": url,
        "client_name": "The files tools",
        "redirect_uris": [format!("{}/callback/files/{TOOLS}", stand.world.public_url)],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    assert_eq!(document, expected);
    let shown = stand.world.runs(&["providers", "show", TOOLS], 0);
    assert_eq!(shown["client_documents"][0], json!(url), "{shown}");
    assert_eq!(shown["mcp"], json!(stand.tools.url()));
    for other in ["files/example-files", "nobody/tools", "files/nothing", "files/%00"] {
        let url = format!("{}/client-metadata/{other}", stand.world.public_url);
        anybody.opens(&url).await.is("not-found");
    }
}

/// The operator is told where the way ends, and of a choice that was made for them.
async fn doctor_goes_the_whole_way(db: Database) {
    let stand = Stand::with(db, DYNAMIC).await;
    stand.tools.configure(|says| says.issuers.push("https://another.example".to_owned()));
    let report = stand.world.runs(&["doctor"], 0);
    let told = report["findings"].as_array().unwrap().iter().filter(|one| one["what"] == "provider tools");
    let told: Vec<(&str, &str)> =
        told.map(|one| (one["state"].as_str().unwrap(), one["detail"].as_str().unwrap())).collect();
    let [("good", way), ("note", choice)] = told.as_slice() else { panic!("{report}") };
    assert!(way.contains(stand.third.base_url()) && way.contains(&stand.tools.url()), "{way}");
    assert!(choice.contains("2 authorization servers"), "{choice}");
}

/// The settings' scopes, else the challenge's, else all that are supported; and what brings a refresh token.
async fn what_is_asked_for_follows_the_specification(db: Database) {
    let stand = Stand::with(db, &format!("{STATIC}\nallowed_scopes = [\"files.write\"]")).await;
    let asked = async || {
        let mut alice = stand.arrives(&stand.asks().await).await;
        let url = stand.leaves(&mut alice).await;
        let url = url::Url::parse(&url).unwrap();
        let scope = url.query_pairs().find(|(name, _)| name == "scope").map(|(_, scope)| scope.into_owned());
        alice.opens(&stand.third.deny(url.as_str()).await.unwrap()).await.is("not-connected");
        scope.unwrap_or_default()
    };
    assert_eq!(asked().await, "files.read mcp offline_access");
    stand.tools.configure(|says| says.challenge_scope = Some("mcp".to_owned()));
    assert_eq!(asked().await, "files.read mcp offline_access", "it is known for a while");
    stand.advance(Duration::from_secs(3_601));
    assert_eq!(asked().await, "mcp offline_access");
    // A caller may ask for what the settings allow, and for nothing else (R65).
    let api = stand.world.api("files");
    let mut question = api.question("alice", TOOLS);
    question["scopes"] = json!(["files.write"]);
    assert_eq!(api.post("/v1/credentials/resolve", &question).await.expect(200)["status"], "action_required");
    question["scopes"] = json!(["mcp"]);
    assert_eq!(api.post("/v1/credentials/resolve", &question).await.expect(400)["code"], "scope_not_allowed");
}

/// Where the challenge says; else the well-known address with the path; else the one without.
async fn where_the_metadata_stands_follows_the_specification(db: Database) {
    let stand = Stand::with(db, STATIC).await;
    stand.tools.configure(|says| (says.in_challenge, says.at_path) = (false, false));
    let answer = stand.connected().await;
    assert_eq!(stand.calls(&answer).await, 200);
    let paths: Vec<String> = stand.tools.log().entries().into_iter().map(|one| one.path).collect();
    let expected =
        ["/mcp", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"];
    assert_eq!(paths[..3], expected);
    let first = &stand.tools.log().entries()[0];
    assert!(first.headers.iter().all(|(name, _)| name != "authorization" && name != "cookie"));
}
