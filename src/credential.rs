//! Handing out: what a connection holds, opened for an authenticated MCP server and nobody else (R14).
//!
//! Reading writes nothing. A sealed value that does not open is an error and an alert, never "not connected" (R102).

mod access;
mod clocks;
mod disconnect;
pub mod home;
pub mod refresh;
mod report;
mod resolve;
mod revoke;
mod trials;

pub(crate) use self::access::SealedSlots;
pub use self::{
    access::{Access, open_access},
    clocks::walk,
    disconnect::{Removed, Revocation, disconnect},
    refresh::Refreshes,
    report::report,
    resolve::{Resolved, Wanted, resolve},
    revoke::{REVOCATION_CLAIM, Unwanted, revoke},
    trials::try_doubted,
};
