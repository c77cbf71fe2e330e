//! The audit record: rows appended within the transactions that they tell of, read back, and deleted when too old.
//!
//! A process writes a few chains. The end of each is in memory behind a lock that is the last thing a transaction
//! takes, and that it holds until its outcome is known; in the database nobody waits for it. When an outcome stayed
//! unknown, the next row of that chain meets the lost one by its number, and the end is read anew.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sqlx::FromRow;
use tokio::sync::{Mutex, OwnedMutexGuard};
use uuid::Uuid;

use super::{
    Store, StoreError,
    statements::{Engine, statements},
    tx::{Tx, read, within},
};
use crate::{
    audit::{About, Actor, Entry, Head, Kind, Row, Sealer},
    clock::Millis,
    elicitation::ServerId,
};

/// Chains of a process on Postgres; on SQLite there is one transaction at a time.
const CHAINS: usize = 8;
/// How long a transaction waits for a chain while every one is taken: longer than a commit ever takes.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the end of a chain is read anew for one row.
const TRIES: usize = 3;

macro_rules! columns {
    () => {
        "chain, number, at_ms, kind, actor, server, provider, connection, elicitation, subject, result, detail, times, \
         previous, tag"
    };
}

statements! {
    /// Nothing when the number is taken: by a commit of this process whose outcome was lost.
    APPEND = concat!("INSERT INTO audit (", columns!(), ") \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
        ON CONFLICT (chain, number) DO NOTHING");

    END = "SELECT number, tag FROM audit WHERE chain = $1 ORDER BY number DESC LIMIT 1";

    /// The newest first.
    LIST = concat!("SELECT ", columns!(), " FROM audit WHERE at_ms >= $1 AND at_ms < $2 \
        AND ($3 IS NULL OR kind = $3) AND ($4 IS NULL OR server = $4) AND ($5 IS NULL OR connection = $5) \
        AND ($6 IS NULL OR subject = $6) ORDER BY at_ms DESC, chain, number DESC LIMIT $7");

    /// The ends of the next chains: from each to the next by one look into the index, and not along its rows.
    ENDS = "WITH RECURSIVE walk (chain) AS (\
        SELECT (SELECT a.chain FROM audit a WHERE a.chain > $1 ORDER BY a.chain LIMIT 1) UNION ALL \
        SELECT (SELECT a.chain FROM audit a WHERE a.chain > walk.chain ORDER BY a.chain LIMIT 1) FROM walk \
            WHERE walk.chain IS NOT NULL) \
        SELECT chain, (SELECT a.number FROM audit a WHERE a.chain = walk.chain ORDER BY a.number LIMIT 1), \
        (SELECT a.number FROM audit a WHERE a.chain = walk.chain ORDER BY a.number DESC LIMIT 1), \
        (SELECT a.tag FROM audit a WHERE a.chain = walk.chain ORDER BY a.number DESC LIMIT 1) \
        FROM walk WHERE chain IS NOT NULL LIMIT $2";

    CHAIN = concat!("SELECT ", columns!(), " FROM audit WHERE chain = $1 AND number > $2 ORDER BY number LIMIT $3");

    WITH_OLD_ROWS = "SELECT DISTINCT chain FROM (SELECT chain FROM audit WHERE at_ms < $1 ORDER BY at_ms LIMIT $2) old";

    /// A chain is cut at its beginning alone: before its first row that is young enough.
    BEGINNING = "SELECT number, at_ms FROM audit WHERE chain = $1 ORDER BY number LIMIT $2";

    CUT = "DELETE FROM audit WHERE chain = $1 AND number < $2";
}

/// Chains whose ends are looked up by one statement.
const CHAINS_AT_ONCE: u32 = 500;

/// Where a chain begins and ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainEnds {
    /// Which.
    pub chain: Uuid,
    /// The number of the first row that is there.
    pub first: i64,
    /// The number of the last.
    pub last: i64,
    /// The last's tag.
    pub tag: Vec<u8>,
}

impl ChainEnds {
    /// How many rows it has, as they are numbered.
    pub fn rows(&self) -> i64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

/// The chains of this process.
pub(super) struct Journal {
    sealer: Sealer,
    ends: Vec<Arc<Mutex<Head>>>,
    next: AtomicUsize,
}

impl Journal {
    /// The end of a chain, for one transaction alone: of one that is free, else of the first that becomes so in its
    /// turn.
    async fn place(&self) -> Result<OwnedMutexGuard<Head>, StoreError> {
        let first = self.next.fetch_add(1, Ordering::Relaxed) % self.ends.len();
        let (before, from) = self.ends.split_at(first);
        if let Some(free) = from.iter().chain(before).find_map(|end| end.clone().try_lock_owned().ok()) {
            return Ok(free);
        }
        let waiting = from[0].clone().lock_owned();
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .map_err(|_| StoreError::Unavailable("the audit record does not come after"))
    }
}

/// What a transaction tells the record.
pub(super) struct Told {
    journal: Option<Arc<Journal>>,
    entries: Vec<Entry>,
}

impl Told {
    pub(super) fn new(journal: Option<Arc<Journal>>) -> Self {
        Self { journal, entries: Vec::new() }
    }

    /// Where its rows go; nowhere when it tells nothing.
    pub(super) async fn place(&self) -> Result<Option<OwnedMutexGuard<Head>>, StoreError> {
        match &self.journal {
            Some(journal) if !self.entries.is_empty() => journal.place().await.map(Some),
            _ => Ok(None),
        }
    }
}

#[derive(FromRow)]
struct AuditRow {
    chain: Uuid,
    number: i64,
    at_ms: i64,
    kind: String,
    actor: String,
    server: Option<String>,
    provider: Option<String>,
    connection: Option<Uuid>,
    elicitation: Option<Uuid>,
    subject: Option<String>,
    result: String,
    detail: Option<String>,
    times: i64,
    previous: Vec<u8>,
    tag: Vec<u8>,
}

impl From<AuditRow> for Row {
    fn from(row: AuditRow) -> Self {
        Self {
            chain: row.chain,
            number: row.number,
            at: Millis(row.at_ms),
            kind: row.kind,
            actor: row.actor,
            server: row.server,
            provider: row.provider,
            connection: row.connection,
            elicitation: row.elicitation,
            subject: row.subject,
            result: row.result,
            detail: row.detail,
            times: row.times,
            previous: row.previous,
            tag: row.tag,
        }
    }
}

/// Which rows of the record to list; `None` is any.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuditFilter<'a> {
    /// Not before.
    pub since: Option<Millis>,
    /// Before.
    pub until: Option<Millis>,
    /// Of this kind.
    pub kind: Option<Kind>,
    /// Of this MCP server.
    pub server: Option<&'a ServerId>,
    /// Of this connection.
    pub connection: Option<Uuid>,
    /// Of this subject, as rows have it.
    pub subject: Option<&'a str>,
}

impl Store {
    /// The same store, with an audit record: what its moves tell is written with them. Without one they tell nothing.
    #[must_use]
    pub fn recorded(mut self, sealer: Sealer) -> Self {
        let chains = match self.engine() {
            Engine::Sqlite => 1,
            Engine::Postgres => CHAINS,
        };
        let begin = || Head { chain: self.random.uuid(), number: 0, tag: Vec::new() };
        let ends = (0..chains).map(|_| Arc::new(Mutex::new(begin()))).collect();
        self.journal = Some(Arc::new(Journal { sealer, ends, next: AtomicUsize::new(0) }));
        self
    }

    /// Writes what happened without a change of anything else, in one transaction.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing was written.
    pub async fn audit(&self, entries: Vec<Entry>) -> Result<(), StoreError> {
        if entries.is_empty() || self.journal.is_none() {
            return Ok(());
        }
        let mut tx = self.begin_tx().await?;
        for entry in entries {
            tx.audit(entry);
        }
        tx.commit().await
    }

    /// The newest rows.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn audit_rows(&self, filter: AuditFilter<'_>, limit: u32) -> Result<Vec<Row>, StoreError> {
        let rows: Vec<AuditRow> = read!(self, LIST, |sql, pool| {
            sqlx::query_as(sql)
                .bind(filter.since.map_or(i64::MIN, |at| at.0))
                .bind(filter.until.map_or(i64::MAX, |at| at.0))
                .bind(filter.kind.map(Kind::as_str))
                .bind(filter.server.map(ServerId::as_str))
                .bind(filter.connection)
                .bind(filter.subject)
                .bind(i64::from(limit))
                .fetch_all(pool)
                .await?
        });
        Ok(rows.into_iter().map(Row::from).collect())
    }

    /// Every chain that has a row.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn audit_chains(&self) -> Result<Vec<Uuid>, StoreError> {
        let mut chains = Vec::new();
        loop {
            let after = chains.last().copied().unwrap_or(Uuid::nil());
            let page = self.audit_ends(after).await?;
            if page.is_empty() {
                return Ok(chains);
            }
            chains.extend(page.iter().map(|end| end.chain));
        }
    }

    /// The ends of a page of chains, in the order of their ids; none when there is no further one.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn audit_ends(&self, after: Uuid) -> Result<Vec<ChainEnds>, StoreError> {
        Ok(read!(self, ENDS, |sql, pool| {
            let rows: Vec<(Uuid, i64, i64, Vec<u8>)> =
                sqlx::query_as(sql).bind(after).bind(i64::from(CHAINS_AT_ONCE)).fetch_all(pool).await?;
            let ends = |(chain, first, last, tag)| ChainEnds { chain, first, last, tag };
            rows.into_iter().map(ends).collect()
        }))
    }

    /// Rows of one chain after a number, in order, at most `limit`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn audit_chain(&self, chain: Uuid, after: i64, limit: u32) -> Result<Vec<Row>, StoreError> {
        let rows: Vec<AuditRow> = read!(self, CHAIN, |sql, pool| {
            sqlx::query_as(sql).bind(chain).bind(after).bind(i64::from(limit)).fetch_all(pool).await?
        });
        Ok(rows.into_iter().map(Row::from).collect())
    }

    /// The ends of this process's chains that have a row.
    pub async fn audit_heads(&self) -> Vec<Head> {
        let mut heads = Vec::new();
        for end in self.journal.iter().flat_map(|journal| &journal.ends) {
            let head = end.lock().await.clone();
            heads.extend((head.number > 0).then_some(head));
        }
        heads
    }

    /// Deletes some rows from before `before`, each chain from its beginning, and tells in the record where it begins
    /// now: a beginning that is gone without that was taken out by somebody. Gives how many rows went; none when there
    /// are no more.
    ///
    /// # Errors
    /// When the store is unavailable; chains that were cut before stay so.
    pub async fn purge_audit(&self, before: Millis, now: Millis, limit: u32) -> Result<u64, StoreError> {
        let chains: Vec<Uuid> = read!(self, WITH_OLD_ROWS, |sql, pool| {
            sqlx::query_scalar(sql).bind(before.0).bind(i64::from(limit)).fetch_all(pool).await?
        });
        let mut gone = 0;
        for chain in chains {
            gone += self.cut(chain, before, now, limit).await?;
        }
        Ok(gone)
    }

    async fn cut(&self, chain: Uuid, before: Millis, now: Millis, limit: u32) -> Result<u64, StoreError> {
        let beginning: Vec<(i64, i64)> = read!(self, BEGINNING, |sql, pool| {
            sqlx::query_as(sql).bind(chain).bind(i64::from(limit)).fetch_all(pool).await?
        });
        let old = beginning.iter().take_while(|(_, at)| *at < before.0).last();
        let Some(first) = old.map(|(last, _)| last.saturating_add(1)) else { return Ok(0) };
        let mut tx = self.begin_tx().await?;
        let gone = within!(&mut tx, CUT, |sql, connection| {
            sqlx::query(sql).bind(chain).bind(first).execute(connection).await?.rows_affected()
        });
        if gone > 0 {
            let told = Entry::new(Kind::Purged, Actor::Program, About::default(), now);
            let times = i64::try_from(gone).unwrap_or(i64::MAX);
            tx.audit(Entry { times, ..told.because(&format!("{chain}:{first}")) });
        }
        tx.commit().await?;
        Ok(gone)
    }
}

impl Tx {
    /// Tells the audit record, when this transaction commits.
    pub(super) fn audit(&mut self, entry: Entry) {
        self.told.entries.push(entry);
    }

    /// Appends what was told behind `end`, and gives the new end.
    pub(super) async fn append_told(&mut self, end: &Head) -> Result<Head, StoreError> {
        let entries = std::mem::take(&mut self.told.entries);
        let Some(journal) = self.told.journal.clone() else { return Ok(end.clone()) };
        let mut head = end.clone();
        for entry in &entries {
            head = self.append(&journal.sealer, entry, head).await?;
        }
        Ok(head)
    }

    async fn append(&mut self, sealer: &Sealer, entry: &Entry, mut end: Head) -> Result<Head, StoreError> {
        for _ in 0..TRIES {
            let row = sealer.seal(entry, &end);
            if self.insert_row(&row).await? {
                return Ok(row.head());
            }
            let stored: Option<(i64, Vec<u8>)> = within!(self, END, |sql, connection| {
                sqlx::query_as(sql).bind(end.chain).fetch_optional(connection).await?
            });
            if let Some((number, tag)) = stored {
                end = Head { chain: end.chain, number, tag };
            }
        }
        Err(StoreError::Unavailable("the audit record's end cannot be found"))
    }

    async fn insert_row(&mut self, row: &Row) -> Result<bool, StoreError> {
        let inserted = within!(self, APPEND, |sql, connection| {
            sqlx::query(sql)
                .bind(row.chain)
                .bind(row.number)
                .bind(row.at.0)
                .bind(&row.kind)
                .bind(&row.actor)
                .bind(&row.server)
                .bind(&row.provider)
                .bind(row.connection)
                .bind(row.elicitation)
                .bind(&row.subject)
                .bind(&row.result)
                .bind(&row.detail)
                .bind(row.times)
                .bind(&row.previous)
                .bind(&row.tag)
                .execute(connection)
                .await?
                .rows_affected()
        });
        Ok(inserted == 1)
    }
}
