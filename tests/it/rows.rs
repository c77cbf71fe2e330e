//! Every row of a database as text, to be compared and searched.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

use crate::engine::{Database, Engine};

/// Each table with its rows, in an order of their own.
pub(crate) type Rows = BTreeMap<String, Vec<String>>;

/// What is stored now. Migrations are left out.
pub(crate) async fn rows(db: &Database) -> Rows {
    match db.engine {
        Engine::Sqlite => of_sqlite(db.url.expose()).await,
        Engine::Postgres => of_postgres(db.url.expose()).await,
    }
}

/// Changes rows past the program: what only time, another process or a third party would do.
pub(crate) async fn change(db: &Database, sql: &str) {
    match db.engine {
        Engine::Sqlite => {
            let mut connection = SqliteConnection::connect(db.url.expose()).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        }
        Engine::Postgres => {
            let mut connection = PgConnection::connect(db.url.expose()).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        }
    }
}

async fn of_sqlite(url: &str) -> Rows {
    let mut connection = SqliteConnection::connect(url).await.unwrap();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' \
        AND name <> '_sqlx_migrations'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut connection).await.unwrap();
    let mut rows = Rows::new();
    for table in tables {
        let columns = format!(
            "SELECT group_concat('quote(' || name || ')', '||'' ''||') FROM pragma_table_info('{table}')"
        );
        let columns: String =
            sqlx::query_scalar(AssertSqlSafe(columns)).fetch_one(&mut connection).await.unwrap();
        let all = format!("SELECT {columns} FROM {table} ORDER BY 1");
        let found = sqlx::query_scalar(AssertSqlSafe(all)).fetch_all(&mut connection).await.unwrap();
        rows.insert(table, found);
    }
    rows
}

async fn of_postgres(url: &str) -> Rows {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let tables = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' \
        AND table_name <> '_sqlx_migrations'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut connection).await.unwrap();
    let mut rows = Rows::new();
    for table in tables {
        let all = format!("SELECT {table}::text FROM {table} ORDER BY 1");
        let found = sqlx::query_scalar(AssertSqlSafe(all)).fetch_all(&mut connection).await.unwrap();
        rows.insert(table, found);
    }
    rows
}

/// Runs a text past the store.
pub(crate) async fn run(db: &Database, sql: &str) {
    match db.engine {
        Engine::Sqlite => {
            let mut connection = SqliteConnection::connect(db.url.expose()).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        }
        Engine::Postgres => {
            let mut connection = PgConnection::connect(db.url.expose()).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        }
    }
}
