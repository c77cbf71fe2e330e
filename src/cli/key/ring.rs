//! `consentry key rotate | status | retire`: the keys of a database that is in use.

use std::{io::Write, time::Duration};

use serde_json::{Value, json};

use super::super::{
    Context,
    database::{self, heads},
    output::{CliError, table},
};
use crate::{
    audit::Sealer,
    clock::{Clock, Millis},
    config::Settings,
    keys::{self, Barred, KeyStatus, Progress, Status},
    random::Random,
    store::{KeyCount, Resealing, Store, StoreError},
    vault::{KeyId, Vault},
};

/// Between two lines of progress.
const TELL: Duration = Duration::from_secs(1);

struct Opened {
    store: Store,
    vault: Vault,
    clock: Clock,
}

async fn open(mut settings: Settings) -> Result<Opened, CliError> {
    let vault = Vault::new(std::mem::take(&mut settings.keys), Random)
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let store = database::open(&settings).await?;
    let store = store.recorded(Sealer::new(vault.clone(), settings.audit_names_subjects));
    Ok(Opened { store, vault, clock: Clock::system() })
}

pub(super) async fn rotate(context: &Context, pace: u32) -> Result<(), CliError> {
    let opened = open(context.settings()?).await?;
    let done = rotate_with(context, &opened, pace).await;
    opened.store.shut_down().await;
    done
}

async fn rotate_with(context: &Context, opened: &Opened, pace: u32) -> Result<(), CliError> {
    let Opened { store, vault, clock } = opened;
    may(keys::fits(store, vault, false, clock.now()).await)?;
    // From then on every process needs the first key; where nothing is to be sealed, none does.
    if !keys::left(store, vault).await.map_err(CliError::failed)?.is_empty() {
        may(keys::enter(store, vault, None, clock.now()).await)?;
    }
    let mut told = Millis(i64::MIN);
    let mut report = |progress: Progress| {
        let now = clock.now();
        if progress.finished || now >= told.plus(TELL) {
            told = now;
            tell(context, progress);
        }
    };
    let rotation =
        keys::rotate(store, vault, clock, Some(pace), &mut report).await.map_err(CliError::failed)?;
    let left: i64 = rotation.left.iter().map(|count| count.rows).sum();
    let key = vault.current_key();
    let value = json!({
        "ok": left == 0,
        "key": key.as_str(),
        "resealed": rotation.resealed,
        "overtaken": rotation.overtaken,
        "left": rotation.left.iter().map(count).collect::<Vec<_>>(),
    });
    let mut text = format!("{} values sealed anew under {key}.", rotation.resealed);
    if left == 0 {
        text.push_str(" Nothing is sealed under another key.");
    } else {
        text.push_str(&format!(
            "\n{left} are not: they do not open, or a process still seals with an older key. `consentry key status` tells \
             which."
        ));
    }
    context.out.say_recorded(value, &text, &heads(store).await)?;
    if left == 0 { Ok(()) } else { Err(CliError::Told) }
}

fn may(fits: Result<Result<(), Barred>, StoreError>) -> Result<(), CliError> {
    fits.map_err(CliError::failed)?.map_err(|barred| CliError::Usage(barred.to_string()))
}

fn count(count: &KeyCount) -> Value {
    json!({ "cell": count.cell, "key": count.key.as_ref().map(KeyId::as_str), "rows": count.rows })
}

/// One line on standard error; nobody has to read it.
fn tell(context: &Context, progress: Progress) {
    let Progress { table, resealed, unreadable, finished } = progress;
    let line = if context.out.is_json() {
        json!({ "table": table, "resealed": resealed, "unreadable": unreadable, "finished": finished })
            .to_string()
    } else {
        let end = if finished { ", done" } else { "" };
        let bad = if unreadable > 0 { format!(", {unreadable} do not open") } else { String::new() };
        format!("{table}: {resealed} sealed anew{bad}{end}")
    };
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

pub(super) async fn status(context: &Context) -> Result<(), CliError> {
    let opened = open(context.settings()?).await?;
    let found = keys::status(&opened.store, &opened.vault, opened.clock.now()).await;
    opened.store.shut_down().await;
    let found = found.map_err(CliError::failed)?;
    context.out.say(&value(&found), &words(&found))
}

pub(super) async fn retire(context: &Context, id: &KeyId) -> Result<(), CliError> {
    let opened = open(context.settings()?).await?;
    let retired = keys::retire(&opened.store, &opened.vault, id, opened.clock.now()).await;
    let heads = heads(&opened.store).await;
    opened.store.shut_down().await;
    if let Err(hindrance) = retired.map_err(CliError::failed)? {
        return Err(CliError::failed(format!("{id} is not retired: {hindrance}")));
    }
    context.out.say_recorded(
        json!({ "ok": true, "id": id.as_str() }),
        &format!(
            "{id} is retired: it can be taken out of the configuration. What it has sealed elsewhere, in cookies and in \
             backups, does not open without it; keep a copy as long as you keep those."
        ),
        &heads,
    )
}

fn value(found: &Status) -> Value {
    let replicas = found.replicas.iter().map(|one| {
        json!({ "id": one.id.to_string(), "seals_with": one.key, "opens_with": one.keys,
            "started_at": one.started_at.rfc3339(), "seen_at": one.seen_at.rfc3339() })
    });
    json!({
        "keys": found.keys.iter().map(key).collect::<Vec<_>>(),
        "replicas": replicas.collect::<Vec<_>>(),
        "resealings": found.resealings.iter().map(resealing).collect::<Vec<_>>(),
    })
}

fn key(key: &KeyStatus) -> Value {
    let hindrance = key.hindrance();
    json!({
        "id": key.id.as_ref().map(KeyId::as_str),
        "place": key.place,
        "seals": key.place == Some(0),
        "first_used_at": key.first_used_at.map(Millis::rfc3339),
        "retired_at": key.retired_at.map(Millis::rfc3339),
        "rows": key.rows,
        "audit_rows": key.audit_rows,
        "replicas": key.replicas,
        "can_be_retired": key.retired_at.is_none() && hindrance.is_none(),
        "hindrance": hindrance.map(|hindrance| hindrance.to_string()),
    })
}

fn resealing(one: &Resealing) -> Value {
    json!({
        "key": one.key,
        "table": one.table,
        "resealed": one.resealed,
        "started_at": one.started_at.rfc3339(),
        "updated_at": one.updated_at.rfc3339(),
        "finished_at": one.finished_at.map(Millis::rfc3339),
    })
}

fn words(found: &Status) -> String {
    let rows: Vec<[String; 6]> = found.keys.iter().map(row).collect();
    let mut text = table(["key", "configured", "values", "audit rows", "processes", "can be retired"], &rows);
    for key in &found.keys {
        for (cell, rows) in &key.rows {
            text.push_str(&format!("\n{}: {rows} in {cell}", name(key)));
        }
    }
    for one in &found.replicas {
        text.push_str(&format!(
            "\nprocess {}: seals with {}, opens with {}, seen {}",
            one.id,
            one.key,
            one.keys.join(" "),
            one.seen_at.rfc3339()
        ));
    }
    for one in found.resealings.iter().filter(|one| one.finished_at.is_none()) {
        let (at, table, resealed) = (one.updated_at.rfc3339(), &one.table, one.resealed);
        text.push_str(&format!("\nunfinished since {at}: {table}, {resealed} sealed anew under {}", one.key));
    }
    text
}

fn name(key: &KeyStatus) -> &str {
    key.id.as_ref().map_or("(not a sealed value)", KeyId::as_str)
}

fn row(key: &KeyStatus) -> [String; 6] {
    let configured = match key.place {
        Some(0) => "seals".to_owned(),
        Some(_) => "opens".to_owned(),
        None => "no".to_owned(),
    };
    let can = match (key.retired_at, key.hindrance()) {
        (Some(at), _) => format!("retired {}", at.rfc3339()),
        (None, None) => "yes".to_owned(),
        (None, Some(hindrance)) => format!("no: {hindrance}"),
    };
    [
        name(key).to_owned(),
        configured,
        key.all_rows().to_string(),
        key.audit_rows.to_string(),
        key.replicas.to_string(),
        can,
    ]
}
