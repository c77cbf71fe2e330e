//! What is known of providers before an operator says anything: one TOML file each, compiled in.
//!
//! A [`Preset`] has the keys of a provider's table in the settings, all optional; the settings lay the operator's table
//! over it, so that every field can be overridden. A preset never holds a registration (client id and secret), and never
//! decides what the provider's answer can tell.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use url::Url;

use crate::config::ClientAuthentication;

/// Name and text of each built-in preset, ordered by name.
const PRESETS: &[(&str, &str)] = &[("github", include_str!("../../providers/github.toml"))];

/// Keys that speak of the preset, not of the provider.
const ABOUT: &[&str] = &["verified_on", "confidence"];

/// The built-in preset of this name; none when there is none.
pub fn preset(id: &str) -> Option<Preset> {
    toml::from_str(text(id)?).ok()
}

/// The same as it stands in a provider's table of the settings, for the operator's own to be laid over.
pub fn settings(id: &str) -> Option<toml::Table> {
    let mut table: toml::Table = toml::from_str(text(id)?).ok()?;
    table.retain(|key, _| !ABOUT.contains(&key));
    Some(table)
}

fn text(id: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(name, _)| *name == id).map(|(_, text)| *text)
}

/// The names of the built-in presets, in order.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// What a provider's table may say besides its id and our registration, and how sure it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The name on pages.
    pub name: Option<String>,
    /// For discovery, and the `iss` that is expected back.
    pub issuer: Option<String>,
    /// Whether `iss` is in every response (RFC 9207).
    pub issuer_always_sent: Option<bool>,
    /// RFC 8414, section 2.
    pub authorization_endpoint: Option<Url>,
    /// RFC 8414, section 2.
    pub token_endpoint: Option<Url>,
    /// RFC 7009.
    pub revocation_endpoint: Option<Url>,
    /// Its own way of revoking, in place of RFC 7009.
    pub revocation: Option<RevocationPreset>,
    /// OpenID Connect Core, section 5.3.
    pub userinfo_endpoint: Option<Url>,
    /// `client_secret_basic`, `client_secret_post` or `none`.
    #[serde(default, deserialize_with = "client_authentication")]
    pub client_authentication: Option<ClientAuthentication>,
    /// What is asked for when the caller names nothing.
    pub scopes: Option<Vec<String>>,
    /// The most that a caller may ask for.
    pub allowed_scopes: Option<Vec<String>>,
    /// What separates scopes in the authorize URL; a space by default.
    pub scope_separator: Option<char>,
    /// Plain words for scopes.
    #[serde(default)]
    pub scope_words: BTreeMap<String, String>,
    /// How the provider calls a scope in its answers, and how it is asked for.
    #[serde(default)]
    pub scope_aliases: BTreeMap<String, String>,
    /// Scopes that others come with.
    #[serde(default)]
    pub scope_includes: BTreeMap<String, Vec<String>>,
    /// Further authorize parameters.
    #[serde(default)]
    pub authorize_params: BTreeMap<String, String>,
    /// Parameters that make the provider ask which account to use.
    #[serde(default)]
    pub account_chooser_params: BTreeMap<String, String>,
    /// The parameter that names the account which was connected before; `login_hint` by default.
    pub account_hint_param: Option<String>,
    /// RFC 8707.
    pub resource: Option<Vec<String>>,
    /// Whether PKCE is used; yes by default.
    pub pkce: Option<bool>,
    /// Whether the provider answers by form_post; no by default.
    pub form_post: Option<bool>,
    /// Error codes of the authorization response that mean "the person said no", besides `access_denied`.
    pub cancel_codes: Option<Vec<String>>,
    /// What error codes of its token endpoint mean: `terminal`, `operator`, `configuration` or `transient`.
    #[serde(default)]
    pub error_classes: BTreeMap<String, String>,
    /// A refresh token that is not used for this long ends, as in `60d`.
    pub refresh_idle: Option<String>,
    /// The person's consent ends this long after it was given, as in `90d`.
    pub consent_lifetime: Option<String>,
    /// Refreshes and revocations a second that it takes of one client.
    pub requests_per_second: Option<u32>,
    /// Refreshes and revocations at the same time that it takes of one client.
    pub concurrent_requests: Option<u32>,
    /// Who is this account?
    pub probe: Option<ProbePreset>,
    /// Where the person removes our access at the provider.
    pub manage_url: Option<Url>,
    /// The provider's documentation.
    pub docs_url: Option<Url>,
    /// The day on which this was last tried at the provider itself, as `YYYY-MM-DD`; absent until somebody did.
    pub verified_on: Option<String>,
    /// How sure that was: `high`, `medium` or `low`.
    pub confidence: Option<String>,
}

/// See [`crate::config::OwnRevocation`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevocationPreset {
    /// Where to. `{client_id}` stands for our client id.
    pub url: String,
    /// `POST` (default) or `DELETE`.
    pub method: Option<String>,
    /// `form` (default) or `json`.
    pub body: Option<String>,
    /// The name of the field that holds the token; `token` by default.
    pub field: Option<String>,
    /// `refresh_token` (default: where there is one) or `access_token`.
    pub token: Option<String>,
    /// As at the token endpoint when absent.
    #[serde(default, deserialize_with = "client_authentication")]
    pub client_authentication: Option<ClientAuthentication>,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Statuses that say that the token is not known there.
    #[serde(default)]
    pub gone: Vec<u16>,
}

/// See [`crate::config::Probe`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbePreset {
    /// Called by GET.
    pub url: Url,
    /// Dotted path to a stable id.
    pub id: String,
    /// Dotted path to what the person recognises.
    pub label: String,
    /// Further headers. `{client_id}` in a value stands for our client id.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

fn client_authentication<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<ClientAuthentication>, D::Error> {
    #[derive(Deserialize)]
    enum Method {
        #[serde(rename = "client_secret_basic")]
        Basic,
        #[serde(rename = "client_secret_post")]
        Post,
        #[serde(rename = "none")]
        None,
    }
    Ok(Some(match Method::deserialize(from)? {
        Method::Basic => ClientAuthentication::Basic,
        Method::Post => ClientAuthentication::Post,
        Method::None => ClientAuthentication::None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_whole() {
        for (name, text) in PRESETS {
            let preset: Preset = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(preset.name.is_some() && preset.docs_url.is_some(), "{name}");
            assert!(preset.verified_on.as_ref().is_none_or(|day| day.len() == 10), "{name}");
            assert!(matches!(preset.confidence.as_deref(), Some("high" | "medium" | "low")), "{name}");
            assert!(settings(name).is_some(), "{name}");
        }
        assert!(names().is_sorted());
    }

    #[test]
    fn settings_hold_nothing_about_the_preset_itself() {
        let github = settings("github").unwrap();
        assert_eq!(github["client_authentication"].as_str(), Some("client_secret_post"));
        assert!(ABOUT.iter().all(|key| !github.contains_key(*key)));
        assert!(preset("nobody").is_none() && settings("nobody").is_none());
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = toml::from_str::<Preset>("authorise_params = {}").unwrap_err();
        assert!(error.to_string().contains("authorise_params"));
    }
}
