//! One `consentry serve` of the built binary: started, stopped by any signal, and its log looked at when it ends.

use std::{
    fs::File,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use consentry::clock::Clock;
use rustix::process::{Pid, Signal, kill_process};

/// How long anything may take that a process does by itself, on a machine that does much else.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(5);

/// Looks until there is something. Processes, databases and the wall clock tell nobody when they have changed, so here,
/// unlike in the tests of one process, it is asked again after a moment.
pub(super) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            Clock::system().sleep(LOOK).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, looking).await;
    found.unwrap_or_else(|_| panic!("waited in vain: {what}"))
}

/// A running server. Dropping it kills it.
pub(super) struct Process {
    child: Child,
    log: PathBuf,
    /// Where browsers come.
    pub(super) public: SocketAddr,
    /// Where MCP servers come, as a URL.
    pub(super) internal: String,
}

impl Process {
    /// Starts `command`, which serves on this address (and the port after it). Does not wait for it.
    pub(super) fn start(mut command: Command, ip: Ipv4Addr, port: u16, log: PathBuf) -> Self {
        let public = SocketAddr::from((ip, port));
        let internal = SocketAddr::from((ip, port + 1));
        command
            .env_clear()
            .env("CONSENTRY_LISTEN__PUBLIC", public.to_string())
            .env("CONSENTRY_LISTEN__INTERNAL", internal.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap());
        let child = command.spawn().expect("the program starts");
        Self { child, log, public, internal: format!("http://{internal}") }
    }

    /// Waits until it says that it is ready.
    pub(super) async fn is_ready(&mut self, client: &reqwest::Client) {
        let url = format!("{}/readyz", self.internal);
        let (child, log) = (&mut self.child, &self.log);
        until("the server is ready", async || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the server ended at its start, {status}: {}", std::fs::read_to_string(log).unwrap());
            }
            client.get(&url).send().await.ok().filter(|answer| answer.status() == 200).map(drop)
        })
        .await;
    }

    /// The number by which the system knows it.
    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the server runs");
    }

    /// `SIGSTOP`, and waits until no thread of it runs.
    pub(super) async fn stands_still(&self) {
        self.signal(Signal::STOP);
        let tasks = format!("/proc/{}/task", self.pid().as_raw_nonzero());
        until("every thread stands still", async || {
            std::fs::read_dir(&tasks).unwrap().all(|task| is_stopped(&task.unwrap().path())).then_some(())
        })
        .await;
    }

    /// `kill -9`, and waits until it is gone: whatever it has not made durable is lost.
    pub(super) fn killed(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended by itself, and gives its exit code.
    pub(super) async fn ends(mut self) -> Option<i32> {
        let child = &mut self.child;
        until("the server ends", async || child.try_wait().unwrap()).await.code()
    }

    /// Whether it still runs.
    pub(super) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

/// Whether this thread, by its directory in `/proc`, is stopped or has ended.
fn is_stopped(task: &Path) -> bool {
    let status = std::fs::read_to_string(task.join("status")).unwrap_or_default();
    status.lines().find(|line| line.starts_with("State:")).is_none_or(|line| line.contains("T (stopped)"))
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        if std::thread::panicking() {
            eprintln!("--- the server's log\n{log}---");
        } else {
            assert!(!log.contains("panicked at"), "a task of the server has panicked: {log}");
        }
    }
}
