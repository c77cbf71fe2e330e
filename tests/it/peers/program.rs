//! A program by others, or an example of ours in another language, run by Node or Python for one test and ended with it. What it
//! says, and what it complains about, is kept and told when the test fails.
//!
//! What this must never do: be silently left out where Node or Python is missing, or wait without a limit.

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

/// What brings the programs, their packages, and what runs them.
const NEED: &str = "scripts/need node python";

/// A running program that tells what happens, as JSON, one object a line, or in words.
pub(crate) struct Peer {
    script: &'static str,
    process: Child,
    told: watch::Receiver<Vec<Value>>,
    complaints: Arc<Mutex<String>>,
}

impl Peer {
    /// Starts one of the scripts in `tests/peers`, `*.mjs` or `*.py`, with its one argument.
    pub(crate) fn start(script: &'static str, argument: &Value) -> Self {
        let mut command = command(script);
        command.arg(script).arg(argument.to_string()).current_dir(root().join("tests/peers"));
        Self::run(script, command)
    }

    /// Starts a program; `script` is what it is called here.
    pub(crate) fn run(script: &'static str, mut command: Command) -> Self {
        let mut process = command
            // It ends when this closes, so that not even a test that is killed leaves it behind.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}; run:  {NEED}"));
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
        self.until(event, |one| (one["event"] == event).then(|| one.clone())).await
    }

    /// Waits until `read` finds something in what it has told, `what`.
    pub(crate) async fn until<T>(&self, what: &str, read: impl Fn(&Value) -> Option<T>) -> T {
        let mut told = self.told.clone();
        match timeout(PATIENCE, told.wait_for(|told| told.iter().any(|one| read(one).is_some()))).await {
            Ok(Ok(told)) => told.iter().find_map(read).unwrap(),
            Ok(Err(_)) => panic!("{} ended and has not told of {what}", self.script),
            Err(_) => panic!("{} has not told of {what} in time", self.script),
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

/// The repository, from whichever package's tests.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_root = |folder: &&Path| folder.join("tests/peers/package.json").exists();
    package.ancestors().take(2).find(is_root).unwrap().to_owned()
}

/// What runs such a script.
pub(crate) fn command(script: &str) -> Command {
    let (name, path) = if script.ends_with(".py") {
        ("CONSENTRY_TEST_PYTHON", Some(root().join("target/python/bin/python")))
    } else {
        ("CONSENTRY_TEST_NODE", own_node())
    };
    #[expect(clippy::disallowed_methods, reason = "scripts/test says here where it is")]
    let told = std::env::var(name).ok().map(PathBuf::from);
    let found = told.or(path).filter(|path| path.exists());
    Command::new(found.unwrap_or_else(|| panic!("what runs {script} is missing; run:  {NEED}")))
}

/// The Node that the peers bring.
fn own_node() -> Option<PathBuf> {
    let entries = std::fs::read_dir(root().join("tests/peers/node_modules")).ok()?;
    let nodes = entries.filter_map(Result::ok).map(|entry| entry.path().join("bin/node"));
    nodes.into_iter().find(|node| node.exists())
}
