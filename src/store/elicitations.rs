//! Elicitations: read, kept, closed. `creation` makes them, `visits` shows them.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    statements::statements,
    tx::{Tx, read, within},
};
use crate::{
    audit::{self, Actor, Entry},
    clock::Millis,
    connection::{ConnectionId, Grant},
    elicitation::{Elicitation, ElicitationId, OwnedOpen, ServerId, State},
    random::Random,
    scope::Scopes,
    signal::Kind,
    subject::Subject,
    values::Values,
};

macro_rules! columns {
    () => {
        "id, server, issuer, sub, provider, scopes, legacy, client_ref, client_name, message, state, reason, connection, \
         seen_connection, seen_grant, attempt_until_ms, values_json, typed_json, created_at_ms, expires_at_ms, closed_at_ms"
    };
}
pub(super) use columns;

statements! {
    BY_ID = concat!("SELECT ", columns!(), " FROM elicitations WHERE id = $1");

    BY_SERVER_AND_ID = concat!("SELECT ", columns!(), " FROM elicitations WHERE id = $1 AND server = $2");

    LIST = concat!("SELECT ", columns!(), " FROM elicitations \
        WHERE ($1 IS NULL OR server = $1) AND ($2 IS NULL OR state = $2) ORDER BY created_at_ms DESC LIMIT $3");

    /// Ends one in any way but completion. Owner and server are in the predicate, as in the caller's proof.
    CLOSE = concat!(
        "UPDATE elicitations SET state = $2, reason = $3, closed_at_ms = $4, reuse_key = NULL, \
         attempt_until_ms = NULL \
         WHERE id = $1 AND server = $5 AND issuer = $6 AND sub = $7 \
         AND state IN ('pending', 'authorizing') AND expires_at_ms > $4 RETURNING ", columns!());

    /// Completes one by a connection that is there: kept by the person, or satisfied by another's trip.
    COMPLETE_BY = concat!(
        "UPDATE elicitations SET state = 'completed', reason = $2, connection = $3, closed_at_ms = $5, \
         reuse_key = NULL, attempt_until_ms = NULL \
         WHERE id = $1 AND state IN ('pending', 'authorizing') AND expires_at_ms > $5 \
         AND EXISTS (SELECT 1 FROM connections c WHERE c.id = $3 AND c.grant_number = $4 AND c.status = 'active' \
            AND c.server = elicitations.server \
            AND c.issuer = elicitations.issuer AND c.sub = elicitations.sub AND c.provider = elicitations.provider) \
         RETURNING ", columns!());

    /// What a closed elicitation leaves of its attempts; one that is claimed ends by itself.
    END_ATTEMPTS = "UPDATE attempts SET state = 'settled', outcome = 'closed_meanwhile', verifier = NULL, \
        parked = NULL, parked_until_ms = NULL, offer = NULL, settled_at_ms = $2 \
        WHERE elicitation = $1 AND state IN ('live', 'offered')";
}

#[derive(FromRow)]
pub(super) struct ElicitationRow {
    id: Uuid,
    server: String,
    issuer: String,
    sub: String,
    provider: String,
    scopes: String,
    legacy: bool,
    client_ref: String,
    client_name: Option<String>,
    message: Option<String>,
    state: String,
    reason: Option<String>,
    connection: Option<Uuid>,
    seen_connection: Option<Uuid>,
    seen_grant: Option<i64>,
    attempt_until_ms: Option<i64>,
    values_json: Option<String>,
    typed_json: Option<String>,
    created_at_ms: i64,
    expires_at_ms: i64,
    closed_at_ms: Option<i64>,
}

/// An error for a column that cannot be read back.
pub(super) fn corrupt<E>(table: &'static str, column: &'static str) -> impl FnOnce(E) -> StoreError {
    move |_| StoreError::Corrupt { table, column }
}

impl TryFrom<ElicitationRow> for Elicitation {
    type Error = StoreError;

    fn try_from(row: ElicitationRow) -> Result<Self, StoreError> {
        const TABLE: &str = "elicitations";
        let seen = row.seen_connection.zip(row.seen_grant);
        Ok(Self {
            id: ElicitationId(row.id),
            server: row.server.parse().map_err(corrupt(TABLE, "server"))?,
            owner: Subject::new(row.issuer, row.sub).map_err(corrupt(TABLE, "sub"))?,
            provider: row.provider.parse().map_err(corrupt(TABLE, "provider"))?,
            scopes: Scopes::new(row.scopes.split_ascii_whitespace()).map_err(corrupt(TABLE, "scopes"))?,
            values: Values::from_json(row.values_json.as_deref()).map_err(corrupt(TABLE, "values_json"))?,
            typed: Values::from_json(row.typed_json.as_deref()).map_err(corrupt(TABLE, "typed_json"))?,
            legacy: row.legacy,
            client_ref: row.client_ref,
            client_name: row.client_name,
            message: row.message,
            stored: row.state.parse().map_err(corrupt(TABLE, "state"))?,
            reason: row.reason,
            connection: row.connection.map(ConnectionId),
            seen: seen.map(|(id, number)| Grant { connection: ConnectionId(id), number }),
            attempt_until: row.attempt_until_ms.map(Millis),
            created_at: Millis(row.created_at_ms),
            expires_at: Millis(row.expires_at_ms),
            closed_at: row.closed_at_ms.map(Millis),
        })
    }
}

impl Store {
    /// One elicitation, whoever asks. For the pages, which compare the owner next.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn elicitation(&self, id: ElicitationId) -> Result<Option<Elicitation>, StoreError> {
        let row: Option<ElicitationRow> =
            read!(self, BY_ID, |sql, pool| sqlx::query_as(sql).bind(id.0).fetch_optional(pool).await?);
        row.map(Elicitation::try_from).transpose()
    }

    /// One elicitation of this MCP server; another's is `None`, like an unknown one (R1).
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn elicitation_of(
        &self,
        server: &ServerId,
        id: ElicitationId,
    ) -> Result<Option<Elicitation>, StoreError> {
        let row: Option<ElicitationRow> = read!(self, BY_SERVER_AND_ID, |sql, pool| {
            sqlx::query_as(sql).bind(id.0).bind(server.as_str()).fetch_optional(pool).await?
        });
        row.map(Elicitation::try_from).transpose()
    }

    /// The newest elicitations, for the operator; `state` is the stored one.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn elicitations(
        &self,
        server: Option<&ServerId>,
        state: Option<State>,
        limit: u32,
    ) -> Result<Vec<Elicitation>, StoreError> {
        let rows: Vec<ElicitationRow> = read!(self, LIST, |sql, pool| {
            sqlx::query_as(sql)
                .bind(server.map(ServerId::as_str))
                .bind(state.map(State::as_str))
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        rows.into_iter().map(Elicitation::try_from).collect()
    }

    /// The person said no. False when it was closed or expired meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn decline(&self, mine: &OwnedOpen, now: Millis) -> Result<bool, StoreError> {
        self.close(mine.elicitation(), State::Declined, "declined_by_user", now).await
    }

    /// Ends an open elicitation with its one signal. False when it was closed or expired meanwhile. For the API
    /// and the operator; browsers have moves of their own that ask for the owner's proof.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn close(
        &self,
        elicitation: &Elicitation,
        end: State,
        reason: &str,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        let Some(closed) = tx.close(elicitation, end, reason, self.random, now).await? else {
            return Ok(false);
        };
        tx.commit().await?;
        self.announce(&[closed.server]);
        Ok(true)
    }

    /// The connection that is there will do. False when either moved meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn keep(&self, mine: &OwnedOpen, grant: Grant, now: Millis) -> Result<bool, StoreError> {
        self.complete_by(mine.elicitation().id, grant, "kept", now).await
    }

    /// Completes an elicitation that a connection came to satisfy without it. False when either moved meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn satisfy(
        &self,
        elicitation: &Elicitation,
        grant: Grant,
        now: Millis,
    ) -> Result<bool, StoreError> {
        self.complete_by(elicitation.id, grant, "satisfied", now).await
    }

    async fn complete_by(
        &self,
        id: ElicitationId,
        grant: Grant,
        reason: &str,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        let Some(completed) = tx.complete_by(id, grant, reason, now).await? else { return Ok(false) };
        tx.queue_end(&completed, Kind::ElicitationCompleted, self.random, now).await?;
        tx.commit().await?;
        self.announce(&[completed.server]);
        Ok(true)
    }
}

impl Tx {
    /// Ends an open one with its one signal; none when it is closed or has expired.
    pub(super) async fn close(
        &mut self,
        elicitation: &Elicitation,
        end: State,
        reason: &str,
        random: Random,
        now: Millis,
    ) -> Result<Option<Elicitation>, StoreError> {
        let Some(kind) = Kind::of_end(end) else { return Ok(None) };
        let row: Option<ElicitationRow> = within!(self, CLOSE, |sql, connection| {
            sqlx::query_as(sql)
                .bind(elicitation.id.0)
                .bind(end.as_str())
                .bind(reason)
                .bind(now.0)
                .bind(elicitation.server.as_str())
                .bind(&elicitation.owner.issuer)
                .bind(&elicitation.owner.sub)
                .fetch_optional(connection)
                .await?
        });
        let Some(row) = row else { return Ok(None) };
        let closed = Elicitation::try_from(row)?;
        self.end_attempts(closed.id, now).await?;
        self.queue_end(&closed, kind, random, now).await?;
        let told = match end {
            State::Declined => Some(audit::Kind::Declined),
            State::Cancelled => Some(audit::Kind::Cancelled),
            // What nobody did: the signal tells it.
            State::Pending | State::Authorizing | State::Completed | State::Expired | State::Failed => None,
        };
        if let Some(kind) = told {
            self.audit(Entry::new(kind, Actor::of_reason(reason), &closed, now).because(reason));
        }
        Ok(Some(closed))
    }

    /// One that is there.
    pub(super) async fn by_id(&mut self, id: ElicitationId) -> Result<Elicitation, StoreError> {
        let row: ElicitationRow = within!(self, BY_ID, |sql, connection| {
            sqlx::query_as(sql).bind(id.0).fetch_one(connection).await?
        });
        row.try_into()
    }

    /// Ends the attempts of a closed elicitation and forgets what they held.
    pub(super) async fn end_attempts(&mut self, id: ElicitationId, now: Millis) -> Result<(), StoreError> {
        within!(self, END_ATTEMPTS, |sql, connection| {
            sqlx::query(sql).bind(id.0).bind(now.0).execute(connection).await?;
        });
        Ok(())
    }

    /// Completes one elicitation by a connection, if both are as the caller saw them.
    pub(super) async fn complete_by(
        &mut self,
        id: ElicitationId,
        grant: Grant,
        reason: &str,
        now: Millis,
    ) -> Result<Option<Elicitation>, StoreError> {
        let row: Option<ElicitationRow> = within!(self, COMPLETE_BY, |sql, connection| {
            sqlx::query_as(sql)
                .bind(id.0)
                .bind(reason)
                .bind(grant.connection.0)
                .bind(grant.number)
                .bind(now.0)
                .fetch_optional(connection)
                .await?
        });
        let Some(row) = row else { return Ok(None) };
        self.end_attempts(id, now).await?;
        Ok(Some(row.try_into()?))
    }
}
