//! `consentry key new`.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Context, output::CliError};
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
}

pub(super) fn run(context: &Context, command: Command) -> Result<(), CliError> {
    let Command::New { id, file } = command;
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
