//! What the flow seals, and for which row. Each value has one place, named here once.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{
    clock::Millis,
    connection::{Account, ConnectionId},
    credential::SealedSlots,
    elicitation::{AttemptId, Elicitation},
    provider::{Tenant, Tokens},
    scope::Scopes,
    secret::{Secret, SecretBytes},
    values::Values,
    vault::{OpenError, Place, Sealed, Vault},
};

/// A cell of an attempt's row.
pub(super) fn attempt_place<'a>(asked: &'a Elicitation, id: AttemptId, column: &'static str) -> Place<'a> {
    place(asked, "attempts", column, id.0, 0)
}

/// A cell of the row that a connection of this elicitation's owner has or will have.
pub(super) fn connection_place<'a>(
    asked: &'a Elicitation,
    id: ConnectionId,
    column: &'static str,
    generation: i64,
) -> Place<'a> {
    place(asked, "connections", column, id.0, generation)
}

fn place<'a>(
    asked: &'a Elicitation,
    table: &'static str,
    column: &'static str,
    row: Uuid,
    generation: i64,
) -> Place<'a> {
    Place {
        table,
        column,
        row,
        server: asked.server.as_str(),
        issuer: &asked.owner.issuer,
        sub: &asked.owner.sub,
        provider: asked.provider.as_str(),
        generation,
    }
}

/// What the provider gave, while it waits on the attempt's row for the person's word.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub(super) struct Offer {
    access_token: String,
    token_type: String,
    refresh_token: Option<String>,
    #[zeroize(skip)]
    access_expires_at: Option<Millis>,
    #[zeroize(skip)]
    refresh_expires_at: Option<Millis>,
    granted: Vec<String>,
    account_id: Option<String>,
    account_label: Option<String>,
    #[serde(default)]
    #[zeroize(skip)]
    slots: SealedSlots,
    /// What is known of the provider for this grant, as JSON.
    #[serde(default)]
    values: Option<String>,
    /// The tenants that the person chooses from; none where there is nothing to choose.
    #[serde(default)]
    #[zeroize(skip)]
    tenants: Vec<SealedTenant>,
}

#[derive(Serialize, Deserialize)]
struct SealedTenant {
    id: String,
    label: String,
    values: Option<String>,
}

impl Offer {
    pub(super) fn new(tokens: &Tokens, account: &Account) -> Self {
        Self {
            access_token: tokens.access_token.expose().to_owned(),
            token_type: tokens.token_type.clone(),
            refresh_token: tokens.refresh_token.as_ref().map(|token| token.expose().to_owned()),
            access_expires_at: tokens.access_expires_at,
            refresh_expires_at: tokens.refresh_expires_at,
            granted: tokens.granted.to_vec(),
            account_id: account.id.clone(),
            account_label: account.label.clone(),
            slots: SealedSlots::of(&tokens.slots),
            values: tokens.values.to_json(),
            tenants: Vec::new(),
        }
    }

    /// The same, with tenants that the person chooses from first.
    pub(super) fn among(tokens: &Tokens, account: &Account, tenants: &[Tenant]) -> Self {
        let sealed = tenants.iter().map(|tenant| SealedTenant {
            id: tenant.id.clone(),
            label: tenant.label.clone(),
            values: tenant.values.to_json(),
        });
        let tenants = sealed.collect();
        let mut offer = Self::new(tokens, account);
        offer.tenants = tenants;
        offer
    }

    /// The tenants to choose from.
    pub(super) fn tenants(&self) -> Vec<Tenant> {
        let opened = |tenant: &SealedTenant| Tenant {
            id: tenant.id.clone(),
            label: tenant.label.clone(),
            values: Values::from_json(tenant.values.as_deref()).unwrap_or_default(),
        };
        self.tenants.iter().map(opened).collect()
    }

    pub(super) fn seal(
        &self,
        vault: &Vault,
        asked: &Elicitation,
        id: AttemptId,
    ) -> Result<Sealed, OpenError> {
        let plain = SecretBytes::new(serde_json::to_vec(self).map_err(|_| OpenError::Malformed)?);
        Ok(vault.seal(&attempt_place(asked, id, "offer"), plain.expose()))
    }

    pub(super) fn open(
        vault: &Vault,
        asked: &Elicitation,
        id: AttemptId,
        sealed: &Sealed,
    ) -> Result<Self, OpenError> {
        let plain = vault.open(&attempt_place(asked, id, "offer"), sealed)?;
        serde_json::from_slice(plain.expose()).map_err(|_| OpenError::Malformed)
    }

    pub(super) fn account(&self) -> Account {
        Account { id: self.account_id.clone(), label: self.account_label.clone() }
    }

    pub(super) fn tokens(&self) -> Tokens {
        Tokens {
            access_token: Secret::new(self.access_token.as_str()),
            token_type: self.token_type.clone(),
            refresh_token: self.refresh_token.as_deref().map(Secret::new),
            access_expires_at: self.access_expires_at,
            refresh_expires_at: self.refresh_expires_at,
            granted: Scopes::new(self.granted.iter().cloned()).unwrap_or_default(),
            id_token: None,
            slots: self.slots.tokens(),
            values: Values::from_json(self.values.as_deref()).unwrap_or_default(),
            answer: serde_json::Value::Null,
        }
    }
}
