//! Finding the endpoints, and not believing what is found.

use std::time::Duration;

use consentry_fakes::Answer;
use serde_json::{Value, json};

use super::World;
use crate::provider::ProviderError;

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

impl World {
    fn discoveries(&self) -> usize {
        self.fake.log().entries().iter().filter(|request| request.path.starts_with("/.well-known/")).count()
    }

    fn document(&self, change: impl FnOnce(&mut Value)) -> Value {
        let at = |path: &str| self.url(path).to_string();
        let mut document = json!({
            "issuer": self.fake.base_url(),
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "code_challenge_methods_supported": ["S256"],
        });
        change(&mut document);
        document
    }

    /// What becomes of a document at the first address, none being at the second.
    async fn judge(&self, change: impl FnOnce(&mut Value)) -> Result<(), ProviderError> {
        self.clock.advance(Duration::from_secs(25 * 3600));
        self.fake.always_answer(OAUTH, Answer::json(200, &self.document(change)));
        self.providers.endpoints(&self.provider).await.map(|_| ())
    }
}

#[tokio::test]
async fn endpoints_are_discovered_once_an_hour() {
    let world = World::start().await;
    let endpoints = world.providers.endpoints(&world.provider).await.unwrap();
    assert_eq!(endpoints.token, world.url("/token"));
    assert_eq!(endpoints.revocation, Some(world.url("/revoke")));
    assert!(endpoints.issuer_always_sent);
    assert_eq!(endpoints.s256, Some(true));
    world.clock.advance(Duration::from_secs(3599));
    world.providers.endpoints(&world.provider).await.unwrap();
    assert_eq!(world.discoveries(), 1);
    world.clock.advance(Duration::from_secs(1));
    world.providers.endpoints(&world.provider).await.unwrap();
    assert_eq!(world.discoveries(), 2);
}

#[tokio::test]
async fn configured_endpoints_are_not_asked_for() {
    let world = World::start().await;
    let world = world.configured().changed(|provider| provider.issuer_always_sent = true);
    let endpoints = world.providers.endpoints(&world.provider).await.unwrap();
    assert!(endpoints.issuer_always_sent && endpoints.s256.is_none());
    let trip = world.travel().await;
    world.exchange(&trip).await.unwrap();
    assert_eq!(world.discoveries(), 0);
}

#[tokio::test]
async fn openid_connects_document_does_as_well() {
    let world = World::start().await;
    for first in [Answer::status(404), Answer::html(200), Answer::status(500), Answer::redirect("/login")] {
        world.clock.advance(Duration::from_secs(25 * 3600));
        let shown = format!("{first:?}");
        world.fake.always_answer(OAUTH, first);
        world.fake.always_answer(OPENID, Answer::json(200, &world.document(|_| ())));
        assert!(world.providers.endpoints(&world.provider).await.is_ok(), "{shown}");
    }
}

/// An outage leaves the last endpoints in use for a day, and is not asked about more than twice a minute.
#[tokio::test]
async fn an_outage_is_ridden_out() {
    let world = World::start().await;
    let known = world.providers.endpoints(&world.provider).await.unwrap();
    world.fake.always_answer(OAUTH, Answer::status(503));
    world.fake.always_answer(OPENID, Answer::status(404));
    world.clock.advance(Duration::from_secs(2 * 3600));
    for _ in 0..5 {
        assert_eq!(world.providers.endpoints(&world.provider).await.unwrap(), known);
    }
    assert_eq!(world.discoveries(), 3);
    world.clock.advance(Duration::from_secs(22 * 3600));
    assert!(world.providers.endpoints(&world.provider).await.unwrap_err().is_unreachable());
    assert!(world.providers.endpoints(&world.provider).await.unwrap_err().is_unreachable());
    assert_eq!(world.discoveries(), 5);
    world.fake.answer_normally(OAUTH);
    world.clock.advance(Duration::from_secs(30));
    assert!(world.providers.endpoints(&world.provider).await.is_ok());
}

/// R92: another issuer's document is no document, however alike the names are.
#[tokio::test]
async fn r92_the_issuer_is_compared_byte_for_byte() {
    let world = World::start().await;
    assert_eq!(world.judge(|_| ()).await, Ok(()));
    let issuer = world.fake.base_url().to_owned();
    for other in [
        json!(format!("{issuer}/")),
        json!(issuer.to_uppercase()),
        json!(format!("{issuer}.evil.example")),
        json!(format!("{issuer}@evil.example")),
        json!(issuer.replace("http:", "https:")),
        json!(""),
        json!(null),
        json!([issuer]),
    ] {
        let error = world.judge(|document| document["issuer"] = other.clone()).await.unwrap_err();
        assert!(matches!(error.detail(), Some("issuer_mismatch" | "metadata")), "{other} {error:?}");
    }
}

/// R73, R91: one endpoint that leads astray makes the whole document unusable.
#[tokio::test]
async fn r73_r91_metadata_leads_nowhere_else() {
    let world = World::start().await;
    let names = [
        "authorization_endpoint",
        "token_endpoint",
        "userinfo_endpoint",
        "revocation_endpoint",
        "jwks_uri",
        "pushed_authorization_request_endpoint",
    ];
    for astray in [
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/t",
        "https://[fd00::1]/t",
        "http://acme.example/t",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://acme.example/",
        "https://user:password@acme.example/t",
        "https://acme.example/t#fragment",
        "//acme.example/t",
        "/t",
        "",
    ] {
        for name in names {
            let error = world
                .judge(|document| {
                    document["require_pushed_authorization_requests"] = json!(true);
                    document["pushed_authorization_request_endpoint"] = json!(world.url("/par").as_str());
                    document[name] = json!(astray);
                })
                .await;
            assert_eq!(error, Err(ProviderError::Policy), "{name} {astray}");
        }
    }
}

/// R58: who does not say S256 does not take it.
#[tokio::test]
async fn r58_s256_must_be_promised() {
    let world = World::start().await;
    for methods in [json!(null), json!([]), json!(["plain"]), json!(["s256"])] {
        world.judge(|document| document["code_challenge_methods_supported"] = methods.clone()).await.unwrap();
        assert_eq!(world.providers.endpoints(&world.provider).await.unwrap().s256, Some(false), "{methods}");
    }
}
