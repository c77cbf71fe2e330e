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
    /// What stands in braces in its addresses and a request may give.
    #[serde(default)]
    pub variables: Vec<Variable>,
}

/// Something that a provider's address is made of, such as a subdomain.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Variable {
    /// The name to give it by.
    pub name: String,
    /// What users know it as.
    pub label: String,
    /// A value that would fit.
    #[serde(default)]
    pub example: Option<String>,
    /// The values to choose from; empty where anything that fits may be given.
    #[serde(default)]
    pub choices: Vec<String>,
    /// Whether it must be given, because nobody else may.
    #[serde(default)]
    pub required: bool,
}

#[derive(Deserialize)]
pub(crate) struct Providers {
    pub(crate) providers: Vec<Provider>,
}
