//! When each connection was last handed out: a narrow table, written at most once a minute for a connection, and never
//! by a request.

use std::collections::HashMap;

use uuid::Uuid;

use super::{
    Store, StoreError,
    connections::{ConnectionFilter, matching},
    statements::statements,
    tx::{read, within, write},
};
use crate::{audit::Entry, clock::Millis, connection::ConnectionId};

/// Connections, and when each was last handed out.
pub type Uses = Vec<(ConnectionId, Millis)>;

statements! {
    /// Of one that is still there, and only forward.
    USED = "INSERT INTO connection_uses (connection, used_at_ms) SELECT c.id, $2 FROM connections c WHERE c.id = $1 \
        ON CONFLICT (connection) DO UPDATE SET used_at_ms = excluded.used_at_ms \
        WHERE connection_uses.used_at_ms < excluded.used_at_ms";

    LAST = "SELECT used_at_ms FROM connection_uses WHERE connection = $1";

    /// For the connections of one page of a list.
    LAST_OF = "SELECT c.id, u.used_at_ms FROM connections c LEFT JOIN connection_uses u ON u.connection = c.id \
        WHERE ($1 IS NULL OR c.server = $1) AND ($2 IS NULL OR c.issuer = $2) AND ($3 IS NULL OR c.sub = $3) \
        AND ($4 IS NULL OR c.provider = $4) AND ($5 IS NULL OR c.id > $5) ORDER BY c.id LIMIT $6";

    /// The end of a span of rows: what one statement looks at.
    SPAN = "SELECT connection FROM connection_uses WHERE connection > $1 ORDER BY connection LIMIT 1 OFFSET $2";

    PURGE = "DELETE FROM connection_uses WHERE connection > $1 AND connection <= $2 AND NOT EXISTS \
        (SELECT 1 FROM connections c WHERE c.id = connection_uses.connection)";
}

impl Store {
    /// Writes what was counted off the requests' path: last uses, in the order of ids, and entries for the audit record.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing was written.
    pub async fn record(
        &self,
        uses: &[(ConnectionId, Millis)],
        entries: Vec<Entry>,
    ) -> Result<(), StoreError> {
        if uses.is_empty() && entries.is_empty() {
            return Ok(());
        }
        let mut tx = self.begin_tx().await?;
        for (connection, at) in uses {
            within!(&mut tx, USED, |sql, handle| {
                sqlx::query(sql).bind(connection.0).bind(at.0).execute(handle).await?;
            });
        }
        for entry in entries {
            tx.audit(entry);
        }
        tx.commit().await
    }

    /// When a connection was last handed out; none when never, or within the last minute for the first time.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn last_use(&self, id: ConnectionId) -> Result<Option<Millis>, StoreError> {
        let at: Option<i64> =
            read!(self, LAST, |sql, pool| sqlx::query_scalar(sql).bind(id.0).fetch_optional(pool).await?);
        Ok(at.map(Millis))
    }

    /// The same for a page of connections, as [`Store::connections`] gives them.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn last_uses(
        &self,
        filter: ConnectionFilter<'_>,
        limit: u32,
    ) -> Result<HashMap<ConnectionId, Millis>, StoreError> {
        let rows: Vec<(Uuid, Option<i64>)> = read!(self, LAST_OF, |sql, pool| {
            matching!(sqlx::query_as(sql), filter)
                .bind(filter.after.map(|id| id.0))
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        Ok(rows.into_iter().filter_map(|(id, at)| Some((ConnectionId(id), Millis(at?)))).collect())
    }

    /// Forgets the uses of connections that are no more, among the `span` rows after `after`, in the order of ids. Gives
    /// where to go on; none at the end.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_uses(
        &self,
        after: Option<ConnectionId>,
        span: u32,
    ) -> Result<Option<ConnectionId>, StoreError> {
        let after = after.map_or(Uuid::nil(), |id| id.0);
        let through: Option<Uuid> = read!(self, SPAN, |sql, pool| {
            sqlx::query_scalar(sql).bind(after).bind(i64::from(span) - 1).fetch_optional(pool).await?
        });
        write!(self, PURGE, |sql, pool| {
            let query = sqlx::query(sql).bind(after).bind(through.unwrap_or(Uuid::max()));
            query.execute(pool).await?.rows_affected()
        });
        Ok(through.map(ConnectionId))
    }
}
