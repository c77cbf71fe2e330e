//! `consentry document`: what `scripts/generate` writes into `docs/`.

use serde_json::json;

use super::{Context, output::CliError};
use crate::{
    api, config,
    provider::catalogue::{self, Catalogue},
    telemetry,
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// docs/configuration.md
    Configuration,
    /// docs/metrics.md
    Metrics,
    /// docs/provider-keys.md
    ProviderKeys,
    /// docs/providers/README.md
    Providers,
    /// docs/providers/ID.md
    Provider {
        /// The id of a built-in entry.
        id: String,
    },
}

pub(super) fn run(context: &Context, command: &Command) -> Result<(), CliError> {
    let text = match command {
        Command::Configuration => config::document(),
        Command::Metrics => telemetry::document(),
        Command::ProviderKeys => config::entry_keys(),
        Command::Providers => catalogue::index().map_err(CliError::failed)?,
        Command::Provider { id } => match Catalogue::built_in_entry(id).map_err(CliError::failed)? {
            Some(entry) => entry.page(),
            None => return Err(CliError::failed("is no built-in entry")),
        },
    };
    context.out.say(&json!({ "text": text }), &text)
}

/// `consentry openapi`.
pub(super) fn openapi(context: &Context) -> Result<(), CliError> {
    let description = api::openapi();
    let text = description.to_pretty_json().map_err(CliError::failed)?;
    context.out.say(&description, &text)
}
