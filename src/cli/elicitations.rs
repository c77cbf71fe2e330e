//! `consentry elicitations`: what users have been asked.

use serde_json::{Value, json};

use super::{
    Context,
    database::{Narrowed, Recorded, heads, recorded},
    output::{CliError, table},
};
use crate::{
    clock::{Clock, Millis},
    config::Settings,
    elicitation::{Elicitation, ElicitationId, State},
    keys,
    store::Store,
    vault::Vault,
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The newest.
    List {
        /// Of this MCP server.
        #[arg(long)]
        server: Option<String>,
        /// In this state as stored: pending, authorizing, completed, declined, cancelled, expired, failed.
        #[arg(long)]
        state: Option<String>,
        /// At most so many.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// One.
    Show {
        /// Its id.
        id: String,
    },
    /// Close an open one; its MCP server is told.
    Cancel {
        /// Its id.
        id: String,
    },
}

pub(super) async fn run(context: &Context, command: Command) -> Result<(), CliError> {
    let mut settings = context.settings()?;
    let Recorded { store, vault, .. } = recorded(&mut settings).await?;
    let store = store.posting(settings.posted());
    let now = Clock::system().now();
    let done = match command {
        Command::List { server, state, limit } => {
            list(context, &settings, &store, now, server.as_deref(), state, limit).await
        }
        Command::Show { id } => show(context, &store, now, &id).await,
        Command::Cancel { id } => cancel(context, &store, &vault, now, &id).await,
    };
    store.shut_down().await;
    done
}

async fn list(
    context: &Context,
    settings: &Settings,
    store: &Store,
    now: Millis,
    server: Option<&str>,
    state: Option<String>,
    limit: u32,
) -> Result<(), CliError> {
    let wrong = |what: &str| CliError::Usage(format!("no such {what}"));
    let narrowed = Narrowed::by(settings, server, None)?;
    let state = state.map(|state| state.parse::<State>()).transpose().map_err(|_| wrong("state"))?;
    let found = store.elicitations(narrowed.server.as_ref(), state, limit).await.map_err(CliError::failed)?;
    if found.is_empty() {
        narrowed.found_nothing()?;
    }
    let values: Vec<Value> = found.iter().map(|one| value(one, now)).collect();
    let rows: Vec<[String; 5]> = found.iter().map(|one| row(one, now)).collect();
    let text = table(["id", "state", "server", "provider", "made"], &rows);
    context.out.say(&json!({ "elicitations": values }), &text)
}

async fn find(store: &Store, id: &str) -> Result<Elicitation, CliError> {
    let unknown = || CliError::failed("there is no such elicitation");
    let id: ElicitationId = id.parse().map_err(|_| unknown())?;
    store.elicitation(id).await.map_err(CliError::failed)?.ok_or_else(unknown)
}

async fn show(context: &Context, store: &Store, now: Millis, id: &str) -> Result<(), CliError> {
    let found = find(store, id).await?;
    let trip = store.last_trip(found.id).await.map_err(CliError::failed)?;
    let mut text = format!(
        "{}\nstate     {}{}\nserver    {}\nsubject   {} at {}\nprovider  {}\nscopes    {}\nmade      {}\nexpires   {}",
        found.id,
        found.state(now).as_str(),
        found.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default(),
        found.server,
        found.owner.sub,
        found.owner.issuer,
        found.provider,
        found.scopes.to_text(),
        found.created_at.rfc3339(),
        found.expires_at.rfc3339(),
    );
    let mut value = value(&found, now);
    if let Some(trip) = &trip {
        let (outcome, reference) = (trip.outcome.as_str(), trip.attempt.reference());
        let detail = trip.detail.as_deref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        text.push_str(&format!("\nlast trip {outcome}{detail}, reference {reference}"));
        value["last_trip"] = json!({ "outcome": outcome, "detail": trip.detail, "reference": reference });
    }
    context.out.say(&value, &text)
}

async fn cancel(
    context: &Context,
    store: &Store,
    vault: &Vault,
    now: Millis,
    id: &str,
) -> Result<(), CliError> {
    let found = find(store, id).await?;
    // What is tagged for the record must be checked with the keys of the servers.
    let fits = keys::fits(store, vault, false, now).await.map_err(CliError::failed)?;
    fits.map_err(|barred| CliError::Usage(barred.to_string()))?;
    let closed = store.close(&found, State::Cancelled, "cancelled_by_operator", now).await;
    if !closed.map_err(CliError::failed)? {
        return Err(CliError::failed("it is closed already"));
    }
    let value = json!({ "ok": true, "id": id, "state": "cancelled" });
    context.out.say_recorded(value, "Cancelled.", &heads(store).await)
}

fn row(one: &Elicitation, now: Millis) -> [String; 5] {
    [
        one.id.to_string(),
        one.state(now).as_str().to_owned(),
        one.server.to_string(),
        one.provider.to_string(),
        one.created_at.rfc3339(),
    ]
}

fn value(one: &Elicitation, now: Millis) -> Value {
    json!({
        "id": one.id.to_string(),
        "state": one.state(now).as_str(),
        "reason": one.reason,
        "server": one.server.as_str(),
        "subject": { "issuer": one.owner.issuer, "sub": one.owner.sub },
        "provider": one.provider.as_str(),
        "scopes": one.scopes.to_vec(),
        "created_at": one.created_at.rfc3339(),
        "expires_at": one.expires_at.rfc3339(),
        "closed_at": one.closed_at.map(Millis::rfc3339),
    })
}
