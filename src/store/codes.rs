//! Browsers' codes: minted, typed, proven. The code itself is never here, only a keyed digest of it, with the hash of the
//! secret in that browser's cookie.
//!
//! A try is counted before it is compared, in the same transaction, so that no number of tries at once has more than
//! their limit allows. Nothing that a stranger's browser does counts: only the owner's MCP server passes codes on.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    elicitations::{ElicitationRow, columns as elicitation_columns},
    statements::statements,
    tx::{read, within},
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
    /// Only while it can be answered. The same code twice for one elicitation is none: the caller takes another.
    MINT = "INSERT INTO browser_codes (cookie_hash, elicitation, browser, code_tag, minted_at_ms, expires_at_ms) \
        SELECT $1, e.id, $3, $4, $5, $6 FROM elicitations e \
        WHERE e.id = $2 AND e.state IN ('pending', 'authorizing') AND e.expires_at_ms > $5 \
        ON CONFLICT DO NOTHING";

    /// This browser's former code; nobody else's.
    FORGET = "DELETE FROM browser_codes WHERE cookie_hash = $1 AND elicitation = $2 AND proven_at_ms IS NULL";

    /// One try more; no row when there were as many as may be.
    COUNT = "INSERT INTO code_tries (elicitation, client_hash, tries) VALUES ($1, $2, 1) \
        ON CONFLICT (elicitation, client_hash) DO UPDATE SET tries = code_tries.tries + 1 \
        WHERE code_tries.tries < $3 RETURNING tries";

    /// It was right, at this elicitation or another: not counted.
    UNCOUNT = "UPDATE code_tries SET tries = tries - 1 WHERE elicitation = $1 AND client_hash = $2";

    BY_TAG = "SELECT cookie_hash, code_tag, proven_at_ms FROM browser_codes \
        WHERE elicitation = $1 AND code_tag = $2 AND expires_at_ms > $3";

    /// That browser is the owner's from here on, besides any that was proven before.
    PROVE = "UPDATE browser_codes SET proven_at_ms = $2, expires_at_ms = $3 \
        WHERE cookie_hash = $1 AND proven_at_ms IS NULL AND expires_at_ms > $2";

    PROVEN = "SELECT browser FROM browser_codes \
        WHERE elicitation = $1 AND proven_at_ms IS NOT NULL AND expires_at_ms > $2 LIMIT 1";

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
    /// How long after its elicitation's end a proven browser still sees the outcome, in milliseconds.
    pub after_ms: i64,
}

/// What came of a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The browser that showed it is the owner's, for this elicitation.
    Matched(ElicitationId),
    /// Nobody shows this code. For each elicitation how many more the client may pass on.
    Wrong(Vec<(ElicitationId, i64)>),
}

impl Store {
    /// Keeps a browser's new code in place of its former one. False when the elicitation cannot be answered any more, or
    /// another browser shows the same code.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn mint_code(
        &self,
        code: &BrowserCode,
        tag: &Hash,
        former: Option<&Hash>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
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
            return Ok(false);
        }
        if let Some(former) = former {
            within!(&mut tx, FORGET, |sql, connection| {
                let query = sqlx::query(sql).bind(former.as_bytes()).bind(code.elicitation.0);
                query.execute(connection).await?;
            });
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Counts a try and compares: the browser that shows this code is the owner's from here on. The same code again is
    /// right again and counts nothing.
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
            let tries: Option<i64> = within!(&mut tx, COUNT, |sql, connection| {
                let query = sqlx::query_scalar(sql).bind(id.0).bind(typed.client.as_bytes());
                query.bind(typed.tries_max).fetch_optional(connection).await?
            });
            left.push((id, typed.tries_max - tries.unwrap_or(typed.tries_max)));
            if tries.is_some() {
                may.push(index);
            }
        }
        let mut proven = None;
        for index in &may {
            let asked = &typed.elicitations[*index];
            for tag in typed.tags.get(*index).map(Vec::as_slice).unwrap_or_default() {
                let row: Option<TagRow> = within!(&mut tx, BY_TAG, |sql, connection| {
                    let query = sqlx::query_as(sql).bind(asked.id.0).bind(tag.as_bytes()).bind(now.0);
                    query.fetch_optional(connection).await?
                });
                // The digest is keyed, so that how long its look-up takes tells nothing; it is compared again all the same.
                let matches = |row: &TagRow| {
                    row.code_tag.as_slice().try_into().map(Hash).is_ok_and(|it| it.matches(tag))
                };
                if let Some(row) = row.filter(matches) {
                    proven = Some((asked, row));
                }
            }
        }
        let Some((asked, row)) = proven else {
            tx.commit().await?;
            return Ok(Proof::Wrong(left));
        };
        for index in may {
            within!(&mut tx, UNCOUNT, |sql, connection| {
                let query = sqlx::query(sql).bind(typed.elicitations[index].id.0);
                query.bind(typed.client.as_bytes()).execute(connection).await?;
            });
        }
        if row.proven_at_ms.is_none() {
            let until = asked.expires_at.0.saturating_add(typed.after_ms);
            within!(&mut tx, PROVE, |sql, connection| {
                sqlx::query(sql).bind(&row.cookie_hash).bind(now.0).bind(until).execute(connection).await?;
            });
            tx.audit(Entry::new(Kind::CodeMatched, Actor::Server, asked, now));
        }
        tx.commit().await?;
        Ok(Proof::Matched(asked.id))
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
