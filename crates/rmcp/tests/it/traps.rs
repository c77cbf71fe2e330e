//! The twelve things that rmcp 3.11 leaves to its user. Each test fails when its guard is taken out.

use std::time::Duration;

use consentry::clock::Clock;
use consentry_elicitation::Capability;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::{
    client::{ACCEPT, Answers, Client, Stream},
    http,
    played::{LINK, Played, error, needed, ready, request, round, waiting},
    stand::Stand,
};

fn url() -> Value {
    json!({ "url": {} })
}

/// M8, M18, E7: rmcp sends a request for input to a client that has declared nothing.
#[tokio::test]
async fn trap_1_nobody_is_asked_who_has_not_declared_it() {
    for (modern, reply) in [(true, round()), (false, request()), (false, error())] {
        let (_played, door) = Played::door(move |_| needed(&reply)).await;
        for declares in [Value::Null, json!({}), json!({ "form": {} })] {
            let token = door.token("alice");
            let client = if modern {
                Client::modern(&door.url, &token, declares).await
            } else {
                Client::legacy(&door.url, &token, declares).await
            };
            let called = client.call(ACCEPT).await;
            assert!(called.is_error() && called.text().contains(LINK), "{}", called.message);
        }
    }
}

/// M16: rmcp sends the legacy error and notification to whoever speaks 2026-07-28.
#[tokio::test]
async fn trap_2_the_legacy_error_and_news_stay_in_their_era() {
    let (played, door) = Played::door(|_| needed(&error())).await;
    let client = Client::modern(&door.url, &door.token("alice"), url()).await;
    let called = client.call(ACCEPT).await;
    assert!(called.is_error() && called.text().contains(LINK), "{}", called.message);

    // A legacy session that waits for news of the same question shows that they are told at all.
    let legacy = Client::legacy(&door.url, &door.token("alice"), url()).await;
    assert_eq!(legacy.call(ACCEPT).await.code(), -32042);
    let (modern_ref, legacy_ref) = (&played.asked(0)["client"]["ref"], &played.asked(1)["client"]["ref"]);
    assert!(modern_ref.is_string() && modern_ref != legacy_ref);
    played.signals(1, "elicitation.completed", modern_ref);
    played.signals(2, "elicitation.completed", legacy_ref);
    played.signals(3, "elicitation.completed", legacy_ref);
    assert_eq!(legacy.is_told(1).await, [json!({ "elicitationId": "e-1" })]);
    assert_eq!(legacy.told_by_now().await.len(), 1, "once");
}

/// 2026-07-28 has no `elicitationId`; rmcp writes an empty one.
#[tokio::test]
async fn trap_3_the_modern_era_has_no_elicitation_id_not_even_an_empty_one() {
    let (_played, door) = Played::door(|_| needed(&round())).await;
    let client = Client::modern(&door.url, &door.token("alice"), url()).await;
    let response = client.post(&client.request("list_files", &json!({}))).send().await.unwrap();
    assert!(!response.headers().contains_key("content-length"));
    let text = Stream::new(response).next().await.unwrap().to_string();
    assert!(text.contains("inputRequests") && text.contains(LINK), "{text}");
    assert!(!text.contains("elicitationId\":"), "{text}");
}

/// rmcp answers -32600 for the other era's way of asking, and the user sees nothing of the link.
#[tokio::test]
async fn trap_4_the_other_eras_way_of_asking_becomes_words() {
    for (modern, reply) in [(true, request()), (false, round()), (false, waiting())] {
        let (_played, door) = Played::door(move |_| needed(&reply)).await;
        let token = door.token("alice");
        let client = if modern {
            Client::modern(&door.url, &token, url()).await
        } else {
            Client::legacy(&door.url, &token, url()).await
        };
        let called = client.call(ACCEPT).await;
        assert!(called.is_error() && called.text().contains(LINK), "{}", called.message);
        assert!(client.asked.borrow().is_empty());
    }
}

/// M20: in the modern era each request says what its client can; rmcp's own helper says that none can anything.
#[tokio::test]
async fn trap_5_each_request_declares_for_itself() {
    let (played, door) = Played::door(|_| needed(&round())).await;
    let token = door.token("alice");
    for declares in [url(), Value::Null, json!({ "form": {}, "url": {} }), json!({})] {
        let client = Client::modern(&door.url, &token, declares.clone()).await;
        let (message, _) = first_leg(&client).await;
        let asks = message["result"]["resultType"] == "input_required";
        assert_eq!(asks, declares.get("url").is_some(), "{declares}: {message}");
        let seen = played.asked.lock().unwrap().last().unwrap()["client"].clone();
        assert_eq!(seen.get("elicitation").cloned().unwrap_or_default(), declares, "verbatim");
        assert_eq!(
            (&seen["protocol_version"], &seen["target"]),
            (&json!("2026-07-28"), &json!("list_files"))
        );
    }
}

async fn first_leg(client: &Client) -> (Value, u16) {
    let version = "2026-07-28".parse().unwrap();
    let described = consentry_elicitation::Client::new(version, Capability::URL, "tools/call");
    let mut model = consentry_elicitation::Model::new(&described);
    client.leg(&client.request("list_files", &json!({})), ACCEPT, &mut model).await
}

/// E3, E4, M30: a request belongs to its call, from whichever task it is sent.
#[tokio::test]
async fn trap_6_a_question_goes_out_on_its_calls_stream() {
    let (played, door) = Played::door(|_| needed(&request())).await;
    let client = Client::legacy(&door.url, &door.token("alice"), url()).await;
    // On another stream it would not be answered.
    let called = client.call_tool("spawned", json!({}), Answers::With("decline"));
    let called = tokio::time::timeout(Duration::from_secs(20), called).await.unwrap();
    assert!(called.is_error());
    assert_eq!(client.asked.borrow().len(), 1);
    assert_eq!(played.asked.lock().unwrap().len(), 1);
}

/// The same when the call is over before the question is ready.
#[tokio::test]
async fn trap_6_nothing_is_asked_for_a_call_that_was_cancelled() {
    let (played, door) = Played::door(|_| needed(&request())).await;
    let client = Client::legacy(&door.url, &door.token("alice"), url()).await;
    played.released.send_replace(false);
    let call = client.request("list_files", &json!({}));
    let response = client.post(&call).send().await.unwrap();
    played.is_asked(1).await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call["id"] } });
    assert_eq!(client.post(&cancel).send().await.unwrap().status(), 202);
    client.told_by_now().await;
    played.released.send_replace(true);
    client.told_by_now().await;
    let silence = tokio::time::timeout(Duration::from_millis(300), Stream::new(response).next()).await;
    assert!(matches!(silence, Err(_) | Ok(None)), "{silence:?}");
    assert!(client.standalone.lock().unwrap().is_empty());
}

/// P17, P19: rmcp serves a session to whoever knows its id, with their calls in it and its news to them.
#[tokio::test]
async fn trap_7_p17_p19_a_session_is_its_openers() {
    let (_played, door) = Played::door(|_| ready()).await;
    let alice = Client::legacy(&door.url, &door.token("alice"), url()).await;
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let as_bob = |request: RequestBuilder| {
        let request = request.header("accept", "application/json, text/event-stream");
        request.header("mcp-session-id", alice.session()).bearer_auth(door.token("bob")).send()
    };
    for request in [http().post(&door.url).json(&list), http().get(&door.url), http().delete(&door.url)] {
        assert_eq!(as_bob(request).await.unwrap().status(), StatusCode::NOT_FOUND);
    }
    // Not by the modern era's door either, and not with two ids.
    let modern = as_bob(http().post(&door.url).json(&list).header("mcp-protocol-version", "2026-07-28"));
    assert_eq!(modern.await.unwrap().status(), StatusCode::NOT_FOUND);
    let bob = Client::legacy(&door.url, &door.token("bob"), url()).await;
    let two = bob.post(&list).header("mcp-session-id", alice.session());
    assert_eq!(two.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    // The session lives, and is alice's still; without a token it is nobody's.
    assert_eq!(alice.call(ACCEPT).await.text(), "connected");
    let without = http().post(&door.url).header("mcp-session-id", alice.session()).json(&list);
    assert_eq!(without.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}

/// rmcp keeps as many sessions as anybody opens, each for hours: one user has 32, and further ones end their oldest.
#[tokio::test]
async fn trap_7_one_user_has_so_many_sessions() {
    let (_played, door) = Played::door(|_| ready()).await;
    let (alices, bobs) = (door.token("alice"), door.token("bob"));
    let bob = Client::legacy(&door.url, &bobs, url()).await;
    let mut sessions = Vec::new();
    for _ in 0..32 {
        sessions.push(Client::legacy(&door.url, &alices, url()).await);
    }
    assert_eq!(sessions[0].call(ACCEPT).await.text(), "connected");
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let is_there = async |client: &Client| client.post(&list).send().await.unwrap().status();
    for ended in 0..2 {
        sessions.push(Client::legacy(&door.url, &alices, url()).await);
        assert_eq!(is_there(&sessions[ended]).await, StatusCode::NOT_FOUND);
        assert_eq!(is_there(&sessions[ended + 1]).await, StatusCode::OK);
    }
    sessions[0].is_hung_up().await;
    assert_eq!(sessions[33].call(ACCEPT).await.text(), "connected");
    // Nobody else's end, and one that its client ends makes room.
    assert_eq!(bob.call(ACCEPT).await.text(), "connected");
    let ends = http().delete(&door.url).bearer_auth(&alices).header("mcp-session-id", sessions[5].session());
    assert!(ends.send().await.unwrap().status().is_success());
    sessions.push(Client::legacy(&door.url, &alices, url()).await);
    assert_eq!(is_there(&sessions[2]).await, StatusCode::OK);
}

/// rmcp ends a session after five quiet minutes; who connects after half an hour is to be heard of.
#[tokio::test]
async fn trap_8_a_session_outlives_its_elicitations() {
    let (_played, door) = Played::door(|_| ready()).await;
    let client = Client::legacy(&door.url, &door.token("alice"), url()).await;
    assert_eq!(client.call(ACCEPT).await.text(), "connected");
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(35)).await;
    tokio::time::resume();
    assert_eq!(client.call(ACCEPT).await.text(), "connected");
}

/// M26: rmcp checks no `Origin` unless told, and knows no host but loopback's names.
#[tokio::test]
async fn trap_10_m26_only_its_own_host_and_the_pages_that_may() {
    let (_played, door) = Played::door(|_| ready()).await;
    let client = Client::modern(&door.url, &door.token("alice"), url()).await;
    let from = |name: &'static str, value: &'static str| {
        client.post(&client.request("list_files", &json!({}))).header(name, value).send()
    };
    assert_eq!(from("host", "rebound.example").await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(from("host", "localhost").await.unwrap().status(), StatusCode::FORBIDDEN);
    for page in ["https://evil.example", "null", "http://localhost.evil.example", "https://localhost"] {
        let refused = from("origin", page).await.unwrap();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{page}");
        assert!(!refused.headers().contains_key("access-control-allow-origin"), "{page}");
    }
    let inspector = from("origin", "http://localhost:6274").await.unwrap();
    assert_eq!(inspector.status(), StatusCode::OK);
    assert_eq!(inspector.headers()["access-control-allow-origin"], "http://localhost:6274");
    let asks = http().request(reqwest::Method::OPTIONS, &door.url).header("origin", "http://localhost:6274");
    let asks = asks.header("access-control-request-method", "POST").send().await.unwrap();
    assert!(asks.status().is_success() && asks.headers().contains_key("access-control-allow-methods"));
}

/// rmcp does not pause between rounds, and some clients do not either: the retry is held, for less than clients allow.
#[tokio::test]
async fn trap_11_a_retry_is_held_for_45_seconds() {
    let (played, door) =
        Played::door(|body| if body.get("request_state").is_some() { ready() } else { needed(&round()) })
            .await;
    let client = Client::modern(&door.url, &door.token("alice"), url()).await;
    assert_eq!(client.call(ACCEPT).await.text(), "connected");
    let (first, retry) = (played.asked(0), played.asked(1));
    assert!(first.get("wait_seconds").is_none());
    assert_eq!(retry["wait_seconds"], 45);
    assert_eq!(retry["request_state"], "s");
    assert_eq!(retry["input_responses"], json!({ "connect-a": { "action": "accept" } }));
    assert_eq!(first["client"]["params_digest"], retry["client"]["params_digest"]);
}

/// rmcp leaves `inputRequests` out of a round that asks nothing new, and Go clients then stop. And it ends: two such
/// rounds of Consentry's own count, then words (the whole flow, in Consentry's time).
#[tokio::test(flavor = "multi_thread")]
async fn trap_12_rounds_that_ask_nothing_new_say_so_and_end() {
    let clock = Clock::manual();
    let mut stand = Stand::by(clock.clone()).await;
    let mcp = stand.mcp().await;
    let client = Client::modern(&mcp, &stand.token("alice"), url()).await;
    let call = client.call(ACCEPT);
    let time = async {
        client.is_asked(1).await;
        let mut pace = tokio::time::interval(Duration::from_millis(20));
        loop {
            pace.tick().await;
            clock.advance(Duration::from_secs(5));
        }
    };
    let called = tokio::select! {
        called = call => called,
        () = time => unreachable!(),
    };
    assert!(called.is_error() && called.text().contains(&stand.public_url), "{}", called.message);
    assert_eq!(called.rounds.len(), 3);
    for round in &called.rounds[1..] {
        assert_eq!(round["inputRequests"], json!({}), "there, and empty");
    }
    assert_eq!(client.asked.borrow().len(), 1, "one question");
    stand.ends().await;
}
