//! What a person sees of their own: everything that they have connected, what became of it before, and what their
//! providers said of what is gone.
//!
//! Only reads. Whoever calls has proven that the person is at the browser.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    connections::{ConnectionRow, columns as connection_columns},
    elicitations::{ElicitationRow, columns as elicitation_columns},
    statements::statements,
    tx::read,
};
use crate::{
    clock::Millis,
    connection::{Connection, ConnectionId},
    elicitation::Elicitation,
    subject::Subject,
};

statements! {
    OF_PERSON = concat!("SELECT ", connection_columns!(), ", \
        (SELECT u.used_at_ms FROM connection_uses u WHERE u.connection = connections.id) AS used_at_ms \
        FROM connections WHERE issuer = $1 AND sub = $2 ORDER BY server, provider, id LIMIT $3");

    /// What was answered, or ran out, for the same MCP server and provider.
    HISTORY = concat!("SELECT ", elicitation_columns!(), " FROM elicitations \
        WHERE server = $1 AND issuer = $2 AND sub = $3 AND provider = $4 \
        AND state IN ('completed', 'declined', 'expired') ORDER BY closed_at_ms DESC, id LIMIT $5");

    /// The latest word on a connection that is gone.
    TOLD = "SELECT state FROM revocations WHERE connection = $1 AND issuer = $2 AND sub = $3 \
        ORDER BY created_at_ms DESC, id LIMIT 1";
}

#[derive(FromRow)]
struct HeldRow {
    #[sqlx(flatten)]
    connection: ConnectionRow,
    used_at_ms: Option<i64>,
}

/// A connection, for the person whose it is.
#[derive(Clone, Debug)]
pub struct Held {
    /// The connection.
    pub connection: Connection,
    /// When it was last handed out, as far as that was written already.
    pub used_at: Option<Millis>,
}

impl Store {
    /// Everything that a person has connected, under any MCP server, in the order of servers; at most `limit`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn connections_of(&self, person: &Subject, limit: u32) -> Result<Vec<Held>, StoreError> {
        let rows: Vec<HeldRow> = read!(self, OF_PERSON, |sql, pool| {
            sqlx::query_as(sql)
                .bind(&person.issuer)
                .bind(&person.sub)
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        rows.into_iter()
            .map(|row| {
                let used_at = row.used_at_ms.map(Millis);
                Connection::try_from(row.connection).map(|connection| Held { connection, used_at })
            })
            .collect()
    }

    /// What became of the questions for the same MCP server, person and provider, the latest first; at most `limit`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn history_of(
        &self,
        connection: &Connection,
        limit: u32,
    ) -> Result<Vec<Elicitation>, StoreError> {
        let rows: Vec<ElicitationRow> = read!(self, HISTORY, |sql, pool| {
            sqlx::query_as(sql)
                .bind(connection.server.as_str())
                .bind(&connection.owner.issuer)
                .bind(&connection.owner.sub)
                .bind(connection.provider.as_str())
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        rows.into_iter().map(Elicitation::try_from).collect()
    }

    /// How far the provider has been told that a connection is gone, as the outbox writes it; `None` when nothing is
    /// kept of it.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn told_of(&self, id: ConnectionId, person: &Subject) -> Result<Option<String>, StoreError> {
        let id: Uuid = id.0;
        Ok(read!(self, TOLD, |sql, pool| {
            sqlx::query_scalar(sql)
                .bind(id)
                .bind(&person.issuer)
                .bind(&person.sub)
                .fetch_optional(pool)
                .await?
        }))
    }
}
