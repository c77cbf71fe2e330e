//! What a provider is sent otherwise than the standards have it.
//!
//! Names can be changed, parameters and headers added, requests put after one another. What it must never let through:
//! another name or another value for what protects an exchange (R66), a secret that goes where nobody said.

use std::{collections::BTreeMap, sync::Arc};

use consentry_jwt::SigningKey;

use super::Checker;
use crate::{
    config::{
        AssertionAudience, ClientAuthentication, ClientKey, Provider, RefreshTokens, Sending, StepText,
        TokenStep, raw, secret_source::SecretSource,
    },
    provider::{CORE_PARAMETERS, RENAMEABLE},
};

/// Of a token request, beside [`CORE_PARAMETERS`].
const OF_A_TOKEN_REQUEST: [&str; 5] =
    ["assertion", "grant_type", "refresh_token", "token", "token_type_hint"];
/// What can stand in braces in a token step or a renewal.
const IN_A_STEP: [&str; 3] = ["access_token", "client_id", "client_secret"];
/// Requests that one person waits for, one after the other.
const STEPS_MAX: usize = 3;
const DEFAULT_ALGORITHM: &str = "RS256";

/// The keys that say how we sign.
pub(super) struct KeyText {
    pub(super) source: Option<SecretSource>,
    pub(super) id: Option<String>,
    pub(super) thumbprint: Option<String>,
    pub(super) algorithm: Option<String>,
}

impl Checker<'_> {
    /// Takes the keys out of a provider's table.
    pub(super) fn sending(&mut self, at: &str, raw: &mut raw::Provider) -> Sending {
        let take = std::mem::take::<BTreeMap<String, String>>;
        let key = KeyText {
            source: raw.client_key.take(),
            id: raw.client_key_id.take(),
            thumbprint: raw.client_key_thumbprint.take(),
            algorithm: raw.client_key_algorithm.take(),
        };
        let refresh_endpoint = raw.refresh_endpoint.take();
        let steps = std::mem::take(&mut raw.token_steps).into_iter().enumerate();
        Sending {
            second_scope: raw.second_scope.take(),
            required_scopes: self
                .scopes(&format!("{at}.required_scopes"), std::mem::take(&mut raw.required_scopes)),
            param_names: take(&mut raw.param_names),
            client_key: self.client_key(at, key),
            assertion_audience: raw.client_assertion_audience,
            token_body: raw.token_body,
            token_params: take(&mut raw.token_params),
            refresh_params: take(&mut raw.refresh_params),
            token_headers: take(&mut raw.token_headers),
            refresh_endpoint: refresh_endpoint
                .and_then(|text| self.endpoint(&format!("{at}.refresh_endpoint"), &text)),
            token_steps: steps
                .filter_map(|(n, step)| self.step(&format!("{at}.token_steps[{n}]"), step))
                .collect(),
            renewal: raw.renewal.take().and_then(|step| self.step(&format!("{at}.renewal"), step)),
            refresh_token: raw.refresh_token,
            reuse_grace: raw.reuse_grace.map(|span| span.0),
        }
    }

    fn client_key(&mut self, at: &str, text: KeyText) -> Option<ClientKey> {
        let KeyText { source, id, thumbprint, algorithm } = text;
        let key = format!("{at}.client_key");
        for (name, value) in [("client_key_id", &id), ("client_key_thumbprint", &thumbprint)] {
            if let Some(value) = value {
                self.text(&format!("{at}.{name}"), value);
                self.demand(source.is_some(), format!("{at}.{name}"), "needs a client_key");
            }
        }
        // The catalogue may say by what a key would sign, where there is none.
        let name = algorithm.as_deref().unwrap_or(DEFAULT_ALGORITHM);
        let known = consentry_jwt::algorithm(name).ok_or("is not an algorithm of private keys, as in RS256");
        let algorithm = self.findings.keep(format!("{at}.client_key_algorithm"), known)?;
        let pem = source?.read(&key, self.environment, self.loopback, self.findings)?;
        self.only_use(&key, &pem);
        let signing =
            SigningKey::from_pem(pem.expose().as_bytes(), algorithm).map_err(|error| error.to_string());
        let signing = self.findings.keep(key, signing)?;
        Some(ClientKey { key: Arc::new(signing), id, thumbprint })
    }

    fn step(&mut self, at: &str, text: StepText) -> Option<TokenStep> {
        let url = self.endpoint(&format!("{at}.url"), &text.url);
        let key = format!("{at}.params");
        for (name, value) in &text.params {
            self.plain_parameter(&key, name, value);
            let known = braces(value).all(|name| IN_A_STEP.contains(&name));
            self.demand(
                known,
                &key,
                format!("may hold {} in braces, and nothing else", IN_A_STEP.join(", ")),
            );
        }
        let sent = text.params.values().flat_map(|value| braces(value)).any(|name| name == "access_token");
        self.demand(sent, key, "must hold {access_token}, which it makes another one of");
        Some(TokenStep { method: text.method, url: url?, params: text.params })
    }

    /// What fits together, and what would replace something of ours.
    pub(super) fn check_sending(&mut self, at: &str, provider: &Provider) {
        let sending = &provider.sending;
        self.check_names(at, provider);
        for (key, params) in
            [("token_params", &sending.token_params), ("refresh_params", &sending.refresh_params)]
        {
            let key = format!("{at}.{key}");
            self.check_params(&key, params);
            for name in params.keys() {
                let free = !is_one_of(&OF_A_TOKEN_REQUEST, name)
                    && !sending.param_names.values().any(|it| it == name);
                self.demand(
                    free,
                    format!("{key}.{name}"),
                    "is sent by Consentry itself and cannot be replaced",
                );
            }
        }
        let advice = "how the client proves itself is `client_authentication`";
        self.check_headers(&format!("{at}.token_headers"), &sending.token_headers, Err(advice));
        let few = sending.token_steps.len() <= STEPS_MAX;
        self.demand(few, format!("{at}.token_steps"), format!("must be at most {STEPS_MAX}"));
        let alone = sending.renewal.is_none() || sending.refresh_token == RefreshTokens::Never;
        self.demand(
            alone,
            format!("{at}.renewal"),
            "is for a provider without refresh tokens: refresh_token = \"never\"",
        );
        let nowhere = sending.refresh_endpoint.is_none() || sending.renewal.is_none();
        self.demand(nowhere, format!("{at}.refresh_endpoint"), "has no use beside renewal");
        let fits = sending.reuse_grace.is_none_or(|span| !span.is_zero());
        self.demand(fits, format!("{at}.reuse_grace"), "must be more than 0s");
        let secret = provider.client_secret.is_some();
        for step in sending.token_steps.iter().chain(&sending.renewal) {
            let wants =
                step.params.values().flat_map(|value| braces(value)).any(|name| name == "client_secret");
            self.demand(
                secret || !wants,
                format!("{at}.client_secret"),
                "is needed for token_steps or renewal",
            );
        }
    }

    fn check_names(&mut self, at: &str, provider: &Provider) {
        let sending = &provider.sending;
        let mut given: Vec<(String, &str)> = Vec::new();
        for (standard, name) in &sending.param_names {
            let key = format!("{at}.param_names");
            let may = RENAMEABLE.contains(&standard.as_str());
            self.demand(
                may,
                &key,
                format!("can give another name to {}, and to nothing else", RENAMEABLE.join(", ")),
            );
            given.push((key, name));
        }
        let second = sending.second_scope.as_ref();
        given.extend(second.map(|second| (format!("{at}.second_scope.param"), second.param.as_str())));
        if let Some(second) = second {
            let prefix =
                (1..=64).contains(&second.prefix.len()) && !second.prefix.contains(char::is_whitespace);
            self.demand(
                prefix,
                format!("{at}.second_scope.prefix"),
                "must be 1 to 64 characters without white space",
            );
        }
        for (n, (key, name)) in given.iter().enumerate() {
            // Each of these carries what no other may: nothing else of ours, and nothing that the settings add.
            let params = [&provider.authorize_params, &provider.account_chooser_params];
            let added =
                params.iter().flat_map(|params| params.keys()).any(|it| it.eq_ignore_ascii_case(name));
            let twice = given[..n].iter().any(|(_, other)| other.eq_ignore_ascii_case(name));
            self.plain_parameter(key, name, "");
            let ours = is_one_of(&CORE_PARAMETERS, name) || is_one_of(&OF_A_TOKEN_REQUEST, name);
            self.demand(!ours && !added && !twice, key, "is the name of another parameter");
        }
    }

    /// Whether what proves us and how fit together.
    pub(super) fn check_proof(&mut self, at: &str, provider: &Provider) {
        let key = format!("{at}.client_authentication");
        let by_key = provider.client_authentication == Some(ClientAuthentication::PrivateKeyJwt);
        let has_key = provider.sending.client_key.is_some();
        if by_key {
            self.demand(has_key, &key, "needs a client_key");
            let none = !has_key || provider.client_secret.is_none();
            self.demand(none, key, "is private_key_jwt, but there is a client_secret");
        } else {
            self.demand(
                !has_key,
                format!("{at}.client_key"),
                "needs client_authentication = \"private_key_jwt\"",
            );
            self.client_authentication(at, provider.client_secret.is_some(), provider.client_authentication);
        }
        if provider.sending.assertion_audience == Some(AssertionAudience::Issuer) {
            let problem = "needs an issuer";
            self.demand(provider.issuer.is_some(), format!("{at}.client_assertion_audience"), problem);
        }
    }

    /// A parameter's name, in the characters that need no care anywhere, and its value.
    pub(super) fn plain_parameter(&mut self, at: &str, name: &str, value: &str) -> bool {
        // A name may be what an operator meant as something else; it is shown only where it is a plain word.
        let plain = (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        let problem = "has a name with other characters than letters, digits, underscore, hyphen and dot";
        self.demand(plain, at, problem);
        let clean = value.len() <= 1_000 && !value.chars().any(char::is_control);
        let problem = "must be at most 1000 characters without control characters";
        self.demand(!plain || clean, format!("{at}.{name}"), problem);
        plain
    }
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// What stands in braces, in order.
pub(super) fn braces(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}
