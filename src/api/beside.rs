//! What is handed out beside an access token: further tokens of the same grant, and values that are no secrets.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::{clock::Millis, credential::Access, provider::mcp::is_of_a_place, scope::Scopes, values::Values};

use super::answer::{maybe_time, scopes};

/// A further token of the same grant, such as the user's beside a bot's.
#[derive(Serialize, ToSchema)]
#[schema(as = FurtherToken)]
pub(super) struct SlotView<'a> {
    /// The access token.
    #[schema(format = Password)]
    access_token: &'a str,
    /// How to present it, `Bearer` as a rule.
    token_type: &'a str,
    /// When it ends; null when it does not, or nobody said.
    #[serde(serialize_with = "maybe_time")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Millis>,
    /// What was granted with it, as the provider calls it.
    #[serde(serialize_with = "scopes")]
    #[schema(value_type = Vec<String>)]
    scopes: &'a Scopes,
}

/// The further tokens, by the names that the provider's settings give them.
pub(super) fn slots(access: &Access) -> BTreeMap<&str, SlotView<'_>> {
    access
        .slots
        .iter()
        .map(|(name, slot)| {
            let view = SlotView {
                access_token: slot.access_token.expose(),
                token_type: &access.token_type,
                expires_at: slot.access_expires_at,
                scopes: &slot.granted,
            };
            (name.as_str(), view)
        })
        .collect()
}

/// Values as an object of texts.
pub(super) fn values<S: Serializer>(values: &&Values, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(values.iter().filter(|(name, _)| !is_of_a_place(name)))
}

/// Whether there are no values.
pub(super) fn is_nothing(values: &&Values) -> bool {
    values.iter().all(|(name, _)| is_of_a_place(name))
}
