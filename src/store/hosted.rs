//! Visits to pages of MCP servers' own: the code, what the MCP server says, and the browser's way back.
//!
//! The two halves come in either order, each in a transaction that begins with the elicitation's row, so that whichever comes
//! second sees the first. It leaves nothing behind then: `settle` takes both at once, or neither.

use super::{
    Store, StoreError,
    attempts::{AttemptRow, columns},
    statements::statements,
    tx::{Tx, read, within},
};
use crate::{
    clock::Millis,
    elicitation::{
        Attempt, AttemptId, AttemptState, Elicitation, ElicitationId, Outcome, Owned, ServerId, State,
    },
    hosted::{Accepted, FailedAtPage},
    secret::Hash,
};

statements! {
    BY_CODE = concat!("SELECT ", columns!(), " FROM attempts WHERE page_code_hash = $1");

    /// Exactly one call gets a row: the code is this MCP server's, in time, and was never redeemed.
    REDEEM = concat!("UPDATE attempts SET redeemed_at_ms = $3 \
        WHERE page_code_hash = $1 AND server = $2 AND redeemed_at_ms IS NULL AND page_code_expires_at_ms > $3 \
        AND state = 'live' AND expires_at_ms > $3 \
        AND EXISTS (SELECT 1 FROM elicitations e WHERE e.id = attempts.elicitation \
            AND e.state IN ('pending', 'authorizing') AND e.expires_at_ms > $3) \
        RETURNING ", columns!());

    /// Those whose code was redeemed, the latest first.
    REDEEMED = concat!("SELECT ", columns!(), " FROM attempts \
        WHERE elicitation = $1 AND redeemed_at_ms IS NOT NULL ORDER BY redeemed_at_ms DESC, id DESC");

    /// The person may have gone there in several tabs, and comes back from one of them.
    SAY = "UPDATE attempts SET result_json = $2 WHERE elicitation = $1 AND state = 'live' AND expires_at_ms > $3 \
        AND redeemed_at_ms IS NOT NULL AND result_json IS NULL";

    /// Spends the `state` of a visit, as a claim does that of a trip. From then on it waits for the MCP server as long as the
    /// elicitation is open.
    COME_BACK = concat!("UPDATE attempts SET returned_at_ms = $3, parked = NULL, parked_until_ms = NULL, \
        expires_at_ms = (SELECT e.expires_at_ms FROM elicitations e WHERE e.id = attempts.elicitation) \
        WHERE id = $1 AND state_hash = $2 AND state = 'live' AND expires_at_ms > $3 AND returned_at_ms IS NULL \
        AND page_code_hash IS NOT NULL \
        AND EXISTS (SELECT 1 FROM elicitations e WHERE e.id = attempts.elicitation AND e.issuer = $4 \
            AND e.sub = $5 AND e.state IN ('pending', 'authorizing') AND e.expires_at_ms > $3) \
        RETURNING ", columns!());

    /// Both halves are there: one on the row, the other comes with this.
    FINISH = "UPDATE attempts SET state = 'settled', outcome = 'connected', detail = NULL, result_json = $2, \
        returned_at_ms = COALESCE(returned_at_ms, $3), settled_at_ms = $3, parked = NULL, parked_until_ms = NULL \
        WHERE id = $1 AND state = 'live' AND expires_at_ms > $3 AND redeemed_at_ms IS NOT NULL \
        AND (returned_at_ms IS NOT NULL OR result_json IS NOT NULL)";
}

/// Proof, made by the store alone, that the MCP server's result and the browser's return are both there.
#[derive(Clone, Debug)]
pub struct BothHalves {
    asked: Elicitation,
    attempt: AttemptId,
    accepted: Accepted,
}

impl BothHalves {
    /// What is answered.
    pub fn elicitation(&self) -> &Elicitation {
        &self.asked
    }

    /// The visit.
    pub fn attempt(&self) -> AttemptId {
        self.attempt
    }

    /// What was done there.
    pub fn accepted(&self) -> &Accepted {
        &self.accepted
    }
}

/// What came of a code.
#[derive(Debug)]
pub enum Redemption {
    /// It was good, and is no more.
    Redeemed(Box<Attempt>, Box<Elicitation>),
    /// It was redeemed before; the visit, if it was still under way, has ended.
    Twice(Box<Attempt>),
    /// It is another MCP server's; nothing has changed.
    Foreign(Box<Attempt>),
    /// Nobody has it, or it is too late.
    Refused,
}

/// What came of an MCP server's word.
#[derive(Debug)]
pub enum Said {
    /// It is kept, or the elicitation has failed by it.
    Taken,
    /// The browser was there first: to be settled. Nothing is kept before.
    Both(Box<BothHalves>),
    /// The same was said before, and has had its effect.
    Before,
    /// Another thing was said before.
    Otherwise,
    /// Nobody is there: no visit with a redeemed code is under way.
    Nobody,
    /// The elicitation has ended.
    Over,
}

/// What came of a browser's return.
#[derive(Debug)]
pub enum Returned {
    /// The MCP server has not said yet what came of it.
    Waits,
    /// It has: to be settled. Nothing is spent before.
    Both(Box<BothHalves>),
    /// Another request has taken it, or it is over.
    Lost,
}

impl Store {
    /// Redeems the code of a visit, once, for the MCP server that it is of. A second time ends the visit, as RFC 6749, section
    /// 4.1.2, has it for codes.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn redeem(
        &self,
        server: &ServerId,
        code: &Hash,
        now: Millis,
    ) -> Result<Redemption, StoreError> {
        let row: Option<AttemptRow> = read!(self, BY_CODE, |sql, pool| {
            sqlx::query_as(sql).bind(code.as_bytes()).fetch_optional(pool).await?
        });
        let Some(found) = row.map(Attempt::try_from).transpose()? else { return Ok(Redemption::Refused) };
        if found.server != *server {
            return Ok(Redemption::Foreign(found.into()));
        }
        let mut tx = self.begin_tx().await?;
        tx.hold(found.elicitation).await?;
        let row: Option<AttemptRow> = within!(&mut tx, REDEEM, |sql, connection| {
            sqlx::query_as(sql)
                .bind(code.as_bytes())
                .bind(server.as_str())
                .bind(now.0)
                .fetch_optional(connection)
                .await?
        });
        if let Some(row) = row {
            let asked = tx.by_id(found.elicitation).await?;
            tx.commit().await?;
            return Ok(Redemption::Redeemed(Box::new(row.try_into()?), asked.into()));
        }
        // Nobody else changes it from here on: is it late, or is it the second time?
        let redeemed = tx.redeemed(found.elicitation).await?;
        let Some(attempt) = redeemed.into_iter().find(|one| one.id == found.id) else {
            return Ok(Redemption::Refused);
        };
        let (from, outcome) = (AttemptState::Live, Outcome::CodeRefused);
        if tx.spend(attempt.id, from, outcome, Some(Outcome::TWICE), now).await? {
            tx.release(attempt.elicitation, now).await?;
            tx.commit().await?;
        }
        Ok(Redemption::Twice(attempt.into()))
    }

    /// Takes what the MCP server says was done, for every visit of this elicitation that has no result yet.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn accept_visit(
        &self,
        asked: &Elicitation,
        accepted: &Accepted,
        now: Millis,
    ) -> Result<Said, StoreError> {
        let mut tx = self.begin_tx().await?;
        tx.hold(asked.id).await?;
        let (asked, visits) = (tx.by_id(asked.id).await?, tx.redeemed(asked.id).await?);
        let before = standing(&visits, now);
        if before.is_some_and(|before| before != accepted) {
            return Ok(Said::Otherwise);
        }
        if !asked.state(now).is_open() {
            return Ok(if before.is_some() { Said::Before } else { Said::Over });
        }
        let Some(latest) = visits.iter().find(|one| one.is_live(now)) else { return Ok(Said::Nobody) };
        let back = visits.iter().find(|one| one.is_waiting(now));
        if let Some(back) = back {
            let accepted = accepted.clone();
            return Ok(Said::Both(Box::new(BothHalves { asked, attempt: back.id, accepted })));
        }
        within!(&mut tx, SAY, |sql, connection| {
            sqlx::query(sql)
                .bind(asked.id.0)
                .bind(accepted.to_json())
                .bind(now.0)
                .execute(connection)
                .await?;
        });
        let again = result(latest).is_some();
        tx.commit().await?;
        Ok(if again { Said::Before } else { Said::Taken })
    }

    /// Takes the MCP server's word that it came to nothing: the elicitation has failed, with its signal.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn fail_visit(
        &self,
        asked: &Elicitation,
        reason: &FailedAtPage,
        now: Millis,
    ) -> Result<Said, StoreError> {
        let mut tx = self.begin_tx().await?;
        tx.hold(asked.id).await?;
        let (asked, visits) = (tx.by_id(asked.id).await?, tx.redeemed(asked.id).await?);
        if asked.stored == State::Failed && asked.reason.as_deref().is_some_and(FailedAtPage::is) {
            let same = asked.reason.as_deref() == Some(reason.as_str());
            return Ok(if same { Said::Before } else { Said::Otherwise });
        }
        if standing(&visits, now).is_some() {
            return Ok(Said::Otherwise);
        }
        if !asked.state(now).is_open() {
            return Ok(Said::Over);
        }
        if !visits.iter().any(|one| one.is_live(now)) {
            return Ok(Said::Nobody);
        }
        let Some(closed) = tx.close(&asked, State::Failed, reason.as_str(), self.random, now).await? else {
            return Ok(Said::Over);
        };
        tx.commit().await?;
        self.announce(&[closed.server]);
        Ok(Said::Taken)
    }

    /// The browser is back, through every check (R71): spends the visit's `state`, unless both halves are there.
    ///
    /// # Errors
    /// When the store is unavailable; nothing is spent then.
    pub async fn come_back(
        &self,
        mine: &Owned,
        attempt: &Attempt,
        now: Millis,
    ) -> Result<Returned, StoreError> {
        let asked = mine.elicitation();
        let mut tx = self.begin_tx().await?;
        tx.hold(attempt.elicitation).await?;
        let row: Option<AttemptRow> = within!(&mut tx, COME_BACK, |sql, connection| {
            sqlx::query_as(sql)
                .bind(attempt.id.0)
                .bind(attempt.state_hash.as_bytes())
                .bind(now.0)
                .bind(&asked.owner.issuer)
                .bind(&asked.owner.sub)
                .fetch_optional(connection)
                .await?
        });
        let Some(row) = row else { return Ok(Returned::Lost) };
        let back = Attempt::try_from(row)?;
        if let Some(accepted) = result(&back).cloned() {
            let asked = tx.by_id(attempt.elicitation).await?;
            return Ok(Returned::Both(Box::new(BothHalves { asked, attempt: back.id, accepted })));
        }
        tx.release(attempt.elicitation, now).await?;
        tx.commit().await?;
        Ok(Returned::Waits)
    }
}

/// The result that stands: of the visit that has completed the elicitation, else of the latest that is under way. That of a
/// visit which came to nothing, or of an elicitation that another one's visit has answered, has had no effect.
fn standing(visits: &[Attempt], now: Millis) -> Option<&Accepted> {
    let done = visits.iter().find(|one| one.outcome == Some(Outcome::Connected));
    done.or_else(|| visits.iter().find(|one| one.is_live(now))).and_then(result)
}

fn result(attempt: &Attempt) -> Option<&Accepted> {
    attempt.page.as_ref()?.accepted.as_ref()
}

impl Tx {
    async fn redeemed(&mut self, id: ElicitationId) -> Result<Vec<Attempt>, StoreError> {
        let rows: Vec<AttemptRow> = within!(self, REDEEMED, |sql, connection| {
            sqlx::query_as(sql).bind(id.0).fetch_all(connection).await?
        });
        rows.into_iter().map(Attempt::try_from).collect()
    }

    /// Ends a visit well; false when it moved meanwhile.
    pub(super) async fn finish_visit(&mut self, both: &BothHalves, now: Millis) -> Result<bool, StoreError> {
        let rows = within!(self, FINISH, |sql, connection| {
            sqlx::query(sql)
                .bind(both.attempt.0)
                .bind(both.accepted.to_json())
                .bind(now.0)
                .execute(connection)
                .await?
                .rows_affected()
        });
        Ok(rows == 1)
    }
}
