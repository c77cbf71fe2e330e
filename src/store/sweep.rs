//! Housekeeping: what ran out is closed with its signal, what is old is deleted.
//!
//! Nothing depends on it for correctness: expiry is decided when a row is read (R10).

use super::{
    Store, StoreError,
    attempts::FINISH_MS,
    elicitations::{ElicitationRow, columns as elicitation_columns},
    statements::{Statement, statements},
    tx::{read, within, write},
};
use crate::{
    clock::Millis,
    elicitation::{Elicitation, ElicitationId},
    signal::Kind,
};

statements! {
    /// Those that ran out; one with a claimed attempt may still finish for a minute.
    DUE = "SELECT id FROM elicitations WHERE state IN ('pending', 'authorizing') AND expires_at_ms <= $1 \
        AND (attempt_until_ms IS NULL OR attempt_until_ms <= $1) ORDER BY expires_at_ms LIMIT $2";

    EXPIRE = concat!("UPDATE elicitations SET state = 'expired', reason = 'expired', closed_at_ms = $2, \
        reuse_key = NULL, attempt_until_ms = NULL \
        WHERE id = $1 AND state IN ('pending', 'authorizing') AND expires_at_ms <= $2 \
        AND (attempt_until_ms IS NULL OR attempt_until_ms <= $2) RETURNING ", elicitation_columns!());

    /// Open ones whose owner has an active connection that they did not see when they were made.
    SATISFIABLE = concat!("SELECT ", elicitation_columns!(), " FROM elicitations \
        WHERE state IN ('pending', 'authorizing') AND expires_at_ms > $1 AND EXISTS (SELECT 1 FROM connections c \
            WHERE c.server = elicitations.server AND c.issuer = elicitations.issuer AND c.sub = elicitations.sub \
            AND c.provider = elicitations.provider AND c.status = 'active' \
            AND (elicitations.seen_grant IS NULL OR elicitations.seen_connection <> c.id \
                OR elicitations.seen_grant <> c.grant_number)) ORDER BY created_at_ms LIMIT $2");

    PURGE_ELICITATIONS = "DELETE FROM elicitations WHERE id IN (\
        SELECT id FROM elicitations WHERE closed_at_ms < $1 ORDER BY closed_at_ms LIMIT $2)";

    /// Not what is still to be posted, or may be replayed.
    PURGE_SIGNALS = "DELETE FROM signals WHERE id IN (SELECT s.id FROM signals s WHERE s.at_ms < $1 \
        AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.signal = s.id AND d.state IN ('due', 'dead')) \
        ORDER BY s.at_ms LIMIT $2)";

    PURGE_IDEMPOTENCY = "DELETE FROM idempotency_keys WHERE (server, key_hash) IN (\
        SELECT server, key_hash FROM idempotency_keys WHERE created_at_ms < $1 ORDER BY created_at_ms LIMIT $2)";

    /// A process that died between claim and settle leaves a claimed attempt; its code is lost either way.
    ABANDON = "UPDATE attempts SET state = 'settled', outcome = 'unreachable', verifier = NULL, \
        settled_at_ms = $1 WHERE state = 'claimed' AND claimed_at_ms < $2";
}

impl Store {
    /// Closes up to `limit` elicitations that ran out, each with its one signal. Gives how many it closed.
    ///
    /// # Errors
    /// When the store is unavailable; those closed before stay closed.
    pub async fn expire_due(&self, now: Millis, limit: u32) -> Result<usize, StoreError> {
        let due: Vec<uuid::Uuid> = read!(self, DUE, |sql, pool| {
            sqlx::query_scalar(sql).bind(now.0).bind(i64::from(limit)).fetch_all(pool).await?
        });
        let mut closed = 0;
        for id in due {
            if self.expire(ElicitationId(id), now).await? {
                closed += 1;
            }
        }
        Ok(closed)
    }

    /// Closes one elicitation that ran out, with its signal. False when it did not, or is closed.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn expire(&self, id: ElicitationId, now: Millis) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        let row: Option<ElicitationRow> = within!(&mut tx, EXPIRE, |sql, connection| {
            sqlx::query_as(sql).bind(id.0).bind(now.0).fetch_optional(connection).await?
        });
        let Some(row) = row else { return Ok(false) };
        let expired = Elicitation::try_from(row)?;
        tx.end_attempts(expired.id, now).await?;
        tx.queue_end(&expired, Kind::ElicitationExpired, self.random, now).await?;
        tx.commit().await?;
        self.announce(&[expired.server]);
        Ok(true)
    }

    /// Up to `limit` open elicitations that a connection may have come to satisfy without them; whether its
    /// permissions suffice is for the caller to say.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn satisfiable(&self, now: Millis, limit: u32) -> Result<Vec<Elicitation>, StoreError> {
        let rows: Vec<ElicitationRow> = read!(self, SATISFIABLE, |sql, pool| {
            sqlx::query_as(sql).bind(now.0).bind(i64::from(limit)).fetch_all(pool).await?
        });
        rows.into_iter().map(Elicitation::try_from).collect()
    }

    /// Ends attempts whose process died between claim and settle.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn abandon(&self, now: Millis) -> Result<(), StoreError> {
        let died_before = now.0.saturating_sub(FINISH_MS);
        write!(self, ABANDON, |sql, pool| {
            sqlx::query(sql).bind(now.0).bind(died_before).execute(pool).await?.rows_affected()
        });
        Ok(())
    }

    /// Deletes up to `limit` elicitations that were closed before `before`, with their attempts. Gives how many went, as
    /// every purge does: fewer than the limit when no more are there.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_elicitations(&self, before: Millis, limit: u32) -> Result<u64, StoreError> {
        self.purge_older(&PURGE_ELICITATIONS, before, limit).await
    }

    /// Deletes up to `limit` signals from before `before` that no delivery waits for.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_signals(&self, before: Millis, limit: u32) -> Result<u64, StoreError> {
        self.purge_older(&PURGE_SIGNALS, before, limit).await
    }

    /// Deletes up to `limit` idempotency keys that were used before `before`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_idempotency_keys(&self, before: Millis, limit: u32) -> Result<u64, StoreError> {
        self.purge_older(&PURGE_IDEMPOTENCY, before, limit).await
    }

    /// Runs a statement that deletes some rows that are older than an instant.
    pub(super) async fn purge_older(
        &self,
        statement: &'static Statement,
        before: Millis,
        limit: u32,
    ) -> Result<u64, StoreError> {
        Ok(write!(self, statement, |sql, pool| {
            sqlx::query(sql).bind(before.0).bind(i64::from(limit)).execute(pool).await?.rows_affected()
        }))
    }
}
