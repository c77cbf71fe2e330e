//! What an MCP client needs: registering itself, or being described by a document; PKCE, `resource`, refresh.

use consentry_fakes::Listen;
use consentry_fakes::{Answer, AuthorizationServer, Refresh, Sink};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::client::*;

const NATIVE: &str = "http://127.0.0.1:33418/callback";

async fn register(id: &AuthorizationServer, metadata: &Value) -> (u16, Value) {
    let request = http().post(format!("{}/register", id.base_url())).json(metadata);
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap_or(Value::Null))
}

fn request(client_id: &str, redirect_uri: &str) -> Vec<(String, String)> {
    let mut parameters = with("mcp", "client_id", client_id);
    parameters.retain(|(name, _)| name != "redirect_uri");
    parameters.push(("redirect_uri".to_owned(), redirect_uri.to_owned()));
    parameters.push(("resource".to_owned(), "https://files.test/mcp".to_owned()));
    parameters
}

/// The whole flow of a public client.
async fn connect(id: &AuthorizationServer, client_id: &str, redirect_uri: &str) -> Value {
    let url = authorize_url(id.base_url(), &request(client_id, redirect_uri));
    let code = query(&id.approve(&url, "alice").await.unwrap(), "code").unwrap();
    let mut form = code_form(&code);
    form.retain(|(name, _)| *name != "redirect_uri");
    form.extend([
        ("redirect_uri", redirect_uri),
        ("client_id", client_id),
        ("resource", "https://files.test/mcp"),
    ]);
    let (status, body) = token_as(id.base_url(), &form, None).await;
    assert_eq!(status, 200, "{body}");
    body
}

#[tokio::test]
async fn a_client_registers_itself_and_connects() {
    let id = authorization_server().await;
    id.configure(|settings| settings.refresh = Refresh::Rotating);
    let asked = json!({
        "client_name": "Terminal", "redirect_uris": [NATIVE], "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
    });
    let (status, registered) = register(&id, &asked).await;
    assert_eq!(status, 201, "{registered}");
    assert!(registered.get("client_secret").is_none());
    let client_id = registered["client_id"].as_str().unwrap();
    let tokens = connect(&id, client_id, NATIVE).await;
    let refresh_token = tokens["refresh_token"].as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("client_id", client_id)];
    assert_eq!(token_as(id.base_url(), &form, None).await.0, 200);
}

#[tokio::test]
async fn a_self_registered_client_never_passes_unasked() {
    let id = authorization_server().await;
    let (_, registered) =
        register(&id, &json!({ "redirect_uris": [NATIVE], "token_endpoint_auth_method": "none" })).await;
    let url = authorize_url(id.base_url(), &request(registered["client_id"].as_str().unwrap(), NATIVE));
    let mut browser = Browser::default();
    let page = browser.open(&url).await;
    assert!(page.text.contains("https://files.test/mcp"), "it says for what");
    assert_eq!(browser.press(id.base_url(), &page, &[("person", "alice")]).await.status, 303);
    assert_eq!(browser.open(&url).await.status, 200, "signed in, and asked all the same");
}

#[tokio::test]
async fn bad_registrations_are_refused() {
    let id = authorization_server().await;
    for (metadata, error) in [
        (json!({}), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["http://client.test/cb"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["javascript:alert(1)"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["https://client.test/cb#x"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": "https://client.test/cb" }), "invalid_client_metadata"),
        (json!({ "redirect_uris": [NATIVE], "grant_types": ["implicit"] }), "invalid_client_metadata"),
        (
            json!({ "redirect_uris": [NATIVE], "token_endpoint_auth_method": "tls" }),
            "invalid_client_metadata",
        ),
    ] {
        let (status, body) = register(&id, &metadata).await;
        assert_eq!((status, &body["error"]), (400, &json!(error)), "{metadata}");
    }
    let (_, confidential) = register(&id, &json!({ "redirect_uris": [NATIVE] })).await;
    assert_eq!(confidential["token_endpoint_auth_method"], "client_secret_basic");
    assert!(confidential["client_secret"].is_string());
    id.configure_identity(|identity| identity.dynamic_registration = false);
    assert_eq!(register(&id, &json!({ "redirect_uris": [NATIVE] })).await.0, 404);
}

#[tokio::test]
async fn a_client_is_described_by_the_document_at_its_id() {
    let id = authorization_server().await;
    let host = Sink::start(Listen::on([127, 0, 0, 5])).await.unwrap();
    let client_id = format!("{}/client.json", host.base_url());
    let document = |client_id: &str| json!({ "client_id": client_id, "client_name": "Agent", "redirect_uris": ["http://127.0.0.1/callback"] });
    let url = authorize_url(id.base_url(), &request(&client_id, NATIVE));

    host.next_answer(Answer::json(200, &document("https://other.test/client.json")));
    assert!(id.approve(&url, "alice").await.is_err(), "the document names another id");
    host.next_answer(Answer::redirect("http://127.0.0.9:1/"));
    assert!(id.approve(&url, "alice").await.is_err(), "redirects are not followed");
    host.next_answer(Answer::json(200, &document(&client_id)));
    let elsewhere = authorize_url(id.base_url(), &request(&client_id, "http://127.0.0.1:33418/elsewhere"));
    assert!(id.approve(&elsewhere, "alice").await.is_err(), "not in the document");
    let any_port = "http://127.0.0.1:33418/callback";
    let tokens = connect(&id, &client_id, any_port).await;
    assert_eq!(tokens["scope"], "mcp");
    assert_eq!(id.client(&client_id).unwrap().name, "Agent");
}

#[tokio::test]
async fn without_documents_a_url_is_no_client() {
    let id = authorization_server().await;
    id.configure_identity(|identity| identity.client_documents = false);
    let host = Sink::start(Listen::on([127, 0, 0, 5])).await.unwrap();
    let client_id = format!("{}/client.json", host.base_url());
    assert!(id.approve(&authorize_url(id.base_url(), &request(&client_id, NATIVE)), "alice").await.is_err());
    assert!(host.log().is_empty());
}

#[tokio::test]
async fn a_client_in_a_web_page_may_read_the_open_endpoints_only() {
    let id = authorization_server().await;
    let open =
        |path: &str| http().get(format!("{}{path}", id.base_url())).header("origin", "http://localhost:6274");
    let allowed =
        |response: &reqwest::Response| response.headers().contains_key("access-control-allow-origin");
    for path in ["/.well-known/oauth-authorization-server", "/jwks", "/token"] {
        assert!(allowed(&open(path).send().await.unwrap()), "{path}");
    }
    for path in ["/authorize", "/sign-in"] {
        assert!(!allowed(&open(path).send().await.unwrap()), "{path}");
    }
    let preflight = http()
        .request(reqwest::Method::OPTIONS, format!("{}/token", id.base_url()))
        .header("origin", "http://localhost:6274")
        .header("access-control-request-method", "POST");
    assert_eq!(preflight.send().await.unwrap().status(), 204);
}
