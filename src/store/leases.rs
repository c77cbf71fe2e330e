//! The lease on a connection's refresh token: who may send it, until when, and what the outcome changes.
//!
//! A lease is on the database's clock and no other, hence the two texts. It is taken before the request with a number
//! that grows (the fence) and a mark of the intent; whatever is stored after the request names both the fence and the
//! generation, so that nobody writes over a later holder, a new consent or a disconnect. What is never here: a
//! transaction that is open while the provider is asked, and a decision about what a failure means.

use std::time::Duration;

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    connections::{ConnectionRow, columns},
    statements::statements,
    tx::{Tx, read, within, write},
};
use crate::{
    audit::{self, Actor, Entry},
    clock::Millis,
    connection::{Connection, ConnectionId, Status},
    scope::Scopes,
    signal::Kind,
    values::Values,
    vault::Sealed,
};

/// The database's own clock in milliseconds.
macro_rules! sqlite_now {
    () => {
        "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
    };
}
macro_rules! postgres_now {
    () => {
        "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000 AS BIGINT)"
    };
}

pub(super) use {postgres_now, sqlite_now};

macro_rules! watch {
    ($now:expr) => {
        concat!(
            "SELECT ",
            columns!(),
            ", lease_token, lease_until_ms - ",
            $now,
            " AS lease_left_ms FROM connections WHERE id = $1"
        )
    };
}

macro_rules! take {
    ($now:expr) => {
        concat!(
            "UPDATE connections SET lease_token = lease_token + 1, lease_owner = $3, lease_until_ms = ",
            $now,
            " + $4, intent_at_ms = COALESCE(intent_at_ms, ",
            $now,
            ") WHERE id = $1 AND generation = $2 AND status = 'active' AND refresh IS NOT NULL \
             AND (lease_until_ms IS NULL OR lease_until_ms <= ",
            $now,
            ") AND (next_attempt_at_ms IS NULL OR next_attempt_at_ms <= $5) RETURNING ",
            columns!(),
            ", lease_token, lease_until_ms - $4 - intent_at_ms AS unanswered_ms"
        )
    };
}

/// A refresh that is under way finishes first: what it was given is stored, and whoever ends the connection comes back.
macro_rules! end_by_clock {
    ($now:expr) => {
        concat!(
            "UPDATE connections SET status = $3, reason = $4, ended_at_ms = $5, updated_at_ms = $5, \
             lease_owner = NULL, lease_until_ms = NULL, intent_at_ms = NULL \
             WHERE id = $1 AND generation = $2 AND status = 'active' \
             AND (lease_until_ms IS NULL OR lease_until_ms <= ",
            $now,
            ") RETURNING ",
            columns!()
        )
    };
}

statements! {
    WATCH = watch!(sqlite_now!()), watch!(postgres_now!());

    /// An intent that is open already stays as old as it is: its request may have been acted on.
    TAKE = take!(sqlite_now!()), take!(postgres_now!());

    /// Nothing was sent. An older intent stays.
    RELEASE = "UPDATE connections SET lease_owner = NULL, lease_until_ms = NULL, \
        intent_at_ms = CASE WHEN intent_at_ms < lease_until_ms - $3 THEN intent_at_ms ELSE NULL END \
        WHERE id = $1 AND lease_owner = $2 AND lease_until_ms IS NOT NULL";

    /// The generation that a refused one is replaced by is remembered: it is mended once.
    COMMIT = concat!("UPDATE connections SET access = $4, refresh = $5, granted = $6, access_expires_at_ms = $7, \
        refresh_expires_at_ms = $8, values_json = $11, refreshed_at_ms = $9, updated_at_ms = $9, \
        generation = generation + 1, \
        mended_generation = CASE WHEN refused_generation = generation THEN generation + 1 ELSE mended_generation END, \
        warned_at_ms = CASE WHEN consent_expires_at_ms <= $10 THEN warned_at_ms ELSE NULL END, \
        failures = 0, failure = NULL, next_attempt_at_ms = NULL, \
        lease_owner = NULL, lease_until_ms = NULL, intent_at_ms = NULL \
        WHERE id = $1 AND lease_token = $2 AND generation = $3 AND status = 'active' RETURNING ", columns!());

    FAIL = "UPDATE connections SET failures = failures + 1, failure = $4, next_attempt_at_ms = $5, \
        lease_owner = NULL, lease_until_ms = NULL, intent_at_ms = CASE WHEN $6 THEN intent_at_ms ELSE NULL END \
        WHERE id = $1 AND lease_token = $2 AND generation = $3 AND status = 'active'";

    END = concat!("UPDATE connections SET status = $3, reason = $4, ended_at_ms = $5, updated_at_ms = $5, \
        lease_owner = NULL, lease_until_ms = NULL, intent_at_ms = NULL \
        WHERE id = $1 AND generation = $2 AND lease_token = $6 AND status = 'active' RETURNING ", columns!());

    END_BY_CLOCK = end_by_clock!(sqlite_now!()), end_by_clock!(postgres_now!());
}

#[derive(FromRow)]
struct WatchRow {
    #[sqlx(flatten)]
    connection: ConnectionRow,
    lease_token: i64,
    lease_left_ms: Option<i64>,
}

#[derive(FromRow)]
struct TakenRow {
    #[sqlx(flatten)]
    connection: ConnectionRow,
    lease_token: i64,
    unanswered_ms: i64,
}

/// A connection, and whether somebody refreshes it.
#[derive(Clone, Debug)]
pub struct Watched {
    /// As it is stored, with its refresh token.
    pub connection: Connection,
    /// The latest fence.
    pub lease_token: i64,
    /// How long the lease still stands; none when it is free.
    pub lease_left: Option<Duration>,
}

/// The right to send one refresh token, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Of this connection.
    pub connection: ConnectionId,
    /// At this generation.
    pub generation: i64,
    /// The fence.
    pub token: i64,
    /// Whether an earlier request's outcome was never stored: it may have been acted on.
    pub recovering: bool,
    /// How long ago the first such request began; zero when there was none.
    pub unanswered_for: Duration,
}

/// What a refresh gave, sealed for the generation after the lease's.
#[derive(Debug)]
pub struct Renewed {
    /// The access token and its type.
    pub access: Sealed,
    /// The refresh token, the old one where no new one came.
    pub refresh: Sealed,
    /// What is granted now.
    pub granted: Scopes,
    /// When the access token ends.
    pub access_expires_at: Option<Millis>,
    /// When the refresh token ends.
    pub refresh_expires_at: Option<Millis>,
    /// All values of the connection, with what the answer says anew.
    pub values: Values,
    /// A consent that ends before then has been told of already, if it has.
    pub warned_until: Millis,
}

/// How a refresh failed that ends nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// Why, as a stable code.
    pub code: &'static str,
    /// Not before then is the next one tried.
    pub next_attempt_at: Option<Millis>,
    /// The request may have been acted on: what comes next has to know.
    pub keep_intent: bool,
}

impl Store {
    /// A connection of any MCP server with its lease.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn watch_connection(&self, id: ConnectionId) -> Result<Option<Watched>, StoreError> {
        let row: Option<WatchRow> =
            read!(self, WATCH, |sql, pool| sqlx::query_as(sql).bind(id.0).fetch_optional(pool).await?);
        let Some(WatchRow { connection, lease_token, lease_left_ms }) = row else { return Ok(None) };
        let left = lease_left_ms.and_then(|left| u64::try_from(left).ok()).filter(|left| *left > 0);
        let lease_left = left.map(Duration::from_millis);
        Ok(Some(Watched { connection: connection.try_into()?, lease_token, lease_left }))
    }

    /// Takes the lease of a generation for `length`, with the mark of the intent. `owner` is new for each call. `None`
    /// when somebody has it, the generation has moved, it may not be tried before later, or there is nothing to send.
    ///
    /// # Errors
    /// When the store is unavailable; whether the lease was taken is then unknown, and [`Store::release_lease`] ends it.
    pub async fn take_lease(
        &self,
        id: ConnectionId,
        generation: i64,
        owner: Uuid,
        length: Duration,
        now: Millis,
    ) -> Result<Option<(Lease, Connection)>, StoreError> {
        let row: Option<TakenRow> = write!(self, TAKE, |sql, pool| {
            sqlx::query_as(sql)
                .bind(id.0)
                .bind(generation)
                .bind(owner)
                .bind(millis(length))
                .bind(now.0)
                .fetch_all(pool)
                .await?
                .pop()
        });
        let Some(TakenRow { connection, lease_token, unanswered_ms }) = row else { return Ok(None) };
        let unanswered_for = Duration::from_millis(u64::try_from(unanswered_ms).unwrap_or(0));
        let recovering = !unanswered_for.is_zero();
        let lease = Lease { connection: id, generation, token: lease_token, recovering, unanswered_for };
        Ok(Some((lease, connection.try_into()?)))
    }

    /// Gives a lease back under which nothing was sent. False when it is not this owner's any more.
    ///
    /// # Errors
    /// When the store is unavailable; the lease then runs out by itself.
    pub async fn release_lease(
        &self,
        id: ConnectionId,
        owner: Uuid,
        length: Duration,
    ) -> Result<bool, StoreError> {
        let released = write!(self, RELEASE, |sql, pool| {
            let query = sqlx::query(sql).bind(id.0).bind(owner).bind(millis(length));
            query.execute(pool).await?.rows_affected()
        });
        Ok(released > 0)
    }

    /// Stores what a refresh gave. From this commit on it may be handed out, and not before. `None` when the lease,
    /// the generation or the connection is not what it was: then nothing was changed.
    ///
    /// # Errors
    /// When the store is unavailable; whether it was stored is then unknown, and trying again is safe.
    pub async fn commit_refresh(
        &self,
        lease: &Lease,
        renewed: &Renewed,
        now: Millis,
    ) -> Result<Option<Connection>, StoreError> {
        let row: Option<ConnectionRow> = write!(self, COMMIT, |sql, pool| {
            sqlx::query_as(sql)
                .bind(lease.connection.0)
                .bind(lease.token)
                .bind(lease.generation)
                .bind(renewed.access.as_bytes())
                .bind(renewed.refresh.as_bytes())
                .bind(renewed.granted.to_text())
                .bind(renewed.access_expires_at.map(|at| at.0))
                .bind(renewed.refresh_expires_at.map(|at| at.0))
                .bind(now.0)
                .bind(renewed.warned_until.0)
                .bind(renewed.values.to_json())
                .fetch_all(pool)
                .await?
                .pop()
        });
        row.map(Connection::try_from).transpose()
    }

    /// Notes a failure that ends nothing, and gives the lease back. False when fenced off.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn fail_refresh(&self, lease: &Lease, failing: &Failing) -> Result<bool, StoreError> {
        let failed = write!(self, FAIL, |sql, pool| {
            let query = sqlx::query(sql)
                .bind(lease.connection.0)
                .bind(lease.token)
                .bind(lease.generation)
                .bind(failing.code)
                .bind(failing.next_attempt_at.map(|at| at.0))
                .bind(failing.keep_intent);
            query.execute(pool).await?.rows_affected()
        });
        Ok(failed > 0)
    }

    /// Ends a connection because its refresh showed that it is dead or another account's, with its one signal. Its
    /// tokens stay, sealed. `None` when fenced off.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing was changed.
    pub async fn end_refresh(
        &self,
        lease: &Lease,
        status: Status,
        reason: &str,
        now: Millis,
    ) -> Result<Option<Connection>, StoreError> {
        let mut tx = self.begin_tx().await?;
        let row = within!(&mut tx, END, |sql, handle| {
            let query = sqlx::query_as(sql).bind(lease.connection.0).bind(lease.generation);
            let query = query.bind(status.as_str()).bind(reason).bind(now.0).bind(lease.token);
            query.fetch_optional(handle).await?
        });
        self.ended(tx, row, status, reason, now).await
    }

    /// Ends a connection whose time is over, with its one signal. `None` when it moved, is not active, or somebody
    /// refreshes it: then it is asked again when that is over.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing was changed.
    pub async fn end_by_clock(
        &self,
        id: ConnectionId,
        generation: i64,
        reason: &str,
        now: Millis,
    ) -> Result<Option<Connection>, StoreError> {
        let status = Status::NeedsReconnect;
        let mut tx = self.begin_tx().await?;
        let row = within!(&mut tx, END_BY_CLOCK, |sql, handle| {
            let query = sqlx::query_as(sql).bind(id.0).bind(generation).bind(status.as_str());
            query.bind(reason).bind(now.0).fetch_optional(handle).await?
        });
        self.ended(tx, row, status, reason, now).await
    }

    /// Commits an end with all that tells of it; nothing where no row was ended.
    async fn ended(
        &self,
        mut tx: Tx,
        row: Option<ConnectionRow>,
        status: Status,
        reason: &str,
        now: Millis,
    ) -> Result<Option<Connection>, StoreError> {
        let Some(row) = row else { return Ok(None) };
        let ended = Connection::try_from(row)?;
        tx.queue_connection(&ended, Kind::ConnectionNeedsReconnect, Some(reason), self.random, now).await?;
        let kind = match status {
            Status::Quarantined => audit::Kind::Quarantined,
            Status::Active | Status::NeedsReconnect => audit::Kind::NeedsReconnect,
        };
        tx.audit(Entry::new(kind, Actor::Program, &ended, now).because(reason));
        tx.commit().await?;
        self.announce(std::slice::from_ref(&ended.server));
        Ok(Some(ended))
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
