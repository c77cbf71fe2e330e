//! Connections: found, listed, disconnected. They are written by `settle`.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    elicitations::{ElicitationRow, columns as elicitation_columns, corrupt},
    statements::{Statement, statements},
    tx::{Tx, read, within},
};
use crate::{
    audit::{self, Actor, Entry},
    clock::Millis,
    connection::{Account, Connection, ConnectionId, Marks},
    elicitation::{Elicitation, ElicitationId, ProviderId, ServerId},
    revocation::{NewRevocation, RevocationId},
    scope::Scopes,
    secret::Hash,
    signal::Kind,
    subject::Subject,
    values::Values,
    vault::Sealed,
};

macro_rules! columns {
    () => {
        "id, server, issuer, sub, provider, account_id, account_label, granted, asked, status, reason, generation, \
         grant_number, access, refresh, access_expires_at_ms, refresh_expires_at_ms, consent_expires_at_ms, \
         refreshed_at_ms, refused_generation, mended_generation, failures, failure, next_attempt_at_ms, values_json, \
         fingerprint, marks, created_at_ms, updated_at_ms"
    };
}
pub(super) use columns;

/// Binds the four parts of a [`ConnectionFilter`], which every statement that takes one has as its first.
macro_rules! matching {
    ($query:expr, $filter:expr) => {
        $query
            .bind($filter.server.map($crate::elicitation::ServerId::as_str))
            .bind($filter.issuer)
            .bind($filter.sub)
            .bind($filter.provider.map($crate::elicitation::ProviderId::as_str))
    };
}
pub(super) use matching;

statements! {
    BY_OWNER = concat!("SELECT ", columns!(), " FROM connections \
        WHERE server = $1 AND issuer = $2 AND sub = $3 AND provider = $4");

    BY_ID = concat!("SELECT ", columns!(), " FROM connections WHERE id = $1 AND server = $2");

    ANY_BY_ID = concat!("SELECT ", columns!(), " FROM connections WHERE id = $1");

    LIST = concat!("SELECT ", columns!(), " FROM connections \
        WHERE ($1 IS NULL OR server = $1) AND ($2 IS NULL OR issuer = $2) AND ($3 IS NULL OR sub = $3) \
        AND ($4 IS NULL OR provider = $4) AND ($5 IS NULL OR id > $5) ORDER BY id LIMIT $6");

    DELETE = concat!("DELETE FROM connections WHERE id = $1 AND server = $2 RETURNING ", columns!());

    /// Connections with this account at this provider, of any MCP server, less those that are about to go, and less the
    /// one that the token was of when that has ended; where an account is not known, the same person's may be of it. An
    /// account of the same id at another place is another one.
    OF_ACCOUNT = "SELECT CAST(COUNT(*) AS BIGINT) FROM (\
        SELECT id, status, reason, fingerprint FROM connections WHERE provider = $1 AND account_id = $2 UNION ALL \
        SELECT id, status, reason, fingerprint FROM connections WHERE issuer = $3 AND sub = $4 AND provider = $1 \
            AND ($2 IS NULL OR account_id IS NULL)) found \
        WHERE (reason IS NULL OR reason <> 'disconnecting') AND (status = 'active' OR id <> $5) \
        AND (fingerprint IS NULL OR $6 IS NULL OR fingerprint = $6)";

    /// What a disconnected account leaves open; past its expiry too, while a claimed attempt is finishing it.
    OPEN = "SELECT id FROM elicitations WHERE server = $1 AND issuer = $2 AND sub = $3 AND provider = $4 \
        AND state IN ('pending', 'authorizing') AND (expires_at_ms > $5 OR attempt_until_ms > $5) ORDER BY id";

    /// A trip that is under way must not bring a disconnected account back.
    CANCEL = concat!("UPDATE elicitations SET state = 'cancelled', reason = 'disconnected', \
        closed_at_ms = $2, reuse_key = NULL, attempt_until_ms = NULL WHERE id = $1 \
        AND state IN ('pending', 'authorizing') AND (expires_at_ms > $2 OR attempt_until_ms > $2) RETURNING ",
        elicitation_columns!());
}

#[derive(FromRow)]
pub(super) struct ConnectionRow {
    id: Uuid,
    server: String,
    issuer: String,
    sub: String,
    provider: String,
    account_id: Option<String>,
    account_label: Option<String>,
    granted: String,
    asked: String,
    status: String,
    reason: Option<String>,
    generation: i64,
    grant_number: i64,
    access: Vec<u8>,
    refresh: Option<Vec<u8>>,
    access_expires_at_ms: Option<i64>,
    refresh_expires_at_ms: Option<i64>,
    consent_expires_at_ms: Option<i64>,
    refreshed_at_ms: Option<i64>,
    refused_generation: Option<i64>,
    mended_generation: Option<i64>,
    failures: i64,
    failure: Option<String>,
    next_attempt_at_ms: Option<i64>,
    values_json: Option<String>,
    fingerprint: Option<Vec<u8>>,
    marks: Option<String>,
    created_at_ms: i64,
    updated_at_ms: i64,
}

impl TryFrom<ConnectionRow> for Connection {
    type Error = StoreError;

    fn try_from(row: ConnectionRow) -> Result<Self, StoreError> {
        const TABLE: &str = "connections";
        let scopes =
            |text: &str, column| Scopes::new(text.split_ascii_whitespace()).map_err(corrupt(TABLE, column));
        Ok(Self {
            id: ConnectionId(row.id),
            server: row.server.parse().map_err(corrupt(TABLE, "server"))?,
            owner: Subject::new(row.issuer, row.sub).map_err(corrupt(TABLE, "sub"))?,
            provider: row.provider.parse().map_err(corrupt(TABLE, "provider"))?,
            account: Account { id: row.account_id, label: row.account_label },
            granted: scopes(&row.granted, "granted")?,
            asked: scopes(&row.asked, "asked")?,
            status: row.status.parse().map_err(corrupt(TABLE, "status"))?,
            reason: row.reason,
            generation: row.generation,
            grant: row.grant_number,
            access: Sealed::from_bytes(row.access),
            can_refresh: row.refresh.is_some(),
            refresh: row.refresh.map(Sealed::from_bytes),
            access_expires_at: row.access_expires_at_ms.map(Millis),
            refresh_expires_at: row.refresh_expires_at_ms.map(Millis),
            consent_expires_at: row.consent_expires_at_ms.map(Millis),
            refreshed_at: row.refreshed_at_ms.map(Millis),
            refused_generation: row.refused_generation,
            mended_generation: row.mended_generation,
            failures: row.failures,
            failure: row.failure,
            next_attempt_at: row.next_attempt_at_ms.map(Millis),
            values: values_of(TABLE, row.values_json.as_deref())?,
            fingerprint: fingerprint_of(TABLE, row.fingerprint)?,
            marks: Marks::from_text(row.marks.as_deref()),
            created_at: Millis(row.created_at_ms),
            updated_at: Millis(row.updated_at_ms),
        })
    }
}

/// The values in a row of `table`.
pub(super) fn values_of(table: &'static str, text: Option<&str>) -> Result<Values, StoreError> {
    Values::from_json(text).map_err(corrupt(table, "values_json"))
}

/// The fingerprint in a row of `table`.
pub(super) fn fingerprint_of(
    table: &'static str,
    bytes: Option<Vec<u8>>,
) -> Result<Option<Hash>, StoreError> {
    bytes.map(|bytes| bytes.try_into().map(Hash)).transpose().map_err(corrupt(table, "fingerprint"))
}

/// Which connections to list; `None` is any.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionFilter<'a> {
    /// Of this MCP server.
    pub server: Option<&'a ServerId>,
    /// Of this issuer.
    pub issuer: Option<&'a str>,
    /// Of this subject.
    pub sub: Option<&'a str>,
    /// For this provider.
    pub provider: Option<&'a ProviderId>,
    /// Those after this one, in the order of ids.
    pub after: Option<ConnectionId>,
}

/// What a disconnect did.
#[derive(Clone, Debug)]
pub struct Disconnected {
    /// What was removed.
    pub connection: Connection,
    /// The first of what was queued for the provider.
    pub revocation: Option<RevocationId>,
    /// How many open elicitations were cancelled with it.
    pub cancelled: usize,
}

impl Store {
    /// The owner's connection for a provider under an MCP server.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn connection_for(
        &self,
        server: &ServerId,
        owner: &Subject,
        provider: &ProviderId,
    ) -> Result<Option<Connection>, StoreError> {
        let row: Option<ConnectionRow> = read!(self, BY_OWNER, |sql, pool| {
            sqlx::query_as(sql)
                .bind(server.as_str())
                .bind(&owner.issuer)
                .bind(&owner.sub)
                .bind(provider.as_str())
                .fetch_optional(pool)
                .await?
        });
        row.map(Connection::try_from).transpose()
    }

    /// A connection of this MCP server; another's is `None`, like an unknown one (R109).
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn connection(
        &self,
        server: &ServerId,
        id: ConnectionId,
    ) -> Result<Option<Connection>, StoreError> {
        let row: Option<ConnectionRow> = read!(self, BY_ID, |sql, pool| {
            sqlx::query_as(sql).bind(id.0).bind(server.as_str()).fetch_optional(pool).await?
        });
        row.map(Connection::try_from).transpose()
    }

    /// A connection of any MCP server, for the operator and for the owner's own page, which compares next.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn any_connection(&self, id: ConnectionId) -> Result<Option<Connection>, StoreError> {
        let row: Option<ConnectionRow> =
            read!(self, ANY_BY_ID, |sql, pool| sqlx::query_as(sql).bind(id.0).fetch_optional(pool).await?);
        row.map(Connection::try_from).transpose()
    }

    /// A page of connections, in the order of their ids.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn connections(
        &self,
        filter: ConnectionFilter<'_>,
        limit: u32,
    ) -> Result<Vec<Connection>, StoreError> {
        self.page_of(&LIST, filter, limit).await
    }

    /// A page of what `statement` finds by a filter, an id to go on after, and a limit.
    pub(super) async fn page_of(
        &self,
        statement: &'static Statement,
        filter: ConnectionFilter<'_>,
        limit: u32,
    ) -> Result<Vec<Connection>, StoreError> {
        let rows: Vec<ConnectionRow> = read!(self, statement, |sql, pool| {
            matching!(sqlx::query_as(sql), filter)
                .bind(filter.after.map(|id| id.0))
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        rows.into_iter().map(Connection::try_from).collect()
    }

    /// Whether any connection has this account at this provider, and at this place of it where that is known: then a
    /// revocation may end that one too. An account that is not known may be that of any connection of its owner. One that has ended does not keep its own tokens,
    /// those of `of`, from being revoked.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn account_in_use(
        &self,
        provider: &ProviderId,
        account_id: Option<&str>,
        owner: &Subject,
        of: Option<ConnectionId>,
        place: Option<&Hash>,
    ) -> Result<bool, StoreError> {
        let found: i64 = read!(self, OF_ACCOUNT, |sql, pool| {
            sqlx::query_scalar(sql)
                .bind(provider.as_str())
                .bind(account_id)
                .bind(&owner.issuer)
                .bind(&owner.sub)
                .bind(of.map_or(Uuid::nil(), |id| id.0))
                .bind(place.map(Hash::as_bytes))
                .fetch_one(pool)
                .await?
        });
        Ok(found > 0)
    }

    /// Removes a connection: from this commit on nothing hands it out, and what was open for the same server,
    /// subject and provider is cancelled. `to_revoke` seals what the provider is to be told, each for a row of its own; it is
    /// queued in the same transaction, so that no crash loses it. `None` when there is no such connection.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn disconnect<R: IntoIterator<Item = NewRevocation>>(
        &self,
        server: &ServerId,
        id: ConnectionId,
        reason: &str,
        to_revoke: impl FnOnce(&Connection) -> R,
        now: Millis,
    ) -> Result<Option<Disconnected>, StoreError> {
        let mut tx = self.begin_tx().await?;
        let row: Option<ConnectionRow> = within!(&mut tx, DELETE, |sql, connection| {
            sqlx::query_as(sql).bind(id.0).bind(server.as_str()).fetch_optional(connection).await?
        });
        let Some(row) = row else { return Ok(None) };
        let connection = Connection::try_from(row)?;
        let revocations: Vec<_> = to_revoke(&connection).into_iter().collect();
        for revocation in &revocations {
            tx.queue_revocation(revocation, now).await?;
        }
        let cancelled = tx.cancel_open(&connection, now).await?;
        for elicitation in &cancelled {
            tx.end_attempts(elicitation.id, now).await?;
        }
        tx.queue_connection(&connection, Kind::ConnectionDeleted, Some(reason), self.random, now).await?;
        let actor = Actor::of_reason(reason);
        tx.audit(Entry::new(audit::Kind::Disconnected, actor, &connection, now).because(reason));
        for elicitation in &cancelled {
            tx.queue_end(elicitation, Kind::ElicitationCancelled, self.random, now).await?;
            tx.audit(Entry::new(audit::Kind::Cancelled, actor, elicitation, now).because("disconnected"));
        }
        tx.commit().await?;
        self.announce(std::slice::from_ref(&connection.server));
        self.announce_revocations();
        let revocation = revocations.first().map(|queued| queued.id);
        Ok(Some(Disconnected { connection, cancelled: cancelled.len(), revocation }))
    }
}

impl Store {
    /// Cancels an open elicitation because what it asks for is disconnected for everybody, whether a connection is there
    /// or not. False when it was closed meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn cancel_asked(
        &self,
        id: ElicitationId,
        reason: &str,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        let row: Option<ElicitationRow> = within!(&mut tx, CANCEL, |sql, handle| {
            sqlx::query_as(sql).bind(id.0).bind(now.0).fetch_optional(handle).await?
        });
        let Some(row) = row else { return Ok(false) };
        let cancelled = Elicitation::try_from(row)?;
        tx.end_attempts(cancelled.id, now).await?;
        tx.queue_end(&cancelled, Kind::ElicitationCancelled, self.random, now).await?;
        let actor = Actor::of_reason(reason);
        tx.audit(Entry::new(audit::Kind::Cancelled, actor, &cancelled, now).because("disconnected"));
        tx.commit().await?;
        self.announce(std::slice::from_ref(&cancelled.server));
        Ok(true)
    }
}

impl Tx {
    /// One by one in the order of their ids, in which every move takes them.
    async fn cancel_open(
        &mut self,
        connection: &Connection,
        now: Millis,
    ) -> Result<Vec<Elicitation>, StoreError> {
        let open: Vec<Uuid> = within!(self, OPEN, |sql, handle| {
            sqlx::query_scalar(sql)
                .bind(connection.server.as_str())
                .bind(&connection.owner.issuer)
                .bind(&connection.owner.sub)
                .bind(connection.provider.as_str())
                .bind(now.0)
                .fetch_all(handle)
                .await?
        });
        let mut cancelled = Vec::with_capacity(open.len());
        for id in open {
            let row: Option<ElicitationRow> = within!(self, CANCEL, |sql, handle| {
                sqlx::query_as(sql).bind(id).bind(now.0).fetch_optional(handle).await?
            });
            cancelled.extend(row.map(Elicitation::try_from).transpose()?);
        }
        Ok(cancelled)
    }
}
