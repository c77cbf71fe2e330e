//! The kill switch: many connections out of use by one statement, on every replica at once; then each is removed, and
//! whoever is asked for such a connection at this moment is asked no more.
//!
//! Between the two a connection is quarantined with the reason `disconnecting`: nothing hands it out, no refresh that is
//! under way can store what it got, and no trip that is under way can bring it back.

use uuid::Uuid;

use super::{
    Store, StoreError,
    connections::{ConnectionFilter, columns, matching},
    statements::statements,
    tx::{read, within},
};
use crate::{
    audit::{About, Actor, Entry, Kind},
    clock::Millis,
    connection::Connection,
    elicitation::ElicitationId,
    subject::Subject,
};

statements! {
    /// Ends leases too, so that the result of a refresh that is under way is fenced off.
    TAKE_OUT = "UPDATE connections SET status = 'quarantined', reason = 'disconnecting', updated_at_ms = $5, \
        ended_at_ms = COALESCE(ended_at_ms, $5), lease_token = lease_token + 1, lease_owner = NULL, \
        lease_until_ms = NULL \
        WHERE ($1 IS NULL OR server = $1) AND ($2 IS NULL OR issuer = $2) AND ($3 IS NULL OR sub = $3) \
        AND ($4 IS NULL OR provider = $4) AND (status <> 'quarantined' OR reason IS NULL OR reason <> 'disconnecting')";

    TAKEN_OUT = concat!("SELECT ", columns!(), " FROM connections \
        WHERE status = 'quarantined' AND reason = 'disconnecting' \
        AND ($1 IS NULL OR server = $1) AND ($2 IS NULL OR issuer = $2) AND ($3 IS NULL OR sub = $3) \
        AND ($4 IS NULL OR provider = $4) AND ($5 IS NULL OR id > $5) ORDER BY id LIMIT $6");

    COUNT = "SELECT server, provider, CAST(COUNT(*) AS BIGINT) FROM connections \
        WHERE ($1 IS NULL OR server = $1) AND ($2 IS NULL OR issuer = $2) AND ($3 IS NULL OR sub = $3) \
        AND ($4 IS NULL OR provider = $4) GROUP BY server, provider ORDER BY server, provider";

    /// Past its expiry too, while a claimed attempt is finishing it.
    ASKED = "SELECT id FROM elicitations WHERE state IN ('pending', 'authorizing') \
        AND ($1 IS NULL OR server = $1) AND ($2 IS NULL OR issuer = $2) AND ($3 IS NULL OR sub = $3) \
        AND ($4 IS NULL OR provider = $4) AND (expires_at_ms > $5 OR attempt_until_ms > $5) AND id > $6 \
        ORDER BY id LIMIT $7";
}

impl Store {
    /// Takes every connection that matches out of use, in one statement: from this commit on no replica hands one out.
    /// Gives how many were in use before. The filter's `after` means nothing here.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing has changed.
    pub async fn take_out(&self, filter: ConnectionFilter<'_>, now: Millis) -> Result<u64, StoreError> {
        let mut tx = self.begin_tx().await?;
        let taken = within!(&mut tx, TAKE_OUT, |sql, handle| {
            matching!(sqlx::query(sql), filter).bind(now.0).execute(handle).await?.rows_affected()
        });
        let about = About {
            server: filter.server.cloned(),
            provider: filter.provider.cloned(),
            subject: filter.issuer.zip(filter.sub).and_then(|(issuer, sub)| Subject::new(issuer, sub).ok()),
            ..About::default()
        };
        let times = i64::try_from(taken).unwrap_or(i64::MAX);
        tx.audit(Entry { times, ..Entry::new(Kind::KillSwitch, Actor::Operator, about, now) });
        tx.commit().await?;
        Ok(taken)
    }

    /// A page of those that were taken out of use and are still to be removed, in the order of their ids.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn taken_out(
        &self,
        filter: ConnectionFilter<'_>,
        limit: u32,
    ) -> Result<Vec<Connection>, StoreError> {
        self.page_of(&TAKEN_OUT, filter, limit).await
    }

    /// A page of the open elicitations that match, in the order of their ids; from the beginning without `after`. The
    /// filter's own `after` means nothing here.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn asked(
        &self,
        filter: ConnectionFilter<'_>,
        after: Option<ElicitationId>,
        limit: u32,
        now: Millis,
    ) -> Result<Vec<ElicitationId>, StoreError> {
        let ids: Vec<Uuid> = read!(self, ASKED, |sql, pool| {
            matching!(sqlx::query_scalar(sql), filter)
                .bind(now.0)
                .bind(after.map_or(Uuid::nil(), |id| id.0))
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        Ok(ids.into_iter().map(ElicitationId).collect())
    }

    /// How many connections match, by MCP server and provider.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn count_connections(
        &self,
        filter: ConnectionFilter<'_>,
    ) -> Result<Vec<(String, String, i64)>, StoreError> {
        Ok(read!(self, COUNT, |sql, pool| matching!(sqlx::query_as(sql), filter).fetch_all(pool).await?))
    }
}
