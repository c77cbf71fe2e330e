//! The database that all arms read: connections, of which a thousand are asked for in turn; an elicitation, and a
//! signed-in session of its owner.

use std::{path::PathBuf, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use consentry::{
    clock::Clock,
    random::Random,
    secret::{Hash, Secret},
    store::Store,
    vault::{Key, KeyId, Place, Vault},
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row, SqliteConnection};
use uuid::Uuid;

use crate::{cpu, load::Target, serve::Running};

/// The MCP server's key.
pub(crate) const API_KEY: &str = "measure-0123456789abcdef0123456789abcdef";
/// Whose users are asked.
pub(crate) const ISSUER: &str = "https://id.measure.example";
/// The user whom the bare endpoint and the page are about.
pub(crate) const SUB: &str = "user-500";
/// The provider.
pub(crate) const PROVIDER: &str = "github";
/// The provider of those that end together.
const HERD: &str = "herd";
const SESSION: &str = "measure-session-0123456789abcdef0123456789a";
/// Users who are asked for.
const ASKED: usize = 1_000;

/// What is in the database, and how to ask for it.
pub(crate) struct World {
    folder: tempfile::TempDir,
    key: Secret,
    database: String,
    elicitation: Uuid,
    herd: Option<Herd>,
}

/// Connections that end soon, of a provider that refreshes them.
#[derive(Clone, Copy)]
pub(crate) struct Herd {
    /// Where its token endpoint is, on this machine.
    pub(crate) port: u16,
    /// Refreshes a second.
    pub(crate) rate: u32,
    /// How many there are.
    pub(crate) connections: usize,
    /// When each ends.
    pub(crate) ends_in: Duration,
}

/// Makes an empty database of its own beside the one that the URL names.
pub(crate) async fn create_database(url: &str) -> String {
    let name = format!("measure_{}", Random.uuid().simple());
    let mut connection = PgConnection::connect(url).await.expect("a Postgres");
    let create = AssertSqlSafe(format!("CREATE DATABASE {name}"));
    sqlx::query(create).execute(&mut connection).await.expect("a database");
    let (start, _) = url.rsplit_once('/').expect("a database in the URL");
    format!("{start}/{name}")
}

impl World {
    /// A key, and nothing else.
    pub(crate) fn empty(database: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (_, key) = Key::generate(key_id(), &Random);
        Self { folder, key, database: database.to_owned(), elicitation: Random.uuid(), herd: None }
    }

    /// Fills the database with this many connections.
    pub(crate) async fn seed(database: &str, rows_in_all: usize) -> Self {
        let world = Self::empty(database);
        let store = Store::open(&Secret::new(database), 4).await.expect("a store");
        store.migrate().await.expect("a schema");
        let vault = world.vault();
        let now = Clock::system().now().0;
        let rows: Vec<_> = (0..ASKED).map(|n| connection_row(&vault, &format!("user-{n}"))).collect();
        let session = Hash::of(SESSION.as_bytes());
        let browser = Random.uuid();
        // The same calls for both engines, whose types differ.
        macro_rules! fill {
            ($connection:expr) => {{
                let mut tx = $connection.begin().await.expect("a transaction");
                for (id, sub, access) in rows {
                    let insert = sqlx::query(INSERT_CONNECTION).bind(id).bind(ISSUER).bind(sub);
                    let insert = insert.bind(PROVIDER).bind(access).bind(now);
                    insert.execute(&mut *tx).await.expect("a row");
                }
                for (sql, id) in world.rest(browser) {
                    let insert = sqlx::query(sql).bind(id).bind(now).bind(now + 3_600_000).bind(SUB);
                    let insert = insert.bind(ISSUER).bind(browser).bind(session.as_bytes());
                    insert.execute(&mut *tx).await.expect("a row");
                }
                tx.commit().await.expect("a commit");
            }};
        }
        if database.starts_with("sqlite:") {
            let mut connection = SqliteConnection::connect(database).await.expect("a file");
            sqlx::query(FILLER_SQLITE)
                .bind(rows_in_all as i64)
                .bind(ISSUER)
                .bind(now)
                .execute(&mut connection)
                .await
                .expect("filler");
            fill!(connection);
        } else {
            let mut connection = PgConnection::connect(database).await.expect("a database");
            sqlx::query(FILLER_POSTGRES)
                .bind(rows_in_all as i64)
                .bind(ISSUER)
                .bind(now)
                .execute(&mut connection)
                .await
                .expect("filler");
            fill!(connection);
            for sql in [
                "CREATE TABLE measure_keys (key TEXT PRIMARY KEY, server TEXT NOT NULL)",
                "INSERT INTO measure_keys VALUES ('measure-0123456789abcdef0123456789abcdef', 'files')",
                "VACUUM ANALYZE",
            ] {
                sqlx::query(sql).execute(&mut connection).await.expect("the baseline's table");
            }
        }
        store.shut_down().await;
        world
    }

    /// Fills the database with a few connections, and with those of the herd.
    pub(crate) async fn seed_herd(database: &str, herd: Herd) -> Self {
        let mut world = Self::seed(database, ASKED).await;
        world.herd = Some(herd);
        let vault = world.vault();
        let now = Clock::system().now();
        let mut connection = PgConnection::connect(database).await.expect("a database");
        let mut tx = connection.begin().await.expect("a transaction");
        for n in 0..herd.connections {
            let (id, sub) = (Random.uuid(), format!("herd-{n}"));
            let seal = |column, plain: String| vault.seal(&place(column, id, &sub, HERD), plain.as_bytes());
            let insert = sqlx::query(INSERT_HERD).bind(id).bind(ISSUER).bind(&sub).bind(HERD);
            let insert = insert.bind(seal("access", "Bearer\nold".to_owned()).into_bytes());
            let insert = insert.bind(seal("refresh", format!("refresh-of-{n}")).into_bytes());
            let insert = insert.bind(now.plus(herd.ends_in).0).bind(now.0 - 3_600_000);
            insert.execute(&mut *tx).await.expect("a row");
        }
        tx.commit().await.expect("a commit");
        world
    }

    fn vault(&self) -> Vault {
        let key = Key::from_base64(key_id(), &self.key).expect("a key");
        Vault::new(vec![key], Random).expect("a vault")
    }

    /// One statement each, over the same seven values.
    fn rest(&self, browser: Uuid) -> [(&'static str, Uuid); 3] {
        [(INSERT_ELICITATION, self.elicitation), (INSERT_SESSION, browser), (INSERT_SIGN_IN, browser)]
    }

    /// A settings file.
    pub(crate) fn config(&self, database: &str, public: u16, internal: u16) -> PathBuf {
        let key = self.key_file();
        let config = self.folder.path().join(format!("consentry-{internal}.toml"));
        let (also, herd) = self.herd.map_or_else(Default::default, |herd| {
            let text = format!(
                r#"[[providers]]
id = "{HERD}"
authorization_endpoint = "http://127.0.0.1:{port}/authorize"
token_endpoint = "http://127.0.0.1:{port}/token"
client_id = "measure"
client_secret = {{ value = "measure" }}
scopes = ["repo"]
requests_per_second = {rate}
concurrent_requests = 100
"#,
                port = herd.port,
                rate = herd.rate,
            );
            (format!(r#", "{HERD}""#), text)
        });
        let text = format!(
            r#"public_url = "http://localhost:{public}"
[listen]
public = "127.0.0.1:{public}"
internal = "127.0.0.1:{internal}"
[database]
url = {{ value = "{database}" }}
[encryption]
keys = [{{ id = "measure", file = "{key}" }}]
[limits]
requests_per_minute = 1000000
elicitations_per_minute = 100000
[[authorization_servers]]
id = "main"
issuer = "{ISSUER}"
client_id = "consentry"
[[mcp_servers]]
id = "files"
name = "Example Files"
resource = "https://files.measure.example/mcp"
authorization_server = "main"
api_keys = [{{ value = "{API_KEY}" }}]
providers = ["{PROVIDER}"{also}]
[[providers]]
id = "{PROVIDER}"
preset = "github"
client_id = "measure"
client_secret = {{ value = "measure" }}
scopes = ["repo"]
{herd}"#,
            key = key.display()
        );
        std::fs::write(&config, text).expect("a settings file");
        config
    }

    /// `POST /v1/credentials/resolve` for each user in turn.
    pub(crate) fn resolve(&self, server: &Running) -> Target {
        let request = |sub: String| {
            let body =
                format!(r#"{{"provider":"{PROVIDER}","scopes":["repo"],"subject":{{"sub":"{sub}"}}}}"#);
            format!(
                "POST /v1/credentials/resolve HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {API_KEY}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                server.internal,
                body.len()
            )
        };
        target(server.internal, users().map(request))
    }

    /// The same, once, for one of the herd.
    pub(crate) fn resolve_herd(&self, server: &Running, n: usize) -> String {
        let body = format!(r#"{{"provider":"{HERD}","scopes":["repo"],"subject":{{"sub":"herd-{n}"}}}}"#);
        format!(
            "POST /v1/credentials/resolve HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {API_KEY}\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            server.internal,
            body.len()
        )
    }

    /// The micro-batched loader, for each user in turn.
    pub(crate) fn loader(&self, server: &Running) -> Target {
        let request =
            |sub: String| format!("GET /{sub} HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", server.public);
        target(server.public, users().map(request))
    }

    /// `GET /connect` of the signed-in owner.
    pub(crate) fn connect(&self, server: &Running) -> Target {
        let request = format!(
            "GET /connect?elicitationId={} HTTP/1.1\r\nhost: localhost:{}\r\ncookie: consentry-session={SESSION}\r\n\r\n",
            self.elicitation, server.public
        );
        target(server.public, [request])
    }

    /// The baseline, for each user in turn.
    pub(crate) fn bare(&self, server: &Running) -> Target {
        let request =
            |sub: String| format!("GET /{sub} HTTP/1.1\r\nhost: localhost:{}\r\n\r\n", server.public);
        target(server.public, users().map(request))
    }

    /// Where the key is.
    pub(crate) fn key_file(&self) -> PathBuf {
        let key = self.folder.path().join("key");
        std::fs::write(&key, self.key.expose()).expect("a key file");
        key
    }

    /// The process that all of Postgres' others are children of.
    pub(crate) async fn postmaster(&self) -> u32 {
        let mut connection = PgConnection::connect(&self.database).await.expect("a database");
        let backend: i32 =
            sqlx::query("SELECT pg_backend_pid()").fetch_one(&mut connection).await.expect("a pid").get(0);
        cpu::parent(backend.unsigned_abs()).expect("a postmaster")
    }
}

/// The users who are asked for.
fn users() -> impl Iterator<Item = String> {
    (0..ASKED).map(|n| format!("user-{n}"))
}

fn target(port: u16, requests: impl IntoIterator<Item = String>) -> Target {
    let requests = requests.into_iter().map(String::into_bytes).collect();
    Target { address: format!("127.0.0.1:{port}"), requests: std::sync::Arc::new(requests) }
}

/// The id of the one key.
pub(crate) fn key_id() -> KeyId {
    KeyId::new("measure").expect("an id")
}

/// Id, user, sealed access token of 900 bytes.
fn connection_row(vault: &Vault, sub: &str) -> (Uuid, String, Vec<u8>) {
    let id = Random.uuid();
    let token = BASE64_STANDARD.encode(Random.bytes::<660>());
    let sealed = vault.seal(&place("access", id, sub, PROVIDER), format!("Bearer\n{token}").as_bytes());
    (id, sub.to_owned(), sealed.into_bytes())
}

fn place<'a>(column: &'static str, row: Uuid, sub: &'a str, provider: &'a str) -> Place<'a> {
    Place { table: "connections", column, row, server: "files", issuer: ISSUER, sub, provider, generation: 1 }
}

const INSERT_HERD: &str = "INSERT INTO connections (id, server, issuer, sub, provider, account_id, account_label, \
    granted, asked, status, generation, grant_number, access, refresh, access_expires_at_ms, refreshed_at_ms, \
    created_at_ms, updated_at_ms) \
    VALUES ($1, 'files', $2, $3, $4, '583231', 'octocat', 'repo', 'repo', 'active', 1, 1, $5, $6, $7, $8, $8, $8)";

const INSERT_CONNECTION: &str = "INSERT INTO connections (id, server, issuer, sub, provider, account_id, account_label, \
    granted, asked, status, generation, grant_number, access, created_at_ms, updated_at_ms) \
    VALUES ($1, 'files', $2, $3, $4, '583231', 'octocat', 'repo', 'repo', 'active', 1, 1, $5, $6, $6)";

// Everybody else, with a value of the same length that nobody opens; hence behind the others, of which the start opens
// a few.
const FILLER_POSTGRES: &str = "INSERT INTO connections (id, server, issuer, sub, provider, account_id, account_label, \
    granted, asked, status, generation, grant_number, access, created_at_ms, updated_at_ms) \
    SELECT CAST('f' || substr(md5(n::text), 2) AS uuid), 'files', $2, md5(n::text), 'github', '583231', 'octocat', 'repo', 'repo', 'active', 1, 1, \
    decode('00' || repeat(md5(n::text), 59), 'hex'), $3, $3 FROM generate_series(1, $1) AS n";
const FILLER_SQLITE: &str = "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < $1) \
    INSERT INTO connections (id, server, issuer, sub, provider, account_id, account_label, \
    granted, asked, status, generation, grant_number, access, created_at_ms, updated_at_ms) \
    SELECT CAST(x'ff' || randomblob(15) AS BLOB), 'files', $2, 'other-' || n, 'github', '583231', 'octocat', 'repo', 'repo', 'active', 1, 1, \
    CAST(x'00' || randomblob(943) AS BLOB), $3, $3 FROM counted";

// Each names all seven values, so that one call binds them: id, now, end, sub, issuer, browser, session.
const INSERT_ELICITATION: &str = "INSERT INTO elicitations (id, server, issuer, sub, provider, scopes, legacy, \
    client_ref, state, created_at_ms, expires_at_ms, seen_connection) \
    SELECT $1, 'files', $5, $4, 'github', 'repo gist', TRUE, '', 'pending', $2, $3, $6 WHERE $7 IS NOT NULL";
const INSERT_SESSION: &str = "INSERT INTO sessions (id_hash, browser, created_at_ms, seen_at_ms, expires_at_ms) \
    SELECT $7, $6, $2, $2, $3 WHERE $1 IS NOT NULL AND $4 IS NOT NULL AND $5 IS NOT NULL";
const INSERT_SIGN_IN: &str = "INSERT INTO sign_ins (browser, issuer, sub, label, signed_in_at_ms) \
    SELECT $6, $5, $4, 'user@measure.example', $2 WHERE $1 IS NOT NULL AND $3 IS NOT NULL AND $7 IS NOT NULL";
