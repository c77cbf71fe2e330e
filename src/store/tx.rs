//! One transaction on either engine, and the macros that write a call once for both.
//!
//! No transaction is open across the network, and its first statement is a write: a SQLite transaction that reads
//! first cannot wait for the write lock.

use sqlx::{Postgres, Sqlite, Transaction};

use super::{Store, StoreError, audit::Told, open::Pools};

/// Runs one query builder against the pool that reads: `read!(store, STATEMENT, |query, pool| ...)`.
macro_rules! read {
    ($store:expr, $statement:expr, |$text:ident, $pool:ident| $body:expr) => {
        match &$store.pools {
            $crate::store::open::Pools::Sqlite { readers: $pool, .. } => {
                let $text = $statement.on($crate::store::statements::Engine::Sqlite);
                $body
            }
            $crate::store::open::Pools::Postgres($pool) => {
                let $text = $statement.on($crate::store::statements::Engine::Postgres);
                $body
            }
        }
    };
}

/// Runs one writing statement on its own.
macro_rules! write {
    ($store:expr, $statement:expr, |$text:ident, $pool:ident| $body:expr) => {
        match &$store.pools {
            $crate::store::open::Pools::Sqlite { writer: $pool, .. } => {
                let $text = $statement.on($crate::store::statements::Engine::Sqlite);
                $body
            }
            $crate::store::open::Pools::Postgres($pool) => {
                let $text = $statement.on($crate::store::statements::Engine::Postgres);
                $body
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
                $body
            }
            $crate::store::tx::On::Postgres(transaction) => {
                let $text = $statement.on($crate::store::statements::Engine::Postgres);
                let $connection = &mut **transaction;
                $body
            }
        }
    };
}

pub(super) use {read, within, write};

/// An open transaction; rolled back when dropped.
pub(super) struct Tx {
    pub(super) on: On,
    /// What it tells the audit record, if this store keeps one.
    pub(super) told: Told,
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
        let on = begun.await.map_err(|_| StoreError::Unavailable("a transaction could not begin"))??;
        Ok(Tx { on, told: Told::new(self.journal.clone()) })
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
        match self {
            Self::Sqlite(transaction) => transaction.commit().await?,
            Self::Postgres(transaction) => transaction.commit().await?,
        }
        Ok(())
    }
}
