//! The address that the browser leaves for (RFC 6749, section 4.1.1).
//!
//! Each core parameter stands in it once, whatever the configured endpoint or the extra parameters hold (R66). What it
//! must never do: put the verifier, or anything that the browser's owner may not know, into the address.

use serde_json::Value;
use url::Url;

use crate::{
    clock::Millis,
    config::Provider,
    outbound::Outbound,
    provider::{
        answer::{Answered, Reading},
        challenge, coverage,
        endpoints::Endpoints,
        error::ProviderError,
        failure::Failure,
        request::{form_post, name_of},
    },
    scope::Scopes,
    secret::Secret,
};

/// What one attempt brings to the authorize URL.
#[derive(Clone, Copy)]
pub struct Departure<'a> {
    /// Comes back unchanged.
    pub state: &'a Secret,
    /// Only its challenge goes along.
    pub verifier: &'a Secret,
    /// Exactly as it will be sent with the code (R64).
    pub redirect_uri: &'a str,
    /// What is asked for.
    pub scopes: &'a Scopes,
    /// Which account the person is likely to want.
    pub account_hint: Option<&'a str>,
}

/// Parameters that are ours alone, or that would replace several of ours at once (R66).
pub(crate) const CORE_PARAMETERS: [&str; 19] = [
    "client_assertion",
    "client_assertion_type",
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "error",
    "iss",
    "nonce",
    "redirect_uri",
    "request",
    "request_uri",
    "resource",
    "response_mode",
    "response_type",
    "scope",
    "state",
];

/// Whether a parameter of this name may be added. Start-up refuses the others; this is for the endpoint's own query, and
/// for whoever builds a provider otherwise. Compared without regard to case, because some providers
/// read names so.
pub(super) fn is_extra_parameter(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    plain && (1..=64).contains(&name.len()) && !CORE_PARAMETERS.contains(&name.to_ascii_lowercase().as_str())
}

/// The authorize URL; where the provider demands it, what is asked for is pushed first and the URL only names it (RFC
/// 9126, section 4), and there is no way back to the plain form (R68).
///
/// # Errors
/// [`ProviderError::Misconfigured`] when the provider does not take S256 and nobody opted out (R58); with a pushed
/// request, whatever that request fails with.
pub(super) async fn url(
    provider: &Provider,
    endpoints: &Endpoints,
    departure: Departure<'_>,
    outbound: &Outbound,
    now: Millis,
) -> Result<Url, ProviderError> {
    let asked = parameters(provider, endpoints, departure)?;
    let Some(pushed) = &endpoints.pushed_authorization else {
        return Ok(with(&endpoints.authorization, &asked));
    };
    let request_uri = push(provider, endpoints, pushed, &asked, outbound, now).await?;
    let client_id = name_of(provider, "client_id").to_owned();
    let named = [(client_id, provider.client_id.clone()), ("request_uri".to_owned(), request_uri)];
    Ok(with(&endpoints.authorization, &named))
}

type Pairs = Vec<(String, String)>;

fn parameters(
    provider: &Provider,
    endpoints: &Endpoints,
    departure: Departure<'_>,
) -> Result<Pairs, ProviderError> {
    if provider.pkce && endpoints.s256 == Some(false) {
        return Err(ProviderError::misconfigured("pkce_unsupported"));
    }
    let mut pairs = Pairs::new();
    let mut add = |name: &str, value: &str| pairs.push((name.to_owned(), value.to_owned()));
    add("response_type", "code");
    add(name_of(provider, "client_id"), &provider.client_id);
    add("redirect_uri", departure.redirect_uri);
    for (name, scopes) in coverage::parameters(provider, departure.scopes) {
        add(name, &scopes.join(provider.scope_separator));
    }
    add("state", departure.state.expose());
    if provider.pkce {
        add("code_challenge", &challenge(departure.verifier));
        add("code_challenge_method", "S256");
    }
    if provider.form_post {
        add("response_mode", "form_post");
    }
    for resource in &provider.resource {
        add("resource", resource);
    }
    let mut extra = provider.authorize_params.clone();
    extra.extend(provider.account_chooser_params.clone());
    let hint = departure.account_hint.filter(|_| !provider.account_hint_param.is_empty());
    if let Some(hint) = hint.filter(|hint| !hint.is_empty()) {
        extra.entry(provider.account_hint_param.clone()).or_insert_with(|| hint.to_owned());
    }
    // A name that the provider has for something of ours is ours as well.
    let said: Vec<String> = pairs.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    let free = |name: &str| is_extra_parameter(name) && !said.contains(&name.to_ascii_lowercase());
    pairs.extend(extra.into_iter().filter(|(name, _)| free(name)));
    Ok(pairs)
}

/// The endpoint with `pairs`. Its own query stays (RFC 6749, section 3.1), less what is ours or said here.
fn with(endpoint: &Url, pairs: &[(String, String)]) -> Url {
    let own: Pairs = endpoint
        .query_pairs()
        .filter(|(name, _)| is_extra_parameter(name) && !pairs.iter().any(|(said, _)| said == name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let mut url = endpoint.clone();
    url.query_pairs_mut().clear().extend_pairs(own).extend_pairs(pairs);
    url
}

async fn push(
    provider: &Provider,
    endpoints: &Endpoints,
    to: &Url,
    asked: &[(String, String)],
    outbound: &Outbound,
    now: Millis,
) -> Result<String, ProviderError> {
    let named = |name: &str| name == name_of(provider, "client_id") && !proves_by_header(endpoints);
    let pairs: Vec<_> = asked
        .iter()
        .filter(|(name, _)| !named(name))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let request = form_post(to, provider, endpoints, &pairs, now)?;
    let answer = outbound.send(request).await.map_err(Failure::of_outbound)?;
    let answered = Answered::of(&answer);
    if let (200 | 201, Reading::Fields(fields)) = (answered.status, &answered.reading)
        && let Some(Value::String(uri)) = fields.get("request_uri")
        && (1..=2048).contains(&uri.len())
    {
        return Ok(uri.clone());
    }
    Err(Failure::of_answer(provider, &answered).into())
}

/// Whether our proof leaves the body alone, so that our id has to stand there besides.
fn proves_by_header(endpoints: &Endpoints) -> bool {
    use crate::config::ClientAuthentication as Way;
    matches!(endpoints.client_authentication, Way::Basic | Way::SecretAsUser)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::{config::ClientAuthentication, provider::tests::acme};

    fn endpoints(authorization: &str) -> Endpoints {
        Endpoints {
            issuer: None,
            issuer_always_sent: false,
            authorization: Url::parse(authorization).unwrap(),
            token: Url::parse("https://acme.example/t").unwrap(),
            userinfo: None,
            revocation: None,
            pushed_authorization: None,
            client_authentication: ClientAuthentication::Basic,
            s256: None,
            offers: crate::provider::endpoints::Offers::default(),
        }
    }

    fn leave(provider: &Provider, endpoints: &Endpoints) -> Result<Url, ProviderError> {
        let departure = Departure {
            state: &Secret::new("the-state"),
            verifier: &Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            redirect_uri: "https://connect.example/callback/files/acme",
            scopes: &Scopes::new(["read", "write"]).unwrap(),
            account_hint: Some("octocat"),
        };
        parameters(provider, endpoints, departure).map(|asked| with(&endpoints.authorization, &asked))
    }

    fn values(url: &Url, name: &str) -> Vec<String> {
        url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
    }

    #[test]
    fn everything_that_is_asked_for_stands_in_the_url() {
        let mut provider = acme("https://acme.example");
        provider.scope_separator = ',';
        provider.resource = vec!["https://a.example/".into(), "https://b.example/".into()];
        provider.account_chooser_params = BTreeMap::from([("prompt".into(), "select_account".into())]);
        provider.form_post = true;
        let url = leave(&provider, &endpoints("https://acme.example/a?tenant=1")).unwrap();
        assert_eq!(
            url.as_str(),
            "https://acme.example/a?tenant=1&response_type=code&client_id=client\
             &redirect_uri=https%3A%2F%2Fconnect.example%2Fcallback%2Ffiles%2Facme&scope=read%2Cwrite&state=the-state\
             &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256\
             &response_mode=form_post&resource=https%3A%2F%2Fa.example%2F&resource=https%3A%2F%2Fb.example%2F\
             &login_hint=octocat&prompt=select_account"
        );
    }

    /// Each in the parameter that it belongs to; a parameter without any is not sent.
    #[test]
    fn scopes_go_where_the_provider_wants_them() {
        let mut provider = acme("https://acme.example");
        provider.sending.param_names = BTreeMap::from([("client_id".into(), "client_key".into())]);
        provider.sending.required_scopes = Scopes::new(["offline", "user:me"]).unwrap();
        let second = crate::config::SecondScope { param: "user_scope".into(), prefix: "user:".into() };
        provider.sending.second_scope = Some(second);
        // What the provider calls ours is not to be replaced either (R66).
        provider.authorize_params = ["client_key", "User_Scope"].map(|name| (name.into(), "x".into())).into();
        let url = leave(&provider, &endpoints("https://acme.example/a?client_key=y")).unwrap();
        assert_eq!(values(&url, "scope"), ["offline read write"]);
        assert_eq!(values(&url, "user_scope"), ["me"]);
        assert_eq!(values(&url, "client_key"), ["client"]);
        assert!(values(&url, "client_id").is_empty() && values(&url, "User_Scope").is_empty());
    }

    /// R58: never without PKCE, unless the operator said so.
    #[test]
    fn r58_no_silent_way_without_pkce() {
        let mut provider = acme("https://acme.example");
        let mut endpoints = endpoints("https://acme.example/a");
        endpoints.s256 = Some(false);
        let error = leave(&provider, &endpoints).unwrap_err();
        assert_eq!(error.detail(), Some("pkce_unsupported"));
        provider.pkce = false;
        let url = leave(&provider, &endpoints).unwrap();
        assert!(
            values(&url, "code_challenge").is_empty() && values(&url, "code_challenge_method").is_empty()
        );
    }

    proptest! {
        /// R66: whatever is configured, each core parameter is ours and stands once; the verifier never does.
        #[test]
        fn r66_core_parameters_stand_once(
            extra in proptest::collection::btree_map("[a-zA-Z_&=%\\x00]{0,20}|state|STATE|redirect_uri|scope", ".{0,20}", 0..6),
            own in "[a-z_=&%]{0,30}|state=x&redirect_uri=y&client_id=z",
        ) {
            let mut provider = acme("https://acme.example");
            provider.authorize_params = extra.clone();
            provider.account_chooser_params = extra;
            let endpoints = endpoints(&format!("https://acme.example/a?{own}"));
            let url = leave(&provider, &endpoints).unwrap();
            for (name, value) in [
                ("response_type", "code"),
                ("client_id", "client"),
                ("redirect_uri", "https://connect.example/callback/files/acme"),
                ("scope", "read write"),
                ("state", "the-state"),
                ("code_challenge_method", "S256"),
            ] {
                let lower: Vec<_> = url.query_pairs().filter(|(key, _)| key.eq_ignore_ascii_case(name)).collect();
                prop_assert_eq!(lower.len(), 1, "{}", name);
                prop_assert_eq!(values(&url, name), [value]);
            }
            prop_assert!(!url.as_str().contains("dBjftJeZ4CVP"));
        }
    }
}
