//! The exact bytes of each way of writing a request.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};

use super::*;
use crate::{
    config::{ClientAuthentication, StepMethod, TokenStep},
    provider::{steps, tests::acme},
    secret::Secret,
};

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn endpoints(way: ClientAuthentication) -> Endpoints {
    Endpoints {
        issuer: None,
        issuer_always_sent: false,
        authorization: url("https://acme.example/a"),
        token: url("https://acme.example/t"),
        userinfo: None,
        revocation: None,
        pushed_authorization: None,
        client_authentication: way,
        s256: None,
        offers: crate::provider::endpoints::Offers::default(),
    }
}

fn provider(secret: Option<&str>) -> Provider {
    let mut provider = acme("https://acme.example");
    provider.client_id = "c:1".into();
    provider.client_secret = secret.map(Secret::new);
    provider
}

fn sent(provider: &Provider, way: ClientAuthentication) -> Result<Request<Vec<u8>>, ProviderError> {
    let endpoints = endpoints(way);
    let more = BTreeMap::from([("type".to_owned(), "web_server".to_owned())]);
    let pairs = [("code", "a b"), ("resource", "https://a.example/")];
    token_request(&endpoints.token, provider, &endpoints, &pairs, &more, Millis(1_000_000))
}

fn body(request: &Request<Vec<u8>>) -> &str {
    std::str::from_utf8(request.body()).unwrap()
}

fn basic(request: &Request<Vec<u8>>) -> String {
    let value = &request.headers()[header::AUTHORIZATION];
    assert!(value.is_sensitive());
    let encoded = value.to_str().unwrap().strip_prefix("Basic ").unwrap();
    String::from_utf8(BASE64_STANDARD.decode(encoded).unwrap()).unwrap()
}

/// R88: a secret with characters of every kind survives.
#[test]
fn r88_basic_form_encodes_id_and_secret() {
    let request = sent(&provider(Some(":%+&é")), ClientAuthentication::Basic).unwrap();
    assert_eq!(basic(&request), "c%3A1:%3A%25%2B%26%C3%A9");
    assert_eq!(body(&request), "code=a+b&resource=https%3A%2F%2Fa.example%2F&type=web_server");
    assert_eq!(request.headers()[header::ACCEPT], "application/json");
    assert_eq!(request.headers()[header::CONTENT_TYPE], "application/x-www-form-urlencoded");
}

#[test]
fn a_secret_stands_alone_as_the_user_of_basic() {
    let request = sent(&provider(Some("sk_1")), ClientAuthentication::SecretAsUser).unwrap();
    assert_eq!(basic(&request), "sk_1:");
    assert!(!body(&request).contains("client_id"));
}

#[test]
fn other_proofs_stand_in_the_body() {
    let rest = "code=a+b&resource=https%3A%2F%2Fa.example%2F&type=web_server&client_id=c%3A1";
    let request = sent(&provider(Some(":%+&é")), ClientAuthentication::Post).unwrap();
    assert_eq!(body(&request), format!("{rest}&client_secret=%3A%25%2B%26%C3%A9"));
    assert!(!request.headers().contains_key(header::AUTHORIZATION));
    let request = sent(&provider(None), ClientAuthentication::None).unwrap();
    assert_eq!(body(&request), rest);
}

#[test]
fn a_missing_secret_or_key_is_the_operators_fault() {
    for way in [
        ClientAuthentication::Basic,
        ClientAuthentication::Post,
        ClientAuthentication::SecretAsUser,
        ClientAuthentication::PrivateKeyJwt,
    ] {
        assert!(sent(&provider(None), way).unwrap_err().is_misconfigured(), "{way:?}");
    }
}

#[test]
fn a_body_can_be_json_with_the_proof_among_its_members() {
    let mut provider = provider(Some("s"));
    provider.sending.token_body = TokenBody::Json;
    let request = sent(&provider, ClientAuthentication::Post).unwrap();
    assert_eq!(request.headers()[header::CONTENT_TYPE], "application/json");
    let members: Value = serde_json::from_slice(request.body()).unwrap();
    let expected = serde_json::json!({
        "code": "a b", "resource": "https://a.example/", "type": "web_server", "client_id": "c:1", "client_secret": "s",
    });
    assert_eq!(members, expected);
    assert_eq!(object(&[("a", "1"), ("a", "2"), ("a", "3")]), serde_json::json!({ "a": ["1", "2", "3"] }));
}

/// R66: a name can be another one, but of nothing that protects an exchange, whoever made the provider.
#[test]
fn r66_only_harmless_names_are_changed() {
    let mut provider = provider(Some("s"));
    let names =
        [("client_id", "client_key"), ("code", "auth_code"), ("resource", "x"), ("client_assertion", "y")];
    provider.sending.param_names = names.map(|(name, other)| (name.to_owned(), other.to_owned())).into();
    let request = sent(&provider, ClientAuthentication::Post).unwrap();
    assert_eq!(
        body(&request),
        "auth_code=a+b&resource=https%3A%2F%2Fa.example%2F&type=web_server&client_key=c%3A1&client_secret=s"
    );
    for name in ["state", "code_verifier", "redirect_uri", "code_challenge", "nonce", "grant_type"] {
        assert!(!RENAMEABLE.contains(&name));
    }
}

#[test]
fn added_headers_take_nothing_away() {
    let mut provider = provider(Some("s"));
    let headers = [("authorization", "x"), ("Content-Type", "y"), ("Accept", "z"), ("Api-Version", "2")];
    provider.sending.token_headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let request = sent(&provider, ClientAuthentication::Basic).unwrap();
    assert_eq!(basic(&request), "c%3A1:s");
    assert_eq!(request.headers()[header::CONTENT_TYPE], "application/x-www-form-urlencoded");
    assert_eq!(request.headers()[header::ACCEPT], "z");
    assert_eq!(request.headers()["api-version"], "2");
}

#[test]
fn a_step_sends_what_it_says_and_no_more() {
    let params = [
        ("grant_type", "fb_exchange_token"),
        ("fb_exchange_token", "{access_token}"),
        ("client_id", "{client_id}"),
        ("client_secret", "{client_secret}"),
    ];
    let params: BTreeMap<_, _> = params.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let step = TokenStep { method: StepMethod::Get, url: url("https://acme.example/x?v=1"), params };
    let token = Secret::new("a&{client_secret}");
    let request = steps::request(&provider(Some("s")), &step, &token).unwrap();
    assert_eq!(request.method(), Method::GET);
    assert_eq!(
        request.uri().to_string(),
        "https://acme.example/x?v=1&client_id=c%3A1&client_secret=s&fb_exchange_token=a%26%7Bclient_secret%7D\
         &grant_type=fb_exchange_token"
    );
    assert!(request.body().is_empty() && !request.headers().contains_key(header::AUTHORIZATION));
    let step = TokenStep { method: StepMethod::Post, ..step };
    let request = steps::request(&provider(Some("s")), &step, &token).unwrap();
    assert_eq!(request.uri().to_string(), "https://acme.example/x?v=1");
    assert!(body(&request).starts_with("client_id=c%3A1&client_secret=s&"));
    assert!(steps::request(&provider(None), &step, &Secret::new("t")).unwrap_err().is_misconfigured());
}
