//! A Postgres server of a test's own, which may be stopped: `scripts/postgres` makes it, durable against its own crash.

use std::process::{Command, Output};

/// It is stopped and removed when this is dropped.
pub(super) struct Cluster {
    /// The URL of its one database.
    pub(super) url: String,
    directory: String,
}

impl Cluster {
    pub(super) fn start() -> Self {
        let told = script(&["start", "durable"]);
        let told = String::from_utf8(told.stdout).unwrap();
        let value = |name: &str| {
            told.split(&format!("{name}='")).nth(1).unwrap().split('\'').next().unwrap().to_owned()
        };
        Self { url: value("CONSENTRY_TEST_POSTGRES"), directory: value("CONSENTRY_TEST_POSTGRES_DIR") }
    }

    /// Ends it, `fast` (connections are told) or `immediate` (a crash).
    pub(super) fn halts(&self, mode: &str) {
        script(&["halt", mode, &self.directory]);
    }

    pub(super) fn resumes(&self) {
        script(&["resume", &self.directory]);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        script(&["stop", &self.directory]);
    }
}

fn script(arguments: &[&str]) -> Output {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/postgres");
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}
