//! Providers that want to be asked otherwise than the standards have it, each strict about its way.

use std::{collections::BTreeMap, sync::Arc};

use consentry_fakes::{self as fakes, AuthenticationUsed, Client, Written};
use consentry_jwt::{SigningKey, algorithm};

use super::{CALLBACK, CLIENT_SECRET, World, acme};
use crate::{
    config::{
        AssertionAudience, ClientAuthentication, ClientKey, OwnRevocation, Provider, RevocationBody,
        RevocationEnds, RevocationMethod, RevocationProof, RevocationToken, StepMethod, TokenBody, TokenStep,
    },
    provider::{Class, Failure, ProviderError, Tokens},
    scope::Scopes,
    secret::Secret,
    values::Values,
};

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn vec(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    map(pairs).into_iter().collect()
}

impl World {
    async fn renews(&self, tokens: &Tokens) -> Result<Tokens, Failure> {
        let permit = self.providers.permit(&self.provider).await.unwrap();
        let token = tokens.refresh_token.as_ref().unwrap();
        self.providers.refresh(&self.provider, permit, token, &tokens.granted, None).await
    }

    async fn there_and_on(&self) -> Tokens {
        let tokens = self.exchange(&self.travel().await).await.unwrap();
        self.renews(&tokens).await.unwrap()
    }
}

/// With and without what the provider wants: the second is refused, so that the first means something.
#[tokio::test]
async fn token_requests_are_written_as_the_provider_wants_them() {
    for (body, written) in [(TokenBody::Form, Written::Form), (TokenBody::Json, Written::Json)] {
        let world = World::start().await;
        world.fake.register(Client::post("client", CLIENT_SECRET).redirect_uri(CALLBACK));
        world.fake.configure(|settings| {
            settings.dialect = fakes::Dialect {
                token_body: written,
                client_id: Some("client_key".into()),
                token_params: vec(&[("type", "web_server")]),
                refresh_params: vec(&[("type", "refresh")]),
                token_headers: vec(&[("api-version", "2")]),
                refresh_elsewhere: true,
                ..fakes::Dialect::default()
            };
        });
        let refresh_endpoint = world.url("/refresh");
        let speaks = |provider: &mut Provider| {
            provider.client_authentication = Some(ClientAuthentication::Post);
            let sending = &mut provider.sending;
            sending.token_body = body;
            sending.param_names = map(&[("client_id", "client_key")]);
            sending.token_params = map(&[("type", "web_server")]);
            sending.refresh_params = map(&[("type", "refresh")]);
            sending.token_headers = map(&[("Api-Version", "2")]);
            sending.refresh_endpoint = Some(refresh_endpoint.clone());
        };
        let forgets: [fn(&mut Provider); 5] = [
            |provider| provider.sending.token_params.clear(),
            |provider| provider.sending.token_headers.clear(),
            |provider| provider.sending.token_body = TokenBody::default(),
            |provider| provider.sending.refresh_endpoint = None,
            |provider| provider.sending.refresh_params.clear(),
        ];
        let mut world = world.changed(speaks);
        world.there_and_on().await;
        for (number, forget) in forgets.into_iter().enumerate() {
            world = world.changed(forget);
            let exchanged = world.exchange(&world.travel().await).await;
            let refused = match exchanged {
                Ok(tokens) => world.renews(&tokens).await.is_err(),
                Err(error) => error.is_misconfigured(),
            };
            assert_eq!(refused, number != 2 || body != TokenBody::Form, "{body:?}, {number}");
            world = world.changed(speaks);
        }
    }
}

#[tokio::test]
async fn scopes_arrive_where_they_belong() {
    let world = World::start().await;
    world.fake.configure(|settings| {
        settings.scopes.extend(["user:search".to_owned(), "offline".to_owned()]);
        settings.dialect = fakes::Dialect {
            second_scope: Some(("user_scope".into(), "user:".into())),
            separator: Some(','),
            required_scope: Some("offline".into()),
            ..fakes::Dialect::default()
        };
    });
    let world = world.changed(|provider| {
        provider.scope_separator = ',';
        provider.sending.required_scopes = Scopes::new(["offline"]).unwrap();
        provider.sending.second_scope =
            Some(crate::config::SecondScope { param: "user_scope".into(), prefix: "user:".into() });
    });
    let asked = Scopes::new(["files.read", "user:search"]).unwrap();
    let verifier = crate::random::Random.secret();
    let left = world.leave(&verifier, &asked).await;
    let back = world.fake.approve(left.as_str(), "octocat").unwrap();
    let code = super::parameter(&back, "code");
    let tokens = world.providers.exchange(&world.provider, &code, &verifier, CALLBACK, &asked).await.unwrap();
    assert_eq!(tokens.granted, asked, "what is always asked for is no permission");
}

#[tokio::test]
async fn a_secret_alone_proves_the_client() {
    let world = World::start().await;
    world.fake.register(Client::secret_as_user("client", "sk_1").redirect_uri(CALLBACK));
    let world = world.changed(|provider| {
        provider.client_secret = Some(Secret::new("sk_1"));
        provider.client_authentication = Some(ClientAuthentication::SecretAsUser);
    });
    world.there_and_on().await;
    let log = world.fake.token_log();
    assert!(log.iter().all(|it| it.accepted && it.authentication == AuthenticationUsed::SecretAsUser));
}

/// R88, RFC 7523: for one audience, the issuer unless the settings say otherwise; each is new and soon over.
#[tokio::test]
async fn r88_a_signature_proves_the_client() {
    let pair = rcgen::KeyPair::generate().unwrap();
    let key = SigningKey::from_pem(pair.serialize_pem().as_bytes(), algorithm("ES256").unwrap()).unwrap();
    let key = ClientKey { key: Arc::new(key), id: Some("k1".into()), thumbprint: None };
    for (audience, path) in [
        (None, ""),
        (Some(AssertionAudience::Issuer), ""),
        (Some(AssertionAudience::TokenEndpoint), "/token"),
    ] {
        let world = World::start().await;
        let wanted = format!("{}{path}", world.fake.base_url());
        let public = pair.public_key_pem();
        world.fake.register(Client::assertion("client", public.as_bytes(), &wanted).redirect_uri(CALLBACK));
        let world = world.changed(|provider| {
            provider.client_secret = None;
            provider.client_authentication = Some(ClientAuthentication::PrivateKeyJwt);
            provider.sending.client_key = Some(key.clone());
            provider.sending.assertion_audience = audience;
        });
        world.there_and_on().await;
        let log = world.fake.token_log();
        assert_eq!(log.len(), 2);
        assert!(log.iter().all(|it| it.accepted && it.authentication == AuthenticationUsed::Assertion));
        let other = AssertionAudience::Issuer;
        let world = world.changed(|provider| {
            provider.sending.assertion_audience =
                Some(if path.is_empty() { AssertionAudience::TokenEndpoint } else { other });
        });
        assert!(world.exchange(&world.travel().await).await.unwrap_err().is_misconfigured());
    }
    let provider = acme("https://acme.example");
    assert!(provider.sending.client_key.is_none() && !format!("{key:?}").contains("k1"));
}

fn step(method: StepMethod, url: url::Url, params: &[(&str, &str)]) -> TokenStep {
    TokenStep { method, url, params: map(params) }
}

/// A provider that gives an hour, then a long-lived token for it, which is renewed by itself.
async fn without_refresh_tokens() -> World {
    let world = World::start().await;
    world.fake.register(Client::post("client", CLIENT_SECRET).redirect_uri(CALLBACK));
    world.fake.configure(|settings| settings.refresh = fakes::Refresh::Never);
    let (long_lived, renew) = (world.url("/long-lived"), world.url("/renew"));
    world.changed(|provider| {
        provider.client_authentication = Some(ClientAuthentication::Post);
        provider.sending.token_steps = vec![step(
            StepMethod::Get,
            long_lived,
            &[
                ("grant_type", "exchange"),
                ("access_token", "{access_token}"),
                ("client_secret", "{client_secret}"),
            ],
        )];
        provider.sending.renewal = Some(step(
            StepMethod::Get,
            renew,
            &[("grant_type", "renew"), ("access_token", "{access_token}")],
        ));
    })
}

#[tokio::test]
async fn an_access_token_is_renewed_by_itself() {
    let world = without_refresh_tokens().await;
    let trip = world.travel().await;
    let tokens = world.exchange(&trip).await.unwrap();
    assert!(tokens.access_token.expose().starts_with("long_"));
    assert_eq!(tokens.granted, trip.asked, "as the code's answer had it");
    assert!(tokens.refresh_token == Some(tokens.access_token.clone()));
    assert_eq!(tokens.refresh_expires_at, tokens.access_expires_at);
    let renewed = world.renews(&tokens).await.unwrap();
    assert!(renewed.access_token != tokens.access_token);
    assert!(renewed.refresh_token == Some(renewed.access_token.clone()));
    assert_eq!(renewed.granted, trip.asked);
    let spent = Tokens { refresh_token: Some(Secret::new("another")), ..renewed };
    assert_eq!(world.renews(&spent).await.unwrap_err().class, Class::Terminal);
}

/// R86: a step is sent once, and what fails takes the code with it.
#[tokio::test]
async fn r86_a_failed_step_spends_the_code() {
    let world = without_refresh_tokens().await;
    world.fake.next_answer("/long-lived", fakes::Answer::status(503));
    let error = world.exchange(&world.travel().await).await.unwrap_err();
    assert!(matches!(error, ProviderError::Unreachable { .. }));
    let asked = world.fake.log().entries();
    assert_eq!(asked.iter().filter(|one| one.path == "/long-lived").count(), 1);
    assert_eq!(world.fake.token_log().len(), 1);
}

/// The token as its own proof, and in the query.
#[tokio::test]
async fn r83_other_ways_of_revoking_are_known() {
    type Pairs = &'static [(&'static str, &'static str)];
    let ways: [(&str, RevocationMethod, RevocationBody, Pairs, Pairs); 2] = [
        (
            "/tokens/current",
            RevocationMethod::Delete,
            RevocationBody::None,
            &[],
            &[("authorization", "Bearer {token}")],
        ),
        ("/deauthorize", RevocationMethod::Post, RevocationBody::Query, &[("token", "{token}")], &[]),
    ];
    for (path, method, body, params, headers) in ways {
        let world = World::start().await;
        let url = world.url(path);
        let world = world.changed(|provider| {
            provider.revocation = Some(OwnRevocation {
                method,
                url,
                body,
                params: map(params),
                token: RevocationToken::AccessToken,
                proof: RevocationProof::Nothing,
                headers: map(headers),
                gone: vec![401, 404],
                ends: RevocationEnds::Token,
            });
        });
        let tokens = world.exchange(&world.travel().await).await.unwrap();
        let token = &tokens.access_token;
        world.providers.revoke(&world.provider, token, "access_token", &Values::default()).await.unwrap();
        world.providers.revoke(&world.provider, token, "access_token", &Values::default()).await.unwrap();
        let log = world.fake.revocations().entries();
        assert_eq!(log.iter().map(|one| one.revoked).collect::<Vec<_>>(), [true, false], "{path}");
        assert_eq!(log[0].token.as_deref(), Some(token.expose()));
    }
}
