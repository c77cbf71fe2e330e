//! `[[providers]]` with `kind = "secret"`, and the table `use`, as they stand in a file.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::ProbeMethod;

/// With its preset merged in, of which `preset` itself still tells.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct SecretForm {
    pub(in crate::config) id: String,
    #[serde(rename = "preset")]
    pub(in crate::config) _preset: Option<String>,
    pub(in crate::config) name: Option<String>,
    pub(in crate::config) fields: Vec<Field>,
    pub(in crate::config) what: Option<String>,
    pub(in crate::config) key_url: Option<String>,
    pub(in crate::config) probe: Option<Probe>,
    pub(in crate::config) probe_note: Option<String>,
    #[serde(rename = "use", default)]
    pub(in crate::config) usage: Usage,
    pub(in crate::config) manage_url: Option<String>,
    pub(in crate::config) docs_url: Option<String>,
    #[serde(default = "requests_per_second")]
    pub(in crate::config) requests_per_second: u32,
    #[serde(default = "concurrent_requests")]
    pub(in crate::config) concurrent_requests: u32,
}

fn requests_per_second() -> u32 {
    5
}

fn concurrent_requests() -> u32 {
    8
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Field {
    pub(in crate::config) name: String,
    pub(in crate::config) label: String,
    pub(in crate::config) help: Option<String>,
    pub(in crate::config) example: Option<String>,
    #[serde(default = "yes")]
    pub(in crate::config) secret: bool,
    #[serde(default)]
    pub(in crate::config) optional: bool,
    pub(in crate::config) pattern: Option<String>,
    #[serde(default)]
    pub(in crate::config) choices: BTreeMap<String, String>,
    pub(in crate::config) default: Option<String>,
    #[serde(default)]
    pub(in crate::config) suffixes: Vec<String>,
    #[serde(default)]
    pub(in crate::config) wrong: Vec<Advice>,
    pub(in crate::config) test: Option<String>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Advice {
    pub(in crate::config) pattern: String,
    pub(in crate::config) advice: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Probe {
    #[serde(default = "get")]
    pub(in crate::config) method: ProbeMethod,
    pub(in crate::config) url: String,
    pub(in crate::config) headers: Option<BTreeMap<String, String>>,
    pub(in crate::config) query: Option<BTreeMap<String, String>>,
    pub(in crate::config) basic: Option<Basic>,
    pub(in crate::config) body: Option<String>,
    pub(in crate::config) id: Option<String>,
    pub(in crate::config) label: Option<String>,
    pub(in crate::config) ok: Option<Holds>,
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Holds {
    pub(in crate::config) path: String,
    pub(in crate::config) equals: Option<toml::Value>,
}

/// How a credential is used.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Usage {
    pub(in crate::config) base_url: Option<String>,
    #[serde(default)]
    pub(in crate::config) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(in crate::config) query: BTreeMap<String, String>,
    pub(in crate::config) basic: Option<Basic>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Basic {
    #[serde(default)]
    pub(in crate::config) username: String,
    #[serde(default)]
    pub(in crate::config) password: String,
}
