//! Opens the database, creates and migrates it, and refuses a schema that is not ours.

use std::{path::Path, str::FromStr, sync::Arc, time::Duration};

use sqlx::{
    Connection as _, PgPool, SqliteConnection, SqlitePool,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{
    Store, StoreError,
    lane::Lane,
    notices::Notices,
    statements::{Engine, statements},
    tx::{is_alive, read},
    wake::Wake,
};
use crate::{random::Random, secret::Secret};

statements! {
    /// The newest migration that was run to its end, in sqlx's own table.
    SCHEMA = "SELECT version FROM _sqlx_migrations WHERE success ORDER BY version DESC LIMIT 1";
}

static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

/// How long a request waits for a connection before it is told that the store is unavailable.
const ACQUIRE: Duration = Duration::from_secs(2);
/// How long a SQLite statement waits for another process's lock.
const BUSY: Duration = Duration::from_secs(5);
/// What Postgres ends by itself, in its own units: a wait for a lock that somebody holds long, a statement that runs
/// away, a transaction of a process that stands still. Otherwise each would keep its pooled connection, and a handful of
/// them all of it. Set by statements, which every pooler in between passes on.
const POSTGRES_LIMITS: &str =
    "SET lock_timeout = '5s'; SET statement_timeout = '15s'; SET idle_in_transaction_session_timeout = '30s'";

/// The pools of one engine.
#[derive(Clone)]
pub(super) enum Pools {
    /// One connection writes, several read; WAL lets both at once.
    Sqlite {
        /// Every write goes through here.
        writer: SqlitePool,
        /// Reads alone.
        readers: SqlitePool,
    },
    /// One pool for both.
    Postgres(PgPool),
}

/// A database URL of another kind than ours, or one that does not parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be sqlite:<path> or postgres://...")]
pub struct UrlError;

impl Engine {
    /// Which engine a URL names.
    ///
    /// # Errors
    /// When it names neither.
    pub fn of(url: &Secret) -> Result<Self, UrlError> {
        let url = url.expose();
        if url.starts_with("sqlite:") && !url.contains(":memory:") {
            Ok(Self::Sqlite)
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            Ok(Self::Postgres)
        } else {
            Err(UrlError)
        }
    }
}

impl Store {
    /// Connects, and creates a SQLite file that is not there yet with mode 0600. Does not migrate.
    ///
    /// # Errors
    /// When the URL is not ours or the database cannot be reached.
    pub async fn open(url: &Secret, connections: u32) -> Result<Self, StoreError> {
        Self::open_as(url, connections, true).await
    }

    /// Connects to a database that is there; a SQLite file that is not is not made, and one that is stays as it is.
    ///
    /// # Errors
    /// When the URL is not ours or the database cannot be reached.
    pub async fn open_existing(url: &Secret, connections: u32) -> Result<Self, StoreError> {
        Self::open_as(url, connections, false).await
    }

    async fn open_as(url: &Secret, connections: u32, create: bool) -> Result<Self, StoreError> {
        let engine = Engine::of(url).map_err(|_| StoreError::Url)?;
        let (pools, beside) = match engine {
            Engine::Sqlite => (open_sqlite(url, connections, create).await?, None),
            Engine::Postgres => open_postgres(url, connections).await?,
        };
        let (lane, notices) = beside.unzip();
        Ok(Self {
            pools,
            lane,
            random: Random,
            wake: Wake::default(),
            notices,
            posted: Arc::default(),
            queued: Arc::default(),
            tried: Arc::default(),
            journal: None,
        })
    }

    /// Brings the schema up to date. Safe to run from several processes at once.
    ///
    /// # Errors
    /// When a migration fails, or the schema is of a later version of the program.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        match &self.pools {
            Pools::Sqlite { writer, .. } => {
                // Postgres has a lock for this; here the write lock is held over every migration.
                let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
                SQLITE.run_direct(None, &mut *transaction, false).await?;
                transaction.commit().await?;
            }
            Pools::Postgres(pool) => {
                // Without the pool's limits: a migration may wait for another process's, and take its time.
                let options = pool.connect_options().as_ref().clone();
                let own = PgPoolOptions::new().max_connections(1).acquire_timeout(ACQUIRE);
                let own = own.connect_with(options).await?;
                let migrated = POSTGRES.run(&own).await;
                own.close().await;
                migrated?;
            }
        }
        Ok(())
    }

    /// Whether the schema is at least this program's; asks the database, so that it is a sign of life too.
    ///
    /// # Errors
    /// When the store is unavailable, or nothing was ever migrated.
    pub async fn is_migrated(&self) -> Result<bool, StoreError> {
        let version: Option<i64> =
            read!(self, SCHEMA, |sql, pool| sqlx::query_scalar(sql).fetch_optional(pool).await?);
        let migrator = match self.engine() {
            Engine::Sqlite => &SQLITE,
            Engine::Postgres => &POSTGRES,
        };
        Ok(version >= migrator.iter().map(|migration| migration.version).max())
    }

    /// Which engine this is.
    pub fn engine(&self) -> Engine {
        match &self.pools {
            Pools::Sqlite { .. } => Engine::Sqlite,
            Pools::Postgres(_) => Engine::Postgres,
        }
    }

    /// Closes every connection; what is asked afterwards is `Unavailable`.
    pub async fn shut_down(&self) {
        if let Some(notices) = &self.notices {
            notices.shut_down().await;
        }
        match &self.pools {
            Pools::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

async fn open_sqlite(url: &Secret, connections: u32, create: bool) -> Result<Pools, StoreError> {
    let mut options = SqliteConnectOptions::from_str(url.expose()).map_err(|_| StoreError::Url)?;
    if create {
        private_file(options.get_filename())?;
        // The file remembers it, so that whoever comes later need not write it.
        options = options.journal_mode(SqliteJournalMode::Wal);
    } else if !options.get_filename().exists() {
        return Err(StoreError::Unavailable("its file does not exist"));
    }
    let options = options
        .create_if_missing(create)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY);
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        .min_connections(1)
        .acquire_timeout(ACQUIRE.max(BUSY))
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .after_release(|connection, _| Box::pin(is_out_of_transaction(connection)))
        .connect_with(options.clone())
        .await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(connections.clamp(1, 4))
        .acquire_timeout(ACQUIRE)
        .test_before_acquire(false)
        .connect_with(options.read_only(true).create_if_missing(false))
        .await?;
    Ok(Pools::Sqlite { writer, readers })
}

/// Whether the one writer can begin a transaction again. Where a disk is full or fails SQLite rolls back by itself; sqlx
/// 0.9.0 then fails to, believes to be inside one for ever, and refuses to begin another. Such a connection is closed.
async fn is_out_of_transaction(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    // Behind a rollback that was queued when the transaction was dropped.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// A new database file is the owner's alone, whatever the umask says.
fn private_file(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt;
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => Err(StoreError::Unavailable("the database file cannot be created")),
    }
}

/// The connections beside the pool.
type Beside = (Lane, Notices);

async fn open_postgres(url: &Secret, connections: u32) -> Result<(Pools, Option<Beside>), StoreError> {
    let options = PgConnectOptions::from_str(url.expose())
        .map_err(|_| StoreError::Url)?
        .application_name("consentry")
        .statement_cache_capacity(256);
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE)
        .test_before_acquire(false)
        .after_connect(|connection, _| {
            Box::pin(async move { sqlx::raw_sql(POSTGRES_LIMITS).execute(connection).await.map(drop) })
        })
        .before_acquire(|connection, _| Box::pin(is_alive(connection)))
        .after_release(|connection, _| Box::pin(is_alive(connection)))
        .connect_with(options.clone())
        .await
        .map_err(|error| match error {
            sqlx::Error::PoolTimedOut => StoreError::Unavailable("nothing answers at its address"),
            error => error.into(),
        })?;
    let notices = Notices::new(options.clone(), Random.uuid());
    Ok((Pools::Postgres(pool), Some((Lane::start(options), notices))))
}
