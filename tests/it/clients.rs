//! The clients in other languages (`clients/`), against the real server: each plays an MCP server's whole story while the test is
//! the user. (Their types are those of `docs/openapi.json`: `scripts/generate --check`.)

use consentry::{config::Webhook, secret::Secret};
use consentry_fakes::{Listen, Received, Sink};
use serde_json::{Value, json};

use crate::{
    engine::{Database, Engine},
    peers::program::{Peer, command, root},
    webhooks::receiver::{SECRETS, secret},
    world::{FILES, World},
};

const LANGUAGES: [&str; 2] = ["typescript", "python"];

/// Starts the story in this language.
fn story(language: &str, given: &Value) -> Peer {
    let script = if language == "python" { "tests/story.py" } else { "tests/story.ts" };
    let folder = root().join("clients").join(language);
    let mut command = command(script);
    command.arg(script).arg(given.to_string()).current_dir(&folder);
    command.env("PYTHONPATH", &folder).env("PYTHONDONTWRITEBYTECODE", "1");
    Peer::run(script, command)
}

/// A post as it came, and what was done to it; each is judged by the client.
fn posts(received: &Received) -> Vec<Value> {
    let headers = received.headers.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    let (body, headers) = (received.text(), Value::from(serde_json::Map::from_iter(headers)));
    let now: i64 = headers["webhook-timestamp"].as_str().unwrap().parse().unwrap();
    let post = json!({ "secret": secret(SECRETS[0]), "headers": headers, "body": body, "now": now });
    let but = |name: &str, value: Value| {
        let mut changed = post.clone();
        changed[name] = value;
        changed
    };
    let mut unsigned = post["headers"].clone();
    unsigned.as_object_mut().unwrap().remove("webhook-signature");
    let mut renamed = post["headers"].clone();
    renamed["webhook-id"] = "another".into();
    vec![
        post.clone(),
        but("now", (now + 299).into()),
        but("body", format!("{body} ").into()),
        but("secret", secret(SECRETS[1]).into()),
        but("now", (now + 301).into()),
        but("now", (now - 301).into()),
        but("headers", unsigned),
        but("headers", renamed),
    ]
}

async fn one_post() -> (Received, String) {
    let sink = Sink::start(Listen::on([127, 0, 0, 5])).await.unwrap();
    let url = format!("{}/hook", sink.base_url());
    let world = World::start_with(Database::start(Engine::Sqlite).await, |settings| {
        settings.mcp_servers[0].webhook = Some(Webhook {
            url: url.parse().unwrap(),
            secret: Secret::new(secret(SECRETS[0])),
            former_secret: None,
        });
    })
    .await;
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    api.post(&format!("/v1/elicitations/{}/cancel", link.id), &json!({})).await.expect(200);
    world.until(|| async { !sink.log().entries().is_empty() }).await;
    (sink.log().entries().remove(0), link.id)
}

/// R113 for the posts; everything else is the contract of the API.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r113_the_clients_of_other_languages_tell_one_story() {
    let (received, _) = one_post().await;
    let posts = posts(&received);
    for language in LANGUAGES {
        let world = World::start(Database::start(Engine::Sqlite).await).await;
        let ("an API key", key) = &world.secrets()[0] else { panic!("of the first MCP server") };
        let given = json!({
            "url": world.internal_url, "api_key": key, "provider": FILES, "sub": "alice", "posts": posts,
        });
        let teller = story(language, &given);
        assert_eq!(teller.tells("providers").await["ids"], json!([FILES, "example-notes"]));
        let asked = teller.tells("asked").await;
        assert_eq!(asked["kind"], "elicitation_request");
        assert_eq!(teller.tells("accepted").await["state"], "pending");
        let mut alice = world.browser();
        alice.opens(asked["url"].as_str().unwrap()).await.is("sign-in");
        alice.signs_in("alice").await.is("ready");
        alice.connects("octocat").await.is("connected");

        assert_eq!(teller.tells("over").await["state"], "completed");
        assert_eq!(teller.tells("ready").await["account"], "octocat");
        let kept = teller.tells("connections").await;
        assert_eq!(kept["ids"], json!([kept["one"]]));
        for (event, name, value) in [
            ("reported", "status", json!("active")),
            ("several", "status", json!("ready")),
            ("created", "same", json!(true)),
            ("created", "state", json!("pending")),
            ("failed", "kind", json!("tool_result")),
            ("cancelled", "state", json!("cancelled")),
            ("refused", "kind", json!("input_required")),
            ("refused", "outcome", json!("declined")),
        ] {
            assert_eq!(teller.tells(event).await[name], value, "{language} {event}");
        }
        teller.tells("end").await;
        let problems = teller.events("problem");
        let codes: Vec<_> =
            problems.iter().map(|one| (one["status"].as_i64(), one["code"].as_str())).collect();
        let expected = [
            (400, "scope_not_allowed"),
            (400, "request_state_invalid"),
            (404, "not_found"),
            (401, "unauthorized"),
            (401, "unauthorized"),
        ];
        assert_eq!(codes, expected.map(|(status, code)| (Some(status), Some(code))), "{language}");
        let judged = teller.events("post");
        for (number, post) in (0..).zip(&judged) {
            assert_eq!(post.get("refused").is_none(), number < 2, "{language} {number} {post}");
        }
        assert_eq!(judged.len(), posts.len());
        assert_eq!(judged[0]["type"], "elicitation.cancelled");

        // Taken up again after each one, nothing was lost and nothing came twice.
        teller.until("a refusal", |one| (one["type"] == "elicitation.declined").then_some(())).await;
        let signals = teller.events("signal");
        let numbers: Vec<_> = signals.iter().map(|one| one["sequence"].as_u64().unwrap()).collect();
        let expected: Vec<u64> = (1..).take(numbers.len()).collect();
        assert_eq!(numbers, expected, "{language}");
        let completed = signals.iter().find(|one| one["type"] == "elicitation.completed").unwrap();
        assert_eq!(completed["mcp"]["params"]["elicitationId"], asked["id"]);
    }
}
