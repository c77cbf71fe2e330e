//! The store: elicitations, attempts, connections, signals and sessions, on SQLite or Postgres.
//!
//! Both engines run the same SQL text. Every move is a guarded statement, so that the database decides who wins a
//! race; `now` is always the caller's. Sealed values come in sealed and go out sealed. Each file has its
//! statements on top, its row types below and its methods after. What is never here: the system clock, a key, a
//! transaction that waits for the network.

mod alone;
mod attempts;
mod audit;
mod clocks;
mod codes;
mod connections;
mod creation;
mod deliveries;
mod elicitations;
mod hosted;
mod key_counts;
mod keys;
mod kill_switch;
mod lane;
mod leases;
mod mcp;
mod notices;
mod open;
mod people;
mod place;
mod registrations;
mod reports;
mod resealings;
mod restores;
mod revocations;
mod sessions;
mod settle;
mod signals;
pub mod statements;
mod sweep;
mod trips;
mod tx;
mod uses;
mod visits;
mod wake;

use std::sync::Arc;

use tokio::sync::watch;

use self::open::Pools;
pub(crate) use self::wake::POLL;
pub use self::{
    alone::{Alone, AloneError},
    audit::{AuditFilter, ChainEnds},
    clocks::Clocked,
    codes::{Mint, Proof, Typed},
    connections::{ConnectionFilter, Disconnected},
    creation::{Before, Created, CreatedOnce, Idempotency},
    deliveries::Backlog,
    hosted::{BothHalves, Redemption, Returned, Said},
    key_counts::KeyCount,
    keys::{Entered, Replica, Retired, SealingKey},
    leases::{Failing, Lease, Renewed, Watched},
    open::UrlError,
    people::Held,
    registrations::{NewRegistration, RegistrationClaim, ToRegister},
    reports::Reported,
    resealings::{Resealing, SEALED_TABLES, SealedPage, SealedRow},
    restores::{RESTORED, Restore, Tally},
    revocations::Standing,
    sessions::{NewSignIn, SessionRow, SignInRow, SignedIn},
    settle::{Settled, Settlement},
    statements::{Engine, Statement},
    trips::TripEnd,
    uses::Uses,
    visits::{Visit, Visitor},
};
use crate::random::Random;

/// The store. Cloning shares the pools.
#[derive(Clone)]
pub struct Store {
    pools: Pools,
    lane: Option<lane::Lane>,
    random: Random,
    wake: wake::Wake,
    notices: Option<notices::Notices>,
    journal: Option<Arc<audit::Journal>>,
    posted: deliveries::Posted,
    queued: Arc<watch::Sender<()>>,
    tried: Arc<watch::Sender<()>>,
}

/// Why the store did not do it. Never holds a value of a row.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL is neither `sqlite:` nor `postgres://`.
    #[error("the database URL is not one of ours")]
    Url,
    /// The database cannot be reached, or has no room; trying again may help.
    #[error("the database is unavailable: {0}")]
    Unavailable(&'static str),
    /// A row holds what no version of this program writes.
    #[error("a row of {table} cannot be read: {column}")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
    /// The schema could not be brought up to date.
    #[error("the schema could not be migrated")]
    Migration(#[source] sqlx::migrate::MigrateError),
    /// Anything else that the engine says.
    #[error("the database refused a statement")]
    Refused(#[source] sqlx::Error),
}

impl StoreError {
    /// Whether the same move may succeed when tried again at once: a deadlock, a serialization failure, a busy
    /// file.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused(sqlx::Error::Database(error)) => {
                let code = error.code().unwrap_or_default();
                // SQLITE_BUSY, SQLITE_LOCKED.
                matches!(&*code, "40001" | "40P01") || matches!(sqlite_code(&code), Some(5 | 6))
            }
            _ => false,
        }
    }
}

/// The primary result code of SQLite in an extended one, whose further bits say how it came to that; none for a code of
/// Postgres, which has five characters.
fn sqlite_code(code: &str) -> Option<u32> {
    let extended: u32 = code.parse().ok().filter(|_| code.len() < 5)?;
    Some(extended & 0xff)
}

impl From<sqlx::migrate::MigrateError> for StoreError {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        Self::Migration(error)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::PoolTimedOut => Self::Unavailable("no connection became free in time"),
            sqlx::Error::PoolClosed => Self::Unavailable("it is closed"),
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => {
                Self::Unavailable("the connection to it broke")
            }
            sqlx::Error::Database(database) => match database.code().as_deref() {
                // Connection exceptions, no room, operator intervention (PostgreSQL, appendix A).
                Some(code)
                    if ["08", "53", "57", "58"]
                        .iter()
                        .any(|class| code.len() == 5 && code.starts_with(class)) =>
                {
                    Self::Unavailable("it does not accept work now")
                }
                Some("55P03") => Self::Unavailable("somebody holds a lock for too long"),
                // invalid_password, invalid_authorization_specification, invalid_catalog_name; SQLITE_NOTADB.
                Some("28P01" | "28000") => Self::Unavailable("it refuses the user or the password"),
                Some("3D000") => Self::Unavailable("it has no database of that name"),
                code => match code.and_then(sqlite_code) {
                    Some(26) => Self::Unavailable("the file is no SQLite database"),
                    // SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN.
                    Some(10 | 13 | 14) => Self::Unavailable("its file cannot be written"),
                    _ => Self::Refused(error),
                },
            },
            _ => Self::Refused(error),
        }
    }
}

impl Store {
    /// Every statement of the program.
    pub fn statements() -> Vec<&'static Statement> {
        [
            attempts::ALL,
            audit::ALL,
            clocks::ALL,
            codes::ALL,
            connections::ALL,
            creation::ALL,
            deliveries::ALL,
            elicitations::ALL,
            hosted::ALL,
            kill_switch::ALL,
            leases::ALL,
            mcp::ALL,
            open::ALL,
            reports::ALL,
            keys::ALL,
            key_counts::ALL,
            registrations::ALL,
            resealings::ALL,
            restores::ALL,
            revocations::ALL,
            people::ALL,
            place::ALL,
            sessions::ALL,
            settle::ALL,
            signals::ALL,
            sweep::ALL,
            trips::ALL,
            uses::ALL,
            visits::ALL,
        ]
        .concat()
    }
}
