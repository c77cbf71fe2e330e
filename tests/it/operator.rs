//! The program as an operator meets it: the real binary, its exit codes, its signals, its files.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use consentry::{
    clock::{Clock, Millis},
    delivery::Failure,
    elicitation::{ElicitationId, NewElicitation, ServerId, State},
    random::Random,
    scope::Scopes,
    secret::{Hash, Secret},
    store::Store,
    subject::Subject,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::keys::seed::{self, Keys};

/// An MCP server that is posted to.
const POSTED: &str = r#"
[[authorization_servers]]
id = "main"
issuer = "https://id.example.com"
client_id = "c"
client_secret = { value = "not-a-secret-of-anybody" }

[[mcp_servers]]
id = "files"
name = "Files"
resource = "https://files.example/mcp"
authorization_server = "main"
api_keys = [{ value = "an-api-key-that-is-long-enough-0123456789" }]
providers = []
webhook = { url = "https://files.example/hooks", secret = { value = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" } }
"#;

/// A directory to run in, with nothing in it.
struct Place {
    directory: tempfile::TempDir,
    /// The settings file, where there is one.
    settings: Option<&'static str>,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), settings: None }
    }

    /// The same, run with this file of settings.
    fn with(self, settings: &'static str) -> Self {
        Self { settings: Some(settings), ..self }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The program, seeing no environment but what is given here.
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_consentry"));
        command.args(arguments).current_dir(self.directory.path()).env_clear();
        command.args(self.settings.iter().flat_map(|file| ["--config", file]));
        command
            .env("CONSENTRY_LISTEN__PUBLIC", "127.0.0.1:0")
            .env("CONSENTRY_LISTEN__INTERNAL", "127.0.0.1:0");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.program(arguments).output().unwrap()
    }

    fn json(&self, arguments: &[&str], code: i32) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn store(&self) -> Secret {
        Secret::new(format!("sqlite:{}", self.path("consentry.db").display()))
    }
}

/// A server that runs; it is killed when this is dropped.
struct Serving {
    child: Child,
    log: BufReader<std::process::ChildStderr>,
    public: String,
    internal: String,
}

impl Serving {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .env("CONSENTRY_LOG__FORMAT", "json")
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut serving = Self { child, log, public: String::new(), internal: String::new() };
        let line = serving.until("serving");
        serving.public = line["public"].as_str().unwrap().to_owned();
        serving.internal = line["internal"].as_str().unwrap().to_owned();
        serving
    }

    /// The next line of the log with this message.
    fn until(&mut self, message: &str) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.log.read_line(&mut line).unwrap(), 0, "the log ended before `{message}`");
            let Ok(value) = serde_json::from_str::<Value>(&line) else { panic!("not JSON: {line}") };
            if value["message"] == message {
                return value;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }

    fn code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost:8080\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_first_start_needs_nothing_and_a_signal_ends_it() {
    let place = Place::new();
    let mut serving = Serving::start(&mut place.program(&["serve"]));
    assert!(get(&serving.public, "/livez").starts_with("HTTP/1.1 200"));
    assert!(get(&serving.internal, "/readyz").starts_with("HTTP/1.1 200"));
    assert_eq!((mode(&place.path("consentry.key")), mode(&place.path("consentry.db"))), (0o600, 0o600));
    // Nobody can stop a start-up half way by hanging up the terminal: it reads certificates again.
    serving.signal(Signal::HUP);
    assert!(get(&serving.public, "/livez").starts_with("HTTP/1.1 200"));

    let mut health = place.program(&["health"]);
    health.env("CONSENTRY_LISTEN__INTERNAL", &serving.internal);
    assert_eq!(health.output().unwrap().status.code(), Some(0));

    serving.signal(Signal::TERM);
    serving.until("stopped");
    assert_eq!(serving.code(), Some(0));
    assert_eq!(health.output().unwrap().status.code(), Some(1));
}

/// R102: rows without their key are not touched, and nothing serves.
#[test]
fn r102_a_database_without_its_key_is_not_served() {
    let place = Place::new();
    Serving::start(&mut place.program(&["serve"])).signal(Signal::TERM);
    fs::remove_file(place.path("consentry.key")).unwrap();
    let output = place.run(&["serve"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("give its key back"), "{output:?}");
    assert!(!place.path("consentry.key").exists());
}

/// R103: the code is 2, the key is named, the value is not.
#[test]
fn r103_a_wrong_configuration_is_told_and_not_shown() {
    let place = Place::new();
    place.json(&["key", "new", "--file", "consentry.key"], 0);
    assert_eq!(mode(&place.path("consentry.key")), 0o600);
    assert_eq!(place.run(&["key", "new", "--file", "consentry.key"]).status.code(), Some(1));
    place.json(&["check"], 0);
    fs::write(
        place.path("bad.toml"),
        "public_url = \"http://canary.example.com\"\n[database]\nurl = \"canary\"\nconnections = \"canary\"\n",
    )
    .unwrap();
    let told = place.json(&["check", "--config", "bad.toml"], 2);
    let keys: Vec<_> = told["errors"].as_array().unwrap().iter().map(|error| &error["key"]).collect();
    assert_eq!(keys, ["public_url", "database.connections"]);
    for command in ["check", "doctor", "serve", "migrate"] {
        let output = place.run(&[command, "--config", "bad.toml"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let text = [output.stdout, output.stderr].concat();
        assert!(!String::from_utf8_lossy(&text).contains("canary"), "{command}");
    }
    assert_eq!(place.run(&["nonsense"]).status.code(), Some(2));
}

#[test]
fn doctor_looks_and_changes_nothing() {
    let place = Place::new();
    place.json(&["key", "new", "--file", "consentry.key"], 0);
    assert_eq!(place.json(&["doctor"], 0)["ok"], true);
    assert!(!place.path("consentry.db").exists());
    place.json(&["migrate"], 0);
    assert_eq!(place.json(&["migrate"], 0)["changed"], false);
    let told = place.json(&["doctor"], 0);
    let whats: Vec<_> =
        told["findings"].as_array().unwrap().iter().map(|found| found["what"].as_str()).collect();
    assert!(whats.contains(&Some("database")) && whats.contains(&Some("keys")), "{told}");

    fs::write(
        place.path("far.toml"),
        "[[authorization_servers]]\nid = \"main\"\nissuer = \"http://127.0.0.1:9\"\nclient_id = \"c\"\n",
    )
    .unwrap();
    assert_eq!(place.json(&["doctor", "--config", "far.toml"], 1)["ok"], false);
}

#[tokio::test]
async fn elicitations_are_listed_shown_and_cancelled() {
    let place = Place::new();
    place.json(&["key", "new", "--file", "consentry.key"], 0);
    place.json(&["migrate"], 0);
    let now = Clock::system().now();
    let id = ElicitationId(Random.uuid());
    let store = Store::open(&place.store(), 2).await.unwrap();
    let new = NewElicitation {
        id,
        server: "files".parse().unwrap(),
        owner: Subject::new("https://id.example.com", "alice").unwrap(),
        provider: "acme".parse().unwrap(),
        scopes: Scopes::new(["read"]).unwrap(),
        values: consentry::values::Values::default(),
        typed: consentry::values::Values::default(),
        legacy: false,
        client_ref: String::new(),
        client_name: None,
        message: None,
        seen: None,
        restart_of: None,
        expires_at: Millis(now.0 + 600_000),
    };
    store.create(&new, now).await.unwrap();
    store.shut_down().await;

    let id = id.to_string();
    let listed = place.json(&["elicitations", "list", "--state", "pending", "--server", "files"], 0);
    assert_eq!(listed["elicitations"][0]["id"], id.as_str());
    assert_eq!(place.json(&["elicitations", "show", &id], 0)["state"], "pending");
    place.json(&["elicitations", "cancel", &id], 0);
    assert_eq!(place.json(&["elicitations", "show", &id], 0)["reason"], "cancelled_by_operator");
    place.json(&["elicitations", "cancel", &id], 1);
    place.json(&["elicitations", "show", "nonsense"], 1);
    place.json(&["elicitations", "list", "--state", "nonsense"], 2);
    assert_eq!(place.json(&["connections", "list"], 0)["connections"], serde_json::json!([]));
    // Without a terminal nothing is asked, and nothing removed.
    place.json(&["connections", "disconnect", &id], 2);
    place.json(&["connections", "disconnect", &id, "--yes"], 1);
}

/// R85: a wrong directory or a wrong path must not look like a database in which nothing is.
#[test]
fn r85_a_database_that_is_not_there_is_not_made_by_a_command() {
    let place = Place::new();
    place.json(&["key", "new", "--file", "consentry.key"], 0);
    let id = "00000000-0000-4000-8000-000000000000";
    for command in [
        &["connections", "disconnect", "--all", "--yes"][..],
        &["connections", "disconnect", "--all", "--dry-run"],
        &["connections", "disconnect", id, "--yes"],
        &["connections", "list"],
        &["connections", "show", id],
        &["elicitations", "list"],
        &["elicitations", "cancel", id],
        &["audit", "list"],
        &["audit", "verify"],
        &["webhooks", "list"],
        &["key", "status"],
        &["key", "rotate"],
        &["key", "retire", "x"],
    ] {
        let told = place.json(command, 1);
        let error = told["error"].as_str().unwrap();
        assert!(
            error.contains("consentry.db") && error.contains("consentry migrate"),
            "{command:?}: {error}"
        );
        assert!(!place.path("consentry.db").exists(), "{command:?}");
    }
    // One without a schema is not ours, and stays as it is.
    fs::write(place.path("consentry.db"), "").unwrap();
    let told = place.json(&["connections", "disconnect", "--all", "--yes"], 1);
    assert!(told["error"].as_str().unwrap().contains("consentry migrate"), "{told}");
    assert_eq!(fs::metadata(place.path("consentry.db")).unwrap().len(), 0);
}

#[tokio::test]
async fn dead_letters_are_listed_and_replayed() {
    let place = Place::new();
    place.json(&["key", "new", "--file", "consentry.key"], 0);
    fs::write(place.path("posted.toml"), POSTED).unwrap();
    let place = place.with("posted.toml");
    place.json(&["migrate"], 0);
    let now = Clock::system().now();
    let server: ServerId = "files".parse().unwrap();
    let store = Store::open(&place.store(), 2).await.unwrap().posting([server.clone()]);
    let new = NewElicitation {
        id: ElicitationId(Random.uuid()),
        server: server.clone(),
        owner: Subject::new("https://id.example.com", "alice").unwrap(),
        provider: "acme".parse().unwrap(),
        scopes: Scopes::new(["read"]).unwrap(),
        values: consentry::values::Values::default(),
        typed: consentry::values::Values::default(),
        legacy: false,
        client_ref: String::new(),
        client_name: None,
        message: None,
        seen: None,
        restart_of: None,
        expires_at: Millis(now.0 + 600_000),
    };
    let made = store.create(&new, now).await.unwrap().elicitation;
    store.close(&made, State::Cancelled, "x", now).await.unwrap();
    let url = Hash::of(b"https://files.example/hooks");
    let claimed = store.claim_deliveries(&server, &url, 1, now, Millis(now.0 + 1)).await.unwrap().remove(0);
    let failure = Failure { status: Some(500), code: "status" };
    store.put_delivery_off(&claimed, None, failure, now).await.unwrap();
    store.disable_receiver(&server, &url, now).await.unwrap();
    store.shut_down().await;

    let listed = place.json(&["webhooks", "list", "--state", "dead", "--server", "files"], 0);
    let dead = &listed["deliveries"][0];
    let id = claimed.signal.id.to_string();
    assert_eq!((&dead["id"], &dead["last_status"]), (&id.as_str().into(), &500.into()));
    assert_eq!(dead["type"], "elicitation.cancelled");
    // To a receiver that has said that it is gone nothing is posted.
    let told = place.json(&["webhooks", "replay", "--server", "files", "--dead"], 1);
    assert!(told["error"].as_str().unwrap().contains("webhooks enable --server files"), "{told}");
    place.json(&["webhooks", "replay", &id], 1);
    place.json(&["webhooks", "enable", "--server", "files"], 0);
    place.json(&["webhooks", "enable", "--server", "files"], 1);
    assert_eq!(place.json(&["webhooks", "replay", "--server", "files", "--dead"], 0)["replayed"], 1);
    assert_eq!(place.json(&["webhooks", "replay", "--server", "files", "--dead"], 0)["replayed"], 0);
    let listed = place.json(&["webhooks", "list", "--state", "due"], 0);
    assert_eq!(listed["deliveries"][0]["tries"], 0);
    place.json(&["webhooks", "replay", &id], 0);
    place.json(&["webhooks", "replay", "nonsense"], 1);
    place.json(&["webhooks", "list", "--state", "nonsense"], 2);
    // What the arguments' own parser refuses is JSON too, for whoever asked for it.
    for wrong in
        [&["webhooks", "replay", "--server", "files"][..], &["webhooks", "replay"], &["nonsense"], &["key"]]
    {
        let told = place.json(wrong, 2);
        assert_eq!(told["ok"], false, "{wrong:?}");
        assert!(told["error"].as_str().unwrap().contains("Usage: consentry"), "{told}");
        let text = place.run(wrong);
        assert!(text.stdout.is_empty() && String::from_utf8_lossy(&text.stderr).contains("Usage: consentry"));
    }
}

#[test]
fn what_needs_no_configuration_needs_none() {
    let place = Place::new();
    assert_eq!(place.json(&["version"], 0)["name"], "consentry");
    assert_eq!(place.json(&["openapi"], 0)["openapi"], "3.1.0");
    let listed = place.json(&["providers", "list"], 0);
    let catalogue = listed["catalogue"].as_array().unwrap();
    assert!(catalogue.iter().any(|entry| entry["id"] == "github" && entry["source"] == "built-in"));
    assert_eq!(place.json(&["providers", "show", "github"], 0)["name"], "GitHub");
    let key = place.json(&["key", "new", "--id", "k"], 0);
    assert_eq!(key["key"].as_str().unwrap().len(), 44);
}

/// Two processes on one file would each wait for the other's locks and wake none of the other's waiters.
#[test]
fn a_second_server_on_one_file_is_refused_and_commands_are_not() {
    let place = Place::new();
    let first = Serving::start(&mut place.program(&["serve"]));
    let second = place.run(&["serve"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another server runs on"), "{second:?}");
    place.json(&["connections", "list"], 0);
    place.json(&["key", "status"], 0);
    assert_eq!(place.json(&["doctor"], 0)["ok"], true);
    // However it ends, the file is free.
    first.signal(Signal::KILL);
    first.code();
    let third = Serving::start(&mut place.program(&["serve"]));
    third.signal(Signal::TERM);
    assert_eq!(third.code(), Some(0));
}

/// R101, R102, F30: a new key comes, a rotation is killed and goes on, the old key goes; all beside a server.
#[tokio::test(flavor = "multi_thread")]
async fn f30_r101_a_key_is_changed_from_the_command_line() {
    let place = Place::new();
    let text = |id: &str| place.json(&["key", "new", "--id", id, "--file", id], 0)["file"].clone();
    let (old, new) = (text("old"), text("new"));
    let settings = |name: &str, ring: &[&Value]| {
        let keys =
            ring.iter().map(|id| format!("{{ id = {id}, file = {id} }}")).collect::<Vec<_>>().join(", ");
        fs::write(place.path(name), format!("[encryption]\nkeys = [{keys}]\n")).unwrap();
    };
    settings("old.toml", &[&old]);
    settings("both.toml", &[&new, &old]);
    settings("new.toml", &[&new]);
    Serving::start(&mut place.program(&["serve", "--config", "old.toml"])).signal(Signal::TERM);

    let base64 = |id: &str| fs::read_to_string(place.path(id)).unwrap();
    let vault = Keys::new(&[]).with("old", &base64("old")).ring(&["old"]);
    let store = Store::open(&place.store(), 2).await.unwrap();
    let now = Clock::system().now();
    for user in 0..220 {
        let owner = Subject::new("https://id.example.com", format!("user-{user}")).unwrap();
        seed::connect(&store, &vault, ("files", "acme"), &owner, now).await.unwrap();
    }
    store.shut_down().await;

    // Nothing starts without the old key, and nothing lets it go.
    assert_eq!(place.run(&["serve", "--config", "new.toml"]).status.code(), Some(2));
    let serving = Serving::start(&mut place.program(&["serve", "--config", "both.toml"]));
    let told = place.json(&["key", "retire", "old", "--config", "both.toml"], 1);
    assert!(told["error"].as_str().unwrap().contains("440 stored values"), "{told}");

    let mut killed = place.program(&["key", "rotate", "--pace", "50", "--json", "--config", "both.toml"]);
    let mut killed = killed.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(killed.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["resealed"], 200);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let status = place.json(&["key", "status", "--config", "both.toml"], 0);
    assert_eq!(status["keys"][0]["rows"]["connections.access"], 100);
    assert_eq!(
        (&status["keys"][1]["rows"]["connections.access"], &status["keys"][1]["replicas"]),
        (&120.into(), &0.into())
    );
    assert_eq!(status["keys"][0]["replicas"], 1);
    assert_eq!(status["resealings"][0]["finished_at"], Value::Null);

    let told = place.json(&["key", "rotate", "--config", "both.toml"], 0);
    assert_eq!((&told["resealed"], &told["left"]), (&240.into(), &serde_json::json!([])));
    place.json(&["key", "retire", "new", "--config", "both.toml"], 1);
    place.json(&["key", "retire", "n/a", "--config", "both.toml"], 2);
    place.json(&["key", "retire", "old", "--config", "both.toml"], 0);
    serving.signal(Signal::TERM);
    assert_eq!(serving.code(), Some(0));
    let serving = Serving::start(&mut place.program(&["serve", "--config", "new.toml"]));
    serving.signal(Signal::TERM);
    assert_eq!(serving.code(), Some(0));
    assert_eq!(place.run(&["serve", "--config", "old.toml"]).status.code(), Some(2));
}
