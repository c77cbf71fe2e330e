//! Connections whose time runs out: walked through by id, told of ahead, and emptied after their end.
//!
//! There is no index on what changes, so the walk reads the table page by page in the order of its key.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    connections::{ConnectionRow, columns, fingerprint_of, values_of},
    elicitations::corrupt,
    statements::statements,
    tx::{read, within, write},
};
use crate::{
    clock::Millis,
    connection::{Connection, ConnectionId, Status},
    elicitation::ProviderId,
    secret::Hash,
    signal::Kind,
    values::Values,
};

statements! {
    WALK = "SELECT id, provider, generation, status, refresh IS NOT NULL AS can_refresh, refresh_expires_at_ms, \
        consent_expires_at_ms, refreshed_at_ms, warned_at_ms, ended_at_ms, refused_generation, mended_generation, \
        grant_number, values_json, fingerprint FROM connections WHERE id > $1 ORDER BY id LIMIT $2";

    /// Told once; a later refresh that moves the end makes room for another.
    WARN = concat!("UPDATE connections SET warned_at_ms = $3 WHERE id = $1 AND generation = $2 \
        AND status = 'active' AND warned_at_ms IS NULL RETURNING ", columns!());

    FORGET = "UPDATE connections SET refresh = NULL WHERE id = $1 AND status <> 'active' AND ended_at_ms < $2 \
        AND refresh IS NOT NULL";
}

#[derive(FromRow)]
struct ClockedRow {
    id: Uuid,
    provider: String,
    generation: i64,
    status: String,
    can_refresh: bool,
    refresh_expires_at_ms: Option<i64>,
    consent_expires_at_ms: Option<i64>,
    refreshed_at_ms: Option<i64>,
    warned_at_ms: Option<i64>,
    ended_at_ms: Option<i64>,
    refused_generation: Option<i64>,
    mended_generation: Option<i64>,
    grant_number: i64,
    values_json: Option<String>,
    fingerprint: Option<Vec<u8>>,
}

/// What the clocks of a connection say, without its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clocked {
    /// Which.
    pub id: ConnectionId,
    /// For which provider.
    pub provider: ProviderId,
    /// Its present generation.
    pub generation: i64,
    /// Whether it is active.
    pub status: Status,
    /// Whether it has a refresh token.
    pub can_refresh: bool,
    /// When the refresh token ends.
    pub refresh_expires_at: Option<Millis>,
    /// When the consent ends.
    pub consent_expires_at: Option<Millis>,
    /// When the present tokens were received.
    pub refreshed_at: Option<Millis>,
    /// When its end was told of ahead.
    pub warned_at: Option<Millis>,
    /// When it stopped being active.
    pub ended_at: Option<Millis>,
    /// Whether its token was refused after it was made anew for a refusal.
    pub refused_again: bool,
    /// The consent.
    pub grant: i64,
    /// Its values.
    pub values: Values,
    /// The digest of the place that it is for.
    pub fingerprint: Option<Hash>,
}

impl TryFrom<ClockedRow> for Clocked {
    type Error = StoreError;

    fn try_from(row: ClockedRow) -> Result<Self, StoreError> {
        const TABLE: &str = "connections";
        Ok(Self {
            id: ConnectionId(row.id),
            provider: row.provider.parse().map_err(corrupt(TABLE, "provider"))?,
            generation: row.generation,
            status: row.status.parse().map_err(corrupt(TABLE, "status"))?,
            can_refresh: row.can_refresh,
            refresh_expires_at: row.refresh_expires_at_ms.map(Millis),
            consent_expires_at: row.consent_expires_at_ms.map(Millis),
            refreshed_at: row.refreshed_at_ms.map(Millis),
            warned_at: row.warned_at_ms.map(Millis),
            ended_at: row.ended_at_ms.map(Millis),
            refused_again: [row.refused_generation, row.mended_generation] == [Some(row.generation); 2],
            grant: row.grant_number,
            values: values_of(TABLE, row.values_json.as_deref())?,
            fingerprint: fingerprint_of(TABLE, row.fingerprint)?,
        })
    }
}

impl Store {
    /// A page of connections in the order of their ids; from the beginning without `after`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn walk_connections(
        &self,
        after: Option<ConnectionId>,
        limit: u32,
    ) -> Result<Vec<Clocked>, StoreError> {
        let after = after.map_or(Uuid::nil(), |id| id.0);
        let rows: Vec<ClockedRow> = read!(self, WALK, |sql, pool| {
            sqlx::query_as(sql).bind(after).bind(i64::from(limit)).fetch_all(pool).await?
        });
        rows.into_iter().map(Clocked::try_from).collect()
    }

    /// Tells once that a connection ends soon; it stays active. False when it was told, or has moved.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing was told.
    pub async fn warn_connection(
        &self,
        id: ConnectionId,
        generation: i64,
        reason: &str,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        let row: Option<ConnectionRow> = within!(&mut tx, WARN, |sql, handle| {
            sqlx::query_as(sql).bind(id.0).bind(generation).bind(now.0).fetch_optional(handle).await?
        });
        let Some(row) = row else { return Ok(false) };
        let warned = Connection::try_from(row)?;
        tx.queue_connection(&warned, Kind::ConnectionNeedsReconnect, Some(reason), self.random, now).await?;
        tx.commit().await?;
        self.announce(std::slice::from_ref(&warned.server));
        Ok(true)
    }

    /// Deletes the refresh token of a connection that ended before `before`. It was never sent since.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn forget_refresh(&self, id: ConnectionId, before: Millis) -> Result<bool, StoreError> {
        let forgotten = write!(self, FORGET, |sql, pool| {
            sqlx::query(sql).bind(id.0).bind(before.0).execute(pool).await?.rows_affected()
        });
        Ok(forgotten > 0)
    }
}
