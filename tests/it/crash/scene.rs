//! A scene that outlives its servers: the parties around Consentry run in the test, the servers are real processes that
//! come and go on one database.
//!
//! Everybody lives in wall time. What would take long (an access token that expires, a lease that runs out, an attempt
//! that is given up) is brought about by writing an earlier time into the row.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use consentry::{
    clock::Clock,
    random::Random,
    vault::{Key, KeyId},
};
use consentry_fakes::{Account, AuthorizationServer, Client, Listen, Person, Provider, Sink, TokenRequest};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    process::{PATIENCE, Process, until},
    settings::Plan,
};
use crate::{
    contract::raw::Raw,
    engine::{Database, Engine},
    world::{self, Browser, FILES, ID, Link, api::Api},
};

/// The one MCP server.
pub(super) const SERVER: &str = "files";
/// Processes that a scene may have at once, each on a loopback address of its own.
const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 5)];
/// Tries to find free ports.
const TRIES: usize = 20;

/// Everybody but the servers.
pub(super) struct Scene {
    pub(super) engine: Engine,
    /// The database itself.
    url: String,
    /// Where the servers believe it to be.
    pub(super) database: String,
    /// "Example ID".
    pub(super) id: AuthorizationServer,
    /// "Example Files", which rotates strictly: a refresh token that comes twice kills its family.
    pub(super) files: Provider,
    /// The webhook's receiver.
    pub(super) sink: Sink,
    /// What the settings file is made of.
    pub(super) plan: Plan,
    directory: TempDir,
    people: AtomicU64,
    starts: AtomicU64,
    _owned: Option<Database>,
}

/// A user with a connection.
pub(super) struct User {
    pub(super) sub: String,
    /// The connection's id.
    pub(super) connection: String,
}

impl Scene {
    /// On a database of its own. No server runs yet.
    pub(super) async fn start(engine: Engine) -> Self {
        let database = Database::start(engine).await;
        // A kill must leave the file to nobody, so that the next start is what mends it.
        database.store.shut_down().await;
        let url = database.url.expose().to_owned();
        Self::on(engine, url, Some(database)).await
    }

    /// On the database at this URL, which is somebody else's.
    pub(super) async fn on(engine: Engine, url: String, owned: Option<Database>) -> Self {
        let at = |last| Listen::on(Ipv4Addr::new(127, 0, 0, last));
        let id = AuthorizationServer::start(at(2)).await.unwrap();
        let files = Provider::start(at(3)).await.unwrap();
        let sink = Sink::start(at(4)).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let plan = Plan {
            port: free_port(),
            id: id.base_url().to_owned(),
            files: files.base_url().to_owned(),
            sink: sink.base_url().to_owned(),
            secret: Random.secret().expose().to_owned(),
            api_key: Random.secret().expose().to_owned(),
            webhook_secret: webhook_secret(),
            keys: vec!["first".to_owned()],
            rate: 500,
            more: String::new(),
        };
        let client = || Client::basic("consentry", &plan.secret).name("Consentry");
        let public_url = plan.public_url();
        id.register(client().redirect_uri(format!("{public_url}/sign-in/callback/{ID}")));
        files.register(client().redirect_uri(format!("{public_url}/callback/{SERVER}/{FILES}")));
        let scene = Self {
            engine,
            database: url.clone(),
            url,
            id,
            files,
            sink,
            plan,
            directory,
            people: AtomicU64::new(0),
            starts: AtomicU64::new(0),
            _owned: owned,
        };
        scene.makes_key("first");
        scene
    }

    /// The database itself.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// SQLite's file.
    pub(super) fn file(&self) -> &str {
        self.url.strip_prefix("sqlite:").expect("a database on SQLite")
    }

    /// A file beside the settings.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes an encryption key's file.
    pub(super) fn makes_key(&self, id: &str) {
        let (_, text) = Key::generate(KeyId::new(id).unwrap(), &Random);
        fs::write(self.path(&format!("{id}.key")), text.expose()).unwrap();
    }

    /// The program with these arguments and the scene's settings, as they are now.
    pub(super) fn program(&self, arguments: &[&str]) -> Command {
        let file = self.path("consentry.toml");
        fs::write(&file, self.plan.settings(&self.database)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_consentry"));
        command.args(arguments).arg("--config").arg(file).current_dir(self.directory.path()).env_clear();
        command
    }

    /// What the program says as JSON with these arguments, when it ends with this code. Others go on meanwhile.
    pub(super) fn runs(&self, arguments: &[&str], code: i32) -> Value {
        let mut program = self.program(&[arguments, &["--json"]].concat());
        let output = tokio::task::block_in_place(|| program.output()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A server on the host of that number, once it is ready.
    pub(super) async fn serves_on(&self, host: usize) -> Process {
        self.serves_by(self.program(&["serve"]), host).await
    }

    /// The server on the first host, once it is ready.
    pub(super) async fn serves(&self) -> Process {
        self.serves_on(0).await
    }

    /// A server that this command starts, once it is ready.
    pub(super) async fn serves_by(&self, command: Command, host: usize) -> Process {
        let start = self.starts.fetch_add(1, Ordering::Relaxed);
        let log = self.path(&format!("serve-{start}.log"));
        let mut process = Process::start(command, HOSTS[host], self.plan.port, log);
        process.is_ready(&world::client(process.public)).await;
        process
    }

    /// The MCP server, as it calls that process.
    pub(super) fn api(&self, process: &Process) -> Api {
        let client = world::client(process.public);
        Api::new(client, process.internal.clone(), self.plan.api_key.clone(), self.id.base_url().to_owned())
    }

    /// A number that nobody else got.
    pub(super) fn number(&self) -> u64 {
        self.people.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Somebody new, with an account at the provider; signed in, and on the ready page of a link of theirs.
    pub(super) async fn somebody(&self, process: &Process) -> (String, Browser, Link) {
        let number = self.number();
        let sub = format!("person-{number}");
        self.id.add_person(Person::new(&sub, &sub));
        self.files.add_account(Account::new(900_000 + number, &sub));
        let link = self.api(process).asks(&sub, FILES).await;
        let mut browser = Browser::new(world::client(process.public), Clock::system());
        browser.opens(&link.url).await.is("sign-in");
        browser.signs_in(&sub).await.is("ready");
        (sub, browser, link)
    }

    /// Somebody new who has connected.
    pub(super) async fn user(&self, process: &Process) -> User {
        let (sub, mut browser, _) = self.somebody(process).await;
        browser.connects(&sub).await;
        is_connected(&mut browser).await;
        let answer = self.api(process).resolves(&sub, FILES).await;
        let connection = answer["connection"]["id"].as_str().unwrap().to_owned();
        User { sub, connection }
    }

    /// A look at the database past every server.
    pub(super) async fn raw(&self) -> Raw {
        Raw::open(self.engine, &self.url).await
    }

    /// Makes the user's access token one that has expired a minute ago.
    pub(super) async fn expires(&self, user: &User) {
        let then = Clock::system().now().0 - 60_000;
        let sql = format!(
            "UPDATE connections SET access_expires_at_ms = {then}, refreshed_at_ms = {then} - 3600000 WHERE sub = '{}'",
            user.sub
        );
        assert_eq!(self.raw().await.run(&sql).await, 1);
    }

    /// Waits until nothing of a dead process is on its way any more: what Postgres was sent, it finishes.
    pub(super) async fn is_left_alone(&self) {
        if self.engine == Engine::Postgres {
            let mut raw = self.raw().await;
            let sql = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
                AND application_name = 'consentry'";
            until("its connections end", async || (raw.number(sql).await == 0).then_some(())).await;
        }
    }

    /// Makes every lease one that ran out. Leases are on the database's clock, which nobody can advance.
    pub(super) async fn leases_run_out(&self) {
        self.raw()
            .await
            .run("UPDATE connections SET lease_until_ms = 1 WHERE lease_until_ms IS NOT NULL")
            .await;
    }

    /// How many refreshes of the user's tokens have come to the provider.
    pub(super) fn refreshes_of(&self, user: &User) -> usize {
        let is_theirs = |request: &&TokenRequest| {
            let account = request.approval.as_ref().map(|approval| &approval.account);
            request.is_refresh() && account == Some(&user.sub)
        };
        self.files.token_log().iter().filter(is_theirs).count()
    }

    /// The signals about an elicitation or a connection, by their types.
    pub(super) async fn told(&self, process: &Process, about: &str) -> Vec<String> {
        let is_about = |event: &&Value| {
            [&event["data"]["elicitation_id"], &event["data"]["connection_id"]].contains(&&about.into())
        };
        let events = self.events(process).await;
        events.iter().filter(is_about).map(|one| one["type"].as_str().unwrap().to_owned()).collect()
    }

    /// Every signal.
    pub(super) async fn events(&self, process: &Process) -> Vec<Value> {
        let mut all = Vec::new();
        let mut after = 0;
        loop {
            let path = format!("/v1/events?after={after}&limit=200");
            let headers = [("accept", "application/json")];
            let page = self.api(process).call(reqwest::Method::GET, &path, None, &headers).await.expect(200);
            let events = page["events"].as_array().unwrap().clone();
            let Some(last) = events.last() else { return all };
            after = last["data"]["sequence"].as_i64().unwrap();
            all.extend(events);
        }
    }
}

/// A webhook's secret, as Standard Webhooks writes it.
pub(super) fn webhook_secret() -> String {
    format!("whsec_{}", BASE64_STANDARD.encode(Random.bytes::<32>()))
}

/// Checks again, as its page says, while another request is finishing the trip; then it is connected.
pub(super) async fn is_connected(browser: &mut Browser) {
    let started = Clock::system().now();
    while browser.page().name().as_deref() == Some("working") {
        assert!(started.until(Clock::system().now()) < PATIENCE, "waited in vain: the trip is settled");
        browser.reloads().await;
    }
    browser.page().is("connected");
}

/// Two neighbouring ports that are free on every host, below those that the system gives to callers.
fn free_port() -> u16 {
    for _ in 0..TRIES {
        let port = 10_000 + 2 * u16::try_from(Random.below(10_000)).unwrap();
        let is_free =
            |ip: &Ipv4Addr| [port, port + 1].iter().all(|port| TcpListener::bind((*ip, *port)).is_ok());
        if HOSTS.iter().all(is_free) {
            return port;
        }
    }
    panic!("no ports are free");
}
