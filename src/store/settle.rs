//! Settling an attempt: the connection, the elicitation, its siblings and every signal, in one transaction.
//!
//! The connection is written first, then elicitations in the order of their ids, then attempts, so that two moves
//! never wait for each other in a circle.

use super::{
    Store, StoreError,
    attempts::FINISH_MS,
    connections::{ConnectionRow, columns as connection_columns},
    elicitations::{ElicitationRow, columns as elicitation_columns},
    hosted::BothHalves,
    statements::statements,
    tx::{Tx, within},
};
use crate::{
    audit::{self, About, Actor, Entry},
    clock::Millis,
    connection::{Connection, ConnectionId, NewConnection},
    elicitation::{Attempt, AttemptId, AttemptState, Elicitation, ElicitationId, Outcome, Owned, OwnedOpen},
    signal::Kind,
};

statements! {
    /// The first consent; somebody else's first wins by the unique key.
    INSERT_CONNECTION = concat!("INSERT INTO connections (id, server, issuer, sub, provider, account_id, \
        account_label, granted, asked, status, generation, grant_number, access, refresh, access_expires_at_ms, \
        refresh_expires_at_ms, consent_expires_at_ms, refreshed_at_ms, created_at_ms, updated_at_ms, values_json, fingerprint, marks) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'active', $10, 1, $11, $12, $13, $14, $15, $16, $16, $16, $17, $18, $19) \
        ON CONFLICT (server, issuer, sub, provider) DO NOTHING RETURNING ", connection_columns!());

    /// A further consent, over the generation that the caller saw and nothing else (R84). It ends the lease of a
    /// refresh that is under way, whose result is then fenced off. What the kill switch has taken out of use is removed,
    /// and not brought back.
    REPLACE_CONNECTION = concat!("UPDATE connections SET account_id = $4, account_label = $5, granted = $6, \
        asked = $7, status = 'active', reason = NULL, generation = $8, grant_number = grant_number + 1, access = $9, \
        refresh = $10, access_expires_at_ms = $11, refresh_expires_at_ms = $12, consent_expires_at_ms = $13, \
        refreshed_at_ms = $14, updated_at_ms = $14, warned_at_ms = NULL, ended_at_ms = NULL, \
        refused_generation = NULL, mended_generation = NULL, failures = 0, failure = NULL, next_attempt_at_ms = NULL, \
        lease_token = lease_token + 1, lease_owner = NULL, lease_until_ms = NULL, intent_at_ms = NULL, \
        restored_at_ms = NULL, values_json = $15, fingerprint = $16, marks = $17 WHERE id = $1 AND server = $2 AND generation = $3 AND (reason IS NULL OR reason <> 'disconnecting') \
        RETURNING ", connection_columns!());

    /// A claimed attempt may finish shortly after the expiry.
    COMPLETE = concat!("UPDATE elicitations SET state = 'completed', reason = $2, connection = $3, \
        closed_at_ms = $4, reuse_key = NULL, attempt_until_ms = NULL \
        WHERE id = $1 AND state IN ('pending', 'authorizing') AND expires_at_ms > $5 \
        RETURNING ", elicitation_columns!());

    /// Other open elicitations of the same server, subject and provider, less those made while a satisfying
    /// connection existed already.
    SIBLINGS = concat!("SELECT ", elicitation_columns!(), " FROM elicitations \
        WHERE server = $1 AND issuer = $2 AND sub = $3 AND provider = $4 AND id <> $5 \
        AND state IN ('pending', 'authorizing') AND expires_at_ms > $6 AND seen_grant IS NULL");
}

/// An attempt's success, ready to be stored.
#[derive(Debug)]
pub struct Settlement<'a> {
    /// The owner's proof.
    pub mine: &'a Owned,
    /// The attempt.
    pub attempt: &'a Attempt,
    /// Where it is: claimed, or offered and taken.
    pub from: AttemptState,
    /// What is stored, sealed for the row that it will have.
    pub connection: NewConnection,
    /// The connection and generation that the account was compared with; none when there was none.
    pub over: Option<(ConnectionId, i64)>,
    /// Connected, or partly.
    pub outcome: Outcome,
}

/// What came of it. Only the first has changed anything.
#[derive(Debug)]
pub enum Settled {
    /// Durable.
    Done {
        /// As stored.
        connection: Box<Connection>,
        /// This elicitation and every sibling that completed with it.
        completed: Vec<ElicitationId>,
    },
    /// The connection is no longer the one that the account was compared with: compare again.
    Moved,
    /// The elicitation was closed meanwhile: store nothing, revoke.
    ClosedMeanwhile,
    /// The attempt was ended meanwhile, by a sign-out say: store nothing, revoke.
    Lost,
}

/// How an elicitation ends well.
struct Ending<'a> {
    reason: &'static str,
    /// The trip that ends with it.
    trip: Trip<'a>,
}

/// What ends with an elicitation that ends well.
enum Trip<'a> {
    /// Nothing: a key was typed.
    None,
    /// A trip to a provider: where it is, and how it ends.
    Provider(AttemptId, AttemptState, Outcome),
    /// A visit to a page of the MCP server's own.
    Page(&'a BothHalves),
}

impl Store {
    /// Stores the credential, closes the elicitation and its siblings, and queues their signals.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing was changed.
    pub async fn settle(&self, settlement: &Settlement<'_>, now: Millis) -> Result<Settled, StoreError> {
        let Settlement { mine, attempt, from, connection, over, outcome } = settlement;
        let ending = Ending { reason: outcome.as_str(), trip: Trip::Provider(attempt.id, *from, *outcome) };
        self.conclude(mine.elicitation(), connection, *over, ending, now).await
    }

    /// Stores what the owner has typed, by the same transaction: there was no trip that could end.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing was changed.
    pub async fn settle_typed(
        &self,
        mine: &OwnedOpen,
        connection: &NewConnection,
        over: Option<(ConnectionId, i64)>,
        now: Millis,
    ) -> Result<Settled, StoreError> {
        let reason = if connection.marks.unchecked { "unchecked" } else { Outcome::Connected.as_str() };
        let ending = Ending { reason, trip: Trip::None };
        self.conclude(mine.elicitation(), connection, over, ending, now).await
    }

    /// Stores what was done on a page of the MCP server's own, by the same transaction.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing was changed.
    pub async fn settle_visit(
        &self,
        both: &BothHalves,
        connection: &NewConnection,
        over: Option<(ConnectionId, i64)>,
        now: Millis,
    ) -> Result<Settled, StoreError> {
        let ending = Ending { reason: Outcome::Connected.as_str(), trip: Trip::Page(both) };
        self.conclude(both.elicitation(), connection, over, ending, now).await
    }

    async fn conclude(
        &self,
        asked: &Elicitation,
        new: &NewConnection,
        over: Option<(ConnectionId, i64)>,
        ending: Ending<'_>,
        now: Millis,
    ) -> Result<Settled, StoreError> {
        let mut tx = self.begin_tx().await?;
        let Some(connection) = tx.write_connection(asked, new, over, now).await? else {
            return Ok(Settled::Moved);
        };
        let mut ids = tx.siblings(asked, &connection, now).await?;
        ids.push(asked.id);
        ids.sort_unstable();
        let mut completed = Vec::with_capacity(ids.len());
        for id in ids {
            // An offer dies with the elicitation; only what was claimed in time may finish after it.
            let (reason, oldest) = match ending.trip {
                _ if id != asked.id => ("satisfied", now.0),
                Trip::Provider(_, AttemptState::Claimed, _) => {
                    (ending.reason, now.0.saturating_sub(FINISH_MS))
                }
                _ => (ending.reason, now.0),
            };
            match tx.complete(id, reason, connection.id, oldest, now).await? {
                Some(elicitation) => completed.push(elicitation),
                None if id == asked.id => return Ok(Settled::ClosedMeanwhile),
                None => {}
            }
        }
        let ended = match ending.trip {
            Trip::None => true,
            Trip::Provider(attempt, from, outcome) => tx.spend(attempt, from, outcome, None, now).await?,
            Trip::Page(both) => tx.finish_visit(both, now).await?,
        };
        if !ended {
            return Ok(Settled::Lost);
        }
        for elicitation in &completed {
            tx.end_attempts(elicitation.id, now).await?;
        }
        let kind = if over.is_some() { Kind::ConnectionUpdated } else { Kind::ConnectionCreated };
        tx.queue_connection(&connection, kind, None, self.random, now).await?;
        let what = if over.is_some() { audit::Kind::Reconnected } else { audit::Kind::Connected };
        let about = About { elicitation: Some(asked.id), ..About::from(&connection) };
        tx.audit(Entry::new(what, Actor::Person, about, now).because(ending.reason));
        for elicitation in &completed {
            tx.queue_end(elicitation, Kind::ElicitationCompleted, self.random, now).await?;
        }
        tx.commit().await?;
        self.announce(std::slice::from_ref(&connection.server));
        Ok(Settled::Done {
            connection: Box::new(connection),
            completed: completed.into_iter().map(|one| one.id).collect(),
        })
    }
}

impl Tx {
    async fn write_connection(
        &mut self,
        asked: &Elicitation,
        new: &NewConnection,
        over: Option<(ConnectionId, i64)>,
        now: Millis,
    ) -> Result<Option<Connection>, StoreError> {
        let row: Option<ConnectionRow> = match over {
            None => within!(self, INSERT_CONNECTION, |sql, handle| {
                sqlx::query_as(sql)
                    .bind(new.id.0)
                    .bind(asked.server.as_str())
                    .bind(&asked.owner.issuer)
                    .bind(&asked.owner.sub)
                    .bind(asked.provider.as_str())
                    .bind(&new.account.id)
                    .bind(&new.account.label)
                    .bind(new.granted.to_text())
                    .bind(new.asked.to_text())
                    .bind(new.generation)
                    .bind(new.access.as_bytes())
                    .bind(new.refresh.as_ref().map(crate::vault::Sealed::as_bytes))
                    .bind(new.access_expires_at.map(|at| at.0))
                    .bind(new.refresh_expires_at.map(|at| at.0))
                    .bind(new.consent_expires_at.map(|at| at.0))
                    .bind(now.0)
                    .bind(new.values.to_json())
                    .bind(new.fingerprint.as_ref().map(crate::secret::Hash::as_bytes))
                    .bind(new.marks.to_text())
                    .fetch_optional(handle)
                    .await?
            }),
            Some((id, generation)) => within!(self, REPLACE_CONNECTION, |sql, handle| {
                sqlx::query_as(sql)
                    .bind(id.0)
                    .bind(asked.server.as_str())
                    .bind(generation)
                    .bind(&new.account.id)
                    .bind(&new.account.label)
                    .bind(new.granted.to_text())
                    .bind(new.asked.to_text())
                    .bind(new.generation)
                    .bind(new.access.as_bytes())
                    .bind(new.refresh.as_ref().map(crate::vault::Sealed::as_bytes))
                    .bind(new.access_expires_at.map(|at| at.0))
                    .bind(new.refresh_expires_at.map(|at| at.0))
                    .bind(new.consent_expires_at.map(|at| at.0))
                    .bind(now.0)
                    .bind(new.values.to_json())
                    .bind(new.fingerprint.as_ref().map(crate::secret::Hash::as_bytes))
                    .bind(new.marks.to_text())
                    .fetch_optional(handle)
                    .await?
            }),
        };
        row.map(Connection::try_from).transpose()
    }

    async fn siblings(
        &mut self,
        asked: &Elicitation,
        connection: &Connection,
        now: Millis,
    ) -> Result<Vec<ElicitationId>, StoreError> {
        let rows: Vec<ElicitationRow> = within!(self, SIBLINGS, |sql, handle| {
            sqlx::query_as(sql)
                .bind(asked.server.as_str())
                .bind(&asked.owner.issuer)
                .bind(&asked.owner.sub)
                .bind(asked.provider.as_str())
                .bind(asked.id.0)
                .bind(now.0)
                .fetch_all(handle)
                .await?
        });
        let mut ids = Vec::new();
        for row in rows {
            let sibling = Elicitation::try_from(row)?;
            if connection.suits(&sibling.scopes, &sibling.values, now) {
                ids.push(sibling.id);
            }
        }
        Ok(ids)
    }

    async fn complete(
        &mut self,
        id: ElicitationId,
        reason: &str,
        connection: ConnectionId,
        expires_after_ms: i64,
        now: Millis,
    ) -> Result<Option<Elicitation>, StoreError> {
        let row: Option<ElicitationRow> = within!(self, COMPLETE, |sql, handle| {
            sqlx::query_as(sql)
                .bind(id.0)
                .bind(reason)
                .bind(connection.0)
                .bind(now.0)
                .bind(expires_after_ms)
                .fetch_optional(handle)
                .await?
        });
        row.map(Elicitation::try_from).transpose()
    }
}
