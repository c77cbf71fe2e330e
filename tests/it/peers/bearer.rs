//! Access tokens that `oidc-provider` gives to MCP clients, passed on as `subject_token` (RFC 9068).

use consentry_fakes::{Answer, Listen, Sink};
use serde_json::{Value, json};
use url::Url;

use super::stand::{RESOURCE, Stand};
use crate::{
    browser::driver::{Browsers, Profile},
    world::FILES,
};

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// R109: the token of another resource says nothing here, nor does an ID token.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_token_for_the_mcp_server_says_who_it_is_and_one_for_another_does_not() {
    let (stand, browsers) = tokio::join!(Stand::start(), Browsers::start());
    let alice = browsers.open().await;
    let agent = Agent::register(&stand).await;
    agent.is_opened(&stand, &alice, RESOURCE).await;
    alice.gives_the_name("alice").await;
    let tokens = agent.is_let_in(&stand, &alice, RESOURCE).await;
    let answer = resolve(&stand, &tokens["access_token"]).await.expect(200);
    assert_eq!(answer["status"], "action_required", "{answer}");
    let elicitation = stand.api.elicitation(answer["elicitation"]["id"].as_str().unwrap()).await;
    assert_eq!(elicitation["subject"], json!({ "issuer": stand.id.issuer, "sub": "alice" }));

    let other = "https://notes.example/mcp";
    agent.is_opened(&stand, &alice, other).await;
    let others = agent.is_let_in(&stand, &alice, other).await;
    let mut forged = tokens["access_token"].as_str().unwrap().to_owned();
    let flipped = if forged.pop() == Some('A') { "Q" } else { "A" };
    forged.push_str(flipped);
    for (what, token) in [
        ("of another resource", &others["access_token"]),
        ("an ID token", &tokens["id_token"]),
        ("with another signature", &json!(forged)),
    ] {
        assert!(token.is_string(), "{what}");
        let refused = resolve(&stand, token).await.expect(401);
        assert_eq!(refused["code"], "subject_token_invalid", "{what}: {refused}");
    }
    stand.ends().await;
}

async fn resolve(stand: &Stand, token: &Value) -> crate::world::api::Answer {
    let mut question = stand.api.question("alice", FILES);
    question.as_object_mut().unwrap().remove("subject");
    question["subject_token"] = token.clone();
    stand.api.post("/v1/credentials/resolve", &question).await
}

/// An MCP client: registers itself, and signs its user in for one resource.
struct Agent {
    id: String,
    back: String,
    _page: Sink,
}

impl Agent {
    async fn register(stand: &Stand) -> Self {
        let page = Sink::start(Listen::on([127, 0, 0, 5])).await.unwrap();
        page.always_answer(Answer::body(200, "text/html", "<!doctype html><p id=back>You can close this."));
        let back = format!("{}/back", page.base_url());
        let asked = json!({ "redirect_uris": [back], "token_endpoint_auth_method": "none" });
        let request = stand.client.post(stand.id.endpoint("registration_endpoint")).json(&asked);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        let id = answer["client_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        Self { id, back, _page: page }
    }

    /// Sends the browser to the authorization server.
    async fn is_opened(&self, stand: &Stand, browser: &Profile, resource: &str) {
        let asked = [
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", &self.back),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("resource", resource),
            ("scope", "openid mcp"),
        ];
        let authorize = Url::parse_with_params(stand.id.endpoint("authorization_endpoint"), asked).unwrap();
        browser.open(authorize.as_str()).await;
    }

    /// The browser agrees; the code becomes tokens.
    async fn is_let_in(&self, stand: &Stand, browser: &Profile, resource: &str) -> Value {
        browser.consents().await;
        browser.find("#back").await;
        let landed: Url = browser.url().await.parse().unwrap();
        let code = landed.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &self.back),
            ("client_id", &self.id),
            ("code_verifier", VERIFIER),
            ("resource", resource),
        ];
        let request = stand.client.post(stand.id.endpoint("token_endpoint")).form(&form);
        request.send().await.unwrap().json().await.unwrap()
    }
}
