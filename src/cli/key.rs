//! `consentry key`: makes keys, seals everything anew under another one, tells what each has sealed, lets one go.
//!
//! All of it beside running servers. What it must never do: print a key that it was not asked to make.

mod ring;

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Context, output::CliError, process::wait_for};
use crate::{
    clock::Clock,
    random::Random,
    secret::Secret,
    vault::{Key, KeyId},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make an encryption key, and print it or write it to a new file that its owner alone can read.
    New {
        /// Its id in the configuration; the date when absent.
        #[arg(long)]
        id: Option<String>,
        /// Write it here instead of printing it. Must not exist.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Seal everything that is stored anew under the first key of the configuration, while servers run. Goes on where
    /// it was stopped.
    Rotate {
        /// At most so many rows a second, to leave the database to the servers.
        #[arg(long, value_name = "ROWS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        pace: u32,
    },
    /// Tell what each key has sealed, which processes seal with it, and whether it can go.
    Status,
    /// Let a key go that nothing needs any more; then it can be taken out of the configuration.
    Retire {
        /// Its id.
        id: String,
    },
}

pub(super) fn run(context: &Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::New { id, file } => new(context, id, file),
        Command::Rotate { pace } => wait_for(ring::rotate(context, pace)),
        Command::Status => wait_for(ring::status(context)),
        Command::Retire { id } => {
            let id = KeyId::new(id).map_err(|error| CliError::Usage(error.to_string()))?;
            wait_for(ring::retire(context, &id))
        }
    }
}

fn new(context: &Context, id: Option<String>, file: Option<PathBuf>) -> Result<(), CliError> {
    let today = || Clock::system().now().rfc3339().chars().take(10).collect();
    let id = KeyId::new(id.unwrap_or_else(today)).map_err(|error| CliError::Usage(error.to_string()))?;
    let (_, text) = Key::generate(id.clone(), &Random);
    let Some(file) = file else {
        let value = json!({ "id": id.as_str(), "key": text.expose() });
        return context.out.say(&value, text.expose());
    };
    write(&file, &text).map_err(|error| {
        CliError::failed(format!("{} could not be written: {}", file.display(), error.kind()))
    })?;
    let shown = file.display().to_string();
    let line = format!(
        "Written to {shown}. In the configuration, in front of older keys:\n\n[encryption]\nkeys = [{{ id = \"{id}\", \
         file = \"{shown}\" }}]"
    );
    context.out.say(&json!({ "id": id.as_str(), "file": shown }), &line)
}

fn write(file: &Path, key: &Secret) -> std::io::Result<()> {
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    out.write_all(key.expose().as_bytes())?;
    out.write_all(b"\n")?;
    out.sync_all()
}
