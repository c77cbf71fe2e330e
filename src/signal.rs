//! The news of an outcome to the MCP server: ids and states, never a token or a label (R115).

use std::str::FromStr;

use crate::{
    clock::Millis,
    connection::ConnectionId,
    elicitation::{ElicitationId, MalformedId, ProviderId, ServerId, State, uuid_id},
    subject::Subject,
};

uuid_id! {
    /// Names a signal: the `webhook-id`, the same over all tries.
    SignalId
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `elicitation.completed`.
    ElicitationCompleted,
    /// `elicitation.declined`.
    ElicitationDeclined,
    /// `elicitation.cancelled`.
    ElicitationCancelled,
    /// `elicitation.expired`.
    ElicitationExpired,
    /// `elicitation.failed`.
    ElicitationFailed,
    /// `connection.created`.
    ConnectionCreated,
    /// `connection.updated`.
    ConnectionUpdated,
    /// `connection.needs_reconnect`.
    ConnectionNeedsReconnect,
    /// `connection.deleted`.
    ConnectionDeleted,
}

impl Kind {
    /// Every kind, for documents and tests.
    pub const ALL: [Self; 9] = [
        Self::ElicitationCompleted,
        Self::ElicitationDeclined,
        Self::ElicitationCancelled,
        Self::ElicitationExpired,
        Self::ElicitationFailed,
        Self::ConnectionCreated,
        Self::ConnectionUpdated,
        Self::ConnectionNeedsReconnect,
        Self::ConnectionDeleted,
    ];

    /// The type, as the contract writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ElicitationCompleted => "elicitation.completed",
            Self::ElicitationDeclined => "elicitation.declined",
            Self::ElicitationCancelled => "elicitation.cancelled",
            Self::ElicitationExpired => "elicitation.expired",
            Self::ElicitationFailed => "elicitation.failed",
            Self::ConnectionCreated => "connection.created",
            Self::ConnectionUpdated => "connection.updated",
            Self::ConnectionNeedsReconnect => "connection.needs_reconnect",
            Self::ConnectionDeleted => "connection.deleted",
        }
    }

    /// The signal of an elicitation's end; none for an open state.
    pub fn of_end(state: State) -> Option<Self> {
        match state {
            State::Pending | State::Authorizing => None,
            State::Completed => Some(Self::ElicitationCompleted),
            State::Declined => Some(Self::ElicitationDeclined),
            State::Cancelled => Some(Self::ElicitationCancelled),
            State::Expired => Some(Self::ElicitationExpired),
            State::Failed => Some(Self::ElicitationFailed),
        }
    }
}

impl FromStr for Kind {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(MalformedId)
    }
}

/// One signal, as every channel tells it.
#[derive(Clone, Debug)]
pub struct Signal {
    /// The same over all tries and channels.
    pub id: SignalId,
    /// The tenant that it is for, and nobody else (R16).
    pub server: ServerId,
    /// Counts 1, 2, 3 within one MCP server, in the order of the commits: a reader that has seen a number has
    /// seen every smaller one.
    pub sequence: i64,
    /// What happened.
    pub kind: Kind,
    /// About which elicitation.
    pub elicitation: Option<ElicitationId>,
    /// About which connection.
    pub connection: Option<ConnectionId>,
    /// For which provider.
    pub provider: ProviderId,
    /// Whose.
    pub subject: Subject,
    /// The caller's reference; empty when none.
    pub client_ref: String,
    /// Why, as a stable code.
    pub reason: Option<String>,
    /// Whether the elicitation is of the era that knows the completion notification.
    pub legacy: bool,
    /// When it happened.
    pub at: Millis,
}
