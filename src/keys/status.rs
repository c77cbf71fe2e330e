//! What each key has sealed, who seals with it, and whether it can go.

use std::collections::BTreeMap;

use super::ALIVE;
use crate::{
    clock::Millis,
    store::{Replica, Resealing, Retired, Store, StoreError},
    vault::{KeyId, Vault},
};

/// Why a key cannot be retired.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hindrance {
    /// It is the first of this configuration.
    #[error("it is the first key of this configuration: new values are sealed with it")]
    First,
    /// Values that it sealed are stored.
    #[error("{0} stored values are sealed with it: `consentry key rotate` seals them anew")]
    Rows(i64),
    /// Processes seal with it.
    #[error("{0} running processes seal with it: restart them with another key in front")]
    Replicas(usize),
    /// Nothing here was ever sealed with it.
    #[error("nothing here was ever sealed with a key of this id")]
    Unknown,
}

/// One key.
#[derive(Clone, Debug)]
pub struct KeyStatus {
    /// Its id; none for values that are not of the form of a sealed one.
    pub id: Option<KeyId>,
    /// Its place in this configuration's ring; 0 seals.
    pub place: Option<usize>,
    /// Since when it seals here.
    pub first_used_at: Option<Millis>,
    /// When it was retired.
    pub retired_at: Option<Millis>,
    /// Values that it sealed, by the name of their cell.
    pub rows: BTreeMap<String, i64>,
    /// Rows of the audit record that are tagged under it. They do not keep it from being retired, and without it they
    /// cannot be checked.
    pub audit_rows: i64,
    /// Processes that seal with it.
    pub replicas: usize,
}

/// Everything that is known of keys.
#[derive(Clone, Debug)]
pub struct Status {
    /// Those of the ring in its order, then others.
    pub keys: Vec<KeyStatus>,
    /// The processes that serve.
    pub replicas: Vec<Replica>,
    /// How far sealing anew has come.
    pub resealings: Vec<Resealing>,
}

impl KeyStatus {
    fn new(id: Option<KeyId>) -> Self {
        Self {
            id,
            place: None,
            first_used_at: None,
            retired_at: None,
            rows: BTreeMap::new(),
            audit_rows: 0,
            replicas: 0,
        }
    }

    /// Values that it sealed, in all cells.
    pub fn all_rows(&self) -> i64 {
        self.rows.values().sum()
    }

    /// Why it cannot be retired; nothing when it can.
    pub fn hindrance(&self) -> Option<Hindrance> {
        match self {
            Self { place: Some(0), .. } => Some(Hindrance::First),
            Self { replicas, .. } if *replicas > 0 => Some(Hindrance::Replicas(*replicas)),
            Self { .. } if self.all_rows() > 0 => Some(Hindrance::Rows(self.all_rows())),
            Self { first_used_at: None, .. } => Some(Hindrance::Unknown),
            Self { .. } => None,
        }
    }
}

/// Looks at every sealed value.
///
/// # Errors
/// The store's.
pub async fn status(store: &Store, vault: &Vault, now: Millis) -> Result<Status, StoreError> {
    let mut keys: Vec<KeyStatus> = vault.keys().map(|id| KeyStatus::new(Some(id.clone()))).collect();
    for (place, key) in keys.iter_mut().enumerate() {
        key.place = Some(place);
    }
    for known in store.sealing_keys().await? {
        let Ok(id) = KeyId::new(known.id) else { continue };
        let key = of(&mut keys, Some(id));
        key.first_used_at = Some(known.first_used_at);
        key.retired_at = known.retired_at;
    }
    for count in store.count_keys().await? {
        let is_sealed = count.is_sealed();
        let key = of(&mut keys, count.key);
        if is_sealed {
            *key.rows.entry(count.cell).or_default() += count.rows;
        } else {
            key.audit_rows += count.rows;
        }
    }
    let replicas = store.replicas(now.minus(ALIVE)).await?;
    for replica in &replicas {
        let Ok(id) = KeyId::new(replica.key.as_str()) else { continue };
        of(&mut keys, Some(id)).replicas += 1;
    }
    Ok(Status { keys, replicas, resealings: store.resealings().await? })
}

fn of(keys: &mut Vec<KeyStatus>, id: Option<KeyId>) -> &mut KeyStatus {
    let at = keys.iter().position(|key| key.id == id).unwrap_or(keys.len());
    if at == keys.len() {
        keys.push(KeyStatus::new(id));
    }
    &mut keys[at]
}

/// Lets a key go: from now on the configuration need not have it. The hindrance says why not.
///
/// # Errors
/// The store's.
pub async fn retire(
    store: &Store,
    vault: &Vault,
    key: &KeyId,
    now: Millis,
) -> Result<Result<(), Hindrance>, StoreError> {
    if vault.current_key() == key {
        return Ok(Err(Hindrance::First));
    }
    Ok(match store.retire(key, now.minus(ALIVE), now).await? {
        Retired::Yes => Ok(()),
        Retired::Unknown => Err(Hindrance::Unknown),
        Retired::Rows(rows) => Err(Hindrance::Rows(rows)),
        Retired::Replicas(count) => Err(Hindrance::Replicas(count)),
    })
}
