//! A database, this process's server and store on it, and the program itself as a second server.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use consentry::{
    clock::Clock,
    config::{self, Environment},
    elicitation::{Elicitation, ElicitationId, NewElicitation},
    random::Random,
    scope::Scopes,
    server::Server,
    store::Store,
    subject::Subject,
    vault::{Key, KeyId},
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;

/// The MCP server's key.
pub(crate) const API_KEY: &str = "measure-0123456789abcdef0123456789abcdef";
const ISSUER: &str = "https://id.measure.example";

/// Both servers.
pub(crate) struct World {
    /// The store of the server in this process.
    pub(crate) store: Store,
    /// Its API.
    pub(crate) here: u16,
    /// The other server.
    pub(crate) there: Other,
    _folder: tempfile::TempDir,
}

/// A server in a process of its own; ends when dropped.
pub(crate) struct Other {
    child: Child,
    pub(crate) pid: u32,
    pub(crate) internal: u16,
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl World {
    pub(crate) async fn start(postgres: &str) -> Self {
        let name = format!("measure_{}", Random.uuid().simple());
        let mut connection = PgConnection::connect(postgres).await.expect("a Postgres");
        let create = AssertSqlSafe(format!("CREATE DATABASE {name}"));
        sqlx::query(create).execute(&mut connection).await.expect("a database");
        let (start, _) = postgres.rsplit_once('/').expect("a database in the URL");
        let database = format!("{start}/{name}");

        let folder = tempfile::tempdir().expect("a folder");
        let key = Key::generate(KeyId::new("measure").expect("an id"), &Random).1;
        std::fs::write(folder.path().join("key"), key.expose()).expect("a key file");
        let file = settings(folder.path(), &database, "here", (0, 0));
        let settings_here = config::load(Some(&file), &Environment::default()).expect("settings");
        let server = Server::build(settings_here, Clock::system()).await.expect("a server");
        let (store, here) = (server.app().store.clone(), server.internal_addr().port());
        tokio::spawn(server.run(CancellationToken::new()));

        let ports = (free_port(), free_port());
        let file = settings(folder.path(), &database, "there", ports);
        let child = Command::new(env!("CARGO_BIN_EXE_consentry"))
            .arg("serve")
            .arg("--config")
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a second server");
        let there = Other { pid: child.id(), child, internal: ports.1 };
        ready(ports.1).await;
        Self { store, here, there, _folder: folder }
    }

    /// So many open questions, each to another user.
    pub(crate) async fn ask(&self, count: usize) -> Vec<Elicitation> {
        let now = Clock::system().now();
        let mut asked = Vec::with_capacity(count);
        for _ in 0..count {
            let new = NewElicitation {
                id: ElicitationId(Random.uuid()),
                server: "files".parse().expect("an id"),
                owner: Subject::new(ISSUER, Random.uuid().to_string()).expect("a subject"),
                provider: "acme".parse().expect("an id"),
                scopes: Scopes::new(["read"]).expect("a scope"),
                values: consentry::values::Values::default(),
                typed: consentry::values::Values::default(),
                legacy: true,
                client_ref: "session-7f3a".to_owned(),
                client_name: None,
                message: None,
                seen: None,
                expires_at: now.plus(Duration::from_secs(1_800)),
                restart_of: None,
            };
            asked.push(self.store.create(&new, now).await.expect("a store").elicitation);
        }
        asked
    }
}

fn settings(folder: &Path, database: &str, name: &str, (public, internal): (u16, u16)) -> std::path::PathBuf {
    let file = folder.join(format!("{name}.toml"));
    let key = folder.join("key");
    let text = format!(
        r#"public_url = "http://localhost:8080"
[listen]
public = "127.0.0.1:{public}"
internal = "127.0.0.1:{internal}"
[database]
url = {{ value = '{database}' }}
[encryption]
keys = [{{ id = "measure", file = '{key}' }}]
[log]
filter = "warn"
[limits]
streams_per_server = 1000
[[authorization_servers]]
id = "main"
issuer = "{ISSUER}"
client_id = "consentry"
client_secret = {{ value = "{API_KEY}-as" }}
[[mcp_servers]]
id = "files"
name = "Files"
resource = "https://files.measure.example/mcp"
authorization_server = "main"
api_keys = [{{ value = "{API_KEY}" }}]
providers = ["acme"]
[[providers]]
id = "acme"
name = "Acme"
authorization_endpoint = "https://acme.measure.example/authorize"
token_endpoint = "https://acme.measure.example/token"
client_id = "consentry"
client_secret = {{ value = "{API_KEY}-provider" }}
scopes = ["read"]
"#,
        key = key.display()
    );
    std::fs::write(&file, text).expect("a settings file");
    file
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
async fn ready(port: u16) {
    for _ in 0..3_000 {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await {
            let request =
                format!("GET /readyz HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
            let mut answer = Vec::new();
            if stream.write_all(request.as_bytes()).await.is_ok()
                && stream.read_to_end(&mut answer).await.is_ok()
                && answer.starts_with(b"HTTP/1.1 200")
            {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the second server does not start");
}
