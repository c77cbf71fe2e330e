//! What a token endpoint gave, until it is sealed.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use crate::{clock::Millis, revocation::Hint, scope::Scopes, secret::Secret, values::Values};

/// The tokens of one grant. Cannot be printed.
#[derive(Clone)]
pub struct Tokens {
    /// 1 to 65,536 visible ASCII characters.
    pub access_token: Secret,
    /// `Bearer` in this spelling, or the provider's own word.
    pub token_type: String,
    /// Absent when the answer had none.
    pub refresh_token: Option<Secret>,
    /// When the access token ends; absent when the provider does not say.
    pub access_expires_at: Option<Millis>,
    /// When the refresh token ends; absent when the provider does not say.
    pub refresh_expires_at: Option<Millis>,
    /// What was granted, in the names that are asked for; may be more or less than was asked for.
    pub granted: Scopes,
    /// OpenID Connect Core, section 3.1.3.3.
    pub id_token: Option<Secret>,
    /// Further tokens of the same grant, by name.
    pub slots: BTreeMap<String, SlotTokens>,
    /// What is known of the provider for this grant, and kept beside the tokens; none of it is secret.
    pub values: Values,
    /// The whole answer, for what else is read of it; null where it is not at hand any more.
    pub answer: Value,
}

/// A further token of a grant.
#[derive(Clone)]
pub struct SlotTokens {
    /// As the grant's first one.
    pub access_token: Secret,
    /// Absent when the answer had none.
    pub refresh_token: Option<Secret>,
    /// When the access token ends; absent when the provider does not say.
    pub access_expires_at: Option<Millis>,
    /// What was granted with it.
    pub granted: Scopes,
}

impl SlotTokens {
    /// These in the place of `before`: what a refresh does not say of them stays as it was (R78).
    #[must_use]
    pub fn over(mut self, before: Option<&Self>) -> Self {
        let Some(before) = before else { return self };
        self.refresh_token = self.refresh_token.or_else(|| before.refresh_token.clone());
        if self.granted.is_empty() {
            self.granted = before.granted.clone();
        }
        self
    }

    /// The one that ends both, as with [`Tokens::to_revoke`].
    pub fn to_revoke(&self, by_access_token: bool) -> (&Secret, Hint) {
        match &self.refresh_token {
            Some(refresh) if !by_access_token => (refresh, Hint::Refresh),
            _ => (&self.access_token, Hint::Access),
        }
    }
}

impl Tokens {
    /// The one that ends both when it is revoked: the refresh token where there is one (RFC 7009, section 2.1), unless
    /// the provider's own way wants the access token.
    pub fn to_revoke(&self, by_access_token: bool) -> (&Secret, Hint) {
        match &self.refresh_token {
            Some(refresh) if !by_access_token => (refresh, Hint::Refresh),
            _ => (&self.access_token, Hint::Access),
        }
    }
}

impl fmt::Debug for SlotTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SlotTokens")
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}
