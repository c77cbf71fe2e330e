//! `consentry connections`: what users have connected. No secret is ever shown.

use serde_json::{Value, json};

use super::{
    Context,
    output::{CliError, table},
    process::has_terminal,
    serve::refused,
};
use crate::{
    app::App,
    clock::Clock,
    config::Settings,
    connection::{Connection, ConnectionId},
    credential::{Revocation, disconnect},
    elicitation::{ProviderId, ServerId},
    server::assemble,
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
    /// Remove one, and revoke it at the provider. Nothing brings it back.
    Disconnect {
        /// Its id.
        id: String,
        /// Do not ask. Needed where there is no terminal.
        #[arg(long)]
        yes: bool,
    },
}

pub(super) async fn run(context: &Context, command: Command) -> Result<(), CliError> {
    let settings = context.settings()?;
    match command {
        Command::Disconnect { id, yes } => remove(context, settings, &id, yes).await,
        reading => {
            let database = &settings.database;
            let store = Store::open(&database.url, database.connections).await.map_err(CliError::failed)?;
            let done = read(context, &store, reading).await;
            store.shut_down().await;
            done
        }
    }
}

async fn read(context: &Context, store: &Store, command: Command) -> Result<(), CliError> {
    match command {
        Command::List { server, provider, issuer, sub, after, limit } => {
            let wrong = |what: &str| CliError::Usage(format!("no such {what}"));
            let server = server.map(|id| id.parse::<ServerId>()).transpose().map_err(|_| wrong("server"))?;
            let provider =
                provider.map(|id| id.parse::<ProviderId>()).transpose().map_err(|_| wrong("provider"))?;
            let after =
                after.map(|id| id.parse::<ConnectionId>()).transpose().map_err(|_| wrong("connection"))?;
            let filter = ConnectionFilter {
                server: server.as_ref(),
                issuer: issuer.as_deref(),
                sub: sub.as_deref(),
                provider: provider.as_ref(),
                after,
            };
            let found = store.connections(filter, limit).await.map_err(CliError::failed)?;
            let values: Vec<Value> = found.iter().map(value).collect();
            let rows: Vec<[String; 6]> = found.iter().map(row).collect();
            let text = table(["id", "status", "server", "provider", "account", "user"], &rows);
            context.out.say(&json!({ "connections": values }), &text)
        }
        Command::Show { id } => {
            let found = find(store, &id).await?;
            context.out.say(&value(&found), &words(&found))
        }
        Command::Disconnect { .. } => Ok(()),
    }
}

async fn find(store: &Store, id: &str) -> Result<Connection, CliError> {
    let unknown = || CliError::failed("there is no such connection");
    let id: ConnectionId = id.parse().map_err(|_| unknown())?;
    store.any_connection(id).await.map_err(CliError::failed)?.ok_or_else(unknown)
}

async fn remove(context: &Context, settings: Settings, id: &str, yes: bool) -> Result<(), CliError> {
    if !yes && !has_terminal() {
        return Err(CliError::Usage("say --yes: there is no terminal to ask".to_owned()));
    }
    let app = assemble(settings, Clock::system()).await.map_err(refused)?;
    let done = remove_from(context, &app, id, yes).await;
    app.shutdown.cancel();
    app.tasks.close();
    app.tasks.wait().await;
    app.store.shut_down().await;
    done
}

async fn remove_from(context: &Context, app: &App, id: &str, yes: bool) -> Result<(), CliError> {
    let found = find(&app.store, id).await?;
    if !yes && !agreed(&found) {
        return Err(CliError::failed("nothing was removed"));
    }
    let removed = disconnect(app, &found.server, found.id, "disconnected_by_operator")
        .await
        .map_err(CliError::failed)?;
    let removed = removed.ok_or_else(|| CliError::failed("it was removed meanwhile"))?;
    let (revocation, text) = match removed.revocation(app).await {
        Revocation::Confirmed => ("confirmed", "Removed, and revoked at the provider."),
        Revocation::Pending => {
            ("pending", "Removed here. The provider has not confirmed that the access ended.")
        }
        Revocation::Impossible => ("impossible", "Removed here. The provider has no way to be told."),
        Revocation::Shared => {
            ("shared", "Removed here. The provider was not told: another connection has the same account.")
        }
    };
    context.out.say(&json!({ "ok": true, "id": id, "revocation": revocation }), text)
}

#[expect(clippy::print_stderr, reason = "a question to whoever sits at the terminal")]
fn agreed(connection: &Connection) -> bool {
    eprint!("Remove the connection of {:?} to {}? [y/N] ", connection.owner.sub, connection.provider);
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
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

fn words(one: &Connection) -> String {
    format!(
        "{}\nstatus     {}{}\nserver     {}\nuser       {} at {}\nprovider   {}\naccount    {} ({})\ngranted    {}\n\
         made       {}\nchanged    {}",
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
    )
}

fn value(one: &Connection) -> Value {
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
    })
}
