//! The internal API, called as MCP servers call it: the real router over a real database.

mod bench;
mod calls;
mod codes;
mod connections;
mod elicitations;
mod events;
mod operations;
mod replies;
mod resolve;
mod retry;
mod strict;
mod tenants;
