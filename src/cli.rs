//! The command line. Each command reads the configuration, does one thing and says what came of it, in words or, with
//! `--json`, as one JSON value on standard output.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage or configuration. What it must never do: ask anything without a
//! terminal, or print a secret that it was not asked to make.

mod audit;
mod check;
mod connections;
mod database;
mod doctor;
mod documents;
mod elicitations;
mod health;
mod key;
mod migrate;
mod output;
mod process;
mod providers;
mod restored;
mod serve;
mod webhooks;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use self::output::{CliError, Output};
use crate::config::{self, Environment, Settings};

/// The connect-flow server for MCP.
#[derive(Debug, Parser)]
#[command(name = "consentry", version, about, propagate_version = true)]
struct Cli {
    /// The settings file; else what CONSENTRY_CONFIG names; else the defaults alone.
    #[arg(long, short, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Answer in JSON on standard output.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server; it brings the database up to date first.
    Serve(serve::Args),
    /// Look at the configuration, with every key file and secret named in it. Starts nothing.
    Check,
    /// Look at everything that the configuration names: database, keys, authorization servers, providers, public URL.
    Doctor,
    /// Bring the database up to date.
    Migrate,
    /// Encryption keys.
    #[command(subcommand)]
    Key(key::Command),
    /// What can be connected.
    #[command(subcommand)]
    Providers(providers::Command),
    /// What users have connected.
    #[command(subcommand)]
    Connections(connections::Command),
    /// What users have been asked.
    #[command(subcommand)]
    Elicitations(elicitations::Command),
    /// What was posted to MCP servers, and what could not be.
    #[command(subcommand)]
    Webhooks(webhooks::Command),
    /// A database that was restored from a backup.
    #[command(subcommand)]
    Restored(restored::Command),
    /// The record of what happened to credentials.
    #[command(subcommand)]
    Audit(audit::Command),
    /// The description of the API (OpenAPI 3.1), as JSON.
    Openapi,
    /// What is running.
    Version,
    /// Whether the server of this configuration is alive; for a container's health check.
    #[command(hide = true)]
    Health,
    /// Documents that are made from the code.
    #[command(hide = true, subcommand)]
    Document(documents::Command),
}

/// What commands can reach.
struct Context {
    config: Option<PathBuf>,
    environment: Environment,
    out: Output,
}

impl Context {
    fn settings(&self) -> Result<Settings, CliError> {
        config::load(self.config.as_deref(), &self.environment).map_err(CliError::Config)
    }
}

/// Runs the command line of this process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let for_a_program = arguments.iter().any(|argument| argument == "--json");
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && for_a_program => {
            let text = error.render().to_string();
            let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim()).to_owned();
            return Output::new(true).fail(&CliError::Usage(text));
        }
        Err(error) => {
            // Also help and version, which are no errors. A closed pipe is nobody's fault.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let context =
        Context { config: cli.config, environment: Environment::of_process(), out: Output::new(cli.json) };
    match dispatch(&context, cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => context.out.fail(&error),
    }
}

fn dispatch(context: &Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::Serve(args) => serve::run(context, &args),
        Command::Check => check::run(context),
        Command::Doctor => process::wait_for(doctor::run(context)),
        Command::Migrate => process::wait_for(migrate::run(context)),
        Command::Key(command) => key::run(context, command),
        Command::Providers(command) => providers::run(context, &command),
        Command::Connections(command) => process::wait_for(connections::run(context, command)),
        Command::Elicitations(command) => process::wait_for(elicitations::run(context, command)),
        Command::Webhooks(command) => process::wait_for(webhooks::run(context, command)),
        Command::Restored(command) => process::wait_for(restored::run(context, command)),
        Command::Audit(command) => process::wait_for(audit::run(context, command)),
        Command::Openapi => documents::openapi(context),
        Command::Version => version(context),
        Command::Health => process::wait_for(health::run(context)),
        Command::Document(command) => documents::run(context, &command),
    }
}

fn version(context: &Context) -> Result<(), CliError> {
    let version = env!("CARGO_PKG_VERSION");
    context
        .out
        .say(&serde_json::json!({ "name": "consentry", "version": version }), &format!("consentry {version}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn wrong_usage_is_2_and_help_is_0() {
        let code = |arguments: &[&str]| {
            let arguments = arguments.iter().map(OsString::from);
            format!("{:?}", run(arguments))
        };
        assert_eq!(code(&["consentry", "nothing"]), format!("{:?}", ExitCode::from(2)));
        assert_eq!(code(&["consentry"]), format!("{:?}", ExitCode::from(2)));
        assert_eq!(code(&["consentry", "--help"]), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(
            code(&["consentry", "check", "--config", "nowhere.toml"]),
            format!("{:?}", ExitCode::from(2))
        );
        assert_eq!(code(&["consentry", "version", "--json"]), format!("{:?}", ExitCode::SUCCESS));
    }
}
