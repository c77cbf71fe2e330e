//! `consentry webhooks`: what was posted to MCP servers, what could not be, and posting it again. No secret and no URL
//! is ever shown.

use serde_json::{Value, json};

use super::{
    Context,
    database::{self, Narrowed},
    output::{CliError, table},
};
use crate::{
    clock::{Clock, Millis},
    config::Settings,
    delivery::{Listed, State},
    elicitation::ServerId,
    signal::SignalId,
    signals,
    store::Store,
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The newest; and which receivers have said that they are gone.
    List {
        /// Of this MCP server.
        #[arg(long)]
        server: Option<String>,
        /// In this state: due, delivered, dead, dropped.
        #[arg(long)]
        state: Option<String>,
        /// At most so many.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Post a signal again, or everything that was given up for an MCP server. A running server does it.
    Replay {
        /// The signal: its webhook-id.
        #[arg(required_unless_present = "dead", conflicts_with_all = ["dead", "server"])]
        id: Option<String>,
        /// Everything that was given up; with --server.
        #[arg(long, requires = "server")]
        dead: bool,
        /// Of this MCP server.
        #[arg(long, requires = "dead")]
        server: Option<String>,
    },
    /// Post again to a receiver that has answered 410.
    Enable {
        /// The MCP server.
        #[arg(long)]
        server: String,
    },
}

pub(super) async fn run(context: &Context, command: Command) -> Result<(), CliError> {
    let settings = context.settings()?;
    let store = database::open(&settings).await?;
    let now = Clock::system().now();
    let done = match command {
        Command::List { server, state, limit } => {
            list(context, &settings, &store, server.as_deref(), state, limit).await
        }
        Command::Replay { id: Some(id), .. } => replay(context, &settings, &store, now, &id).await,
        Command::Replay { server, .. } => {
            replay_dead(context, &settings, &store, now, &server.unwrap_or_default()).await
        }
        Command::Enable { server } => enable(context, &settings, &store, now, &server).await,
    };
    store.shut_down().await;
    done
}

/// An MCP server that has a webhook: what is queued for another is posted by nobody.
fn posted_to(settings: &Settings, id: &str) -> Result<ServerId, CliError> {
    match settings.mcp_servers.iter().find(|server| server.id.as_str() == id) {
        None => Err(CliError::Usage(format!("the configuration has no MCP server {id:?}"))),
        Some(server) if server.webhook.is_none() => {
            Err(CliError::Usage(format!("the MCP server {id} has no webhook: nothing is posted to it")))
        }
        Some(server) => Ok(server.id.clone()),
    }
}

async fn list(
    context: &Context,
    settings: &Settings,
    store: &Store,
    server: Option<&str>,
    state: Option<String>,
    limit: u32,
) -> Result<(), CliError> {
    let narrowed = Narrowed::by(settings, server, None)?;
    let server = &narrowed.server;
    let state = state.map(|state| state.parse::<State>()).transpose();
    let state = state.map_err(|_| CliError::Usage("no such state".to_owned()))?;
    let found = store.deliveries(server.as_ref(), state, limit).await.map_err(CliError::failed)?;
    if found.is_empty() {
        narrowed.found_nothing()?;
    }
    let gone = gone(settings, store, server.as_ref()).await?;
    let values: Vec<Value> = found.iter().map(value).collect();
    let receivers: Vec<Value> = gone
        .iter()
        .map(|(server, at)| json!({ "server": server.as_str(), "gone_at": at.rfc3339() }))
        .collect();
    let rows: Vec<[String; 7]> = found.iter().map(row).collect();
    let mut text = table(["id", "state", "server", "type", "tries", "last", "made"], &rows);
    for (server, at) in &gone {
        text.push_str(&format!(
            "\nThe receiver of {server} has answered 410 at {}: nothing is posted to it until `consentry webhooks enable \
             --server {server}`, or until the settings name another URL.",
            at.rfc3339()
        ));
    }
    context.out.say(&json!({ "deliveries": values, "receivers_gone": receivers }), &text)
}

/// Receivers as they are configured now that have said that they are gone.
async fn gone(
    settings: &Settings,
    store: &Store,
    only: Option<&ServerId>,
) -> Result<Vec<(ServerId, Millis)>, CliError> {
    let mut gone = Vec::new();
    for server in settings.mcp_servers.iter().filter(|server| only.is_none_or(|only| *only == server.id)) {
        let Some(webhook) = &server.webhook else { continue };
        let at = store.receiver_disabled(&server.id, &signals::receiver(webhook)).await;
        gone.extend(at.map_err(CliError::failed)?.map(|at| (server.id.clone(), at)));
    }
    Ok(gone)
}

/// Refuses what would be queued and posted by nobody.
async fn receiver_is_there(settings: &Settings, store: &Store, server: &ServerId) -> Result<(), CliError> {
    match gone(settings, store, Some(server)).await?.first() {
        None => Ok(()),
        Some((_, at)) => Err(CliError::failed(format!(
            "the receiver of {server} has answered 410 at {}; first `consentry webhooks enable --server {server}`",
            at.rfc3339()
        ))),
    }
}

async fn replay(
    context: &Context,
    settings: &Settings,
    store: &Store,
    now: Millis,
    id: &str,
) -> Result<(), CliError> {
    let unknown = || CliError::failed("there is no such delivery, or it is on its way at this moment");
    let signal: SignalId = id.parse().map_err(|_| unknown())?;
    let server = store.delivery_server(signal).await.map_err(CliError::failed)?.ok_or_else(unknown)?;
    receiver_is_there(settings, store, &posted_to(settings, server.as_str())?).await?;
    if !store.replay_delivery(signal, now).await.map_err(CliError::failed)? {
        return Err(unknown());
    }
    context.out.say(&json!({ "ok": true, "id": id, "replayed": 1 }), "It is posted again.")
}

async fn replay_dead(
    context: &Context,
    settings: &Settings,
    store: &Store,
    now: Millis,
    server: &str,
) -> Result<(), CliError> {
    let server = posted_to(settings, server)?;
    receiver_is_there(settings, store, &server).await?;
    let number = store.replay_dead(&server, now).await.map_err(CliError::failed)?;
    context.out.say(
        &json!({ "ok": true, "server": server.as_str(), "replayed": number }),
        &format!("{number} that were given up are posted again."),
    )
}

async fn enable(
    context: &Context,
    settings: &Settings,
    store: &Store,
    now: Millis,
    server: &str,
) -> Result<(), CliError> {
    let server = posted_to(settings, server)?;
    if !store.enable_receiver(&server, now).await.map_err(CliError::failed)? {
        return Err(CliError::failed("its receiver has not answered 410"));
    }
    context.out.say(&json!({ "ok": true, "server": server.as_str() }), "It is posted to again.")
}

fn row(one: &Listed) -> [String; 7] {
    let last = one.last_status.map(|status| status.to_string());
    [
        one.signal.to_string(),
        one.state.as_str().to_owned(),
        one.server.to_string(),
        one.kind.clone().unwrap_or_default(),
        one.tries.to_string(),
        last.or_else(|| one.last_error.clone()).unwrap_or_default(),
        one.created_at.rfc3339(),
    ]
}

fn value(one: &Listed) -> Value {
    json!({
        "id": one.signal.to_string(),
        "state": one.state.as_str(),
        "server": one.server.as_str(),
        "type": one.kind,
        "sequence": one.sequence,
        "tries": one.tries,
        "next_try_at": (one.state == State::Due).then(|| one.next_at.rfc3339()),
        "last_status": one.last_status,
        "last_error": one.last_error,
        "created_at": one.created_at.rfc3339(),
        "done_at": one.done_at.map(Millis::rfc3339),
    })
}
