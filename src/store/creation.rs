//! Elicitations made: a new one, the open one that the same client asked for, or what an idempotency key made before.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    elicitations::{ElicitationRow, columns, corrupt},
    statements::statements,
    tx::{Tx, read, within},
};
use crate::{
    clock::Millis,
    elicitation::{Elicitation, ElicitationId, NewElicitation, ServerId},
    random::Random,
    secret::Hash,
    signal::Kind,
};

/// How long an open elicitation must still have to be used again, in milliseconds.
const REUSE_LEAST_MS: i64 = 120_000;
/// How often a creation tries to take its key.
const INSERTS_MAX: usize = 4;

statements! {
    INSERT = "INSERT INTO elicitations (id, server, issuer, sub, provider, scopes, legacy, client_ref, client_name, \
              message, state, seen_connection, seen_grant, reuse_key, created_at_ms, expires_at_ms, values_json, typed_json) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $12, $13, $14, $15, $16, $17) \
              ON CONFLICT (reuse_key) DO NOTHING";

    /// The write that a creation begins with: an expired predecessor is closed with its signal, unless a claimed
    /// attempt is still finishing it.
    EXPIRE_PREDECESSOR = concat!(
        "UPDATE elicitations SET state = 'expired', reason = 'expired', closed_at_ms = $2, reuse_key = NULL, \
         attempt_until_ms = NULL \
         WHERE reuse_key = $1 AND state IN ('pending', 'authorizing') AND expires_at_ms <= $2 \
         AND (attempt_until_ms IS NULL OR attempt_until_ms <= $2) RETURNING ", columns!());

    /// One that is about to expire is left to whoever is at its page, and not given out again.
    RETIRE = "UPDATE elicitations SET reuse_key = NULL WHERE reuse_key = $1 AND expires_at_ms < $2";

    BY_REUSE_KEY = concat!("SELECT ", columns!(), " FROM elicitations WHERE reuse_key = $1");

    RECALL_IDEMPOTENT = "SELECT body_hash, elicitation, created_at_ms FROM idempotency_keys \
        WHERE server = $1 AND key_hash = $2";

    REMEMBER_IDEMPOTENT = "INSERT INTO idempotency_keys (server, key_hash, body_hash, elicitation, created_at_ms) \
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (server, key_hash) DO NOTHING";

    /// The key's creation gave an open one again.
    POINT_IDEMPOTENT = "UPDATE idempotency_keys SET elicitation = $3 WHERE server = $1 AND key_hash = $2";
}

#[derive(FromRow)]
struct IdempotentRow {
    body_hash: Vec<u8>,
    elicitation: Uuid,
    created_at_ms: i64,
}

impl TryFrom<IdempotentRow> for Before {
    type Error = StoreError;

    fn try_from(row: IdempotentRow) -> Result<Self, StoreError> {
        let body = row.body_hash.try_into().map_err(corrupt("idempotency_keys", "body_hash"))?;
        Ok(Self { body: Hash(body), id: ElicitationId(row.elicitation), at: Millis(row.created_at_ms) })
    }
}

/// What came of a creation.
#[derive(Clone, Debug)]
pub struct Created {
    /// The elicitation to hand out.
    pub elicitation: Elicitation,
    /// Whether it is new; an open one was used again otherwise.
    pub is_new: bool,
}

/// An idempotency key and the body that it came with, both as digests (R112).
#[derive(Clone, Copy, Debug)]
pub struct Idempotency {
    /// Of the key.
    pub key: Hash,
    /// Of the body; keyed, for the body names a user.
    pub body: Hash,
}

/// What an idempotency key was used for.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// The digest of the body.
    pub body: Hash,
    /// What was handed out.
    pub id: ElicitationId,
    /// When.
    pub at: Millis,
}

/// What came of a creation under an idempotency key.
#[derive(Clone, Debug)]
pub enum CreatedOnce {
    /// This request was the first with the key.
    Now(Box<Created>),
    /// An earlier one, or one at the same moment, was; nothing was made.
    Before(Before),
}

impl Store {
    /// Makes an elicitation, or gives the open one that the same client asked for and that has two minutes left.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn create(&self, new: &NewElicitation, now: Millis) -> Result<Created, StoreError> {
        let mut tx = self.begin_tx().await?;
        let (created, expired) = tx.create(new, self.random, now).await?;
        tx.commit().await?;
        self.announce(expired.as_slice());
        Ok(created)
    }

    /// The same under an idempotency key: of any number of requests with one key, one makes it, and the others learn
    /// what it made (R112).
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn create_once(
        &self,
        new: &NewElicitation,
        idempotency: Idempotency,
        now: Millis,
    ) -> Result<CreatedOnce, StoreError> {
        let mut tx = self.begin_tx().await?;
        if !tx.remember(&new.server, idempotency, new.id, now).await? {
            return Ok(CreatedOnce::Before(tx.recall(&new.server, &idempotency.key).await?));
        }
        let (created, expired) = tx.create(new, self.random, now).await?;
        if created.elicitation.id != new.id {
            tx.point(&new.server, &idempotency.key, created.elicitation.id).await?;
        }
        tx.commit().await?;
        self.announce(expired.as_slice());
        Ok(CreatedOnce::Now(Box::new(created)))
    }

    /// The open elicitation that [`Store::create`] would give again, found without a write. Whatever it misses, a
    /// creation decides.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn open_like(
        &self,
        new: &NewElicitation,
        now: Millis,
    ) -> Result<Option<Elicitation>, StoreError> {
        let Some(key) = new.reuse_key() else { return Ok(None) };
        let row: Option<ElicitationRow> = read!(self, BY_REUSE_KEY, |sql, pool| {
            sqlx::query_as(sql).bind(key.as_bytes()).fetch_optional(pool).await?
        });
        let found = row.map(Elicitation::try_from).transpose()?;
        let least = now.0.saturating_add(REUSE_LEAST_MS);
        Ok(found.filter(|found| found.stored.is_open() && found.expires_at.0 >= least))
    }

    /// What an idempotency key was used for (R112).
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn recall(&self, server: &ServerId, key: &Hash) -> Result<Option<Before>, StoreError> {
        let row: Option<IdempotentRow> = read!(self, RECALL_IDEMPOTENT, |sql, pool| {
            sqlx::query_as(sql).bind(server.as_str()).bind(key.as_bytes()).fetch_optional(pool).await?
        });
        row.map(Before::try_from).transpose()
    }
}

impl Tx {
    /// The creation, and the MCP server whose expired predecessor was closed with its signal.
    async fn create(
        &mut self,
        new: &NewElicitation,
        random: Random,
        now: Millis,
    ) -> Result<(Created, Option<ServerId>), StoreError> {
        let reuse_key = new.reuse_key();
        let mut expired = None;
        if let Some(key) = reuse_key {
            expired = self.expire_predecessor(&key, now).await?;
            self.retire(&key, now).await?;
        }
        let (elicitation, is_new) = self.insert_or_find(new, reuse_key, now).await?;
        if let Some(ended) = &expired {
            self.end_attempts(ended.id, now).await?;
            self.queue_end(ended, Kind::ElicitationExpired, random, now).await?;
        }
        Ok((Created { elicitation, is_new }, expired.map(|ended| ended.server)))
    }

    /// Takes an idempotency key. False when another request has it; one that is about to is waited for.
    async fn remember(
        &mut self,
        server: &ServerId,
        idempotency: Idempotency,
        id: ElicitationId,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let rows = within!(self, REMEMBER_IDEMPOTENT, |sql, connection| {
            sqlx::query(sql)
                .bind(server.as_str())
                .bind(idempotency.key.as_bytes())
                .bind(idempotency.body.as_bytes())
                .bind(id.0)
                .bind(now.0)
                .execute(connection)
                .await?
                .rows_affected()
        });
        Ok(rows == 1)
    }

    async fn recall(&mut self, server: &ServerId, key: &Hash) -> Result<Before, StoreError> {
        let row: IdempotentRow = within!(self, RECALL_IDEMPOTENT, |sql, connection| {
            sqlx::query_as(sql).bind(server.as_str()).bind(key.as_bytes()).fetch_one(connection).await?
        });
        row.try_into()
    }

    async fn point(&mut self, server: &ServerId, key: &Hash, id: ElicitationId) -> Result<(), StoreError> {
        within!(self, POINT_IDEMPOTENT, |sql, connection| {
            sqlx::query(sql)
                .bind(server.as_str())
                .bind(key.as_bytes())
                .bind(id.0)
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    async fn expire_predecessor(
        &mut self,
        key: &Hash,
        now: Millis,
    ) -> Result<Option<Elicitation>, StoreError> {
        let row: Option<ElicitationRow> = within!(self, EXPIRE_PREDECESSOR, |sql, connection| {
            sqlx::query_as(sql).bind(key.as_bytes()).bind(now.0).fetch_optional(connection).await?
        });
        row.map(Elicitation::try_from).transpose()
    }

    async fn retire(&mut self, key: &Hash, now: Millis) -> Result<(), StoreError> {
        within!(self, RETIRE, |sql, connection| {
            sqlx::query(sql)
                .bind(key.as_bytes())
                .bind(now.0.saturating_add(REUSE_LEAST_MS))
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// The new one, or the one that has its key. That one may be closed between the two statements, and then the
    /// key is free.
    async fn insert_or_find(
        &mut self,
        new: &NewElicitation,
        reuse_key: Option<Hash>,
        now: Millis,
    ) -> Result<(Elicitation, bool), StoreError> {
        for _ in 0..INSERTS_MAX {
            if self.insert(new, reuse_key, now).await? {
                return Ok((self.by_id(new.id).await?, true));
            }
            let Some(key) = reuse_key else { break };
            if let Some(open) = self.by_reuse_key(&key).await? {
                return Ok((open, false));
            }
        }
        Err(StoreError::Unavailable("the same question is asked and closed too often"))
    }

    async fn insert(
        &mut self,
        new: &NewElicitation,
        reuse_key: Option<Hash>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let rows = within!(self, INSERT, |sql, connection| {
            sqlx::query(sql)
                .bind(new.id.0)
                .bind(new.server.as_str())
                .bind(&new.owner.issuer)
                .bind(&new.owner.sub)
                .bind(new.provider.as_str())
                .bind(new.scopes.to_text())
                .bind(new.legacy)
                .bind(&new.client_ref)
                .bind(&new.client_name)
                .bind(&new.message)
                .bind(new.seen.map(|grant| grant.connection.0))
                .bind(new.seen.map(|grant| grant.number))
                .bind(reuse_key.as_ref().map(Hash::as_bytes))
                .bind(now.0)
                .bind(new.expires_at.0)
                .bind(new.values.to_json())
                .bind(new.typed.to_json())
                .execute(connection)
                .await?
                .rows_affected()
        });
        Ok(rows == 1)
    }

    async fn by_reuse_key(&mut self, key: &Hash) -> Result<Option<Elicitation>, StoreError> {
        let row: Option<ElicitationRow> = within!(self, BY_REUSE_KEY, |sql, connection| {
            sqlx::query_as(sql).bind(key.as_bytes()).fetch_optional(connection).await?
        });
        row.map(Elicitation::try_from).transpose()
    }
}
