//! The providers that the calling MCP server may ask for.

use serde::Deserialize;

/// A provider.
///
/// ```
/// use consentry_client::Provider;
///
/// let provider: Provider = serde_json::from_str(r#"{ "id": "github", "name": "GitHub", "scopes": ["repo"] }"#)?;
/// assert_eq!(provider.name, "GitHub");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Provider {
    /// The id to ask by.
    pub id: String,
    /// The name, for people.
    pub name: String,
    /// What is asked for when a request names no scopes.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// What a request may name.
    #[serde(default)]
    pub allowed_scopes: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Providers {
    pub(crate) providers: Vec<Provider>,
}
