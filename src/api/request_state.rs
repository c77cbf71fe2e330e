//! MCP's `requestState` of the modern era: what was asked, sealed for the client to carry.
//!
//! It carries no authority and is not single-use: whoever sends it back learns what the store knows, and nothing that
//! the same call without it would not tell. It is bound to the MCP server by the seal, and to the user, the call and
//! the connections by a digest (R15).

use crate::{
    clock::Millis,
    credential::Wanted,
    elicitation::{ElicitationId, ServerId},
    secret::Hash,
    subject::Subject,
    vault::{Purpose, Vault},
};

use super::{
    problem::{Code, Problem},
    question::Question,
};

/// Longer than any text that was sealed here.
const TEXT_BYTES_MAX: usize = 4096;
const VERSION: u8 = 1;
/// With `asked_until`, which a program before it does not read: written only where there is one.
const VERSION_ASKED: u8 = 2;

/// What a round left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestState {
    /// What it is bound to.
    pub(super) binding: Hash,
    /// Rounds that asked nothing new and only waited.
    pub(super) waited: u8,
    /// The first of its elicitations to expire.
    pub(super) expires_at: Millis,
    /// The newest code that its form was asked for while another browser had the proof; zero before.
    pub(super) asked_until: Millis,
    /// What was asked, in the order of the links.
    pub(super) ids: Vec<ElicitationId>,
}

/// The digest of everything that a retry must have in common with the call before, save the MCP server.
pub(super) fn binding(owner: &Subject, question: &Question) -> Hash {
    let client = &question.client;
    let mut text = Vec::with_capacity(256);
    let mut part = |value: &str| {
        text.extend_from_slice(&(value.len() as u64).to_be_bytes());
        text.extend_from_slice(value.as_bytes());
    };
    part(&owner.issuer);
    part(&owner.sub);
    part(&client.method);
    for optional in [&client.target, &question.params_digest] {
        part(if optional.is_some() { "given" } else { "absent" });
        part(optional.as_deref().unwrap_or_default());
    }
    for Wanted { provider, scopes, values } in &question.needs {
        part(provider.as_str());
        part(&scopes.to_text());
        if let Some(values) = values.to_json() {
            part(&values);
        }
    }
    Hash::of(&text)
}

impl RequestState {
    /// Seals it for the MCP client to carry.
    pub(super) fn seal(&self, vault: &Vault, server: &ServerId) -> String {
        let mut plain = Vec::with_capacity(50 + 16 * self.ids.len());
        let has_asked = self.asked_until.0 != 0;
        plain.push(if has_asked { VERSION_ASKED } else { VERSION });
        plain.extend_from_slice(self.binding.as_bytes());
        plain.push(self.waited);
        plain.extend_from_slice(&self.expires_at.0.to_be_bytes());
        if has_asked {
            plain.extend_from_slice(&self.asked_until.0.to_be_bytes());
        }
        for id in &self.ids {
            plain.extend_from_slice(id.0.as_bytes());
        }
        vault.seal_text(Purpose::RequestState, &[server.as_str()], &plain)
    }

    /// Opens what came back, for the same MCP server and the same question.
    pub(super) fn open(
        vault: &Vault,
        server: &ServerId,
        binding: &Hash,
        text: &str,
    ) -> Result<Self, Problem> {
        let sealed = Some(text).filter(|text| text.len() <= TEXT_BYTES_MAX);
        sealed
            .and_then(|text| vault.open_text(Purpose::RequestState, &[server.as_str()], text).ok())
            .and_then(|plain| Self::read(plain.expose()))
            .filter(|state| state.binding.matches(binding))
            .ok_or_else(|| {
                let detail = "The state was not made here, or for another user, call or connection; \
                    answer the MCP client with error -32602.";
                Problem::new(Code::RequestStateInvalid, detail).field("request_state")
            })
    }

    fn read(plain: &[u8]) -> Option<Self> {
        let (&version, rest) = plain.split_first()?;
        let (binding, rest) = rest.split_first_chunk::<32>()?;
        let (&waited, rest) = rest.split_first()?;
        let (expires_at, rest) = rest.split_first_chunk::<8>()?;
        let (asked_until, rest) = match version {
            VERSION => (0, rest),
            VERSION_ASKED => {
                let (asked_until, rest) = rest.split_first_chunk::<8>()?;
                (i64::from_be_bytes(*asked_until), rest)
            }
            _ => return None,
        };
        let (ids, after) = rest.as_chunks::<16>();
        if !after.is_empty() || ids.is_empty() {
            return None;
        }
        let ids = ids.iter().map(|id| ElicitationId(uuid::Uuid::from_bytes(*id))).collect();
        Some(Self {
            binding: Hash(*binding),
            waited,
            expires_at: Millis(i64::from_be_bytes(*expires_at)),
            asked_until: Millis(asked_until),
            ids,
        })
    }
}
