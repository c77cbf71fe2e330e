//! Values that are no secrets, and the fingerprint of the place that a credential is for.

use super::{Store, StoreError, statements::statements, tx::write};
use crate::{
    clock::Millis,
    connection::ConnectionId,
    elicitation::{Attempt, OwnedOpen},
    secret::Hash,
    values::Values,
};

statements! {
    /// Only for the owner, and only while it is open.
    TYPE = "UPDATE elicitations SET typed_json = $2 WHERE id = $1 AND issuer = $3 AND sub = $4 \
        AND state IN ('pending', 'authorizing') AND expires_at_ms > $5";

    /// What the trip's answers were read for, while it is finished.
    KEEP = "UPDATE attempts SET values_json = $2, fingerprint = $3 WHERE id = $1 AND state IN ('claimed', 'offered')";

    /// A row from before there were fingerprints takes the present one, once.
    ADOPT = "UPDATE connections SET fingerprint = $2 WHERE id = $1 AND fingerprint IS NULL AND grant_number = $3";
}

impl Store {
    /// Stores what the person typed, all of it. False when the elicitation was closed or expired meanwhile.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn type_values(
        &self,
        mine: &OwnedOpen,
        typed: &Values,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let asked = mine.elicitation();
        let rows = write!(self, TYPE, |sql, pool| {
            sqlx::query(sql)
                .bind(asked.id.0)
                .bind(typed.to_json())
                .bind(&asked.owner.issuer)
                .bind(&asked.owner.sub)
                .bind(now.0)
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(rows == 1)
    }

    /// Stores all values of a trip that is being finished, and its place, from `attempt`. False when it is over.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn keep_values(&self, attempt: &Attempt) -> Result<bool, StoreError> {
        let rows = write!(self, KEEP, |sql, pool| {
            sqlx::query(sql)
                .bind(attempt.id.0)
                .bind(attempt.values.to_json())
                .bind(attempt.fingerprint.as_ref().map(Hash::as_bytes))
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(rows == 1)
    }

    /// Gives a connection from before there were fingerprints the present one. False when it has one.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn adopt_fingerprint(
        &self,
        id: ConnectionId,
        grant: i64,
        fingerprint: &Hash,
    ) -> Result<bool, StoreError> {
        let rows = write!(self, ADOPT, |sql, pool| {
            sqlx::query(sql)
                .bind(id.0)
                .bind(fingerprint.as_bytes())
                .bind(grant)
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(rows == 1)
    }
}
