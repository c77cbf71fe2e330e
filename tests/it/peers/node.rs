//! A program of `tests/peers`, run by Node for one test and ended with it. What it says, and what it complains about, is
//! kept and told when the test fails.
//!
//! What this must never do: be silently left out where Node is missing, or wait without a limit.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;
use tokio::{sync::watch, time::timeout};

/// How long the program may take for anything: far more than it needs on two busy cores.
const PATIENCE: Duration = Duration::from_secs(60);

/// What brings the peers and their Node.
const NEED: &str = "scripts/need node";

/// A running program that tells what happens as JSON, one object a line.
pub(crate) struct Peer {
    script: &'static str,
    process: Child,
    told: watch::Receiver<Vec<Value>>,
    complaints: Arc<Mutex<String>>,
}

impl Peer {
    /// Starts one of the scripts in `tests/peers`, with its one argument.
    pub(crate) fn start(script: &'static str, argument: &Value) -> Self {
        let folder = folder();
        let node = node(&folder);
        let mut process = Command::new(&node)
            .arg(script)
            .arg(argument.to_string())
            .current_dir(&folder)
            // It ends when this closes, so that not even a test that is killed leaves it behind.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}; run:  {NEED}", node.display()));
        let (tell, told) = watch::channel(Vec::new());
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
                tell.send_modify(|events: &mut Vec<Value>| events.push(event));
            }
        });
        let complaints = Arc::new(Mutex::new(String::new()));
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let kept = Arc::clone(&complaints);
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while stderr.by_ref().read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Self { script, process, told, complaints }
    }

    /// Waits until it tells of such an event, and gives the first.
    pub(crate) async fn tells(&self, event: &str) -> Value {
        let mut told = self.told.clone();
        let is_told = told.wait_for(|told| told.iter().any(|one| one["event"] == event));
        match timeout(PATIENCE, is_told).await {
            Ok(Ok(_)) => self.events(event).swap_remove(0),
            Ok(Err(_)) => panic!("{} ended and has not told of {event}", self.script),
            Err(_) => panic!("{} has not told of {event} in time", self.script),
        }
    }

    /// What it has told of such events so far.
    pub(crate) fn events(&self, event: &str) -> Vec<Value> {
        self.told.borrow().iter().filter(|one| one["event"] == event).cloned().collect()
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(to, "{} said:", self.script)?;
        for event in self.told.borrow().iter() {
            writeln!(to, "  {event}")?;
        }
        let complaints = self.complaints.lock().map(|kept| kept.clone()).unwrap_or_default();
        complaints.lines().try_for_each(|line| writeln!(to, "  (stderr) {line}"))
    }
}

impl Drop for Peer {
    #[expect(clippy::print_stderr, reason = "whatever has failed, this is what it did meanwhile")]
    fn drop(&mut self) {
        // One that has ended already is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("{self}");
        }
    }
}

/// `tests/peers`, from whichever package's tests.
fn folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = package.ancestors().take(2).map(|root| root.join("tests/peers"));
    folders.into_iter().find(|folder| folder.join("package.json").exists()).unwrap()
}

/// The Node that scripts/test has found, or the peers' own.
fn node(folder: &Path) -> PathBuf {
    let modules = folder.join("node_modules");
    let own = || {
        let entries = std::fs::read_dir(&modules).ok()?;
        let nodes = entries.filter_map(Result::ok).map(|entry| entry.path().join("bin/node"));
        nodes.into_iter().find(|node| node.exists())
    };
    #[expect(clippy::disallowed_methods, reason = "scripts/test says here where its Node is")]
    let told = std::env::var("CONSENTRY_TEST_NODE").ok().map(PathBuf::from);
    let node = told.or_else(own).filter(|_| modules.join("oidc-provider").exists());
    node.unwrap_or_else(|| panic!("the peers or their Node are missing; run:  {NEED}"))
}
