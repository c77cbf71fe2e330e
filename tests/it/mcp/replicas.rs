//! Two processes on one Postgres: a session of the one goes on at the other, and a client's answer that lands there is
//! heard by the call that waits here.

use consentry_elicitation::{Capability, ElicitAction::Accept, Prefer};
use reqwest::Method;
use serde_json::{Value, json};

use super::desk::{Desk, answered, data, enabled, link, only_request, options};
use crate::{
    engine::{Database, Engine},
    world::FILES,
};

fn files() -> Value {
    json!({ "server": "files", "provider": FILES })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_session_goes_on_at_another_process_and_its_answers_are_heard() {
    let desk = Desk::start(Database::start(Engine::Postgres).await).await;
    let other = desk.world.replica_with(enabled).await;
    let mut here = desk.session("alice", Capability::BOTH).await;
    let mut there = here.at(&other);
    assert_eq!(there.says("ping", json!({})).await.status, 200);
    let mut talk = here.begins_call("connect", json!({})).await;
    talk.agent = there.clone();
    let (id, params) = talk.question().await;
    let place = options(&params, "connection")[0].0.clone();
    talk.answers(&id, Accept, Some(json!({ "connection": place }))).await;
    let (id, params) = talk.question().await;
    talk.answers(&id, Accept, None).await;
    let mut alice = desk.world.browser();
    desk.connects(&mut alice, "alice", &link(&params), "octocat").await;
    assert_eq!(talk.completion().await, params["elicitationId"]);
    data(&talk.result().await);
    // Ended there, it is unknown here.
    assert_eq!(there.request(Method::DELETE).send().await.unwrap().status(), 204);
    assert_eq!(here.says("ping", json!({})).await.status, 404);
    other.stops().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn m20_a_round_goes_on_at_another_process() {
    let desk = Desk::start(Database::start(Engine::Postgres).await).await;
    let other = desk.world.replica_with(enabled).await;
    let mut here = desk.client("alice", Capability::BOTH);
    let mut there = here.at(&other);
    let form = here.calls("connect", &json!({}), &json!({})).await;
    let chosen = answered(&form, Accept, Some(json!({ "connection": format!("files/{FILES}") })));
    let asked = there.calls("connect", &json!({}), &chosen).await;
    let agreed = answered(&asked, Accept, None);
    let arguments = json!({});
    let link = link(&only_request(&asked).1);
    let mut alice = desk.world.browser();
    let (result, ()) = tokio::join!(
        here.calls("connect", &arguments, &agreed),
        desk.connects(&mut alice, "alice", &link, "octocat"),
    );
    assert_eq!(data(&result)["connection"]["account"], "octocat");
    other.stops().await;
}

/// E14: also when the callback came to another process than the stream.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e14_a_stream_at_another_process_is_told_of_the_completion() {
    let by_error = |settings: &mut consentry::config::Settings| {
        enabled(settings);
        settings.mcp.iter_mut().for_each(|mcp| mcp.legacy_links = Prefer::Error);
    };
    let desk = Desk::start_with(Database::start(Engine::Postgres).await, by_error).await;
    let other = desk.world.replica_with(by_error).await;
    let mut here = desk.session("alice", Capability::BOTH).await;
    let mut stream = here.at(&other).listens().await;
    let error = here.begins_call("connect", files()).await.result().await;
    let asked = error["body"]["data"]["elicitations"][0].clone();
    let mut alice = desk.world.browser();
    desk.connects(&mut alice, "alice", &link(&asked), "octocat").await;
    assert_eq!(stream.message().await["params"]["elicitationId"], asked["elicitationId"]);
    drop(stream);
    other.stops().await;
}
