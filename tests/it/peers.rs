//! Consentry between parties that others wrote: npm's `oidc-provider`, which is certified, as the authorization server
//! and as the third party, and Chromium between them. Our own fakes may share a misreading with us; these do not.
//!
//! The programs are in `tests/peers`. (The other peer, the TypeScript MCP SDK, is the demo's: `demo/tests/it/peers.rs`.)

mod bearer;
mod connect;
mod person;
pub(crate) mod program;
mod stand;
pub(crate) mod suite;
mod webhooks;
