//! Handing out: what a connection holds, opened for an authenticated MCP server and nobody else (R14).
//!
//! Reading writes nothing. A sealed value that does not open is an error and an alert, never "not connected" (R102).

mod access;
pub mod client;
mod clocks;
mod disconnect;
pub mod home;
pub mod refresh;
mod report;
mod resolve;
mod revoke;
mod trials;
mod usage;

pub(crate) use self::{access::SealedSlots, disconnect::to_revoke};
pub use self::{
    access::{Access, open_access},
    clocks::walk,
    disconnect::{Removed, Revocation, disconnect},
    refresh::Refreshes,
    report::report,
    resolve::{Resolved, Wanted, resolve},
    revoke::{REVOCATION_CLAIM, Unwanted, revoke},
    trials::try_doubted,
    usage::usage,
};
use crate::{
    connection::Connection,
    secret_form::Typed,
    vault::{OpenError, Vault},
};

/// What may leave, over TLS, to the MCP server that it belongs to.
#[derive(Debug)]
pub enum Credential {
    /// Of OAuth.
    Token(Access),
    /// What a person has typed.
    Fields(Typed),
    /// None: what was done on a page of the MCP server's own. The connection has the values.
    Page,
}

/// Opens what a connection holds.
///
/// # Errors
/// As [`open_access`].
pub fn open(vault: &Vault, connection: &Connection) -> Result<Credential, OpenError> {
    let marks = connection.marks;
    if !marks.secret && !marks.redirect {
        return open_access(vault, connection).map(Credential::Token);
    }
    let plain = vault.open(&connection.place("access"), &connection.access)?.into_secret();
    if marks.redirect {
        return plain.map(|_| Credential::Page).ok_or(OpenError::Malformed);
    }
    let typed = plain.as_ref().and_then(Typed::from_secret);
    typed.map(Credential::Fields).ok_or(OpenError::Malformed)
}
