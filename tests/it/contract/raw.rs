//! A connection of the test's own, past the store: to hold a lock, to count rows, to make a row old.

use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use uuid::Uuid;

use crate::engine::{Database, Engine};

/// A raw connection to a test's database.
pub(crate) enum Raw {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Raw {
    pub(crate) async fn connect(db: &Database) -> Self {
        Self::open(db.engine, db.url.expose()).await
    }

    /// The same by the database's URL.
    pub(crate) async fn open(engine: Engine, url: &str) -> Self {
        match engine {
            Engine::Sqlite => Self::Sqlite(SqliteConnection::connect(url).await.unwrap()),
            Engine::Postgres => Self::Postgres(PgConnection::connect(url).await.unwrap()),
        }
    }

    /// Runs a text and gives the number of rows that it changed.
    pub(crate) async fn run(&mut self, sql: &str) -> u64 {
        match self {
            Self::Sqlite(connection) => {
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.unwrap().rows_affected()
            }
            Self::Postgres(connection) => {
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.unwrap().rows_affected()
            }
        }
    }

    /// Opens a transaction that holds the write lock on SQLite, and locks what it writes on Postgres.
    pub(crate) async fn begin(&mut self) {
        let sql = match self {
            Self::Sqlite(_) => "BEGIN IMMEDIATE",
            Self::Postgres(_) => "BEGIN",
        };
        self.run(sql).await;
    }

    /// The one number that a query gives.
    pub(crate) async fn number(&mut self, sql: &str) -> i64 {
        match self {
            Self::Sqlite(connection) => {
                sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await.unwrap()
            }
            Self::Postgres(connection) => {
                sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await.unwrap()
            }
        }
    }

    /// The one text column that a query gives.
    pub(crate) async fn texts(&mut self, sql: &str) -> Vec<String> {
        match self {
            Self::Sqlite(connection) => {
                sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap()
            }
            Self::Postgres(connection) => {
                sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap()
            }
        }
    }

    /// Bytes as this engine's SQL writes them.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> String {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Sqlite(_) => format!("x'{hex}'"),
            Self::Postgres(_) => format!("'\\x{hex}'"),
        }
    }

    /// An id as this engine's SQL writes it.
    pub(crate) fn uuid(&self, id: Uuid) -> String {
        match self {
            Self::Sqlite(_) => format!("x'{}'", id.as_simple()),
            Self::Postgres(_) => format!("'{id}'"),
        }
    }
}

/// Until a connection to this database waits for a lock.
pub(super) async fn until_somebody_waits(db: &Database) {
    let mut raw = Raw::connect(db).await;
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND wait_event_type = 'Lock'";
    while raw.number(waiting).await == 0 {
        tokio::task::yield_now().await;
    }
}

/// Deletes every row but those that tell which migrations have run.
pub(super) async fn empty(db: &Database) {
    let tables = match db.engine {
        Engine::Sqlite => {
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' \
             AND name <> '_sqlx_migrations'"
        }
        Engine::Postgres => {
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' \
             AND table_name <> '_sqlx_migrations'"
        }
    };
    let mut raw = Raw::connect(db).await;
    for table in raw.texts(tables).await {
        raw.run(&format!("DELETE FROM {table}")).await;
    }
}
