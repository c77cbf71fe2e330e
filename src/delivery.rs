//! A signal on its way to an MCP server's webhook, as the outbox keeps it.

use std::str::FromStr;

use crate::{
    clock::Millis,
    elicitation::{MalformedId, ServerId},
    signal::{Signal, SignalId},
};

/// How far a delivery has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// To be posted, or posted again.
    Due,
    /// The receiver has taken it.
    Delivered,
    /// Given up; it can be replayed.
    Dead,
    /// Nobody is to be told any more: the MCP server or its webhook is not configured.
    Dropped,
}

impl State {
    /// Every state, for documents and tests.
    pub const ALL: [Self; 4] = [Self::Due, Self::Delivered, Self::Dead, Self::Dropped];

    /// As the store and the command line write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
            Self::Dropped => "dropped",
        }
    }
}

impl FromStr for State {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(MalformedId)
    }
}

/// A delivery that one process works on until its claim ends.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// What is to be told.
    pub signal: Signal,
    /// Tries, this one included.
    pub tries: i64,
    /// Until then nobody else works on it.
    pub claimed_until: Millis,
}

/// A try that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The status of the receiver's answer, where there was one.
    pub status: Option<u16>,
    /// Why, as a stable code.
    pub code: &'static str,
}

/// A delivery, for the operator.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The signal, which is the `webhook-id`.
    pub signal: SignalId,
    /// To which MCP server.
    pub server: ServerId,
    /// The signal's number.
    pub sequence: i64,
    /// What happened, such as `elicitation.completed`; none when the signal is no longer kept.
    pub kind: Option<String>,
    /// How far it has come.
    pub state: State,
    /// Tries so far.
    pub tries: i64,
    /// When the next one is due.
    pub next_at: Millis,
    /// The last answer's status.
    pub last_status: Option<i64>,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// When it was queued.
    pub created_at: Millis,
    /// When it ended.
    pub done_at: Option<Millis>,
}
