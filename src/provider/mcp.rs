//! Third-party MCP servers: what one says of itself, which authorization server that leads to, and our client there.
//!
//! An MCP server names its authorization servers (RFC 9728); one of them names its endpoints (RFC 8414). What is found is
//! kept for a while ([`Remembered`](super::remembered::Remembered)). A grant remembers the issuer, the resource and the
//! client that it was made with, among its values, so that what is stored of it goes to that issuer alone (R63).
//!
//! What it must never do: ask an address that a user or a caller has named, take an issuer for another that looks like
//! it, follow a redirect.

mod challenge;
mod fault;
mod registration;
mod resource;

use std::sync::Arc;

use url::Url;

pub use self::{
    fault::{Fault, Step},
    registration::Registered,
    resource::Found,
};
use super::{
    NotConcrete, Providers,
    endpoints::{self, Endpoints},
    error::ProviderError,
    known::Known,
};
use crate::{
    config::{Provider, Registration, ThirdPartyMcp},
    elicitation::{ProviderId, ServerId},
    outbound::OutboundError,
    secret::Hash,
    values::Values,
};

/// The names of a [`Place`] among the values of a connection. They are not handed out.
const ISSUER: &str = "mcp_issuer";
const RESOURCE: &str = "mcp_resource";
const CLIENT_ID: &str = "mcp_client_id";

/// Where a grant for a third-party MCP server was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The authorization server, byte for byte as the MCP server names it.
    pub issuer: String,
    /// The resource that tokens are asked for (RFC 8707).
    pub resource: String,
    /// Our client there; empty while it is not known yet.
    pub client_id: String,
}

impl Place {
    /// At this issuer, our client there still unknown.
    fn new(issuer: &str, found: &Found) -> Self {
        Self { issuer: issuer.to_owned(), resource: found.resource.clone(), client_id: String::new() }
    }

    /// The place among the values of an attempt or a connection.
    pub fn of(values: &Values) -> Option<Self> {
        let text = |name| values.get(name).map(str::to_owned);
        let (issuer, resource) = (text(ISSUER)?, text(RESOURCE)?);
        Some(Self { issuer, resource, client_id: text(CLIENT_ID).unwrap_or_default() })
    }

    /// As values.
    pub fn values(&self) -> Values {
        let mut values = Values::default();
        for (name, value) in
            [(ISSUER, &self.issuer), (RESOURCE, &self.resource), (CLIENT_ID, &self.client_id)]
        {
            // What does not fit is missing, and then it is no place.
            let _ = values.insert(name, value);
        }
        values
    }

    /// Whether it is still one by the settings and by what the MCP server said last.
    fn stands(&self, base: &Provider, mcp: &ThirdPartyMcp, found: Option<&Found>) -> bool {
        let pinned = base.issuer.as_ref().is_none_or(|pinned| *pinned == self.issuer);
        let listed = found.is_none_or(|found| found.issuers.contains(&self.issuer));
        let client = match mcp.registration {
            Registration::Static => self.client_id == base.client_id,
            Registration::ClientIdMetadataDocument => {
                is_document(&self.client_id, &mcp.documents, base.id.as_str())
            }
            Registration::Dynamic => !self.client_id.is_empty(),
        };
        pinned && listed && client && resource::covers(&self.resource, &mcp.url)
    }
}

/// Whether a value is a part of a [`Place`], and no value of the provider's.
pub fn is_of_a_place(name: &str) -> bool {
    [ISSUER, RESOURCE, CLIENT_ID].contains(&name)
}

/// Whether this is the address of the document for one of our MCP servers.
fn is_document(client_id: &str, documents: &str, provider: &str) -> bool {
    let path = client_id.strip_prefix(documents).and_then(|rest| rest.strip_prefix('/'));
    let server = path.and_then(|path| path.strip_suffix(provider)).and_then(|rest| rest.strip_suffix('/'));
    server.is_some_and(|server| server.parse::<ServerId>().is_ok())
}

/// The authorization server that is used: the settings', else the first that is listed.
fn chosen<'a>(base: &'a Provider, found: &'a Found) -> Result<&'a str, Fault> {
    let step = Step::AuthorizationServer;
    match &base.issuer {
        Some(pinned) if found.issuers.contains(pinned) => Ok(pinned),
        Some(_) => Err(Fault::misconfigured(step, "issuer_not_listed")),
        None => found
            .issuers
            .first()
            .map(String::as_str)
            .ok_or_else(|| Fault::misconfigured(step, "no_authorization_server")),
    }
}

impl Providers {
    /// What a third-party MCP server says of itself, and the place that follows from it, its client still unknown.
    ///
    /// # Errors
    /// The usual ones; [`ProviderError::Misconfigured`] with `not_mcp` for another provider.
    pub async fn find(&self, id: &ProviderId) -> Result<(Arc<Found>, Place), ProviderError> {
        let known = self.known_mcp(id)?;
        let found = self.found(known).await?;
        let issuer = chosen(&known.provider, &found).map_err(|fault| {
            // It may be mended before what is known is old.
            known.mcp.doubt(self.0.clock.now());
            fault.told(id)
        })?;
        let place = Place::new(issuer, &found);
        Ok((found, place))
    }

    /// The same as [`Providers::find`] for a grant that is there: brings what is known up to date. What cannot be found out now
    /// changes nothing.
    pub async fn look_again(&self, id: &ProviderId) {
        if let Ok(known) = self.known_mcp(id) {
            // Told in the log; the grant's own issuer is known.
            let _ = self.found(known).await;
        }
    }

    /// The provider at a place, which is not compared with anything, and that place's fingerprint.
    ///
    /// # Errors
    /// [`NotConcrete::Unconfigured`].
    pub fn at(&self, id: &ProviderId, place: &Place) -> Result<(Arc<Provider>, Hash), NotConcrete> {
        let known = self.known_mcp(id).map_err(|_| NotConcrete::Unconfigured)?;
        Ok(Self::known_at(known, place).placed())
    }

    /// Goes the whole way anew, for `doctor`: nothing that is known is used.
    ///
    /// # Errors
    /// [`Fault`], with the step that failed and what to do.
    pub async fn examine(&self, id: &ProviderId) -> Result<(Found, Endpoints), Fault> {
        let misconfigured = |_| Fault::misconfigured(Step::Resource, "not_mcp");
        let known = self.known_mcp(id).map_err(misconfigured)?;
        let mcp = known.provider.mcp.as_ref().ok_or(()).map_err(|()| misconfigured(ProviderError::Policy))?;
        let found = resource::find(mcp, &self.0.outbound).await?;
        let place = Place::new(chosen(&known.provider, &found)?, &found);
        let at = Self::known_at(known, &place);
        let discovered = Endpoints::discover(&at.provider, &self.0.outbound).await;
        let endpoints = discovered.map_err(|error| Fault { step: Step::Metadata, error })?;
        registration::possible(mcp.registration, &endpoints)?;
        Ok((found, endpoints))
    }

    /// The provider at the place that `sources` tell of, while that is one.
    pub(super) fn third_party(
        &self,
        base: &Known,
        mcp: &ThirdPartyMcp,
        sources: &[&Values],
    ) -> Result<(Arc<Provider>, Hash), NotConcrete> {
        let place = sources.iter().find_map(|values| Place::of(values));
        let place = place.ok_or_else(|| NotConcrete::Missing(vec![ISSUER.to_owned()]))?;
        let found = base.mcp.last(self.0.clock.now());
        if !place.stands(&base.provider, mcp, found.as_deref()) {
            return Err(NotConcrete::Changed);
        }
        Ok(Self::known_at(base, &place).placed())
    }

    /// The endpoints of the authorization server that a provider is at, or else would be at now.
    pub(super) async fn third_party_endpoints(
        &self,
        provider: &Provider,
    ) -> Result<Arc<Endpoints>, ProviderError> {
        let known = self.known_mcp(&provider.id)?;
        let place = match Place::of(&provider.variables) {
            Some(place) => place,
            None => self.find(&provider.id).await?.1,
        };
        // What an authorization server says of itself is the same for each of our clients there.
        let at = Self::known_at(known, &Place { client_id: String::new(), ..place });
        let discovered = at.endpoints(&self.0.outbound, &self.0.clock).await?;
        let client_authentication =
            endpoints::authentication(provider, discovered.offers.authentication.as_deref());
        Ok(Arc::new(Endpoints { client_authentication, ..(*discovered).clone() }))
    }

    /// Its endpoints did not work: they may have moved, as far as their issuer says so.
    pub(super) fn doubt(&self, provider: &Provider) {
        let (Ok(known), Some(place)) = (self.known_mcp(&provider.id), Place::of(&provider.variables)) else {
            return;
        };
        Self::known_at(known, &Place { client_id: String::new(), ..place }).doubt(&self.0.clock);
        known.mcp.doubt(self.0.clock.now());
    }

    async fn found(&self, known: &Known) -> Result<Arc<Found>, ProviderError> {
        let Some(mcp) = &known.provider.mcp else { return Err(not_mcp()) };
        let find = async {
            resource::find(mcp, &self.0.outbound).await.map_err(|fault| fault.told(&known.provider.id))
        };
        known.mcp.get(&self.0.clock, find).await
    }

    fn known_mcp(&self, id: &ProviderId) -> Result<&Known, ProviderError> {
        let known = self.0.known.iter().find(|known| known.provider.id == *id);
        known.filter(|known| known.provider.mcp.is_some()).ok_or_else(not_mcp)
    }

    fn known_at(base: &Known, place: &Place) -> Arc<Known> {
        let values = place.values();
        if let Some(known) = base.concretes.get(&values) {
            return known;
        }
        let mut built = (*base.provider).clone();
        built.issuer = Some(place.issuer.clone());
        built.resource = vec![place.resource.clone()];
        built.client_id.clone_from(&place.client_id);
        built.variables = values.clone();
        base.concretes.keep(values, Arc::new(Known::new(built, base.budget.beside())))
    }
}

/// Why a call was not answered; an answer that is too large is `what`, which cannot be read.
fn unanswered(error: &OutboundError, what: &'static str) -> ProviderError {
    match error {
        OutboundError::Refused(_) => ProviderError::Policy,
        OutboundError::TooLarge => ProviderError::Malformed { what },
        _ => ProviderError::Unreachable { maybe_sent: error.maybe_sent(), retry_after: None },
    }
}

fn not_mcp() -> ProviderError {
    ProviderError::misconfigured("not_mcp")
}

/// Where a well-known document of `url` stands: the name between host and path.
fn well_known(url: &Url, name: &str, with_path: bool) -> Url {
    let path = if with_path && url.path() != "/" { url.path() } else { "" };
    let mut at = url.clone();
    at.set_path(&format!("/.well-known/{name}{path}"));
    at.set_query(None);
    at.set_fragment(None);
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_kept_as_values() {
        let mut place = Place {
            issuer: "https://id.example".into(),
            resource: "https://mcp.example/mcp".into(),
            client_id: "client".into(),
        };
        assert_eq!(Place::of(&place.values()), Some(place.clone()));
        assert!(place.values().iter().all(|(name, _)| is_of_a_place(name)));
        place.client_id.clear();
        assert_eq!(Place::of(&place.values()), Some(place));
        assert_eq!(Place::of(&Values::default()), None);
    }

    /// R63: another public URL, or another provider, is another client.
    #[test]
    fn r63_a_document_is_ours_in_one_form() {
        let documents = "https://connect.example/client-metadata";
        assert!(is_document("https://connect.example/client-metadata/files/tools", documents, "tools"));
        for other in [
            "",
            "https://connect.example/client-metadata/files/other",
            "https://connect.example/client-metadata/tools",
            "https://connect.example/client-metadata/a/b/tools",
            "https://connect.example/client-metadata/files/xtools",
            "https://evil.example/client-metadata/files/tools",
        ] {
            assert!(!is_document(other, documents, "tools"), "{other}");
        }
    }

    #[test]
    fn the_well_known_part_stands_before_the_path() {
        let at = |url: &str, path| well_known(&Url::parse(url).unwrap(), "x", path).to_string();
        assert_eq!(at("https://a.example/mcp", true), "https://a.example/.well-known/x/mcp");
        assert_eq!(at("https://a.example/mcp", false), "https://a.example/.well-known/x");
        assert_eq!(at("https://a.example", true), "https://a.example/.well-known/x");
    }
}
