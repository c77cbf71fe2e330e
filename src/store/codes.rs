//! Browsers' codes: minted, typed, proven. The code itself is never here, only a keyed digest of it, with the hash of the
//! secret in that browser's cookie.
//!
//! A try is counted before it is compared, in the same transaction, so that no number of tries at once has more than
//! their limit allows. Nothing that a stranger's browser does counts: only the owner's MCP server passes codes on.
//!
//! Whoever changes a code holds its elicitation's row, so that a code that is typed while its browser asks for another
//! is either proven or gone, and one browser at a time is proven.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    elicitations::{ElicitationRow, columns as elicitation_columns},
    statements::statements,
    tx::{Tx, read, within},
};
use crate::{
    audit::{Actor, Entry, Kind},
    clock::Millis,
    elicitation::{BrowserCode, Elicitation, ElicitationId, ProviderId, ServerId},
    secret::Hash,
    subject::Subject,
};

/// Open elicitations of one user, provider and client that a code may be for; the newest are taken.
const OPEN_MAX: i64 = 4;

statements! {
    /// Takes the elicitation's row until the transaction ends; none when it cannot be answered any more.
    HOLD_OPEN = "UPDATE elicitations SET attempt_until_ms = attempt_until_ms \
        WHERE id = $1 AND state IN ('pending', 'authorizing') AND expires_at_ms > $2";

    /// Only while it can be answered. The same code twice for one elicitation is none: the caller takes another.
    MINT = "INSERT INTO browser_codes (cookie_hash, elicitation, browser, code_tag, minted_at_ms, expires_at_ms) \
        SELECT $1, e.id, $3, $4, $5, $6 FROM elicitations e \
        WHERE e.id = $2 AND e.state IN ('pending', 'authorizing') AND e.expires_at_ms > $5 \
        ON CONFLICT DO NOTHING";

    /// This browser's former code; nobody else's, and none that was typed meanwhile.
    FORGET = "DELETE FROM browser_codes WHERE cookie_hash = $1 AND elicitation = $2 AND proven_at_ms IS NULL";

    /// One try more; no row when there were as many as may be, by this client or by all.
    COUNT = "INSERT INTO code_tries (elicitation, client_hash, tries) \
        SELECT $1, $2, 1 WHERE (SELECT COALESCE(SUM(tries), 0) FROM code_tries WHERE elicitation = $1) < $4 \
        ON CONFLICT (elicitation, client_hash) DO UPDATE SET tries = code_tries.tries + 1 \
        WHERE code_tries.tries < $3 RETURNING tries";

    COUNTED = "SELECT CAST(COALESCE(SUM(tries), 0) AS BIGINT) FROM code_tries WHERE elicitation = $1";

    /// It was right, at this elicitation or another: not counted.
    UNCOUNT = "UPDATE code_tries SET tries = tries - 1 WHERE elicitation = $1 AND client_hash = $2";

    BY_TAG = "SELECT cookie_hash, code_tag, proven_at_ms FROM browser_codes \
        WHERE elicitation = $1 AND code_tag = $2 AND expires_at_ms > $3";

    /// That browser is the owner's from here on; with `END_OTHERS` it is the only one.
    PROVE = "UPDATE browser_codes SET proven_at_ms = $2, expires_at_ms = $3 \
        WHERE cookie_hash = $1 AND proven_at_ms IS NULL AND expires_at_ms > $2";

    /// Whoever was proven before: the owner has gone on in another browser.
    END_OTHERS = "DELETE FROM browser_codes \
        WHERE elicitation = $1 AND cookie_hash <> $2 AND proven_at_ms IS NOT NULL";

    PROVEN = "SELECT browser FROM browser_codes \
        WHERE elicitation = $1 AND proven_at_ms IS NOT NULL AND expires_at_ms > $2 LIMIT 1";

    /// Codes that another browser shows since then, and can still be typed.
    NEWER = "SELECT MAX(n.minted_at_ms) FROM browser_codes p JOIN browser_codes n ON n.elicitation = p.elicitation \
        WHERE p.elicitation = $1 AND p.proven_at_ms IS NOT NULL AND p.expires_at_ms > $2 \
        AND n.proven_at_ms IS NULL AND n.expires_at_ms > $2 AND n.minted_at_ms > p.proven_at_ms";

    OPEN_OF = concat!("SELECT ", elicitation_columns!(), " FROM elicitations \
        WHERE server = $1 AND issuer = $2 AND sub = $3 AND provider = $4 AND client_ref = $5 \
        AND state IN ('pending', 'authorizing') AND expires_at_ms > $6 ORDER BY created_at_ms DESC LIMIT $7");

    PURGE = "DELETE FROM browser_codes WHERE cookie_hash IN (\
        SELECT cookie_hash FROM browser_codes WHERE expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT $2)";
}

#[derive(FromRow)]
struct TagRow {
    cookie_hash: Vec<u8>,
    code_tag: Vec<u8>,
    proven_at_ms: Option<i64>,
}

/// A code that was passed on, and for what.
#[derive(Clone, Copy, Debug)]
pub struct Typed<'a> {
    /// The elicitations that it may be for.
    pub elicitations: &'a [Elicitation],
    /// For each, the digests of the code under every key of the ring.
    pub tags: &'a [Vec<Hash>],
    /// The hash of the reference of the MCP client that passed it on.
    pub client: Hash,
    /// Wrong codes that one client may pass on for one elicitation.
    pub tries_max: i64,
    /// Wrong codes that all clients together may pass on for one elicitation.
    pub total_max: i64,
    /// How long after its elicitation's end a proven browser still sees the outcome, in milliseconds.
    pub after_ms: i64,
}

/// What came of minting a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mint {
    /// The browser shows it now, and no former one.
    Done,
    /// Nothing has changed: the former code was typed meanwhile, or replaced by another post of the same browser.
    Kept,
    /// Nothing has changed: another browser shows the same code, or the elicitation cannot be answered any more.
    Refused,
}

/// What came of a code that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The browser that showed it is the owner's, for this elicitation.
    Matched(ElicitationId),
    /// Nobody shows this code. For each elicitation that can be answered, how many more the client may pass on.
    Wrong(Vec<(ElicitationId, i64)>),
}

impl Store {
    /// Keeps a browser's new code in place of its former one, which can still be typed until then.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn mint_code(
        &self,
        code: &BrowserCode,
        tag: &Hash,
        former: Option<&Hash>,
        now: Millis,
    ) -> Result<Mint, StoreError> {
        let mut tx = self.begin_tx().await?;
        if !tx.hold_open(code.elicitation, now).await? {
            return Ok(Mint::Refused);
        }
        let minted = within!(&mut tx, MINT, |sql, connection| {
            sqlx::query(sql)
                .bind(code.cookie.as_bytes())
                .bind(code.elicitation.0)
                .bind(code.browser)
                .bind(tag.as_bytes())
                .bind(now.0)
                .bind(code.expires_at.0)
                .execute(connection)
                .await?
                .rows_affected()
        });
        if minted == 0 {
            return Ok(Mint::Refused);
        }
        if let Some(former) = former {
            let forgotten = within!(&mut tx, FORGET, |sql, connection| {
                let query = sqlx::query(sql).bind(former.as_bytes()).bind(code.elicitation.0);
                query.execute(connection).await?.rows_affected()
            });
            // With a new cookie the browser would have lost what proves it; dropped, the transaction is rolled back.
            if forgotten == 0 {
                return Ok(Mint::Kept);
            }
        }
        tx.commit().await?;
        Ok(Mint::Done)
    }

    /// Counts a try and compares: the browser that shows this code is the owner's from here on, and no other is. The same
    /// code again is right again and counts nothing.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing has changed.
    pub async fn prove(&self, typed: Typed<'_>, now: Millis) -> Result<Proof, StoreError> {
        let mut order: Vec<usize> = (0..typed.elicitations.len()).collect();
        // In the order of their ids, so that two transactions do not wait for each other.
        order.sort_unstable_by_key(|index| typed.elicitations[*index].id.0);
        let mut tx = self.begin_tx().await?;
        let mut may = Vec::with_capacity(order.len());
        let mut left = Vec::with_capacity(order.len());
        for index in order {
            let id = typed.elicitations[index].id;
            if !tx.hold_open(id, now).await? {
                continue;
            }
            let (counted, tries_left) = tx.count_try(id, &typed).await?;
            left.push((id, tries_left));
            if counted {
                may.push(index);
            }
        }
        let mut shown = None;
        for index in &may {
            let asked = &typed.elicitations[*index];
            for tag in typed.tags.get(*index).map(Vec::as_slice).unwrap_or_default() {
                if let Some(row) = tx.shown(asked.id, tag, now).await? {
                    shown = Some((asked, row));
                }
            }
        }
        let proven = match shown {
            Some((asked, row)) if tx.make_proven(asked, &row, typed.after_ms, now).await? => asked.id,
            _ => {
                tx.commit().await?;
                return Ok(Proof::Wrong(left));
            }
        };
        for index in may {
            within!(&mut tx, UNCOUNT, |sql, connection| {
                let query = sqlx::query(sql).bind(typed.elicitations[index].id.0);
                query.bind(typed.client.as_bytes()).execute(connection).await?;
            });
        }
        tx.commit().await?;
        Ok(Proof::Matched(proven))
    }

    /// Whether some browser is proven to be the owner's.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn has_proven_browser(&self, id: ElicitationId, now: Millis) -> Result<bool, StoreError> {
        let browser: Option<Uuid> = read!(self, PROVEN, |sql, pool| {
            sqlx::query_scalar(sql).bind(id.0).bind(now.0).fetch_optional(pool).await?
        });
        Ok(browser.is_some())
    }

    /// When the newest code was minted that a browser shows since another one was proven; none while nobody is proven.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn code_since_proof(
        &self,
        id: ElicitationId,
        now: Millis,
    ) -> Result<Option<Millis>, StoreError> {
        let minted: Option<i64> = read!(self, NEWER, |sql, pool| {
            sqlx::query_scalar(sql).bind(id.0).bind(now.0).fetch_one(pool).await?
        });
        Ok(minted.map(Millis))
    }

    /// The open elicitations of a user, a provider and a client, the newest first.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn open_of(
        &self,
        server: &ServerId,
        owner: &Subject,
        provider: &ProviderId,
        client_ref: &str,
        now: Millis,
    ) -> Result<Vec<Elicitation>, StoreError> {
        let rows: Vec<ElicitationRow> = read!(self, OPEN_OF, |sql, pool| {
            sqlx::query_as(sql)
                .bind(server.as_str())
                .bind(&owner.issuer)
                .bind(&owner.sub)
                .bind(provider.as_str())
                .bind(client_ref)
                .bind(now.0)
                .bind(OPEN_MAX)
                .fetch_all(pool)
                .await?
        });
        rows.into_iter().map(Elicitation::try_from).collect()
    }

    /// Deletes up to `limit` codes that prove nothing any more. Gives how many.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_codes(&self, now: Millis, limit: u32) -> Result<u64, StoreError> {
        self.purge_older(&PURGE, now, limit).await
    }
}

impl Tx {
    /// Keeps everybody else from this elicitation's codes until the end. False when it cannot be answered any more.
    async fn hold_open(&mut self, id: ElicitationId, now: Millis) -> Result<bool, StoreError> {
        let held = within!(self, HOLD_OPEN, |sql, connection| {
            sqlx::query(sql).bind(id.0).bind(now.0).execute(connection).await?.rows_affected()
        });
        Ok(held > 0)
    }

    /// Counts a try, unless there were as many as may be. Gives whether it did, and how many are left.
    async fn count_try(&mut self, id: ElicitationId, typed: &Typed<'_>) -> Result<(bool, i64), StoreError> {
        let tries: Option<i64> = within!(self, COUNT, |sql, connection| {
            let query = sqlx::query_scalar(sql).bind(id.0).bind(typed.client.as_bytes());
            query.bind(typed.tries_max).bind(typed.total_max).fetch_optional(connection).await?
        });
        let total: i64 = within!(self, COUNTED, |sql, connection| {
            sqlx::query_scalar(sql).bind(id.0).fetch_one(connection).await?
        });
        let own = tries.map_or(0, |tries| typed.tries_max - tries);
        Ok((tries.is_some(), own.min(typed.total_max - total)))
    }

    /// The row of the browser that shows this code.
    async fn shown(
        &mut self,
        id: ElicitationId,
        tag: &Hash,
        now: Millis,
    ) -> Result<Option<TagRow>, StoreError> {
        let row: Option<TagRow> = within!(self, BY_TAG, |sql, connection| {
            let query = sqlx::query_as(sql).bind(id.0).bind(tag.as_bytes()).bind(now.0);
            query.fetch_optional(connection).await?
        });
        // The digest is keyed, so that how long its look-up takes tells nothing; it is compared again all the same.
        let matches =
            |row: &TagRow| row.code_tag.as_slice().try_into().map(Hash).is_ok_and(|it| it.matches(tag));
        Ok(row.filter(matches))
    }

    /// Makes this browser the owner's, in place of any other. False when its code went while it was looked at.
    async fn make_proven(
        &mut self,
        asked: &Elicitation,
        row: &TagRow,
        after_ms: i64,
        now: Millis,
    ) -> Result<bool, StoreError> {
        if row.proven_at_ms.is_some() {
            return Ok(true);
        }
        let until = asked.expires_at.0.saturating_add(after_ms);
        let proven = within!(self, PROVE, |sql, connection| {
            let query = sqlx::query(sql).bind(&row.cookie_hash).bind(now.0).bind(until);
            query.execute(connection).await?.rows_affected()
        });
        if proven == 0 {
            return Ok(false);
        }
        within!(self, END_OTHERS, |sql, connection| {
            sqlx::query(sql).bind(asked.id.0).bind(&row.cookie_hash).execute(connection).await?;
        });
        self.audit(Entry::new(Kind::CodeMatched, Actor::Server, asked, now));
        Ok(true)
    }
}
