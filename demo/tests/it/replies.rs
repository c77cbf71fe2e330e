//! Each kind of reply, handed to a client of the kind that it is for.

use std::collections::HashSet;
use std::time::Duration;

use demo::mcp_client::Era;
use rmcp::model::CallToolResponse;
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use crate::client::{Answers, Client, Person, list_files, once, text};
use crate::played::LINK;
use crate::stand::Stand;

fn links(era: Era) -> Person {
    Person::declaring(json!({ "url": {} }), era)
}

fn asked(client: &Client) -> Vec<Value> {
    client.service().asked.lock().unwrap().clone()
}

#[tokio::test]
async fn a_connected_user_gets_the_files_without_a_question() {
    let stand = Stand::new().await;
    stand.consentry.becomes("completed");
    let client = stand.client(links(Era::Legacy)).await;
    let result = list_files(&client).await.unwrap();
    assert_eq!(text(&result), "The files of octocat at Example Files:\n- notes.txt");
    assert_eq!(result.structured_content.unwrap()["files"][0]["name"], "notes.txt");
    assert!(asked(&client).is_empty());
    let [resolved] = &stand.consentry.calls("resolve")[..] else { panic!() };
    assert_eq!(resolved["subject"], json!({ "issuer": stand.id.base_url(), "sub": "alice" }));
    assert_eq!(resolved["provider"], "example-files");
}

/// The call waits: the question comes within it, the news when the user has finished, then the real result.
#[tokio::test]
async fn elicitation_request_is_asked_within_the_call() {
    let stand = Stand::new().await;
    let client = stand.client(links(Era::Legacy)).await;
    let calling = list_files(&client);
    let browsing = async {
        while stand.consentry.calls("response").is_empty() {
            tokio::task::yield_now().await;
        }
        stand.consentry.becomes("completed");
    };
    let (result, ()) = tokio::join!(calling, browsing);
    assert_eq!(text(&result.unwrap()), "The files of octocat at Example Files:\n- notes.txt");
    let [question] = &asked(&client)[..] else { panic!() };
    assert_eq!((&question["mode"], &question["url"]), (&json!("url"), &json!(LINK)));
    assert_eq!(question["elicitationId"], "e-1");
    assert_eq!(stand.consentry.calls("response"), [json!({ "action": "accept" })]);
    assert_eq!(client.service().is_told(1).await, [json!({ "elicitationId": "e-1" })]);
    let resolved = &stand.consentry.calls("resolve")[0]["client"];
    assert_eq!(resolved["protocol_version"], "2025-11-25");
    assert_eq!(resolved["elicitation"], json!({ "url": {} }));
}

/// Some clients answer only when the browser is done, or not at all.
#[tokio::test]
async fn a_user_who_is_quicker_than_the_client_is_not_kept_waiting() {
    let stand = Stand::new().await;
    let client = stand.client(links(Era::Legacy).answering(Answers::Never)).await;
    let browsing = async {
        while asked(&client).is_empty() {
            tokio::task::yield_now().await;
        }
        stand.consentry.becomes("completed");
    };
    let (result, ()) = tokio::join!(list_files(&client), browsing);
    assert!(!result.unwrap().is_error.unwrap());
}

#[tokio::test]
async fn a_client_that_says_no_is_passed_on() {
    for (answer, action) in [("decline", "decline"), ("cancel", "cancel")] {
        let stand = Stand::new().await;
        let client = stand.client(links(Era::Legacy).answering(Answers::With(answer))).await;
        let result = list_files(&client).await.unwrap();
        assert!(result.is_error.unwrap() && text(&result).contains("not connected"), "{}", text(&result));
        assert_eq!(stand.consentry.calls("response"), [json!({ "action": action })]);
    }
}

#[tokio::test]
async fn a_client_that_fails_to_ask_gets_the_link_in_words() {
    let stand = Stand::new().await;
    let client = stand.client(links(Era::Legacy).answering(Answers::WithAnError)).await;
    let result = list_files(&client).await.unwrap();
    assert!(result.is_error.unwrap() && text(&result).contains(LINK), "{}", text(&result));
    assert_eq!(stand.consentry.calls("response"), [json!({ "action": "error" })]);
}

#[tokio::test]
async fn a_user_who_declines_in_the_browser_ends_the_call() {
    let stand = Stand::new().await;
    let client = stand.client(links(Era::Legacy)).await;
    let browsing = async {
        while stand.consentry.calls("response").is_empty() {
            tokio::task::yield_now().await;
        }
        stand.consentry.becomes("declined");
    };
    let (result, ()) = tokio::join!(list_files(&client), browsing);
    assert!(text(&result.unwrap()).starts_with("The user declined."));
    assert!(client.service().told.borrow().is_empty());
}

/// The call ends with the link in words; the news still comes when the user finishes after all, and comes once.
#[tokio::test]
async fn a_slow_user_ends_the_call_but_not_the_question() {
    let stand = Stand::waiting(Duration::from_millis(200)).await;
    let client = stand.client(links(Era::Legacy)).await;
    for _ in 0..2 {
        let result = list_files(&client).await.unwrap();
        assert!(result.is_error.unwrap() && text(&result).contains(LINK), "{}", text(&result));
    }
    stand.consentry.becomes("completed");
    assert_eq!(client.service().is_told(1).await, [json!({ "elicitationId": "e-1" })]);
    assert!(!list_files(&client).await.unwrap().is_error.unwrap());
    assert_eq!(client.service().told.borrow().len(), 1);
    let calls = stand.consentry.calls("resolve");
    let references: HashSet<&str> =
        calls.iter().map(|body| body["client"]["ref"].as_str().unwrap()).collect();
    assert_eq!(references.len(), 1, "one session");
}

#[tokio::test]
async fn jsonrpc_error_is_the_answer_and_the_news_follows() {
    let stand = Stand::new().await;
    stand.consentry.prefer_errors();
    let client = stand.client(links(Era::Legacy)).await;
    let Err(ServiceError::McpError(error)) = list_files(&client).await else { panic!() };
    assert_eq!(error.code.0, -32042);
    assert_eq!(error.data.unwrap()["elicitations"][0]["url"], LINK);
    assert!(asked(&client).is_empty());
    stand.consentry.becomes("completed");
    assert_eq!(client.service().is_told(1).await, [json!({ "elicitationId": "e-1" })]);
    assert!(!list_files(&client).await.unwrap().is_error.unwrap());
}

/// rmcp would send it all the same: no question goes to a client that has not declared URL mode.
#[tokio::test]
async fn tool_result_for_clients_without_url_mode() {
    for era in [Era::Legacy, Era::Modern] {
        for declares in [Value::Null, json!({}), json!({ "form": {} })] {
            let stand = Stand::new().await;
            let client = stand.client(Person::declaring(declares.clone(), era)).await;
            let result = list_files(&client).await.unwrap();
            assert!(result.is_error.unwrap() && text(&result).contains(LINK), "{declares}");
            assert!(asked(&client).is_empty(), "{declares}");
        }
    }
}

#[tokio::test]
async fn input_required_is_answered_by_calling_again() {
    let stand = Stand::new().await;
    let client = stand.client(links(Era::Modern)).await;
    let browsing = async {
        while stand.consentry.calls("resolve").len() < 2 {
            tokio::task::yield_now().await;
        }
        stand.consentry.becomes("completed");
    };
    let (result, ()) = tokio::join!(list_files(&client), browsing);
    assert!(!result.unwrap().is_error.unwrap());
    assert_eq!(asked(&client).len(), 1);
    assert!(client.service().told.borrow().is_empty(), "there is no such notification in the modern era");
    let again = &stand.consentry.calls("resolve")[1];
    let reference = again["client"]["ref"].as_str().unwrap();
    assert!(reference.starts_with("client-"), "no session to name; the OAuth client it is");
    assert_eq!(again["request_state"], "sealed");
    assert_eq!(again["input_responses"]["connect-example-files"]["action"], "accept");
    assert!(again["wait_seconds"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn refused_is_passed_on() {
    let stand = Stand::new().await;
    let client = stand.client(links(Era::Modern)).await;
    let CallToolResponse::InputRequired(first) = once(&client).await else { panic!() };
    stand.consentry.becomes("declined");
    let mut again = rmcp::model::CallToolRequestParams::new("list_files");
    again.request_state = first.request_state;
    let CallToolResponse::Complete(result) = client.call_tool_once(again.clone()).await.unwrap() else {
        panic!()
    };
    assert!(result.is_error.unwrap() && text(&result).contains("the user declined"));
    again.request_state = Some("forged".to_owned());
    let Err(ServiceError::McpError(error)) = client.call_tool_once(again).await else { panic!() };
    assert_eq!(error.code.0, -32602);
}

#[tokio::test]
async fn a_token_that_example_files_refuses_is_reported() {
    let stand = Stand::new().await;
    stand.consentry.becomes("completed");
    stand.consentry.files_refuses();
    let client = stand.client(links(Era::Legacy)).await;
    let result = list_files(&client).await.unwrap();
    assert!(result.is_error.unwrap());
    let [report] = &stand.consentry.calls("report")[..] else { panic!() };
    assert_eq!((&report["connection"], &report["generation"]), (&json!("c-1"), &json!(4)));
}
