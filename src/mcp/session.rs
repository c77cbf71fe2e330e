//! A session of the legacy era: all of it is sealed into its id, so that any process can go on with it and none keeps it.
//!
//! The seal is bound to the person. Presented with another's token an id opens nothing and is as unknown as one that
//! never was; and the right one says nothing of who somebody is, for the token says that each time (P17, P18, P19).

use consentry_elicitation::{Capability, Prefer, ProtocolVersion};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Mcp, fault::Fault};
use crate::{clock::Millis, elicitation::ENDPOINT_REF, subject::Subject, vault::Purpose};

/// Longer than any id that was made here, in bytes.
const ID_BYTES_MAX: usize = 2048;
/// What is sealed into an id; another program's are unknown.
const FORMAT: u8 = 1;

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    format: u8,
    /// Names it in rows, and in nothing that leaves the house.
    pub(super) key: Uuid,
    /// What was agreed on.
    pub(super) version: ProtocolVersion,
    /// What the client declared, for the whole session.
    pub(super) elicitation: Capability,
    /// How the client calls itself.
    pub(super) client_name: Option<String>,
    expires_at_ms: i64,
}

impl Session {
    /// One that begins now.
    pub(super) fn begin(
        mcp: &Mcp,
        version: ProtocolVersion,
        elicitation: Capability,
        client_name: Option<String>,
    ) -> Self {
        let lifetime = mcp.app.settings.lifetimes.session;
        Self {
            format: FORMAT,
            key: mcp.app.random.uuid(),
            version,
            elicitation,
            client_name,
            expires_at_ms: mcp.app.clock.now().plus(lifetime).0,
        }
    }

    /// When it ends by itself.
    pub(super) fn expires_at(&self) -> Millis {
        Millis(self.expires_at_ms)
    }

    /// The id that its client carries.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn seal(&self, mcp: &Mcp, owner: &Subject) -> Result<String, Fault> {
        let plain = serde_json::to_vec(self).map_err(|_| Fault::internal())?;
        Ok(mcp.app.vault.seal_text(Purpose::McpSession, &[&owner.issuer, &owner.sub], &plain))
    }

    /// Opens what came back, for the same person, unless it is over.
    pub(super) async fn open(mcp: &Mcp, owner: &Subject, id: &str) -> Result<Self, Fault> {
        let sealed = Some(id).filter(|id| id.len() <= ID_BYTES_MAX);
        let context = [owner.issuer.as_str(), owner.sub.as_str()];
        let session = sealed
            .and_then(|id| mcp.app.vault.open_text(Purpose::McpSession, &context, id).ok())
            .and_then(|plain| serde_json::from_slice::<Self>(plain.expose()).ok())
            .filter(|session| session.format == FORMAT && session.expires_at() > mcp.app.clock.now())
            .ok_or_else(Fault::no_session)?;
        if mcp.app.store.mcp_session_ended(session.key).await? {
            return Err(Fault::no_session());
        }
        Ok(session)
    }

    /// What the elicitations of this session are known by, for each way of giving a link.
    pub(super) fn reference(&self, links: Prefer) -> String {
        let way = match links {
            Prefer::Request => "request",
            Prefer::Error => "error",
        };
        format!("{ENDPOINT_REF} {} {way}", self.key.as_simple())
    }
}
