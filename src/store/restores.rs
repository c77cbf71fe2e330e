//! A restored database: refresh tokens of which nobody knows whether the provider has replaced them since (R107).
//!
//! Each gets the mark that a refresh with a lost outcome leaves (`intent_at_ms`), so that a refusal is told as a lost
//! rotation; and a next attempt that never comes, so that no replica, of this version or of an older one, begins a
//! refresh before they are let go. Reading and handing out know nothing of it.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    elicitations::corrupt,
    leases::{postgres_now, sqlite_now},
    statements::statements,
    tx::{read, within},
};
use crate::{
    audit::{About, Actor, Entry, Kind},
    clock::Millis,
    connection::ConnectionId,
    elicitation::ProviderId,
};

/// Why a refresh is not tried, as `failure` has it.
pub const RESTORED: &str = "restored";
/// The end of the year 9999: nothing waits for that long.
const NEVER: i64 = 253_402_300_799_999;
/// More signals than an MCP server has had between a copy and its return.
const SKIPPED: i64 = 1_000_000_000;

statements! {
    /// Later than the last, also where the restored row is of a clock ahead of this one.
    DECLARE = concat!("INSERT INTO restores (at_ms, connections) VALUES (MAX(", sqlite_now!(),
            ", COALESCE((SELECT MAX(at_ms) + 1 FROM restores), 0)), 0) RETURNING at_ms"),
        concat!("INSERT INTO restores (at_ms, connections) VALUES (GREATEST(", postgres_now!(),
            ", COALESCE((SELECT MAX(at_ms) + 1 FROM restores), 0)), 0) RETURNING at_ms");

    /// A lease that stands is of a process that runs: it may settle.
    DOUBT = "UPDATE connections SET restored_at_ms = $1, intent_at_ms = $1, next_attempt_at_ms = $2, failure = $3 \
        WHERE status = 'active' AND refresh IS NOT NULL";

    /// What an earlier restore still held back is in doubt anew; the rest of it is settled.
    FORGET_EARLIER = "UPDATE connections SET restored_at_ms = NULL WHERE restored_at_ms <> $1";

    /// Signals after the copy was made had numbers too: a reader that has seen them must not pass over those to come.
    SKIP = "UPDATE signal_heads SET sequence = sequence + $1 WHERE sequence > 0";

    NOTE = "UPDATE restores SET connections = $2 WHERE at_ms = $1";

    LATEST = "SELECT at_ms, connections, released_at_ms FROM restores ORDER BY at_ms DESC LIMIT 1";

    LET_GO = "UPDATE connections SET next_attempt_at_ms = NULL, failure = NULL \
        WHERE restored_at_ms = $1 AND failure = $2";

    NOTE_LET_GO = "UPDATE restores SET released_at_ms = COALESCE(released_at_ms, $2) WHERE at_ms = $1";

    IN_DOUBT = "SELECT id, generation FROM connections WHERE restored_at_ms = $1 AND intent_at_ms = $1 \
        AND status = 'active' AND provider = $2 AND ($3 IS NULL OR id > $3) ORDER BY id LIMIT $4";

    TALLY = "SELECT provider, \
        CAST(COUNT(CASE WHEN status = 'active' AND intent_at_ms = $1 THEN 1 END) AS BIGINT) AS in_doubt, \
        CAST(COUNT(CASE WHEN status = 'active' AND (intent_at_ms IS NULL OR intent_at_ms <> $1) THEN 1 END) AS BIGINT) \
            AS renewed, \
        CAST(COUNT(CASE WHEN status <> 'active' AND reason = 'rotation_lost' THEN 1 END) AS BIGINT) AS lost, \
        CAST(COUNT(CASE WHEN status <> 'active' AND reason <> 'rotation_lost' THEN 1 END) AS BIGINT) AS ended \
        FROM connections WHERE restored_at_ms = $1 GROUP BY provider ORDER BY provider";
}

/// A restore that the operator has declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restore {
    /// When, on the database's clock; its name.
    pub at: Millis,
    /// Connections whose refresh tokens are in doubt since.
    pub connections: i64,
    /// When refreshes were let go on; held back until then.
    pub released_at: Option<Millis>,
}

/// What has become of the connections of one provider that a restore left in doubt. Those that were removed or
/// connected anew since are in none of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The provider.
    pub provider: ProviderId,
    /// Not known yet.
    pub in_doubt: i64,
    /// The provider took the stored token.
    pub renewed: i64,
    /// The provider did not: `rotation_lost`.
    pub lost: i64,
    /// Ended for any other reason.
    pub ended: i64,
}

#[derive(FromRow)]
struct TallyRow {
    provider: String,
    in_doubt: i64,
    renewed: i64,
    lost: i64,
    ended: i64,
}

impl Store {
    /// Declares that the database was restored: every active connection with a refresh token is in doubt, and from this
    /// commit on no replica begins to refresh one before [`Store::let_refreshes_go`]. Signals get numbers that were never
    /// given.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing has changed.
    pub async fn declare_restored(&self, now: Millis) -> Result<Restore, StoreError> {
        let mut tx = self.begin_tx().await?;
        let at: i64 =
            within!(&mut tx, DECLARE, |sql, handle| sqlx::query_scalar(sql).fetch_one(handle).await?);
        let doubted = within!(&mut tx, DOUBT, |sql, handle| {
            sqlx::query(sql).bind(at).bind(NEVER).bind(RESTORED).execute(handle).await?.rows_affected()
        });
        within!(&mut tx, FORGET_EARLIER, |sql, handle| {
            sqlx::query(sql).bind(at).execute(handle).await?.rows_affected()
        });
        within!(&mut tx, SKIP, |sql, handle| {
            sqlx::query(sql).bind(SKIPPED).execute(handle).await?.rows_affected()
        });
        let connections = i64::try_from(doubted).unwrap_or(i64::MAX);
        within!(&mut tx, NOTE, |sql, handle| {
            sqlx::query(sql).bind(at).bind(connections).execute(handle).await?.rows_affected()
        });
        let entry = Entry::new(Kind::Restored, Actor::Operator, About::default(), now);
        tx.audit(Entry { times: connections, ..entry });
        tx.commit().await?;
        Ok(Restore { at: Millis(at), connections, released_at: None })
    }

    /// The latest restore that was declared.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn latest_restore(&self) -> Result<Option<Restore>, StoreError> {
        let row: Option<(i64, i64, Option<i64>)> =
            read!(self, LATEST, |sql, pool| sqlx::query_as(sql).fetch_optional(pool).await?);
        Ok(row.map(|(at, connections, released)| Restore {
            at: Millis(at),
            connections,
            released_at: released.map(Millis),
        }))
    }

    /// Lets what a restore has held back be refreshed again, by whoever needs it. The doubt stays with each until its
    /// provider has answered.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing has changed.
    pub async fn let_refreshes_go(&self, restore: &Restore, now: Millis) -> Result<(), StoreError> {
        let mut tx = self.begin_tx().await?;
        within!(&mut tx, LET_GO, |sql, handle| {
            sqlx::query(sql).bind(restore.at.0).bind(RESTORED).execute(handle).await?.rows_affected()
        });
        within!(&mut tx, NOTE_LET_GO, |sql, handle| {
            sqlx::query(sql).bind(restore.at.0).bind(now.0).execute(handle).await?.rows_affected()
        });
        tx.commit().await
    }

    /// A page of a provider's connections that a restore left in doubt, each with its generation, in the order of their
    /// ids.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn in_doubt(
        &self,
        restore: &Restore,
        provider: &ProviderId,
        after: Option<ConnectionId>,
        limit: u32,
    ) -> Result<Vec<(ConnectionId, i64)>, StoreError> {
        let rows: Vec<(Uuid, i64)> = read!(self, IN_DOUBT, |sql, pool| {
            sqlx::query_as(sql)
                .bind(restore.at.0)
                .bind(provider.as_str())
                .bind(after.map(|id| id.0))
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        Ok(rows.into_iter().map(|(id, generation)| (ConnectionId(id), generation)).collect())
    }

    /// What has become of all that a restore left in doubt, by provider.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn restore_tally(&self, restore: &Restore) -> Result<Vec<Tally>, StoreError> {
        let rows: Vec<TallyRow> =
            read!(self, TALLY, |sql, pool| sqlx::query_as(sql).bind(restore.at.0).fetch_all(pool).await?);
        rows.into_iter()
            .map(|row| {
                Ok(Tally {
                    provider: row.provider.parse().map_err(corrupt("connections", "provider"))?,
                    in_doubt: row.in_doubt,
                    renewed: row.renewed,
                    lost: row.lost,
                    ended: row.ended,
                })
            })
            .collect()
    }
}
