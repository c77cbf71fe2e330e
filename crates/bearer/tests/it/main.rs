//! The check in front of an axum router, with a real authorization server that also forges.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod door;
mod keys;
mod stand;
