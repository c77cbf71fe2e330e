//! Which keys have sealed what is stored, and which processes seal with which.
//!
//! The rows of `sealing_keys` are the lock between a process that begins to seal with a key and an operator who
//! retires it. What it must never do: take a key for unused without having counted.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{
    Store, StoreError,
    statements::{Engine, statements},
    tx::{read, within, write},
};
use crate::{
    audit::{About, Actor, Code, Entry, Kind},
    clock::Millis,
    vault::{Cell, KeyId, Sealed},
};

/// Every sealed value with the name of its cell, and what is tagged under a key of the ring.
macro_rules! sealed {
    () => {
        "WITH sealed (cell, value) AS ( \
            SELECT 'connections.access', access FROM connections \
            UNION ALL SELECT 'connections.refresh', refresh FROM connections WHERE refresh IS NOT NULL \
            UNION ALL SELECT 'attempts.verifier', verifier FROM attempts WHERE verifier IS NOT NULL \
            UNION ALL SELECT 'attempts.parked', parked FROM attempts WHERE parked IS NOT NULL \
            UNION ALL SELECT 'attempts.offer', offer FROM attempts WHERE offer IS NOT NULL \
            UNION ALL SELECT 'revocations.token', token FROM revocations WHERE token IS NOT NULL \
            UNION ALL SELECT 'audit.tag', tag FROM audit) "
    };
}

statements! {
    KEYS = "SELECT id, first_used_at_ms, retired_at_ms FROM sealing_keys ORDER BY first_used_at_ms, id";

    /// Takes the rows of all keys, retired ones too: whoever begins to seal, or retires a key, is alone.
    HOLD_KEYS = "UPDATE sealing_keys SET first_used_at_ms = first_used_at_ms WHERE id IS NOT NULL";

    NOTE_KEY = "INSERT INTO sealing_keys (id, first_used_at_ms) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";

    /// A key that seals is not retired, whatever was said before.
    REVIVE_KEY = "UPDATE sealing_keys SET retired_at_ms = NULL WHERE id = $1 AND retired_at_ms IS NOT NULL";

    RETIRE_KEY = "UPDATE sealing_keys SET retired_at_ms = $2 WHERE id = $1 AND retired_at_ms IS NULL";

    IN_USE = concat!(sealed!(), "SELECT CAST(COUNT(*) AS BIGINT) FROM sealed WHERE cell <> 'audit.tag' \
        AND substr(value, 1, CAST($1 AS INTEGER)) = $2");

    /// By what values begin with: the form's version, and the length of their key's id.
    FORMS = concat!(sealed!(), "SELECT cell, substr(value, 1, 2), CAST(COUNT(*) AS BIGINT) FROM sealed \
        GROUP BY 1, 2 ORDER BY 1, 2");

    /// Of those that begin so, by their keys' ids.
    COUNTS = concat!(sealed!(), "SELECT cell, substr(value, 3, CAST($1 AS INTEGER)), CAST(COUNT(*) AS BIGINT) \
        FROM sealed WHERE substr(value, 1, 2) = $2 GROUP BY 1, 2 ORDER BY 1, 2");

    ENTER = "INSERT INTO replicas (id, key_id, keys, started_at_ms, seen_at_ms) VALUES ($1, $2, $3, $4, $4) \
        ON CONFLICT (id) DO UPDATE SET seen_at_ms = excluded.seen_at_ms";

    LEAVE = "DELETE FROM replicas WHERE id = $1";

    GONE = "DELETE FROM replicas WHERE seen_at_ms < $1";

    LIVE = "SELECT id, key_id, keys, started_at_ms, seen_at_ms FROM replicas WHERE seen_at_ms >= $1 \
        ORDER BY started_at_ms, id";
}

/// A key that has sealed something here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealingKey {
    /// Its id.
    pub id: String,
    /// Since when.
    pub first_used_at: Millis,
    /// When it was retired.
    pub retired_at: Option<Millis>,
}

/// A process that serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its id, made at its start.
    pub id: Uuid,
    /// The key that it seals with.
    pub key: String,
    /// The keys that it opens with.
    pub keys: Vec<String>,
    /// When it started.
    pub started_at: Millis,
    /// When it last told that it is there.
    pub seen_at: Millis,
}

/// How many values of one cell one key has sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCount {
    /// The cell's name, or `audit.tag`.
    pub cell: String,
    /// The key; none for values that are not of the form of a sealed one.
    pub key: Option<KeyId>,
    /// So many.
    pub rows: i64,
}

impl KeyCount {
    /// Whether these are sealed values, and not tags of the audit record.
    pub fn is_sealed(&self) -> bool {
        Cell::ALL.iter().any(|cell| cell.name() == self.cell)
    }
}

/// Whether a process may seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entered {
    /// Yes.
    Yes,
    /// A key that has sealed something here is not in its ring.
    Missing(String),
    /// The key that it would seal with was retired.
    Retired,
    /// Another process cannot open what it would seal.
    NotEverywhere,
}

/// Whether a key was retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retired {
    /// Now or before.
    Yes,
    /// Nothing here was ever sealed with it.
    Unknown,
    /// Values that it sealed are there.
    Rows(i64),
    /// Processes that seal with it are there.
    Replicas(usize),
}

type KeyRow = (String, i64, Option<i64>);
type ReplicaRow = (Uuid, String, String, i64, i64);

impl Store {
    /// The keys that have sealed something here, the oldest first.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn sealing_keys(&self) -> Result<Vec<SealingKey>, StoreError> {
        let rows: Vec<KeyRow> = read!(self, KEYS, |sql, pool| sqlx::query_as(sql).fetch_all(pool).await?);
        Ok(rows.into_iter().map(SealingKey::from).collect())
    }

    /// Notes keys that have sealed something, for a database that was filled before keys were noted.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn note_keys(&self, keys: &[KeyId], now: Millis) -> Result<(), StoreError> {
        for key in keys {
            write!(self, NOTE_KEY, |sql, pool| {
                sqlx::query(sql).bind(key.as_str()).bind(now.0).execute(pool).await?.rows_affected()
            });
        }
        Ok(())
    }

    /// Begins to seal with the first key of `ring`, as `replica` when it is a process that serves: others seen since
    /// `live_since` are asked whether they could open it.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn enter(
        &self,
        ring: &[KeyId],
        replica: Option<Uuid>,
        live_since: Millis,
        now: Millis,
    ) -> Result<Entered, StoreError> {
        let Some(first) = ring.first().map(KeyId::as_str) else { return Ok(Entered::Retired) };
        let has = |id: &str| ring.iter().any(|key| key.as_str() == id);
        let mut tx = self.begin_tx().await?;
        within!(&mut tx, HOLD_KEYS, |sql, connection| {
            sqlx::query(sql).execute(connection).await?;
        });
        let known: Vec<KeyRow> =
            within!(&mut tx, KEYS, |sql, connection| sqlx::query_as(sql).fetch_all(connection).await?);
        let missing = known.iter().find(|key| key.2.is_none() && !has(&key.0));
        if let Some(missing) = missing {
            return Ok(Entered::Missing(missing.0.clone()));
        }
        let mine = known.iter().find(|key| key.0 == first);
        if mine.is_some_and(|key| key.2.is_some()) {
            return Ok(Entered::Retired);
        }
        let live: Vec<ReplicaRow> = within!(&mut tx, LIVE, |sql, connection| {
            sqlx::query_as(sql).bind(live_since.0).fetch_all(connection).await?
        });
        // On SQLite one process serves; who was there before has died.
        let opens = |one: &ReplicaRow| one.2.split(' ').any(|key| key == first);
        if self.engine() == Engine::Postgres && !live.iter().all(opens) {
            return Ok(Entered::NotEverywhere);
        }
        if mine.is_none() {
            within!(&mut tx, NOTE_KEY, |sql, connection| {
                sqlx::query(sql).bind(first).bind(now.0).execute(connection).await?;
            });
            let mut entry = Entry::new(Kind::KeyChanged, Actor::Operator, About::default(), now);
            entry.detail = ring.first().map(Code::of_key);
            tx.audit(entry);
        }
        if let Some(replica) = replica {
            if self.engine() == Engine::Sqlite {
                within!(&mut tx, GONE, |sql, connection| {
                    sqlx::query(sql).bind(i64::MAX).execute(connection).await?;
                });
            }
            let keys = ring.iter().map(KeyId::as_str).collect::<Vec<_>>().join(" ");
            within!(&mut tx, ENTER, |sql, connection| {
                sqlx::query(sql).bind(replica).bind(first).bind(keys).bind(now.0).execute(connection).await?;
            });
        }
        tx.commit().await?;
        Ok(Entered::Yes)
    }

    /// Tells that a process is still there, and forgets those not seen since `live_since`. True when its key was
    /// retired meanwhile, because it was taken for dead: then the key counts as in use again.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn still_here(
        &self,
        ring: &[KeyId],
        replica: Uuid,
        live_since: Millis,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let Some(first) = ring.first().map(KeyId::as_str) else { return Ok(false) };
        let keys = ring.iter().map(KeyId::as_str).collect::<Vec<_>>().join(" ");
        write!(self, ENTER, |sql, pool| {
            sqlx::query(sql)
                .bind(replica)
                .bind(first)
                .bind(keys)
                .bind(now.0)
                .execute(pool)
                .await?
                .rows_affected()
        });
        let revived = write!(self, REVIVE_KEY, |sql, pool| {
            sqlx::query(sql).bind(first).execute(pool).await?.rows_affected()
        });
        write!(self, GONE, |sql, pool| {
            sqlx::query(sql).bind(live_since.0).execute(pool).await?.rows_affected()
        });
        Ok(revived > 0)
    }

    /// A process ends.
    ///
    /// # Errors
    /// When the store is unavailable; then it is forgotten in time.
    pub async fn leave(&self, replica: Uuid) -> Result<(), StoreError> {
        write!(self, LEAVE, |sql, pool| {
            sqlx::query(sql).bind(replica).execute(pool).await?.rows_affected()
        });
        Ok(())
    }

    /// The processes that were seen since `live_since`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn replicas(&self, live_since: Millis) -> Result<Vec<Replica>, StoreError> {
        let rows: Vec<ReplicaRow> =
            read!(self, LIVE, |sql, pool| sqlx::query_as(sql).bind(live_since.0).fetch_all(pool).await?);
        Ok(rows.into_iter().map(Replica::from).collect())
    }

    /// Counts what each key has sealed, in two looks at everything that is sealed.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn count_keys(&self) -> Result<Vec<KeyCount>, StoreError> {
        type Row = (String, Vec<u8>, i64);
        let forms: Vec<Row> = read!(self, FORMS, |sql, pool| sqlx::query_as(sql).fetch_all(pool).await?);
        let mut counts: BTreeMap<(String, Option<KeyId>), i64> = BTreeMap::new();
        let mut lengths = BTreeSet::new();
        for (cell, form, rows) in forms {
            match form[..] {
                [Sealed::VERSION, length] => _ = lengths.insert(length),
                _ => *counts.entry((cell, None)).or_default() += rows,
            }
        }
        for length in lengths {
            let found: Vec<Row> = read!(self, COUNTS, |sql, pool| {
                let form = [Sealed::VERSION, length];
                sqlx::query_as(sql).bind(i32::from(length)).bind(&form[..]).fetch_all(pool).await?
            });
            for (cell, id, rows) in found {
                let key = String::from_utf8(id).ok().and_then(|id| KeyId::new(id).ok());
                *counts.entry((cell, key)).or_default() += rows;
            }
        }
        let counts = counts.into_iter().map(|((cell, key), rows)| KeyCount { cell, key, rows });
        Ok(counts.collect())
    }

    /// Retires a key that nothing was sealed with and no process seals with any more.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn retire(&self, key: &KeyId, live_since: Millis, now: Millis) -> Result<Retired, StoreError> {
        let mut tx = self.begin_tx().await?;
        within!(&mut tx, HOLD_KEYS, |sql, connection| {
            sqlx::query(sql).execute(connection).await?;
        });
        let known: Vec<KeyRow> =
            within!(&mut tx, KEYS, |sql, connection| sqlx::query_as(sql).fetch_all(connection).await?);
        match known.iter().find(|known| known.0 == key.as_str()) {
            None => return Ok(Retired::Unknown),
            Some(known) if known.2.is_some() => return Ok(Retired::Yes),
            Some(_) => {}
        }
        let live: Vec<ReplicaRow> = within!(&mut tx, LIVE, |sql, connection| {
            sqlx::query_as(sql).bind(live_since.0).fetch_all(connection).await?
        });
        let sealing = live.iter().filter(|one| one.1 == key.as_str()).count();
        if sealing > 0 {
            return Ok(Retired::Replicas(sealing));
        }
        let beginning = Sealed::beginning(key);
        let rows: i64 = within!(&mut tx, IN_USE, |sql, connection| {
            sqlx::query_scalar(sql).bind(length(&beginning)).bind(&beginning).fetch_one(connection).await?
        });
        if rows > 0 {
            return Ok(Retired::Rows(rows));
        }
        within!(&mut tx, RETIRE_KEY, |sql, connection| {
            sqlx::query(sql).bind(key.as_str()).bind(now.0).execute(connection).await?;
        });
        let mut entry = Entry::new(Kind::KeyRetired, Actor::Operator, About::default(), now);
        entry.detail = Some(Code::of_key(key));
        tx.audit(entry);
        tx.commit().await?;
        Ok(Retired::Yes)
    }
}

pub(super) fn length(beginning: &[u8]) -> i32 {
    i32::try_from(beginning.len()).unwrap_or(i32::MAX)
}

impl From<KeyRow> for SealingKey {
    fn from((id, first, retired): KeyRow) -> Self {
        Self { id, first_used_at: Millis(first), retired_at: retired.map(Millis) }
    }
}

impl From<ReplicaRow> for Replica {
    fn from((id, key, keys, started, seen): ReplicaRow) -> Self {
        let keys = keys.split(' ').map(str::to_owned).collect();
        Self { id, key, keys, started_at: Millis(started), seen_at: Millis(seen) }
    }
}
