//! What each key has sealed, counted page by page in the order of ids, so that no statement takes longer the more there
//! is; and the rows of the audit record by the ends of their chains.
//!
//! It is no look at one moment: what is written meanwhile may or may not be counted.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{
    Store, StoreError,
    resealings::SEALED_TABLES,
    statements::{Statement, statements},
    tx::read,
};
use crate::vault::{Cell, KeyId, Sealed};

/// Rows that one statement looks at.
const PAGE: usize = 10_000;

statements! {
    /// What the values of a page of rows begin with, in the order of the register's cells: as much as names their key.
    CONNECTIONS = "SELECT id, substr(access, 1, 66), substr(refresh, 1, 66), CAST(NULL AS BYTEA) FROM connections \
        WHERE id > $1 ORDER BY id LIMIT $2";

    ATTEMPTS = "SELECT id, substr(verifier, 1, 66), substr(parked, 1, 66), substr(offer, 1, 66) FROM attempts \
        WHERE id > $1 ORDER BY id LIMIT $2";

    REVOCATIONS = "SELECT id, substr(token, 1, 66), CAST(NULL AS BYTEA), CAST(NULL AS BYTEA) FROM revocations \
        WHERE id > $1 ORDER BY id LIMIT $2";

    REGISTRATIONS = "SELECT id, substr(secret, 1, 66), CAST(NULL AS BYTEA), CAST(NULL AS BYTEA) FROM client_registrations \
        WHERE id > $1 ORDER BY id LIMIT $2";
}

type ValuesRow = (Uuid, Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>);

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

/// By cell and key.
type Counts = BTreeMap<(&'static str, Option<KeyId>), i64>;

impl Store {
    /// Counts what each key has sealed, and the rows of the audit record that each has tagged.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn count_keys(&self) -> Result<Vec<KeyCount>, StoreError> {
        let mut counts = self.count_values().await?;
        let mut tagged = Counts::new();
        let mut after = Uuid::nil();
        loop {
            // A chain is of one process, which has one key to tag with, and its rows are numbered without gaps.
            let page = self.audit_ends(after).await?;
            for end in &page {
                *tagged.entry(("audit.tag", Sealed::key_of(&end.tag))).or_default() += end.rows();
            }
            let Some(last) = page.last() else { break };
            after = last.chain;
        }
        counts.extend(listed(tagged));
        Ok(counts)
    }

    /// Counts what each key has sealed.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn count_values(&self) -> Result<Vec<KeyCount>, StoreError> {
        let mut counts = Counts::new();
        for table in SEALED_TABLES {
            let statement: &Statement = match table {
                "connections" => &CONNECTIONS,
                "attempts" => &ATTEMPTS,
                "revocations" => &REVOCATIONS,
                _ => &REGISTRATIONS,
            };
            let cells: Vec<Cell> = Cell::ALL.iter().copied().filter(|cell| cell.table() == table).collect();
            let mut after = Uuid::nil();
            loop {
                let page = self.values(statement, after).await?;
                for (id, one, two, three) in &page {
                    after = *id;
                    for (cell, value) in cells.iter().zip([one, two, three]) {
                        let Some(value) = value else { continue };
                        *counts.entry((cell.name(), Sealed::key_of(value))).or_default() += 1;
                    }
                }
                if page.len() < PAGE {
                    break;
                }
            }
        }
        Ok(listed(counts).collect())
    }

    async fn values(&self, statement: &'static Statement, after: Uuid) -> Result<Vec<ValuesRow>, StoreError> {
        let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
        Ok(read!(self, statement, |sql, pool| {
            sqlx::query_as(sql).bind(after).bind(limit).fetch_all(pool).await?
        }))
    }
}

fn listed(counts: Counts) -> impl Iterator<Item = KeyCount> {
    counts.into_iter().map(|((cell, key), rows)| KeyCount { cell: cell.to_owned(), key, rows })
}
