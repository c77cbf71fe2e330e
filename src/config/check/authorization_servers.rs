//! `[[authorization_servers]]`: who signs users in.

use std::{collections::HashMap, time::Duration};

use super::Checker;
use crate::{
    config::{AccessTokens, AuthorizationServer, ClientAuthentication, raw, secret_source::SecretSource},
    elicitation::ServerId,
    secret::Secret,
};

/// Signatures by a key of the issuer's. HMAC would be one by our own secret, and `none` none at all (R17).
const ALGORITHMS: [&str; 9] =
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
/// They can be given to someone else, and then that person is the user (R22).
const NOT_A_SUBJECT: [&str; 8] =
    ["email", "mail", "preferred_username", "username", "user_name", "upn", "unique_name", "name"];

impl Checker<'_> {
    pub(super) fn authorization_servers(
        &mut self,
        list: Vec<(String, raw::AuthorizationServer)>,
    ) -> Vec<AuthorizationServer> {
        let (mut ids, mut issuers) = (HashMap::new(), HashMap::new());
        for (at, raw) in &list {
            self.unique(&mut ids, &format!("{at}.id"), &raw.id);
            self.unique(&mut issuers, &format!("{at}.issuer"), &raw.issuer);
        }
        list.into_iter().map(|(at, raw)| self.authorization_server(&at, raw)).collect()
    }

    fn authorization_server(&mut self, at: &str, raw: raw::AuthorizationServer) -> AuthorizationServer {
        self.id(&format!("{at}.id"), &raw.id);
        self.issuer(&format!("{at}.issuer"), &raw.issuer);
        if let Some(name) = &raw.name {
            self.name(&format!("{at}.name"), name);
        }
        self.text(&format!("{at}.client_id"), &raw.client_id);
        self.subject_claim(&format!("{at}.subject_claim"), &raw.subject_claim);
        for (n, scope) in raw.scopes.iter().enumerate() {
            let fits = crate::scope::Scopes::new([scope.as_str()]).is_ok();
            self.demand(fits, format!("{at}.scopes[{n}]"), "is not a scope (RFC 6749, section 3.3)");
        }
        self.demand(!raw.algorithms.is_empty(), format!("{at}.algorithms"), "must name at least one");
        for (n, algorithm) in raw.algorithms.iter().enumerate() {
            let fits = ALGORITHMS.contains(&algorithm.as_str());
            self.demand(
                fits,
                format!("{at}.algorithms[{n}]"),
                format!("must be one of {}", ALGORITHMS.join(", ")),
            );
        }
        let most = Duration::from_secs(60);
        self.demand(raw.leeway.0 <= most, format!("{at}.leeway"), "must be at most 60s");
        let secret_key = format!("{at}.client_secret");
        let has_secret = raw.client_secret.is_some();
        let client_secret = self.client_secret(&secret_key, raw.client_secret);
        let client_authentication = raw.client_authentication.map(Into::into);
        self.client_authentication(at, has_secret, client_authentication);
        let of_providers = [ClientAuthentication::SecretAsUser, ClientAuthentication::PrivateKeyJwt];
        let fits = client_authentication.is_none_or(|how| !of_providers.contains(&how));
        self.demand(fits, format!("{at}.client_authentication"), "is only for providers");
        let access_tokens = match raw.access_tokens {
            raw::AccessTokens::Jwt => AccessTokens::Jwt,
            raw::AccessTokens::Introspection => {
                self.demand(has_secret, secret_key, "is needed for introspection");
                AccessTokens::Introspection
            }
        };
        AuthorizationServer {
            id: raw.id,
            issuer: raw.issuer,
            name: raw.name,
            client_id: raw.client_id,
            client_secret,
            client_authentication,
            subject_claim: raw.subject_claim,
            scopes: raw.scopes,
            algorithms: raw.algorithms,
            access_tokens,
            leeway: raw.leeway.0,
        }
    }

    fn subject_claim(&mut self, key: &str, claim: &str) {
        self.text(key, claim);
        let reassignable = NOT_A_SUBJECT.contains(&claim.to_ascii_lowercase().as_str());
        self.demand(
            !reassignable,
            key,
            "can be given to someone else; name a claim that stays with one person",
        );
    }

    /// Whether what proves us and how fit together.
    pub(super) fn client_authentication(
        &mut self,
        at: &str,
        has_secret: bool,
        how: Option<ClientAuthentication>,
    ) {
        match how {
            Some(ClientAuthentication::None) => {
                self.demand(
                    !has_secret,
                    format!("{at}.client_authentication"),
                    "is none, but there is a client_secret",
                );
            }
            Some(
                ClientAuthentication::Basic | ClientAuthentication::Post | ClientAuthentication::SecretAsUser,
            ) => {
                self.demand(has_secret, format!("{at}.client_authentication"), "needs a client_secret");
            }
            // Whose key it is, the providers' check asks.
            Some(ClientAuthentication::PrivateKeyJwt) | None => {}
        }
    }

    /// An id that becomes part of a path.
    pub(super) fn id(&mut self, key: &str, id: &str) {
        self.demand(
            id.parse::<ServerId>().is_ok(),
            key,
            "must be 1 to 64 of a-z, 0-9, hyphen and underscore, and begin with a letter or digit",
        );
    }

    /// A text that goes over the wire.
    pub(super) fn text(&mut self, key: &str, text: &str) {
        let fits = (1..=1_000).contains(&text.len()) && !text.chars().any(char::is_control);
        self.demand(fits, key, "must be 1 to 1000 characters without control characters");
    }

    /// Refuses what an earlier entry says too.
    pub(super) fn unique(&mut self, seen: &mut HashMap<String, String>, key: &str, value: &str) {
        match seen.get(value) {
            Some(other) => {
                let other = format!("is the same as {other}");
                self.refuse(key, other);
            }
            None => {
                seen.insert(value.to_owned(), key.to_owned());
            }
        }
    }

    /// Reads the client secret of a provider or an authorization server. Two entries may be one registration, so they
    /// may share it with each other.
    pub(super) fn client_secret(&mut self, key: &str, source: Option<SecretSource>) -> Option<Secret> {
        let secret = source?.read(key, self.environment, self.loopback, self.findings)?;
        self.seen.note(key, &secret);
        Some(secret)
    }
}

impl From<raw::ClientAuthentication> for ClientAuthentication {
    fn from(raw: raw::ClientAuthentication) -> Self {
        match raw {
            raw::ClientAuthentication::ClientSecretBasic => Self::Basic,
            raw::ClientAuthentication::ClientSecretPost => Self::Post,
            raw::ClientAuthentication::None => Self::None,
            raw::ClientAuthentication::SecretAsBasicUser => Self::SecretAsUser,
            raw::ClientAuthentication::PrivateKeyJwt => Self::PrivateKeyJwt,
        }
    }
}
