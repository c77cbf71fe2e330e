//! Refresh tokens in all modes, and revocation.

use std::time::Duration;

use consentry_fakes::{Provider, Refresh};
use serde_json::Value;

use crate::client::*;

async fn refresh(provider: &Provider, tokens: &Value) -> (u16, Value) {
    let refresh_token = tokens["refresh_token"].as_str().unwrap();
    token(provider.base_url(), &[("grant_type", "refresh_token"), ("refresh_token", refresh_token)]).await
}

async fn files(provider: &Provider, tokens: &Value) -> u16 {
    get(&format!("{}/files", provider.base_url()), tokens["access_token"].as_str()).await.0
}

#[tokio::test]
async fn static_refresh_tokens_stay_and_are_not_repeated() {
    let provider = provider().await;
    provider.configure(|settings| settings.refresh = Refresh::Static);
    let first = tokens(&provider).await;
    for _ in 0..2 {
        let (status, again) = refresh(&provider, &first).await;
        assert_eq!(status, 200);
        assert!(again.get("refresh_token").is_none());
        assert_ne!(again["access_token"], first["access_token"]);
    }
    provider.configure(|settings| settings.refresh = Refresh::Never);
    assert!(tokens(&provider).await.get("refresh_token").is_none());
}

#[tokio::test]
async fn rotation_refuses_the_former_token_but_keeps_the_family() {
    let provider = provider().await;
    provider.configure(|settings| settings.refresh = Refresh::Rotating);
    let first = tokens(&provider).await;
    let (_, second) = refresh(&provider, &first).await;
    assert_eq!(refresh(&provider, &first).await.1["error"], "invalid_grant");
    assert_eq!(files(&provider, &second).await, 200);
    assert_eq!(refresh(&provider, &second).await.0, 200);
    assert_eq!(provider.reuse_kills(), 0);
}

#[tokio::test]
async fn strict_rotation_kills_the_family_on_reuse() {
    let provider = provider().await;
    let first = tokens(&provider).await;
    let (_, second) = refresh(&provider, &first).await;
    assert_eq!(refresh(&provider, &first).await.1["error"], "invalid_grant");
    assert_eq!(refresh(&provider, &second).await.1["error"], "invalid_grant");
    assert_eq!(files(&provider, &second).await, 401);
    assert_eq!(provider.reuse_kills(), 1);
    let log = provider.token_log();
    assert!(log.iter().all(|entry| entry.approval.as_ref().unwrap().account == "octocat"));
}

#[tokio::test]
async fn within_the_grace_a_former_token_still_works() {
    let provider = provider().await;
    provider.configure(|settings| settings.rotation_grace = Duration::from_secs(30));
    let first = tokens(&provider).await;
    assert_eq!(refresh(&provider, &first).await.0, 200);
    assert_eq!(refresh(&provider, &first).await.0, 200);
    provider.clock().advance(Duration::from_secs(30));
    assert_eq!(refresh(&provider, &first).await.0, 400);
    assert_eq!(provider.reuse_kills(), 1);
}

#[tokio::test]
async fn a_refresh_may_narrow_and_never_widen() {
    let provider = provider().await;
    let first = tokens(&provider).await;
    let refresh_token = first["refresh_token"].as_str().unwrap();
    let with_scope =
        |scope| vec![("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("scope", scope)];
    let (_, narrow) = token(provider.base_url(), &with_scope("profile")).await;
    assert_eq!(narrow["scope"], "profile");
    let next = narrow["refresh_token"].as_str().unwrap();
    let wide = [("grant_type", "refresh_token"), ("refresh_token", next), ("scope", "files.write")];
    assert_eq!(token(provider.base_url(), &wide).await.1["error"], "invalid_scope");
}

#[tokio::test]
async fn revoking_a_refresh_token_ends_the_grant() {
    let provider = provider().await;
    let first = tokens(&provider).await;
    let revoke = format!("{}/revoke", provider.base_url());
    let form = [("token", first["refresh_token"].as_str().unwrap())];
    assert_eq!(post(&revoke, &form, None).await.0, 401);
    assert_eq!(files(&provider, &first).await, 200);
    assert_eq!(post(&revoke, &form, Some(basic("consentry", SECRET))).await.0, 200);
    assert_eq!(files(&provider, &first).await, 401);
    assert_eq!(refresh(&provider, &first).await.1["error"], "invalid_grant");
    assert_eq!(post(&revoke, &[("token", "unknown")], Some(basic("consentry", SECRET))).await.0, 200);
    let revoked: Vec<bool> = provider.revocations().entries().iter().map(|entry| entry.revoked).collect();
    assert_eq!(revoked, [false, true, false]);
}

#[tokio::test]
async fn revoking_an_access_token_ends_only_that() {
    let provider = provider().await;
    let first = tokens(&provider).await;
    let form = [("token", first["access_token"].as_str().unwrap())];
    post(&format!("{}/revoke", provider.base_url()), &form, Some(basic("consentry", SECRET))).await;
    assert_eq!(files(&provider, &first).await, 401);
    assert_eq!(refresh(&provider, &first).await.0, 200);
}

#[tokio::test]
async fn an_account_can_remove_the_client_by_itself() {
    let provider = provider().await;
    let first = tokens(&provider).await;
    provider.revoke_account("octocat");
    assert_eq!(files(&provider, &first).await, 401);
    assert_eq!(refresh(&provider, &first).await.1["error"], "invalid_grant");
}

#[tokio::test]
async fn another_client_can_neither_refresh_nor_revoke() {
    let provider = provider().await;
    provider.register(consentry_fakes::Client::basic("other", "x").redirect_uri(CALLBACK));
    let first = tokens(&provider).await;
    let refresh_token = first["refresh_token"].as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
    let (status, body) = token_as(provider.base_url(), &form, Some(basic("other", "x"))).await;
    assert_eq!((status, &body["error"]), (400, &"invalid_grant".into()));
    let revoke = format!("{}/revoke", provider.base_url());
    for token in [refresh_token, first["access_token"].as_str().unwrap()] {
        let (status, body) = post(&revoke, &[("token", token)], Some(basic("other", "x"))).await;
        assert_eq!((status, &body["error"]), (400, &"invalid_request".into()));
    }
    assert_eq!(files(&provider, &first).await, 200);
    assert_eq!(refresh(&provider, &first).await.0, 200);
    assert_eq!(provider.reuse_kills(), 0, "a stranger's attempt counts for nothing");
}

/// GitHub's way of revoking: the client by Basic, JSON with the access token and nothing else.
#[tokio::test]
async fn a_grant_can_be_ended_as_at_github() {
    let provider = provider().await;
    let first = tokens(&provider).await;
    let second = tokens(&provider).await;
    let end = async |client: &str, proof: String, kind: &str, body: String| {
        let url = format!("{}/applications/{client}/grant", provider.base_url());
        let request = http().delete(url).header("authorization", proof);
        request.header("content-type", kind).body(body).send().await.unwrap().status().as_u16()
    };
    let good = basic("consentry", SECRET);
    let body = serde_json::json!({ "access_token": first["access_token"] }).to_string();
    let json = "application/json";
    assert_eq!(end("consentry", basic("consentry", "no"), json, body.clone()).await, 401);
    assert_eq!(end("other", good.clone(), json, body.clone()).await, 401);
    assert_eq!(end("consentry", good.clone(), "text/plain", body.clone()).await, 422);
    assert_eq!(end("consentry", good.clone(), json, "access_token=x".into()).await, 422);
    assert_eq!(end("consentry", good.clone(), json, "{\"access_token\":\"x\"}".into()).await, 404);
    assert_eq!(files(&provider, &first).await, 200);
    assert_eq!(end("consentry", good.clone(), json, body.clone()).await, 204);
    assert_eq!(end("consentry", good, json, body).await, 404);
    // Everything of this account and client is gone.
    for tokens in [first, second] {
        assert_eq!(files(&provider, &tokens).await, 401);
        assert_eq!(refresh(&provider, &tokens).await.1["error"], "invalid_grant");
    }
}
