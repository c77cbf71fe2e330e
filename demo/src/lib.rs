//! The demo: Consentry and everybody around it in one process, and an MCP client in the terminal.
//!
//! | here | what |
//! |---|---|
//! | [`mcp_server`] | an MCP server that uses Consentry by `consentry-rmcp`; `examples/rust` is the one to copy |
//! | [`mcp_client`] | an MCP client for one person at a terminal |
//! | [`World`] | Example ID, Example Files, Consentry and the MCP server, started together |
//! | [`run`] | what `cargo run --release -p demo` does with them |
//!
//! The two "Example" parties are the strict fakes of `consentry-fakes`, which the tests use as well.

pub mod console;
pub mod mcp_client;
pub mod mcp_server;
mod run;
mod who;
mod world;

pub use run::{Demo, Part, client, run};
pub use world::{Guest, Options, StartError, World};
