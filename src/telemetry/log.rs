//! The log: lines for people or JSON for collectors, to standard error.

use std::io::IsTerminal;

use tracing::Level;
use tracing_subscriber::{
    EnvFilter, Layer, filter::filter_fn, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::config::Log;

/// The log cannot be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The filter is none.
    #[error("log.filter is not a filter")]
    Filter,
    /// This process logs already.
    #[error("the log has been started before")]
    Twice,
}

/// Starts the log of this process.
///
/// # Errors
/// [`LogError`].
pub fn start_log(settings: &Log) -> Result<(), LogError> {
    let filter = EnvFilter::try_new(&settings.filter).map_err(|_| LogError::Filter)?;
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = if settings.json {
        lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .with_ansi(false)
            .boxed()
    } else {
        lines.with_ansi(std::io::stderr().is_terminal()).boxed()
    };
    // Libraries tell at their finest level what they read from the wire.
    let ours_or_coarse =
        filter_fn(|event| event.target().starts_with("consentry") || *event.level() <= Level::DEBUG);
    tracing_subscriber::registry()
        .with(filter)
        .with(lines.with_filter(ours_or_coarse))
        .try_init()
        .map_err(|_| LogError::Twice)
}
