//! Revocations: queued with the change that they follow from, taken by one process at a time, kept until the provider
//! has been told or is given up.
//!
//! The token is erased with the last word on it.

use sqlx::FromRow;
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    Store, StoreError,
    connections::{fingerprint_of, values_of},
    elicitations::corrupt,
    statements::statements,
    tx::{Tx, read, within, write},
};
use crate::{
    audit::{About, Actor, Entry, Kind, Outcome},
    clock::Millis,
    connection::ConnectionId,
    elicitation::ProviderId,
    revocation::{NewRevocation, Revocation, RevocationId, State},
    subject::Subject,
    vault::Sealed,
};

macro_rules! columns {
    () => {
        "id, connection, server, issuer, sub, provider, account_id, token, hint, tries, claimed_until_ms, created_at_ms, \
         values_json, fingerprint"
    };
}

statements! {
    QUEUE = "INSERT INTO revocations (id, connection, server, issuer, sub, provider, account_id, token, hint, state, \
        tries, next_at_ms, created_at_ms, values_json, fingerprint) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'due', 0, $10, $10, $11, $12)";

    /// A process that comes second finds the claim of the first, because the guard is looked at again in the row that
    /// it waited for.
    CLAIM = concat!("UPDATE revocations SET claimed_until_ms = $4 WHERE id IN (\
        SELECT id FROM revocations WHERE provider = $1 AND state = 'due' AND next_at_ms <= $3 \
            AND (claimed_until_ms IS NULL OR claimed_until_ms <= $3) ORDER BY next_at_ms LIMIT $2) \
        AND state = 'due' AND next_at_ms <= $3 AND (claimed_until_ms IS NULL OR claimed_until_ms <= $3) RETURNING ",
        columns!());

    CLAIM_ONE = concat!("UPDATE revocations SET claimed_until_ms = $3 \
        WHERE id = $1 AND state = 'due' AND next_at_ms <= $2 \
        AND (claimed_until_ms IS NULL OR claimed_until_ms <= $2) RETURNING ", columns!());

    /// The last word, whoever has it.
    END = "UPDATE revocations SET state = $2, tries = tries + 1, token = NULL, claimed_until_ms = NULL, last_error = $3, \
        done_at_ms = $4 WHERE id = $1 AND state = 'due'";

    /// Only by whoever holds the claim. A try counts when its outcome is known.
    LATER = "UPDATE revocations SET tries = tries + 1, next_at_ms = $3, claimed_until_ms = NULL, last_error = $4 \
        WHERE id = $1 AND state = 'due' AND claimed_until_ms = $2";

    STANDING = "SELECT state, tries, claimed_until_ms FROM revocations WHERE id = $1";

    COUNT = "SELECT state, CAST(COUNT(*) AS BIGINT) AS number FROM revocations WHERE provider = $1 GROUP BY state";

    PURGE_DONE = "DELETE FROM revocations WHERE id IN (\
        SELECT id FROM revocations WHERE done_at_ms < $1 ORDER BY done_at_ms LIMIT $2)";

    PURGE_QUEUED = "DELETE FROM revocations WHERE id IN (\
        SELECT id FROM revocations WHERE created_at_ms < $1 ORDER BY created_at_ms LIMIT $2)";
}

#[derive(FromRow)]
struct RevocationRow {
    id: Uuid,
    connection: Uuid,
    server: String,
    issuer: String,
    sub: String,
    provider: String,
    account_id: Option<String>,
    token: Option<Vec<u8>>,
    hint: String,
    tries: i64,
    claimed_until_ms: Option<i64>,
    created_at_ms: i64,
    values_json: Option<String>,
    fingerprint: Option<Vec<u8>>,
}

const TABLE: &str = "revocations";

impl TryFrom<RevocationRow> for Revocation {
    type Error = StoreError;

    fn try_from(row: RevocationRow) -> Result<Self, StoreError> {
        let token = row.token.ok_or(StoreError::Corrupt { table: TABLE, column: "token" })?;
        Ok(Self {
            queued: NewRevocation {
                id: RevocationId(row.id),
                connection: Some(ConnectionId(row.connection)).filter(|id| !id.0.is_nil()),
                server: row.server.parse().map_err(corrupt(TABLE, "server"))?,
                owner: Subject::new(row.issuer, row.sub).map_err(corrupt(TABLE, "sub"))?,
                provider: row.provider.parse().map_err(corrupt(TABLE, "provider"))?,
                account_id: row.account_id,
                hint: row.hint.parse().map_err(corrupt(TABLE, "hint"))?,
                token: Sealed::from_bytes(token),
                values: values_of(TABLE, row.values_json.as_deref())?,
                fingerprint: fingerprint_of(TABLE, row.fingerprint)?,
            },
            // The one that is under way is not counted yet.
            tries: row.tries + 1,
            claimed_until: Millis(row.claimed_until_ms.unwrap_or_default()),
            created_at: Millis(row.created_at_ms),
        })
    }
}

/// How far a revocation has come, for whoever waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its state.
    pub state: State,
    /// Whether a try has failed, and nobody is at another one.
    pub failed: bool,
}

impl Store {
    /// Queues a revocation by itself; what follows from a change is queued with it, by the change's own move.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn queue_revocation(&self, new: &NewRevocation, now: Millis) -> Result<(), StoreError> {
        let mut tx = self.begin_tx().await?;
        tx.queue_revocation(new, now).await?;
        tx.commit().await?;
        self.announce_revocations();
        Ok(())
    }

    /// Takes up to `limit` revocations of a provider that are due. Until `until` nobody else gets them.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn claim_revocations(
        &self,
        provider: &ProviderId,
        limit: u32,
        now: Millis,
        until: Millis,
    ) -> Result<Vec<Revocation>, StoreError> {
        let rows: Vec<RevocationRow> = write!(self, CLAIM, |sql, pool| {
            sqlx::query_as(sql)
                .bind(provider.as_str())
                .bind(i64::from(limit))
                .bind(now.0)
                .bind(until.0)
                .fetch_all(pool)
                .await?
        });
        // One that cannot be read must not keep the others back.
        let read = |row: RevocationRow| {
            let id = row.id;
            Revocation::try_from(row)
                .inspect_err(|error| tracing::error!(revocation = %id, %error, "it cannot be read"))
                .ok()
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// Takes this one, if it is due and nobody has it.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn claim_revocation(
        &self,
        id: RevocationId,
        now: Millis,
        until: Millis,
    ) -> Result<Option<Revocation>, StoreError> {
        let row: Option<RevocationRow> = write!(self, CLAIM_ONE, |sql, pool| {
            sqlx::query_as(sql).bind(id.0).bind(now.0).bind(until.0).fetch_all(pool).await?.pop()
        });
        row.map(Revocation::try_from).transpose()
    }

    /// Says the last word on a revocation, and erases its token. `error` is a stable code.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn end_revocation(
        &self,
        id: RevocationId,
        state: State,
        error: Option<&str>,
        now: Millis,
    ) -> Result<(), StoreError> {
        write!(self, END, |sql, pool| {
            sqlx::query(sql)
                .bind(id.0)
                .bind(state.as_str())
                .bind(error)
                .bind(now.0)
                .execute(pool)
                .await?
                .rows_affected()
        });
        self.tried.send_replace(());
        Ok(())
    }

    /// Gives a revocation up, which the record has, and erases its token. `reason` is a stable code.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn give_revocation_up(
        &self,
        claimed: &Revocation,
        reason: &str,
        now: Millis,
    ) -> Result<(), StoreError> {
        let queued = &claimed.queued;
        let mut tx = self.begin_tx().await?;
        let rows = within!(&mut tx, END, |sql, connection| {
            sqlx::query(sql)
                .bind(queued.id.0)
                .bind(State::Dead.as_str())
                .bind(reason)
                .bind(now.0)
                .execute(connection)
                .await?
                .rows_affected()
        });
        if rows == 1 {
            let about = About {
                server: Some(queued.server.clone()),
                provider: Some(queued.provider.clone()),
                connection: queued.connection,
                subject: Some(queued.owner.clone()),
                ..About::default()
            };
            let entry = Entry::new(Kind::RevocationGivenUp, Actor::Program, about, now).because(reason);
            tx.audit(Entry { outcome: Outcome::Failed, ..entry });
        }
        tx.commit().await?;
        self.tried.send_replace(());
        Ok(())
    }

    /// Puts a revocation off, for whoever holds this claim. `error` is a stable code.
    ///
    /// # Errors
    /// When the store is unavailable; then the claim ends by itself.
    pub async fn put_revocation_off(
        &self,
        claimed: &Revocation,
        next: Millis,
        error: &str,
    ) -> Result<(), StoreError> {
        write!(self, LATER, |sql, pool| {
            sqlx::query(sql)
                .bind(claimed.queued.id.0)
                .bind(claimed.claimed_until.0)
                .bind(next.0)
                .bind(error)
                .execute(pool)
                .await?
                .rows_affected()
        });
        self.tried.send_replace(());
        Ok(())
    }

    /// How far a revocation has come; `None` when it is long over.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn revocation_standing(&self, id: RevocationId) -> Result<Option<Standing>, StoreError> {
        let row: Option<(String, i64, Option<i64>)> =
            read!(self, STANDING, |sql, pool| sqlx::query_as(sql).bind(id.0).fetch_optional(pool).await?);
        let standing = |(state, tries, claimed): (String, i64, Option<i64>)| {
            let state = state.parse().map_err(corrupt(TABLE, "state"))?;
            Ok(Standing { state, failed: tries > 0 && claimed.is_none() })
        };
        row.map(standing).transpose()
    }

    /// How many revocations of a provider are in each state.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn revocations_by_state(&self, provider: &ProviderId) -> Result<Vec<(State, i64)>, StoreError> {
        let rows: Vec<(String, i64)> = read!(self, COUNT, |sql, pool| {
            sqlx::query_as(sql).bind(provider.as_str()).fetch_all(pool).await?
        });
        rows.into_iter()
            .map(|(state, number)| Ok((state.parse().map_err(corrupt(TABLE, "state"))?, number)))
            .collect()
    }

    /// Deletes up to `limit` that were over before `before`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_revocations(&self, before: Millis, limit: u32) -> Result<u64, StoreError> {
        self.purge_older(&PURGE_DONE, before, limit).await
    }

    /// Deletes up to `limit` that were queued before `before`, and never came to an end because their provider is not
    /// configured any more.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_stale_revocations(&self, before: Millis, limit: u32) -> Result<u64, StoreError> {
        self.purge_older(&PURGE_QUEUED, before, limit).await
    }

    /// Is told when this process has queued a revocation. Only a hint.
    pub fn revocations_queued(&self) -> watch::Receiver<()> {
        self.queued.subscribe()
    }

    /// Is told when this process has ended a revocation, or put it off. Only a hint.
    pub fn revocations_tried(&self) -> watch::Receiver<()> {
        self.tried.subscribe()
    }

    /// Wakes whoever waits for revocations, after the commit.
    pub(super) fn announce_revocations(&self) {
        self.queued.send_replace(());
    }
}

impl Tx {
    /// Queues a revocation with the change that it follows from. After the commit, [`Store::announce_revocations`].
    pub(super) async fn queue_revocation(
        &mut self,
        new: &NewRevocation,
        now: Millis,
    ) -> Result<(), StoreError> {
        let connection_id = new.connection.map_or(Uuid::nil(), |id| id.0);
        within!(self, QUEUE, |sql, connection| {
            sqlx::query(sql)
                .bind(new.id.0)
                .bind(connection_id)
                .bind(new.server.as_str())
                .bind(&new.owner.issuer)
                .bind(&new.owner.sub)
                .bind(new.provider.as_str())
                .bind(&new.account_id)
                .bind(new.token.as_bytes())
                .bind(new.hint.as_str())
                .bind(now.0)
                .bind(new.values.to_json())
                .bind(new.fingerprint.as_ref().map(crate::secret::Hash::as_bytes))
                .execute(connection)
                .await?;
        });
        Ok(())
    }
}
