//! `consentry audit verify`: walks along every chain, row by row, with the keys of the configuration.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use serde_json::{Value, json};
use uuid::Uuid;

use super::super::{Context, output::CliError};
use crate::{
    audit::{Checked, Flaw, Head, Kind, Row, Sealer, Walk},
    clock::{Clock, Millis},
    config::Settings,
    store::{AuditFilter, Store, StoreError},
    vault::KeyId,
};

/// Rows in memory at once.
const PAGE: u32 = 1_000;
/// A row that tells of a purge is purged itself one day; what it told of may stand that much longer.
const SLACK: Duration = Duration::from_hours(24);

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// An end that a log line told, CHAIN:NUMBER:TAG: rows up to it must still be there. May be given several times.
    #[arg(long, value_name = "HEAD")]
    expect: Vec<String>,
    /// A key that was retired: rows that it tagged cannot be checked, which is told, and is then no reason to fail.
    #[arg(long, value_name = "ID")]
    without_key: Vec<String>,
}

/// One chain, walked along.
struct Report {
    chain: Uuid,
    rows: u64,
    head: Option<Head>,
    flaws: Vec<Flaw>,
    unverified: BTreeMap<KeyId, u64>,
}

pub(super) async fn run(
    context: &Context,
    settings: &Settings,
    store: &Store,
    sealer: &Sealer,
    args: &Args,
) -> Result<(), CliError> {
    let wrong = |text: &String| CliError::Usage(format!("not CHAIN:NUMBER:TAG: {text}"));
    let seen: Vec<Head> =
        args.expect.iter().map(|text| text.parse().map_err(|_| wrong(text))).collect::<Result<_, _>>()?;
    let gone: Vec<KeyId> = args
        .without_key
        .iter()
        .map(|id| id.parse().map_err(|_| CliError::Usage(format!("not a key's id: {id}"))))
        .collect::<Result<_, _>>()?;
    let oldest = Clock::system().now().minus(settings.lifetimes.audit).plus(SLACK);
    let mut reports = walk_all(store, sealer, seen, oldest).await.map_err(CliError::failed)?;
    for report in &mut reports {
        report.flaws.retain(|flaw| !matches!(flaw, Flaw::KeyMissing(_, key) if gone.contains(key)));
    }
    let is_whole = reports.iter().all(|report| report.flaws.is_empty());
    let values: Vec<Value> = reports.iter().map(Report::value).collect();
    let unverified = unverified(&reports);
    let left: Vec<Value> = unverified
        .iter()
        .map(|(key, (chains, rows))| json!({ "key": key.as_str(), "chains": chains, "rows": rows }))
        .collect();
    let value = json!({ "ok": is_whole, "chains": values, "unverified": left });
    context.out.say(&value, &text(&reports, &unverified))?;
    if is_whole { Ok(()) } else { Err(CliError::Told) }
}

async fn walk_all(
    store: &Store,
    sealer: &Sealer,
    seen: Vec<Head>,
    oldest: Millis,
) -> Result<Vec<Report>, StoreError> {
    let begins = begins(store, sealer).await?;
    let mut seen_of: HashMap<Uuid, Vec<Head>> = HashMap::new();
    for head in seen {
        seen_of.entry(head.chain).or_default().push(head);
    }
    let mut reports = Vec::new();
    for chain in store.audit_chains().await? {
        let begins = begins.get(&chain).map(Vec::as_slice).unwrap_or_default();
        let seen = seen_of.remove(&chain).unwrap_or_default();
        reports.push(walk(store, sealer, chain, begins, seen, oldest).await?);
    }
    // Of chains without a row only a purge may have been the end.
    for (chain, seen) in seen_of {
        let begin = begins.get(&chain).and_then(|begins| begins.iter().max()).copied().unwrap_or(0);
        let missing = seen.iter().filter(|head| head.number >= begin);
        let flaws = missing.map(|head| Flaw::NotAsSeen(head.number)).collect();
        reports.push(Report { chain, rows: 0, head: None, flaws, unverified: BTreeMap::new() });
    }
    Ok(reports)
}

/// Where each chain may begin, as genuine rows about purges tell.
async fn begins(store: &Store, sealer: &Sealer) -> Result<HashMap<Uuid, Vec<i64>>, StoreError> {
    let filter = AuditFilter { kind: Some(Kind::Purged), ..AuditFilter::default() };
    let mut begins: HashMap<Uuid, Vec<i64>> = HashMap::new();
    for row in store.audit_rows(filter, u32::MAX).await? {
        if sealer.check(&row) != Checked::Good {
            continue;
        }
        let told = row.detail.as_deref().and_then(|detail| detail.split_once(':'));
        if let Some((Ok(chain), Ok(number))) = told.map(|(chain, number)| (chain.parse(), number.parse())) {
            begins.entry(chain).or_default().push(number);
        }
    }
    Ok(begins)
}

async fn walk(
    store: &Store,
    sealer: &Sealer,
    chain: Uuid,
    begins: &[i64],
    seen: Vec<Head>,
    oldest: Millis,
) -> Result<Report, StoreError> {
    let mut page = store.audit_chain(chain, i64::MIN, PAGE).await?;
    let mut begins = begins.to_vec();
    // About to be purged itself: what came before it was old enough.
    begins.extend(page.first().filter(|first| first.at < oldest).map(|first| first.number));
    let mut walk = Walk::new(sealer, &begins, seen);
    while let Some(last) = page.last().map(|row: &Row| row.number) {
        page.iter().for_each(|row| walk.step(row));
        page = store.audit_chain(chain, last, PAGE).await?;
    }
    let (rows, unverified) = (walk.rows, std::mem::take(&mut walk.unverified));
    let (head, flaws) = walk.end();
    Ok(Report { chain, rows, head, flaws, unverified })
}

impl Report {
    fn value(&self) -> Value {
        let flaws: Vec<Value> = self
            .flaws
            .iter()
            .map(|flaw| json!({ "code": flaw.code(), "number": flaw.number(), "text": flaw.to_string() }))
            .collect();
        json!({
            "chain": self.chain.to_string(),
            "rows": self.rows,
            "head": self.head.as_ref().map(ToString::to_string),
            "unverified": self.unverified.values().sum::<u64>(),
            "flaws": flaws,
        })
    }
}

/// In how many chains, and how many rows, could not be checked for want of each key.
fn unverified(reports: &[Report]) -> BTreeMap<&KeyId, (usize, u64)> {
    let mut all: BTreeMap<&KeyId, (usize, u64)> = BTreeMap::new();
    for (key, rows) in reports.iter().flat_map(|report| &report.unverified) {
        let sum = all.entry(key).or_default();
        *sum = (sum.0 + 1, sum.1 + rows);
    }
    all
}

fn text(reports: &[Report], unverified: &BTreeMap<&KeyId, (usize, u64)>) -> String {
    let rows: u64 = reports.iter().map(|report| report.rows).sum();
    let mut text = format!("{rows} rows in {} chains", reports.len());
    let flaws: usize = reports.iter().map(|report| report.flaws.len()).sum();
    if flaws == 0 {
        text.push_str(if unverified.is_empty() { ": whole." } else { ": what could be checked is whole." });
    }
    for (key, (chains, rows)) in unverified {
        text.push_str(&format!(
            "\nNOT CHECKED, for want of the key {key}: {rows} rows in {chains} chains. Whoever can write to the database \
             can have put them in, changed them or taken some out."
        ));
    }
    for report in reports {
        for flaw in &report.flaws {
            text.push_str(&format!("\n{}: {flaw}", report.chain));
        }
    }
    text
}
