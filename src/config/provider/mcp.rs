//! A provider that is another MCP server: where it is, and how our client comes to be known at its authorization server.

use serde::Deserialize;
use url::Url;

use crate::secret::Secret;

/// A third-party MCP server; everything else is found out from it (RFC 9728, RFC 8414).
#[derive(Clone, Debug)]
pub struct ThirdPartyMcp {
    /// Its endpoint: no query, no fragment.
    pub url: Url,
    /// The same as the operator wrote it, which is what calls of it begin with.
    pub text: String,
    /// How our client is registered.
    pub registration: Registration,
    /// The initial access token of a dynamic registration (RFC 7591, section 3).
    pub registration_token: Option<Secret>,
    /// What our client metadata documents' addresses begin with, `https://connect.example.com/client-metadata`.
    pub documents: String,
}

/// How an authorization server comes to know our client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// By `client_id`, which the operator has registered there.
    #[default]
    Static,
    /// By a document that Consentry serves, whose address is the client id.
    ClientIdMetadataDocument,
    /// Consentry registers itself (RFC 7591).
    Dynamic,
}

impl ThirdPartyMcp {
    /// Where the document about our client stands, for one MCP server of ours and this provider; also its client id.
    pub fn document(&self, server: &str, provider: &str) -> String {
        format!("{}/{server}/{provider}", self.documents)
    }
}
