//! Every row of the adapter's table, with a client of either era and the real Consentry.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    client::{ACCEPT, Answers, Client},
    stand::Stand,
};

fn url() -> Value {
    json!({ "url": {} })
}

/// Legacy, declared `url`: asked within the call, which waits; then the notification, then the result.
#[tokio::test(flavor = "multi_thread")]
async fn legacy_is_asked_within_the_call_told_and_answered() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp().await;
    // Some clients declare URL mode with a version that does not have it.
    for (version, person) in [("2025-11-25", "alice"), ("2025-06-18", "bob")] {
        let client = Client::legacy_of(&mcp, &stand.token(person), url(), version).await;
        let browsing = async {
            let link = client.is_asked(1).await;
            stand.connects(&link, person, "octocat").await;
        };
        let (called, ()) = tokio::join!(client.call(ACCEPT), browsing);
        assert_eq!(called.text(), "octocat");
        let id = client.asked.borrow()[0]["elicitationId"].clone();
        assert_eq!(client.told_by_now().await, [json!({ "elicitationId": id })]);
        // Connected: nothing is asked any more.
        assert_eq!(client.call(ACCEPT).await.text(), "octocat");
        assert_eq!(client.asked.borrow().len(), 1);
    }
    stand.ends().await;
}

/// The user may be quicker than the client's answer, which may never come.
#[tokio::test(flavor = "multi_thread")]
async fn legacy_the_user_is_quicker_than_the_client() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp().await;
    let client = Client::legacy(&mcp, &stand.token("alice"), url()).await;
    let browsing = async { stand.connects(&client.is_asked(1).await, "alice", "octocat").await };
    let (called, ()) = tokio::join!(client.call(Answers::Never), browsing);
    assert_eq!(called.text(), "octocat");
    assert_eq!(client.told_by_now().await.len(), 1);
    stand.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn legacy_a_no_ends_the_call_and_an_error_gives_the_link_in_words() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp().await;
    let client = Client::legacy(&mcp, &stand.token("alice"), url()).await;
    for answer in ["decline", "cancel"] {
        let called = client.call(Answers::With(answer)).await;
        assert!(called.is_error() && !called.text().contains("http"), "{answer}: {}", called.text());
    }
    let called = client.call(Answers::WithAnError).await;
    assert!(called.is_error() && called.text().contains(&stand.public_url), "{}", called.text());
    assert_eq!(client.asked.borrow().len(), 3, "a new call asks anew");
    // The link in words is good.
    let link = client.is_asked(3).await;
    stand.connects(&link, "alice", "octocat").await;
    assert_eq!(client.is_told(1).await.len(), 1);
    assert_eq!(client.call(ACCEPT).await.text(), "octocat");
    stand.ends().await;
}

/// The call ends with the link in words; who finishes later is heard of, by that session and once.
#[tokio::test(flavor = "multi_thread")]
async fn legacy_a_slow_user_ends_the_call_but_not_the_question() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp_with(|builder| builder.patience(Duration::from_millis(300))).await;
    let client = Client::legacy(&mcp, &stand.token("alice"), url()).await;
    let other = Client::legacy(&mcp, &stand.token("alice"), url()).await;
    let called = client.call(ACCEPT).await;
    assert!(called.is_error() && called.text().contains(&stand.public_url), "{}", called.text());
    stand.connects(&client.is_asked(1).await, "alice", "octocat").await;
    let id = client.asked.borrow()[0]["elicitationId"].clone();
    assert_eq!(client.is_told(1).await, [json!({ "elicitationId": id })]);
    assert_eq!(client.call(ACCEPT).await.text(), "octocat");
    assert_eq!(client.told_by_now().await.len(), 1);
    assert!(other.told_by_now().await.is_empty());
    stand.ends().await;
}

/// Legacy, errors preferred: `-32042`, the notification, and the retry by the client itself.
#[tokio::test(flavor = "multi_thread")]
async fn legacy_errors_where_they_are_preferred() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp_with(|builder| builder.prefer_errors_for(["strict"])).await;
    let client = Client::legacy(&mcp, &stand.token("alice"), url()).await;
    let called = client.call(ACCEPT).await;
    assert_eq!(called.code(), -32042);
    let elicitation = called.message["error"]["data"]["elicitations"][0].clone();
    stand.connects(elicitation["url"].as_str().unwrap(), "alice", "octocat").await;
    assert_eq!(client.is_told(1).await, [json!({ "elicitationId": elicitation["elicitationId"] })]);
    assert_eq!(client.call(ACCEPT).await.text(), "octocat");
    assert!(client.asked.borrow().is_empty());
    stand.ends().await;
}

/// Several at once: one error lists them, one notification each.
#[tokio::test(flavor = "multi_thread")]
async fn legacy_several_are_listed_by_one_error() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp().await;
    let client = Client::legacy(&mcp, &stand.token("alice"), url()).await;
    let called = client.call_tool("compare", json!({}), ACCEPT).await;
    assert_eq!(called.code(), -32042);
    let elicitations = called.message["error"]["data"]["elicitations"].as_array().unwrap().clone();
    assert_eq!(elicitations.len(), 2);
    for (times, elicitation) in (1..).zip(&elicitations) {
        stand.connects(elicitation["url"].as_str().unwrap(), "alice", "octocat").await;
        assert_eq!(client.is_told(times).await[times - 1]["elicitationId"], elicitation["elicitationId"]);
    }
    assert_eq!(client.call_tool("compare", json!({}), ACCEPT).await.text(), "octocat");
    stand.ends().await;
}

/// No `url` declared, in either era: words with the link, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn words_for_who_has_not_declared_url_mode() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp_with(consentry_rmcp::Builder::prefer_errors).await;
    let token = stand.token("alice");
    for declares in [Value::Null, json!({}), json!({ "form": {} })] {
        let legacy = Client::legacy(&mcp, &token, declares.clone()).await;
        let modern = Client::modern(&mcp, &token, declares.clone()).await;
        for client in [legacy, modern] {
            let called = client.call(ACCEPT).await;
            assert!(called.is_error() && called.text().contains(&stand.public_url), "{declares}");
            assert!(client.asked.borrow().is_empty());
        }
    }
    stand.ends().await;
}

/// M17: where the server insists, a modern client hears which capability it lacks; a legacy one gets words as before.
#[tokio::test(flavor = "multi_thread")]
async fn m17_the_missing_capability_is_named_where_the_server_insists() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp_with(consentry_rmcp::Builder::require_url_mode).await;
    let token = stand.token("alice");
    for declares in [Value::Null, json!({ "form": {} })] {
        let called = Client::modern(&mcp, &token, declares.clone()).await.call(ACCEPT).await;
        assert_eq!((called.code(), called.status), (-32021, 400));
        assert_eq!(
            called.message["error"]["data"]["requiredCapabilities"],
            json!({ "elicitation": { "url": {} } })
        );
        assert!(Client::legacy(&mcp, &token, declares).await.call(ACCEPT).await.is_error());
    }
    let called = Client::modern(&mcp, &token, url()).await.call(Answers::With("decline")).await;
    assert_eq!(called.rounds.len(), 1);
    stand.ends().await;
}

/// Modern, declared `url`: one question; the retry is held until the user has connected.
#[tokio::test(flavor = "multi_thread")]
async fn modern_is_asked_once_and_the_retry_waits_for_the_result() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp().await;
    let client = Client::modern(&mcp, &stand.token("alice"), json!({ "form": {}, "url": {} })).await;
    let browsing = async { stand.connects(&client.is_asked(1).await, "alice", "octocat").await };
    let (called, ()) = tokio::join!(client.call(ACCEPT), browsing);
    assert_eq!(called.text(), "octocat");
    assert_eq!((called.legs, client.asked.borrow().len()), (2, 1));
    assert_eq!(called.message["result"]["resultType"], "complete");
    stand.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn modern_a_no_is_answered_in_words() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp().await;
    let client = Client::modern(&mcp, &stand.token("alice"), url()).await;
    for answer in ["decline", "cancel"] {
        let called = client.call(Answers::With(answer)).await;
        assert!(called.is_error() && called.legs == 2, "{}", called.message);
        assert!(!called.text().contains("http"));
    }
    stand.ends().await;
}

/// Several at once: one round lists them.
#[tokio::test(flavor = "multi_thread")]
async fn modern_several_are_asked_in_one_round() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp().await;
    let client = Client::modern(&mcp, &stand.token("alice"), url()).await;
    let browsing = async {
        client.is_asked(2).await;
        let links: Vec<_> = client.asked.borrow().iter().map(|asked| asked["url"].clone()).collect();
        for link in links {
            stand.connects(link.as_str().unwrap(), "alice", "octocat").await;
        }
    };
    let (called, ()) = tokio::join!(client.call_tool("compare", json!({}), ACCEPT), browsing);
    assert_eq!(called.text(), "octocat");
    assert_eq!(called.rounds[0]["inputRequests"].as_object().unwrap().len(), 2);
    stand.ends().await;
}

/// M3 to M5: a state is good for the call, the arguments and the user that it was made for, and for no other.
#[tokio::test(flavor = "multi_thread")]
async fn m3_m5_a_state_is_bound_to_call_arguments_and_user() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp().await;
    let client = Client::modern(&mcp, &stand.token("alice"), url()).await;
    let bob = Client::modern(&mcp, &stand.token("bob"), url()).await;
    let arguments = json!({ "folder": "a", "deep": { "x": 1, "y": 2 } });
    let leg = async |client: &Client, request: &Value| {
        let version = "2026-07-28".parse().unwrap();
        let capability = consentry_elicitation::Capability::URL;
        let described = consentry_elicitation::Client::new(version, capability, "tools/call");
        let mut model = consentry_elicitation::Model::new(&described);
        client.leg(request, ACCEPT, &mut model).await.0
    };
    let first = leg(&client, &client.request("list_files", &arguments)).await;
    let round = &first["result"];
    let mut forged = round.clone();
    forged["requestState"] = json!("v1.forged");
    let no = Answers::With("decline");
    for (what, client, request) in [
        ("forged", &client, client.retry("list_files", &arguments, &forged, no)),
        ("other arguments", &client, client.retry("list_files", &json!({ "folder": "b" }), round, no)),
        ("another tool", &client, client.retry("spawned", &arguments, round, no)),
        ("another user", &bob, bob.retry("list_files", &arguments, round, no)),
    ] {
        assert_eq!(leg(client, &request).await["error"]["code"], -32602, "{what}");
    }
    // The same arguments in another order are the same.
    let same: Value = serde_json::from_str(r#"{ "deep": { "y": 2, "x": 1 }, "folder": "a" }"#).unwrap();
    let answered = leg(&client, &client.retry("list_files", &same, round, no)).await;
    assert_eq!(answered["result"]["isError"], true, "{answered}");
    stand.ends().await;
}

/// What may need an account beside tools: the method, its parameters, and where its result says whose it is.
fn others() -> [(&'static str, Value, &'static str); 2] {
    [
        (
            "prompts/get",
            json!({ "name": "tidy up", "arguments": { "folder": "a" } }),
            "/result/messages/0/content/text",
        ),
        ("resources/read", json!({ "uri": "files://all" }), "/result/contents/0/text"),
    ]
}

/// M1: `prompts/get` and `resources/read` are asked for the same, in each era.
#[tokio::test(flavor = "multi_thread")]
async fn m1_a_prompt_and_a_resource_ask_as_a_tool_does() {
    for modern in [false, true] {
        let mut stand = Stand::new().await;
        let mcp = stand.mcp().await;
        for ((method, params, at), person) in others().into_iter().zip(["alice", "bob"]) {
            let token = stand.token(person);
            let client = if modern {
                Client::modern(&mcp, &token, url()).await
            } else {
                Client::legacy(&mcp, &token, url()).await
            };
            let browsing = async { stand.connects(&client.is_asked(1).await, person, "octocat").await };
            let (called, ()) = tokio::join!(client.asks(method, params.clone(), ACCEPT), browsing);
            assert_eq!(
                called.message.pointer(at),
                Some(&json!("octocat")),
                "{method} {modern}: {}",
                called.message
            );
            assert_eq!(
                (called.legs, client.asked.borrow().len()),
                (if modern { 2 } else { 1 }, 1),
                "{method}"
            );
            if !modern {
                let id = client.asked.borrow()[0]["elicitationId"].clone();
                assert_eq!(client.told_by_now().await, [json!({ "elicitationId": id })], "{method}");
            }
            let again = client.asks(method, params, ACCEPT).await;
            assert_eq!(
                (again.message.pointer(at), client.asked.borrow().len()),
                (Some(&json!("octocat")), 1)
            );
        }
        stand.ends().await;
    }
}

/// What cannot be said in a tool's result is said in an error's message; and a state is of one method and target.
#[tokio::test(flavor = "multi_thread")]
async fn m3_m5_a_prompt_and_a_resource_end_in_an_error_with_the_words() {
    let mut stand = Stand::new().await;
    let mcp = stand.mcp().await;
    let token = stand.token("alice");
    for (method, params, _) in others() {
        // What an error may be called where there is no tool's result.
        for (modern, code) in [(false, -32603), (true, -32021)] {
            let with = async |declares: Value| {
                if modern {
                    Client::modern(&mcp, &token, declares).await
                } else {
                    Client::legacy(&mcp, &token, declares).await
                }
            };
            let called = with(json!({})).await.asks(method, params.clone(), ACCEPT).await;
            let told = called.message["error"]["message"].as_str().unwrap_or_default();
            assert!(called.code() == code && told.contains(&stand.public_url), "{}", called.message);
            let called = with(url()).await.asks(method, params.clone(), Answers::With("decline")).await;
            let told = called.message["error"]["message"].as_str().unwrap_or_default();
            assert!(called.code() == code && told.contains("declined"), "{}", called.message);
        }
    }
    let client = Client::modern(&mcp, &token, url()).await;
    let leg = async |request: &Value| {
        let described = consentry_elicitation::Client::new(
            "2026-07-28".parse().unwrap(),
            consentry_elicitation::Capability::URL,
            "prompts/get",
        );
        client.leg(request, ACCEPT, &mut consentry_elicitation::Model::new(&described)).await.0
    };
    let [(prompt, given, _), (resource, read, _)] = others();
    let first = leg(&client.request_of(prompt, given.clone())).await;
    let round = &first["result"];
    let no = Answers::With("decline");
    let mut other = given.clone();
    other["arguments"]["folder"] = json!("b");
    for (what, request) in [
        ("other arguments", client.retry_of(prompt, other, round, no)),
        ("a resource", client.retry_of(resource, read, round, no)),
        ("a tool", client.retry("list_files", &given["arguments"], round, no)),
    ] {
        assert_eq!(leg(&request).await["error"]["code"], -32602, "{what}");
    }
    let answered = leg(&client.retry_of(prompt, given, round, no)).await;
    assert!(answered["error"]["message"].as_str().unwrap().contains("declined"), "{answered}");
    stand.ends().await;
}
