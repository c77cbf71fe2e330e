//! The internal API of Consentry for a Rust MCP server: one call gives a tool the credential it needs, or the answer
//! that its client must get.
//!
//! ```no_run
//! use consentry_client::{Client, McpClient, Resolution, Resolve, User};
//! use serde_json::json;
//!
//! # async fn tool(api_key: String) -> Result<(), consentry_client::Error> {
//! let consentry = Client::new("http://127.0.0.1:8081", api_key)?;
//! let client = McpClient::new("2025-11-25", "tools/call").elicitation(json!({ "url": {} })).target("list_files");
//! let wanted = Resolve::new("github", User::subject("alice")).scopes(["repo"]).client(client);
//!
//! match consentry.resolve(&wanted).await? {
//!     Resolution::Ready(grants) => { /* call the provider with the credential of each */ }
//!     Resolution::ActionRequired(needed) => { /* hand `needed.reply` to the MCP client */ }
//!     Resolution::Refused(refused) => { /* the same: `refused.reply` */ }
//!     _ => {}
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Secrets are [`Secret`]s and never appear in `Debug`, nor does anything of a body or a URL in an [`Error`]. The
//! client follows no redirects and uses no proxy, because each request carries the API key.

mod client;
mod connection;
mod elicitation;
mod error;
mod events;
mod hosted;
mod provider;
mod resolution;
mod resolve;
mod secret;
mod sse;
mod transport;
pub mod webhook;

pub use client::{Builder, Client};
pub use connection::{Account, Connection, ConnectionQuery, ConnectionStatus, Connections, Subject};
pub use consentry_elicitation::{Body, Outcome, Prefer, Reply};
pub use elicitation::{Action, Answered, Created, Elicitation, State};
pub use error::{Error, Problem};
pub use events::{Event, EventData, EventKind, Events, Notification};
pub use hosted::{PageResult, PageVisit};
pub use provider::{Provider, Variable};
pub use resolution::{ActionRequired, Credential, FurtherToken, Grant, Granted, Refused, Resolution, Use};
pub use resolve::{McpClient, Need, Resolve, User};
pub use secret::Secret;

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles what the guide shows of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Guide;
