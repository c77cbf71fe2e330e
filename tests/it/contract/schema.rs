//! Two schemas that are one: the same tables, columns, keys and migrations, and migrating is safe to repeat.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{Connection, PgConnection, Row, SqliteConnection};

use super::given::*;
use crate::engine::{Database, Engine};

/// What the store relies on in a column.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Column {
    /// `id`, `bytes`, `text`, `integer` or `boolean`; an id and bytes are one type on SQLite.
    class: &'static str,
    nullable: bool,
}

/// A schema: columns by table and name, and each set of columns that is unique in its table.
#[derive(Debug, Default, PartialEq, Eq)]
struct Schema {
    columns: BTreeMap<(String, String), Column>,
    unique: BTreeSet<(String, BTreeSet<String>)>,
    indexes: BTreeSet<(String, Vec<String>)>,
}

async fn sqlite(db: &Database) -> Schema {
    let mut connection = SqliteConnection::connect(db.url.expose()).await.unwrap();
    let mut schema = Schema::default();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' \
                  AND name <> '_sqlx_migrations'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut connection).await.unwrap();
    for table in tables {
        let rows = sqlx::query("SELECT name, type, \"notnull\" FROM pragma_table_info($1)")
            .bind(&table)
            .fetch_all(&mut connection)
            .await
            .unwrap();
        for row in rows {
            let class = match row.get::<&str, _>(1) {
                "BLOB" => "bytes",
                "TEXT" => "text",
                "BIGINT" => "integer",
                "BOOLEAN" => "boolean",
                other => panic!("{table} has a column of the type {other}"),
            };
            let column = Column { class, nullable: row.get::<i64, _>(2) == 0 };
            schema.columns.insert((table.clone(), row.get(0)), column);
        }
        let indexes = sqlx::query("SELECT name, \"unique\" FROM pragma_index_list($1)")
            .bind(&table)
            .fetch_all(&mut connection)
            .await
            .unwrap();
        for index in indexes {
            let columns: Vec<String> =
                sqlx::query_scalar("SELECT name FROM pragma_index_info($1) ORDER BY seqno")
                    .bind(index.get::<String, _>(0))
                    .fetch_all(&mut connection)
                    .await
                    .unwrap();
            if index.get::<i64, _>(1) == 1 {
                schema.unique.insert((table.clone(), columns.into_iter().collect()));
            } else {
                schema.indexes.insert((table.clone(), columns));
            }
        }
    }
    schema
}

async fn postgres(db: &Database) -> Schema {
    let mut connection = PgConnection::connect(db.url.expose()).await.unwrap();
    let mut schema = Schema::default();
    let columns = "SELECT table_name::text, column_name::text, data_type::text, is_nullable::text \
                   FROM information_schema.columns \
                   WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations'";
    for row in sqlx::query(columns).fetch_all(&mut connection).await.unwrap() {
        let class = match row.get::<&str, _>(2) {
            "uuid" | "bytea" => "bytes",
            "text" => "text",
            "bigint" => "integer",
            "boolean" => "boolean",
            other => panic!("{} has a column of the type {other}", row.get::<&str, _>(0)),
        };
        let column = Column { class, nullable: row.get::<&str, _>(3) == "YES" };
        schema.columns.insert((row.get(0), row.get(1)), column);
    }
    let indexes = "SELECT t.relname::text, i.indisunique, ARRAY(SELECT a.attname::text \
                   FROM unnest(i.indkey) WITH ORDINALITY AS k(number, place) \
                   JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number ORDER BY k.place) \
                   FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid \
                   JOIN pg_namespace n ON n.oid = t.relnamespace \
                   WHERE n.nspname = 'public' AND t.relname <> '_sqlx_migrations'";
    for row in sqlx::query(indexes).fetch_all(&mut connection).await.unwrap() {
        let columns: Vec<String> = row.get(2);
        if row.get::<bool, _>(1) {
            schema.unique.insert((row.get(0), columns.into_iter().collect()));
        } else {
            schema.indexes.insert((row.get(0), columns));
        }
    }
    schema
}

#[tokio::test]
async fn the_two_schemas_are_one() {
    let sqlite = sqlite(&Database::start(Engine::Sqlite).await).await;
    let postgres = postgres(&Database::start(Engine::Postgres).await).await;
    assert!(!sqlite.columns.is_empty() && !sqlite.unique.is_empty() && !sqlite.indexes.is_empty());
    assert_eq!(sqlite.columns, postgres.columns);
    assert_eq!(sqlite.unique, postgres.unique);
    assert_eq!(sqlite.indexes, postgres.indexes);
}

/// The name says the unit.
#[tokio::test]
async fn an_instant_is_an_integer_in_milliseconds() {
    let schema = postgres(&Database::start(Engine::Postgres).await).await;
    for ((table, name), column) in &schema.columns {
        if name.ends_with("_ms") {
            assert_eq!(column.class, "integer", "{table}.{name}");
        }
        assert!(!name.ends_with("_at"), "{table}.{name} does not say its unit");
    }
}

#[test]
fn every_migration_exists_for_both_engines() {
    let names = |engine: &str| -> BTreeSet<String> {
        let directory = format!("{}/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(directory).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert!(!names("sqlite").is_empty());
    assert_eq!(names("sqlite"), names("postgres"));
}

pub(super) async fn migrating_again_changes_nothing(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(db.store.is_migrated().await.unwrap());
    db.store.migrate().await.unwrap();
    db.replica().await.migrate().await.unwrap();
    assert_eq!(db.store.again(&asked).await.id, asked.id);
}

async fn replicas_may_migrate_at_once(migrated: Database) {
    let db = Database::unmigrated(migrated.engine).await;
    assert!(!db.store.is_migrated().await.unwrap_or(false));
    let mut migrating = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let store = db.replica().await;
        migrating.spawn(async move { store.migrate().await });
    }
    while let Some(done) = migrating.join_next().await {
        done.unwrap().unwrap();
    }
    db.store.given_elicitation(&asked()).await;
}

/// An older program must not run on a schema that it does not know.
async fn a_schema_of_a_later_version_is_refused(db: Database) {
    let later = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 VALUES (9999, 'later', TRUE, ''";
    let mut raw = super::raw::Raw::connect(&db).await;
    raw.run(&format!("{later}, 0)")).await;
    assert!(db.store.migrate().await.is_err());
}

/// A lease alone, and a mark that is compared with one, is on the database's clock: the replicas that share it may
/// disagree about the time.
const LEASES: [&str; 6] = ["WATCH", "TAKE", "END_BY_CLOCK", "REFUSE", "END_REFUSED", "DECLARE"];

/// A statement must not depend on an engine's clock, nor write a state without a guard on it.
#[test]
fn statements_keep_the_rules() {
    for statement in consentry::store::Store::statements() {
        let text = statement.text().to_lowercase();
        for clock in
            ["now()", "current_timestamp", "current_time", "datetime(", "unixepoch", "localtimestamp"]
        {
            let allowed = LEASES.contains(&statement.name);
            assert!(
                allowed || !text.contains(clock),
                "{} asks the database for the time: {text}",
                statement.name
            );
        }
        for (engine_only, why) in [
            (" any(", "arrays"),
            ("unnest", "arrays"),
            ("::", "casts of one engine"),
            ("jsonb", "types of one engine"),
            ("insert or ", "words of one engine"),
        ] {
            assert!(!text.contains(engine_only), "{} uses {why}: {text}", statement.name);
        }
        let Some((set, guard)) = text.strip_prefix("update ").and_then(|rest| rest.split_once(" where "))
        else {
            assert!(!text.starts_with("update "), "{} changes every row: {text}", statement.name);
            continue;
        };
        let moves = set.split(" set ").nth(1).is_some_and(|set| {
            set.split(',').any(|one| {
                one.trim_start().starts_with("state =") || one.trim_start().starts_with("status =")
            })
        });
        let guarded = ["state = ", "state in (", "status = ", "status <> ", "generation = "]
            .iter()
            .any(|one| guard.contains(one));
        assert!(!moves || guarded, "{} moves a state without a guard on it: {text}", statement.name);
    }
}

on_both_engines! {
    migrating_again_changes_nothing,
    replicas_may_migrate_at_once,
    a_schema_of_a_later_version_is_refused,
}
