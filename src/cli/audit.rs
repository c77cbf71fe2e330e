//! `consentry audit`: the record of what happened to credentials, listed and verified.

mod verify;

use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use uuid::Uuid;

use super::{
    Context,
    database::{Narrowed, Recorded, recorded},
    output::{CliError, table},
};
use crate::{
    audit::{Kind, Row, Sealer},
    clock::Millis,
    config::Settings,
    connection::ConnectionId,
    store::{AuditFilter, Store},
    subject::Subject,
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The newest rows.
    List(ListArgs),
    /// Recompute every chain, and say what was changed, put in, or taken out. The exit code is 1 when anything was.
    Verify(verify::Args),
}

#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Not before: an RFC 3339 time, such as 2026-11-30T12:00:00Z.
    #[arg(long)]
    since: Option<String>,
    /// Before.
    #[arg(long)]
    until: Option<String>,
    /// Of this kind, such as handed_out or wrong_account.
    #[arg(long)]
    kind: Option<String>,
    /// Of this MCP server.
    #[arg(long)]
    server: Option<String>,
    /// Of this user. Found also where rows have digests, under every key that is configured.
    #[arg(long)]
    user: Option<String>,
    /// The user's issuer; needed where several are configured.
    #[arg(long, requires = "user")]
    issuer: Option<String>,
    /// Of this connection.
    #[arg(long)]
    connection: Option<Uuid>,
    /// At most so many.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

pub(super) async fn run(context: &Context, command: Command) -> Result<(), CliError> {
    let mut settings = context.settings()?;
    let Recorded { store, sealer, .. } = recorded(&mut settings).await?;
    let done = match command {
        Command::List(args) => list(context, &settings, &store, &sealer, &args).await,
        Command::Verify(args) => verify::run(context, &settings, &store, &sealer, &args).await,
    };
    store.shut_down().await;
    done
}

async fn list(
    context: &Context,
    settings: &Settings,
    store: &Store,
    sealer: &Sealer,
    args: &ListArgs,
) -> Result<(), CliError> {
    let wrong = |what: &str| CliError::Usage(format!("no such {what}"));
    let kind = args.kind.as_deref().map(str::parse::<Kind>).transpose().map_err(|_| wrong("kind"))?;
    let narrowed = Narrowed::by(settings, args.server.as_deref(), None)?;
    let narrowed = narrowed.issuer(settings, args.issuer.as_deref());
    let filter = AuditFilter {
        since: args.since.as_deref().map(instant).transpose()?,
        until: args.until.as_deref().map(instant).transpose()?,
        kind,
        server: narrowed.server.as_ref(),
        connection: args.connection,
        subject: None,
    };
    let mut rows = Vec::new();
    match &args.user {
        None => rows = store.audit_rows(filter, args.limit).await.map_err(CliError::failed)?,
        Some(user) => {
            for spelling in sealer.spellings(&subject(settings, user, args.issuer.as_deref())?) {
                let filter = AuditFilter { subject: Some(&spelling), ..filter };
                rows.extend(store.audit_rows(filter, args.limit).await.map_err(CliError::failed)?);
            }
            rows.sort_by_key(|row| std::cmp::Reverse((row.at, row.chain, row.number)));
            rows.truncate(args.limit as usize);
        }
    }
    if rows.is_empty() {
        narrowed.found_nothing()?;
        if let Some(id) = args.connection {
            let there = store.any_connection(ConnectionId(id)).await.map_err(CliError::failed)?;
            there.ok_or_else(|| {
                CliError::failed("there is no such connection, and nothing is recorded of it")
            })?;
        }
    }
    let values: Vec<Value> = rows.iter().map(value).collect();
    let lines: Vec<[String; 8]> = rows.iter().map(line).collect();
    let heading = ["at", "kind", "by", "result", "server", "provider", "times", "detail"];
    context.out.say(&json!({ "rows": values }), &table(heading, &lines))
}

/// A user by their subject; the issuer may be left out where there is one alone.
pub(super) fn subject(settings: &Settings, sub: &str, issuer: Option<&str>) -> Result<Subject, CliError> {
    let known = &settings.authorization_servers;
    let issuer = match (issuer, known.as_slice()) {
        (Some(issuer), _) => issuer,
        (None, [only]) => only.issuer.as_str(),
        (None, _) => return Err(CliError::Usage("say --issuer: not one alone is configured".to_owned())),
    };
    Subject::new(issuer, sub).map_err(|error| CliError::Usage(error.to_string()))
}

fn instant(text: &str) -> Result<Millis, CliError> {
    let wrong = || CliError::Usage(format!("not a time of RFC 3339: {text}"));
    let at = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| wrong())?;
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).map(Millis).map_err(|_| wrong())
}

fn line(row: &Row) -> [String; 8] {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    [
        row.at.rfc3339(),
        row.kind.clone(),
        row.actor.clone(),
        row.result.clone(),
        or_dash(&row.server),
        or_dash(&row.provider),
        row.times.to_string(),
        or_dash(&row.detail),
    ]
}

fn value(row: &Row) -> Value {
    json!({
        "at": row.at.rfc3339(),
        "kind": row.kind,
        "actor": row.actor,
        "result": row.result,
        "server": row.server,
        "provider": row.provider,
        "connection": row.connection.map(|id| id.to_string()),
        "elicitation": row.elicitation.map(|id| id.to_string()),
        "subject": row.subject,
        "detail": row.detail,
        "times": row.times,
        "chain": row.chain.to_string(),
        "number": row.number,
    })
}
