//! Sealing everything anew under the first key of the ring, while servers serve.
//!
//! Table by table, page by page in the order of ids. How far it came is stored after each page, so that it goes on
//! there after whatever ended it; a value that was sealed anew twice is no harm. What cannot be opened is counted,
//! named in the log by its row, and left as it is (R102).

use std::time::Duration;

use futures_util::{StreamExt, stream};

use crate::{
    audit::{About, Actor, Code, Entry, Kind},
    clock::Clock,
    store::{KeyCount, Resealing, SEALED_TABLES, SealedRow, Store, StoreError},
    vault::{Cell, Place, Sealed, Vault},
};

/// Rows that are sealed anew before the progress is stored.
const PAGE: u32 = 100;
/// Rows that are written at the same time.
const AT_ONCE: usize = 4;
/// Passes over everything, for what others have sealed under an older key meanwhile.
const PASSES: usize = 3;

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The table.
    pub table: &'static str,
    /// Values of it sealed anew under this key, earlier runs included.
    pub resealed: i64,
    /// Values of it that did not open, in this run.
    pub unreadable: i64,
    /// Whether the table is through.
    pub finished: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Values sealed anew by this run.
    pub resealed: i64,
    /// Values that somebody else changed at the same moment; they are sealed as that one sealed them.
    pub overtaken: i64,
    /// What is not sealed under the first key afterwards: what does not open, and what others seal with an older key.
    pub left: Vec<KeyCount>,
}

/// What came of one row.
#[derive(Clone, Copy, Default)]
struct Tally {
    resealed: i64,
    overtaken: i64,
    unreadable: i64,
}

/// Seals everything anew that is not sealed under the vault's first key, at most `pace` rows a second. `report` is told
/// after each page. Dropping the future stops it between two values.
///
/// # Errors
/// The store's; what was sealed anew before stays so.
pub async fn rotate(
    store: &Store,
    vault: &Vault,
    clock: &Clock,
    pace: Option<u32>,
    report: &mut (dyn FnMut(Progress) + Send),
) -> Result<Rotation, StoreError> {
    let mut rotation = Rotation::default();
    for _ in 0..PASSES {
        let mut unreadable = 0;
        for table in SEALED_TABLES {
            unreadable += pass(store, vault, clock, pace, table, &mut rotation, report).await?;
        }
        rotation.left = left(store, vault).await?;
        if rotation.left.iter().map(|count| count.rows).sum::<i64>() <= unreadable {
            break;
        }
    }
    if rotation.left.is_empty() && rotation.resealed > 0 {
        let now = clock.now();
        let mut entry = Entry::new(Kind::Resealed, Actor::Operator, About::default(), now);
        entry.detail = Some(Code::of_key(vault.current_key()));
        entry.times = rotation.resealed;
        store.audit(vec![entry]).await?;
    }
    Ok(rotation)
}

/// What is sealed under another key than the vault's first.
///
/// # Errors
/// The store's.
pub async fn left(store: &Store, vault: &Vault) -> Result<Vec<KeyCount>, StoreError> {
    let counts = store.count_values().await?.into_iter();
    Ok(counts.filter(|one| one.key.as_ref() != Some(vault.current_key())).collect())
}

/// One table, from where an unfinished run stopped or from its beginning. Gives the number of values that did not open.
async fn pass(
    store: &Store,
    vault: &Vault,
    clock: &Clock,
    pace: Option<u32>,
    table: &'static str,
    rotation: &mut Rotation,
    report: &mut (dyn FnMut(Progress) + Send),
) -> Result<i64, StoreError> {
    let key = vault.current_key();
    let started_at = clock.now();
    let unfinished = store
        .resealings()
        .await?
        .into_iter()
        .find(|one| one.key == key.as_str() && one.table == table && one.finished_at.is_none());
    let mut state = unfinished.unwrap_or(Resealing {
        key: key.to_string(),
        table: table.to_owned(),
        after: None,
        resealed: 0,
        started_at,
        updated_at: started_at,
        finished_at: None,
    });
    let mut unreadable = 0;
    loop {
        let begun = clock.now();
        let page = store.to_reseal(table, key, state.after, PAGE).await?;
        let rows = page.rows.len();
        state.after = page.through.or(state.after);
        let writing = stream::iter(page.rows.iter().map(|row| reseal(store, vault, row)));
        let mut writing = writing.buffer_unordered(AT_ONCE);
        while let Some(tally) = writing.next().await {
            let tally = tally?;
            rotation.resealed += tally.resealed;
            rotation.overtaken += tally.overtaken;
            state.resealed += tally.resealed;
            unreadable += tally.unreadable;
        }
        state.updated_at = clock.now();
        let finished = page.through.is_none();
        state.finished_at = finished.then_some(state.updated_at);
        store.note_resealing(&state).await?;
        report(Progress { table, resealed: state.resealed, unreadable, finished });
        if finished {
            return Ok(unreadable);
        }
        if let Some(pace) = pace {
            let rows = u32::try_from(rows).unwrap_or(u32::MAX);
            clock.sleep_until(begun.plus(Duration::from_secs(1) * rows / pace.max(1))).await;
        }
    }
}

async fn reseal(store: &Store, vault: &Vault, row: &SealedRow) -> Result<Tally, StoreError> {
    let mut tally = Tally::default();
    for (cell, old) in &row.values {
        if old.key_id().as_ref() == Some(vault.current_key()) {
            continue;
        }
        match anew(vault, row, *cell, old) {
            Some(new) if store.reseal(*cell, row, old, &new).await? => tally.resealed += 1,
            Some(_) => tally.overtaken += 1,
            None => {
                tracing::error!(cell = cell.name(), row = %row.id, "a sealed value does not open; it stays as it is");
                tally.unreadable += 1;
            }
        }
    }
    Ok(tally)
}

fn anew(vault: &Vault, row: &SealedRow, cell: Cell, old: &Sealed) -> Option<Sealed> {
    let place = Place {
        table: cell.table(),
        column: cell.column(),
        row: row.id,
        server: &row.server,
        issuer: &row.issuer,
        sub: &row.sub,
        provider: &row.provider,
        generation: row.generation,
    };
    let plain = vault.open(&place, old).ok()?;
    Some(vault.seal(&place, plain.expose()))
}
