//! Deliveries: queued with the signal that they tell, taken by one process at a time, put off until the receiver has
//! taken them or they are given up.

use std::{collections::HashSet, sync::Arc};

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    elicitations::corrupt,
    signals::{SignalRow, columns as signal_columns},
    statements::statements,
    tx::{Tx, read, within, write},
};
use crate::{
    clock::Millis,
    delivery::{Claimed, Failure, Listed, State},
    elicitation::ServerId,
    secret::Hash,
    signal::{Signal, SignalId},
};

/// The MCP servers that have a webhook.
pub(super) type Posted = Arc<HashSet<ServerId>>;

statements! {
    QUEUE = "INSERT INTO deliveries (signal, server, sequence, state, tries, next_at_ms, created_at_ms) \
        VALUES ($1, $2, $3, 'due', 0, $4, $4)";

    /// Nothing for a receiver that has said that it is gone. A process that comes second finds the claim of the first,
    /// because the guard is looked at again in the row that it waited for.
    CLAIM = "UPDATE deliveries SET claimed_until_ms = $5 WHERE signal IN (\
        SELECT signal FROM deliveries WHERE server = $1 AND state = 'due' AND next_at_ms <= $4 \
            AND (claimed_until_ms IS NULL OR claimed_until_ms <= $4) ORDER BY next_at_ms, sequence LIMIT $3) \
        AND state = 'due' AND next_at_ms <= $4 AND (claimed_until_ms IS NULL OR claimed_until_ms <= $4) \
        AND NOT EXISTS (SELECT 1 FROM webhook_receivers r WHERE r.server = $1 AND r.url_hash = $2) \
        RETURNING signal, sequence, tries";

    SIGNAL = concat!("SELECT ", signal_columns!(), " FROM signals WHERE id = $1");

    /// Whoever heard it: the receiver has it.
    DELIVERED = "UPDATE deliveries SET state = 'delivered', tries = tries + 1, last_status = $2, last_error = NULL, \
        claimed_until_ms = NULL, done_at_ms = $3 WHERE signal = $1 AND state = 'due'";

    /// Only by whoever holds the claim. A try counts when its outcome is known: one whose process died costs the receiver
    /// none of its tries.
    FAILED = "UPDATE deliveries SET state = $3, tries = tries + 1, next_at_ms = $4, last_status = $5, last_error = $6, \
        done_at_ms = $7, claimed_until_ms = NULL WHERE signal = $1 AND state = 'due' AND claimed_until_ms = $2";

    DISABLE = "INSERT INTO webhook_receivers (server, url_hash, disabled_at_ms) VALUES ($1, $2, $3) \
        ON CONFLICT (server) DO UPDATE SET url_hash = excluded.url_hash, disabled_at_ms = excluded.disabled_at_ms";

    ENABLE = "DELETE FROM webhook_receivers WHERE server = $1";

    DISABLED = "SELECT disabled_at_ms FROM webhook_receivers WHERE server = $1 AND url_hash = $2";

    /// What waited for the receiver does not wait for its next step as well.
    HURRY = "UPDATE deliveries SET next_at_ms = $2 WHERE server = $1 AND state = 'due' AND next_at_ms > $2";

    LIST = "SELECT d.signal, d.server, d.sequence, s.kind, d.state, d.tries, d.next_at_ms, d.last_status, d.last_error, \
        d.created_at_ms, d.done_at_ms FROM deliveries d LEFT JOIN signals s ON s.id = d.signal \
        WHERE ($1 IS NULL OR d.server = $1) AND ($2 IS NULL OR d.state = $2) \
        ORDER BY d.created_at_ms DESC, d.sequence DESC LIMIT $3";

    SERVER = "SELECT server FROM deliveries WHERE signal = $1";

    /// Not one that is on its way at this moment.
    REPLAY = "UPDATE deliveries SET state = 'due', tries = 0, next_at_ms = $2, claimed_until_ms = NULL, \
        done_at_ms = NULL WHERE signal = $1 \
        AND (state IN ('delivered', 'dead', 'dropped') OR claimed_until_ms IS NULL OR claimed_until_ms <= $2) \
        AND EXISTS (SELECT 1 FROM signals s WHERE s.id = $1)";

    REPLAY_DEAD = "UPDATE deliveries SET state = 'due', tries = 0, next_at_ms = $2, claimed_until_ms = NULL, \
        done_at_ms = NULL WHERE server = $1 AND state = 'dead'";

    BACKLOG = "SELECT CAST(COUNT(*) AS BIGINT) AS number, MIN(created_at_ms) AS oldest FROM deliveries \
        WHERE server = $1 AND state = $2";

    WAITING = "SELECT DISTINCT server FROM deliveries WHERE state = 'due' AND created_at_ms < $1";

    DROP = "UPDATE deliveries SET state = 'dropped', claimed_until_ms = NULL, done_at_ms = $3 \
        WHERE server = $1 AND state = 'due' AND created_at_ms < $2";

    PURGE_DONE = "DELETE FROM deliveries WHERE signal IN (\
        SELECT signal FROM deliveries WHERE done_at_ms < $1 ORDER BY done_at_ms LIMIT $2)";

    PURGE_QUEUED = "DELETE FROM deliveries WHERE signal IN (\
        SELECT signal FROM deliveries WHERE created_at_ms < $1 ORDER BY created_at_ms LIMIT $2)";
}

#[derive(FromRow)]
struct ListedRow {
    signal: Uuid,
    server: String,
    sequence: i64,
    kind: Option<String>,
    state: String,
    tries: i64,
    next_at_ms: i64,
    last_status: Option<i64>,
    last_error: Option<String>,
    created_at_ms: i64,
    done_at_ms: Option<i64>,
}

const TABLE: &str = "deliveries";

impl TryFrom<ListedRow> for Listed {
    type Error = StoreError;

    fn try_from(row: ListedRow) -> Result<Self, StoreError> {
        Ok(Self {
            signal: SignalId(row.signal),
            server: row.server.parse().map_err(corrupt(TABLE, "server"))?,
            sequence: row.sequence,
            kind: row.kind,
            state: row.state.parse().map_err(corrupt(TABLE, "state"))?,
            tries: row.tries,
            next_at: Millis(row.next_at_ms),
            last_status: row.last_status,
            last_error: row.last_error,
            created_at: Millis(row.created_at_ms),
            done_at: row.done_at_ms.map(Millis),
        })
    }
}

/// What waits for one MCP server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// How many.
    pub number: i64,
    /// Since when the oldest does.
    pub oldest: Option<Millis>,
}

impl Store {
    /// From now on each signal of one of these MCP servers is also queued for its webhook.
    #[must_use]
    pub fn posting(mut self, servers: impl IntoIterator<Item = ServerId>) -> Self {
        self.posted = Arc::new(servers.into_iter().collect());
        self
    }

    /// Takes up to `limit` deliveries that are due for the receiver at this URL (by its hash), in the order of their
    /// turns. Until `until` nobody else gets them.
    ///
    /// # Errors
    /// When the store is unavailable; what was taken comes back when its claim ends.
    pub async fn claim_deliveries(
        &self,
        server: &ServerId,
        url: &Hash,
        limit: u32,
        now: Millis,
        until: Millis,
    ) -> Result<Vec<Claimed>, StoreError> {
        let mut rows: Vec<(Uuid, i64, i64)> = write!(self, CLAIM, |sql, pool| {
            sqlx::query_as(sql)
                .bind(server.as_str())
                .bind(url.as_bytes())
                .bind(i64::from(limit))
                .bind(now.0)
                .bind(until.0)
                .fetch_all(pool)
                .await?
        });
        rows.sort_unstable_by_key(|(_, sequence, _)| *sequence);
        let mut claimed = Vec::with_capacity(rows.len());
        for (id, _, tries) in rows {
            let signal: Option<SignalRow> =
                read!(self, SIGNAL, |sql, pool| sqlx::query_as(sql).bind(id).fetch_optional(pool).await?);
            match signal.map(Signal::try_from) {
                Some(Ok(signal)) => claimed.push(Claimed { signal, tries: tries + 1, claimed_until: until }),
                // One that cannot be told must not keep the others back.
                unreadable => {
                    tracing::error!(webhook = %id, missing = unreadable.is_none(), "a signal cannot be read");
                    let failure = Failure { status: None, code: "signal_unreadable" };
                    self.fail_delivery(SignalId(id), until, State::Dropped, now, failure, now).await?;
                }
            }
        }
        Ok(claimed)
    }

    /// The receiver has taken it.
    ///
    /// # Errors
    /// When the store is unavailable; then it is posted again.
    pub async fn delivered(&self, signal: SignalId, status: u16, now: Millis) -> Result<(), StoreError> {
        write!(self, DELIVERED, |sql, pool| {
            sqlx::query(sql)
                .bind(signal.0)
                .bind(i64::from(status))
                .bind(now.0)
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(())
    }

    /// Puts a delivery off, for whoever holds this claim; without a next try it is dead.
    ///
    /// # Errors
    /// When the store is unavailable; then the claim ends by itself.
    pub async fn put_delivery_off(
        &self,
        claimed: &Claimed,
        next: Option<Millis>,
        failure: Failure,
        now: Millis,
    ) -> Result<(), StoreError> {
        let state = if next.is_some() { State::Due } else { State::Dead };
        let next = next.unwrap_or(now);
        self.fail_delivery(claimed.signal.id, claimed.claimed_until, state, next, failure, now).await
    }

    async fn fail_delivery(
        &self,
        signal: SignalId,
        claim: Millis,
        state: State,
        next: Millis,
        failure: Failure,
        now: Millis,
    ) -> Result<(), StoreError> {
        let done_at = (state != State::Due).then_some(now.0);
        write!(self, FAILED, |sql, pool| {
            sqlx::query(sql)
                .bind(signal.0)
                .bind(claim.0)
                .bind(state.as_str())
                .bind(next.0)
                .bind(failure.status.map(i64::from))
                .bind(failure.code)
                .bind(done_at)
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(())
    }

    /// The receiver at this URL (by its hash) is gone: nothing is posted to it until it is enabled, or the settings
    /// name another.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn disable_receiver(
        &self,
        server: &ServerId,
        url: &Hash,
        now: Millis,
    ) -> Result<(), StoreError> {
        write!(self, DISABLE, |sql, pool| {
            sqlx::query(sql)
                .bind(server.as_str())
                .bind(url.as_bytes())
                .bind(now.0)
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(())
    }

    /// Posts to a receiver again that had said it was gone. False when it had not.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn enable_receiver(&self, server: &ServerId, now: Millis) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        let removed = within!(&mut tx, ENABLE, |sql, connection| {
            sqlx::query(sql).bind(server.as_str()).execute(connection).await?.rows_affected()
        });
        within!(&mut tx, HURRY, |sql, connection| {
            sqlx::query(sql).bind(server.as_str()).bind(now.0).execute(connection).await?;
        });
        tx.commit().await?;
        Ok(removed > 0)
    }

    /// When the receiver at this URL (by its hash) has said that it is gone.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn receiver_disabled(
        &self,
        server: &ServerId,
        url: &Hash,
    ) -> Result<Option<Millis>, StoreError> {
        let at: Option<i64> = read!(self, DISABLED, |sql, pool| {
            sqlx::query_scalar(sql).bind(server.as_str()).bind(url.as_bytes()).fetch_optional(pool).await?
        });
        Ok(at.map(Millis))
    }

    /// Deliveries, the newest first; `None` is any.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn deliveries(
        &self,
        server: Option<&ServerId>,
        state: Option<State>,
        limit: u32,
    ) -> Result<Vec<Listed>, StoreError> {
        let rows: Vec<ListedRow> = read!(self, LIST, |sql, pool| {
            sqlx::query_as(sql)
                .bind(server.map(ServerId::as_str))
                .bind(state.map(State::as_str))
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        rows.into_iter().map(Listed::try_from).collect()
    }

    /// The MCP server that a delivery is for.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn delivery_server(&self, signal: SignalId) -> Result<Option<ServerId>, StoreError> {
        let server: Option<String> = read!(self, SERVER, |sql, pool| sqlx::query_scalar(sql)
            .bind(signal.0)
            .fetch_optional(pool)
            .await?);
        server.map(|id| id.parse().map_err(corrupt(TABLE, "server"))).transpose()
    }

    /// Posts a signal again from the first try on, whatever became of it. False when it is not kept any more, or is on
    /// its way at this moment.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn replay_delivery(&self, signal: SignalId, now: Millis) -> Result<bool, StoreError> {
        let rows = write!(self, REPLAY, |sql, pool| {
            sqlx::query(sql).bind(signal.0).bind(now.0).execute(pool).await?.rows_affected()
        });
        Ok(rows > 0)
    }

    /// Posts everything again that was given up for an MCP server, and says how much that is.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn replay_dead(&self, server: &ServerId, now: Millis) -> Result<u64, StoreError> {
        let rows = write!(self, REPLAY_DEAD, |sql, pool| {
            sqlx::query(sql).bind(server.as_str()).bind(now.0).execute(pool).await?.rows_affected()
        });
        Ok(rows)
    }

    /// How much of an MCP server's is in a state.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn backlog(&self, server: &ServerId, state: State) -> Result<Backlog, StoreError> {
        let (number, oldest): (i64, Option<i64>) = read!(self, BACKLOG, |sql, pool| {
            sqlx::query_as(sql).bind(server.as_str()).bind(state.as_str()).fetch_one(pool).await?
        });
        Ok(Backlog { number, oldest: oldest.map(Millis) })
    }

    /// Drops what was queued before `before` for an MCP server that has no webhook any more (R115). What is younger may
    /// be that of a process with newer settings.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn drop_unposted(&self, before: Millis, now: Millis) -> Result<u64, StoreError> {
        let waiting: Vec<String> = read!(self, WAITING, |sql, pool| {
            sqlx::query_scalar(sql).bind(before.0).fetch_all(pool).await?
        });
        let is_posted = |server: &str| self.posted.iter().any(|posted| posted.as_str() == server);
        let mut dropped = 0;
        for server in waiting.iter().filter(|server| !is_posted(server)) {
            dropped += write!(self, DROP, |sql, pool| {
                sqlx::query(sql).bind(server).bind(before.0).bind(now.0).execute(pool).await?.rows_affected()
            });
        }
        Ok(dropped)
    }

    /// Deletes up to `limit` that ended before `before`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_deliveries(&self, before: Millis, limit: u32) -> Result<u64, StoreError> {
        self.purge_older(&PURGE_DONE, before, limit).await
    }

    /// Deletes up to `limit` that were queued before `before`, and never came to an end or did long ago.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_stale_deliveries(&self, before: Millis, limit: u32) -> Result<u64, StoreError> {
        self.purge_older(&PURGE_QUEUED, before, limit).await
    }
}

impl Tx {
    /// Queues a signal for its MCP server's webhook, where there is one.
    pub(super) async fn queue_delivery(&mut self, signal: &Signal, sequence: i64) -> Result<(), StoreError> {
        if !self.posted.contains(&signal.server) {
            return Ok(());
        }
        within!(self, QUEUE, |sql, connection| {
            sqlx::query(sql)
                .bind(signal.id.0)
                .bind(signal.server.as_str())
                .bind(sequence)
                .bind(signal.at.0)
                .execute(connection)
                .await?;
        });
        Ok(())
    }
}
