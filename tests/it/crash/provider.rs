//! A provider that is slow, huge, cut, confused or somewhere else, seen by the MCP server: "come again", by every kind of
//! nonsense, and never a question to the user, whose consent is as good as it was.

use std::time::Duration;

use consentry_fakes::Answer;
use serde_json::json;

use super::{process::until, scene::Scene};
use crate::{engine::Engine, world::FILES};

/// How long an answer may take: the limit of one call to the provider in these settings, and the machine.
const WITHIN: Duration = Duration::from_secs(12);

fn nonsense() -> Vec<(&'static str, Answer)> {
    let body = |text: &str| Answer::body(200, "application/json", text.to_owned());
    vec![
        ("nothing at all", Answer::drop_connection()),
        ("too late", Answer::status(200).delayed(Duration::from_secs(30))),
        (
            "byte by byte",
            Answer::trickle(Duration::from_millis(500), "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"),
        ),
        ("without end", Answer::endless("application/json")),
        ("cut", Answer::truncated("application/json", r#"{"access_token":"#)),
        ("a page", Answer::html(200)),
        ("a list", body("[]")),
        ("somewhere else", Answer::redirect("http://127.0.0.4:9/token")),
        ("later", Answer::too_many("1")),
        ("its own fault", Answer::json(500, &json!({ "error": "server_error" }))),
        ("our fault", Answer::error(401, "invalid_client")),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nonsense_at_a_refresh_asks_nobody_to_connect_again() {
    let mut scene = Scene::start(Engine::Sqlite).await;
    scene.plan.more = "[outbound]\ntimeout = \"2s\"\n\n[refresh]\nwait = \"5s\"\ntrial = \"1s\"\n".to_owned();
    let process = scene.serves().await;
    let user = scene.user(&process).await;
    let api = scene.api(&process);
    for (what, answer) in nonsense() {
        scene.expires(&user).await;
        // What was learnt of the one before is forgotten with time.
        scene.raw().await.run("UPDATE connections SET next_attempt_at_ms = NULL, failures = 0").await;
        scene.files.always_answer("/token", answer);
        let (question, before) = (api.question(&user.sub, FILES), scene.refreshes_of(&user));
        // A provider that failed is left alone for a while; then it is asked, and talks nonsense again.
        let reply = until("the provider is asked", async || {
            let asked = api.post("/v1/credentials/resolve", &question);
            let reply = tokio::time::timeout(WITHIN, asked).await.expect(what);
            assert_eq!(reply.status, 503, "{what}: {}", reply.body);
            assert_eq!(reply.body["code"], "provider_unavailable", "{what}");
            (scene.refreshes_of(&user) > before).then_some(reply)
        })
        .await;
        let again: u64 = reply.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=3600).contains(&again), "{what}: {again}");
        let shown = api.get(&format!("/v1/connections/{}", user.connection)).await.expect(200);
        assert_eq!(shown["status"], "active", "{what}");
    }
    scene.files.answer_normally("/token");
    scene.raw().await.run("UPDATE connections SET next_attempt_at_ms = NULL").await;
    let answer = until("it works again by itself", async || {
        let reply = api.post("/v1/credentials/resolve", &api.question(&user.sub, FILES)).await;
        (reply.status == 200).then_some(reply.body)
    })
    .await;
    assert_eq!(answer["status"], "ready", "{answer}");
    assert!(
        scene.told(&process, &user.connection).await.iter().all(|kind| kind != "connection.needs_reconnect")
    );
}
