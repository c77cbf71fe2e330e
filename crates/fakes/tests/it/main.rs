//! The fakes are strict: each refuses what an honest server of its kind refuses, over real HTTP.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod authorization_server;
mod browser;
mod client;
mod faults;
mod id_tokens;
mod key_service;
mod mcp_clients;
mod pages;
mod provider;
mod refresh;
mod sink;
mod tls;
