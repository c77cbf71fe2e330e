//! Providers that want to be asked otherwise, through the whole connect, refresh and disconnect; and what becomes of a
//! grant that cannot last.

use std::{collections::BTreeMap, time::Duration};

use consentry::config::{
    OwnRevocation, Provider, RefreshTokens, RevocationBody, RevocationEnds, RevocationMethod,
    RevocationProof, RevocationToken, Settings, StepMethod, TokenBody, TokenStep,
};
use consentry_fakes::{Answer, Dialect, Refresh, Written};

use super::stand::{LIFE, Stand, handed};
use crate::{
    engine::Database,
    world::{FILES, World},
};

on_both_engines! {
    r83_a_provider_of_another_dialect_is_connected_refreshed_and_told,
    r80_an_access_token_is_renewed_by_itself,
    a_step_that_fails_spends_the_attempt,
    a_grant_that_cannot_last_is_refused_and_the_next_try_is_free,
    r80_a_grace_is_one_more_try_with_the_same_token,
    r83_a_token_that_ends_alone_is_sent_whoever_else_has_the_account,
}

const SECOND: Duration = Duration::from_secs(1);

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Changes what the settings know of "Example Files".
fn files(settings: &mut Settings, change: impl FnOnce(&mut Provider, &dyn Fn(&str) -> url::Url)) {
    let provider = settings.providers.iter_mut().find(|one| one.id.as_str() == FILES).unwrap();
    let base = url::Url::parse(provider.issuer.as_deref().unwrap()).unwrap();
    change(provider, &|path| base.join(path).unwrap());
}

fn revocation(url: url::Url, ends: RevocationEnds) -> OwnRevocation {
    OwnRevocation {
        method: RevocationMethod::Delete,
        url,
        body: RevocationBody::None,
        params: BTreeMap::new(),
        token: RevocationToken::AccessToken,
        proof: RevocationProof::Nothing,
        headers: map(&[("authorization", "Bearer {token}")]),
        gone: vec![401],
        ends,
    }
}

async fn r83_a_provider_of_another_dialect_is_connected_refreshed_and_told(db: Database) {
    let world = World::start_with(db, |settings| {
        files(settings, |provider, at| {
            let sending = &mut provider.sending;
            sending.token_body = TokenBody::Json;
            sending.token_params = map(&[("type", "web_server")]);
            sending.refresh_params = map(&[("type", "refresh")]);
            sending.refresh_endpoint = Some(at("/refresh"));
            sending.required_scopes = consentry::scope::Scopes::new(["offline"]).unwrap();
            sending.refresh_token = RefreshTokens::Always;
            provider.revocation = Some(revocation(at("/tokens/current"), RevocationEnds::Grant));
        });
    })
    .await;
    world.files.configure(|settings| {
        settings.scopes.push("offline".to_owned());
        settings.dialect = Dialect {
            token_body: Written::Json,
            token_params: vec![("type".into(), "web_server".into())],
            refresh_params: vec![("type".into(), "refresh".into())],
            refresh_elsewhere: true,
            required_scope: Some("offline".into()),
            ..Dialect::default()
        };
    });
    let stand = Stand::in_world(world).await;
    assert_eq!(stand.stored().await.granted.to_text(), "files.read");
    stand.runs_out();
    let renewed = stand.resolves().await;
    assert_eq!(renewed.generation, 2);
    stand.api.delete(&format!("/v1/connections/{}", stand.id)).await.expect(204);
    let told = stand.world.files.revocations();
    let told = told.until(Duration::from_secs(20), |told| !told.is_empty()).await.unwrap();
    assert!(told[0].revoked && told[0].token.as_deref() == Some(renewed.token.as_str()));
}

/// Tokens for an hour, long-lived ones for those, which renew themselves.
async fn without_refresh_tokens(db: Database) -> World {
    let world = World::start_with(db, |settings| {
        files(settings, |provider, at| {
            let step = |path, pairs: &[(&str, &str)]| {
                let params = map(pairs);
                TokenStep { method: StepMethod::Get, url: at(path), params }
            };
            let (token, secret) = (("access_token", "{access_token}"), ("client_secret", "{client_secret}"));
            let sending = &mut provider.sending;
            sending.token_steps = vec![step("/long-lived", &[("grant_type", "exchange"), token, secret])];
            sending.renewal = Some(step("/renew", &[("grant_type", "renew"), token]));
            sending.refresh_token = RefreshTokens::Never;
        });
    })
    .await;
    world.files.configure(|settings| settings.refresh = Refresh::Never);
    world
}

fn renewals(stand: &Stand) -> usize {
    stand.world.files.log().entries().iter().filter(|one| one.path == "/renew").count()
}

/// F2 without any loss: the token that renews goes on being good, and is handed out while it lives.
async fn r80_an_access_token_is_renewed_by_itself(db: Database) {
    let stand = Stand::in_world(without_refresh_tokens(db).await).await;
    let first = stand.resolves().await;
    assert!(first.token.starts_with("long_"));
    let stored = stand.stored().await;
    assert!(stored.can_refresh && stored.refresh_expires_at == stored.access_expires_at);

    // Nine tenths of a hundred hours: behind the answer, whose token still lives.
    stand.world.advance(LIFE * 92);
    stand.world.files.next_answer("/renew", Answer::drop_connection().after_work());
    assert_eq!(stand.resolves().await, first);
    stand.world.until(async || stand.stored().await.failures == 1).await;
    stand.world.advance(SECOND);
    stand.world.until(async || stand.stored().await.generation == 2).await;
    let second = stand.resolves().await;
    assert!(second.token != first.token && renewals(&stand) == 2);

    // A refusal after a lost answer is a refusal, and no rotation was lost; the token is handed out to its end.
    stand.world.advance(LIFE * 92);
    stand.world.files.next_answer("/renew", Answer::drop_connection());
    let refused = serde_json::json!({ "error": "invalid_grant" });
    stand.world.files.next_answer("/renew", Answer::json(400, &refused));
    assert_eq!(stand.resolves().await, second);
    stand.world.until(async || stand.stored().await.failures == 1).await;
    stand.world.advance(SECOND);
    assert_eq!(stand.until_status("needs_reconnect").await, "refused_by_provider");

    stand.api.delete(&format!("/v1/connections/{}", stand.id)).await.expect(204);
    let told = stand.world.files.revocations();
    let told = told.until(Duration::from_secs(20), |told| !told.is_empty()).await.unwrap();
    assert_eq!(told[0].hint.as_deref(), Some("access_token"));
    assert_eq!(told[0].token.as_deref(), Some(second.token.as_str()));
}

async fn a_step_that_fails_spends_the_attempt(db: Database) {
    let world = without_refresh_tokens(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await;
    world.files.next_answer("/long-lived", Answer::status(503));
    alice.connects("octocat").await.is("provider-unreachable");
    assert_eq!(world.redeemed(), 1);
    alice.reloads().await.is("provider-unreachable");
    assert_eq!(world.redeemed(), 1, "the code is not sent again");
    alice.connects("octocat").await.is("connected");
}

/// A provider that should give a refresh token and did not: nothing is kept, and the person can do better.
async fn a_grant_that_cannot_last_is_refused_and_the_next_try_is_free(db: Database) {
    let world = World::start_with(db, |settings| {
        files(settings, |provider, _| provider.sending.refresh_token = RefreshTokens::Always);
    })
    .await;
    world.files.configure(|settings| settings.refresh = Refresh::Never);
    let api = world.api("files");
    let link = api.asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await;
    let page = alice.connects("octocat").await;
    page.is("not-connected");
    assert!(page.text().contains("for a short time only"), "{}", page.text());
    api.asks("alice", FILES).await;
    let told = world.files.revocations();
    told.until(Duration::from_secs(20), |told| told.len() == 1 && told[0].revoked).await.expect("given back");

    world.files.configure(|settings| settings.refresh = Refresh::Strict);
    alice.connects("octocat").await.is("connected");
    // A later consent of the same account without one keeps what is there (R78).
    world.files.configure(|settings| settings.refresh = Refresh::Never);
    let mut question = api.question("alice", FILES);
    question["scopes"] = serde_json::json!(["files.read", "files.write"]);
    let answer = api.post("/v1/credentials/resolve", &question).await.expect(200);
    let more = crate::world::link(&answer["elicitation"]);
    alice.opens(&more.url).await;
    alice.connects("octocat").await.is("connected");
}

/// F2 at a provider that lets the former token in for a while: one refusal in that time is doubted.
async fn r80_a_grace_is_one_more_try_with_the_same_token(db: Database) {
    let stand = Stand::with(db, |settings| {
        files(settings, |provider, _| provider.sending.reuse_grace = Some(SECOND * 1800));
    })
    .await;
    stand.world.files.configure(|settings| settings.rotation_grace = SECOND * 1800);
    stand.runs_out();
    let fake = &stand.world.files;
    fake.next_token_answer(Answer::drop_connection().after_work());
    fake.next_token_answer(Answer::json(400, &serde_json::json!({ "error": "invalid_grant" })));
    let (api, question) = (stand.api.clone(), stand.api.question("alice", FILES));
    let caller = tokio::spawn(async move { api.post("/v1/credentials/resolve", &question).await });
    stand.world.until(async || stand.stored().await.failures == 1).await;
    stand.world.advance(SECOND);
    stand.world.until(async || stand.stored().await.failures == 2).await;
    caller.await.unwrap().expect(503);
    stand.world.advance(SECOND * 5);
    assert_eq!(stand.resolves().await.generation, 2);
    let sent = stand.refreshes();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|one| one.refresh_token == sent[0].refresh_token));
    assert!(stand.needs_reconnect().await.is_empty());
}

async fn r83_a_token_that_ends_alone_is_sent_whoever_else_has_the_account(db: Database) {
    let world = World::start_with(db, |settings| {
        files(settings, |provider, at| {
            provider.revocation = Some(revocation(at("/tokens/current"), RevocationEnds::Token));
        });
    })
    .await;
    let stand = Stand::in_world(world).await;
    let other = stand.world.api("notes");
    let link = other.asks("alice", FILES).await;
    let mut alice = stand.world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await;
    alice.connects("octocat").await.is("connected");
    stand.api.delete(&format!("/v1/connections/{}", stand.id)).await.expect(204);
    let told = stand.world.files.revocations();
    let told = told.until(Duration::from_secs(20), |told| !told.is_empty()).await.unwrap();
    assert!(told[0].revoked);
    handed(&other.resolves("alice", FILES).await);
}
