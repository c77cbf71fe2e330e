//! Where nobody can sign in: the adapter asks for the code on the page, in the call that it is for, and passes it on.

use consentry_rmcp::Builder;
use serde_json::{Value, json};

use crate::{
    client::{ACCEPT, Client},
    played::{Played, needed, request},
    stand::Stand,
};

fn both() -> Value {
    json!({ "form": {}, "url": {} })
}

async fn mcp(stand: &mut Stand) -> String {
    stand.mcp_with(Builder::without_issuer).await
}

#[track_caller]
fn form(asked: &Value) -> &str {
    assert_ne!(asked["mode"], "url", "{asked}");
    assert!(asked["requestedSchema"]["properties"]["code"].is_object(), "{asked}");
    asked["message"].as_str().unwrap()
}

/// The link, the form, the form again after a wrong code; then the page goes on and the call is finished.
#[tokio::test(flavor = "multi_thread")]
async fn legacy_the_form_follows_the_link_in_the_same_call() {
    let mut stand = Stand::by_codes().await;
    let mcp = mcp(&mut stand).await;
    let client = Client::legacy(&mcp, &stand.token("alice"), both()).await;
    let keys = client.keyboard();
    let browsing = async {
        let (mut browser, code) = stand.shows(&client.is_asked(1).await).await;
        form(&client.questions(2).await[1]);
        keys.send("BBBB-BBBB".to_owned()).unwrap();
        assert!(form(&client.questions(3).await[2]).ends_with("Tries left: 2."));
        keys.send(code).unwrap();
        stand.goes_on(&mut browser, "octocat").await;
    };
    let (called, ()) = tokio::join!(client.call(ACCEPT), browsing);
    assert_eq!(called.text(), "octocat");
    let id = client.asked.borrow()[0]["elicitationId"].clone();
    assert_eq!(client.told_by_now().await, [json!({ "elicitationId": id })]);
    assert_eq!(client.call(ACCEPT).await.text(), "octocat");
    assert_eq!(client.asked.borrow().len(), 3);
    stand.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn legacy_a_no_to_the_form_or_too_many_wrong_codes_end_the_call() {
    let mut stand = Stand::by_codes().await;
    let mcp = mcp(&mut stand).await;
    let client = Client::legacy(&mcp, &stand.token("alice"), both()).await;
    for typed in [vec![""], vec!["BBBB-BBBB", "CCCC-CCCC", "DDDD-DDDD"]] {
        let keys = client.keyboard();
        for text in typed {
            keys.send(text.to_owned()).unwrap();
        }
        let called = client.call(ACCEPT).await;
        assert!(called.is_error() && !called.text().contains("http"), "{}", called.text());
    }
    assert_eq!(client.asked.borrow().len(), 2 + 4);
    assert!(client.told_by_now().await.is_empty());
    stand.ends().await;
}

/// A client that is not sent links is asked by its next call.
#[tokio::test(flavor = "multi_thread")]
async fn legacy_words_first_and_the_form_in_the_next_call() {
    let mut stand = Stand::by_codes().await;
    let mcp = mcp(&mut stand).await;
    let client = Client::legacy(&mcp, &stand.token("alice"), json!({})).await;
    let called = client.call(ACCEPT).await;
    let link = called.text().split_whitespace().find(|word| word.starts_with(&stand.public_url)).unwrap();
    let (mut browser, code) = stand.shows(link).await;
    client.keyboard().send(code).unwrap();
    let browsing = async {
        form(&client.questions(1).await[0]);
        stand.goes_on(&mut browser, "octocat").await;
    };
    let (called, ()) = tokio::join!(client.call(ACCEPT), browsing);
    assert_eq!(called.text(), "octocat");
    stand.ends().await;
}

/// Each link has a code of its own.
#[tokio::test(flavor = "multi_thread")]
async fn legacy_several_codes_are_asked_for_in_one_call() {
    let mut stand = Stand::by_codes().await;
    let mcp = mcp(&mut stand).await;
    let client = Client::legacy(&mcp, &stand.token("alice"), both()).await;
    let called = client.call_tool("compare", json!({}), ACCEPT).await;
    assert_eq!(called.code(), -32042);
    let keys = client.keyboard();
    let mut browsers = Vec::new();
    for elicitation in called.message["error"]["data"]["elicitations"].as_array().unwrap() {
        let (browser, code) = stand.shows(elicitation["url"].as_str().unwrap()).await;
        browsers.push(browser);
        keys.send(code).unwrap();
    }
    let browsing = async {
        for browser in &mut browsers {
            stand.goes_on(browser, "octocat").await;
        }
    };
    let (called, ()) = tokio::join!(client.call_tool("compare", json!({}), ACCEPT), browsing);
    assert_eq!(called.text(), "octocat");
    assert_eq!(client.asked.borrow().len(), 2);
    assert_eq!(client.told_by_now().await.len(), 2);
    stand.ends().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn modern_the_form_is_a_round_of_its_own() {
    let mut stand = Stand::by_codes().await;
    let mcp = mcp(&mut stand).await;
    let client = Client::modern(&mcp, &stand.token("alice"), both()).await;
    let keys = client.keyboard();
    let browsing = async {
        let (mut browser, code) = stand.shows(&client.is_asked(1).await).await;
        form(&client.questions(2).await[1]);
        keys.send(code).unwrap();
        stand.goes_on(&mut browser, "octocat").await;
    };
    let (called, ()) = tokio::join!(client.call(ACCEPT), browsing);
    assert_eq!(called.text(), "octocat");
    assert_eq!(client.asked.borrow().len(), 2);
    stand.ends().await;
}

/// Its users have an issuer of their own at Consentry, and the token's is another.
#[tokio::test(flavor = "multi_thread")]
async fn the_tokens_issuer_is_named_unless_the_server_says_otherwise() {
    let mut stand = Stand::by_codes().await;
    let mcp = stand.mcp().await;
    let client = Client::legacy(&mcp, &stand.token("alice"), both()).await;
    let called = client.call(ACCEPT).await;
    assert!(called.is_error() && called.text().contains("cannot be reached"), "{}", called.text());
    assert!(client.asked.borrow().is_empty());
    stand.ends().await;
}

/// E7: a form that this client has not declared is not sent, whatever Consentry says.
#[tokio::test]
async fn e7_no_form_is_sent_that_was_not_declared() {
    let (played, door) = Played::door(|_| needed(&request())).await;
    let form = json!({ "mode": "form", "message": "Type the code.", "requestedSchema": {
        "type": "object", "properties": { "code": { "type": "string" } }, "required": ["code"] } });
    *played.says.lock().unwrap() = json!({ "reply": { "kind": "elicitation_request", "body": form } });
    let client = Client::legacy(&door.url, &door.token("alice"), json!({ "url": {} })).await;
    let called = client.call(ACCEPT).await;
    assert!(called.message["error"]["code"] == -32603, "{}", called.message);
    assert_eq!(client.asked.borrow().len(), 1);
}
