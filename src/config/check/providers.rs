//! `[[providers]]`: what can be connected.

use std::{collections::BTreeMap, time::Duration};

use super::{Checker, reads::sample};
use crate::{
    config::{ErrorClass, Provider, Reads, raw},
    elicitation::ProviderId,
    provider::{CORE_PARAMETERS, means_later},
    scope::Scopes,
    values::Values,
};

/// A probe carries the user's token, a revocation our client's proof, and both go where they say; these would change that.
const OUR_HEADERS: [&str; 6] =
    ["authorization", "connection", "content-length", "cookie", "host", "transfer-encoding"];

/// Bounds of what a provider limits.
const SHORTEST_LIFE: Duration = Duration::from_secs(3_600);
const LONGEST_LIFE: Duration = Duration::from_secs(3_650 * 86_400);

impl From<raw::ErrorClass> for ErrorClass {
    fn from(class: raw::ErrorClass) -> Self {
        match class {
            raw::ErrorClass::Terminal => Self::Terminal,
            raw::ErrorClass::Operator => Self::Operator,
            raw::ErrorClass::Configuration => Self::Configuration,
            raw::ErrorClass::Transient => Self::Transient,
        }
    }
}

/// What may stand in the table `use` of a provider that grants tokens.
fn granted(name: &str) -> Option<String> {
    matches!(name, "access_token" | "client_id").then(|| "x".to_owned())
}

impl Checker<'_> {
    pub(super) fn providers(&mut self, list: Vec<(String, raw::Provider)>) -> Vec<Provider> {
        let mut providers = Vec::new();
        for (at, raw) in list {
            if let Some(provider) = self.provider(&at, raw) {
                self.check_provider(&at, &provider);
                providers.push(provider);
            }
        }
        providers
    }

    pub(super) fn provider(&mut self, at: &str, mut raw: raw::Provider) -> Option<Provider> {
        let mcp = self.third_party_mcp(at, &mut raw);
        let client_id = self.client_id(at, raw.client_id.take(), mcp.as_ref());
        let sending = self.sending(at, &mut raw);
        let client_secret = self.client_secret(&format!("{at}.client_secret"), raw.client_secret);
        let scopes = self.scopes(&format!("{at}.scopes"), raw.scopes);
        let allowed_scopes = match raw.allowed_scopes {
            Some(allowed) => self.scopes(&format!("{at}.allowed_scopes"), allowed),
            None => scopes.clone(),
        };
        let key = format!("{at}.scope_includes");
        let includes = raw.scope_includes.into_iter().map(|(scope, list)| (scope, self.scopes(&key, list)));
        let scope_includes = includes.collect();
        let mut separator = raw.scope_separator.chars();
        let one = (separator.next(), separator.next());
        let (Some(scope_separator), None) = one else {
            self.refuse(format!("{at}.scope_separator"), "must be one character");
            return None;
        };
        let own_revocation = raw.revocation.take();
        let reads = Reads {
            answer: raw.answer,
            slots: raw.slots,
            captures: raw.captures,
            callback_signature: raw.callback_signature,
            choice: raw.choice,
            granted: raw.granted,
            admin_codes: raw.admin_codes,
            preconditions: raw.preconditions,
            picker: raw.picker,
        };
        let revocation = own_revocation
            .and_then(|own| self.revocation(&format!("{at}.revocation"), own, &client_id, &reads));
        let usage = raw.usage.map(|usage| {
            let base_url = usage.base_url.clone().unwrap_or_default();
            let kept = |name: &str| {
                let begins = base_url.starts_with(&format!("{{{name}}}"));
                granted(name).or_else(|| sample(&reads, name, begins))
            };
            self.usage(&format!("{at}.use"), usage, &kept)
        });
        let mut url = |key: &str, text: Option<String>| {
            text.and_then(|text| self.endpoint(&format!("{at}.{key}"), &text))
        };
        Some(Provider {
            name: raw.name.unwrap_or_else(|| raw.id.clone()),
            id: raw.id.parse::<ProviderId>().ok()?,
            mcp,
            issuer: raw.issuer,
            issuer_always_sent: raw.issuer_always_sent,
            authorization_endpoint: url("authorization_endpoint", raw.authorization_endpoint),
            token_endpoint: url("token_endpoint", raw.token_endpoint),
            revocation_endpoint: url("revocation_endpoint", raw.revocation_endpoint),
            revocation,
            userinfo_endpoint: url("userinfo_endpoint", raw.userinfo_endpoint),
            client_id,
            client_secret,
            client_authentication: raw.client_authentication.map(Into::into),
            sending,
            scopes,
            allowed_scopes,
            scope_separator,
            scope_words: raw.scope_words,
            scope_aliases: raw.scope_aliases,
            scope_includes,
            authorize_params: raw.authorize_params,
            account_chooser_params: raw.account_chooser_params,
            account_hint_param: raw.account_hint_param,
            resource: raw.resource,
            pkce: raw.pkce,
            form_post: raw.form_post,
            cancel_codes: raw.cancel_codes,
            error_classes: raw.error_classes.into_iter().map(|(code, class)| (code, class.into())).collect(),
            refresh_idle: raw.refresh_idle.map(|span| span.0),
            consent_lifetime: raw.consent_lifetime.map(|span| span.0),
            requests_per_second: raw.requests_per_second,
            concurrent_requests: raw.concurrent_requests,
            probe: raw.probe,
            usage,
            reads,
            manage_url: url("manage_url", raw.manage_url),
            docs_url: url("docs_url", raw.docs_url),
            blueprint: None,
            variables: Values::default(),
        })
    }

    pub(super) fn scopes(&mut self, key: &str, list: Vec<String>) -> Scopes {
        self.findings
            .keep(key, Scopes::new(list).map_err(|error| format!("is refused: {error}")))
            .unwrap_or_default()
    }

    pub(super) fn check_provider(&mut self, at: &str, provider: &Provider) {
        self.name(&format!("{at}.name"), &provider.name);
        self.check_proof(at, provider);
        self.check_sending(at, provider);
        match &provider.issuer {
            Some(issuer) => self.issuer(&format!("{at}.issuer"), issuer),
            None if provider.mcp.is_some() => {}
            None => {
                let found = provider.authorization_endpoint.is_some() && provider.token_endpoint.is_some();
                self.demand(found, at, "needs an issuer, or both authorization_endpoint and token_endpoint");
                let problem = "needs an issuer to compare with";
                self.demand(!provider.issuer_always_sent, format!("{at}.issuer_always_sent"), problem);
            }
        }
        for (n, resource) in provider.resource.iter().enumerate() {
            self.resource(&format!("{at}.resource[{n}]"), resource);
        }
        self.check_scopes(at, provider);
        self.check_refresh(at, provider);
        self.check_params(&format!("{at}.authorize_params"), &provider.authorize_params);
        self.check_params(&format!("{at}.account_chooser_params"), &provider.account_chooser_params);
        let hint = BTreeMap::from([(provider.account_hint_param.clone(), String::new())]);
        if !provider.account_hint_param.is_empty() {
            self.check_params(&format!("{at}.account_hint_param"), &hint);
        }
        for name in provider.account_chooser_params.keys() {
            let twice = provider.authorize_params.keys().any(|other| other.eq_ignore_ascii_case(name));
            self.demand(!twice, format!("{at}.account_chooser_params.{name}"), "is in authorize_params too");
        }
        if let Some(probe) = &provider.probe {
            self.check_probe(&format!("{at}.probe"), probe, provider);
        }
        self.check_reads(at, provider);
    }

    /// A life below a day could not be warned of in time, and would be a mistake in the unit.
    fn check_refresh(&mut self, at: &str, provider: &Provider) {
        for (key, span) in
            [("refresh_idle", provider.refresh_idle), ("consent_lifetime", provider.consent_lifetime)]
        {
            let fits = span.is_none_or(|span| (SHORTEST_LIFE..=LONGEST_LIFE).contains(&span));
            self.demand(fits, format!("{at}.{key}"), "must be 1h to 3650d");
        }
        self.check_request_budget(at, provider.requests_per_second, provider.concurrent_requests);
        for (code, class) in &provider.error_classes {
            let plain = (1..=64).contains(&code.len())
                && code.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
            self.demand(
                plain,
                format!("{at}.error_classes"),
                "holds a code that is not 1 to 64 plain characters",
            );
            let temporary = means_later(code) && *class == ErrorClass::Terminal;
            self.demand(
                !temporary,
                format!("{at}.error_classes"),
                "makes a code terminal that means \"later\": an outage would end every user's connection",
            );
        }
    }

    /// What a third party gets of us, whatever its kind.
    pub(super) fn check_request_budget(&mut self, at: &str, rate: u32, concurrent: u32) {
        self.demand((1..=10_000).contains(&rate), format!("{at}.requests_per_second"), "must be 1 to 10000");
        self.demand(
            (1..=1_000).contains(&concurrent),
            format!("{at}.concurrent_requests"),
            "must be 1 to 1000",
        );
    }

    fn check_scopes(&mut self, at: &str, provider: &Provider) {
        let covered = provider.allowed_scopes.covers(&provider.scopes);
        self.demand(covered, format!("{at}.allowed_scopes"), "must hold every one of scopes");
        for (said, asked) in &provider.scope_aliases {
            let fits = Scopes::new([said.as_str(), asked.as_str()]).is_ok();
            self.demand(fits, format!("{at}.scope_aliases"), "holds something that is no scope");
        }
        for scope in provider.scope_includes.keys() {
            let fits = Scopes::new([scope.as_str()]).is_ok();
            self.demand(fits, format!("{at}.scope_includes"), "holds something that is no scope");
        }
        let fits = matches!(provider.scope_separator, ' ' | ',' | ';' | '+' | '|');
        self.demand(fits, format!("{at}.scope_separator"), "must be a space, comma, semicolon, plus or bar");
    }

    /// Parameters that can be added and replace nothing, in any spelling (R66).
    pub(super) fn check_params(&mut self, at: &str, params: &BTreeMap<String, String>) {
        for (name, value) in params {
            if self.plain_parameter(at, name, value) {
                let core = CORE_PARAMETERS.iter().any(|core| core.eq_ignore_ascii_case(name));
                self.demand(
                    !core,
                    format!("{at}.{name}"),
                    "is sent by Consentry itself and cannot be replaced",
                );
            }
        }
    }

    /// Headers that can be added: none of ours, or none but `Authorization`; else `advice` says what to write instead.
    pub(super) fn check_headers(
        &mut self,
        key: &str,
        headers: &BTreeMap<String, String>,
        authorization: Result<(), &str>,
    ) {
        for (name, value) in headers {
            let valid = http::HeaderName::from_bytes(name.as_bytes()).is_ok()
                && http::HeaderValue::from_str(value).is_ok();
            self.demand(valid, key, "holds something that is no header");
            match authorization {
                _ if !OUR_HEADERS.iter().any(|header| header.eq_ignore_ascii_case(name)) => {}
                advice if name.eq_ignore_ascii_case("authorization") => {
                    if let Err(advice) = advice {
                        self.refuse(
                            key,
                            format!("sets Authorization, which Consentry sets itself; {advice}"),
                        );
                    }
                }
                _ => self.refuse(key, format!("sets {name}, which Consentry sets itself")),
            }
        }
    }
}
