//! A client of ours that Consentry has registered by itself, as it is stored.

use std::time::Duration;

use uuid::Uuid;

use crate::{
    clock::Millis,
    vault::{Place, Sealed},
};

/// So often an authorization server must have said that it does not know the client.
const REFUSALS_MAX: i64 = 2;

/// A row: one issuer and one callback of ours.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The row.
    pub id: Uuid,
    /// The authorization server.
    pub issuer: String,
    /// The tenant.
    pub server: String,
    /// The provider.
    pub provider: String,
    /// How often it was registered.
    pub generation: i64,
    /// The client's id; none while there is no registration yet.
    pub client_id: Option<String>,
    /// Its sealed secret; none for a public client.
    pub secret: Option<Sealed>,
    /// How it proves itself.
    pub authentication: Option<String>,
    /// When the secret ends.
    pub secret_expires_at: Option<Millis>,
    /// How often it was refused lately.
    pub refusals: i64,
    /// Before then it is not registered again.
    pub next_at: Millis,
}

impl Registration {
    /// Whether it will do for `span` from now on.
    pub fn lasts(&self, now: Millis, span: Duration) -> bool {
        let ends = self.secret_expires_at.is_some_and(|end| end <= now.plus(span));
        self.client_id.is_some() && !ends && self.refusals < REFUSALS_MAX
    }

    /// The cell of its secret.
    pub fn place(&self) -> Place<'_> {
        secret_place(self.id, &self.server, &self.issuer, &self.provider, self.generation)
    }
}

/// The cell of a registration's secret; it belongs to nobody but the MCP server.
pub fn secret_place<'a>(
    row: Uuid,
    server: &'a str,
    issuer: &'a str,
    provider: &'a str,
    generation: i64,
) -> Place<'a> {
    Place {
        table: "client_registrations",
        column: "secret",
        row,
        server,
        issuer,
        sub: "",
        provider,
        generation,
    }
}
