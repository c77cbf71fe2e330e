//! Telling MCP servers what happened: waiting for an outcome, streaming signals, and the one body that every channel
//! sends.
//!
//! Three readers of one table. A wake-up, from this process or by Postgres from another, is a hint;
//! polling catches what it loses. What is never
//! here: a token, an account's label, another tenant's signal (R16, R115).

mod body;
mod stream;
mod wait;
mod webhook;

pub use self::{
    body::{Data, Event, Notification},
    stream::{Feed, HEARTBEAT, STILL_HERE, Told, stream_headers},
    wait::settled,
    webhook::{post, receiver, sign},
};
