//! `consentry connections disconnect`: one connection, or every one that matches (the kill switch, R85).
//!
//! Many go in two steps. One statement takes all of them out of use on every replica; then each is removed, with its
//! signals, and the provider is told from the outbox of whichever server runs, at that provider's pace. What stopped in
//! between goes on when the command is run again.

use std::io::Write;

use serde_json::{Value, json};

use super::{
    super::{
        Context,
        audit::subject,
        output::{CliError, table},
        process::has_terminal,
        serve::refused,
    },
    find,
};
use crate::{
    app::App,
    clock::Clock,
    config::Settings,
    connection::Connection,
    credential::{Revocation, disconnect},
    elicitation::{ProviderId, ServerId},
    server::assemble,
    store::ConnectionFilter,
};

/// Why they go.
const REASON: &str = "disconnected_by_operator";
/// Removed between two looks at what is left.
const BATCH: u32 = 200;

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("which").required(true).multiple(true)
    .args(["id", "user", "provider", "server", "all"])))]
pub(in crate::cli) struct Args {
    /// One connection's id.
    #[arg(conflicts_with_all = ["user", "provider", "server", "all", "dry_run"])]
    id: Option<String>,
    /// Every connection of this user; with other filters, those that match all of them.
    #[arg(long)]
    user: Option<String>,
    /// The user's issuer; needed where several are configured.
    #[arg(long, requires = "user")]
    issuer: Option<String>,
    /// Every connection to this provider.
    #[arg(long)]
    provider: Option<String>,
    /// Every connection of this MCP server's users.
    #[arg(long)]
    server: Option<String>,
    /// Every connection that there is.
    #[arg(long, conflicts_with_all = ["user", "provider", "server"])]
    all: bool,
    /// Say what would go, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask. Needed where there is no terminal.
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &Context, settings: Settings, args: Args) -> Result<(), CliError> {
    if !args.yes && !args.dry_run && !has_terminal() {
        return Err(CliError::Usage("say --yes: there is no terminal to ask".to_owned()));
    }
    let app = assemble(settings, Clock::system()).await.map_err(refused)?;
    let done = match &args.id {
        Some(id) => one(context, &app, id, args.yes).await,
        None => matching(context, &app, &args).await,
    };
    app.shutdown.cancel();
    app.tasks.close();
    app.tasks.wait().await;
    crate::recorder::finish(&app).await;
    app.store.shut_down().await;
    done
}

async fn one(context: &Context, app: &App, id: &str, yes: bool) -> Result<(), CliError> {
    let found = find(&app.store, id).await?;
    let question = format!("Remove the connection of {:?} to {}?", found.owner.sub, found.provider);
    if !yes && !agreed(&question) {
        return Err(CliError::failed("nothing was removed"));
    }
    let removed = disconnect(app, &found.server, found.id, REASON).await.map_err(CliError::failed)?;
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

async fn matching(context: &Context, app: &App, args: &Args) -> Result<(), CliError> {
    let wrong = |what: &str| CliError::Usage(format!("no such {what}"));
    let server =
        args.server.as_deref().map(str::parse::<ServerId>).transpose().map_err(|_| wrong("server"))?;
    let provider =
        args.provider.as_deref().map(str::parse::<ProviderId>).transpose().map_err(|_| wrong("provider"))?;
    let user = match &args.user {
        Some(user) => Some(subject(&app.settings, user, args.issuer.as_deref())?),
        None => None,
    };
    let filter = ConnectionFilter {
        server: server.as_ref(),
        issuer: user.as_ref().map(|user| user.issuer.as_str()),
        sub: user.as_ref().map(|user| user.sub.as_str()),
        provider: provider.as_ref(),
        after: None,
    };
    let counts = app.store.count_connections(filter).await.map_err(CliError::failed)?;
    let matched: i64 = counts.iter().map(|(_, _, count)| count).sum();
    if args.dry_run {
        let by: Vec<Value> = counts
            .iter()
            .map(|(server, provider, count)| json!({ "server": server, "provider": provider, "connections": count }))
            .collect();
        let rows: Vec<[String; 3]> = counts
            .iter()
            .map(|(server, provider, count)| [server.clone(), provider.clone(), count.to_string()])
            .collect();
        let text = format!("{}\n\n{matched} would go.", table(["server", "provider", "connections"], &rows));
        return context.out.say(&json!({ "ok": true, "dry_run": true, "matched": matched, "by": by }), &text);
    }
    if !args.yes && !agreed(&format!("Take {matched} connections out of use at once, and remove them?")) {
        return Err(CliError::failed("nothing was changed"));
    }
    let taken = app.store.take_out(filter, app.clock.now()).await.map_err(CliError::failed)?;
    progress(&format!("{taken} connections are handed out no more."));
    let Removed { removed, failed } = remove(app, filter).await?;
    let value = json!({
        "ok": failed == 0,
        "matched": matched,
        "taken_out": taken,
        "removed": removed,
        "failed": failed,
    });
    let mut text =
        format!("{removed} connections removed. Their providers are told by the servers that run.");
    if failed > 0 {
        text.push_str(&format!("\n{failed} are out of use but not removed yet: run the command again."));
    }
    context.out.say(&value, &text)?;
    if failed == 0 { Ok(()) } else { Err(CliError::Told) }
}

struct Removed {
    removed: u64,
    failed: u64,
}

/// Removes what is out of use, one by one; one that fails is left for the next run.
async fn remove(app: &App, filter: ConnectionFilter<'_>) -> Result<Removed, CliError> {
    let mut done = Removed { removed: 0, failed: 0 };
    let mut after = None;
    loop {
        let page: Vec<Connection> = app
            .store
            .taken_out(ConnectionFilter { after, ..filter }, BATCH)
            .await
            .map_err(CliError::failed)?;
        let Some(last) = page.last() else { return Ok(done) };
        after = Some(last.id);
        for connection in &page {
            match disconnect(app, &connection.server, connection.id, REASON).await {
                // Gone meanwhile is gone.
                Ok(_) => done.removed += 1,
                Err(error) => {
                    tracing::error!(connection = %connection.id, %error, "a connection could not be removed");
                    done.failed += 1;
                }
            }
        }
        progress(&format!("{} removed.", done.removed));
    }
}

/// On standard error, so that the result stays alone on the other.
fn progress(text: &str) {
    // Nobody may be there to read it.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

#[expect(clippy::print_stderr, reason = "a question to whoever sits at the terminal")]
fn agreed(question: &str) -> bool {
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
