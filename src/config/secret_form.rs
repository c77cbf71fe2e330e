//! What the settings know of a service whose credential a person types: an API key, or several values.

use std::collections::BTreeMap;

use url::Url;

use super::{Pattern, Usage};
use crate::{elicitation::ProviderId, template::Template};

/// A service that is connected by a form (`kind = "secret"`), with its preset merged in.
#[derive(Clone, Debug)]
pub struct SecretForm {
    /// Its id, of the same space as those of the other kinds.
    pub id: ProviderId,
    /// Its name on pages.
    pub name: String,
    /// What is asked for, in order; never empty.
    pub fields: Vec<FormField>,
    /// What the values can do, a sentence for the person.
    pub what: Option<String>,
    /// Where the service shows its keys.
    pub key_url: Option<Url>,
    /// A call that tells whether the values work; without one they are stored unchecked.
    pub probe: Option<FormProbe>,
    /// What a person should know before the call is made: that it costs money, say.
    pub probe_note: Option<String>,
    /// How an MCP server uses the values.
    pub usage: Usage,
    /// Where a key is ended at the service, for pages.
    pub manage_url: Option<Url>,
    /// The service's documentation, for operators.
    pub docs_url: Option<Url>,
    /// Probes a second, from one process.
    pub requests_per_second: u32,
    /// Probes at the same time, from one process.
    pub concurrent_requests: u32,
}

impl SecretForm {
    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&FormField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A field of a form.
#[derive(Clone, Debug)]
pub struct FormField {
    /// What it is called in templates and in answers to MCP servers.
    pub name: String,
    /// What it is called on the page.
    pub label: String,
    /// How to find the value, a sentence.
    pub help: Option<String>,
    /// A value that would fit, never a real one.
    pub example: Option<String>,
    /// Whether the value is hidden while it is typed.
    pub secret: bool,
    /// Whether it may stay empty.
    pub optional: bool,
    /// How values usually look. A value that does not is warned of, and refused only where it is part of a host.
    pub pattern: Option<Pattern>,
    /// The values to choose from, each with its label; empty where anything may be typed.
    pub choices: BTreeMap<String, String>,
    /// What is chosen, or stands there, at first.
    pub default: Option<String>,
    /// The value is a host that ends so.
    pub suffixes: Vec<String>,
    /// Values of a wrong kind, each with what to do instead.
    pub wrong: Vec<Advice>,
    /// How a value of the service's test mode looks.
    pub test: Option<Pattern>,
    /// Whether it is part of a host that requests go to; then what does not fit is refused.
    pub in_host: bool,
}

/// A value of a wrong kind.
#[derive(Clone, Debug)]
pub struct Advice {
    /// How it looks.
    pub pattern: Pattern,
    /// What to do instead, a sentence for the person.
    pub advice: String,
}

/// A call that tells whether values work, and whose they are.
#[derive(Clone, Debug)]
pub struct FormProbe {
    /// `GET` or `POST`.
    pub method: ProbeMethod,
    /// Where to, with places for the form's values.
    pub url: Template,
    /// Its headers; those of the usage where it gives none.
    pub headers: BTreeMap<String, Template>,
    /// Its query parameters; those of the usage where it gives none.
    pub query: BTreeMap<String, Template>,
    /// HTTP Basic; that of the usage where it gives none and no header `Authorization`.
    pub basic: Option<(Template, Template)>,
    /// JSON to send.
    pub body: Option<Template>,
    /// Dotted path to a stable id of the account.
    pub id: Option<String>,
    /// Dotted path to what the person recognises.
    pub label: Option<String>,
    /// What the answer must hold beside a status of success: a dotted path, and the value there, if one is named.
    pub ok: Option<(String, Option<serde_json::Value>)>,
    /// Statuses that say that the values are wrong.
    pub rejected: Vec<u16>,
}

/// The method of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ProbeMethod {
    /// `GET`.
    #[default]
    Get,
    /// `POST`.
    Post,
}
