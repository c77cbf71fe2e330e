//! `[providers.variables.NAME]` as it stands in a file.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::variables::Ask;

/// What stands for something in braces in an address.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Variable {
    /// What the user is asked for.
    pub(in crate::config) label: String,
    /// Where the user finds it; a sentence.
    pub(in crate::config) help: Option<String>,
    /// A value that would fit, never a real one.
    pub(in crate::config) example: Option<String>,
    /// A regular expression that a whole value must match.
    pub(in crate::config) pattern: Option<String>,
    /// The values to choose from, each as users read it.
    #[serde(default)]
    pub(in crate::config) choices: BTreeMap<String, String>,
    /// What it is when nobody says.
    pub(in crate::config) default: Option<String>,
    /// The value is a host that ends so; each with a dot before it.
    #[serde(default)]
    pub(in crate::config) suffixes: Vec<String>,
    /// The value is one of these hosts.
    #[serde(default)]
    pub(in crate::config) hosts: Vec<String>,
    /// The parameter of the provider's response that says it, instead of anybody here.
    pub(in crate::config) from_callback: Option<String>,
    /// Who may say it. Default: the operator, the caller and the user, and so they win.
    pub(in crate::config) ask: Option<Vec<Ask>>,
}
