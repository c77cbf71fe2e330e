//! Which addresses may stand in the settings (R73).
//!
//! What [`crate::outbound::AddressPolicy`] lets through: https, or http to a host that the operator has allowed by name or, while
//! `public_url` is this machine, to this machine.

use url::Url;

use super::Checker;

impl Checker<'_> {
    /// An address that Consentry calls or sends browsers to.
    pub(super) fn endpoint(&mut self, key: &str, text: &str) -> Option<Url> {
        let url = self.findings.keep(key, Url::parse(text).map_err(|_| "is not a URL"))?;
        let problem = self.endpoint_problem(&url);
        self.findings.keep(key, problem.map_or(Ok(url), Err))
    }

    /// Why `url` may not be called. The same is asked again when a request is sent.
    pub(super) fn endpoint_problem(&self, url: &Url) -> Option<String> {
        if let Err(refused) = self.policy.check(url) {
            return Some(format!("is refused: {refused}"));
        }
        url.fragment().map(|_| "must not have a fragment".to_owned())
    }

    /// A link on a page: `https`, `http` as for endpoints, and `mailto` where help may be mail.
    pub(super) fn link(&mut self, key: &str, text: &str, mail: bool) -> Option<Url> {
        let url = self.findings.keep(key, Url::parse(text).map_err(|_| "is not a URL"))?;
        let is_page = url.scheme() == "https" || self.policy.check(&url).is_ok();
        if is_page || (mail && url.scheme() == "mailto") {
            return Some(url);
        }
        self.refuse(key, if mail { "must be an https or a mailto URL" } else { "must be an https URL" });
        None
    }

    /// An issuer (RFC 8414, section 2), kept byte for byte.
    pub(super) fn issuer(&mut self, key: &str, text: &str) {
        if let Some(url) = self.endpoint(key, text) {
            self.demand(url.query().is_none(), key, "must not have a query");
            self.demand(!text.contains(char::is_whitespace), key, "must not hold white space");
        }
    }

    /// A resource identifier (RFC 8707, section 2): an absolute URI without a fragment, kept byte for byte.
    pub(super) fn resource(&mut self, key: &str, text: &str) {
        let fits =
            Url::parse(text).is_ok_and(|url| url.fragment().is_none()) && !text.contains(char::is_whitespace);
        self.demand(fits, key, "must be an absolute URI without a fragment");
    }
}
