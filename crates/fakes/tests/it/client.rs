//! A small OAuth client: builds authorize URLs, exchanges codes. Honest unless told otherwise.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use consentry_fakes::{AuthorizationServer, Client, Listen, Provider};
use serde_json::Value;
use url::Url;

/// 43 characters; its S256 challenge is computed below.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CALLBACK: &str = "http://127.0.0.1:9/callback/files/acme";
pub(crate) const SECRET: &str = "s:e%c+r&é";

pub(crate) async fn provider() -> Provider {
    let provider = Provider::start(Listen::on([127, 0, 0, 3])).await.unwrap();
    provider.register(Client::basic("consentry", SECRET).redirect_uri(CALLBACK));
    provider
}

pub(crate) async fn authorization_server() -> AuthorizationServer {
    let id = AuthorizationServer::start(Listen::on([127, 0, 0, 2])).await.unwrap();
    id.register(Client::basic("consentry", SECRET).redirect_uri(CALLBACK));
    id
}

pub(crate) fn challenge() -> String {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, VERIFIER.as_bytes());
    URL_SAFE_NO_PAD.encode(hash)
}

/// The parameters of an honest request.
pub(crate) fn honest(scope: &str) -> Vec<(String, String)> {
    let challenge = challenge();
    [
        ("response_type", "code"),
        ("client_id", "consentry"),
        ("redirect_uri", CALLBACK),
        ("scope", scope),
        ("state", "state-1"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

pub(crate) fn authorize_url(base: &str, parameters: &[(String, String)]) -> String {
    let mut url = Url::parse(&format!("{base}/authorize")).unwrap();
    url.query_pairs_mut().extend_pairs(parameters);
    url.into()
}

/// An honest request with one parameter replaced (empty: left out).
pub(crate) fn with(scope: &str, name: &str, value: &str) -> Vec<(String, String)> {
    let mut parameters = honest(scope);
    parameters.retain(|(n, _)| n != name);
    if !value.is_empty() {
        parameters.push((name.to_owned(), value.to_owned()));
    }
    parameters
}

pub(crate) fn query(url: &str, name: &str) -> Option<String> {
    Url::parse(url).unwrap().query_pairs().find(|(n, _)| n == name).map(|(_, value)| value.into_owned())
}

pub(crate) fn basic(id: &str, secret: &str) -> String {
    let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let joined = format!("{}:{}", encode(id), encode(secret));
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(joined))
}

pub(crate) fn code_form(code: &str) -> Vec<(&str, &str)> {
    vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ]
}

#[expect(clippy::disallowed_methods, reason = "the tests' own client")]
pub(crate) fn http() -> reqwest::Client {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap()
}

/// Posts a form to the token endpoint as `consentry`.
pub(crate) async fn token(base: &str, form: &[(&str, &str)]) -> (u16, Value) {
    token_as(base, form, Some(basic("consentry", SECRET))).await
}

pub(crate) async fn token_as(
    base: &str,
    form: &[(&str, &str)],
    authorization: Option<String>,
) -> (u16, Value) {
    post(&format!("{base}/token"), form, authorization).await
}

pub(crate) async fn post(url: &str, form: &[(&str, &str)], authorization: Option<String>) -> (u16, Value) {
    let mut request = http().post(url).form(form);
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or(Value::Null))
}

pub(crate) async fn get(url: &str, bearer: Option<&str>) -> (u16, Value) {
    let mut request = http().get(url);
    if let Some(token) = bearer {
        request = request.bearer_auth(token);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or(Value::Null))
}

/// A code for octocat.
pub(crate) fn code(provider: &Provider) -> String {
    let url = authorize_url(provider.base_url(), &honest("files.read profile"));
    query(&provider.approve(&url, "octocat").unwrap(), "code").unwrap()
}

/// The tokens that such a code buys.
pub(crate) async fn tokens(provider: &Provider) -> Value {
    let (status, body) = token(provider.base_url(), &code_form(&code(provider))).await;
    assert_eq!(status, 200, "{body}");
    body
}
