//! Who is let in: the token, the session, the page it comes from.

use consentry_fakes::Forge;
use demo::mcp_client::Era;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::client::{Person, connect, list_files};
use crate::http;
use crate::stand::Stand;

const JSON: &str = "application/json, text/event-stream";

fn initialize(stand: &Stand) -> RequestBuilder {
    let info = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    http().post(stand.server.url()).header("accept", JSON).json(&body)
}

fn challenge(response: &Response) -> String {
    response.headers()["www-authenticate"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn without_a_token_the_way_to_one_is_shown() {
    let stand = Stand::new().await;
    let response = initialize(&stand).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    let challenge = challenge(&response);
    assert!(!challenge.contains("error="), "{challenge}");
    let (_, url) = challenge.split_once("resource_metadata=\"").unwrap();
    let url = url.split('"').next().unwrap();
    let metadata: Value = http().get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(metadata["resource"], stand.server.url());
    assert_eq!(metadata["authorization_servers"], json!([stand.id.base_url()]));
    assert_eq!(metadata["scopes_supported"], json!(["mcp"]));
}

#[tokio::test]
async fn a_token_must_be_an_honest_one_for_this_server() {
    let stand = Stand::new().await;
    let past = 1_500_000_000;
    let elsewhere = stand.id.access_token_for("alice", "http://127.0.0.1:1/mcp").unwrap();
    let id_token_type = Forge::new().header("typ", "JWT");
    let tokens = [
        ("another audience", elsewhere),
        ("no audience", stand.forged(&Forge::new().without("aud"))),
        ("another issuer", stand.forged(&Forge::new().claim("iss", "http://127.0.0.9:1"))),
        ("expired", stand.forged(&Forge::new().claim("exp", past))),
        ("no expiry", stand.forged(&Forge::new().without("exp"))),
        ("no subject", stand.forged(&Forge::new().without("sub"))),
        ("no access token", stand.forged(&id_token_type)),
        ("nonsense", "nonsense".to_owned()),
    ];
    let unproven = Forge::unproven().map(|(what, forge)| (what, stand.forged(&forge)));
    for (what, token) in tokens.into_iter().chain(unproven) {
        let response = initialize(&stand).bearer_auth(token).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{what}");
        assert!(challenge(&response).contains("error=\"invalid_token\""), "{what}");
    }
    let response = initialize(&stand)
        .bearer_auth(stand.forged(&Forge::new().claim("scope", "other")))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    assert!(challenge(&response).contains("error=\"insufficient_scope\""));
    let response = initialize(&stand).bearer_auth(stand.token("alice")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(stand.consentry.calls("resolve").is_empty());
}

/// rmcp would serve them: a session id in other hands gives nothing, neither calls nor news.
#[tokio::test]
async fn a_session_belongs_to_the_user_who_opened_it() {
    let stand = Stand::new().await;
    let response = initialize(&stand).bearer_auth(stand.token("alice")).send().await.unwrap();
    let session = response.headers()["mcp-session-id"].clone();
    let url = stand.server.url();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let as_user = |request: RequestBuilder, user: &str| {
        let request = request.header("accept", JSON).header("mcp-session-id", session.clone());
        request.bearer_auth(stand.token(user)).send()
    };
    for request in [http().post(&url).json(&list), http().get(&url), http().delete(&url)] {
        assert_eq!(as_user(request, "bob").await.unwrap().status(), StatusCode::NOT_FOUND);
    }
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(
        as_user(http().post(&url).json(&ready), "alice").await.unwrap().status(),
        StatusCode::ACCEPTED
    );
    assert_eq!(as_user(http().post(&url).json(&list), "alice").await.unwrap().status(), StatusCode::OK);
}

/// Of two sessions that the same user has, only the one that was asked is told.
#[tokio::test]
async fn the_news_go_to_the_session_that_was_asked() {
    let stand = Stand::new().await;
    stand.consentry.prefer_errors();
    let person = || Person::declaring(json!({ "url": {} }), Era::Legacy);
    let (asking, other) = (stand.client(person()).await, stand.client(person()).await);
    let bob = connect(&stand.server.url(), &stand.token("bob"), person()).await;
    list_files(&asking).await.unwrap_err();
    stand.consentry.becomes("completed");
    asking.service().is_told(1).await;
    for client in [&other, &bob] {
        // An answered call: whatever was sent to that session before has come by now.
        list_files(client).await.unwrap();
        assert!(client.service().told.borrow().is_empty());
    }
}

#[tokio::test]
async fn only_its_own_host_and_pages_on_this_machine() {
    let stand = Stand::new().await;
    let from = |name: &'static str, value: &'static str| {
        initialize(&stand).bearer_auth(stand.token("alice")).header(name, value).send()
    };
    assert_eq!(from("host", "rebound.example").await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(from("origin", "https://evil.example").await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(from("origin", "null").await.unwrap().status(), StatusCode::FORBIDDEN);
    let inspector = from("origin", "http://localhost:6274").await.unwrap();
    assert_eq!(inspector.status(), StatusCode::OK);
    assert_eq!(inspector.headers()["access-control-allow-origin"], "http://localhost:6274");
    let foreign = initialize(&stand).header("origin", "http://localhost.evil.example").send().await.unwrap();
    assert!(!foreign.headers().contains_key("access-control-allow-origin"));
}

/// 2026-07-28 has no `elicitationId`, not even an empty one.
#[tokio::test]
async fn the_modern_era_has_no_elicitation_id() {
    let stand = Stand::new().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "url": {} } },
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    let params = json!({ "name": "list_files", "arguments": {}, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = http().post(stand.server.url()).header("accept", JSON).json(&body);
    let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/call");
    let request = request.header("mcp-name", "list_files").bearer_auth(stand.token("alice"));
    let answer = request.send().await.unwrap().text().await.unwrap();
    assert!(answer.contains("input_required") && answer.contains("elicitation/create"), "{answer}");
    assert!(!answer.contains("elicitationId\""), "{answer}");
}
