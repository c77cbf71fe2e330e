//! `[[providers]]` with `kind = "secret"`, and the table `use`, as they stand in a file.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::ProbeMethod;

/// With its preset merged in, of which `preset` itself still tells.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct SecretForm {
    /// Part of callback paths.
    pub(in crate::config) id: String,
    /// The entry of the catalogue that this table is laid over.
    #[serde(rename = "preset")]
    pub(in crate::config) _preset: Option<String>,
    /// The name on pages. Default: the id.
    pub(in crate::config) name: Option<String>,
    /// What is asked for, 1 to 12 fields.
    pub(in crate::config) fields: Vec<Field>,
    /// What the key can do, a sentence for the user.
    pub(in crate::config) what: Option<String>,
    /// Where the user finds it.
    pub(in crate::config) key_url: Option<String>,
    /// A call that tells whether the values are good. Without it nothing can be checked, and the page says so.
    pub(in crate::config) probe: Option<Probe>,
    /// What the user should know before the call is made; a sentence.
    pub(in crate::config) probe_note: Option<String>,
    /// How an MCP server uses the values, each as `{name}`.
    #[serde(rename = "use", default)]
    pub(in crate::config) usage: Usage,
    /// Where the user removes the access at the provider.
    pub(in crate::config) manage_url: Option<String>,
    /// The provider's documentation.
    pub(in crate::config) docs_url: Option<String>,
    /// Requests a second, of one process. Default: 20, for keys 5.
    #[serde(default = "requests_per_second")]
    pub(in crate::config) requests_per_second: u32,
    /// Requests at the same time, of one process. Default: 16, for keys 8.
    #[serde(default = "concurrent_requests")]
    pub(in crate::config) concurrent_requests: u32,
}

fn requests_per_second() -> u32 {
    5
}

fn concurrent_requests() -> u32 {
    8
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Field {
    /// What it is called in braces, and in answers to MCP servers.
    pub(in crate::config) name: String,
    /// What the user reads before it.
    pub(in crate::config) label: String,
    /// Where to find it, or what it is.
    pub(in crate::config) help: Option<String>,
    /// How it looks.
    pub(in crate::config) example: Option<String>,
    /// Whether it is hidden while it is typed. Default: true.
    #[serde(default = "yes")]
    pub(in crate::config) secret: bool,
    /// Whether it may stay empty. Default: false.
    #[serde(default)]
    pub(in crate::config) optional: bool,
    /// How values usually look, a regular expression; another one is warned of and never refused, except in a part of
    /// a host.
    pub(in crate::config) pattern: Option<String>,
    /// Values to choose from, each with its label.
    #[serde(default)]
    pub(in crate::config) choices: BTreeMap<String, String>,
    /// What is chosen, or stands there, at first.
    pub(in crate::config) default: Option<String>,
    /// The value is a host that ends with one of these, dot and all.
    #[serde(default)]
    pub(in crate::config) suffixes: Vec<String>,
    /// Advice for values of the wrong kind.
    #[serde(default)]
    pub(in crate::config) wrong: Vec<Advice>,
    /// Recognises values of a test mode, a regular expression.
    pub(in crate::config) test: Option<String>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Advice {
    /// A regular expression that values of the wrong kind match.
    pub(in crate::config) pattern: String,
    /// What to do about it, a sentence for the user.
    pub(in crate::config) advice: String,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FormProbe)]
pub(in crate::config) struct Probe {
    /// The method. Default: GET.
    #[serde(default = "get")]
    pub(in crate::config) method: ProbeMethod,
    /// Where to, with `{name}` for fields.
    pub(in crate::config) url: String,
    /// Its headers. Default: those of `use`.
    pub(in crate::config) headers: Option<BTreeMap<String, String>>,
    /// Its query. Default: that of `use`.
    pub(in crate::config) query: Option<BTreeMap<String, String>>,
    /// HTTP Basic. Default: that of `use`.
    pub(in crate::config) basic: Option<Basic>,
    /// The JSON that is posted.
    pub(in crate::config) body: Option<String>,
    /// A stable id of whose the values are: a path, or text with paths in braces.
    pub(in crate::config) id: Option<String>,
    /// What the user recognises, written like `id`.
    pub(in crate::config) label: Option<String>,
    /// What a good answer holds.
    pub(in crate::config) ok: Option<Holds>,
    /// Statuses that mean that the values are wrong. Default: 401 and 403.
    #[serde(default = "unauthorized")]
    pub(in crate::config) rejected: Vec<u16>,
}

fn get() -> ProbeMethod {
    ProbeMethod::Get
}

fn unauthorized() -> Vec<u16> {
    vec![401, 403]
}

/// What an answer must hold; anything but null and false where no value is named.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Holds {
    /// Where.
    pub(in crate::config) path: String,
    /// What stands there. Default: anything but null and false.
    #[schema(value_type = Option<serde_json::Value>)]
    pub(in crate::config) equals: Option<toml::Value>,
}

/// How a credential is used.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Usage {
    /// Where the API is.
    pub(in crate::config) base_url: Option<String>,
    /// Headers of every call.
    #[serde(default)]
    pub(in crate::config) headers: BTreeMap<String, String>,
    /// Query parameters of every call.
    #[serde(default)]
    pub(in crate::config) query: BTreeMap<String, String>,
    /// HTTP Basic.
    pub(in crate::config) basic: Option<Basic>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Basic {
    /// The user name.
    #[serde(default)]
    pub(in crate::config) username: String,
    /// The password.
    #[serde(default)]
    pub(in crate::config) password: String,
}
