//! How trips have ended, for the operator who looks at a question.

use super::{Store, StoreError, elicitations::corrupt, statements::statements, tx::read};
use crate::elicitation::{AttemptId, ElicitationId, Outcome};

statements! {
    LAST_END = "SELECT id, outcome, detail FROM attempts WHERE elicitation = $1 AND outcome IS NOT NULL \
        ORDER BY settled_at_ms DESC, id DESC LIMIT 1";
}

/// How a trip has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TripEnd {
    /// Which.
    pub attempt: AttemptId,
    /// How.
    pub outcome: Outcome,
    /// The provider's error code, or what was wrong, as a stable word.
    pub detail: Option<String>,
}

impl Store {
    /// How the last trip of this elicitation has ended; none when none has.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn last_trip(&self, elicitation: ElicitationId) -> Result<Option<TripEnd>, StoreError> {
        let row: Option<(uuid::Uuid, String, Option<String>)> = read!(self, LAST_END, |sql, pool| {
            sqlx::query_as(sql).bind(elicitation.0).fetch_optional(pool).await?
        });
        let end = |(id, outcome, detail): (uuid::Uuid, String, Option<String>)| {
            let outcome = outcome.parse().map_err(corrupt("attempts", "outcome"))?;
            Ok(TripEnd { attempt: AttemptId(id), outcome, detail })
        };
        row.map(end).transpose()
    }
}
