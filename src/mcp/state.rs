//! What is known in the middle of a call, and how a modern client carries it as `requestState`.
//!
//! The seal is bound to the person, the tool and its arguments, and lives as long as an elicitation (M4, M5). It carries no
//! authority: what a retry may do, the same call without it may do as well, and a replay is answered from the store.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Mcp, fault::Fault, tools::Tool};
use crate::{
    clock::Millis,
    elicitation::{ElicitationId, ServerId},
    subject::Subject,
    vault::Purpose,
};

/// Longer than any text that was sealed here, in bytes.
const TEXT_BYTES_MAX: usize = 4096;
const FORMAT: u8 = 1;

/// The questions that a form asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Question {
    /// Which provider of which MCP server.
    Which,
    /// Keep what is connected, or connect again.
    Again,
    /// What to disconnect, and whether really.
    Disconnect,
}

/// What a call has come to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    /// The form that is out.
    pub(super) asked: Option<Question>,
    /// Answers that did not fit it.
    pub(super) unfit: u8,
    /// The place that the person chose from a form.
    pub(super) chosen: Option<String>,
    /// The person wants to connect again.
    pub(super) again: bool,
    /// The elicitation whose link is out.
    pub(super) link: Option<Linked>,
}

/// A link that is out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Linked {
    server: String,
    id: Uuid,
    /// Rounds that asked nothing new and only waited.
    pub(super) waited: u8,
}

impl Linked {
    pub(super) fn new(server: &ServerId, id: ElicitationId) -> Self {
        Self { server: server.to_string(), id: id.0, waited: 0 }
    }

    /// The elicitation; `None` for a server whose name is no name.
    pub(super) fn elicitation(&self) -> Option<(ServerId, ElicitationId)> {
        Some((self.server.parse().ok()?, ElicitationId(self.id)))
    }
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    format: u8,
    until_ms: i64,
    known: Known,
}

/// What a state is bound to.
pub(super) struct Bound<'a> {
    owner: &'a Subject,
    tool: Tool,
    arguments: String,
}

impl<'a> Bound<'a> {
    pub(super) fn new(owner: &'a Subject, tool: Tool, arguments: &Map<String, Value>) -> Self {
        // In the order of the names, so that the same arguments make the same text.
        let sorted: BTreeMap<&String, &Value> = arguments.iter().collect();
        Self { owner, tool, arguments: serde_json::to_string(&sorted).unwrap_or_default() }
    }

    fn context(&self) -> [&str; 5] {
        [&self.owner.issuer, &self.owner.sub, "tools/call", self.tool.name(), &self.arguments]
    }

    /// Seals it for the client to carry.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn seal(&self, mcp: &Mcp, known: &Known) -> Result<String, Fault> {
        let until = mcp.app.clock.now().plus(mcp.app.settings.lifetimes.elicitation);
        let sealed = Sealed { format: FORMAT, until_ms: until.0, known: known.clone() };
        let plain = serde_json::to_vec(&sealed).map_err(|_| Fault::internal())?;
        Ok(mcp.app.vault.seal_text(Purpose::McpRequestState, &self.context(), &plain))
    }

    /// Opens what came back. One that is too old is as if there were none.
    ///
    /// # Errors
    /// `-32602` for what was not made here, or for another person or call.
    pub(super) fn open(&self, mcp: &Mcp, text: &str) -> Result<Option<Known>, Fault> {
        let sealed = Some(text).filter(|text| text.len() <= TEXT_BYTES_MAX);
        let sealed = sealed
            .and_then(|text| mcp.app.vault.open_text(Purpose::McpRequestState, &self.context(), text).ok())
            .and_then(|plain| serde_json::from_slice::<Sealed>(plain.expose()).ok())
            .filter(|sealed| sealed.format == FORMAT)
            .ok_or_else(|| {
                Fault::invalid_params("/params/requestState: was not made here, or for another user or call")
            })?;
        Ok(Some(sealed.known).filter(|_| Millis(sealed.until_ms) > mcp.app.clock.now()))
    }
}
