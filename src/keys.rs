//! The life of a sealing key: taken up by a process, counted, replaced under everything that it sealed, retired.
//!
//! Replicas whose rings are in different orders work side by side, for every key of a ring opens. What keeps that true
//! is checked where it could break: a process does not start without a key that has sealed something here, nor with a
//! first key that another one cannot open (R101, R102). What it must never do: change a value that it could not open,
//! or let a key go that something still needs.

mod rotate;
mod status;

use std::time::Duration;

use uuid::Uuid;

pub use self::{
    rotate::{Progress, Rotation, left, rotate},
    status::{Hindrance, KeyStatus, Status, retire, status},
};
use crate::{
    clock::Millis,
    store::{Entered, Store, StoreError},
    vault::{KeyId, Vault},
};

/// How often a process that serves tells that it is there.
pub const BEAT: Duration = Duration::from_secs(15);
/// How long after its last word it counts as alive.
pub const ALIVE: Duration = Duration::from_secs(60);

/// Why a process may not seal. Each is mended in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Barred {
    /// What is stored was sealed with a key that is not there (R102).
    #[error("the database was sealed with the encryption key {0}, which is not configured: give it back")]
    Missing(String),
    /// The first key of the ring was retired.
    #[error("the encryption key {0} was retired: put another one in front of it")]
    Retired(KeyId),
    /// Another process does not have the first key.
    #[error(
        "another process that runs on this database does not have the encryption key {0}: give it to every one, behind \
         their first, and put it in front when all have it"
    )]
    NotEverywhere(KeyId),
}

/// Whether the vault's ring goes with what is stored and with the processes that serve, and changes nothing. `serves`
/// is whether it is asked for a process that is to serve, and not for a command beside one.
///
/// # Errors
/// The store's.
pub async fn fits(
    store: &Store,
    vault: &Vault,
    serves: bool,
    now: Millis,
) -> Result<Result<(), Barred>, StoreError> {
    let ring: Vec<KeyId> = vault.keys().cloned().collect();
    let missing = unnoted(store).await?.into_iter().find(|key| !ring.contains(key));
    if let Some(missing) = missing {
        return Ok(Err(Barred::Missing(missing.to_string())));
    }
    Ok(barred(store.may_enter(&ring, serves, now.minus(ALIVE)).await?, vault))
}

/// Begins to seal with the vault's first key, as `replica` when the process serves. Whoever seals nothing must not:
/// from then on every process needs the key.
///
/// # Errors
/// The store's.
pub async fn enter(
    store: &Store,
    vault: &Vault,
    replica: Option<Uuid>,
    now: Millis,
) -> Result<Result<(), Barred>, StoreError> {
    let used = unnoted(store).await?;
    store.note_keys(&used, now).await?;
    let ring: Vec<KeyId> = vault.keys().cloned().collect();
    Ok(barred(store.enter(&ring, replica, now.minus(ALIVE), now).await?, vault))
}

/// Keys that have sealed something in a database that was filled by a version that did not note them.
async fn unnoted(store: &Store) -> Result<Vec<KeyId>, StoreError> {
    if !store.sealing_keys().await?.is_empty() {
        return Ok(Vec::new());
    }
    let mut used: Vec<KeyId> = store.count_values().await?.into_iter().filter_map(|one| one.key).collect();
    used.sort_unstable();
    used.dedup();
    Ok(used)
}

fn barred(entered: Entered, vault: &Vault) -> Result<(), Barred> {
    let first = || vault.current_key().clone();
    match entered {
        Entered::Yes => Ok(()),
        Entered::Missing(key) => Err(Barred::Missing(key)),
        Entered::Retired => Err(Barred::Retired(first())),
        Entered::NotEverywhere => Err(Barred::NotEverywhere(first())),
    }
}

/// Tells that a process that serves is still there.
///
/// # Errors
/// The store's.
pub async fn beat(store: &Store, vault: &Vault, replica: Uuid, now: Millis) -> Result<(), StoreError> {
    let ring: Vec<KeyId> = vault.keys().cloned().collect();
    if store.still_here(&ring, replica, now.minus(ALIVE), now).await? {
        tracing::error!(
            key = %vault.current_key(),
            "this key was retired while this process was taken for dead; it counts as in use again"
        );
    }
    Ok(())
}
