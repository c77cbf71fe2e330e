//! Handing out: what a connection holds, opened for an authenticated MCP server and nobody else (R14).
//!
//! Reading writes nothing. A sealed value that does not open is an error and an alert, never "not connected" (R102).

mod clocks;
mod disconnect;
pub mod home;
pub mod refresh;
mod report;
mod resolve;
mod revoke;
mod trials;
mod usage;

pub use self::{
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
    secret::Secret,
    secret_form::Typed,
    vault::{OpenError, Vault},
};

/// An access token that may leave, over TLS, to the MCP server that it belongs to.
#[derive(Debug)]
pub struct Access {
    /// The token.
    pub token: Secret,
    /// Its type, `Bearer` as a rule (RFC 6750).
    pub token_type: String,
}

/// What may leave, over TLS, to the MCP server that it belongs to.
#[derive(Debug)]
pub enum Credential {
    /// Of OAuth.
    Token(Access),
    /// What a person has typed.
    Fields(Typed),
}

/// Opens what a connection holds.
///
/// # Errors
/// As [`open_access`].
pub fn open(vault: &Vault, connection: &Connection) -> Result<Credential, OpenError> {
    if !connection.marks.secret {
        return open_access(vault, connection).map(Credential::Token);
    }
    let plain = vault.open(&connection.place("access"), &connection.access)?.into_secret();
    let typed = plain.as_ref().and_then(Typed::from_secret);
    typed.map(Credential::Fields).ok_or(OpenError::Malformed)
}

/// An access token and its type as they are sealed: the type, a line feed, the token.
pub(crate) fn access_bytes(token: &Secret, token_type: &str) -> Vec<u8> {
    format!("{}\n{}", token_type.replace('\n', ""), token.expose()).into_bytes()
}

/// Opens a connection's access token.
///
/// # Errors
/// When the value was not sealed for this very row and generation, or its key is missing.
pub fn open_access(vault: &Vault, connection: &Connection) -> Result<Access, OpenError> {
    let plain = vault
        .open(&connection.place("access"), &connection.access)?
        .into_secret()
        .ok_or(OpenError::Malformed)?;
    let (token_type, token) = plain.expose().split_once('\n').ok_or(OpenError::Malformed)?;
    Ok(Access { token: Secret::new(token), token_type: token_type.to_owned() })
}
