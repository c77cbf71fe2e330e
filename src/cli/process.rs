//! What concerns the process itself: its runtime, its signals, and that it leaves no core dump.

use std::{future::Future, io::IsTerminal};

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::output::CliError;
use crate::server::TlsFiles;

/// Runs one command to its end.
pub(super) fn wait_for<F: Future<Output = Result<(), CliError>>>(command: F) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CliError::failed(error.kind()))?.block_on(command)
}

/// Whether somebody can be asked.
pub(super) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Keeps secrets out of core dumps and out of the reach of this user's other processes (R105). What the system does
/// not let us do is logged.
pub(super) fn protect_memory() {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    if let Err(error) = setrlimit(Resource::Core, none) {
        tracing::warn!(%error, "core dumps could not be turned off");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::warn!(%error, "the process's memory could not be closed to others");
    }
}

/// The signals of a running server.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Listens to them from now on.
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// SIGHUP reads certificates again; the first SIGTERM or SIGINT drains, the second ends the process.
    pub(super) async fn obey(mut self, tls: TlsFiles, shutdown: CancellationToken) {
        loop {
            tokio::select! {
                _ = self.hangup.recv() => {
                    tls.reload();
                    continue;
                }
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
            }
            if shutdown.is_cancelled() {
                tracing::warn!("told twice to stop: ending at once");
                std::process::exit(1);
            }
            shutdown.cancel();
        }
    }
}
