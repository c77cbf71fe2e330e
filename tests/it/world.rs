//! A whole world for a test: the real server on real ports, an authorization server and two third parties that are
//! strict, MCP servers that call the API, browsers with cookies. Everybody has a host of their own, so that cookies stay
//! apart and redirects are cross-site, as in life.
//!
//! Time stands still until [`World::advance`]. Dropping a world stops the server and fails the test when a task is
//! left or one has panicked.
//!
//! ```text
//! let world = World::start(db).await;
//! let link = world.api("files").asks("alice", FILES).await;
//! let mut alice = world.browser();
//! alice.opens(&link.url).await.is("sign-in");
//! alice.signs_in("alice").await.is("ready");
//! alice.connects("octocat").await.is("connected");
//! ```

pub(crate) mod api;
mod browser;
mod html;
mod jar;
mod page;
mod story;
mod tls;

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Once,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use consentry::{
    clock::Clock,
    config::{self, Environment, Settings},
    random::Random,
    server::{BuildError, Ended, Server},
    vault::{Key, KeyId},
};
use consentry_fakes::{AuthorizationServer, Client, Listen, Provider};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::tls::Certificate;
pub(crate) use self::{
    api::{Answer, Api, Link, link},
    browser::{Browser, encode},
    page::{Form, Page},
};
use crate::engine::Database;

/// The MCP servers. They are tenants of one owner.
pub(crate) const SERVERS: [&str; 2] = ["files", "notes"];
/// The authorization server's id.
pub(crate) const ID: &str = "example-id";
/// The third party that most tests connect.
pub(crate) const FILES: &str = "example-files";
/// Another third party.
pub(crate) const NOTES: &str = "example-notes";

/// How long a stop may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Tries to find two free ports.
const TRIES: usize = 20;
/// Tasks that have panicked in this process.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// A running world.
pub(crate) struct World {
    /// Consentry's clock; [`World::advance`] moves everybody's.
    pub(crate) clock: Clock,
    /// Where browsers come: `http://localhost:{port}`, or `https:`.
    pub(crate) public_url: String,
    /// Where MCP servers come.
    pub(crate) internal_url: String,
    /// "Example ID", with the people alice and bob.
    pub(crate) id: AuthorizationServer,
    /// "Example Files", with the accounts octocat and hubot.
    pub(crate) files: Provider,
    /// "Example Notes", with the same.
    pub(crate) notes: Provider,
    /// Consentry's database, for the little that cannot be seen at the borders.
    pub(crate) database: Database,
    running: Running,
    client: reqwest::Client,
    secrets: [String; 2],
    keys: [String; 2],
    panics_before: usize,
    directory: TempDir,
}

/// A second server of a world.
pub(crate) struct Replica {
    /// Host and port of its public listener; it answers to the world's own host alone.
    pub(crate) address: String,
    /// Where MCP servers come.
    internal_url: String,
    running: Running,
}

impl Replica {
    /// Ends it, and waits until it has.
    pub(crate) async fn stops(mut self) {
        self.running.stop.cancel();
        let task = self.running.task.take().expect("it runs");
        assert_eq!(task.await.expect("it did not panic"), Ended::Drained);
    }
}

struct Running {
    stop: CancellationToken,
    task: Option<JoinHandle<Ended>>,
}

impl World {
    /// Starts everybody on this database, with Consentry's default settings.
    pub(crate) async fn start(database: Database) -> Self {
        Self::start_with(database, |_| ()).await
    }

    /// The same, with settings of the test's own.
    pub(crate) async fn start_with(database: Database, change: impl Fn(&mut Settings)) -> Self {
        Self::begin(database, None, |text| text, change).await
    }

    /// The same, with the settings' own text changed before it is read.
    pub(crate) async fn start_written(database: Database, rewrite: impl Fn(String) -> String) -> Self {
        Self::begin(database, None, rewrite, |_| ()).await
    }

    /// The same, with settings of the test's own as well.
    pub(crate) async fn start_written_with(
        database: Database,
        rewrite: impl Fn(String) -> String,
        change: impl Fn(&mut Settings),
    ) -> Self {
        Self::begin(database, None, rewrite, change).await
    }

    /// The same over TLS, wherever a browser comes: `public_url` is `https://localhost:{port}`.
    pub(crate) async fn start_over_tls(database: Database) -> Self {
        Self::start_over_tls_with(database, |_| ()).await
    }

    /// The same, with settings of the test's own.
    pub(crate) async fn start_over_tls_with(database: Database, change: impl Fn(&mut Settings)) -> Self {
        Self::begin(database, Some(Certificate::new()), |text| text, change).await
    }

    async fn begin(
        database: Database,
        certificate: Option<Certificate>,
        rewrite: impl Fn(String) -> String,
        change: impl Fn(&mut Settings),
    ) -> Self {
        watch_panics();
        let at = |last| {
            let listen = Listen::on(Ipv4Addr::new(127, 0, 0, last));
            certificate.iter().fold(listen, |listen, certificate| certificate.cover(listen))
        };
        let id = AuthorizationServer::start(at(2)).await.unwrap();
        let files = Provider::start(at(3)).await.unwrap();
        let notes = Provider::named("Example Notes", at(4)).await.unwrap();
        let clock = Clock::manual();
        let plan = Plan {
            directory: tempfile::tempdir().unwrap(),
            database: database.url.expose().to_owned(),
            id: id.base_url().to_owned(),
            files: files.base_url().to_owned(),
            notes: notes.base_url().to_owned(),
            certificate,
            secret: Random.secret().expose().to_owned(),
            keys: [Random.secret().expose().to_owned(), Random.secret().expose().to_owned()],
        };
        plan.write_key();
        let (server, public_url) = plan.build(&clock, rewrite, change).await;
        plan.register(&public_url, &id, &files, &notes);
        let client = client(server.public_addr());
        let internal_url = format!("http://{}", server.internal_addr());
        let stop = CancellationToken::new();
        let task = Some(tokio::spawn(server.run(stop.clone())));
        let Plan { directory, keys, secret, .. } = plan;
        Self {
            clock,
            public_url,
            internal_url,
            id,
            files,
            notes,
            database,
            running: Running { stop, task },
            client,
            secrets: [secret, fs::read_to_string(directory.path().join("consentry.key")).unwrap()],
            keys,
            panics_before: PANICS.load(Ordering::SeqCst),
            directory,
        }
    }

    /// What another server on the same database is made of, as the settings file has it.
    pub(crate) fn settings(&self) -> Settings {
        let file = self.directory.path().join("consentry.toml");
        let mut settings = config::load(Some(&file), &Environment::default()).unwrap();
        settings.listen.public.set_port(0);
        settings
    }

    /// The command line with this world's settings: what it prints as JSON, of a run that ends with this code.
    #[track_caller]
    pub(crate) fn runs(&self, arguments: &[&str], code: i32) -> serde_json::Value {
        self.runs_with("consentry.toml", arguments, code)
    }

    /// The same with other settings, which [`World::writes_settings`] has written.
    #[track_caller]
    pub(crate) fn runs_with(&self, file: &str, arguments: &[&str], code: i32) -> serde_json::Value {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_consentry"));
        command.env_clear().current_dir(self.directory.path());
        let output = command.args(["--config", file, "--json"]).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    /// Settings like this world's, changed as a text.
    pub(crate) fn writes_settings(&self, file: &str, change: impl Fn(String) -> String) {
        let ours = fs::read_to_string(self.directory.path().join("consentry.toml")).unwrap();
        fs::write(self.directory.path().join(file), change(ours)).unwrap();
    }

    /// Another server on the same database.
    pub(crate) async fn replica(&self) -> Replica {
        self.replica_with(|_| ()).await
    }

    /// The same, with settings of the test's own.
    pub(crate) async fn replica_with(&self, change: impl Fn(&mut Settings)) -> Replica {
        let mut settings = self.settings();
        change(&mut settings);
        let server = Server::build(settings, self.clock.clone()).await.unwrap();
        let address = server.public_addr().to_string();
        let internal_url = format!("http://{}", server.internal_addr());
        let stop = CancellationToken::new();
        let task = tokio::spawn(server.run(stop.clone()));
        Replica { address, internal_url, running: Running { stop, task: Some(task) } }
    }

    /// A caller of the API: one of [`SERVERS`].
    #[track_caller]
    pub(crate) fn api(&self, server: &str) -> Api {
        self.api_of(&self.internal_url, server)
    }

    /// The same of another replica.
    #[track_caller]
    pub(crate) fn api_at(&self, replica: &Replica, server: &str) -> Api {
        self.api_of(&replica.internal_url, server)
    }

    #[track_caller]
    fn api_of(&self, base: &str, server: &str) -> Api {
        let which = SERVERS.iter().position(|known| *known == server).expect("an MCP server of this world");
        let issuer = self.id.base_url().to_owned();
        Api::new(self.client.clone(), base.to_owned(), self.keys[which].clone(), issuer)
    }

    /// What Consentry is configured with and must keep to itself, each with a word for it.
    pub(crate) fn secrets(&self) -> Vec<(&'static str, String)> {
        let [client, key] = self.secrets.each_ref().map(|secret| secret.trim().to_owned());
        let keys = self.keys.iter().map(|key| ("an API key", key.clone()));
        keys.chain([("the client secret", client), ("the encryption key", key)]).collect()
    }

    /// A browser with no cookies.
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.client.clone(), self.clock.clone())
    }

    /// Moves everybody's clock.
    pub(crate) fn advance(&self, span: Duration) {
        for fake in [self.id.clock(), self.files.clock(), self.notes.clock()] {
            fake.advance(span);
        }
        self.clock.advance(span);
    }

    /// Moves Consentry's clock to where the others' are, which go on by themselves: for a test that is long enough to be
    /// told that a token is not valid yet.
    pub(crate) fn catches_up(&self) {
        let behind = self.id.clock().now_ms() - self.clock.now().0;
        self.clock.advance(Duration::from_millis(u64::try_from(behind).unwrap_or(0)));
    }

    /// Codes that the third parties have given tokens for. The judge of most attacks: what was not redeemed was not
    /// stolen.
    pub(crate) fn redeemed(&self) -> usize {
        [&self.files, &self.notes]
            .iter()
            .flat_map(|provider| provider.token_log())
            .filter(|request| request.accepted && request.code.is_some())
            .count()
    }

    /// Waits for what happens by itself, such as a round of the sweeper.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, mut is_so: impl FnMut() -> F) {
        let waiting = async {
            while !is_so().await {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("it happens");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.running.stop.cancel();
        let task = self.running.task.take();
        if std::thread::panicking() {
            return;
        }
        let ended = tokio::task::block_in_place(|| {
            let stopping = async { tokio::time::timeout(PATIENCE, task.expect("it runs")).await };
            tokio::runtime::Handle::current().block_on(stopping)
        });
        match ended {
            Ok(ended) => assert_eq!(ended.expect("the server did not panic"), Ended::Drained),
            Err(_) => panic!("a task of the server is left"),
        }
        assert_eq!(PANICS.load(Ordering::SeqCst), self.panics_before, "a task has panicked");
    }
}

/// Counts panics on the runtime's threads, where nobody else would notice. (A test's own thread bears its name.)
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let former = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name().is_some_and(|name| name.starts_with("tokio-")) {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            former(panic);
        }));
    });
}

/// A client that does only what it is told: no redirects, no cookies, `localhost` where the test's server is.
#[expect(
    clippy::disallowed_methods,
    reason = "a browser or an MCP server calls Consentry; its own client is for others"
)]
pub(crate) fn client(public: SocketAddr) -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .resolve("localhost", public)
        .timeout(Duration::from_secs(60))
        .build()
        .unwrap()
}

/// What the settings are made of.
struct Plan {
    directory: TempDir,
    database: String,
    id: String,
    files: String,
    notes: String,
    /// With one, everybody speaks TLS.
    certificate: Option<Certificate>,
    /// Consentry's client secret everywhere; each party knows only its own registration.
    secret: String,
    keys: [String; 2],
}

impl Plan {
    fn write_key(&self) {
        let (_, text) = Key::generate(KeyId::new("test").unwrap(), &Random);
        fs::write(self.directory.path().join("consentry.key"), text.expose()).unwrap();
    }

    /// The public URL stands in the settings, which come before the port: one is chosen, and another when somebody
    /// has it. Below those that the system gives to callers.
    async fn build(
        &self,
        clock: &Clock,
        rewrite: impl Fn(String) -> String,
        change: impl Fn(&mut Settings),
    ) -> (Server, String) {
        for _ in 0..TRIES {
            let port = 10_000 + Random.below(20_000);
            let scheme = if self.certificate.is_some() { "https" } else { "http" };
            let public_url = format!("{scheme}://localhost:{port}");
            let file = self.directory.path().join("consentry.toml");
            fs::write(&file, rewrite(self.settings(&public_url, port))).unwrap();
            let mut settings = config::load(Some(&file), &Environment::default()).unwrap();
            change(&mut settings);
            match Server::build(settings, clock.clone()).await {
                Ok(server) => return (server, public_url),
                Err(BuildError::Listen(..)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        panic!("no port is free");
    }

    fn register(&self, public_url: &str, id: &AuthorizationServer, files: &Provider, notes: &Provider) {
        let client = || Client::basic("consentry", &self.secret).name("Consentry");
        id.register(client().redirect_uri(format!("{public_url}/sign-in/callback/{ID}")));
        for (provider, name) in [(files, FILES), (notes, NOTES)] {
            let uris = SERVERS.map(|server| format!("{public_url}/callback/{server}/{name}"));
            provider.register(uris.into_iter().fold(client(), Client::redirect_uri));
        }
    }

    fn settings(&self, public_url: &str, port: u64) -> String {
        let Self { database, id, files, notes, secret, keys, .. } = self;
        let directory = self.directory.path().display();
        let tls = self.certificate.as_ref().map(|one| one.settings(self.directory.path()));
        let (public_tls, trusted) = tls.unwrap_or_default();
        let server = |name: &str, key: &str| {
            format!(
                r#"
[[mcp_servers]]
id = "{name}"
name = "The {name} tools"
resource = "https://{name}.example/mcp"
authorization_server = "{ID}"
api_keys = [{{ value = "{key}" }}]
providers = ["{FILES}", "{NOTES}"]
"#
            )
        };
        let provider = |provider: &str, name: &str, url: &str| {
            format!(
                r#"
[[providers]]
id = "{provider}"
name = "{name}"
issuer = "{url}"
client_id = "consentry"
client_secret = {{ value = "{secret}" }}
scopes = ["files.read"]
allowed_scopes = ["files.read", "files.write", "profile"]
scope_words = {{ "files.read" = "See the names of your files" }}
probe = {{ url = "{url}/me", id = "id", label = "login" }}
"#
            )
        };
        let servers = [server(SERVERS[0], &keys[0]), server(SERVERS[1], &keys[1])].concat();
        let providers =
            [provider(FILES, "Example Files", files), provider(NOTES, "Example Notes", notes)].concat();
        format!(
            r#"public_url = "{public_url}"

[listen]
public = "127.0.0.1:{port}"
internal = "127.0.0.1:0"
{public_tls}

[database]
url = {{ value = '{database}' }}

[encryption]
keys = [{{ id = "test", file = '{directory}/consentry.key' }}]

[limits]
requests_per_minute = 100000
elicitations_per_minute = 10000

{trusted}

[[authorization_servers]]
id = "{ID}"
name = "Example ID"
issuer = "{id}"
client_id = "consentry"
client_secret = {{ value = "{secret}" }}
{servers}{providers}"#
        )
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[should_panic(expected = "a task has panicked")]
async fn a_panic_behind_the_border_fails_the_test() {
    let _world = World::start(Database::start(crate::engine::Engine::Sqlite).await).await;
    let task = tokio::spawn(async { panic!("behind the border") });
    assert!(task.await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_world_stops_although_a_stream_is_open() {
    let world = World::start(Database::start(crate::engine::Engine::Sqlite).await).await;
    let request = world.client.get(format!("{}/v1/events", world.internal_url)).bearer_auth(&world.keys[0]);
    let stream = request.header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(stream.status(), 200);
    drop(world);
    stream.text().await.expect("the stream ends as streams do");
}
