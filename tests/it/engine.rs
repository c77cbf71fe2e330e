//! A database of its own for each test, on either engine.
//!
//! SQLite is a file in a directory of its own, never `:memory:`, because the pools, the write-ahead log and the
//! locks are what is tested. Postgres is a database cloned from a template that the first test of a run migrates.
//! A server that is not there is a failure, never a skip.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use consentry::{
    audit::Sealer,
    random::Random,
    secret::{Hash, Secret},
    store::Store,
    vault::{Key, KeyId, Vault},
};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;

pub(crate) use consentry::store::statements::Engine;

/// More than any test's tasks need at once, so that what a test finds is never a full pool.
const CONNECTIONS: u32 = 16;
/// Held while the template is made.
const TEMPLATE_LOCK: i64 = 0x636f_6e73_656e_7472;
/// Clones made by this process, for their names.
static CLONES: AtomicU32 = AtomicU32::new(0);

/// A migrated, empty database. It is removed when the last of its clones is dropped.
#[derive(Clone)]
pub(crate) struct Database {
    /// What a second store on the same database is opened with.
    pub(crate) url: Secret,
    /// An open store.
    pub(crate) store: Store,
    /// Which engine it is on.
    pub(crate) engine: Engine,
    /// What its stores tag the audit record with.
    pub(crate) sealer: Sealer,
    _place: Arc<Place>,
}

/// Where the database lives; dropping it removes the database.
#[expect(dead_code, reason = "held for what dropping it does")]
enum Place {
    Directory(TempDir),
    Cloned(Cloned),
}

impl Database {
    /// A database on `engine` with the current schema.
    pub(crate) async fn start(engine: Engine) -> Self {
        let database = Self::empty(engine).await;
        if engine == Engine::Sqlite {
            database.store.migrate().await.unwrap();
        }
        database
    }

    /// A SQLite file without a schema, or a clone of the migrated template on Postgres.
    async fn empty(engine: Engine) -> Self {
        let (url, place) = match engine {
            Engine::Sqlite => {
                let directory = tempfile::tempdir().unwrap();
                let url = format!("sqlite:{}", directory.path().join("consentry.db").display());
                (Secret::new(url), Place::Directory(directory))
            }
            Engine::Postgres => {
                let name = format!("t{}_{}", std::process::id(), CLONES.fetch_add(1, Ordering::Relaxed));
                let template = template().await;
                run_as_admin(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
                (server().database(&name), Place::Cloned(Cloned { name }))
            }
        };
        let sealer = sealer();
        let store = Store::open(&url, CONNECTIONS).await.unwrap().recorded(sealer.clone());
        Self { url, store, engine, sealer, _place: Arc::new(place) }
    }

    /// A database on `engine` in which no migration has run.
    pub(crate) async fn unmigrated(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => Self::empty(engine).await,
            Engine::Postgres => {
                let name = format!("t{}_{}", std::process::id(), CLONES.fetch_add(1, Ordering::Relaxed));
                run_as_admin(&format!("CREATE DATABASE {name}")).await;
                let url = server().database(&name);
                let sealer = sealer();
                let store = Store::open(&url, CONNECTIONS).await.unwrap().recorded(sealer.clone());
                Self { url, store, engine, sealer, _place: Arc::new(Place::Cloned(Cloned { name })) }
            }
        }
    }

    /// Another store on the same database: a second replica.
    pub(crate) async fn replica(&self) -> Store {
        Store::open(&self.url, CONNECTIONS).await.unwrap().recorded(self.sealer.clone())
    }
}

/// With a key of its own.
fn sealer() -> Sealer {
    let (key, _) = Key::generate(KeyId::new("test").unwrap(), &Random);
    Sealer::new(Vault::new(vec![key], Random).unwrap(), false)
}

/// A cloned database.
struct Cloned {
    name: String,
}

impl Drop for Cloned {
    /// On a thread of its own, for a destructor cannot wait and the test's runtime may be ending.
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(run_as_admin(&sql));
        });
        // A failed test has said more than a left-over database would.
        if dropping.join().is_err() && !std::thread::panicking() {
            panic!("the test's database could not be removed");
        }
    }
}

/// The server that the tests use.
struct Server(Secret);

/// # Panics
/// When there is none: half of the suite would say nothing.
fn server() -> Server {
    #[expect(clippy::disallowed_methods, reason = "scripts/test says here where its server is")]
    let url = std::env::var("CONSENTRY_TEST_POSTGRES");
    Server(Secret::new(url.expect(
        "CONSENTRY_TEST_POSTGRES is not set; run scripts/test, or eval \"$(scripts/postgres start)\" before",
    )))
}

impl Server {
    /// The URL of one of its databases.
    fn database(&self, name: &str) -> Secret {
        let (server, _) = self.0.expose().rsplit_once('/').expect("the URL names a database");
        Secret::new(format!("{server}/{name}"))
    }

    async fn connect(&self) -> PgConnection {
        PgConnection::connect(self.0.expose()).await.expect("the Postgres server of the tests answers")
    }
}

async fn run_as_admin(sql: &str) {
    let mut connection = server().connect().await;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
}

/// The migrated database that clones are made of. Its name holds the hash of the migrations, so that an older one
/// is never taken; the lock lets one of the test processes make it and the others wait.
async fn template() -> String {
    let name = format!("template_{}", migrations().short());
    let server = server();
    let mut admin = server.connect().await;
    if exists(&mut admin, &name).await {
        return name;
    }
    sqlx::query("SELECT pg_advisory_lock($1)").bind(TEMPLATE_LOCK).execute(&mut admin).await.unwrap();
    if !exists(&mut admin, &name).await {
        let unfinished = format!("unfinished_{name}");
        for sql in [
            format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)"),
            format!("CREATE DATABASE {unfinished}"),
        ] {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
        }
        let store = Store::open(&server.database(&unfinished), 1).await.unwrap();
        store.migrate().await.unwrap();
        store.shut_down().await;
        let rename = format!("ALTER DATABASE {unfinished} RENAME TO {name}");
        while sqlx::raw_sql(AssertSqlSafe(rename.clone())).execute(&mut admin).await.is_err() {
            // The server still has to notice that the migration's connection has gone.
            sqlx::query("SELECT pg_sleep(0.01)").execute(&mut admin).await.unwrap();
        }
    }
    sqlx::query("SELECT pg_advisory_unlock($1)").bind(TEMPLATE_LOCK).execute(&mut admin).await.unwrap();
    name
}

async fn exists(admin: &mut PgConnection, name: &str) -> bool {
    let found: Option<bool> = sqlx::query_scalar("SELECT TRUE FROM pg_database WHERE datname = $1")
        .bind(name)
        .fetch_optional(admin)
        .await
        .unwrap();
    found.is_some()
}

/// The hash of every Postgres migration in this checkout.
fn migrations() -> Hash {
    let mut files: Vec<_> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/postgres"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let text: Vec<u8> = files.iter().flat_map(|file| std::fs::read(file).unwrap()).collect();
    Hash::of(&text)
}

/// Makes tests `sqlite::name` and `postgres::name` of each `async fn name(db: Database)`.
macro_rules! on_both_engines {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $name() {
                    super::$name($crate::engine::Database::start($crate::engine::Engine::Sqlite).await).await;
                }
            )+
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $name() {
                    super::$name($crate::engine::Database::start($crate::engine::Engine::Postgres).await).await;
                }
            )+
        }
    };
}
