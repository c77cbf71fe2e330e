//! Attempts: begun, parked, claimed, spent, offered.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    connections::{fingerprint_of, values_of},
    elicitations::corrupt,
    statements::statements,
    tx::{Tx, read, within, write},
};
use crate::{
    audit::{self, About, Actor, Entry, Kind},
    clock::Millis,
    elicitation::{
        Attempt, AttemptId, AttemptState, Claimed, ElicitationId, NewAttempt, Outcome, Owned, OwnedOpen,
        PageVisit,
    },
    hosted::Accepted,
    scope::Scopes,
    secret::Hash,
    vault::Sealed,
};

/// How long a claimed attempt may still take, also past its elicitation's expiry, in milliseconds.
pub(super) const FINISH_MS: i64 = Attempt::FINISH.as_millis() as i64;

macro_rules! columns {
    () => {
        "id, elicitation, server, provider, browser, state_hash, binding_hash, verifier, expected_issuer, \
         issuer_required, redirect_uri, scopes, state, outcome, detail, parked, parked_until_ms, offer, \
         values_json, fingerprint, created_at_ms, expires_at_ms, claimed_at_ms, page_code_expires_at_ms, \
         redeemed_at_ms, result_json, returned_at_ms"
    };
}
pub(super) use columns;

statements! {
    /// Takes the elicitation's row. Every move takes it before those of its attempts, so that two never wait for
    /// each other.
    HOLD = "UPDATE elicitations SET attempt_until_ms = attempt_until_ms WHERE id = $1";

    /// Only for the owner, and only while it is open. The state follows in the same transaction.
    BEGIN = "INSERT INTO attempts (id, elicitation, server, provider, browser, state_hash, binding_hash, verifier, \
        expected_issuer, issuer_required, redirect_uri, scopes, state, created_at_ms, expires_at_ms, values_json, \
        fingerprint, page_code_hash, page_code_expires_at_ms) \
        SELECT $1, e.id, e.server, e.provider, $3, $4, $5, $6, $7, $8, $9, $10, 'live', $11, $12, $15, $16, $17, $18 \
        FROM elicitations e WHERE e.id = $2 AND e.issuer = $13 AND e.sub = $14 \
        AND e.state IN ('pending', 'authorizing') AND e.expires_at_ms > $11";

    /// A live attempt exists until `$2`.
    AUTHORIZING = "UPDATE elicitations SET state = 'authorizing', attempt_until_ms = \
        CASE WHEN attempt_until_ms > $2 THEN attempt_until_ms ELSE $2 END \
        WHERE id = $1 AND state IN ('pending', 'authorizing') AND expires_at_ms > $3";

    BY_STATE_HASH = concat!("SELECT ", columns!(), " FROM attempts WHERE state_hash = $1");

    BY_ID = concat!("SELECT ", columns!(), " FROM attempts WHERE id = $1 AND elicitation = $2");

    /// The first response alone is kept.
    PARK = "UPDATE attempts SET parked = $2, parked_until_ms = $3 \
        WHERE id = $1 AND state = 'live' AND expires_at_ms > $4 AND (parked IS NULL OR parked_until_ms <= $4)";

    /// Spends the `state`. Exactly one request gets a row: the attempt is live, and its elicitation is open,
    /// unexpired and the owner's. A visit whose browser is back has spent it.
    CLAIM = concat!("UPDATE attempts SET state = 'claimed', claimed_at_ms = $3, parked = NULL, \
        parked_until_ms = NULL \
        WHERE id = $1 AND state_hash = $2 AND state = 'live' AND expires_at_ms > $3 AND returned_at_ms IS NULL \
        AND EXISTS (SELECT 1 FROM elicitations e WHERE e.id = attempts.elicitation AND e.issuer = $4 \
            AND e.sub = $5 AND e.state IN ('pending', 'authorizing') AND e.expires_at_ms > $3) \
        RETURNING ", columns!());

    /// Ends one attempt with its outcome and forgets what it held.
    SPEND = "UPDATE attempts SET state = 'settled', outcome = $3, detail = $4, verifier = NULL, parked = NULL, \
        parked_until_ms = NULL, offer = NULL, settled_at_ms = $5 WHERE id = $1 AND state = $2";

    /// After an attempt was claimed or ended: when the last one that is under way ends, or none, and then it is
    /// pending again. One that is claimed has a minute from then on, whatever its own or the elicitation's expiry.
    RELEASE = "UPDATE elicitations SET attempt_until_ms = (SELECT MAX(CASE WHEN a.state = 'claimed' \
            THEN a.claimed_at_ms + $3 ELSE a.expires_at_ms END) FROM attempts a \
            WHERE a.elicitation = elicitations.id AND ((a.state = 'live' AND a.expires_at_ms > $2) \
            OR (a.state = 'claimed' AND a.claimed_at_ms + $3 > $2))) \
        WHERE id = $1 AND state IN ('pending', 'authorizing')";

    /// Another account came back: the credential waits, sealed, for the person's answer.
    OFFER = "UPDATE attempts SET state = 'offered', offer = $2, verifier = NULL \
        WHERE id = $1 AND state = 'claimed' AND EXISTS (SELECT 1 FROM elicitations e \
            WHERE e.id = attempts.elicitation AND e.state IN ('pending', 'authorizing') AND e.expires_at_ms > $3)";

    /// One question is answered, and there is another: the credential waits on, over the very offer that was answered.
    OFFER_AGAIN = "UPDATE attempts SET offer = $3 WHERE id = $1 AND state = 'offered' AND offer = $2 \
        AND EXISTS (SELECT 1 FROM elicitations e WHERE e.id = attempts.elicitation \
            AND e.state IN ('pending', 'authorizing') AND e.expires_at_ms > $4)";
}

/// What the record has of a trip that failed by what the operator, or the provider, can mend. A word of the provider's is
/// not in it.
fn of_failure(attempt: &Attempt, outcome: Outcome, detail: Option<&str>, now: Millis) -> Option<Entry> {
    let reason = match (outcome, detail) {
        (Outcome::Unusable, Some(ours)) => format!("{}:{ours}", outcome.as_str()),
        (Outcome::Unreachable | Outcome::Unusable | Outcome::Misconfigured | Outcome::CodeRefused, _) => {
            outcome.as_str().to_owned()
        }
        _ => return None,
    };
    let about = About {
        server: Some(attempt.server.clone()),
        provider: Some(attempt.provider.clone()),
        elicitation: Some(attempt.elicitation),
        ..About::default()
    };
    let entry = Entry::new(Kind::NotConnected, Actor::Program, about, now).because(&reason);
    Some(Entry { outcome: audit::Outcome::Failed, ..entry })
}

#[derive(FromRow)]
pub(super) struct AttemptRow {
    id: Uuid,
    elicitation: Uuid,
    server: String,
    provider: String,
    browser: Uuid,
    state_hash: Vec<u8>,
    binding_hash: Vec<u8>,
    verifier: Option<Vec<u8>>,
    expected_issuer: Option<String>,
    issuer_required: bool,
    redirect_uri: String,
    scopes: String,
    state: String,
    outcome: Option<String>,
    detail: Option<String>,
    parked: Option<Vec<u8>>,
    parked_until_ms: Option<i64>,
    offer: Option<Vec<u8>>,
    values_json: Option<String>,
    fingerprint: Option<Vec<u8>>,
    created_at_ms: i64,
    expires_at_ms: i64,
    claimed_at_ms: Option<i64>,
    page_code_expires_at_ms: Option<i64>,
    redeemed_at_ms: Option<i64>,
    result_json: Option<String>,
    returned_at_ms: Option<i64>,
}

impl TryFrom<AttemptRow> for Attempt {
    type Error = StoreError;

    fn try_from(row: AttemptRow) -> Result<Self, StoreError> {
        const TABLE: &str = "attempts";
        let hash = |bytes: Vec<u8>, column| bytes.try_into().map(Hash).map_err(corrupt(TABLE, column));
        let accepted = row.result_json.as_deref().map(|text| {
            Accepted::from_json(text).ok_or(StoreError::Corrupt { table: TABLE, column: "result_json" })
        });
        let accepted = accepted.transpose()?;
        let page = row.page_code_expires_at_ms.map(|at| PageVisit {
            code_expires_at: Millis(at),
            redeemed_at: row.redeemed_at_ms.map(Millis),
            accepted,
            returned_at: row.returned_at_ms.map(Millis),
        });
        Ok(Self {
            id: AttemptId(row.id),
            elicitation: ElicitationId(row.elicitation),
            server: row.server.parse().map_err(corrupt(TABLE, "server"))?,
            provider: row.provider.parse().map_err(corrupt(TABLE, "provider"))?,
            browser: row.browser,
            state_hash: hash(row.state_hash, "state_hash")?,
            binding_hash: hash(row.binding_hash, "binding_hash")?,
            expected_issuer: row.expected_issuer,
            issuer_required: row.issuer_required,
            redirect_uri: row.redirect_uri,
            scopes: Scopes::new(row.scopes.split_ascii_whitespace()).map_err(corrupt(TABLE, "scopes"))?,
            state: row.state.parse().map_err(corrupt(TABLE, "state"))?,
            verifier: row.verifier.map(Sealed::from_bytes),
            outcome: row.outcome.map(|text| text.parse()).transpose().map_err(corrupt(TABLE, "outcome"))?,
            detail: row.detail,
            parked: row.parked.map(Sealed::from_bytes),
            parked_until: row.parked_until_ms.map(Millis),
            offer: row.offer.map(Sealed::from_bytes),
            values: values_of(TABLE, row.values_json.as_deref())?,
            fingerprint: fingerprint_of(TABLE, row.fingerprint)?,
            created_at: Millis(row.created_at_ms),
            expires_at: Millis(row.expires_at_ms),
            claimed_at: row.claimed_at_ms.map(Millis),
            page,
        })
    }
}

impl Store {
    /// Begins a trip to the provider. False when the elicitation was closed or expired meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn begin(&self, mine: &OwnedOpen, new: &NewAttempt, now: Millis) -> Result<bool, StoreError> {
        let asked = mine.elicitation();
        let mut tx = self.begin_tx().await?;
        let begun = within!(&mut tx, BEGIN, |sql, connection| {
            sqlx::query(sql)
                .bind(new.id.0)
                .bind(asked.id.0)
                .bind(new.browser)
                .bind(new.state_hash.as_bytes())
                .bind(new.binding_hash.as_bytes())
                .bind(new.verifier.as_ref().map(Sealed::as_bytes))
                .bind(&new.expected_issuer)
                .bind(new.issuer_required)
                .bind(&new.redirect_uri)
                .bind(new.scopes.to_text())
                .bind(now.0)
                .bind(new.expires_at.0)
                .bind(&asked.owner.issuer)
                .bind(&asked.owner.sub)
                .bind(new.values.to_json())
                .bind(new.fingerprint.as_ref().map(Hash::as_bytes))
                .bind(new.page.as_ref().map(|page| page.hash.as_bytes()))
                .bind(new.page.as_ref().map(|page| page.expires_at.0))
                .execute(connection)
                .await?
                .rows_affected()
        });
        let moved = within!(&mut tx, AUTHORIZING, |sql, connection| {
            sqlx::query(sql)
                .bind(asked.id.0)
                .bind(new.expires_at.0)
                .bind(now.0)
                .execute(connection)
                .await?
                .rows_affected()
        });
        if (begun, moved) != (1, 1) {
            return Ok(false);
        }
        tx.commit().await?;
        Ok(true)
    }

    /// The attempt that a `state` belongs to, live or not.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn attempt_by_state(&self, state: &Hash) -> Result<Option<Attempt>, StoreError> {
        let row: Option<AttemptRow> = read!(self, BY_STATE_HASH, |sql, pool| {
            sqlx::query_as(sql).bind(state.as_bytes()).fetch_optional(pool).await?
        });
        row.map(Attempt::try_from).transpose()
    }

    /// An attempt of this elicitation.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn attempt(
        &self,
        elicitation: ElicitationId,
        id: AttemptId,
    ) -> Result<Option<Attempt>, StoreError> {
        let row: Option<AttemptRow> = read!(self, BY_ID, |sql, pool| {
            sqlx::query_as(sql).bind(id.0).bind(elicitation.0).fetch_optional(pool).await?
        });
        row.map(Attempt::try_from).transpose()
    }

    /// Keeps the first response, sealed, until the person has signed in. False when one is kept already, or the
    /// attempt is over.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn park(
        &self,
        id: AttemptId,
        response: &Sealed,
        until: Millis,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let rows = write!(self, PARK, |sql, pool| {
            sqlx::query(sql)
                .bind(id.0)
                .bind(response.as_bytes())
                .bind(until.0)
                .bind(now.0)
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(rows == 1)
    }

    /// Spends the attempt's `state` (R59, R71). `None` for every request but the one that wins, and when the
    /// attempt or its elicitation is over.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn claim(
        &self,
        mine: Owned,
        attempt: &Attempt,
        now: Millis,
    ) -> Result<Option<Claimed>, StoreError> {
        let owner = &mine.elicitation().owner;
        let mut tx = self.begin_tx().await?;
        tx.hold(attempt.elicitation).await?;
        let row: Option<AttemptRow> = within!(&mut tx, CLAIM, |sql, connection| {
            sqlx::query_as(sql)
                .bind(attempt.id.0)
                .bind(attempt.state_hash.as_bytes())
                .bind(now.0)
                .bind(&owner.issuer)
                .bind(&owner.sub)
                .fetch_optional(connection)
                .await?
        });
        let Some(row) = row else { return Ok(None) };
        tx.release(attempt.elicitation, now).await?;
        tx.commit().await?;
        Ok(Some(Claimed { attempt: row.try_into()?, mine }))
    }

    /// Ends one attempt, and no other, with its outcome. False when it was not in `from` any more.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn spend(
        &self,
        attempt: &Attempt,
        from: AttemptState,
        outcome: Outcome,
        detail: Option<&str>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        tx.hold(attempt.elicitation).await?;
        let spent = tx.spend(attempt.id, from, outcome, detail, now).await?;
        tx.release(attempt.elicitation, now).await?;
        if spent && let Some(entry) = of_failure(attempt, outcome, detail, now) {
            tx.audit(entry);
        }
        tx.commit().await?;
        Ok(spent)
    }

    /// Keeps the credential of another account, sealed on the attempt's row, until the person says which one to
    /// use. False when the elicitation was closed meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn offer(
        &self,
        attempt: &Attempt,
        credential: &Sealed,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        tx.hold(attempt.elicitation).await?;
        let rows = within!(&mut tx, OFFER, |sql, connection| {
            sqlx::query(sql)
                .bind(attempt.id.0)
                .bind(credential.as_bytes())
                .bind(now.0)
                .execute(connection)
                .await?
                .rows_affected()
        });
        tx.release(attempt.elicitation, now).await?;
        tx.commit().await?;
        Ok(rows == 1)
    }
}

impl Store {
    /// Keeps a credential on its attempt's row in place of the offer that `attempt` holds. False when that one was
    /// answered otherwise, or the elicitation was closed meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn offer_again(
        &self,
        attempt: &Attempt,
        credential: &Sealed,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin_tx().await?;
        tx.hold(attempt.elicitation).await?;
        let rows = within!(&mut tx, OFFER_AGAIN, |sql, connection| {
            sqlx::query(sql)
                .bind(attempt.id.0)
                .bind(attempt.offer.as_ref().map(Sealed::as_bytes))
                .bind(credential.as_bytes())
                .bind(now.0)
                .execute(connection)
                .await?
                .rows_affected()
        });
        tx.commit().await?;
        Ok(rows == 1)
    }
}

impl Tx {
    /// Ends one attempt; false when it was not in `from`.
    pub(super) async fn spend(
        &mut self,
        id: AttemptId,
        from: AttemptState,
        outcome: Outcome,
        detail: Option<&str>,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let rows = within!(self, SPEND, |sql, connection| {
            sqlx::query(sql)
                .bind(id.0)
                .bind(from.as_str())
                .bind(outcome.as_str())
                .bind(detail)
                .bind(now.0)
                .execute(connection)
                .await?
                .rows_affected()
        });
        Ok(rows == 1)
    }

    /// Lets the elicitation be pending again when no live attempt is left.
    pub(super) async fn release(&mut self, id: ElicitationId, now: Millis) -> Result<(), StoreError> {
        within!(self, RELEASE, |sql, connection| {
            sqlx::query(sql).bind(id.0).bind(now.0).bind(FINISH_MS).execute(connection).await?;
        });
        Ok(())
    }

    /// Takes the elicitation's row, before a move takes rows of its attempts.
    pub(super) async fn hold(&mut self, id: ElicitationId) -> Result<(), StoreError> {
        within!(self, HOLD, |sql, connection| {
            sqlx::query(sql).bind(id.0).execute(connection).await?;
        });
        Ok(())
    }
}
