//! What the settings know of a page of an MCP server's own, to which a person is sent.

use url::Url;

use crate::elicitation::ProviderId;

/// A page of an MCP server's own (`kind = "redirect"`): a payment, an agreement, a confirmation.
#[derive(Clone, Debug)]
pub struct HostedPage {
    /// Its id, of the same space as those of the other kinds.
    pub id: ProviderId,
    /// Its name on pages.
    pub name: String,
    /// Where the person is sent, with a query of its own if it has one.
    pub url: Url,
    /// What is done there, a sentence for the person.
    pub what: Option<String>,
    /// Where a person takes back what they did there, for pages.
    pub manage_url: Option<Url>,
    /// Its documentation, for operators.
    pub docs_url: Option<Url>,
}
