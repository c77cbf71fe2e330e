//! `[[providers]]` with `kind = "redirect"`: pages of MCP servers' own.

use url::Url;

use super::Checker;
use crate::{
    config::{HostedPage, raw},
    elicitation::ProviderId,
};

/// What is added to the address of each visit.
const OURS: [&str; 3] = ["code", "state", "redirect_uri"];

impl Checker<'_> {
    pub(super) fn hosted_pages(&mut self, list: Vec<(String, raw::HostedPage)>) -> Vec<HostedPage> {
        list.into_iter().filter_map(|(at, raw)| self.hosted_page(&at, raw)).collect()
    }

    fn hosted_page(&mut self, at: &str, raw: raw::HostedPage) -> Option<HostedPage> {
        let name = raw.name.unwrap_or_else(|| raw.id.clone());
        self.name(&format!("{at}.name"), &name);
        self.words(&format!("{at}.what"), raw.what.as_deref());
        let mut link = |key: &str, text: Option<String>| {
            text.and_then(|text| self.link(&format!("{at}.{key}"), &text, false))
        };
        let (manage_url, docs_url) = (link("manage_url", raw.manage_url), link("docs_url", raw.docs_url));
        let url = self.page_url(&format!("{at}.url"), &raw.url)?;
        let id = raw.id.parse::<ProviderId>().ok()?;
        Some(HostedPage { id, name, url, what: raw.what, manage_url, docs_url })
    }

    fn page_url(&mut self, key: &str, text: &str) -> Option<Url> {
        let url = self.endpoint(key, text)?;
        let taken = url.query_pairs().any(|(name, _)| OURS.contains(&&*name));
        self.demand(!taken, key, "must not have code, state or redirect_uri in its query");
        (!taken).then_some(url)
    }
}
