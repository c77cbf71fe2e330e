//! Signals: queued in the transaction that they tell of, read in the order of their numbers.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    elicitations::corrupt,
    statements::statements,
    tx::{Tx, read, within},
};
use crate::{
    clock::Millis,
    connection::{Connection, ConnectionId},
    elicitation::{Elicitation, ElicitationId, ServerId},
    random::Random,
    signal::{Kind, Signal, SignalId},
    subject::Subject,
};

macro_rules! columns {
    () => {
        "id, server, sequence, kind, elicitation, connection, provider, issuer, sub, client_ref, reason, legacy, at_ms"
    };
}
pub(super) use columns;

statements! {
    /// Takes the MCP server's next number. The row stays locked until the commit, so that a number becomes
    /// visible only after every smaller one.
    NEXT = "INSERT INTO signal_heads (server, sequence) VALUES ($1, 1) \
        ON CONFLICT (server) DO UPDATE SET sequence = signal_heads.sequence + 1 RETURNING sequence";

    INSERT = "INSERT INTO signals (id, server, sequence, kind, elicitation, connection, provider, issuer, sub, \
        client_ref, reason, legacy, at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";

    AFTER = concat!("SELECT ", columns!(), " FROM signals WHERE server = $1 AND sequence > $2 ORDER BY sequence \
        LIMIT $3");

    HEAD = "SELECT sequence FROM signal_heads WHERE server = $1";
}

#[derive(FromRow)]
pub(super) struct SignalRow {
    id: Uuid,
    server: String,
    sequence: i64,
    kind: String,
    elicitation: Option<Uuid>,
    connection: Option<Uuid>,
    provider: String,
    issuer: String,
    sub: String,
    client_ref: String,
    reason: Option<String>,
    legacy: bool,
    at_ms: i64,
}

impl TryFrom<SignalRow> for Signal {
    type Error = StoreError;

    fn try_from(row: SignalRow) -> Result<Self, StoreError> {
        const TABLE: &str = "signals";
        Ok(Self {
            id: SignalId(row.id),
            server: row.server.parse().map_err(corrupt(TABLE, "server"))?,
            sequence: row.sequence,
            kind: row.kind.parse().map_err(corrupt(TABLE, "kind"))?,
            elicitation: row.elicitation.map(ElicitationId),
            connection: row.connection.map(ConnectionId),
            provider: row.provider.parse().map_err(corrupt(TABLE, "provider"))?,
            subject: Subject::new(row.issuer, row.sub).map_err(corrupt(TABLE, "sub"))?,
            client_ref: row.client_ref,
            reason: row.reason,
            legacy: row.legacy,
            at: Millis(row.at_ms),
        })
    }
}

impl Store {
    /// Signals of one MCP server after a number, in order, at most `limit`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn signals_after(
        &self,
        server: &ServerId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Signal>, StoreError> {
        let rows: Vec<SignalRow> = read!(self, AFTER, |sql, pool| {
            sqlx::query_as(sql)
                .bind(server.as_str())
                .bind(after)
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        rows.into_iter().map(Signal::try_from).collect()
    }

    /// The MCP server's latest number; 0 before the first signal.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn signal_head(&self, server: &ServerId) -> Result<i64, StoreError> {
        let head: Option<i64> = read!(self, HEAD, |sql, pool| {
            sqlx::query_scalar(sql).bind(server.as_str()).fetch_optional(pool).await?
        });
        Ok(head.unwrap_or(0))
    }
}

impl Tx {
    /// Queues the signal of an elicitation's end.
    pub(super) async fn queue_end(
        &mut self,
        ended: &Elicitation,
        kind: Kind,
        random: Random,
        now: Millis,
    ) -> Result<(), StoreError> {
        let signal = Signal {
            id: SignalId(random.row_id(now)),
            server: ended.server.clone(),
            sequence: 0,
            kind,
            elicitation: Some(ended.id),
            connection: ended.connection,
            provider: ended.provider.clone(),
            subject: ended.owner.clone(),
            client_ref: ended.caller_ref().to_owned(),
            reason: ended.reason.clone(),
            legacy: ended.legacy,
            at: now,
        };
        self.queue(&signal).await
    }

    /// Queues the news of a connection.
    pub(super) async fn queue_connection(
        &mut self,
        connection: &Connection,
        kind: Kind,
        reason: Option<&str>,
        random: Random,
        now: Millis,
    ) -> Result<(), StoreError> {
        let signal = Signal {
            id: SignalId(random.row_id(now)),
            server: connection.server.clone(),
            sequence: 0,
            kind,
            elicitation: None,
            connection: Some(connection.id),
            provider: connection.provider.clone(),
            subject: connection.owner.clone(),
            client_ref: String::new(),
            reason: reason.map(str::to_owned),
            legacy: false,
            at: now,
        };
        self.queue(&signal).await
    }

    async fn queue(&mut self, signal: &Signal) -> Result<(), StoreError> {
        let sequence: i64 = within!(self, NEXT, |sql, connection| {
            sqlx::query_scalar(sql).bind(signal.server.as_str()).fetch_one(connection).await?
        });
        within!(self, INSERT, |sql, connection| {
            sqlx::query(sql)
                .bind(signal.id.0)
                .bind(signal.server.as_str())
                .bind(sequence)
                .bind(signal.kind.as_str())
                .bind(signal.elicitation.map(|id| id.0))
                .bind(signal.connection.map(|id| id.0))
                .bind(signal.provider.as_str())
                .bind(&signal.subject.issuer)
                .bind(&signal.subject.sub)
                .bind(&signal.client_ref)
                .bind(&signal.reason)
                .bind(signal.legacy)
                .bind(signal.at.0)
                .execute(connection)
                .await?;
        });
        self.queue_delivery(signal, sequence).await
    }
}
