//! Requests to a provider's back-channel endpoints: form-encoded, with our client's proof.
//!
//! What it must never do: put a secret into an address, or choose another way of proving ourselves than it was told.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderValue, Request, header};
use serde_json::{Map, Value};
use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

use crate::{
    config::{ClientAuthentication, Provider},
    provider::error::ProviderError,
    secret::Secret,
};

/// A POST of JSON with our client's proof, in members of the same names where it stands in the body.
///
/// # Errors
/// As [`form_post`].
pub(super) fn json_post(
    url: &Url,
    provider: &Provider,
    authentication: ClientAuthentication,
    mut members: Map<String, Value>,
) -> Result<Request<Vec<u8>>, ProviderError> {
    let proof = proof(provider, authentication)?;
    if let Proof::Body { secret } = &proof {
        members.insert("client_id".into(), provider.client_id.clone().into());
        if let Some(secret) = secret {
            members.insert("client_secret".into(), secret.expose().into());
        }
    }
    post(url, Value::Object(members).to_string().into_bytes(), "application/json", proof)
}

/// A POST of `pairs` with our client's proof (RFC 6749, section 2.3.1).
///
/// # Errors
/// [`ProviderError::Misconfigured`] when the proof needs a secret and there is none.
pub(super) fn form_post(
    url: &Url,
    provider: &Provider,
    authentication: ClientAuthentication,
    pairs: &[(&str, &str)],
) -> Result<Request<Vec<u8>>, ProviderError> {
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(pairs);
    let proof = proof(provider, authentication)?;
    if let Proof::Body { secret } = &proof {
        body.append_pair("client_id", &provider.client_id);
        if let Some(secret) = secret {
            body.append_pair("client_secret", secret.expose());
        }
    }
    post(url, body.finish().into_bytes(), "application/x-www-form-urlencoded", proof)
}

/// Where our client's proof stands.
enum Proof<'a> {
    Header(HeaderValue),
    Body { secret: Option<&'a Secret> },
}

fn proof(provider: &Provider, authentication: ClientAuthentication) -> Result<Proof<'_>, ProviderError> {
    Ok(match (authentication, &provider.client_secret) {
        (ClientAuthentication::None, _) => Proof::Body { secret: None },
        (ClientAuthentication::Post, Some(secret)) => Proof::Body { secret: Some(secret) },
        (ClientAuthentication::Basic, Some(secret)) => {
            Proof::Header(basic(&provider.client_id, secret.expose())?)
        }
        (ClientAuthentication::Basic | ClientAuthentication::Post, None) => {
            return Err(ProviderError::misconfigured("client_secret_missing"));
        }
    })
}

fn post(
    url: &Url,
    body: Vec<u8>,
    kind: &'static str,
    proof: Proof<'_>,
) -> Result<Request<Vec<u8>>, ProviderError> {
    let mut request = Request::new(body);
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = url.as_str().parse().map_err(|_| ProviderError::Policy)?;
    let headers = request.headers_mut();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Proof::Header(proof) = proof {
        headers.insert(header::AUTHORIZATION, proof);
    }
    Ok(request)
}

/// Id and secret are form-encoded before they are joined (R88): either may hold a colon.
fn basic(id: &str, secret: &str) -> Result<HeaderValue, ProviderError> {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let joined = Zeroizing::new(format!("{}:{}", encoded(id), encoded(secret)));
    let value = Zeroizing::new(format!("Basic {}", BASE64_STANDARD.encode(joined.as_bytes())));
    let mut value =
        HeaderValue::from_str(&value).map_err(|_| ProviderError::misconfigured("client_secret"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::tests::acme;

    fn post(
        authentication: ClientAuthentication,
        secret: Option<&str>,
    ) -> Result<Request<Vec<u8>>, ProviderError> {
        let mut provider = acme("https://acme.example");
        provider.client_id = "c:1".into();
        provider.client_secret = secret.map(Secret::new);
        form_post(
            &Url::parse("https://acme.example/t").unwrap(),
            &provider,
            authentication,
            &[("code", "a b")],
        )
    }

    /// R88: a secret with characters of every kind survives.
    #[test]
    fn r88_basic_form_encodes_id_and_secret() {
        let request = post(ClientAuthentication::Basic, Some(":%+&é")).unwrap();
        let value =
            request.headers()[header::AUTHORIZATION].to_str().unwrap().strip_prefix("Basic ").unwrap();
        let joined = String::from_utf8(BASE64_STANDARD.decode(value).unwrap()).unwrap();
        assert_eq!(joined, "c%3A1:%3A%25%2B%26%C3%A9");
        assert_eq!(request.body(), b"code=a+b");
        assert_eq!(request.headers()[header::ACCEPT], "application/json");
    }

    #[test]
    fn other_proofs_stand_in_the_body() {
        let request = post(ClientAuthentication::Post, Some(":%+&é")).unwrap();
        assert_eq!(request.body(), b"code=a+b&client_id=c%3A1&client_secret=%3A%25%2B%26%C3%A9");
        assert!(!request.headers().contains_key(header::AUTHORIZATION));
        let request = post(ClientAuthentication::None, None).unwrap();
        assert_eq!(request.body(), b"code=a+b&client_id=c%3A1");
    }

    #[test]
    fn a_missing_secret_is_the_operators_fault() {
        for authentication in [ClientAuthentication::Basic, ClientAuthentication::Post] {
            assert!(post(authentication, None).unwrap_err().is_misconfigured());
        }
    }
}
