//! Scripted answers: what they do to the wire, what they leave undone, and that the token log has them all.

use std::time::Duration;

use consentry_fakes::{Answer, Gate, Provider};
use serde_json::json;

use crate::client::*;

async fn raw(provider: &Provider, form: &[(&str, &str)]) -> reqwest::Result<(u16, String)> {
    let url = format!("{}/token", provider.base_url());
    let request = http().post(url).form(form).header("authorization", basic("consentry", SECRET));
    let response = request.timeout(Duration::from_secs(20)).send().await?;
    let status = response.status().as_u16();
    Ok((status, response.text().await?))
}

#[tokio::test]
async fn an_answer_in_place_of_work_spends_nothing() {
    let provider = provider().await;
    let code = code(&provider);
    provider.next_token_answer(Answer::status(500));
    provider.next_token_answer(Answer::too_many("3"));
    provider.next_token_answer(Answer::error(200, "invalid_grant"));
    provider.next_token_answer(Answer::html(200));
    provider.next_token_answer(Answer::redirect("http://127.0.0.9:1/token"));
    assert_eq!(provider.unused_answers("/token"), 5);
    for status in [500, 429, 200, 200, 302] {
        assert_eq!(raw(&provider, &code_form(&code)).await.unwrap().0, status);
    }
    let log = provider.token_log();
    assert!(log.iter().all(|entry| entry.scripted && !entry.accepted && entry.code.as_ref() == Some(&code)));
    assert!(log.iter().all(|entry| entry.approval.is_some()), "the judge still knows whose code it was");
    assert_eq!(token(provider.base_url(), &code_form(&code)).await.0, 200);
}

#[tokio::test]
async fn an_answer_after_work_loses_the_tokens() {
    let provider = provider().await;
    let code = code(&provider);
    provider.next_token_answer(Answer::drop_connection().after_work());
    assert!(raw(&provider, &code_form(&code)).await.is_err());
    let log = provider.token_log();
    assert!(log.len() == 1 && log[0].accepted && log[0].scripted);
    assert_eq!(token(provider.base_url(), &code_form(&code)).await.1["error"], "invalid_grant");
}

#[tokio::test]
async fn the_ordinary_answer_can_be_changed() {
    let provider = provider().await;
    provider.next_token_answer(Answer::with_member("expires_in", json!("3599")).header("x-more", "1"));
    assert_eq!(tokens(&provider).await["expires_in"], "3599");
    provider.next_token_answer(Answer::with_member("scope", json!(null)));
    let body = tokens(&provider).await;
    assert!(body.get("scope").is_none());
    let access = body["access_token"].as_str().unwrap();
    assert_eq!(get(&format!("{}/files", provider.base_url()), Some(access)).await.0, 200);
}

#[tokio::test]
async fn a_dropped_connection_sends_no_byte_and_is_logged_once() {
    let provider = provider().await;
    let code = code(&provider);
    provider.next_token_answer(Answer::drop_connection());
    assert!(raw(&provider, &code_form(&code)).await.is_err());
    assert_eq!(provider.token_log().len(), 1);
    assert!(!provider.token_log()[0].accepted);
}

#[tokio::test]
async fn truncated_trickled_and_endless_bodies_reach_the_wire() {
    let provider = provider().await;
    provider.next_token_answer(Answer::truncated("application/json", r#"{"access_token":"a"#));
    assert!(raw(&provider, &[]).await.is_err());
    let whole = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    provider.next_token_answer(Answer::trickle(Duration::from_millis(1), whole));
    assert_eq!(raw(&provider, &[]).await.unwrap(), (200, "{}".to_owned()));

    provider.next_token_answer(Answer::endless("application/json"));
    let url = format!("{}/token", provider.base_url());
    let mut response = http().post(url).send().await.unwrap();
    let mut read = 0;
    while read < 5_000_000 {
        read += response.chunk().await.unwrap().unwrap().len();
    }
}

#[tokio::test]
async fn a_gate_holds_the_answer_and_not_the_work() {
    let provider = provider().await;
    let gate = Gate::shut();
    provider.next_token_answer(Answer::genuine().held(&gate));
    let code = code(&provider);
    let form = code_form(&code);
    let exchange = token(provider.base_url(), &form);
    let look = async {
        gate.reached_by(1).await;
        let log = provider.token_log();
        assert!(log[0].accepted, "worked before it is held");
        gate.open();
    };
    let ((status, _), ()) = tokio::join!(exchange, look);
    assert_eq!(status, 200);
}

#[tokio::test]
async fn other_paths_can_be_scripted_too() {
    let provider = provider().await;
    let me = format!("{}/me", provider.base_url());
    let access = tokens(&provider).await["access_token"].as_str().unwrap().to_owned();
    provider.always_answer("/me", Answer::with_member("id", json!(1)));
    provider.next_answer("/me", Answer::status(503));
    assert_eq!(get(&me, Some(&access)).await.0, 503);
    assert_eq!(get(&me, Some(&access)).await.1["id"], 1);
    provider.answer_normally("/me");
    assert_eq!(get(&me, Some(&access)).await.1["id"], 583_231);

    provider.next_answer("/revoke", Answer::status(503));
    let form = [("token", access.as_str())];
    let revoke = format!("{}/revoke", provider.base_url());
    assert_eq!(post(&revoke, &form, Some(basic("consentry", SECRET))).await.0, 503);
    assert_eq!(get(&me, Some(&access)).await.0, 200);
    let revocations = provider.revocations().entries();
    assert!(revocations[0].scripted && !revocations[0].revoked);
}

#[tokio::test]
async fn a_closed_port_refuses_and_opens_again() {
    let provider = provider().await;
    provider.accept_connections(false).await.unwrap();
    assert!(http().get(format!("{}/me", provider.base_url())).send().await.unwrap_err().is_connect());
    provider.accept_connections(true).await.unwrap();
    assert_eq!(get(&format!("{}/me", provider.base_url()), None).await.0, 401);
}

#[tokio::test]
async fn a_dropped_fake_is_gone_even_while_a_request_hangs() {
    let provider = provider().await;
    let gate = Gate::shut();
    provider.next_answer("/me", Answer::status(200).held(&gate));
    let me = format!("{}/me", provider.base_url());
    let hanging = tokio::spawn(http().get(me.clone()).send());
    gate.reached_by(1).await;
    drop(provider);
    assert!(hanging.await.unwrap().is_err());
    assert!(http().get(me).send().await.unwrap_err().is_connect());
}

#[tokio::test]
async fn every_request_to_the_token_endpoint_is_in_its_log() {
    let provider = provider().await;
    let code = code(&provider);
    let url = format!("{}/token", provider.base_url());
    http().get(format!("{url}?grant_type=authorization_code&code={code}")).send().await.unwrap();
    http().post(&url).header("content-type", "application/json").body("{}").send().await.unwrap();
    let twice = [("code", code.as_str()), ("code", code.as_str())];
    token(provider.base_url(), &twice).await;
    let log = provider.token_log();
    assert_eq!(log.len(), 3);
    assert!(log.iter().all(|entry| !entry.accepted && entry.error.as_deref() == Some("invalid_request")));
    assert_eq!(log[0].code.as_deref(), Some(code.as_str()));
    assert_eq!(log[2].parameters.len(), 2);
    let paths: Vec<String> = provider.log().entries().into_iter().map(|entry| entry.path).collect();
    assert_eq!(paths, ["/token", "/token", "/token"]);
}
