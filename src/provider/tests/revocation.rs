//! Revocation in a provider's own way.

use consentry_fakes::Answer;

use super::{CLIENT_SECRET, World};
use crate::{
    config::{
        ClientAuthentication, OwnRevocation, RevocationBody, RevocationEnds, RevocationMethod,
        RevocationProof, RevocationToken,
    },
    provider::{ProviderError, Tokens},
    secret::Secret,
    values::Values,
};

/// As the catalogue has it for GitHub.
async fn github_like() -> (World, Tokens) {
    let world = World::start().await;
    let url = world.url("/applications/client/grant");
    let world = world.changed(|provider| {
        provider.revocation = Some(OwnRevocation {
            method: RevocationMethod::Delete,
            url,
            body: RevocationBody::Json,
            params: [("access_token".into(), "{token}".into())].into(),
            token: RevocationToken::AccessToken,
            proof: RevocationProof::By(ClientAuthentication::Basic),
            headers: [("Accept".into(), "application/vnd.github+json".into())].into(),
            gone: vec![404],
            ends: RevocationEnds::Grant,
        });
    });
    let trip = world.travel().await;
    let tokens = world.exchange(&trip).await.unwrap();
    (world, tokens)
}

/// R83: the grant ends there; a token that is not known any more is revoked; an outage and a refusal are neither.
#[tokio::test]
async fn r83_a_grant_is_revoked_in_the_providers_own_way() {
    let (world, tokens) = github_like().await;
    let revoke = async |token: &Secret| {
        world.providers.revoke(&world.provider, token, "access_token", &Values::default()).await
    };
    let path = "/applications/client/grant";
    world.fake.next_answer(path, Answer::status(503));
    let later = Err(ProviderError::Unreachable { maybe_sent: true, retry_after: None });
    assert_eq!(revoke(&tokens.access_token).await, later);
    world.fake.next_answer(path, Answer::status(401));
    assert!(revoke(&tokens.access_token).await.unwrap_err().is_misconfigured());
    world.fake.next_answer(path, Answer::redirect(world.url("/elsewhere").as_str()));
    assert_eq!(revoke(&tokens.access_token).await, Err(ProviderError::Policy));
    assert!(world.fake.revocations().is_empty());

    assert_eq!(revoke(&tokens.access_token).await, Ok(()));
    assert_eq!(revoke(&tokens.access_token).await, Ok(()), "404");
    let log = world.fake.revocations().entries();
    assert_eq!(log.iter().map(|entry| entry.revoked).collect::<Vec<_>>(), [true, false]);
    // The refresh token of the same grant is dead too.
    let permit = world.providers.permit(&world.provider).await.unwrap();
    let refresh = tokens.refresh_token.as_ref().unwrap();
    let failure =
        world.providers.refresh(&world.provider, permit, refresh, &tokens.granted, None).await.unwrap_err();
    assert_eq!(failure.class, crate::provider::Class::Terminal);

    let sent = world.fake.log().entries();
    let sent: Vec<_> = sent.iter().filter(|request| request.path == path).collect();
    assert!(sent.iter().all(|request| request.method == "DELETE" && request.query.is_none()));
    assert!(sent.iter().all(|request| !request.text().contains(CLIENT_SECRET)));
    assert_eq!(sent[0].header("accept"), Some("application/vnd.github+json"));
}

/// What takes access tokens is not given a refresh token.
#[tokio::test]
async fn r83_the_wrong_kind_of_token_is_not_sent() {
    let (world, tokens) = github_like().await;
    let refresh = tokens.refresh_token.as_ref().unwrap();
    let error = world
        .providers
        .revoke(&world.provider, refresh, "refresh_token", &Values::default())
        .await
        .unwrap_err();
    assert!(error.is_misconfigured());
    assert!(world.fake.revocations().is_empty());
}

/// Another provider's dialect of it: a form to an address of its own.
#[tokio::test]
async fn r83_a_form_is_posted_elsewhere() {
    let world = World::start().await;
    let url = world.url("/revoke");
    let world = world.changed(|provider| {
        provider.revocation = Some(OwnRevocation {
            method: RevocationMethod::Post,
            url,
            body: RevocationBody::Form,
            params: [("token".into(), "{token}".into())].into(),
            token: RevocationToken::RefreshToken,
            proof: RevocationProof::AsForTokens,
            headers: std::collections::BTreeMap::new(),
            gone: Vec::new(),
            ends: RevocationEnds::Grant,
        });
    });
    let trip = world.travel().await;
    let tokens = world.exchange(&trip).await.unwrap();
    let refresh = tokens.refresh_token.unwrap();
    world.providers.revoke(&world.provider, &refresh, "refresh_token", &Values::default()).await.unwrap();
    assert!(world.fake.revocations().entries()[0].revoked);
}

/// As the catalogue has it for Stripe: what is to be ended is told by a value that was kept, and never by braces.
#[tokio::test]
async fn r83_a_kept_value_says_what_is_ended() {
    let world = World::start().await;
    let url = world.url("/deauthorize");
    let world = world.changed(|provider| {
        provider.revocation = Some(OwnRevocation {
            method: RevocationMethod::Post,
            url,
            body: RevocationBody::Form,
            params: [("account".into(), "{account_id}".into())].into(),
            token: RevocationToken::RefreshToken,
            proof: RevocationProof::By(ClientAuthentication::SecretAsUser),
            headers: std::collections::BTreeMap::new(),
            gone: Vec::new(),
            ends: RevocationEnds::Account,
        });
    });
    world.fake.next_answer("/deauthorize", Answer::json(200, &serde_json::json!({})));
    let mut values = Values::default();
    let revoke = async |values: &Values| {
        world.providers.revoke(&world.provider, &Secret::new("t"), "refresh_token", values).await
    };
    assert!(revoke(&values).await.unwrap_err().is_misconfigured());
    assert!(world.fake.log().entries().iter().all(|request| request.path != "/deauthorize"));
    values.insert("account_id", "acct_1&client_id=other").unwrap();
    assert_eq!(revoke(&values).await, Ok(()));
    let log = world.fake.log().entries();
    let sent = log.iter().find(|request| request.path == "/deauthorize").unwrap();
    assert_eq!(sent.text(), "account=acct_1%26client_id%3Dother");
}
