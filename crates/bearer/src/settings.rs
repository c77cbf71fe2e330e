//! What a server says about itself and expects of tokens, checked before anything runs.

use std::{sync::Arc, time::Duration};

use consentry_jwt::{Algorithm, algorithm};
use url::{Host, Url};

use crate::{Bearer, check::Inner, keys::Keys};

/// What most issuers sign with.
const ALGORITHMS: [&str; 4] = ["RS256", "PS256", "ES256", "EdDSA"];

/// Settings that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Setup {
    /// Not an absolute `http` or `https` URL, or one with a fragment (RFC 9728, section 1.2); plain `http` is for loopback.
    #[error("the resource is not an https URL without a fragment")]
    Resource,
    /// Not an `https` URL without query and fragment (RFC 8414, section 2); plain `http` is for loopback.
    #[error("the issuer is not an https URL without query and fragment")]
    Issuer,
    /// As for the issuer.
    #[error("the JWKS address is not an https URL")]
    Jwks,
    /// Unknown, symmetric, or none at all.
    #[error("no signature algorithm is allowed, or one that is not verified here")]
    Algorithm,
    /// Empty, or with characters that a scope cannot have (RFC 6749, section 3.3).
    #[error("a scope is not a scope token")]
    Scope,
    /// Refresh tokens are between the client and the authorization server, and no resource needs them.
    #[error("`offline_access` is not a resource's scope")]
    OfflineAccess,
    /// TLS cannot be set up on this machine.
    #[error("TLS cannot be set up")]
    Tls,
}

/// A [`Bearer`] in the making.
#[derive(Clone, Debug)]
pub struct Builder {
    resource: String,
    issuer: String,
    name: Option<String>,
    scopes: Vec<String>,
    offered: Vec<String>,
    implied: Vec<(String, Vec<String>)>,
    algorithms: Vec<String>,
    leeway: Duration,
    jwks: Option<String>,
    subject_claim: String,
    only_access_tokens: bool,
}

impl Builder {
    pub(crate) fn new(resource: String, issuer: String) -> Self {
        Self {
            resource,
            issuer,
            name: None,
            scopes: Vec::new(),
            offered: Vec::new(),
            implied: Vec::new(),
            algorithms: ALGORITHMS.map(str::to_owned).to_vec(),
            leeway: Duration::from_secs(30),
            jwks: None,
            subject_claim: "sub".to_owned(),
            only_access_tokens: false,
        }
    }

    /// What people call the server, for the metadata.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What every token must allow.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Further scopes that some requests need, for the metadata; see [`Bearer::layer_for`].
    #[must_use]
    pub fn offers(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.offered = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// A broader scope and the narrower ones in it: a token with the broad one is sufficient for each of them.
    #[must_use]
    pub fn implies(
        mut self,
        broad: impl Into<String>,
        narrow: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.implied.push((broad.into(), narrow.into_iter().map(Into::into).collect()));
        self
    }

    /// The signature algorithms that are accepted, by their JWA names; `RS256`, `PS256`, `ES256` and `EdDSA` unless told.
    #[must_use]
    pub fn algorithms(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.algorithms = names.into_iter().map(Into::into).collect();
        self
    }

    /// How far the issuer's clock may be from this one; 30 s unless told, and a minute at most.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// Where the issuer's keys are; by default its metadata (RFC 8414, OpenID Connect Discovery) is asked.
    #[must_use]
    pub fn jwks_uri(mut self, url: impl Into<String>) -> Self {
        self.jwks = Some(url.into());
        self
    }

    /// The claim that names the user; `sub` unless told. It must be the one that Consentry's settings name for the issuer.
    #[must_use]
    pub fn subject_claim(mut self, claim: impl Into<String>) -> Self {
        self.subject_claim = claim.into();
        self
    }

    /// Accepts only tokens whose `typ` is `at+jwt` (RFC 9068, section 2.1). By default those of issuers that write `JWT`
    /// pass as well, unless their claims are those of an ID token.
    #[must_use]
    pub fn only_rfc9068(mut self) -> Self {
        self.only_access_tokens = true;
        self
    }

    /// The check. Asks nobody anything yet: keys are fetched with the first token.
    ///
    /// # Errors
    ///
    /// [`Setup`].
    pub fn build(self) -> Result<Bearer, Setup> {
        let resource = url(&self.resource).filter(|url| url.fragment().is_none()).ok_or(Setup::Resource)?;
        let issuer = url(&self.issuer)
            .filter(|url| url.fragment().is_none() && url.query().is_none())
            .ok_or(Setup::Issuer)?;
        let jwks = self.jwks.as_deref().map(|jwks| url(jwks).ok_or(Setup::Jwks)).transpose()?;
        let algorithms: Option<Vec<Algorithm>> = self.algorithms.iter().map(|name| algorithm(name)).collect();
        let algorithms = algorithms.filter(|known| !known.is_empty()).ok_or(Setup::Algorithm)?;
        let implied = self.implied.iter().flat_map(|(broad, narrow)| std::iter::once(broad).chain(narrow));
        for scope in self.scopes.iter().chain(&self.offered).chain(implied) {
            if scope == "offline_access" {
                return Err(Setup::OfflineAccess);
            }
            if scope.is_empty() || !scope.bytes().all(is_scope_byte) {
                return Err(Setup::Scope);
            }
        }
        let keys = Keys::new(issuer, self.issuer.clone(), jwks).ok_or(Setup::Tls)?;
        let mut supported = self.scopes.clone();
        supported.extend(self.offered.into_iter().filter(|scope| !self.scopes.contains(scope)));
        Ok(Bearer(Arc::new(Inner {
            resource,
            resource_id: self.resource,
            issuer: self.issuer,
            name: self.name,
            scopes: self.scopes,
            supported,
            implied: self.implied,
            algorithms,
            leeway: self.leeway,
            subject_claim: self.subject_claim,
            only_access_tokens: self.only_access_tokens,
            keys,
        })))
    }
}

/// RFC 6749, section 3.3: `scope-token`.
fn is_scope_byte(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)
}

/// An `https` URL without credentials; plain `http` counts on a loopback host.
pub(crate) fn url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let plain = url.username().is_empty() && url.password().is_none();
    let encrypted = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    (plain && encrypted).then_some(url)
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
