//! `consentry document`: what `scripts/generate` writes into `docs/`.

use serde_json::json;

use super::{Context, output::CliError};
use crate::{api, config, telemetry};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// docs/configuration.md
    Configuration,
    /// docs/metrics.md
    Metrics,
}

pub(super) fn run(context: &Context, command: &Command) -> Result<(), CliError> {
    let text = match command {
        Command::Configuration => config::document(),
        Command::Metrics => telemetry::document(),
    };
    context.out.say(&json!({ "text": text }), &text)
}

/// `consentry openapi`.
pub(super) fn openapi(context: &Context) -> Result<(), CliError> {
    let description = api::openapi();
    let text = description.to_pretty_json().map_err(CliError::failed)?;
    context.out.say(&description, &text)
}
