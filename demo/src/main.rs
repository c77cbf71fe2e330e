//! `cargo run --release -p demo`

use std::{io::IsTerminal, process::ExitCode};

use clap::Parser;
use demo::{Demo, console::Console};

#[tokio::main]
async fn main() -> ExitCode {
    let demo = Demo::parse();
    let filter = tracing_subscriber::EnvFilter::new(&demo.log);
    let stderr = std::io::stderr;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(stderr().is_terminal())
        .with_writer(stderr)
        .init();
    demo::run(demo, Console::of_process()).await
}
