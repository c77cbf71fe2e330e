//! Browser sessions and sign-ins. An id is stored as its SHA-256 alone, so that a copy of the database opens nothing.

use super::{Store, StoreError, statements::statements, tx::write};
use crate::{clock::Millis, secret::Hash};

statements! {
    TOUCH = "UPDATE sessions SET seen_at_ms = $2 WHERE id_hash = $1 AND replaced_at_ms IS NULL AND seen_at_ms < $2";
}

impl Store {
    /// Moves a session's idle stamp to `now`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn touch_session(&self, session: &Hash, now: Millis) -> Result<(), StoreError> {
        write!(self, TOUCH, |sql, pool| {
            sqlx::query(sql).bind(session.as_bytes()).bind(now.0).execute(pool).await?;
        });
        Ok(())
    }
}
