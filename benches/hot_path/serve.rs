//! Starts the servers that are measured, each a process of its own, and stops them.

use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::seed::World;

/// A server under load; ends when dropped.
pub(crate) struct Running {
    child: Child,
    /// Its process.
    pub(crate) pid: u32,
    /// Where browsers come, or the only port.
    pub(crate) public: u16,
    /// Where the API is.
    pub(crate) internal: u16,
    /// From its start until it was ready.
    pub(crate) started_in: Duration,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program itself, as `consentry serve`.
pub(crate) async fn consentry(world: &World, database: &str) -> Running {
    let (public, internal) = (free_port(), free_port());
    let config = world.config(database, public, internal);
    let mut command = Command::new(env!("CARGO_BIN_EXE_consentry"));
    command.arg("serve").arg("--config").arg(config);
    run(command, public, internal).await
}

/// The baseline, as this program with another argument.
pub(crate) async fn bare(database: &str) -> Running {
    let port = free_port();
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["bare", database, &port.to_string()]);
    run(command, port, port).await
}

/// The micro-batched loader, the same way.
pub(crate) async fn loader(world: &World, database: &str) -> Running {
    let port = free_port();
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["loader", database, &port.to_string()]).arg(world.key_file());
    run(command, port, port).await
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
async fn run(mut command: Command, public: u16, internal: u16) -> Running {
    let started = Instant::now();
    let log =
        std::fs::File::create(std::env::temp_dir().join(format!("measure-{internal}.log"))).expect("a log");
    let child = command
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log)
        .spawn()
        .expect("a child");
    let pid = child.id();
    let mut running = Running { child, pid, public, internal, started_in: Duration::ZERO };
    while started.elapsed() < Duration::from_secs(30) {
        if is_ready(internal).await {
            running.started_in = started.elapsed();
            return running;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("a server that does not start; see measure-{internal}.log in the temporary directory");
}

/// Whether the server says so itself; the baseline answers anything.
async fn is_ready(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else { return false };
    let request = format!("GET /readyz HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
    let mut answer = Vec::new();
    stream.write_all(request.as_bytes()).await.is_ok()
        && stream.read_to_end(&mut answer).await.is_ok()
        && ["200", "404"].iter().any(|status| answer.starts_with(format!("HTTP/1.1 {status}").as_bytes()))
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
