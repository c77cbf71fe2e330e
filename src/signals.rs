//! Telling MCP servers what happened: waiting for an outcome, streaming signals, and the one body that every channel
//! sends.
//!
//! Three readers of one table. A wake-up within the process is a hint; polling catches what it loses. What is never
//! here: a token, an account's label, another tenant's signal (R16, R115).

mod body;
mod stream;
mod wait;

use std::time::Duration;

pub use self::{
    body::{Data, Event, Notification},
    stream::{Feed, HEARTBEAT, Told},
    wait::settled,
};

/// How often the store is asked when no wake-up comes, which is how other replicas' news arrive.
const POLL: Duration = Duration::from_secs(1);
