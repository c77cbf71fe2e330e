//! Refreshing: one request, what its answers mean, and how the provider is left alone.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use consentry_fakes::{Answer, AuthenticationUsed, Refresh, TokenRequest};
use serde_json::json;

use super::{World, acme, outbound_within};
use crate::{
    config::ErrorClass,
    connection::Account,
    outbound::Limits,
    provider::{Class, Failure, Paused, ProviderError, Providers, Tokens, Why},
    scope::Scopes,
    secret::Secret,
    values::Values,
};

const NONE: Duration = Duration::ZERO;

impl World {
    /// Octocat's tokens.
    async fn connect(&self) -> Tokens {
        let trip = self.travel().await;
        self.exchange(&trip).await.unwrap()
    }

    async fn refresh(&self, tokens: &Tokens) -> Result<Tokens, Failure> {
        let permit = self.providers.permit(&self.provider).await.unwrap();
        let token = tokens.refresh_token.as_ref().unwrap();
        self.providers.refresh(&self.provider, permit, token, &tokens.granted, None).await
    }

    fn refreshes(&self) -> Vec<TokenRequest> {
        let mut log = self.fake.token_log();
        log.retain(|request| request.grant_type.as_deref() == Some("refresh_token"));
        log
    }

    fn metrics(&self) -> String {
        self.providers.0.outbound.metrics().text()
    }
}

/// R88, RFC 6749 section 6, RFC 8707: what is sent, and that a rotating provider's chain goes on.
#[tokio::test]
async fn r67_r88_a_refresh_token_becomes_tokens() {
    let world = World::start().await.changed(|provider| {
        provider.resource = vec!["https://a.example/".into()];
        provider.requests_per_second = 100;
    });
    let mut tokens = world.connect().await;
    for _ in 0..3 {
        let next = world.refresh(&tokens).await.unwrap();
        assert_ne!(next.access_token.expose(), tokens.access_token.expose());
        assert_eq!(next.granted, tokens.granted);
        assert_eq!(next.access_expires_at, Some(world.clock.now().plus(Duration::from_secs(3600))));
        tokens = next;
    }
    let log = world.refreshes();
    assert_eq!(log.len(), 3);
    assert_eq!(log[0].authentication, AuthenticationUsed::Basic);
    assert_eq!(log[0].resources, world.provider.resource);
    assert!(!log[0].parameters.iter().any(|(name, _)| name == "client_secret" || name == "scope"));
    assert_eq!(world.fake.reuse_kills(), 0);
    assert!(world.metrics().contains("consentry_refreshes_total{provider=\"acme\",result=\"ok\"} 3"));
}

#[tokio::test]
async fn what_an_answer_does_not_say_stays_as_it_was() {
    let world = World::start().await;
    world.fake.configure(|settings| settings.refresh = Refresh::Static);
    let tokens = world.connect().await;
    assert!(world.refresh(&tokens).await.unwrap().refresh_token.is_none());
    for (member, value) in [("scope", json!(null)), ("scope", json!("")), ("refresh_token", json!(""))] {
        world.fake.next_token_answer(Answer::with_member(member, value));
        let next = world.refresh(&tokens).await.unwrap();
        assert_eq!(next.granted, tokens.granted);
        assert!(next.refresh_token.is_none());
    }
    world.fake.next_token_answer(Answer::with_member("scope", json!("profile")));
    assert_eq!(world.refresh(&tokens).await.unwrap().granted.to_text(), "profile");
}

/// How long a refresh token lives, in the spellings that are in use, as a number or a text.
#[tokio::test]
async fn r75_the_life_of_the_refresh_token_is_read() {
    let world = World::start().await;
    world.fake.configure(|settings| settings.refresh = Refresh::Static);
    let tokens = world.connect().await;
    let day = Some(world.clock.now().plus(Duration::from_secs(86_400)));
    for (member, value, expected) in [
        ("refresh_token_expires_in", json!(86_400), day),
        ("refresh_expires_in", json!("86400"), day),
        ("x_refresh_token_expires_in", json!(86_400.0), day),
        // "Never", at those who write it so.
        ("refresh_expires_in", json!(0), None),
        ("refresh_token_expires_in", json!("soon"), None),
    ] {
        let shown = format!("{member} {value}");
        world.fake.next_token_answer(Answer::with_member(member, value));
        assert_eq!(world.refresh(&tokens).await.unwrap().refresh_expires_at, expected, "{shown}");
    }
}

fn raw(text: &str) -> Answer {
    Answer::raw(vec![(NONE, Bytes::from(text.to_owned()))])
}

/// Every fault of a token endpoint that a script can play, with the class that it must have.
fn faults() -> Vec<(Answer, Class)> {
    let many_headers =
        (0..2_000).fold("HTTP/1.1 200 OK\r\n".to_owned(), |head, n| head + format!("h{n}: v\r\n").as_str());
    let gzip = Bytes::from_static(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0]);
    let good = r#"{"access_token":"a","token_type":"bearer"}"#;
    vec![
        // F22, F20: the grant is dead, in every dialect.
        (Answer::error(400, "invalid_grant"), Class::Terminal),
        (Answer::error(401, "invalid_grant"), Class::Terminal),
        (Answer::error(403, "invalid_grant"), Class::Terminal),
        (Answer::error(200, "bad_refresh_token"), Class::Terminal),
        (Answer::body(200, "text/html", "error=bad_refresh_token&error_description=x"), Class::Terminal),
        // F23.
        (Answer::error(401, "invalid_client"), Class::Operator),
        (Answer::error(400, "unauthorized_client"), Class::Operator),
        (Answer::status(401), Class::Operator),
        (Answer::html(401), Class::Operator),
        (Answer::error(400, "invalid_request"), Class::Configuration),
        (Answer::error(400, "invalid_scope"), Class::Configuration),
        (Answer::error(400, "unsupported_grant_type"), Class::Configuration),
        // F18, F19.
        (Answer::too_many("soon"), Class::Transient),
        (Answer::status(408), Class::Transient),
        (Answer::status(500), Class::Transient),
        (Answer::html(502), Class::Transient),
        (Answer::error(503, "invalid_grant"), Class::Transient),
        (Answer::error(400, "temporarily_unavailable"), Class::Transient),
        // F20.
        (Answer::html(200), Class::Suspicious),
        (Answer::status(200), Class::Suspicious),
        (Answer::status(204), Class::Suspicious),
        (Answer::body(200, "application/json", "[]"), Class::Suspicious),
        (Answer::body(200, "application/json", "null"), Class::Suspicious),
        (Answer::body(200, "application/json", "\"a\""), Class::Suspicious),
        (Answer::body(200, "application/json", "{\"access_token\":"), Class::Suspicious),
        (Answer::json(200, &json!({})), Class::Suspicious),
        (Answer::json(200, &json!({"access_token": ""})), Class::Suspicious),
        (Answer::json(200, &json!({"access_token": 7})), Class::Suspicious),
        (Answer::json(200, &json!({"access_token": "a\r\nb"})), Class::Suspicious),
        (Answer::json(200, &json!({"access_token": "a", "token_type": ["bearer"]})), Class::Suspicious),
        (Answer::json(200, &json!({"access_token": "a", "refresh_token": 7})), Class::Suspicious),
        (Answer::json(200, &json!({"access_token": "a".repeat(70_000)})), Class::Suspicious),
        (Answer::body(200, "application/json", "[".repeat(100_000)), Class::Suspicious),
        (
            Answer::body(200, "application/json", format!("{{\"a\":{}", "[".repeat(100_000))),
            Class::Suspicious,
        ),
        // F17: endless, compressed, with a flood of headers.
        (Answer::endless("application/json"), Class::Suspicious),
        (Answer::body(200, "application/json", gzip).header("content-encoding", "gzip"), Class::Suspicious),
        (raw(&(many_headers + "\r\n")), Class::Suspicious),
        (raw("SSH-2.0-OpenSSH_9.2\r\n\r\n"), Class::Suspicious),
        // F21: after it was sent, and no whole answer.
        (Answer::drop_connection(), Class::Ambiguous),
        (Answer::truncated("application/json", good), Class::Ambiguous),
        (raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{\"access"), Class::Ambiguous),
        (raw("HTTP/1.1 200 OK\r\ncontent-le"), Class::Ambiguous),
        (raw(&"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000)), Class::Ambiguous),
        // R93.
        (Answer::redirect("https://elsewhere.example/token"), Class::Policy),
        (Answer::status(307).header("location", "/elsewhere"), Class::Policy),
        (Answer::status(304), Class::Policy),
    ]
}

/// F16 to F23, R76, R77: each fault has its class, costs one request, and only the provider's clear word ends a grant.
#[tokio::test]
async fn r76_r77_every_fault_has_its_class() {
    let fast = |provider: &mut crate::config::Provider| provider.requests_per_second = 10_000;
    let mut world = World::start().await.changed(fast);
    let tokens = world.connect().await;
    for (answer, class) in faults() {
        let shown = format!("{answer:.200?}");
        let before = world.refreshes().len();
        world.fake.next_token_answer(answer);
        let failure = world.refresh(&tokens).await.unwrap_err();
        assert_eq!(failure.class, class, "{shown}");
        assert_eq!(world.refreshes().len(), before + 1, "{shown}");
        // Without what the fault has left of pauses.
        world = world.changed(|_| {});
    }
    assert!(world.fake.log().entries().iter().all(|request| request.path != "/elsewhere"));
    // Nothing of all this has spent the token.
    assert!(world.refresh(&tokens).await.is_ok());
}

/// What a content type says is not believed, in either direction.
#[tokio::test]
async fn r75_an_answer_is_read_for_what_it_is() {
    let world = World::start().await;
    let tokens = world.connect().await;
    let json = r#"{"access_token":"new","token_type":"BEARER","expires_in":"60"}"#;
    for kind in ["text/html", "application/x-www-form-urlencoded", "image/png", "application/json"] {
        world.fake.next_token_answer(Answer::body(200, kind, json));
        assert_eq!(world.refresh(&tokens).await.unwrap().access_token.expose(), "new", "{kind}");
    }
}

/// F16, F15: slow bytes and silence end in time; what was sent is not called unsent.
#[tokio::test]
async fn r86_a_slow_answer_is_cut_off() {
    let world = World::start().await;
    let tokens = world.connect().await;
    let total = Duration::from_millis(400);
    let limits = Limits { connect: total, head: total, total, ..Limits::default() };
    let outbound = outbound_within(world.clock.clone(), limits);
    let providers = Providers::new(vec![world.provider.clone()], super::TRIAL, outbound, world.clock.clone());
    let world = World { providers, ..world };
    let slow = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let body = vec![
        (NONE, Bytes::from_static(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")),
        (Duration::from_secs(60), Bytes::from_static(b"}")),
    ];
    for answer in [
        Answer::trickle(Duration::from_millis(50), slow),
        Answer::raw(body),
        Answer::genuine().delayed(Duration::from_secs(60)),
    ] {
        world.fake.next_token_answer(answer);
        let failure = tokio::time::timeout(total * 3, world.refresh(&tokens)).await.expect("in time");
        let failure = failure.unwrap_err();
        assert_eq!((failure.class, failure.what), (Class::Ambiguous, "outbound_timeout"));
    }
}

/// F14: nothing was sent, which is no reason to fear for the token; and it works again without anyone.
#[tokio::test]
async fn r77_r87_a_closed_port_is_not_sent_and_mends_itself() {
    let world = World::start().await.configured();
    let tokens = world.connect().await;
    let world = world.changed(|_| {});
    world.fake.accept_connections(false).await.unwrap();
    let mut tried = 0;
    let end = world.clock.now().plus(Duration::from_secs(1800));
    while world.clock.now() < end {
        match world.providers.permit(&world.provider).await {
            Ok(permit) => {
                let token = tokens.refresh_token.as_ref().unwrap();
                let result =
                    world.providers.refresh(&world.provider, permit, token, &tokens.granted, None).await;
                assert_eq!(result.unwrap_err().class, Class::NotSent);
                tried += 1;
            }
            Err(Paused { until, why }) => {
                assert_eq!(why, Why::Failing);
                assert!(world.metrics().contains("consentry_provider_paused{provider=\"acme\"} 1"));
                world.clock.advance(world.clock.now().until(until));
            }
        }
    }
    // A trial every half minute as a rule, and jitter can make it more often.
    assert!((60..400).contains(&tried), "{tried}");
    world.fake.accept_connections(true).await.unwrap();
    world.clock.advance(super::TRIAL);
    assert!(world.refresh(&tokens).await.is_ok());
    assert!(world.metrics().contains("consentry_provider_paused{provider=\"acme\"} 0"));
}

/// F18, R87: kept, in seconds and as a date, and clamped; nothing goes out before.
#[tokio::test]
async fn r87_retry_after_is_kept() {
    let world = World::start().await;
    world.fake.configure(|settings| settings.refresh = Refresh::Static);
    let tokens = world.connect().await;
    for (value, least, most) in [
        ("7", 7, 7),
        ("0", 1, 1),
        ("1000000000", 3_600, 3_600),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600, 3_600),
        ("Sat, 29 Nov 2025 11:00:00 GMT", 1, 1),
    ] {
        world.fake.next_token_answer(Answer::too_many(value));
        assert_eq!(world.refresh(&tokens).await.unwrap_err().class, Class::Transient);
        let before = world.fake.token_log().len();
        let paused = world.providers.permit(&world.provider).await.err().unwrap();
        let wait = world.clock.now().until(paused.until);
        assert_eq!(paused.why, Why::Asked, "{value}");
        assert!((Duration::from_secs(least)..=Duration::from_secs(most)).contains(&wait), "{value} {wait:?}");
        assert_eq!(world.fake.token_log().len(), before);
        world.clock.advance(wait);
        assert!(world.refresh(&tokens).await.is_ok(), "{value}");
    }
    // A person at the browser is not held back, and revocations keep to it.
    world.fake.next_token_answer(Answer::status(503).header("retry-after", "60"));
    assert!(world.refresh(&tokens).await.is_err());
    let trip = world.travel().await;
    assert!(world.exchange(&trip).await.is_ok());
    let token = tokens.refresh_token.as_ref().unwrap();
    let error = world
        .providers
        .revoke(&world.provider, token, "refresh_token", &Values::default())
        .await
        .unwrap_err();
    let retry_after = Some(Duration::from_secs(60));
    assert_eq!(error, ProviderError::Unreachable { maybe_sent: false, retry_after });
    assert!(world.fake.revocations().is_empty());
}

/// F23, R77: a thousand connections under a client that is refused: a few requests, no more than one trial each half
/// minute afterwards, and a person's success ends it at once.
#[tokio::test]
async fn r77_a_refused_client_is_asked_about_once_in_a_while() {
    let world = World::start().await;
    let tokens = world.connect().await;
    world.fake.always_answer("/token", Answer::error(401, "invalid_client"));
    let mut results = Vec::new();
    for minute_half in 0..10 {
        for _ in 0..100 {
            match world.providers.permit(&world.provider).await {
                Ok(permit) => {
                    let token = tokens.refresh_token.as_ref().unwrap();
                    results.push(
                        world.providers.refresh(&world.provider, permit, token, &tokens.granted, None).await,
                    );
                }
                Err(paused) => assert_eq!(paused.why, Why::ClientRefused),
            }
        }
        assert_eq!(world.refreshes().len(), minute_half + 1);
        world.clock.advance(super::TRIAL);
    }
    assert!(results.iter().all(|result| result.as_ref().unwrap_err().class == Class::Operator));
    world.fake.answer_normally("/token");
    // One is out as the trial; a person connects meanwhile.
    let trial = world.providers.permit(&world.provider).await.unwrap();
    assert!(world.providers.permit(&world.provider).await.is_err());
    let trip = world.travel().await;
    assert!(world.exchange(&trip).await.is_ok());
    drop(trial);
    assert!(world.refresh(&tokens).await.is_ok());
}

/// What a person brings back can end a pause, and begin none.
#[tokio::test]
async fn r87_nobody_at_a_browser_can_hold_back_refreshes() {
    let world = World::start().await;
    let tokens = world.connect().await;
    for _ in 0..20 {
        let trip = world.travel().await;
        world.fake.next_token_answer(Answer::status(401));
        assert!(world.exchange(&trip).await.is_err());
    }
    assert!(world.refresh(&tokens).await.is_ok());
}

/// The provider's own words go before the common ones, and never before what a status says of an outage.
#[tokio::test]
async fn r76_a_providers_own_codes_are_known() {
    let world = World::start().await.changed(|provider| {
        provider.error_classes = [
            ("token_inactive".to_owned(), ErrorClass::Terminal),
            ("invalid_grant".to_owned(), ErrorClass::Transient),
            ("app_disabled".to_owned(), ErrorClass::Operator),
            ("bad_words".to_owned(), ErrorClass::Configuration),
        ]
        .into();
    });
    let tokens = world.connect().await;
    for (answer, class) in [
        (Answer::error(400, "token_inactive"), Class::Terminal),
        (Answer::error(503, "token_inactive"), Class::Transient),
        (Answer::error(400, "invalid_grant"), Class::Transient),
        (Answer::error(400, "bad_words"), Class::Configuration),
        (Answer::error(400, "app_disabled"), Class::Operator),
    ] {
        world.fake.next_token_answer(answer);
        assert_eq!(world.refresh(&tokens).await.unwrap_err().class, class);
    }
}

/// Endpoints that cannot be discovered: the token has gone nowhere.
#[tokio::test]
async fn r77_without_endpoints_nothing_is_sent() {
    let world = World::start().await;
    let tokens = world.connect().await;
    let world = world.changed(|_| {});
    world.fake.always_answer("/.well-known/oauth-authorization-server", Answer::status(503));
    world.fake.always_answer("/.well-known/openid-configuration", Answer::status(503));
    assert_eq!(world.refresh(&tokens).await.unwrap_err().class, Class::NotSent);
    let world = world.changed(|provider| provider.client_secret = None);
    let world = world.changed(|provider| {
        provider.client_authentication = Some(crate::config::ClientAuthentication::Basic);
    });
    world.fake.answer_normally("/.well-known/oauth-authorization-server");
    let failure = world.refresh(&tokens).await.unwrap_err();
    assert_eq!((failure.class, failure.word()), (Class::Configuration, "client_secret_missing"));
    assert!(world.refreshes().is_empty());
}

/// R82: the same issuer and subject, or none of our business.
#[tokio::test]
async fn r82_another_account_is_told() {
    let world = World::start().await;
    let provider = acme("https://acme.example");
    let id_token = |claims: serde_json::Value| {
        use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
        Secret::new(format!("e30.{}.x", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string())))
    };
    let mut tokens = world.connect().await;
    let octocat = Account { id: Some("7".into()), label: None };
    assert_eq!(world.providers.same_account(&provider, &tokens, &octocat, &Values::default()), Ok(()));
    let mismatch = Err(ProviderError::AccountMismatch);
    for (iss, sub, aud, expected) in [
        ("https://acme.example", "7", "client", Ok(())),
        ("https://acme.example", "8", "client", mismatch.clone()),
        ("https://acme.example", "", "client", mismatch.clone()),
        ("https://acme.example/", "7", "client", mismatch),
        ("https://acme.example", "7", "other", Err(ProviderError::Malformed { what: "id_token_aud" })),
    ] {
        // Long expired, which is nobody's sign-in.
        tokens.id_token = Some(id_token(json!({"iss": iss, "sub": sub, "aud": aud, "exp": 1})));
        assert_eq!(
            world.providers.same_account(&provider, &tokens, &octocat, &Values::default()),
            expected,
            "{iss} {sub} {aud}"
        );
    }
    tokens.id_token = Some(id_token(json!({"iss": "https://acme.example", "sub": "8", "aud": "client"})));
    assert_eq!(
        world.providers.same_account(&provider, &tokens, &Account::default(), &Values::default()),
        Ok(())
    );
    tokens.id_token = Some(Secret::new("not.a.token"));
    let unreadable = Err(ProviderError::Malformed { what: "id_token" });
    assert_eq!(world.providers.same_account(&provider, &tokens, &octocat, &Values::default()), unreadable);
}

/// Flapping (F19): half of the answers are 503, and every connection gets through.
#[tokio::test]
async fn r77_flapping_ends_well() {
    let world = World::start().await;
    world.fake.configure(|settings| settings.refresh = Refresh::Static);
    let tokens = Arc::new(world.connect().await);
    let (mut good, mut bad) = (0, 0);
    for round in 0..100_u32 {
        if round.count_ones() % 2 == 1 {
            world.fake.next_token_answer(Answer::status(503));
        }
        let permit = loop {
            match world.providers.permit(&world.provider).await {
                Ok(permit) => break permit,
                Err(paused) => world.clock.advance(world.clock.now().until(paused.until)),
            }
        };
        let token = tokens.refresh_token.as_ref().unwrap();
        match world.providers.refresh(&world.provider, permit, token, &Scopes::default(), None).await {
            Ok(_) => good += 1,
            Err(failure) => {
                assert_eq!(failure.class, Class::Transient);
                bad += 1;
            }
        }
        world.clock.advance(Duration::from_millis(100));
    }
    assert_eq!((good, bad), (50, 50));
}

/// F15: one provider's queue is its own.
#[tokio::test]
async fn r87_a_stuck_provider_delays_no_other() {
    let world = World::start().await;
    let other = crate::config::Provider { id: "other".parse().unwrap(), ..world.provider.clone() };
    let stuck = crate::config::Provider { concurrent_requests: 1, ..world.provider.clone() };
    let outbound = outbound_within(world.clock.clone(), Limits::default());
    let providers = vec![stuck.clone(), other.clone()];
    let providers = Providers::new(providers, super::TRIAL, outbound, world.clock.clone());
    let held = providers.permit(&stuck).await.unwrap();
    let waiting = tokio::spawn({
        let (providers, stuck) = (providers.clone(), stuck.clone());
        async move { providers.permit(&stuck).await.map(drop) }
    });
    for _ in 0..other.requests_per_second.min(other.concurrent_requests) {
        drop(providers.permit(&other).await.unwrap());
    }
    assert!(!waiting.is_finished());
    drop(held);
    waiting.await.unwrap().unwrap();
}
