//! The audit record: what happened to credentials, who did it, and what came of it.
//!
//! An [`Entry`] is what a move tells; [`Sealer`] makes a [`Row`] of it, tagged under a key that the database does not
//! have and chained to the row before. Rows are only ever added, and deleted when they are too old. What must never be
//! in one: a token, a code, a label, anything that a caller or a third party may write freely (R117); a [`Code`] lets
//! nothing of that through.

mod chain;
mod kind;
mod walk;

use std::fmt;

pub use self::{
    chain::{Checked, Head, Row, Sealer},
    kind::Kind,
    walk::{Flaw, Walk},
};
use crate::{
    clock::Millis,
    connection::{Connection, ConnectionId},
    elicitation::{Elicitation, ElicitationId, ProviderId, ServerId},
    subject::Subject,
    telemetry::SecurityEvent,
    vault::KeyId,
};

/// Who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// The MCP server of the row, by the API.
    Server,
    /// The person at the browser.
    Person,
    /// The operator, by the command line or the configuration.
    Operator,
    /// This program, unasked.
    Program,
    /// Somebody who has not proven who they are.
    Unknown,
}

impl Actor {
    /// As the record writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Person => "person",
            Self::Operator => "operator",
            Self::Program => "program",
            Self::Unknown => "unknown",
        }
    }

    /// Whom a stable reason such as `disconnected_by_user` names. What an MCP client answered is what its MCP server
    /// says that it did; a reason that names nobody is this program's own.
    pub fn of_reason(reason: &str) -> Self {
        match reason.rsplit_once("_by_") {
            Some((_, "user")) => Self::Person,
            Some((_, "server" | "client" | "resource")) => Self::Server,
            Some((_, "operator")) => Self::Operator,
            _ => Self::Program,
        }
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was done.
    Done,
    /// It was refused, and nothing changed.
    Refused,
    /// It went wrong.
    Failed,
}

impl Outcome {
    /// As the record writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// A stable code of this program: up to 96 of `a-z 0-9 _ . : -`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Code(String);

impl Code {
    const BYTES_MAX: usize = 96;

    /// Takes a code. What is not spelled as one may be anybody's text, and becomes `other`.
    pub fn new(text: &str) -> Self {
        let is_code = (1..=Self::BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b':' | b'-'));
        Self(if is_code { text } else { "other" }.to_owned())
    }

    /// A key's id, which is the operator's own spelling.
    pub fn of_key(id: &KeyId) -> Self {
        Self(id.to_string())
    }

    /// The code.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an entry is about, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct About {
    /// The tenant.
    pub server: Option<ServerId>,
    /// The third party.
    pub provider: Option<ProviderId>,
    /// The connection.
    pub connection: Option<ConnectionId>,
    /// The elicitation.
    pub elicitation: Option<ElicitationId>,
    /// Whose it is.
    pub subject: Option<Subject>,
}

impl From<&Connection> for About {
    fn from(connection: &Connection) -> Self {
        Self {
            server: Some(connection.server.clone()),
            provider: Some(connection.provider.clone()),
            connection: Some(connection.id),
            elicitation: None,
            subject: Some(connection.owner.clone()),
        }
    }
}

impl From<&Elicitation> for About {
    fn from(elicitation: &Elicitation) -> Self {
        Self {
            server: Some(elicitation.server.clone()),
            provider: Some(elicitation.provider.clone()),
            connection: elicitation.connection,
            elicitation: Some(elicitation.id),
            subject: Some(elicitation.owner.clone()),
        }
    }
}

/// What a move tells the record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What happened.
    pub kind: Kind,
    /// Who did it.
    pub actor: Actor,
    /// What came of it.
    pub outcome: Outcome,
    /// What it is about.
    pub about: About,
    /// Why, or how.
    pub detail: Option<Code>,
    /// How many times.
    pub times: i64,
    /// When; for several times, when the first was.
    pub at: Millis,
}

impl Entry {
    /// Something that was done once.
    pub fn new(kind: Kind, actor: Actor, about: impl Into<About>, at: Millis) -> Self {
        Self { kind, actor, outcome: Outcome::Done, about: about.into(), detail: None, times: 1, at }
    }

    /// A refusal that a defender wants to see. `actor` is who was refused, if that is known.
    pub fn of_event(event: SecurityEvent, actor: Actor, about: About, at: Millis) -> Self {
        let outcome = match event {
            SecurityEvent::SealedValueUnreadable => Outcome::Failed,
            SecurityEvent::WrongAccount
            | SecurityEvent::OtherBrowser
            | SecurityEvent::ProviderMismatch
            | SecurityEvent::CsrfRefused
            | SecurityEvent::SignInRefused
            | SecurityEvent::AccountMismatch
            | SecurityEvent::CodeRefused
            | SecurityEvent::PageCodeMisused
            | SecurityEvent::SubjectTokenInvalid
            | SecurityEvent::ApiKeyRefused => Outcome::Refused,
        };
        Self { outcome, ..Self::new(Kind::from(event), actor, about, at) }
    }

    /// With its reason, a stable code.
    #[must_use]
    pub fn because(mut self, reason: &str) -> Self {
        self.detail = Some(Code::new(reason));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R117: what is not one of our codes does not get in.
    #[test]
    fn r117_a_detail_is_a_code_or_nothing_of_the_text() {
        for text in ["", "Alice Example", "ghp_SECRET", "a\nb", "naïve", &"a".repeat(97)] {
            assert_eq!(Code::new(text).as_str(), "other");
        }
        assert_eq!(Code::new("declined_by_user").as_str(), "declined_by_user");
    }

    #[test]
    fn a_reason_names_who_did_it() {
        for (reason, actor) in [
            ("declined_by_user", Actor::Person),
            ("declined_by_client", Actor::Server),
            ("cancelled_by_server", Actor::Server),
            ("disconnected_by_operator", Actor::Operator),
            ("rotation_lost", Actor::Program),
        ] {
            assert_eq!(Actor::of_reason(reason), actor, "{reason}");
        }
    }
}
