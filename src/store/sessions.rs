//! Browser sessions: a lineage that outlives changes of its id, and what is signed in on it.
//!
//! An id is stored as its SHA-256. A sign-in gives the lineage a new id and the former opens nothing any more (R25),
//! yet two sign-ins at once lose neither. There is no row before a sign-in (R53). What is never decided here: whether a
//! sign-in is genuine.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    elicitations::corrupt,
    statements::statements,
    tx::{Tx, read, within, write},
};
use crate::{
    audit::{About, Actor, Entry, Kind},
    clock::Millis,
    elicitation::ElicitationId,
    secret::Hash,
    subject::Subject,
};

/// A sign-in that comes with an id which another one has just replaced is added to the same lineage, in milliseconds.
const BESIDE_MS: i64 = 60_000;

statements! {
    /// The former id opens nothing from here on.
    REPLACE = "UPDATE sessions SET replaced_at_ms = $2 WHERE id_hash = $1 AND replaced_at_ms IS NULL \
        AND expires_at_ms > $2 AND seen_at_ms > $3 RETURNING browser";

    /// Another sign-in of the same browser was a moment faster.
    JUST_REPLACED = "SELECT browser FROM sessions WHERE id_hash = $1 AND replaced_at_ms > $2 AND expires_at_ms > $3";

    /// A lineage without a live session does not bring its former sign-ins back.
    FORGET_STALE = "DELETE FROM sign_ins WHERE browser = $1 AND NOT EXISTS (SELECT 1 FROM sessions s \
        WHERE s.browser = $1 AND s.replaced_at_ms IS NULL AND s.expires_at_ms > $2 AND s.seen_at_ms > $3)";

    /// What a browser has under way.
    UNDER_WAY = "SELECT DISTINCT elicitation FROM attempts WHERE browser = $1 AND state IN ('live', 'offered') \
        ORDER BY elicitation";

    /// Another person signs in at the same issuer: the former's attempts in this browser end.
    END_FORMERS = "UPDATE attempts SET state = 'settled', outcome = 'ended', verifier = NULL, parked = NULL, \
        parked_until_ms = NULL, offer = NULL, settled_at_ms = $4 \
        WHERE browser = $1 AND state IN ('live', 'offered') \
        AND elicitation IN (SELECT e.id FROM elicitations e WHERE e.issuer = $2) \
        AND EXISTS (SELECT 1 FROM sign_ins i WHERE i.browser = $1 AND i.issuer = $2 AND i.sub <> $3) \
        RETURNING elicitation";

    /// Who was signed in at the same issuer before.
    FORMER = "SELECT sub FROM sign_ins WHERE browser = $1 AND issuer = $2 AND sub <> $3";

    /// Every attempt of a browser.
    END_ALL = "UPDATE attempts SET state = 'settled', outcome = 'ended', verifier = NULL, parked = NULL, \
        parked_until_ms = NULL, offer = NULL, settled_at_ms = $2 \
        WHERE browser = $1 AND state IN ('live', 'offered') RETURNING elicitation";

    SIGN_IN = "INSERT INTO sign_ins (browser, issuer, sub, label, signed_in_at_ms) VALUES ($1, $2, $3, $4, $5) \
        ON CONFLICT (browser, issuer) DO UPDATE SET sub = excluded.sub, label = excluded.label, \
        signed_in_at_ms = excluded.signed_in_at_ms";

    SIGN_IN_IF_ABSENT = "INSERT INTO sign_ins (browser, issuer, sub, label, signed_in_at_ms) \
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (browser, issuer) DO NOTHING";

    /// Lives no longer than its oldest sign-in may.
    CREATE = "INSERT INTO sessions (id_hash, browser, created_at_ms, seen_at_ms, expires_at_ms) \
        SELECT $1, $2, $3, $3, MIN(i.signed_in_at_ms) + $4 FROM sign_ins i WHERE i.browser = $2";

    FIND = "SELECT s.browser, s.seen_at_ms, i.issuer, i.sub, i.label, i.signed_in_at_ms \
        FROM sessions s LEFT JOIN sign_ins i ON i.browser = s.browser \
        WHERE s.id_hash = $1 AND s.replaced_at_ms IS NULL AND s.expires_at_ms > $2 AND s.seen_at_ms > $3";

    TOUCH = "UPDATE sessions SET seen_at_ms = $2 WHERE id_hash = $1 AND seen_at_ms < $2 AND replaced_at_ms IS NULL";

    LINEAGE = "UPDATE sessions SET expires_at_ms = $2 WHERE id_hash = $1 AND expires_at_ms > $2 \
        RETURNING browser";

    SIGN_OUT_SESSIONS = "DELETE FROM sessions WHERE browser = $1";

    SIGN_OUT = "DELETE FROM sign_ins WHERE browser = $1";

    /// Looks at all that are left, which a session's longest life bounds.
    PURGE = "DELETE FROM sessions WHERE id_hash IN (SELECT id_hash FROM sessions \
        WHERE expires_at_ms <= $1 OR seen_at_ms <= $2 OR replaced_at_ms <= $3 LIMIT $4)";

    PURGE_SIGN_INS = "DELETE FROM sign_ins WHERE (browser, issuer) IN (SELECT i.browser, i.issuer FROM sign_ins i \
        WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.browser = i.browser) LIMIT $1)";
}

/// A live session, and who is signed in on it.
#[derive(Clone, Debug)]
pub struct SessionRow {
    /// Its lineage.
    pub browser: Uuid,
    /// When its idle stamp was last written.
    pub seen_at: Millis,
    /// At most one for each issuer.
    pub sign_ins: Vec<SignInRow>,
}

/// One person, signed in.
#[derive(Clone, Debug)]
pub struct SignInRow {
    /// Who.
    pub subject: Subject,
    /// What their authorization server calls them. Untrusted text.
    pub label: Option<String>,
    /// Since when.
    pub since: Millis,
}

/// A sign-in that counts, ready to be stored.
#[derive(Clone, Debug)]
pub struct NewSignIn<'a> {
    /// The id that the browser has now.
    pub former: Option<Hash>,
    /// The id that it gets.
    pub id: Hash,
    /// The lineage, when `former` opens none.
    pub browser: Uuid,
    /// Who has signed in.
    pub subject: &'a Subject,
    /// What their authorization server calls them.
    pub label: Option<&'a str>,
    /// How long the session may live, in milliseconds.
    pub life_ms: i64,
}

/// What became of a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedIn {
    /// The browser gets the new id.
    Renewed,
    /// Another sign-in of this browser was a moment faster: this one stands beside it, and the browser keeps the id
    /// that the other brings.
    Beside,
}

#[derive(FromRow)]
struct Found {
    browser: Uuid,
    seen_at_ms: i64,
    issuer: Option<String>,
    sub: Option<String>,
    label: Option<String>,
    signed_in_at_ms: Option<i64>,
}

impl Found {
    fn sign_in(self) -> Result<Option<SignInRow>, StoreError> {
        let (Some(issuer), Some(sub), Some(since)) = (self.issuer, self.sub, self.signed_in_at_ms) else {
            return Ok(None);
        };
        let subject = Subject::new(issuer, sub).map_err(corrupt("sign_ins", "sub"))?;
        Ok(Some(SignInRow { subject, label: self.label, since: Millis(since) }))
    }
}

impl Store {
    /// The live session of an id. `idle_since` is the oldest idle stamp that still counts.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn session(
        &self,
        id: &Hash,
        now: Millis,
        idle_since: Millis,
    ) -> Result<Option<SessionRow>, StoreError> {
        let rows: Vec<Found> = read!(self, FIND, |sql, pool| {
            sqlx::query_as(sql).bind(id.as_bytes()).bind(now.0).bind(idle_since.0).fetch_all(pool).await?
        });
        let Some(first) = rows.first() else { return Ok(None) };
        let (browser, seen_at) = (first.browser, Millis(first.seen_at_ms));
        let sign_ins =
            rows.into_iter().filter_map(|row| row.sign_in().transpose()).collect::<Result<_, _>>()?;
        Ok(Some(SessionRow { browser, seen_at, sign_ins }))
    }

    /// Writes the idle stamp. The caller does so rarely.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn touch_session(&self, id: &Hash, now: Millis) -> Result<(), StoreError> {
        write!(self, TOUCH, |sql, pool| {
            sqlx::query(sql).bind(id.as_bytes()).bind(now.0).execute(pool).await?.rows_affected()
        });
        Ok(())
    }

    /// Signs a person in: the lineage of `former` gets the new id, or a lineage begins. Where somebody else was signed
    /// in for the same issuer, they are not any more, and their attempts in this browser end.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing has changed.
    pub async fn sign_in(
        &self,
        new: &NewSignIn<'_>,
        now: Millis,
        idle_since: Millis,
    ) -> Result<SignedIn, StoreError> {
        let mut tx = self.begin_tx().await?;
        let browser = match &new.former {
            Some(former) => match tx.replace_session(former, now, idle_since).await? {
                Replaced::Now(browser) => Some(browser),
                Replaced::JustBefore(browser) => {
                    tx.put_sign_in(&SIGN_IN_IF_ABSENT, browser, new, now).await?;
                    tx.commit().await?;
                    return Ok(SignedIn::Beside);
                }
                Replaced::Not => None,
            },
            None => None,
        };
        let browser = match browser {
            Some(browser) => browser,
            None => {
                within!(&mut tx, FORGET_STALE, |sql, connection| {
                    let query = sqlx::query(sql).bind(new.browser).bind(now.0).bind(idle_since.0);
                    query.execute(connection).await?;
                });
                new.browser
            }
        };
        tx.end_formers_attempts(browser, new.subject, now).await?;
        if tx.has_former(browser, new.subject).await? {
            let about = About { subject: Some(new.subject.clone()), ..About::default() };
            tx.audit(Entry::new(Kind::SignedInAsOther, Actor::Person, about, now));
        }
        tx.put_sign_in(&SIGN_IN, browser, new, now).await?;
        within!(&mut tx, CREATE, |sql, connection| {
            let query = sqlx::query(sql).bind(new.id.as_bytes()).bind(browser).bind(now.0).bind(new.life_ms);
            query.execute(connection).await?;
        });
        tx.commit().await?;
        Ok(SignedIn::Renewed)
    }

    /// Ends a browser's session on every replica: its ids, its sign-ins, its attempts and what they had parked. False
    /// when the id opens nothing.
    ///
    /// # Errors
    /// When the store is unavailable; then nothing has changed.
    pub async fn sign_out(&self, id: &Hash, now: Millis) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        let browser: Option<Uuid> = within!(&mut tx, LINEAGE, |sql, connection| {
            sqlx::query_scalar(sql).bind(id.as_bytes()).bind(now.0).fetch_optional(connection).await?
        });
        let Some(browser) = browser else { return Ok(false) };
        tx.hold_all(browser).await?;
        let ended = within!(&mut tx, END_ALL, |sql, connection| {
            sqlx::query_scalar(sql).bind(browser).bind(now.0).fetch_all(connection).await?
        });
        tx.release_all(ended, now).await?;
        for statement in [&SIGN_OUT, &SIGN_OUT_SESSIONS] {
            within!(&mut tx, statement, |sql, connection| {
                sqlx::query(sql).bind(browser).execute(connection).await?;
            });
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Deletes up to `limit` sessions that open nothing any more. Gives how many.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_sessions(
        &self,
        now: Millis,
        idle_since: Millis,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let replaced_before = now.0.saturating_sub(BESIDE_MS);
        Ok(write!(self, PURGE, |sql, pool| {
            let query = sqlx::query(sql).bind(now.0).bind(idle_since.0).bind(replaced_before);
            query.bind(i64::from(limit)).execute(pool).await?.rows_affected()
        }))
    }

    /// Deletes up to `limit` sign-ins that no session is left for. Gives how many.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn purge_sign_ins(&self, limit: u32) -> Result<u64, StoreError> {
        Ok(write!(self, PURGE_SIGN_INS, |sql, pool| {
            sqlx::query(sql).bind(i64::from(limit)).execute(pool).await?.rows_affected()
        }))
    }
}

enum Replaced {
    Now(Uuid),
    JustBefore(Uuid),
    Not,
}

impl Tx {
    async fn replace_session(
        &mut self,
        former: &Hash,
        now: Millis,
        idle_since: Millis,
    ) -> Result<Replaced, StoreError> {
        let replaced: Option<Uuid> = within!(self, REPLACE, |sql, connection| {
            let query = sqlx::query_scalar(sql).bind(former.as_bytes()).bind(now.0).bind(idle_since.0);
            query.fetch_optional(connection).await?
        });
        if let Some(browser) = replaced {
            return Ok(Replaced::Now(browser));
        }
        let beside: Option<Uuid> = within!(self, JUST_REPLACED, |sql, connection| {
            let since = now.0.saturating_sub(BESIDE_MS);
            let query = sqlx::query_scalar(sql).bind(former.as_bytes()).bind(since).bind(now.0);
            query.fetch_optional(connection).await?
        });
        Ok(beside.map_or(Replaced::Not, Replaced::JustBefore))
    }

    async fn put_sign_in(
        &mut self,
        statement: &super::Statement,
        browser: Uuid,
        new: &NewSignIn<'_>,
        now: Millis,
    ) -> Result<(), StoreError> {
        within!(self, statement, |sql, connection| {
            sqlx::query(sql)
                .bind(browser)
                .bind(&new.subject.issuer)
                .bind(&new.subject.sub)
                .bind(new.label)
                .bind(now.0)
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    async fn end_formers_attempts(
        &mut self,
        browser: Uuid,
        subject: &Subject,
        now: Millis,
    ) -> Result<(), StoreError> {
        self.hold_all(browser).await?;
        let ended = within!(self, END_FORMERS, |sql, connection| {
            sqlx::query_scalar(sql)
                .bind(browser)
                .bind(&subject.issuer)
                .bind(&subject.sub)
                .bind(now.0)
                .fetch_all(connection)
                .await?
        });
        self.release_all(ended, now).await
    }

    async fn has_former(&mut self, browser: Uuid, subject: &Subject) -> Result<bool, StoreError> {
        let former: Option<String> = within!(self, FORMER, |sql, connection| {
            sqlx::query_scalar(sql)
                .bind(browser)
                .bind(&subject.issuer)
                .bind(&subject.sub)
                .fetch_optional(connection)
                .await?
        });
        Ok(former.is_some())
    }

    /// Takes the elicitations of a browser's attempts, in the order of their ids, before the attempts.
    async fn hold_all(&mut self, browser: Uuid) -> Result<(), StoreError> {
        let elicitations: Vec<Uuid> = within!(self, UNDER_WAY, |sql, connection| {
            sqlx::query_scalar(sql).bind(browser).fetch_all(connection).await?
        });
        for id in elicitations {
            self.hold(ElicitationId(id)).await?;
        }
        Ok(())
    }

    /// In the order of their ids, so that two transactions do not wait for each other.
    async fn release_all(&mut self, mut elicitations: Vec<Uuid>, now: Millis) -> Result<(), StoreError> {
        elicitations.sort_unstable();
        elicitations.dedup();
        for id in elicitations {
            self.release(ElicitationId(id), now).await?;
        }
        Ok(())
    }
}
