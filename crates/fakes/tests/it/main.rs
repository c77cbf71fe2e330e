//! The fakes are strict: each refuses what an honest server of its kind refuses, over real HTTP.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod client;

mod authorization_server;
mod provider;
mod refresh;
