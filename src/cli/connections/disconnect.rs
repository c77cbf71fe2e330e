//! `consentry connections disconnect`: one connection, or every one that matches (the kill switch, R85).
//!
//! Many go in three steps. One statement takes all of them out of use on every replica; then whoever is asked for such a
//! connection at this moment is asked no more; then each is removed, with its signals, and the provider is told from the
//! outbox of whichever server runs, at that provider's pace. What stopped in between goes on when the command is run
//! again.

use std::io::Write;

use serde_json::{Value, json};

use super::{
    super::{
        Context,
        audit::subject,
        database::{Narrowed, enter, finish, is_there},
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
    server::{Purpose, assemble},
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
    is_there(&settings)?;
    let app = assemble(settings, Clock::system(), Purpose::Command).await.map_err(refused)?;
    let done = match &args.id {
        Some(id) => one(&app, id, args.yes).await,
        None => matching(&app, &args).await,
    };
    let heads = finish(&app).await;
    match done {
        Ok(Said { value, text, whole }) => {
            context.out.say_recorded(value, &text, &heads)?;
            if whole { Ok(()) } else { Err(CliError::Told) }
        }
        Err(error) => {
            heads.iter().for_each(|head| progress(&format!("audit head {head}")));
            Err(error)
        }
    }
}

/// What is printed at the end.
struct Said {
    value: Value,
    text: String,
    /// Whether everything was done.
    whole: bool,
}

async fn one(app: &App, id: &str, yes: bool) -> Result<Said, CliError> {
    let found = find(&app.store, id).await?;
    let question = format!("Remove the connection of {:?} to {}?", found.owner.sub, found.provider);
    if !yes && !agreed(&question) {
        return Err(CliError::failed("nothing was removed"));
    }
    enter(app).await?;
    let removed = disconnect(app, &found.server, found.id, REASON).await.map_err(CliError::failed)?;
    let removed = removed.ok_or_else(|| CliError::failed("it was removed meanwhile"))?;
    let (revocation, text) = match removed.revocation(app).await {
        Revocation::Confirmed => ("confirmed", "Removed, and revoked at the provider."),
        Revocation::Pending => {
            ("pending", "Removed here. The provider has not confirmed that the access ended.")
        }
        Revocation::Impossible => ("impossible", "Removed here. The provider has no way to be told."),
        Revocation::Unreadable => {
            ("unreadable", "Removed here. The provider was not told: the stored credential does not open.")
        }
        Revocation::Unconfigured => {
            ("unconfigured", "Removed here. The provider was not told: the configuration does not have it.")
        }
        Revocation::Shared => {
            ("shared", "Removed here. The provider was not told: another connection has the same account.")
        }
    };
    let value = json!({ "ok": true, "id": id, "revocation": revocation });
    Ok(Said { value, text: text.to_owned(), whole: true })
}

async fn matching(app: &App, args: &Args) -> Result<Said, CliError> {
    let narrowed = Narrowed::by(&app.settings, args.server.as_deref(), args.provider.as_deref())?;
    let narrowed = narrowed.issuer(&app.settings, args.issuer.as_deref());
    let user = match &args.user {
        Some(user) => Some(subject(&app.settings, user, args.issuer.as_deref())?),
        None => None,
    };
    let filter = ConnectionFilter {
        server: narrowed.server.as_ref(),
        issuer: user.as_ref().map(|user| user.issuer.as_str()),
        sub: user.as_ref().map(|user| user.sub.as_str()),
        provider: narrowed.provider.as_ref(),
        after: None,
    };
    let counts = app.store.count_connections(filter).await.map_err(CliError::failed)?;
    let matched: i64 = counts.iter().map(|(_, _, count)| count).sum();
    if matched == 0 {
        narrowed.found_nothing()?;
    }
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
        let value = json!({ "ok": true, "dry_run": true, "matched": matched, "by": by });
        return Ok(Said { value, text, whole: true });
    }
    if !args.yes && !agreed(&format!("Take {matched} connections out of use at once, and remove them?")) {
        return Err(CliError::failed("nothing was changed"));
    }
    if matched > 0 {
        enter(app).await?;
    }
    let taken = app.store.take_out(filter, app.clock.now()).await.map_err(CliError::failed)?;
    progress(&format!("{taken} connections are handed out no more."));
    let cancelled = cancel(app, filter).await?;
    let Removed { removed, failed } = remove(app, filter).await?;
    let value = json!({
        "ok": failed == 0,
        "matched": matched,
        "taken_out": taken,
        "cancelled": cancelled,
        "removed": removed,
        "failed": failed,
    });
    let mut text = format!(
        "{removed} connections removed. Their providers are told by the servers that run. {cancelled} open questions \
         cancelled."
    );
    if failed > 0 {
        text.push_str(&format!("\n{failed} are out of use but not removed yet: run the command again."));
    }
    Ok(Said { value, text, whole: failed == 0 })
}

/// Cancels what users are being asked, also those who have no connection yet: a trip that is under way would bring one.
async fn cancel(app: &App, filter: ConnectionFilter<'_>) -> Result<u64, CliError> {
    let (mut cancelled, mut after) = (0, None);
    loop {
        let now = app.clock.now();
        let page = app.store.asked(filter, after, BATCH, now).await.map_err(CliError::failed)?;
        let Some(last) = page.last() else { return Ok(cancelled) };
        after = Some(*last);
        for id in page {
            let done = app.store.cancel_asked(id, REASON, now).await.map_err(CliError::failed)?;
            cancelled += u64::from(done);
        }
    }
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
