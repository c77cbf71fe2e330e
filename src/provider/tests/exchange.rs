//! The exchange: one request, proved in one way, and what its answers mean.

use std::time::Duration;

use consentry_fakes::{Answer, AuthenticationUsed, Client};
use serde_json::json;

use super::{CALLBACK, CLIENT_SECRET, World};
use crate::{config::ClientAuthentication, provider::ProviderError, secret::Secret, values::Values};

/// R57, R64, R88: the strict provider takes verifier, redirect URI and a secret of every kind of character.
#[tokio::test]
async fn r57_r64_r88_a_code_becomes_tokens() {
    let world = World::start().await;
    let trip = world.travel().await;
    let tokens = world.exchange(&trip).await.unwrap();
    assert_eq!(tokens.token_type, "Bearer");
    assert_eq!(tokens.granted, trip.asked);
    assert_eq!(tokens.access_expires_at, Some(world.clock.now().plus(Duration::from_secs(3600))));
    assert!(tokens.refresh_token.is_some() && tokens.id_token.is_none());

    let log = world.fake.token_log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].authentication, AuthenticationUsed::Basic);
    assert_eq!(log[0].redirect_uri.as_deref(), Some(CALLBACK));
    assert_eq!(log[0].code_verifier.as_deref(), Some(trip.verifier.expose()));
    assert!(!log[0].parameters.iter().any(|(name, _)| name == "client_secret"));
}

#[tokio::test]
async fn every_way_of_proving_ourselves_is_taken() {
    for (way, client) in [
        (ClientAuthentication::Post, Client::post("client", CLIENT_SECRET)),
        (ClientAuthentication::None, Client::public("client")),
    ] {
        let world = World::start().await.changed(|provider| provider.client_authentication = Some(way));
        world.fake.register(client.redirect_uri(CALLBACK));
        let trip = world.travel().await;
        assert!(world.exchange(&trip).await.is_ok(), "{way:?}");
    }
}

/// R86, R88: refused once, nothing else is tried.
#[tokio::test]
async fn r86_r88_no_other_way_of_proving_ourselves_is_tried() {
    let world = World::start().await;
    world.fake.register(Client::post("client", CLIENT_SECRET).redirect_uri(CALLBACK));
    let trip = world.travel().await;
    let error = world.exchange(&trip).await.unwrap_err();
    assert_eq!(error, ProviderError::Misconfigured { code: "invalid_client".into() });
    assert_eq!(world.fake.token_log().len(), 1);
}

/// R86: whatever is answered, or not, the code is sent once.
#[tokio::test]
async fn r86_a_code_is_sent_once() {
    let world = World::start().await;
    let malformed = |what| ProviderError::Malformed { what };
    let later = |seconds| ProviderError::Unreachable {
        maybe_sent: true,
        retry_after: Option::map(seconds, Duration::from_secs),
    };
    for (answer, expected) in [
        (Answer::drop_connection(), later(None)),
        (Answer::status(503), later(None)),
        (Answer::too_many("7"), later(Some(7))),
        (Answer::too_many("99999999"), later(Some(3600))),
        (Answer::html(200), malformed("markup")),
        (Answer::status(200), malformed("empty")),
        (Answer::json(200, &json!({"token_type": "bearer"})), malformed("access_token")),
        (Answer::truncated("application/json", "{\"access_token\":\"a\""), later(None)),
        (Answer::endless("application/json"), malformed("outbound_too_large")),
        (Answer::error(200, "bad_verification_code"), refused("bad_verification_code")),
        (Answer::error(403, "invalid_grant"), refused("invalid_grant")),
        (Answer::error(400, "<script>"), ProviderError::Misconfigured { code: "request_refused".into() }),
    ] {
        let trip = world.travel().await;
        let before = world.fake.token_log().len();
        let shown = format!("{answer:?}");
        world.fake.next_token_answer(answer);
        assert_eq!(world.exchange(&trip).await.unwrap_err(), expected, "{shown}");
        assert_eq!(world.fake.token_log().len(), before + 1, "{shown}");
    }
}

fn refused(code: &str) -> ProviderError {
    ProviderError::CodeRefused { code: Some(code.into()) }
}

/// R93: a redirect is not followed, above all not with a code.
#[tokio::test]
async fn r93_a_redirected_code_goes_nowhere() {
    let world = World::start().await;
    let trip = world.travel().await;
    world.fake.next_token_answer(Answer::redirect(world.url("/elsewhere").as_str()));
    assert_eq!(world.exchange(&trip).await.unwrap_err(), ProviderError::Policy);
    assert!(world.fake.log().entries().iter().all(|request| request.path != "/elsewhere"));
}

#[tokio::test]
async fn a_closed_port_is_told_from_a_lost_answer() {
    // Configured, so that no connection is open when the port closes.
    let world = World::start().await.configured();
    let trip = world.travel().await;
    world.fake.accept_connections(false).await.unwrap();
    let error = world.exchange(&trip).await.unwrap_err();
    assert_eq!(error, ProviderError::Unreachable { maybe_sent: false, retry_after: None });
}

#[tokio::test]
async fn what_is_not_ours_is_refused_by_the_provider() {
    let world = World::start().await;
    let mut trip = world.travel().await;
    trip.verifier = Secret::new("x".repeat(43));
    assert_eq!(world.exchange(&trip).await.unwrap_err(), refused("invalid_grant"));
}

/// R75: form-encoded answers and 64 KiB of token come through whole.
#[tokio::test]
async fn r75_odd_answers_come_through() {
    let world = World::start().await;
    let trip = world.travel().await;
    let form =
        Answer::body(200, "text/plain", "access_token=a%2Bb&scope=files.read%2Cprofile&token_type=bearer");
    world.fake.next_token_answer(form);
    let tokens = world.exchange(&trip).await.unwrap();
    assert_eq!(tokens.access_token.expose(), "a+b");
    assert_eq!(tokens.granted, trip.asked);

    let long = "t".repeat(64 * 1024);
    world.fake.next_token_answer(Answer::json(201, &json!({"access_token": long, "scope": ["files.read"]})));
    let tokens = world.exchange(&trip).await.unwrap();
    assert_eq!(tokens.access_token.expose(), long);
    assert_eq!(tokens.granted.to_text(), "files.read");
}

/// R83: revoked; a token that is unknown there is, too; an outage is not.
#[tokio::test]
async fn r83_a_token_is_revoked() {
    let world = World::start().await;
    let trip = world.travel().await;
    let tokens = world.exchange(&trip).await.unwrap();
    let refresh = tokens.refresh_token.unwrap();
    world.fake.next_answer("/revoke", Answer::status(503).header("retry-after", "9"));
    let error = world
        .providers
        .revoke(&world.provider, &refresh, "refresh_token", &Values::default())
        .await
        .unwrap_err();
    let wait = Some(Duration::from_secs(9));
    assert_eq!(error, ProviderError::Unreachable { maybe_sent: true, retry_after: wait });
    world.providers.revoke(&world.provider, &refresh, "refresh_token", &Values::default()).await.unwrap();
    world
        .providers
        .revoke(&world.provider, &Secret::new("unknown"), "access_token", &Values::default())
        .await
        .unwrap();
    let log = world.fake.revocations().entries();
    assert_eq!(log.iter().map(|entry| entry.revoked).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(log[1].hint.as_deref(), Some("refresh_token"));
}
