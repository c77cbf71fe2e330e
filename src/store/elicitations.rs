//! Elicitations: made, looked at, closed.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    statements::statements,
    tx::{Tx, read, within},
};
use crate::{
    clock::Millis,
    connection::{Account, Connection, ConnectionId, Grant, Status},
    elicitation::{Elicitation, ElicitationId, NewElicitation, OwnedOpen, ServerId, State},
    random::Random,
    scope::Scopes,
    secret::Hash,
    signal::Kind,
    subject::Subject,
    vault::Sealed,
};

/// How long an open elicitation must still have to be used again, in milliseconds.
const REUSE_LEAST_MS: i64 = 120_000;
/// How often a creation tries to take its key.
const INSERTS_MAX: usize = 4;

macro_rules! columns {
    () => {
        "id, server, issuer, sub, provider, scopes, legacy, client_ref, client_name, message, state, reason, connection, \
         seen_connection, seen_grant, attempt_until_ms, created_at_ms, expires_at_ms, closed_at_ms"
    };
}
pub(super) use columns;

statements! {
    INSERT = "INSERT INTO elicitations (id, server, issuer, sub, provider, scopes, legacy, client_ref, client_name, \
              message, state, seen_connection, seen_grant, reuse_key, created_at_ms, expires_at_ms) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $12, $13, $14, $15) \
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

    BY_ID = concat!("SELECT ", columns!(), " FROM elicitations WHERE id = $1");

    BY_SERVER_AND_ID = concat!("SELECT ", columns!(), " FROM elicitations WHERE id = $1 AND server = $2");

    LIST = concat!("SELECT ", columns!(), " FROM elicitations \
        WHERE ($1 IS NULL OR server = $1) AND ($2 IS NULL OR state = $2) ORDER BY created_at_ms DESC LIMIT $3");

    /// Everything that a page needs, in one round trip: the elicitation, this browser's session if it is alive,
    /// its sign-in for the elicitation's issuer, and the owner's connection.
    VISIT = concat!("SELECT e.*, s.browser AS browser, s.seen_at_ms AS session_seen_at_ms, \
        i.sub AS signed_in_sub, i.label AS signed_in_label, c.id AS c_id, c.account_id AS c_account_id, \
        c.account_label AS c_account_label, c.granted AS c_granted, c.asked AS c_asked, c.status AS c_status, \
        c.reason AS c_reason, c.generation AS c_generation, c.grant_number AS c_grant_number, \
        c.access_expires_at_ms AS c_access_expires_at_ms, c.created_at_ms AS c_created_at_ms, \
        c.updated_at_ms AS c_updated_at_ms \
        FROM (SELECT ", columns!(), " FROM elicitations WHERE id = $1) e \
        LEFT JOIN sessions s ON s.id_hash = $2 AND s.replaced_at_ms IS NULL AND s.expires_at_ms > $3 \
            AND s.seen_at_ms > $4 \
        LEFT JOIN sign_ins i ON i.browser = s.browser AND i.issuer = e.issuer \
        LEFT JOIN connections c ON c.server = e.server AND c.issuer = e.issuer AND c.sub = e.sub \
            AND c.provider = e.provider");

    /// Ends one in any way but completion. Owner and server are in the predicate, as in the caller's proof.
    CLOSE = concat!(
        "UPDATE elicitations SET state = $2, reason = $3, closed_at_ms = $4, reuse_key = NULL, \
         attempt_until_ms = NULL \
         WHERE id = $1 AND server = $5 AND issuer = $6 AND sub = $7 \
         AND state IN ('pending', 'authorizing') AND expires_at_ms > $4 RETURNING ", columns!());

    /// Completes one by a connection that is there: kept by the person, or satisfied by another's trip.
    COMPLETE_BY = concat!(
        "UPDATE elicitations SET state = 'completed', reason = $2, connection = $3, closed_at_ms = $5, \
         reuse_key = NULL, attempt_until_ms = NULL \
         WHERE id = $1 AND state IN ('pending', 'authorizing') AND expires_at_ms > $5 \
         AND EXISTS (SELECT 1 FROM connections c WHERE c.id = $3 AND c.grant_number = $4 AND c.status = 'active' \
            AND c.server = elicitations.server \
            AND c.issuer = elicitations.issuer AND c.sub = elicitations.sub AND c.provider = elicitations.provider) \
         RETURNING ", columns!());

    /// What a closed elicitation leaves of its attempts; one that is claimed ends by itself.
    END_ATTEMPTS = "UPDATE attempts SET state = 'settled', outcome = 'closed_meanwhile', verifier = NULL, \
        parked = NULL, parked_until_ms = NULL, offer = NULL, settled_at_ms = $2 \
        WHERE elicitation = $1 AND state IN ('live', 'offered')";

    RECALL_IDEMPOTENT = "SELECT body_hash, elicitation, created_at_ms FROM idempotency_keys \
        WHERE server = $1 AND key_hash = $2";

    REMEMBER_IDEMPOTENT = "INSERT INTO idempotency_keys (server, key_hash, body_hash, elicitation, created_at_ms) \
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (server, key_hash) DO NOTHING";

    /// The key's creation gave an open one again.
    POINT_IDEMPOTENT = "UPDATE idempotency_keys SET elicitation = $3 WHERE server = $1 AND key_hash = $2";
}

#[derive(FromRow)]
pub(super) struct ElicitationRow {
    id: Uuid,
    server: String,
    issuer: String,
    sub: String,
    provider: String,
    scopes: String,
    legacy: bool,
    client_ref: String,
    client_name: Option<String>,
    message: Option<String>,
    state: String,
    reason: Option<String>,
    connection: Option<Uuid>,
    seen_connection: Option<Uuid>,
    seen_grant: Option<i64>,
    attempt_until_ms: Option<i64>,
    created_at_ms: i64,
    expires_at_ms: i64,
    closed_at_ms: Option<i64>,
}

/// An error for a column that cannot be read back.
pub(super) fn corrupt<E>(table: &'static str, column: &'static str) -> impl FnOnce(E) -> StoreError {
    move |_| StoreError::Corrupt { table, column }
}

impl TryFrom<ElicitationRow> for Elicitation {
    type Error = StoreError;

    fn try_from(row: ElicitationRow) -> Result<Self, StoreError> {
        const TABLE: &str = "elicitations";
        let seen = row.seen_connection.zip(row.seen_grant);
        Ok(Self {
            id: ElicitationId(row.id),
            server: row.server.parse().map_err(corrupt(TABLE, "server"))?,
            owner: Subject::new(row.issuer, row.sub).map_err(corrupt(TABLE, "sub"))?,
            provider: row.provider.parse().map_err(corrupt(TABLE, "provider"))?,
            scopes: Scopes::new(row.scopes.split_ascii_whitespace()).map_err(corrupt(TABLE, "scopes"))?,
            legacy: row.legacy,
            client_ref: row.client_ref,
            client_name: row.client_name,
            message: row.message,
            stored: row.state.parse().map_err(corrupt(TABLE, "state"))?,
            reason: row.reason,
            connection: row.connection.map(ConnectionId),
            seen: seen.map(|(id, number)| Grant { connection: ConnectionId(id), number }),
            attempt_until: row.attempt_until_ms.map(Millis),
            created_at: Millis(row.created_at_ms),
            expires_at: Millis(row.expires_at_ms),
            closed_at: row.closed_at_ms.map(Millis),
        })
    }
}

#[derive(FromRow)]
struct VisitRow {
    #[sqlx(flatten)]
    elicitation: ElicitationRow,
    browser: Option<Uuid>,
    session_seen_at_ms: Option<i64>,
    signed_in_sub: Option<String>,
    signed_in_label: Option<String>,
    c_id: Option<Uuid>,
    c_account_id: Option<String>,
    c_account_label: Option<String>,
    c_granted: Option<String>,
    c_asked: Option<String>,
    c_status: Option<String>,
    c_reason: Option<String>,
    c_generation: Option<i64>,
    c_grant_number: Option<i64>,
    c_access_expires_at_ms: Option<i64>,
    c_created_at_ms: Option<i64>,
    c_updated_at_ms: Option<i64>,
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

/// A visit to an elicitation by some browser.
#[derive(Clone, Debug)]
pub struct Visit {
    /// What is visited.
    pub elicitation: Elicitation,
    /// The browser's session, when it has a live one.
    pub visitor: Option<Visitor>,
    /// The owner's connection for the same provider, without its sealed values.
    pub connection: Option<Connection>,
}

/// Who visits.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// The session's lineage.
    pub browser: Uuid,
    /// When its idle stamp was last written.
    pub seen_at: Millis,
    /// Who is signed in for the elicitation's issuer, if anybody is.
    pub subject: Option<Subject>,
    /// What the authorization server calls them. Untrusted text.
    pub label: Option<String>,
}

impl TryFrom<VisitRow> for Visit {
    type Error = StoreError;

    fn try_from(row: VisitRow) -> Result<Self, StoreError> {
        let elicitation = Elicitation::try_from(row.elicitation)?;
        let subject = row
            .signed_in_sub
            .map(|sub| Subject::new(elicitation.owner.issuer.clone(), sub))
            .transpose()
            .map_err(corrupt("sign_ins", "sub"))?;
        let visitor = row.browser.zip(row.session_seen_at_ms).map(|(browser, seen)| Visitor {
            browser,
            seen_at: Millis(seen),
            subject,
            label: row.signed_in_label,
        });
        let connection = match row.c_id {
            None => None,
            Some(id) => Some(Connection {
                id: ConnectionId(id),
                server: elicitation.server.clone(),
                owner: elicitation.owner.clone(),
                provider: elicitation.provider.clone(),
                account: Account { id: row.c_account_id, label: row.c_account_label },
                granted: scopes(row.c_granted.as_deref())?,
                asked: scopes(row.c_asked.as_deref())?,
                status: row
                    .c_status
                    .as_deref()
                    .unwrap_or_default()
                    .parse::<Status>()
                    .map_err(corrupt("connections", "status"))?,
                reason: row.c_reason,
                generation: row.c_generation.unwrap_or_default(),
                grant: row.c_grant_number.unwrap_or_default(),
                access: Sealed::from_bytes(Vec::new()),
                refresh: None,
                access_expires_at: row.c_access_expires_at_ms.map(Millis),
                refresh_expires_at: None,
                created_at: Millis(row.c_created_at_ms.unwrap_or_default()),
                updated_at: Millis(row.c_updated_at_ms.unwrap_or_default()),
            }),
        };
        Ok(Self { elicitation, visitor, connection })
    }
}

fn scopes(text: Option<&str>) -> Result<Scopes, StoreError> {
    Scopes::new(text.unwrap_or_default().split_ascii_whitespace()).map_err(corrupt("connections", "granted"))
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

    /// One elicitation, whoever asks. For the pages, which compare the owner next.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn elicitation(&self, id: ElicitationId) -> Result<Option<Elicitation>, StoreError> {
        let row: Option<ElicitationRow> =
            read!(self, BY_ID, |sql, pool| sqlx::query_as(sql).bind(id.0).fetch_optional(pool).await?);
        row.map(Elicitation::try_from).transpose()
    }

    /// One elicitation of this MCP server; another's is `None`, like an unknown one (R1).
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn elicitation_of(
        &self,
        server: &ServerId,
        id: ElicitationId,
    ) -> Result<Option<Elicitation>, StoreError> {
        let row: Option<ElicitationRow> = read!(self, BY_SERVER_AND_ID, |sql, pool| {
            sqlx::query_as(sql).bind(id.0).bind(server.as_str()).fetch_optional(pool).await?
        });
        row.map(Elicitation::try_from).transpose()
    }

    /// The newest elicitations, for the operator; `state` is the stored one.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn elicitations(
        &self,
        server: Option<&ServerId>,
        state: Option<State>,
        limit: u32,
    ) -> Result<Vec<Elicitation>, StoreError> {
        let rows: Vec<ElicitationRow> = read!(self, LIST, |sql, pool| {
            sqlx::query_as(sql)
                .bind(server.map(ServerId::as_str))
                .bind(state.map(State::as_str))
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        rows.into_iter().map(Elicitation::try_from).collect()
    }

    /// Everything that a page needs, in one round trip. `idle_since` is the oldest idle stamp that still counts.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn visit(
        &self,
        id: ElicitationId,
        session: Option<&Hash>,
        now: Millis,
        idle_since: Millis,
    ) -> Result<Option<Visit>, StoreError> {
        let row: Option<VisitRow> = read!(self, VISIT, |sql, pool| {
            sqlx::query_as(sql)
                .bind(id.0)
                .bind(session.map(Hash::as_bytes))
                .bind(now.0)
                .bind(idle_since.0)
                .fetch_optional(pool)
                .await?
        });
        row.map(Visit::try_from).transpose()
    }

    /// The person said no. False when it was closed or expired meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn decline(&self, mine: &OwnedOpen, now: Millis) -> Result<bool, StoreError> {
        self.close(mine.elicitation(), State::Declined, "declined_by_user", now).await
    }

    /// Ends an open elicitation with its one signal. False when it was closed or expired meanwhile. For the API
    /// and the operator; browsers have moves of their own that ask for the owner's proof.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn close(
        &self,
        elicitation: &Elicitation,
        end: State,
        reason: &str,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let Some(kind) = Kind::of_end(end) else { return Ok(false) };
        let mut tx = self.begin_tx().await?;
        let row: Option<ElicitationRow> = within!(&mut tx, CLOSE, |sql, connection| {
            sqlx::query_as(sql)
                .bind(elicitation.id.0)
                .bind(end.as_str())
                .bind(reason)
                .bind(now.0)
                .bind(elicitation.server.as_str())
                .bind(&elicitation.owner.issuer)
                .bind(&elicitation.owner.sub)
                .fetch_optional(connection)
                .await?
        });
        let Some(row) = row else { return Ok(false) };
        let closed = Elicitation::try_from(row)?;
        tx.end_attempts(closed.id, now).await?;
        tx.queue_end(&closed, kind, self.random, now).await?;
        tx.commit().await?;
        self.announce(&[closed.server]);
        Ok(true)
    }

    /// The connection that is there will do. False when either moved meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn keep(&self, mine: &OwnedOpen, grant: Grant, now: Millis) -> Result<bool, StoreError> {
        self.complete_by(mine.elicitation().id, grant, "kept", now).await
    }

    /// Completes an elicitation that a connection came to satisfy without it. False when either moved meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn satisfy(
        &self,
        elicitation: &Elicitation,
        grant: Grant,
        now: Millis,
    ) -> Result<bool, StoreError> {
        self.complete_by(elicitation.id, grant, "satisfied", now).await
    }

    async fn complete_by(
        &self,
        id: ElicitationId,
        grant: Grant,
        reason: &str,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        let Some(completed) = tx.complete_by(id, grant, reason, now).await? else { return Ok(false) };
        tx.queue_end(&completed, Kind::ElicitationCompleted, self.random, now).await?;
        tx.commit().await?;
        self.announce(&[completed.server]);
        Ok(true)
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

    async fn by_id(&mut self, id: ElicitationId) -> Result<Elicitation, StoreError> {
        let row: ElicitationRow = within!(self, BY_ID, |sql, connection| {
            sqlx::query_as(sql).bind(id.0).fetch_one(connection).await?
        });
        row.try_into()
    }

    /// Ends the attempts of a closed elicitation and forgets what they held.
    pub(super) async fn end_attempts(&mut self, id: ElicitationId, now: Millis) -> Result<(), StoreError> {
        within!(self, END_ATTEMPTS, |sql, connection| {
            sqlx::query(sql).bind(id.0).bind(now.0).execute(connection).await?;
        });
        Ok(())
    }

    /// Completes one elicitation by a connection, if both are as the caller saw them.
    pub(super) async fn complete_by(
        &mut self,
        id: ElicitationId,
        grant: Grant,
        reason: &str,
        now: Millis,
    ) -> Result<Option<Elicitation>, StoreError> {
        let row: Option<ElicitationRow> = within!(self, COMPLETE_BY, |sql, connection| {
            sqlx::query_as(sql)
                .bind(id.0)
                .bind(reason)
                .bind(grant.connection.0)
                .bind(grant.number)
                .bind(now.0)
                .fetch_optional(connection)
                .await?
        });
        let Some(row) = row else { return Ok(None) };
        self.end_attempts(id, now).await?;
        Ok(Some(row.try_into()?))
    }
}
