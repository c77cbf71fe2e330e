//! What is known of providers before an operator says anything: one TOML file each, compiled in.
//!
//! A [`Preset`] has the keys of a provider's table in the settings, all optional. The operator's table is read as one
//! too and laid over the built-in one field by field, so that every field can be overridden. A preset never holds a
//! registration (client id and secret), and never decides what the provider's answer can tell.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use url::Url;

use crate::{
    config::{self, ClientAuthentication},
    elicitation::ProviderId,
    provider::{departure, endpoints},
    scope::Scopes,
    secret::Secret,
};

/// Name and text of each built-in preset, ordered by name.
const PRESETS: &[(&str, &str)] = &[("github", include_str!("../../providers/github.toml"))];

/// The built-in preset of this name; none when there is none.
pub fn preset(id: &str) -> Option<Preset> {
    PRESETS.iter().find(|(name, _)| *name == id).and_then(|(_, text)| toml::from_str(text).ok())
}

/// The names of the built-in presets, in order.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// What a provider's table may say besides its id and our registration. Maps are merged key by key, everything else
/// is replaced as a whole.
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
    /// Further authorize parameters.
    #[serde(default)]
    pub authorize_params: BTreeMap<String, String>,
    /// Parameters that make the provider ask which account to use.
    #[serde(default)]
    pub account_chooser_params: BTreeMap<String, String>,
    /// RFC 8707.
    pub resource: Option<Vec<String>>,
    /// Whether PKCE is used; yes by default.
    pub pkce: Option<bool>,
    /// Whether the provider answers by form_post; no by default.
    pub form_post: Option<bool>,
    /// Error codes of the authorization response that mean "the person said no", besides `access_denied`.
    pub cancel_codes: Option<Vec<String>>,
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

/// See [`config::Probe`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbePreset {
    /// Called by GET.
    pub url: Url,
    /// Dotted path to a stable id.
    pub id: String,
    /// Dotted path to what the person recognises; the id's when absent.
    pub label: Option<String>,
    /// Further headers. `{client_id}` in a value stands for our client id.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// What only the operator can say.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The provider's id.
    pub id: ProviderId,
    /// Our client there.
    pub client_id: String,
    /// Absent for a public client.
    pub client_secret: Option<Secret>,
}

/// A key of a provider's table that cannot work, and why. Never holds the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct UnusableKey {
    /// The key, dotted below the provider's table.
    pub key: String,
    /// A sentence's end for the operator.
    pub reason: &'static str,
}

impl UnusableKey {
    fn new(key: impl Into<String>, reason: &'static str) -> Self {
        Self { key: key.into(), reason }
    }
}

impl Preset {
    /// This one, and what it leaves open from `base`. The operator's table goes over the built-in preset.
    #[must_use]
    pub fn over(self, base: Self) -> Self {
        Self {
            name: self.name.or(base.name),
            issuer: self.issuer.or(base.issuer),
            issuer_always_sent: self.issuer_always_sent.or(base.issuer_always_sent),
            authorization_endpoint: self.authorization_endpoint.or(base.authorization_endpoint),
            token_endpoint: self.token_endpoint.or(base.token_endpoint),
            revocation_endpoint: self.revocation_endpoint.or(base.revocation_endpoint),
            userinfo_endpoint: self.userinfo_endpoint.or(base.userinfo_endpoint),
            client_authentication: self.client_authentication.or(base.client_authentication),
            scopes: self.scopes.or(base.scopes),
            allowed_scopes: self.allowed_scopes.or(base.allowed_scopes),
            scope_separator: self.scope_separator.or(base.scope_separator),
            scope_words: merged(self.scope_words, base.scope_words),
            authorize_params: merged(self.authorize_params, base.authorize_params),
            account_chooser_params: merged(self.account_chooser_params, base.account_chooser_params),
            resource: self.resource.or(base.resource),
            pkce: self.pkce.or(base.pkce),
            form_post: self.form_post.or(base.form_post),
            cancel_codes: self.cancel_codes.or(base.cancel_codes),
            probe: self.probe.or(base.probe),
            manage_url: self.manage_url.or(base.manage_url),
            docs_url: self.docs_url.or(base.docs_url),
            verified_on: self.verified_on.or(base.verified_on),
            confidence: self.confidence.or(base.confidence),
        }
    }

    /// The provider as the rest of the program sees it.
    ///
    /// # Errors
    /// The first key that cannot work: no way to find the endpoints, an address that no browser may be sent to
    /// (R73), an authorize parameter that would replace one of ours (R66), a malformed scope.
    pub fn into_provider(self, registration: Registration) -> Result<config::Provider, UnusableKey> {
        self.check()?;
        let scopes = scopes("scopes", self.scopes)?;
        let allowed_scopes = match self.allowed_scopes {
            Some(allowed) => self::scopes("allowed_scopes", Some(allowed))?,
            None => scopes.clone(),
        };
        if !allowed_scopes.covers(&scopes) {
            return Err(UnusableKey::new("allowed_scopes", "does not hold all of `scopes`"));
        }
        Ok(config::Provider {
            name: self.name.unwrap_or_else(|| registration.id.to_string()),
            id: registration.id,
            issuer: self.issuer,
            issuer_always_sent: self.issuer_always_sent.unwrap_or(false),
            authorization_endpoint: self.authorization_endpoint,
            token_endpoint: self.token_endpoint,
            revocation_endpoint: self.revocation_endpoint,
            userinfo_endpoint: self.userinfo_endpoint,
            client_id: registration.client_id,
            client_secret: registration.client_secret,
            client_authentication: self.client_authentication,
            scopes,
            allowed_scopes,
            scope_separator: self.scope_separator.unwrap_or(' '),
            scope_words: self.scope_words,
            authorize_params: self.authorize_params,
            account_chooser_params: self.account_chooser_params,
            resource: self.resource.unwrap_or_default(),
            pkce: self.pkce.unwrap_or(true),
            form_post: self.form_post.unwrap_or(false),
            cancel_codes: self.cancel_codes.unwrap_or_default(),
            probe: self.probe.map(|probe| config::Probe {
                label: probe.label.unwrap_or_else(|| probe.id.clone()),
                url: probe.url,
                id: probe.id,
                headers: probe.headers,
            }),
            manage_url: self.manage_url,
            docs_url: self.docs_url,
        })
    }

    fn check(&self) -> Result<(), UnusableKey> {
        // What a browser is sent to, and what we call; the latter's addresses are the outbound policy's to judge.
        let seen = [
            ("authorization_endpoint", &self.authorization_endpoint),
            ("manage_url", &self.manage_url),
            ("docs_url", &self.docs_url),
        ];
        let called = [
            ("token_endpoint", &self.token_endpoint),
            ("revocation_endpoint", &self.revocation_endpoint),
            ("userinfo_endpoint", &self.userinfo_endpoint),
        ];
        for (key, url) in seen {
            url.as_ref()
                .map_or(Ok(()), endpoints::check_browser)
                .map_err(|reason| UnusableKey::new(key, reason))?;
        }
        for (key, url) in called {
            url.as_ref()
                .map_or(Ok(()), endpoints::check_web)
                .map_err(|reason| UnusableKey::new(key, reason))?;
        }
        if let Some(probe) = &self.probe {
            endpoints::check_web(&probe.url).map_err(|reason| UnusableKey::new("probe.url", reason))?;
        }
        if let Some(issuer) = &self.issuer {
            endpoints::check_issuer(issuer).map_err(|reason| UnusableKey::new("issuer", reason))?;
        } else {
            for (key, url) in [seen[0], called[0]] {
                if url.is_none() {
                    return Err(UnusableKey::new(
                        key,
                        "is missing, and there is no `issuer` to discover it from",
                    ));
                }
            }
        }
        let params = [
            ("authorize_params", &self.authorize_params),
            ("account_chooser_params", &self.account_chooser_params),
        ];
        for (table, map) in params {
            if let Some(name) = map.keys().find(|name| !departure::is_extra_parameter(name)) {
                return Err(UnusableKey::new(
                    format!("{table}.{name}"),
                    "is not a parameter that can be added",
                ));
            }
        }
        Ok(())
    }
}

fn merged(over: BTreeMap<String, String>, mut base: BTreeMap<String, String>) -> BTreeMap<String, String> {
    base.extend(over);
    base
}

fn scopes(key: &str, list: Option<Vec<String>>) -> Result<Scopes, UnusableKey> {
    Scopes::new(list.unwrap_or_default())
        .map_err(|_| UnusableKey::new(key, "holds something that is no scope (RFC 6749, section 3.3)"))
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

    fn registration() -> Registration {
        Registration {
            id: "acme".parse().unwrap(),
            client_id: "c".into(),
            client_secret: Some(Secret::new("s")),
        }
    }

    fn table(text: &str) -> Preset {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn every_preset_is_complete() {
        for (name, text) in PRESETS {
            let preset: Preset = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(preset.name.is_some() && preset.docs_url.is_some(), "{name}");
            assert!(preset.verified_on.as_ref().is_none_or(|day| day.len() == 10), "{name}");
            assert!(matches!(preset.confidence.as_deref(), Some("high" | "medium" | "low")), "{name}");
            preset.into_provider(registration()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert!(names().is_sorted());
    }

    #[test]
    fn the_operators_table_lies_over_the_preset() {
        let over =
            table("name = \"Work\"\nscopes = [\"repo\"]\nauthorize_params = { allow_signup = \"false\" }");
        let provider = over.over(preset("github").unwrap()).into_provider(registration()).unwrap();
        assert_eq!(provider.name, "Work");
        assert_eq!(provider.token_endpoint.unwrap().as_str(), "https://github.com/login/oauth/access_token");
        assert_eq!(provider.client_authentication, Some(ClientAuthentication::Post));
        assert_eq!(provider.allowed_scopes.to_text(), "repo");
        assert_eq!(provider.authorize_params["allow_signup"], "false");
        assert_eq!(provider.account_chooser_params["prompt"], "select_account");
        assert!(provider.pkce && !provider.form_post);
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = toml::from_str::<Preset>("authorise_params = {}").unwrap_err();
        assert!(error.to_string().contains("authorise_params"));
        assert!(preset("nobody").is_none());
    }

    /// R66: no configured parameter can replace, repeat or smuggle one of ours.
    #[test]
    fn r66_core_parameters_cannot_be_configured() {
        for name in [
            "redirect_uri",
            "STATE",
            "state\0",
            "a&redirect_uri",
            "a=b",
            "code_challenge_method",
            "nonce",
            "",
        ] {
            for map in ["authorize_params", "account_chooser_params"] {
                let mut preset = preset("github").unwrap();
                let params = if map == "authorize_params" {
                    &mut preset.authorize_params
                } else {
                    &mut preset.account_chooser_params
                };
                params.insert(name.to_owned(), "x".to_owned());
                assert!(preset.into_provider(registration()).is_err(), "{map} {name:?}");
            }
        }
    }

    /// R73: a browser is never sent to an address that is no web address.
    #[test]
    fn r73_only_web_addresses_are_endpoints() {
        for bad in [
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "http://acme.example/a",
            "ssh://a",
        ] {
            let text = format!("issuer = \"https://acme.example\"\nauthorization_endpoint = \"{bad}\"");
            assert_eq!(
                table(&text).into_provider(registration()).unwrap_err().key,
                "authorization_endpoint",
                "{bad}"
            );
        }
        let missing =
            table("token_endpoint = \"https://acme.example/t\"").into_provider(registration()).unwrap_err();
        assert_eq!(missing.key, "authorization_endpoint");
    }
}
