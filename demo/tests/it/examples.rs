//! The MCP servers of `examples/`, as their READMEs have them started, called by a client in another language than theirs; and
//! what must hold of each of them whatever it is written in.

use consentry_elicitation::Link;
use demo::{Guest, Options, World};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    http,
    peers::text,
    program::{Peer, command, root},
    whole::browse,
};

const LANGUAGES: [&str; 2] = ["typescript", "python"];

/// Everybody, and an example in its place.
struct Stand {
    world: World,
    guest: Guest,
    _example: Peer,
}

impl Stand {
    async fn new(language: &'static str) -> Self {
        Self::with(language, &[]).await
    }

    async fn with(language: &'static str, more: &[(&str, &str)]) -> Self {
        let free = TcpListener::bind("127.0.0.5:0").await.unwrap().local_addr().unwrap();
        let world = World::start(Options { guest: Some(free), ..Options::default() }).await.unwrap();
        let guest = world.guest.clone().unwrap();
        let variables = [
            ("RESOURCE", guest.resource.as_str()),
            ("ISSUER", world.example_id.base_url()),
            ("CONSENTRY_URL", &world.consentry.internal_url),
            ("CONSENTRY_API_KEY", &guest.api_key),
            ("GITHUB_API", world.example_files.base_url()),
        ];
        let example = start(language, &[&variables, more].concat());
        let ready = |line: &Value| line.as_str()?.starts_with("MCP endpoint: ").then_some(());
        example.until("its endpoint", ready).await;
        Self { world, guest, _example: example }
    }

    fn token(&self, person: &str) -> String {
        self.world.guest_token_for(person).unwrap().unwrap()
    }

    /// A client on the SDK of another language.
    fn client(&self, script: &'static str, more: &Value) -> Peer {
        let mut given =
            json!({ "url": self.guest.resource, "token": self.token("alice"), "tool": "list_repositories" });
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Peer::start(script, &given)
    }

    async fn post(&self, token: Option<&str>, session: Option<&str>) -> reqwest::Response {
        let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" } } });
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        let body = if session.is_some() { list } else { initialize };
        let mut request = http().post(&self.guest.resource).json(&body);
        request = request.header("accept", "application/json, text/event-stream");
        request = session.into_iter().fold(request, |request, id| request.header("mcp-session-id", id));
        request = token.into_iter().fold(request, reqwest::RequestBuilder::bearer_auth);
        request.send().await.unwrap()
    }
}

fn start(language: &'static str, variables: &[(&str, &str)]) -> Peer {
    let (script, arguments): (_, &[_]) = match language {
        "python" => ("github_example.py", &["-m", "github_example"]),
        _ => ("src/main.ts", &["src/main.ts"]),
    };
    let mut command = command(script);
    command.args(arguments).current_dir(root().join("examples").join(language)).env_clear();
    command.env("PYTHONPATH", root().join("clients/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.envs(variables.iter().copied());
    Peer::run(script, command)
}

/// Clients of the other language, in the legacy era and the modern one.
fn clients(language: &str) -> [(&'static str, Value); 2] {
    let (script, modern) = match language {
        "python" => ("mcp-client.mjs", json!({ "era": "modern", "sdk": 2 })),
        _ => ("mcp_client.py", json!({ "era": "modern" })),
    };
    [(script, json!({})), (script, modern)]
}

/// E5, E7, E39: asked once in the form of its era, told by nobody but Consentry that it is done, and given the result; the first
/// client dies while it is asked, which leaves its question as it is.
#[tokio::test(flavor = "multi_thread")]
async fn e5_e39_an_example_asks_and_gives_the_repositories() {
    for language in LANGUAGES {
        for (script, more) in clients(language) {
            let stand = Stand::new(language).await;
            let dies = stand.client(script, &more);
            let left = dies.tells("elicitation").await["url"].clone();
            drop(dies);
            let client = stand.client(script, &more);
            let asked = client.tells("elicitation").await;
            let link = asked["url"].as_str().unwrap();
            assert_eq!(Link::parse(link).unwrap().host(), "localhost");
            assert_eq!(asked["message"], "Connect GitHub to list your repositories.");
            let modern = more["era"] == "modern";
            assert_eq!(asked["elicitation_id"].is_null(), modern, "{asked}");

            assert_eq!(browse(link, "bob", "hubot").await.page(), "wrong-account");
            assert!(client.events("result").is_empty(), "{language}");
            assert_eq!(browse(link, "alice", "octocat").await.page(), "connected");
            let result = client.tells("result").await;
            assert_eq!(
                text(&result),
                "- octocat/octocat-notes.txt\n- octocat/octocat-budget.ods",
                "{language} {more}"
            );
            assert_eq!(client.tells("end").await["missing"], json!([]), "{language} {more}");
            assert_eq!(client.events("elicitation").len(), 1);
            assert_eq!(client.events("complete").len(), usize::from(!modern));
            // The same question, found again by the OAuth client; or another, of a session that is gone, answered by the connection.
            let page = browse(left.as_str().unwrap(), "alice", "octocat").await.page();
            assert_eq!(page, "connected", "{language} {more}");
            let next = stand.client(script, &more);
            assert!(text(&next.tells("result").await).contains("octocat"), "{language}");
            assert!(next.events("elicitation").is_empty());
            stand.world.stop().await;
        }
    }
}

/// E13 to E16: the error with its link, and the notification when it is done, to the session that was asked.
#[tokio::test(flavor = "multi_thread")]
async fn e14_e16_an_example_that_prefers_the_error_sends_it_and_tells() {
    for language in LANGUAGES {
        let stand = Stand::with(language, &[("PREFER", "error")]).await;
        let (script, more) = clients(language)[0].clone();
        let client = stand.client(script, &more);
        let asked = client.tells("elicitation").await;
        assert_eq!(asked["via"], "error", "{asked}");
        assert_eq!(browse(asked["url"].as_str().unwrap(), "alice", "octocat").await.page(), "connected");
        assert!(text(&client.tells("result").await).contains("octocat"), "{language}");
        assert_eq!(client.tells("complete").await["elicitation_id"], asked["elicitation_id"]);
        stand.world.stop().await;
    }
}

/// E7, E21: no, closed, failed, not declared, and never opened: each ends the call with words.
#[tokio::test(flavor = "multi_thread")]
async fn e7_e21_an_example_ends_the_call_when_nobody_connects() {
    for language in LANGUAGES {
        let stand = Stand::with(language, &[("PATIENCE", "1")]).await;
        for (more, words) in [
            (json!({ "action": "decline" }), "declined"),
            (json!({ "action": "cancel" }), "not connected"),
            (json!({ "action": "error" }), "/connect?elicitationId="),
            (json!({ "elicitation": null }), "/connect?elicitationId="),
            (json!({ "elicitation": { "form": {} } }), "/connect?elicitationId="),
            (json!({ "completion_ms": 1 }), "/connect?elicitationId="),
        ] {
            for (script, era) in &clients(language) {
                let mut given = more.as_object().unwrap().clone();
                given.extend(era.as_object().unwrap().clone());
                // What fails in the modern era never comes to the server.
                if given.get("action") == Some(&json!("error")) && given.contains_key("era") {
                    continue;
                }
                let client = stand.client(script, &given.clone().into());
                let result = client.tells("result").await;
                assert_eq!(result["is_error"], true, "{language} {given:?} {result}");
                assert!(text(&result).contains(words), "{language} {given:?} {result}");
                let asks = more.get("elicitation").is_none();
                assert_eq!(client.events("elicitation").len(), usize::from(asks), "{language} {given:?}");
            }
        }
        stand.world.stop().await;
    }
}

/// A6, A10, P17 to P19: nobody without a token for this server, and nobody in another's session.
#[tokio::test(flavor = "multi_thread")]
async fn a10_p19_an_example_lets_in_its_users_alone_and_each_into_their_own_session() {
    for language in LANGUAGES {
        let stand = Stand::new(language).await;
        let refused = stand.post(None, None).await;
        assert_eq!(refused.status(), 401, "{language}");
        let challenge = refused.headers()["www-authenticate"].to_str().unwrap().to_owned();
        let metadata = challenge.split("resource_metadata=\"").nth(1).unwrap().split('"').next().unwrap();
        let metadata: Value = http().get(metadata).send().await.unwrap().json().await.unwrap();
        assert_eq!(metadata["resource"], stand.guest.resource, "{language}");
        assert_eq!(
            metadata["authorization_servers"],
            json!([stand.world.example_id.base_url()]),
            "{language}"
        );
        let others = stand.world.token_for("alice").unwrap();
        assert_eq!(stand.post(Some(&others), None).await.status(), 401, "{language}: of another resource");

        let (alice, bob) = (stand.token("alice"), stand.token("bob"));
        let begun = stand.post(Some(&alice), None).await;
        assert_eq!(begun.status(), 200, "{language}");
        let session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        assert_eq!(stand.post(Some(&alice), Some(&session)).await.status(), 200, "{language}");
        assert_eq!(stand.post(Some(&bob), Some(&session)).await.status(), 404, "{language}");
        let evil =
            http().post(&stand.guest.resource).bearer_auth(&alice).header("origin", "https://evil.example");
        assert_eq!(evil.json(&json!({})).send().await.unwrap().status(), 403, "{language}: M26");
        stand.world.stop().await;
    }
}
