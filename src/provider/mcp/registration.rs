//! Registering our client at an authorization server (RFC 7591).
//!
//! One request. What it must never do: send it twice, or keep a registration whose secret is proved in a way that we do not
//! speak.

use http::{HeaderValue, Method, Request, header};
use serde::Deserialize;
use serde_json::json;

use super::{Fault, Step, unanswered};
use crate::{
    clock::Millis,
    config::{ClientAuthentication, Provider, Registration},
    outbound,
    provider::{Providers, clean, endpoints::Endpoints, error::ProviderError},
    scope::Scopes,
    secret::Secret,
};

/// Our client as it was registered.
#[derive(Clone, Debug)]
pub struct Registered {
    /// Its id.
    pub client_id: String,
    /// Its secret, where it has one.
    pub secret: Option<Secret>,
    /// How it proves itself.
    pub authentication: ClientAuthentication,
    /// When the secret ends.
    pub secret_expires_at: Option<Millis>,
}

/// RFC 7591, section 3.2.1, as far as it is read.
#[derive(Deserialize)]
struct Answer {
    client_id: String,
    client_secret: Option<Secret>,
    client_secret_expires_at: Option<i64>,
    token_endpoint_auth_method: Option<String>,
    redirect_uris: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// Whether this way of registering is one that the authorization server has.
///
/// # Errors
/// [`Fault`].
pub(super) fn possible(registration: Registration, endpoints: &Endpoints) -> Result<(), Fault> {
    let missing = match registration {
        Registration::ClientIdMetadataDocument if !endpoints.offers.client_documents => {
            "client_documents_unsupported"
        }
        Registration::Dynamic if endpoints.offers.registration.is_none() => "no_registration_endpoint",
        _ => return Ok(()),
    };
    Err(Fault::misconfigured(Step::Registration, missing))
}

impl Providers {
    /// Whether our client can be known there in the way of the settings.
    ///
    /// # Errors
    /// [`ProviderError::Misconfigured`].
    pub fn registrable(&self, provider: &Provider, endpoints: &Endpoints) -> Result<(), ProviderError> {
        let Some(mcp) = &provider.mcp else { return Ok(()) };
        possible(mcp.registration, endpoints).map_err(|fault| {
            self.doubt(provider);
            fault.told(&provider.id)
        })
    }

    /// Registers our client for one redirect URI. One request.
    ///
    /// # Errors
    /// The usual ones.
    pub async fn register(
        &self,
        provider: &Provider,
        endpoints: &Endpoints,
        name: &str,
        redirect_uri: &str,
        scopes: &Scopes,
    ) -> Result<Registered, ProviderError> {
        self.registrable(provider, endpoints)?;
        let answer = self.ask_to_register(provider, endpoints, name, redirect_uri, scopes).await;
        answer.map_err(|error| Fault::new(Step::Registration, error).told(&provider.id))
    }

    async fn ask_to_register(
        &self,
        provider: &Provider,
        endpoints: &Endpoints,
        name: &str,
        redirect_uri: &str,
        scopes: &Scopes,
    ) -> Result<Registered, ProviderError> {
        let refused = || ProviderError::misconfigured("registration_refused");
        let url = endpoints.offers.registration.as_ref().ok_or_else(refused)?;
        let token = provider.mcp.as_ref().and_then(|mcp| mcp.registration_token.as_ref());
        let asked = metadata(endpoints, name, redirect_uri, scopes).to_string();
        let mut request = Request::new(asked.into_bytes());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = url.as_str().parse().map_err(|_| ProviderError::Policy)?;
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = token {
            let value = outbound::authorization("Bearer", token);
            let value = value.map_err(|_| ProviderError::misconfigured("registration_token_refused"))?;
            headers.insert(header::AUTHORIZATION, value);
        }
        let answer =
            self.0.outbound.send(request).await.map_err(|error| unanswered(&error, "registration"))?;
        match answer.status.as_u16() {
            200 | 201 => {
                let malformed = |_| ProviderError::Malformed { what: "registration" };
                read(answer.json().map_err(malformed)?, redirect_uri)
            }
            300..=399 => Err(ProviderError::Policy),
            401 | 403 => Err(ProviderError::misconfigured("registration_token_refused")),
            408 | 429 | 500..=599 => {
                let retry_after = answer.retry_after(self.0.clock.now());
                Err(ProviderError::Unreachable { maybe_sent: true, retry_after })
            }
            status => {
                let said = answer.json::<Refusal>().ok().and_then(|refusal| clean(&refusal.error));
                tracing::warn!(provider = %provider.id, status, said, "a registration was refused");
                Err(refused())
            }
        }
    }
}

/// What we say of ourselves (RFC 7591, section 2): a secret where one can be had, and no more than the code flow.
fn metadata(endpoints: &Endpoints, name: &str, redirect_uri: &str, scopes: &Scopes) -> serde_json::Value {
    let offered = endpoints.offers.authentication.as_deref();
    let offers = |method: &str| offered.is_some_and(|offered| offered.iter().any(|one| one == method));
    let method = match () {
        // RFC 8414, section 2: Basic, where nothing is said.
        () if offered.is_none() || offers("client_secret_basic") => "client_secret_basic",
        () if offers("client_secret_post") => "client_secret_post",
        () => "none",
    };
    // OpenID Connect Dynamic Client Registration, section 2: what answers on this machine is native.
    let kind = if redirect_uri.starts_with("https:") { "web" } else { "native" };
    let mut asked = json!({
        "client_name": name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": kind,
    });
    if !scopes.is_empty() {
        asked["scope"] = json!(scopes.to_text());
    }
    asked
}

fn read(answer: Answer, redirect_uri: &str) -> Result<Registered, ProviderError> {
    let malformed = || ProviderError::Malformed { what: "registration" };
    let Answer { client_id, client_secret, client_secret_expires_at, .. } = answer;
    let is_text = |text: &str| (1..=1_000).contains(&text.len()) && !text.chars().any(char::is_control);
    let ours = answer.redirect_uris.is_none_or(|uris| uris.iter().any(|uri| uri == redirect_uri));
    let secret = client_secret.filter(|secret| !secret.expose().is_empty());
    if !is_text(&client_id) || !ours || secret.as_ref().is_some_and(|one| one.expose().len() > 4_096) {
        return Err(malformed());
    }
    let authentication = match (answer.token_endpoint_auth_method.as_deref(), secret.is_some()) {
        (Some("client_secret_basic"), true) | (None, true) => ClientAuthentication::Basic,
        (Some("client_secret_post"), true) => ClientAuthentication::Post,
        (Some("none"), _) | (None, false) => ClientAuthentication::None,
        _ => return Err(malformed()),
    };
    let secret = secret.filter(|_| authentication != ClientAuthentication::None);
    let ends = client_secret_expires_at.filter(|at| *at > 0 && secret.is_some()).map(Millis::from_seconds);
    Ok(Registered { client_id, secret, authentication, secret_expires_at: ends })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn answer(value: Value) -> Result<Registered, ProviderError> {
        let malformed = |_| ProviderError::Malformed { what: "registration" };
        read(serde_json::from_value(value).map_err(malformed)?, "https://connect.example/callback/a/b")
    }

    #[test]
    fn a_registration_is_read_strictly() {
        let read = answer(json!({ "client_id": "c", "client_secret": "s", "client_secret_expires_at": 5 }));
        let read = read.unwrap();
        assert_eq!((read.client_id.as_str(), read.authentication), ("c", ClientAuthentication::Basic));
        assert_eq!(read.secret_expires_at, Some(Millis(5_000)));
        let public = answer(json!({ "client_id": "c", "token_endpoint_auth_method": "none" })).unwrap();
        assert!(public.secret.is_none() && public.authentication == ClientAuthentication::None);
        let lasting = json!({ "client_id": "c", "client_secret": "s", "client_secret_expires_at": 0 });
        assert_eq!(answer(lasting).unwrap().secret_expires_at, None);
        for bad in [
            json!({}),
            json!({ "client_id": "" }),
            json!({ "client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "private_key_jwt" }),
            json!({ "client_id": "c", "token_endpoint_auth_method": "client_secret_basic" }),
            json!({ "client_id": "c", "redirect_uris": ["https://evil.example/"] }),
            json!({ "client_id": "c\u{0}" }),
        ] {
            assert!(answer(bad.clone()).is_err(), "{bad}");
        }
    }
}
