//! The hot read: a connection to hand out, found without the pool.
//!
//! On Postgres a task owns one connection and answers every look-up that has come while the last statement ran with
//! one prepared statement over all of them. The batch forms by itself under load and is of one without; nothing
//! waits for it to fill. A pooled query costs two or three round trips, a look-up here a share of one. A handler
//! never owns the connection, so that a caller who hangs up cannot leave it half-read. SQLite reads by its reader
//! pool.

use std::time::Duration;

use sqlx::{Connection as _, FromRow, PgConnection, postgres::PgConnectOptions};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::{
    Store, StoreError,
    connections::{fingerprint_of, values_of},
    elicitations::corrupt,
    open::Pools,
};
use crate::{
    clock::Millis,
    connection::{Account, Connection, ConnectionId, Marks},
    elicitation::{ProviderId, ServerId},
    scope::Scopes,
    subject::Subject,
    vault::Sealed,
};

/// Look-ups in one statement.
const BATCH_MAX: usize = 64;
/// Look-ups that may wait; more is `Unavailable`.
const QUEUE_MAX: usize = 4096;
/// One statement, and one connection attempt.
const PATIENCE: Duration = Duration::from_secs(2);

/// Joined over the composite key, so that it uses the unique index for each row.
const LOOK_UP: &str = "SELECT k.n, c.id, c.account_id, c.account_label, c.granted, c.asked, c.status, c.generation, \
    c.grant_number, c.access, c.refresh IS NOT NULL AS can_refresh, c.access_expires_at_ms, c.refreshed_at_ms, \
    c.refused_generation, c.next_attempt_at_ms, c.values_json, c.fingerprint, c.marks \
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) \
        AS k (n, server, issuer, sub, provider) \
    JOIN connections c ON c.server = k.server AND c.issuer = k.issuer AND c.sub = k.sub AND c.provider = k.provider";

#[derive(FromRow)]
struct Row {
    n: i64,
    id: Uuid,
    account_id: Option<String>,
    account_label: Option<String>,
    granted: String,
    asked: String,
    status: String,
    generation: i64,
    grant_number: i64,
    access: Vec<u8>,
    can_refresh: bool,
    access_expires_at_ms: Option<i64>,
    refreshed_at_ms: Option<i64>,
    refused_generation: Option<i64>,
    next_attempt_at_ms: Option<i64>,
    values_json: Option<String>,
    fingerprint: Option<Vec<u8>>,
    marks: Option<String>,
}

struct LookUp {
    server: ServerId,
    owner: Subject,
    provider: ProviderId,
    answer: Answer,
}

type Answer = oneshot::Sender<Result<Option<Connection>, StoreError>>;

/// A queue to the task that owns the connection. The task ends with the last clone.
#[derive(Clone)]
pub(super) struct Lane(mpsc::Sender<LookUp>);

impl Lane {
    pub(super) fn start(options: PgConnectOptions) -> Self {
        let (queue, lookups) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(run(options, lookups));
        Self(queue)
    }
}

impl Store {
    /// The owner's connection as it is handed out: without its refresh token, its times of change and its reason.
    /// One round trip, shared with whoever asks at the same moment.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn connection_to_hand_out(
        &self,
        server: &ServerId,
        owner: &Subject,
        provider: &ProviderId,
    ) -> Result<Option<Connection>, StoreError> {
        let (Some(lane), Pools::Postgres(pool)) = (&self.lane, &self.pools) else {
            return self.connection_for(server, owner, provider).await;
        };
        if pool.is_closed() {
            return Err(StoreError::Unavailable("it is closed"));
        }
        let (answer, answered) = oneshot::channel();
        let lookup =
            LookUp { server: server.clone(), owner: owner.clone(), provider: provider.clone(), answer };
        let full = |_| StoreError::Unavailable("too many look-ups wait");
        lane.0.try_send(lookup).map_err(full)?;
        answered.await.map_err(|_| StoreError::Unavailable("the look-ups have stopped"))?
    }
}

async fn run(options: PgConnectOptions, mut lookups: mpsc::Receiver<LookUp>) {
    let mut connection = None;
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while lookups.recv_many(&mut batch, BATCH_MAX).await > 0 {
        // A connection that broke since the last batch is found out by using it: once more, on a new one.
        let mut result = look_up(&mut connection, &options, &batch).await;
        if result.is_err() {
            connection = None;
            result = look_up(&mut connection, &options, &batch).await;
        }
        match result {
            Ok(rows) => answer(&mut batch, rows),
            Err(error) => {
                tracing::warn!(%error, "look-ups failed");
                connection = None;
                for lookup in batch.drain(..) {
                    tell(lookup.answer, Err(StoreError::Unavailable("the connection to it broke")));
                }
            }
        }
    }
}

async fn look_up(
    connection: &mut Option<PgConnection>,
    options: &PgConnectOptions,
    batch: &[LookUp],
) -> Result<Vec<Row>, StoreError> {
    let late = |_| StoreError::Unavailable("it did not answer in time");
    let connection = match connection {
        Some(connection) => connection,
        None => {
            let connected = PgConnection::connect_with(options);
            connection.insert(tokio::time::timeout(PATIENCE, connected).await.map_err(late)??)
        }
    };
    let numbers: Vec<i64> = (0..).take(batch.len()).collect();
    let each = |part: fn(&LookUp) -> &str| batch.iter().map(part).collect::<Vec<&str>>();
    let query = sqlx::query_as(LOOK_UP)
        .bind(numbers)
        .bind(each(|one| one.server.as_str()))
        .bind(each(|one| &one.owner.issuer))
        .bind(each(|one| &one.owner.sub))
        .bind(each(|one| one.provider.as_str()))
        .fetch_all(connection);
    Ok(tokio::time::timeout(PATIENCE, query).await.map_err(late)??)
}

fn answer(batch: &mut Vec<LookUp>, rows: Vec<Row>) {
    let mut found: Vec<Option<Row>> = batch.iter().map(|_| None).collect();
    for row in rows {
        let slot = usize::try_from(row.n).ok().and_then(|n| found.get_mut(n));
        if let Some(slot) = slot {
            *slot = Some(row);
        }
    }
    for (lookup, row) in batch.drain(..).zip(found) {
        let LookUp { server, owner, provider, answer } = lookup;
        let key = (server, owner, provider);
        tell(answer, row.map(|row| connection(key, row)).transpose());
    }
}

fn tell(answer: Answer, result: Result<Option<Connection>, StoreError>) {
    if answer.send(result).is_err() {
        tracing::trace!("a caller hung up before its look-up was answered");
    }
}

fn connection(
    (server, owner, provider): (ServerId, Subject, ProviderId),
    row: Row,
) -> Result<Connection, StoreError> {
    const TABLE: &str = "connections";
    let scopes =
        |text: &str, column| Scopes::new(text.split_ascii_whitespace()).map_err(corrupt(TABLE, column));
    Ok(Connection {
        id: ConnectionId(row.id),
        server,
        owner,
        provider,
        account: Account { id: row.account_id, label: row.account_label },
        granted: scopes(&row.granted, "granted")?,
        asked: scopes(&row.asked, "asked")?,
        status: row.status.parse().map_err(corrupt(TABLE, "status"))?,
        reason: None,
        generation: row.generation,
        grant: row.grant_number,
        access: Sealed::from_bytes(row.access),
        refresh: None,
        access_expires_at: row.access_expires_at_ms.map(Millis),
        refresh_expires_at: None,
        consent_expires_at: None,
        refreshed_at: row.refreshed_at_ms.map(Millis),
        can_refresh: row.can_refresh,
        refused_generation: row.refused_generation,
        mended_generation: None,
        failures: 0,
        failure: None,
        next_attempt_at: row.next_attempt_at_ms.map(Millis),
        values: values_of(TABLE, row.values_json.as_deref())?,
        fingerprint: fingerprint_of(TABLE, row.fingerprint)?,
        marks: Marks::from_text(row.marks.as_deref()),
        created_at: Millis(0),
        updated_at: Millis(0),
    })
}
