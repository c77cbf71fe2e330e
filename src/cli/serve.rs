//! `consentry serve`.

use tokio_util::sync::CancellationToken;

use super::{
    Context,
    output::CliError,
    process::{Signals, protect_memory},
};
use crate::{
    clock::Clock,
    config::{FirstKey, Settings, first_key, notes},
    random::Random,
    server::{BuildError, Ended, Server},
    store::Alone,
    telemetry::start_log,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Leave the database's schema as it is, whatever `database.migrate` says.
    #[arg(long)]
    no_migrate: bool,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<(), CliError> {
    let made =
        first_key(context.config.as_deref(), &context.environment, Random).map_err(CliError::Config)?;
    let mut settings = context.settings()?;
    settings.database.migrate &= !args.no_migrate;
    start_log(&settings.log).map_err(CliError::failed)?;
    protect_memory();
    if let FirstKey::Made(file) = made {
        let file = file.display();
        tracing::warn!(%file, "a first encryption key was made: keep a copy, without it the database is worthless");
    }
    for note in notes(&settings) {
        tracing::warn!("{note}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| CliError::failed(error.kind()))?.block_on(serve(settings))
}

async fn serve(settings: Settings) -> Result<(), CliError> {
    // Held to the end of the process, and given back by the system however it ends.
    let _alone = Alone::claim(&settings.database.url).map_err(CliError::failed)?;
    // Before anything is opened, so that a signal during the start is not lost.
    let signals = Signals::listen().map_err(|error| CliError::failed(error.kind()))?;
    let public_url = settings.public_url.origin();
    let server = Server::build(settings, Clock::system()).await.map_err(refused)?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), public_url, "starting");
    let shutdown = CancellationToken::new();
    tokio::spawn(signals.obey(server.tls(), shutdown.clone()));
    match server.run(shutdown).await {
        Ended::Drained => Ok(()),
        Ended::CutOff => Err(CliError::failed("something did not finish in time and was cut off")),
    }
}

/// What the operator can mend in the configuration is a wrong configuration.
pub(super) fn refused(error: BuildError) -> CliError {
    match error {
        BuildError::Keys(_)
        | BuildError::KeyMissing(_)
        | BuildError::KeyBarred(_)
        | BuildError::KeyWrong
        | BuildError::Outbound(_)
        | BuildError::CaFile(..)
        | BuildError::Tls(_)
        | BuildError::AuthorizationServer(..) => CliError::Usage(error.to_string()),
        BuildError::Store(_) | BuildError::Schema | BuildError::Listen(..) => CliError::failed(error),
    }
}
