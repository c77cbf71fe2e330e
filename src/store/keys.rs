//! Which keys have sealed what is stored, and which processes seal with which.
//!
//! The row of `turns` is the lock between a process that begins to seal with a key and an operator who retires it, and
//! between two that begin at the same moment. What it must never do: take a key for unused without having counted.

use uuid::Uuid;

use super::{
    Store, StoreError,
    statements::{Engine, statements},
    tx::{Tx, read, within, write},
};
use crate::{
    audit::{About, Actor, Code, Entry, Kind},
    clock::Millis,
    vault::KeyId,
};

/// How often what is stored is counted for one retirement.
const COUNTS: usize = 3;

statements! {
    KEYS = "SELECT id, first_used_at_ms, retired_at_ms FROM sealing_keys ORDER BY first_used_at_ms, id";

    /// Whoever begins to seal, or retires a key, is alone until it commits, also before there is any key.
    TAKE_TURN = "INSERT INTO turns (name, times) VALUES ('sealing_keys', 1) \
        ON CONFLICT (name) DO UPDATE SET times = turns.times + 1 RETURNING times";

    TURN = "SELECT times FROM turns WHERE name = 'sealing_keys'";

    /// What a version of this program waits for that takes no turns.
    HOLD_KEYS = "UPDATE sealing_keys SET first_used_at_ms = first_used_at_ms WHERE id IS NOT NULL";

    NOTE_KEY = "INSERT INTO sealing_keys (id, first_used_at_ms) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";

    /// A key that seals is not retired, whatever was said before.
    REVIVE_KEY = "UPDATE sealing_keys SET retired_at_ms = NULL WHERE id = $1 AND retired_at_ms IS NOT NULL";

    RETIRE_KEY = "UPDATE sealing_keys SET retired_at_ms = $2 WHERE id = $1 AND retired_at_ms IS NULL";

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

    /// What [`Store::enter`] would say, and changes nothing. `serves` is whether it is asked for a process that serves.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn may_enter(
        &self,
        ring: &[KeyId],
        serves: bool,
        live_since: Millis,
    ) -> Result<Entered, StoreError> {
        let known: Vec<KeyRow> = read!(self, KEYS, |sql, pool| sqlx::query_as(sql).fetch_all(pool).await?);
        let live: Vec<ReplicaRow> =
            read!(self, LIVE, |sql, pool| sqlx::query_as(sql).bind(live_since.0).fetch_all(pool).await?);
        Ok(judge(ring, self.counts(serves, &live), &known))
    }

    /// Those of the processes seen last that would have to open what another one seals. A server on SQLite is the only
    /// one, and who was there before it has died; a command works beside it.
    fn counts<'a>(&self, serves: bool, live: &'a [ReplicaRow]) -> &'a [ReplicaRow] {
        if serves && self.engine() == Engine::Sqlite { &[] } else { live }
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
        let mut tx = self.begin_tx().await?;
        tx.take_turn().await?;
        let known: Vec<KeyRow> =
            within!(&mut tx, KEYS, |sql, connection| sqlx::query_as(sql).fetch_all(connection).await?);
        let live: Vec<ReplicaRow> = within!(&mut tx, LIVE, |sql, connection| {
            sqlx::query_as(sql).bind(live_since.0).fetch_all(connection).await?
        });
        let entered = judge(ring, self.counts(replica.is_some(), &live), &known);
        let (Entered::Yes, Some(first)) = (&entered, ring.first()) else { return Ok(entered) };
        if !known.iter().any(|key| key.0 == first.as_str()) {
            within!(&mut tx, NOTE_KEY, |sql, connection| {
                sqlx::query(sql).bind(first.as_str()).bind(now.0).execute(connection).await?;
            });
            let mut entry = Entry::new(Kind::KeyChanged, Actor::Operator, About::default(), now);
            entry.detail = Some(Code::of_key(first));
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
                let query = sqlx::query(sql).bind(replica).bind(first.as_str());
                query.bind(keys).bind(now.0).execute(connection).await?;
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

    /// Retires a key that nothing was sealed with and no process seals with any more. What is stored is counted before
    /// the turn is taken, so that nobody waits for the count, and again when somebody began to seal meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable, or processes begin to seal again and again.
    pub async fn retire(&self, key: &KeyId, live_since: Millis, now: Millis) -> Result<Retired, StoreError> {
        for _ in 0..COUNTS {
            let turn: Option<i64> =
                read!(self, TURN, |sql, pool| sqlx::query_scalar(sql).fetch_optional(pool).await?);
            match self.sealing_keys().await?.iter().find(|known| known.id == key.as_str()) {
                None => return Ok(Retired::Unknown),
                Some(known) if known.retired_at.is_some() => return Ok(Retired::Yes),
                Some(_) => {}
            }
            let sealing =
                self.replicas(live_since).await?.iter().filter(|one| one.key == key.as_str()).count();
            if sealing > 0 {
                return Ok(Retired::Replicas(sealing));
            }
            let counts = self.count_values().await?;
            let rows = counts.iter().filter(|one| one.key.as_ref() == Some(key)).map(|one| one.rows).sum();
            if rows > 0 {
                return Ok(Retired::Rows(rows));
            }
            let mut tx = self.begin_tx().await?;
            if tx.take_turn().await? == turn.unwrap_or(0) + 1 {
                within!(&mut tx, RETIRE_KEY, |sql, connection| {
                    sqlx::query(sql).bind(key.as_str()).bind(now.0).execute(connection).await?;
                });
                let mut entry = Entry::new(Kind::KeyRetired, Actor::Operator, About::default(), now);
                entry.detail = Some(Code::of_key(key));
                tx.audit(entry);
                tx.commit().await?;
                return Ok(Retired::Yes);
            }
        }
        Err(StoreError::Unavailable("processes begin to seal again and again"))
    }
}

impl Tx {
    /// Waits for the turn, and gives its number, which counts those that were committed.
    async fn take_turn(&mut self) -> Result<i64, StoreError> {
        let turn = within!(self, TAKE_TURN, |sql, connection| {
            sqlx::query_scalar(sql).fetch_one(connection).await?
        });
        within!(self, HOLD_KEYS, |sql, connection| {
            sqlx::query(sql).execute(connection).await?;
        });
        Ok(turn)
    }
}

/// Whether a process with this ring may seal, beside these others and with what is stored.
fn judge(ring: &[KeyId], others: &[ReplicaRow], known: &[KeyRow]) -> Entered {
    let Some(first) = ring.first().map(KeyId::as_str) else { return Entered::Retired };
    let has = |id: &str| ring.iter().any(|key| key.as_str() == id);
    if let Some(missing) = known.iter().find(|key| key.2.is_none() && !has(&key.0)) {
        return Entered::Missing(missing.0.clone());
    }
    if known.iter().any(|key| key.0 == first && key.2.is_some()) {
        return Entered::Retired;
    }
    let opens = |one: &ReplicaRow| one.2.split(' ').any(|key| key == first);
    if others.iter().all(opens) { Entered::Yes } else { Entered::NotEverywhere }
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
