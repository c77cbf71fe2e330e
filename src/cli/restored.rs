//! `consentry restored declare | verify | status`: a database that was restored from a backup (R107).
//!
//! What a backup holds may be older than what the providers know: a refresh token that was replaced since is dead, and a
//! provider that sees it may end the whole family. Nothing finds that out by itself, so the operator says it, before any
//! server is started: then no refresh is begun, and tokens are handed out as long as they live. When told to, each
//! stored token is tried once, at its provider's pace.

use std::io::Write;

use serde_json::{Value, json};

use super::{
    Context,
    database::{Recorded, enter, finish, heads, is_there, open, recorded},
    output::{CliError, table},
    process::Signals,
    serve::refused,
};
use crate::{
    app::App,
    clock::{Clock, Millis},
    config::Settings,
    credential::try_doubted,
    keys,
    server::{Purpose, TlsFiles, assemble},
    store::{Restore, Store, Tally},
    vault::Vault,
};

#[derive(Clone, Copy, Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Say that it was restored: no refresh is begun from now on, and tokens are handed out as long as they live. Before
    /// the servers are started.
    Declare,
    /// Let refreshes go on, and try every stored refresh token once, at its provider's pace, beside the servers. Says
    /// what became of them; may be stopped, and run again for what is left.
    Verify,
    /// What became of them so far.
    Status,
}

pub(super) async fn run(context: &Context, command: Command) -> Result<(), CliError> {
    let settings = context.settings()?;
    match command {
        Command::Declare => declare(context, settings).await,
        Command::Verify => verify(context, settings).await,
        Command::Status => {
            let store = open(&settings).await?;
            let report = report(&store).await;
            store.shut_down().await;
            let report = report?;
            context.out.say(&report.value(), &report.words())
        }
    }
}

async fn declare(context: &Context, mut settings: Settings) -> Result<(), CliError> {
    let Recorded { store, vault, .. } = recorded(&mut settings).await?;
    let declared = declare_in(&store, &vault).await;
    let heads = heads(&store).await;
    store.shut_down().await;
    let restore = declared?;
    let text = format!(
        "{} connections are in doubt. None is refreshed before `consentry restored verify`; their tokens are handed out \
         as long as they live.",
        restore.connections
    );
    let value =
        json!({ "ok": true, "declared_at": restore.at.rfc3339(), "connections": restore.connections });
    context.out.say_recorded(value, &text, &heads)
}

async fn declare_in(store: &Store, vault: &Vault) -> Result<Restore, CliError> {
    let now = Clock::system().now();
    let fits = keys::fits(store, vault, false, now).await.map_err(CliError::failed)?;
    fits.map_err(|barred| CliError::Usage(barred.to_string()))?;
    store.declare_restored(now).await.map_err(CliError::failed)
}

async fn verify(context: &Context, settings: Settings) -> Result<(), CliError> {
    is_there(&settings)?;
    let app = assemble(settings, Clock::system(), Purpose::Command).await.map_err(refused)?;
    let report = verify_with(&app).await;
    let heads = finish(&app).await;
    let report = report?;
    context.out.say_recorded(report.value(), &report.words(), &heads)?;
    if report.in_doubt() == 0 { Ok(()) } else { Err(CliError::Told) }
}

async fn verify_with(app: &App) -> Result<Report, CliError> {
    let now = app.clock.now();
    let restore = latest(&app.store).await?;
    enter(app).await?;
    app.store.let_refreshes_go(&restore, now).await.map_err(CliError::failed)?;
    // Nobody may be there to read it.
    let said = format!("Refreshes go on. {} connections were in doubt.", restore.connections);
    let _ = writeln!(std::io::stderr().lock(), "{said}");
    // What is under way is finished before the end.
    let signals = Signals::listen().map_err(|error| CliError::failed(error.kind()))?;
    tokio::spawn(signals.obey(TlsFiles::default(), app.shutdown.clone()));
    try_doubted(app, &restore).await.map_err(CliError::failed)?;
    report(&app.store).await
}

async fn latest(store: &Store) -> Result<Restore, CliError> {
    let none = || CliError::failed("no restore was declared: `consentry restored declare` does it");
    store.latest_restore().await.map_err(CliError::failed)?.ok_or_else(none)
}

async fn report(store: &Store) -> Result<Report, CliError> {
    let restore = latest(store).await?;
    let by_provider = store.restore_tally(&restore).await.map_err(CliError::failed)?;
    Ok(Report { restore, by_provider })
}

struct Report {
    restore: Restore,
    by_provider: Vec<Tally>,
}

impl Report {
    fn sum(&self, of: impl Fn(&Tally) -> i64) -> i64 {
        self.by_provider.iter().map(of).sum()
    }

    fn in_doubt(&self) -> i64 {
        self.sum(|tally| tally.in_doubt)
    }

    /// Removed, or connected anew.
    fn gone(&self) -> i64 {
        self.restore.connections - self.sum(|one| one.in_doubt + one.renewed + one.lost + one.ended)
    }

    fn value(&self) -> Value {
        let by = self.by_provider.iter().map(|one| {
            json!({ "provider": one.provider.as_str(), "renewed": one.renewed, "rotation_lost": one.lost,
                "ended_otherwise": one.ended, "in_doubt": one.in_doubt })
        });
        json!({
            "ok": self.in_doubt() == 0,
            "declared_at": self.restore.at.rfc3339(),
            "refreshes_go_since": self.restore.released_at.map(Millis::rfc3339),
            "connections": self.restore.connections,
            "renewed": self.sum(|one| one.renewed),
            "rotation_lost": self.sum(|one| one.lost),
            "ended_otherwise": self.sum(|one| one.ended),
            "gone": self.gone(),
            "in_doubt": self.in_doubt(),
            "by": by.collect::<Vec<_>>(),
        })
    }

    fn words(&self) -> String {
        let rows: Vec<[String; 5]> = self
            .by_provider
            .iter()
            .map(|one| {
                let numbers =
                    [one.renewed, one.lost, one.ended, one.in_doubt].map(|number| number.to_string());
                let [renewed, lost, ended, in_doubt] = numbers;
                [one.provider.to_string(), renewed, lost, ended, in_doubt]
            })
            .collect();
        let mut text = table(["provider", "renewed", "rotation lost", "ended otherwise", "in doubt"], &rows);
        let (all, gone) = (self.restore.connections, self.gone());
        text.push_str(&format!(
            "\n\n{all} were in doubt; {gone} of them were removed or connected anew since."
        ));
        match (self.restore.released_at, self.in_doubt()) {
            (None, _) => text.push_str("\nRefreshes are held back until `consentry restored verify`."),
            (Some(_), 0) => text.push_str("\nNothing is in doubt any more."),
            (Some(_), left) => text.push_str(&format!(
                "\n{left} were not answered for: they are tried when they are asked for, or by running it again."
            )),
        }
        text
    }
}
