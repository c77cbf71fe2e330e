//! Consentry: the connect-flow server for MCP. `ARCHITECTURE.md` is the map.

pub mod api;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod connect;
pub mod connection;
pub mod credential;
pub mod elicitation;
pub mod identity;
pub mod listen;
pub mod outbound;
pub mod pace;
pub mod provider;
pub mod random;
pub mod scope;
pub mod secret;
pub mod server;
pub mod signal;
pub mod signals;
pub mod store;
pub mod subject;
pub mod telemetry;
pub mod vault;
pub mod web;
pub mod workers;
