//! What a resource server said of a token that it was shown.

use super::{
    Store, StoreError,
    connections::{ConnectionRow, columns},
    leases::{postgres_now, sqlite_now},
    statements::statements,
    tx::within,
};
use crate::{
    audit::{self, Actor, Entry},
    clock::Millis,
    connection::{Connection, ConnectionId},
    elicitation::ServerId,
    signal::Kind,
};

/// One that a refusal has made is not replaced again, unless that is under way already.
macro_rules! refuse {
    ($now:expr) => {
        concat!(
            "UPDATE connections SET refused_generation = generation, updated_at_ms = $4 \
             WHERE id = $1 AND server = $2 AND generation = $3 AND status = 'active' AND refresh IS NOT NULL \
             AND (mended_generation IS NULL OR mended_generation <> generation OR lease_until_ms > ",
            $now,
            ") AND (refused_generation IS NULL OR refused_generation <> generation) RETURNING ",
            columns!()
        )
    };
}

macro_rules! end_refused {
    ($now:expr) => {
        concat!(
            "UPDATE connections SET status = 'needs_reconnect', reason = $4, refused_generation = generation, \
             ended_at_ms = $5, updated_at_ms = $5, lease_owner = NULL, lease_until_ms = NULL, intent_at_ms = NULL \
             WHERE id = $1 AND server = $2 AND generation = $3 AND status = 'active' \
             AND (refresh IS NULL OR mended_generation = generation) \
             AND (lease_until_ms IS NULL OR lease_until_ms <= ",
            $now,
            ") RETURNING ",
            columns!()
        )
    };
}

statements! {
    /// The token of this generation is handed out no more, and may be made anew: once.
    REFUSE = refuse!(sqlite_now!()), refuse!(postgres_now!());

    /// Refused again after it was made anew, or nothing to make it anew with. One that has ended otherwise keeps its
    /// reason; one that somebody refreshes is ended when that has failed.
    END_REFUSED = end_refused!(sqlite_now!()), end_refused!(postgres_now!());

    /// A connection that has ended may still hold a living access token, until somebody refuses that.
    REFUSE_ENDED = "UPDATE connections SET refused_generation = generation WHERE id = $1 AND server = $2 \
        AND generation = $3 AND status <> 'active'";
}

/// What a report did.
#[derive(Clone, Debug)]
pub enum Reported {
    /// Noted: one refresh is to be made.
    Refused(Connection),
    /// It needs the person, and that was told.
    Ended(Connection),
    /// Of another generation, known already, or not there.
    Nothing,
}

impl Store {
    /// Notes that the token of a generation was refused: from this commit on nothing hands it out. A report of another
    /// generation changes nothing.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing was changed.
    pub async fn report_refused(
        &self,
        server: &ServerId,
        id: ConnectionId,
        generation: i64,
        reason: &str,
        now: Millis,
    ) -> Result<Reported, StoreError> {
        let mut tx = self.begin_tx().await?;
        let row: Option<ConnectionRow> = within!(&mut tx, REFUSE, |sql, handle| {
            let query = sqlx::query_as(sql).bind(id.0).bind(server.as_str()).bind(generation).bind(now.0);
            query.fetch_optional(handle).await?
        });
        if let Some(row) = row {
            let refused = Connection::try_from(row)?;
            tx.audit(Entry::new(audit::Kind::Reported, Actor::Server, &refused, now).because(reason));
            tx.commit().await?;
            return Ok(Reported::Refused(refused));
        }
        let row: Option<ConnectionRow> = within!(&mut tx, END_REFUSED, |sql, handle| {
            let query = sqlx::query_as(sql).bind(id.0).bind(server.as_str()).bind(generation);
            query.bind(reason).bind(now.0).fetch_optional(handle).await?
        });
        let Some(row) = row else {
            within!(&mut tx, REFUSE_ENDED, |sql, handle| {
                let query = sqlx::query(sql).bind(id.0).bind(server.as_str()).bind(generation);
                query.execute(handle).await?;
            });
            tx.commit().await?;
            return Ok(Reported::Nothing);
        };
        let ended = Connection::try_from(row)?;
        tx.queue_connection(&ended, Kind::ConnectionNeedsReconnect, Some(reason), self.random, now).await?;
        tx.audit(Entry::new(audit::Kind::Reported, Actor::Server, &ended, now).because(reason));
        tx.audit(Entry::new(audit::Kind::NeedsReconnect, Actor::Program, &ended, now).because(reason));
        tx.commit().await?;
        self.announce(std::slice::from_ref(&ended.server));
        Ok(Reported::Ended(ended))
    }
}
