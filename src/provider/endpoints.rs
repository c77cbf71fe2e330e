//! Where a provider's endpoints are: configured, or discovered from its issuer.
//!
//! Metadata is as little trusted as the address it came from (R91): its issuer must be the one that was asked for, byte
//! for byte (R92), and every address in it must be one that we send to. Configured endpoints always win.

use std::fmt;

use serde::Deserialize;
use url::{Host, Url};

use crate::{
    config::{ClientAuthentication, Provider},
    outbound::Outbound,
    provider::error::ProviderError,
};

/// What is needed of a provider to make a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// The `iss` that is expected back; absent where the provider has none.
    pub issuer: Option<String>,
    /// Whether a response without `iss` is to be refused (RFC 9207, section 2.4).
    pub issuer_always_sent: bool,
    /// Where the browser goes.
    pub authorization: Url,
    /// Where codes are exchanged.
    pub token: Url,
    /// Who the account is, as OpenID Connect says it.
    pub userinfo: Option<Url>,
    /// RFC 7009.
    pub revocation: Option<Url>,
    /// RFC 9126; only where the provider demands it.
    pub pushed_authorization: Option<Url>,
    /// How our client proves itself.
    pub client_authentication: ClientAuthentication,
    /// Whether the provider says that it takes S256; absent when it was not asked (RFC 8414, section 2).
    pub s256: Option<bool>,
    /// What else its metadata offers; nothing where it was not asked.
    pub offers: Offers,
}

/// What an authorization server offers to a client that it does not know yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// How clients may prove themselves; absent when it does not say.
    pub authentication: Option<Vec<String>>,
    /// RFC 7591.
    pub registration: Option<Url>,
    /// Whether the address of a document may be a client id.
    pub client_documents: bool,
    /// Whether `offline_access` can be asked for, which some want to hear before they give a refresh token.
    pub offline_access: bool,
}

/// RFC 8414, section 2, as far as it is read. Everything is optional, so that one odd field does not hide the others.
#[derive(Deserialize)]
struct Metadata {
    issuer: Option<String>,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    userinfo_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    pushed_authorization_request_endpoint: Option<String>,
    require_pushed_authorization_requests: Option<bool>,
    jwks_uri: Option<String>,
    code_challenge_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    authorization_response_iss_parameter_supported: Option<bool>,
    registration_endpoint: Option<String>,
    client_id_metadata_document_supported: Option<bool>,
    scopes_supported: Option<Vec<String>>,
}

impl Endpoints {
    /// The configured ones; none when they have to be discovered.
    ///
    /// # Errors
    /// [`ProviderError::Policy`] for an address that we do not send to.
    pub(super) fn configured(
        provider: &Provider,
        outbound: &Outbound,
    ) -> Option<Result<Self, ProviderError>> {
        let authorization = provider.authorization_endpoint.clone()?;
        let token = provider.token_endpoint.clone()?;
        let endpoints = Self {
            issuer: provider.issuer.clone(),
            issuer_always_sent: provider.issuer_always_sent,
            authorization,
            token,
            userinfo: provider.userinfo_endpoint.clone(),
            revocation: provider.revocation_endpoint.clone(),
            pushed_authorization: None,
            client_authentication: authentication(provider, None),
            s256: None,
            offers: Offers::default(),
        };
        Some(endpoints.checked(outbound))
    }

    /// Asks the issuer: RFC 8414 first, then OpenID Connect Discovery.
    ///
    /// # Errors
    /// [`ProviderError::Misconfigured`] when neither document is there, names this issuer and holds what is needed;
    /// [`ProviderError::Policy`] when one names an address that we do not send to.
    pub(super) async fn discover(provider: &Provider, outbound: &Outbound) -> Result<Self, ProviderError> {
        let issuer =
            provider.issuer.as_deref().ok_or_else(|| ProviderError::misconfigured("no_endpoints"))?;
        let mut failure = ProviderError::misconfigured(NO_METADATA);
        for url in documents(issuer, provider.mcp.is_some())? {
            match fetch(&url, outbound)
                .await
                .and_then(|metadata| metadata.endpoints(provider, issuer, outbound))
            {
                Ok(endpoints) => return Ok(endpoints),
                Err(error) if telling(&error) > telling(&failure) => failure = error,
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// R73, R91: no endpoint leads where nothing is sent, and none leads a browser to what is no web page.
    fn checked(self, outbound: &Outbound) -> Result<Self, ProviderError> {
        check_browser(&self.authorization).map_err(|_| ProviderError::Policy)?;
        let called = [Some(&self.token), self.userinfo.as_ref(), self.revocation.as_ref()];
        let others = [self.pushed_authorization.as_ref(), self.offers.registration.as_ref()];
        for url in called.into_iter().chain(others).flatten() {
            check_web(url).map_err(|_| ProviderError::Policy)?;
            outbound.check(url).map_err(|_| ProviderError::Policy)?;
        }
        Ok(self)
    }
}

impl Metadata {
    fn endpoints(
        self,
        provider: &Provider,
        issuer: &str,
        outbound: &Outbound,
    ) -> Result<Endpoints, ProviderError> {
        if self.issuer.as_deref() != Some(issuer) {
            return Err(ProviderError::misconfigured("issuer_mismatch"));
        }
        let authorization = named(self.authorization_endpoint.as_deref())?;
        for url in [authorization.as_ref(), named(self.jwks_uri.as_deref())?.as_ref()].into_iter().flatten() {
            outbound.check(url).map_err(|_| ProviderError::Policy)?;
        }
        let pushed = named(self.pushed_authorization_request_endpoint.as_deref())?;
        let pushed_authorization = if self.require_pushed_authorization_requests == Some(true) {
            Some(pushed.ok_or_else(|| ProviderError::misconfigured("no_pushed_authorization_endpoint"))?)
        } else {
            None
        };
        let missing = |name: &str| ProviderError::misconfigured(name);
        let s256 =
            self.code_challenge_methods_supported.is_some_and(|methods| methods.iter().any(|m| m == "S256"));
        if provider.mcp.is_some() && !s256 {
            // A client of MCP goes no further (R58).
            return Err(missing("pkce_unsupported"));
        }
        let offers = Offers {
            registration: named(self.registration_endpoint.as_deref())?.filter(|_| provider.mcp.is_some()),
            client_documents: self.client_id_metadata_document_supported == Some(true),
            offline_access: self
                .scopes_supported
                .is_some_and(|all| all.iter().any(|one| one == "offline_access")),
            authentication: self.token_endpoint_auth_methods_supported,
        };
        let configured = provider;
        Endpoints {
            issuer: Some(issuer.to_owned()),
            issuer_always_sent: configured.issuer_always_sent
                || self.authorization_response_iss_parameter_supported == Some(true),
            authorization: configured
                .authorization_endpoint
                .clone()
                .or(authorization)
                .ok_or_else(|| missing("no_authorization_endpoint"))?,
            token: configured
                .token_endpoint
                .clone()
                .or(named(self.token_endpoint.as_deref())?)
                .ok_or_else(|| missing("no_token_endpoint"))?,
            userinfo: configured.userinfo_endpoint.clone().or(named(self.userinfo_endpoint.as_deref())?),
            revocation: configured
                .revocation_endpoint
                .clone()
                .or(named(self.revocation_endpoint.as_deref())?),
            pushed_authorization,
            client_authentication: authentication(provider, offers.authentication.as_deref()),
            s256: Some(s256),
            offers,
        }
        .checked(outbound)
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metadata")
    }
}

const NO_METADATA: &str = "no_metadata";

/// Which of two documents' faults is told: an outage says nothing about the configuration and may pass, and a fault says
/// more than an absence.
fn telling(error: &ProviderError) -> u8 {
    match error {
        ProviderError::Unreachable { .. } => 2,
        ProviderError::Misconfigured { code } if code == NO_METADATA => 0,
        _ => 1,
    }
}

/// An address out of metadata.
fn named(text: Option<&str>) -> Result<Option<Url>, ProviderError> {
    let Some(text) = text else { return Ok(None) };
    let url = Url::parse(text).map_err(|_| ProviderError::Policy)?;
    check_web(&url).map_err(|_| ProviderError::Policy)?;
    Ok(Some(url))
}

/// RFC 8414, section 3.1, puts the well-known part between host and path; OpenID Connect Discovery, section 4, after it.
/// With `mcp`, the order of its authorization specification: OpenID Connect's document is looked for before the path too.
fn documents(issuer: &str, mcp: bool) -> Result<Vec<Url>, ProviderError> {
    check_issuer(issuer).map_err(|_| ProviderError::misconfigured("issuer_malformed"))?;
    let malformed = |_| ProviderError::misconfigured("issuer_malformed");
    let base = Url::parse(issuer).map_err(malformed)?;
    let path = base.path().trim_end_matches('/');
    let mut oauth = base.clone();
    oauth.set_path(&format!("/.well-known/oauth-authorization-server{path}"));
    let mut openid = base.clone();
    openid.set_path(&format!("{path}/.well-known/openid-configuration"));
    let mut between = base.clone();
    between.set_path(&format!("/.well-known/openid-configuration{path}"));
    let between = (mcp && !path.is_empty()).then_some(between);
    Ok([Some(oauth), between, Some(openid)].into_iter().flatten().collect())
}

async fn fetch(url: &Url, outbound: &Outbound) -> Result<Metadata, ProviderError> {
    let answer = outbound.get_json(url, None).await.map_err(|error| match error {
        crate::outbound::OutboundError::Refused(_) => ProviderError::Policy,
        _ => ProviderError::Unreachable { maybe_sent: error.maybe_sent(), retry_after: None },
    })?;
    match answer.status.as_u16() {
        200 => answer.json().map_err(|_| ProviderError::Malformed { what: "metadata" }),
        300..=399 => Err(ProviderError::Policy),
        408 | 429 | 500..=599 => Err(ProviderError::Unreachable { maybe_sent: true, retry_after: None }),
        _ => Err(ProviderError::misconfigured(NO_METADATA)),
    }
}

/// The configured way; else what metadata offers, Basic being what it means when it offers nothing (RFC 8414, section
/// 2); none without a secret. Never changed afterwards (R88).
pub(super) fn authentication(provider: &Provider, offered: Option<&[String]>) -> ClientAuthentication {
    if let Some(configured) = provider.client_authentication {
        return configured;
    }
    if provider.client_secret.is_none() {
        return ClientAuthentication::None;
    }
    let offers = |method: &str| offered.is_some_and(|offered| offered.iter().any(|one| one == method));
    if offers("client_secret_post") && !offers("client_secret_basic") {
        ClientAuthentication::Post
    } else {
        ClientAuthentication::Basic
    }
}

/// An address that a server can be called at; which of them are, the outbound policy decides.
pub(super) fn check_web(url: &Url) -> Result<(), &'static str> {
    if !matches!(url.scheme(), "https" | "http") || url.host().is_none() {
        return Err("must be an https URL");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not hold a user name or a password");
    }
    if url.fragment().is_some() {
        return Err("must not hold a fragment");
    }
    Ok(())
}

/// An address that a browser may be sent to: plain `http` only on this machine (R73).
pub(super) fn check_browser(url: &Url) -> Result<(), &'static str> {
    check_web(url)?;
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if url.scheme() == "https" || loopback {
        Ok(())
    } else {
        Err("must be https, unless its host is loopback")
    }
}

/// RFC 8414, section 2: an address without query and fragment.
pub(super) fn check_issuer(issuer: &str) -> Result<(), &'static str> {
    let url = Url::parse(issuer).map_err(|_| "must be an https URL")?;
    check_web(&url)?;
    if url.query().is_some() { Err("must not hold a query") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{provider::tests::acme, secret::Secret};

    #[test]
    fn the_well_known_part_stands_where_each_document_says() {
        let urls = documents("https://acme.example/login/oauth", false).unwrap();
        assert_eq!(
            urls[0].as_str(),
            "https://acme.example/.well-known/oauth-authorization-server/login/oauth"
        );
        assert_eq!(urls[1].as_str(), "https://acme.example/login/oauth/.well-known/openid-configuration");
        let urls = documents("https://acme.example/a", true).unwrap();
        let urls: Vec<&str> = urls.iter().map(Url::as_str).collect();
        assert_eq!(
            urls,
            [
                "https://acme.example/.well-known/oauth-authorization-server/a",
                "https://acme.example/.well-known/openid-configuration/a",
                "https://acme.example/a/.well-known/openid-configuration",
            ]
        );
        let urls = documents("https://acme.example/", true).unwrap();
        assert_eq!(urls[0].as_str(), "https://acme.example/.well-known/oauth-authorization-server");
        assert_eq!(urls[1].as_str(), "https://acme.example/.well-known/openid-configuration");
        for bad in [
            "",
            "acme.example",
            "https://acme.example/?a",
            "https://acme.example/#a",
            "https://u@acme.example",
        ] {
            assert!(documents(bad, false).is_err(), "{bad}");
        }
    }

    /// R88: fixed by configuration, else by metadata, and by nothing else.
    #[test]
    fn r88_one_way_of_proving_ourselves_is_chosen() {
        let mut provider = acme("https://acme.example");
        let offered = |methods: &[&str]| methods.iter().map(|m| (*m).to_owned()).collect::<Vec<_>>();
        provider.client_secret = Some(Secret::new("s"));
        assert_eq!(authentication(&provider, None), ClientAuthentication::Basic);
        assert_eq!(
            authentication(&provider, Some(&offered(&["client_secret_post"]))),
            ClientAuthentication::Post
        );
        let both = offered(&["client_secret_post", "client_secret_basic"]);
        assert_eq!(authentication(&provider, Some(&both)), ClientAuthentication::Basic);
        provider.client_authentication = Some(ClientAuthentication::Post);
        assert_eq!(
            authentication(&provider, Some(&offered(&["client_secret_basic"]))),
            ClientAuthentication::Post
        );
        provider.client_authentication = None;
        provider.client_secret = None;
        assert_eq!(authentication(&provider, Some(&both)), ClientAuthentication::None);
    }

    /// R73.
    #[test]
    fn r73_a_browser_is_sent_to_web_addresses_alone() {
        for good in
            ["https://acme.example/a?b=c", "http://127.0.0.3:1/a", "http://id.localhost/", "http://[::1]/a"]
        {
            assert!(check_browser(&Url::parse(good).unwrap()).is_ok(), "{good}");
        }
        for bad in [
            "http://acme.example/a",
            "javascript:alert(1)",
            "data:text/html,a",
            "file:///a",
            "vscode://a/b",
            "https://user@acme.example/",
            "https://acme.example/#a",
            "http://localhost.evil.example/",
            "http://2130706433.evil.example/",
        ] {
            assert!(check_browser(&Url::parse(bad).unwrap()).is_err(), "{bad}");
        }
    }
}
