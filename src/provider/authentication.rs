//! How our client proves itself to a provider: by one way, that settings or metadata fix (R88).
//!
//! What it must never do: choose another way than it was told, or sign for anybody who could pass the signature on.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use http::HeaderValue;
use serde_json::{Map, Value};
use url::form_urlencoded;
use zeroize::Zeroizing;

use crate::{
    clock::Millis,
    config::{AssertionAudience, ClientAuthentication, Provider},
    provider::{endpoints::Endpoints, error::ProviderError},
    random::Random,
};

/// How long a signed assertion is good for: as long as one request takes.
const ASSERTION_LIFE: Duration = Duration::from_secs(60);
/// RFC 7523, section 2.2.
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// What proves us, and where it stands. Cannot be printed.
#[derive(Default)]
pub(super) struct Proof {
    /// In `Authorization`.
    pub(super) header: Option<HeaderValue>,
    /// Beside the parameters of the request.
    pub(super) fields: Vec<(&'static str, Zeroizing<String>)>,
}

impl Proof {
    /// Makes the proof for one request.
    ///
    /// # Errors
    /// [`ProviderError::Misconfigured`] when it needs a secret or a key that is not there, or cannot be used.
    pub(super) fn new(
        provider: &Provider,
        way: ClientAuthentication,
        audience: &str,
        now: Millis,
    ) -> Result<Self, ProviderError> {
        let secret = || {
            let secret = provider.client_secret.as_ref();
            secret.ok_or_else(|| ProviderError::misconfigured("client_secret_missing"))
        };
        let id = || ("client_id", Zeroizing::new(provider.client_id.clone()));
        Ok(match way {
            ClientAuthentication::None => Self::in_fields(vec![id()]),
            ClientAuthentication::Post => {
                let secret = Zeroizing::new(secret()?.expose().to_owned());
                Self::in_fields(vec![id(), ("client_secret", secret)])
            }
            ClientAuthentication::Basic => {
                // Form-encoded before they are joined (R88): either may hold a colon.
                let encoded =
                    |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let (id, secret) =
                    (encoded(&provider.client_id), Zeroizing::new(encoded(secret()?.expose())));
                Self::in_header(&Zeroizing::new(format!("{id}:{}", *secret)))?
            }
            ClientAuthentication::SecretAsUser => {
                Self::in_header(&Zeroizing::new(format!("{}:", secret()?.expose())))?
            }
            ClientAuthentication::PrivateKeyJwt => Self::in_fields(vec![
                id(),
                ("client_assertion_type", Zeroizing::new(ASSERTION_TYPE.to_owned())),
                ("client_assertion", assertion(provider, audience, now)?),
            ]),
        })
    }

    /// The proof for a request to one of the provider's endpoints, in the way of its token endpoint.
    ///
    /// # Errors
    /// As [`Proof::new`].
    pub(super) fn for_tokens(
        provider: &Provider,
        endpoints: &Endpoints,
        now: Millis,
    ) -> Result<Self, ProviderError> {
        Self::new(provider, endpoints.client_authentication, audience(provider, endpoints), now)
    }

    fn in_fields(fields: Vec<(&'static str, Zeroizing<String>)>) -> Self {
        Self { header: None, fields }
    }

    fn in_header(joined: &str) -> Result<Self, ProviderError> {
        let value = Zeroizing::new(format!("Basic {}", BASE64_STANDARD.encode(joined.as_bytes())));
        let mut value =
            HeaderValue::from_str(&value).map_err(|_| ProviderError::misconfigured("client_secret"))?;
        value.set_sensitive(true);
        Ok(Self { header: Some(value), fields: Vec::new() })
    }
}

/// Whom a signature of ours is for: the issuer, where there is one and nobody wants it otherwise. A token endpoint can
/// come out of metadata, and whoever wrote those could use what was signed for another's (R88).
pub(super) fn audience<'a>(provider: &Provider, endpoints: &'a Endpoints) -> &'a str {
    let issuer = match provider.sending.assertion_audience {
        Some(AssertionAudience::TokenEndpoint) => None,
        Some(AssertionAudience::Issuer) | None => endpoints.issuer.as_deref(),
    };
    issuer.unwrap_or(endpoints.token.as_str())
}

/// RFC 7523, section 3: once used, soon over, for one audience.
fn assertion(provider: &Provider, audience: &str, now: Millis) -> Result<Zeroizing<String>, ProviderError> {
    let unusable = || ProviderError::misconfigured("client_key");
    let key = provider.sending.client_key.as_ref().ok_or_else(unusable)?;
    let seconds = |at: Millis| Value::from(at.0 / 1000);
    let claims = Map::from_iter([
        ("iss".to_owned(), Value::from(provider.client_id.as_str())),
        ("sub".to_owned(), Value::from(provider.client_id.as_str())),
        ("aud".to_owned(), Value::from(audience)),
        ("jti".to_owned(), Value::from(Random.uuid().to_string())),
        ("iat".to_owned(), seconds(now)),
        ("nbf".to_owned(), seconds(now)),
        ("exp".to_owned(), seconds(now.plus(ASSERTION_LIFE))),
    ]);
    let signed = key.key.sign(key.id.as_deref(), key.thumbprint.as_deref(), &claims);
    signed.map(Zeroizing::new).map_err(|_| unusable())
}
