//! Whose account it is.

use std::{collections::BTreeMap, net::Ipv4Addr};

use consentry_fakes::{self as fakes, Answer, Client, Listen};
use serde_json::json;

use super::{CALLBACK, CLIENT_SECRET, TRIAL, World, acme, outbound, parameter};
use crate::{
    clock::Clock,
    config::{Probe, ProbeMethod, ProbeOf, Provider},
    connection::Account,
    provider::{Departure, ProviderError, Providers, Tokens},
    random::Random,
    scope::Scopes,
};

async fn whose(
    providers: &Providers,
    provider: &Provider,
    tokens: &Tokens,
) -> Result<Account, ProviderError> {
    providers.account(provider, &mut tokens.clone()).await.map(|told| told.account)
}

fn octocat() -> Account {
    Account { id: Some("583231".into()), label: Some("octocat".into()) }
}

async fn probed() -> (World, Tokens) {
    let world = World::start().await;
    let url = world.url("/me");
    let world = world.changed(|provider| {
        let headers =
            BTreeMap::from([("X-Client".into(), "{client_id}".into()), ("Authorization".into(), "x".into())]);
        provider.probe = Some(Probe {
            url: Some(url.into()),
            of: ProbeOf::Answer,
            method: ProbeMethod::Get,
            body: None,
            scheme: None,
            id: "id".into(),
            label: "login".into(),
            ok: None,
            headers,
        });
    });
    let trip = world.travel().await;
    let tokens = world.exchange(&trip).await.unwrap();
    (world, tokens)
}

#[tokio::test]
async fn a_probe_names_the_account() {
    let (world, tokens) = probed().await;
    assert_eq!(whose(&world.providers, &world.provider, &tokens).await.unwrap(), octocat());
    let asked = world.fake.log().entries().into_iter().find(|request| request.path == "/me").unwrap();
    assert_eq!(asked.header("x-client"), Some("client"));
    assert_eq!(asked.header("accept"), Some("application/json"));
}

#[tokio::test]
async fn a_probe_that_fails_names_nobody() {
    let (world, tokens) = probed().await;
    let malformed = |what| ProviderError::Malformed { what };
    for (answer, expected) in [
        (Answer::status(401), ProviderError::Denied { status: 401 }),
        (Answer::status(403), ProviderError::Denied { status: 403 }),
        (Answer::redirect("/login"), ProviderError::Policy),
        (Answer::html(200), malformed("account_answer")),
        (Answer::json(200, &json!({"login": "octocat"})), malformed("account_id")),
        (Answer::json(200, &json!({"id": 1.5, "login": "octocat"})), malformed("account_id")),
        (Answer::status(404), ProviderError::Misconfigured { code: "probe_refused".into() }),
        (Answer::status(500), ProviderError::Unreachable { maybe_sent: true, retry_after: None }),
    ] {
        world.fake.next_answer("/me", answer);
        assert_eq!(whose(&world.providers, &world.provider, &tokens).await, Err(expected));
    }
    world.fake.next_answer("/me", Answer::json(200, &json!({"id": "7", "login": ["x"]})));
    let unnamed = whose(&world.providers, &world.provider, &tokens).await.unwrap();
    assert_eq!(unnamed, Account { id: Some("7".into()), label: Some("7".into()) });
}

#[tokio::test]
async fn without_any_way_to_ask_nothing_is_known() {
    let world = World::start().await;
    let trip = world.travel().await;
    let tokens = world.exchange(&trip).await.unwrap();
    assert_eq!(whose(&world.providers, &world.provider, &tokens).await.unwrap(), Account::default());
}

#[tokio::test]
async fn a_configured_userinfo_is_asked() {
    let world = World::start().await;
    let url = world.url("/userinfo");
    let world = world.changed(|provider| provider.userinfo_endpoint = Some(url));
    let trip = world.travel().await;
    let tokens = world.exchange(&trip).await.unwrap();
    assert_eq!(whose(&world.providers, &world.provider, &tokens).await.unwrap(), octocat());
}

/// An OpenID Connect server as the third party.
struct OpenId {
    fake: fakes::AuthorizationServer,
    provider: Provider,
    providers: Providers,
}

impl OpenId {
    async fn start() -> Self {
        let fake = fakes::AuthorizationServer::start(Listen::on(Ipv4Addr::new(127, 0, 0, 4))).await.unwrap();
        fake.register(Client::basic("client", CLIENT_SECRET).redirect_uri(CALLBACK));
        let provider = acme(fake.base_url());
        let clock = Clock::manual();
        let providers = Providers::new(vec![provider.clone()], TRIAL, outbound(clock.clone()), clock);
        Self { fake, provider, providers }
    }

    async fn connect(&self) -> Tokens {
        let (verifier, state) = (Random.secret(), Random.secret());
        let scopes = Scopes::new(["openid", "profile"]).unwrap();
        let departure = Departure {
            state: &state,
            verifier: &verifier,
            redirect_uri: CALLBACK,
            scopes: &scopes,
            account_hint: None,
        };
        let left = self.providers.departure(&self.provider, departure).await.unwrap();
        let back = self.fake.approve(left.as_str(), "alice").await.unwrap();
        let code = parameter(&back, "code");
        self.providers.exchange(&self.provider, &code, &verifier, CALLBACK, &scopes).await.unwrap()
    }
}

#[tokio::test]
async fn openid_connect_names_the_account() {
    let world = OpenId::start().await;
    let tokens = world.connect().await;
    assert!(tokens.id_token.is_some());
    let account = whose(&world.providers, &world.provider, &tokens).await.unwrap();
    assert_eq!(account.id.as_deref(), Some("alice"));
    assert!(account.label.is_some());

    // The ID token's word is enough in an outage, and for a token that has none the outage is one.
    world.fake.always_answer("/userinfo", Answer::status(503));
    assert_eq!(whose(&world.providers, &world.provider, &tokens).await.unwrap().id, account.id);
    let without = Tokens { id_token: None, ..tokens };
    assert!(whose(&world.providers, &world.provider, &without).await.unwrap_err().is_unreachable());
}

/// R82: two subjects in one answer are nobody's account.
#[tokio::test]
async fn r82_userinfo_speaks_of_the_same_subject() {
    let world = OpenId::start().await;
    let tokens = world.connect().await;
    world.fake.next_answer("/userinfo", Answer::json(200, &json!({"sub": "bob"})));
    let error = whose(&world.providers, &world.provider, &tokens).await.unwrap_err();
    assert_eq!(error, ProviderError::AccountMismatch);
}
