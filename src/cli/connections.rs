//! `consentry connections`: what users have connected. No secret is ever shown.

mod disconnect;

use serde_json::{Value, json};

use super::{
    Context, database,
    database::Narrowed,
    output::{CliError, table},
};
use crate::{
    clock::Millis,
    config::Settings,
    connection::{Connection, ConnectionId},
    store::{ConnectionFilter, Store},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// In the order of their ids.
    List {
        /// Of this MCP server.
        #[arg(long)]
        server: Option<String>,
        /// For this provider.
        #[arg(long)]
        provider: Option<String>,
        /// Of users of this issuer.
        #[arg(long)]
        issuer: Option<String>,
        /// Of this user.
        #[arg(long)]
        sub: Option<String>,
        /// After this id.
        #[arg(long)]
        after: Option<String>,
        /// At most so many.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// One.
    Show {
        /// Its id.
        id: String,
    },
    /// Remove one, or every one that matches, and revoke at the provider. Nothing brings them back.
    Disconnect(disconnect::Args),
}

pub(super) async fn run(context: &Context, command: Command) -> Result<(), CliError> {
    let settings = context.settings()?;
    match command {
        Command::Disconnect(args) => disconnect::run(context, settings, args).await,
        reading => {
            let store = database::open(&settings).await?;
            let done = read(context, &settings, &store, reading).await;
            store.shut_down().await;
            done
        }
    }
}

async fn read(
    context: &Context,
    settings: &Settings,
    store: &Store,
    command: Command,
) -> Result<(), CliError> {
    match command {
        Command::List { server, provider, issuer, sub, after, limit } => {
            let narrowed = Narrowed::by(settings, server.as_deref(), provider.as_deref())?;
            let narrowed = narrowed.issuer(settings, issuer.as_deref());
            let after = after.map(|id| id.parse::<ConnectionId>()).transpose();
            let after = after.map_err(|_| CliError::Usage("no such connection".to_owned()))?;
            let filter = ConnectionFilter {
                server: narrowed.server.as_ref(),
                issuer: issuer.as_deref(),
                sub: sub.as_deref(),
                provider: narrowed.provider.as_ref(),
                after,
            };
            let found = store.connections(filter, limit).await.map_err(CliError::failed)?;
            if found.is_empty() && after.is_none() {
                narrowed.found_nothing()?;
            }
            let used = store.last_uses(filter, limit).await.map_err(CliError::failed)?;
            let values: Vec<Value> = found.iter().map(|one| value(one, used.get(&one.id).copied())).collect();
            let rows: Vec<[String; 6]> = found.iter().map(row).collect();
            let text = table(["id", "status", "server", "provider", "account", "user"], &rows);
            context.out.say(&json!({ "connections": values }), &text)
        }
        Command::Show { id } => {
            let found = find(store, &id).await?;
            let used = store.last_use(found.id).await.map_err(CliError::failed)?;
            context.out.say(&value(&found, used), &words(&found, used))
        }
        Command::Disconnect(_) => Ok(()),
    }
}

async fn find(store: &Store, id: &str) -> Result<Connection, CliError> {
    let unknown = || CliError::failed("there is no such connection");
    let id: ConnectionId = id.parse().map_err(|_| unknown())?;
    store.any_connection(id).await.map_err(CliError::failed)?.ok_or_else(unknown)
}

fn row(one: &Connection) -> [String; 6] {
    [
        one.id.to_string(),
        one.status.as_str().to_owned(),
        one.server.to_string(),
        one.provider.to_string(),
        one.account.label.clone().or_else(|| one.account.id.clone()).unwrap_or_default(),
        one.owner.sub.clone(),
    ]
}

fn words(one: &Connection, used: Option<Millis>) -> String {
    format!(
        "{}\nstatus     {}{}\nserver     {}\nuser       {} at {}\nprovider   {}\naccount    {} ({})\ngranted    {}\n\
         made       {}\nchanged    {}\nlast used  {}",
        one.id,
        one.status.as_str(),
        one.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default(),
        one.server,
        one.owner.sub,
        one.owner.issuer,
        one.provider,
        one.account.label.as_deref().unwrap_or("without a name"),
        one.account.id.as_deref().unwrap_or("without an id"),
        one.granted.to_text(),
        one.created_at.rfc3339(),
        one.updated_at.rfc3339(),
        used.map_or_else(|| "never, or in the last minute alone".to_owned(), Millis::rfc3339),
    )
}

fn value(one: &Connection, used: Option<Millis>) -> Value {
    json!({
        "id": one.id.to_string(),
        "status": one.status.as_str(),
        "reason": one.reason,
        "server": one.server.as_str(),
        "subject": { "issuer": one.owner.issuer, "sub": one.owner.sub },
        "provider": one.provider.as_str(),
        "account": { "id": one.account.id, "label": one.account.label },
        "scopes": one.granted.to_vec(),
        "generation": one.generation,
        "key": one.access.key_id().map(|id| id.to_string()),
        "created_at": one.created_at.rfc3339(),
        "updated_at": one.updated_at.rfc3339(),
        "last_used_at": used.map(Millis::rfc3339),
    })
}
