//! What every engine must do alike: each method of the store, each guard, each race.
//!
//! Each file's tests are functions of a fresh database; `contract!` runs them one by one on both engines, and
//! once more all together, to see that no statement of the program escapes.

use crate::engine::{Database, Engine};

/// [`on_both_engines!`], and `every`, which runs them all in this process.
macro_rules! contract {
    ($($name:ident),+ $(,)?) => {
        on_both_engines!($($name),+);

        /// Runs each test of this file on one database, emptied before each.
        pub(super) async fn every(db: &$crate::engine::Database) {
            $(
                $crate::contract::raw::empty(db).await;
                Box::pin($name(db.clone())).await;
            )+
        }
    };
}

mod agreement;
mod attempts;
mod audit;
mod clocks;
mod codes;
mod connections;
mod deliveries;
mod elicitations;
mod endings;
mod given;
mod hosted;
mod keys;
mod kill_switch;
mod leases;
mod mcp;
mod people;
mod place;
mod races;
pub(crate) mod raw;
mod registrations;
mod reports;
mod restores;
mod revocations;
mod schema;
mod sessions;
mod settle;
mod signals;
mod sweep;

/// Preparing is not enough: a statement counts when an engine has run it and the store has decoded what came.
async fn every_statement_runs(engine: Engine) {
    let db = Database::start(engine).await;
    elicitations::every(&db).await;
    attempts::every(&db).await;
    audit::every(&db).await;
    kill_switch::every(&db).await;
    connections::every(&db).await;
    leases::every(&db).await;
    registrations::every(&db).await;
    reports::every(&db).await;
    restores::every(&db).await;
    clocks::every(&db).await;
    codes::every(&db).await;
    settle::every(&db).await;
    hosted::every(&db).await;
    signals::every(&db).await;
    revocations::every(&db).await;
    deliveries::every(&db).await;
    sessions::every(&db).await;
    sweep::every(&db).await;
    people::every(&db).await;
    place::every(&db).await;
    keys::every(&db).await;
    // Behind those of the signals: from here on a listener is there.
    mcp::every(&db).await;
    raw::empty(&db).await;
    schema::migrating_again_changes_nothing(db.clone()).await;
    let never: Vec<&str> = consentry::store::Store::statements()
        .into_iter()
        .filter(|statement| !statement.ran_on(engine))
        .map(|statement| statement.text())
        .collect();
    assert!(never.is_empty(), "no test has run these on {engine:?}: {never:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_runs_on_sqlite() {
    every_statement_runs(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_runs_on_postgres() {
    every_statement_runs(Engine::Postgres).await;
}
