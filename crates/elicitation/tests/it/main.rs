//! What the crate promises, seen from outside. A test that proves a requirement of the specification has its number in
//! its name: E for elicitation, M for rounds and transport.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod arbitrary;
mod forms;
mod readers;
mod replay;
mod requirements;
mod rows;
mod strict_client;
mod strict_forms;
mod wire;
