//! `[[providers]]` with `kind = "redirect"`, as it stands in a file.

use serde::Deserialize;

/// With its preset merged in, of which `preset` itself still tells.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct HostedPage {
    /// Part of callback paths.
    pub(in crate::config) id: String,
    /// The entry of the catalogue that this table is laid over.
    #[serde(rename = "preset")]
    pub(in crate::config) _preset: Option<String>,
    /// The name on pages. Default: the id.
    pub(in crate::config) name: Option<String>,
    /// The MCP server's page. Its own query is kept; `code`, `state` and `redirect_uri` are added to it.
    pub(in crate::config) url: String,
    /// What is done there, a sentence for the user.
    pub(in crate::config) what: Option<String>,
    /// Where the user takes it back.
    pub(in crate::config) manage_url: Option<String>,
    /// The page's documentation.
    pub(in crate::config) docs_url: Option<String>,
}
