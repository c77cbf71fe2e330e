//! One transaction on either engine, and the macros that write a call once for both.
//!
//! No transaction is open across the network, and its first statement is a write: a SQLite transaction that reads
//! first cannot wait for the write lock.
//!
//! Each step has a limit. A database that falls silent (a failover that drops packets, say) ends no connection, and
//! without a limit every caller would wait for the kernel to give up, which takes a quarter of an hour.

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use sqlx::{Connection as _, PgConnection, Postgres, Sqlite, Transaction};
use tokio::time::timeout;

use super::{Store, StoreError, audit::Told, deliveries::Posted, open::Pools};

/// Runs one query builder against the pool that reads: `read!(store, STATEMENT, |query, pool| ...)`.
macro_rules! read {
    ($store:expr, $statement:expr, |$text:ident, $pool:ident| $body:expr) => {
        match &$store.pools {
            $crate::store::open::Pools::Sqlite { readers: $pool, .. } => {
                let $text = $statement.on($crate::store::statements::Engine::Sqlite);
                $crate::store::tx::in_time(async { Ok::<_, $crate::store::StoreError>($body) }).await?
            }
            $crate::store::open::Pools::Postgres($pool) => {
                let $text = $statement.on($crate::store::statements::Engine::Postgres);
                $crate::store::tx::in_time(async { Ok::<_, $crate::store::StoreError>($body) }).await?
            }
        }
    };
}

/// Runs one writing statement on its own, to its end: `execute` or `fetch_all`, never `fetch_one` or `fetch_optional`, with
/// which sqlx 0.9.0 ends a statement of SQLite behind the first row and drops the error of its commit. A disk that is
/// full would then be told as a success.
macro_rules! write {
    ($store:expr, $statement:expr, |$text:ident, $pool:ident| $body:expr) => {
        match &$store.pools {
            $crate::store::open::Pools::Sqlite { writer: $pool, .. } => {
                let $text = $statement.on($crate::store::statements::Engine::Sqlite);
                $crate::store::tx::in_time(async { Ok::<_, $crate::store::StoreError>($body) }).await?
            }
            $crate::store::open::Pools::Postgres($pool) => {
                let $text = $statement.on($crate::store::statements::Engine::Postgres);
                $crate::store::tx::in_time(async { Ok::<_, $crate::store::StoreError>($body) }).await?
            }
        }
    };
}

/// Runs one statement within a transaction.
macro_rules! within {
    ($tx:expr, $statement:expr, |$text:ident, $connection:ident| $body:expr) => {
        match &mut ($tx).on {
            $crate::store::tx::On::Sqlite(transaction) => {
                let $text = $statement.on($crate::store::statements::Engine::Sqlite);
                let $connection = &mut **transaction;
                $crate::store::tx::in_time(async { Ok::<_, $crate::store::StoreError>($body) }).await?
            }
            $crate::store::tx::On::Postgres(transaction) => {
                let $text = $statement.on($crate::store::statements::Engine::Postgres);
                let $connection = &mut **transaction;
                $crate::store::tx::in_time(async { Ok::<_, $crate::store::StoreError>($body) }).await?
            }
        }
    };
}

pub(super) use {read, within, write};

/// One step. Longer than what the database itself ends, whose answer is better: it says that nothing has happened.
const STEP_MAX: Duration = Duration::from_secs(20);
/// An answer to nothing but "are you there".
const PING_MAX: Duration = Duration::from_secs(1);
/// What is said then.
const SILENT: StoreError = StoreError::Unavailable("it did not answer in time");

/// Uses of connections that are in doubt after a step was not answered: more than a pool has connections.
const DOUBTS: u32 = 1_000;

/// How many uses are still in doubt: a connection is asked before it is used and before it is kept.
static DOUBT: AtomicU32 = AtomicU32::new(0);

/// Runs one step within its limit. Whether a write that ran out of time has happened is unknown, as when a connection
/// breaks.
pub(super) async fn in_time<T>(step: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let mut step = pin!(step);
    timeout(STEP_MAX, step.as_mut()).await.unwrap_or_else(|_| {
        // Before the step is dropped, which gives its connection back to the pool.
        DOUBT.store(DOUBTS, Ordering::Relaxed);
        Err(SILENT)
    })
}

/// For a pool, before a connection is used and before it is kept: an error ends one that is silent.
pub(super) async fn is_alive(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    if DOUBT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |doubts| doubts.checked_sub(1)).is_ok() {
        timeout(PING_MAX, connection.ping()).await.map_err(|_| sqlx::Error::PoolTimedOut)??;
    }
    Ok(true)
}

/// An open transaction; rolled back when dropped.
pub(super) struct Tx {
    pub(super) on: On,
    /// What it tells the audit record, if this store keeps one.
    pub(super) told: Told,
    /// The MCP servers whose signals are posted as well.
    pub(super) posted: Posted,
}

/// The engine's own transaction.
pub(super) enum On {
    /// Begun with `BEGIN IMMEDIATE` on the one writer.
    Sqlite(Transaction<'static, Sqlite>),
    /// At the engine's default, READ COMMITTED; every move is guarded.
    Postgres(Transaction<'static, Postgres>),
}

impl Store {
    /// In a task of its own: sqlx 0.9.0 counts a transaction only after `BEGIN` was answered, so that a caller who
    /// hangs up meanwhile would give a connection back to the pool that is inside one (transact-rs/sqlx #4393).
    pub(super) async fn begin_tx(&self) -> Result<Tx, StoreError> {
        let pools = self.pools.clone();
        let begun = tokio::spawn(async move {
            Ok::<_, sqlx::Error>(match &pools {
                Pools::Sqlite { writer, .. } => On::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?),
                Pools::Postgres(pool) => On::Postgres(pool.begin().await?),
            })
        });
        let on = in_time(async {
            Ok(begun.await.map_err(|_| StoreError::Unavailable("a transaction could not begin"))??)
        });
        let on = on.await?;
        Ok(Tx { on, told: Told::new(self.journal.clone()), posted: self.posted.clone() })
    }
}

impl Tx {
    /// Makes it durable, with what it tells the audit record. The lock of a chain is taken last and held until the
    /// outcome is known, so that a chain's numbers are in the order of its commits.
    pub(super) async fn commit(mut self) -> Result<(), StoreError> {
        let Some(mut place) = self.told.place().await? else { return self.on.commit().await };
        let head = self.append_told(&place).await?;
        self.on.commit().await?;
        *place = head;
        Ok(())
    }
}

impl On {
    async fn commit(self) -> Result<(), StoreError> {
        in_time(async {
            match self {
                Self::Sqlite(transaction) => transaction.commit().await?,
                Self::Postgres(transaction) => transaction.commit().await?,
            }
            Ok(())
        })
        .await
    }
}
