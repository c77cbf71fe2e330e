//! Sealing anew, row by row and guarded: a value is replaced only where exactly the one that was read still stands, so
//! that a refresh or a disconnect at the same moment wins. What it must never do: see a plain secret.

use sqlx::FromRow;
use uuid::Uuid;

use super::{
    Store, StoreError,
    statements::{Statement, statements},
    tx::{read, write},
};
use crate::{
    clock::Millis,
    vault::{Cell, KeyId, Sealed},
};

statements! {
    /// The end of a span of rows: what one statement looks at, however little of it is to be sealed anew.
    CONNECTION_SPAN = "SELECT id FROM connections WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2";
    ATTEMPT_SPAN = "SELECT id FROM attempts WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2";
    REVOCATION_SPAN = "SELECT id FROM revocations WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2";

    REGISTRATION_SPAN = "SELECT id FROM client_registrations WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2";

    /// Rows of a span in which something is not sealed under the key whose values begin with `$3`.
    CONNECTIONS = "SELECT id, server, issuer, sub, provider, generation, access AS one, refresh AS two, \
        CAST(NULL AS BYTEA) AS three FROM connections WHERE id > $1 AND id <= $5 \
        AND (substr(access, 1, CAST($2 AS INTEGER)) <> $3 OR substr(refresh, 1, CAST($2 AS INTEGER)) <> $3) \
        ORDER BY id LIMIT $4";

    ATTEMPTS = "SELECT a.id, e.server, e.issuer, e.sub, e.provider, CAST(0 AS BIGINT) AS generation, \
        a.verifier AS one, a.parked AS two, a.offer AS three \
        FROM attempts a JOIN elicitations e ON e.id = a.elicitation WHERE a.id > $1 AND a.id <= $5 \
        AND (substr(a.verifier, 1, CAST($2 AS INTEGER)) <> $3 OR substr(a.parked, 1, CAST($2 AS INTEGER)) <> $3 \
            OR substr(a.offer, 1, CAST($2 AS INTEGER)) <> $3) ORDER BY a.id LIMIT $4";

    REVOCATIONS = "SELECT id, server, issuer, sub, provider, CAST(0 AS BIGINT) AS generation, token AS one, \
        CAST(NULL AS BYTEA) AS two, CAST(NULL AS BYTEA) AS three FROM revocations \
        WHERE id > $1 AND id <= $5 AND substr(token, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY id LIMIT $4";

    /// A client's secret is nobody's but the MCP server's.
    REGISTRATIONS = "SELECT id, server, issuer, CAST('' AS TEXT) AS sub, provider, generation, secret AS one, \
        CAST(NULL AS BYTEA) AS two, CAST(NULL AS BYTEA) AS three FROM client_registrations \
        WHERE id > $1 AND id <= $5 AND substr(secret, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY id LIMIT $4";

    RESEAL_ACCESS = "UPDATE connections SET access = $3 WHERE id = $1 AND access = $2 AND generation = $4";
    RESEAL_REFRESH = "UPDATE connections SET refresh = $3 WHERE id = $1 AND refresh = $2 AND generation = $4";
    RESEAL_VERIFIER = "UPDATE attempts SET verifier = $3 WHERE id = $1 AND verifier = $2 AND $4 = 0";
    RESEAL_PARKED = "UPDATE attempts SET parked = $3 WHERE id = $1 AND parked = $2 AND $4 = 0";
    RESEAL_OFFER = "UPDATE attempts SET offer = $3 WHERE id = $1 AND offer = $2 AND $4 = 0";
    RESEAL_TOKEN = "UPDATE revocations SET token = $3 WHERE id = $1 AND token = $2 AND $4 = 0";

    RESEAL_CLIENT_SECRET = "UPDATE client_registrations SET secret = $3 \
        WHERE id = $1 AND secret = $2 AND generation = $4";

    RESEALINGS = "SELECT key_id, cells, after_id, resealed, started_at_ms, updated_at_ms, finished_at_ms \
        FROM resealings ORDER BY started_at_ms, key_id, cells";

    NOTE_RESEALING = "INSERT INTO resealings (key_id, cells, after_id, resealed, started_at_ms, updated_at_ms, \
        finished_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (key_id, cells) DO UPDATE SET \
        after_id = excluded.after_id, resealed = excluded.resealed, started_at_ms = excluded.started_at_ms, \
        updated_at_ms = excluded.updated_at_ms, finished_at_ms = excluded.finished_at_ms";
}

/// The tables that hold sealed values, in the order in which they are sealed anew.
pub const SEALED_TABLES: [&str; 4] = ["connections", "attempts", "revocations", "client_registrations"];

/// Rows that one statement looks at.
const SPAN: i64 = 10_000;

/// Rows of which something is to be sealed anew.
#[derive(Clone, Debug)]
pub struct SealedPage {
    /// In the order of their ids.
    pub rows: Vec<SealedRow>,
    /// Up to which row everything was looked at; none when that is the end of the table.
    pub through: Option<Uuid>,
}

/// A row of which something is to be sealed anew.
#[derive(Clone, Debug)]
pub struct SealedRow {
    /// Its id.
    pub id: Uuid,
    /// The tenant.
    pub server: String,
    /// The issuer of the subject.
    pub issuer: String,
    /// The subject.
    pub sub: String,
    /// The provider.
    pub provider: String,
    /// The generation that its values are sealed for.
    pub generation: i64,
    /// What it holds.
    pub values: Vec<(Cell, Sealed)>,
}

/// How far sealing a table anew under a key has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resealing {
    /// The new key.
    pub key: String,
    /// The table.
    pub table: String,
    /// Everything up to this row was looked at.
    pub after: Option<Uuid>,
    /// Values sealed anew so far.
    pub resealed: i64,
    /// When it began.
    pub started_at: Millis,
    /// When it last went on.
    pub updated_at: Millis,
    /// When it came to the end.
    pub finished_at: Option<Millis>,
}

#[derive(FromRow)]
struct PageRow {
    id: Uuid,
    server: String,
    issuer: String,
    sub: String,
    provider: String,
    generation: i64,
    one: Option<Vec<u8>>,
    two: Option<Vec<u8>>,
    three: Option<Vec<u8>>,
}

type ResealingRow = (String, String, Option<Uuid>, i64, i64, i64, Option<i64>);

impl Store {
    /// Up to `limit` of the next rows of one of [`SEALED_TABLES`] in which something is not sealed under `key`.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn to_reseal(
        &self,
        table: &str,
        key: &KeyId,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<SealedPage, StoreError> {
        let (span, page): (&Statement, &Statement) = match table {
            "connections" => (&CONNECTION_SPAN, &CONNECTIONS),
            "attempts" => (&ATTEMPT_SPAN, &ATTEMPTS),
            "revocations" => (&REVOCATION_SPAN, &REVOCATIONS),
            _ => (&REGISTRATION_SPAN, &REGISTRATIONS),
        };
        let cells: Vec<Cell> = Cell::ALL.iter().copied().filter(|cell| cell.table() == table).collect();
        let after = after.unwrap_or(Uuid::nil());
        let span: Option<Uuid> = read!(self, span, |sql, pool| {
            sqlx::query_scalar(sql).bind(after).bind(SPAN - 1).fetch_optional(pool).await?
        });
        let beginning = Sealed::beginning(key);
        let length = i32::try_from(beginning.len()).unwrap_or(i32::MAX);
        let rows: Vec<PageRow> = read!(self, page, |sql, pool| {
            sqlx::query_as(sql)
                .bind(after)
                .bind(length)
                .bind(&beginning)
                .bind(i64::from(limit))
                .bind(span.unwrap_or(Uuid::max()))
                .fetch_all(pool)
                .await?
        });
        let full = rows.len() >= limit as usize;
        let through = if full { rows.last().map(|row| row.id) } else { span };
        Ok(SealedPage { rows: rows.into_iter().map(|row| row.with(&cells)).collect(), through })
    }

    /// Puts `new` where exactly `old` stands. False when something else does by now.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn reseal(
        &self,
        cell: Cell,
        row: &SealedRow,
        old: &Sealed,
        new: &Sealed,
    ) -> Result<bool, StoreError> {
        let statement = match cell {
            Cell::ConnectionAccess => &RESEAL_ACCESS,
            Cell::ConnectionRefresh => &RESEAL_REFRESH,
            Cell::AttemptVerifier => &RESEAL_VERIFIER,
            Cell::AttemptParked => &RESEAL_PARKED,
            Cell::AttemptOffer => &RESEAL_OFFER,
            Cell::RevocationToken => &RESEAL_TOKEN,
            Cell::RegistrationSecret => &RESEAL_CLIENT_SECRET,
        };
        let rows = write!(self, statement, |sql, pool| {
            sqlx::query(sql)
                .bind(row.id)
                .bind(old.as_bytes())
                .bind(new.as_bytes())
                .bind(row.generation)
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(rows == 1)
    }

    /// How far sealing anew has come, under every key that it was done for.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn resealings(&self) -> Result<Vec<Resealing>, StoreError> {
        let rows: Vec<ResealingRow> =
            read!(self, RESEALINGS, |sql, pool| sqlx::query_as(sql).fetch_all(pool).await?);
        Ok(rows.into_iter().map(Resealing::from).collect())
    }

    /// Notes how far it has come.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn note_resealing(&self, one: &Resealing) -> Result<(), StoreError> {
        write!(self, NOTE_RESEALING, |sql, pool| {
            sqlx::query(sql)
                .bind(&one.key)
                .bind(&one.table)
                .bind(one.after)
                .bind(one.resealed)
                .bind(one.started_at.0)
                .bind(one.updated_at.0)
                .bind(one.finished_at.map(|at| at.0))
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(())
    }
}

impl PageRow {
    fn with(self, cells: &[Cell]) -> SealedRow {
        let values = [self.one, self.two, self.three].into_iter().zip(cells);
        SealedRow {
            id: self.id,
            server: self.server,
            issuer: self.issuer,
            sub: self.sub,
            provider: self.provider,
            generation: self.generation,
            values: values.filter_map(|(value, cell)| Some((*cell, Sealed::from_bytes(value?)))).collect(),
        }
    }
}

impl From<ResealingRow> for Resealing {
    fn from((key, table, after, resealed, started, updated, finished): ResealingRow) -> Self {
        Self {
            key,
            table,
            after,
            resealed,
            started_at: Millis(started),
            updated_at: Millis(updated),
            finished_at: finished.map(Millis),
        }
    }
}
