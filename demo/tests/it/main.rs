//! The MCP server at its borders: a client in front, a played Consentry behind.

#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests")]
mod client;
mod door;
mod played;
mod replies;
mod stand;
