//! Keys: kept, rotated, and asked for no more often than they must be.

use std::time::Duration;

use consentry_fakes::{Answer, Forge};
use serde_json::json;

use crate::stand::Stand;

impl Stand {
    fn fetches(&self) -> usize {
        self.id.log().entries().iter().filter(|received| received.path.contains("jwks")).count()
    }

    async fn status(&self, forge: &Forge) -> u16 {
        self.with_token("/mcp", &self.forged(forge)).await.status().as_u16()
    }
}

/// R30: forged key ids make one fetch a minute, however many come; honest tokens are served meanwhile.
#[tokio::test]
async fn r30_unknown_keys_do_not_make_a_storm() {
    let stand = Stand::new().await;
    let tokens: Vec<String> = (0..50).map(|_| stand.forged(&Forge::new().unknown_kid())).collect();
    let all = tokens.iter().map(|token| stand.with_token("/mcp", token));
    for response in futures_util::future::join_all(all).await {
        assert_eq!(response.status(), 401);
    }
    assert!(stand.fetches() <= 2, "{}", stand.fetches());
    assert_eq!(stand.status(&Forge::new()).await, 200);
}

#[tokio::test]
async fn a_new_key_counts_at_once_and_a_withdrawn_one_no_longer() {
    let stand = Stand::new().await;
    assert_eq!(stand.status(&Forge::new()).await, 200);
    let old = stand.token();
    stand.id.rotate_key().unwrap();
    assert_eq!(stand.status(&Forge::new()).await, 200, "found although the kept keys are fresh");
    assert_eq!(stand.with_token("/mcp", &old).await.status(), 401);
}

#[tokio::test]
async fn silence_of_the_issuer_is_bridged_but_nobody_is_let_in_unchecked() {
    let stand = Stand::new().await;
    for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
        stand.id.always_answer(path, Answer::status(503));
    }
    let response = stand.with_token("/mcp", &stand.token()).await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "5");
    assert!(!response.headers().contains_key("www-authenticate"));
}

/// R18, R91: the metadata must name the issuer, and keys come over https (or, as here, from loopback).
#[tokio::test]
async fn r18_r91_metadata_of_another_issuer_or_with_a_bad_address_is_refused() {
    let stand = Stand::new().await;
    let paths = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
    for (name, value) in [
        ("issuer", json!("https://id.example.com")),
        ("jwks_uri", json!("http://id.example.com/jwks")),
        ("jwks_uri", json!("file:///etc/passwd")),
        ("jwks_uri", json!(7)),
    ] {
        let stand = Stand::new().await;
        for path in paths {
            stand.id.always_answer(path, Answer::with_member(name, value.clone()));
        }
        assert_eq!(stand.status(&Forge::new()).await, 503, "{name} {value}");
    }
    assert_eq!(stand.status(&Forge::new()).await, 200);
}

#[tokio::test]
async fn a_document_without_end_is_not_read_to_its_end() {
    let stand = Stand::new().await;
    stand.id.always_answer("/jwks", Answer::endless("application/json"));
    let answered = tokio::time::timeout(Duration::from_secs(30), stand.status(&Forge::new())).await;
    assert_eq!(answered.unwrap(), 503);
}
