//! What keeps a process at a marked point until it is killed there.

use consentry_fakes::Gate;

use super::{chance, process::until, proxy::Hold, scene::Scene};
use crate::contract::raw::Raw;

/// What holds it. Dropped when the process is dead.
pub(super) enum Held {
    AtProvider(Gate),
    InProxy(Hold),
    /// Nobody else writes to the file while this connection holds its lock.
    Locked(Gate, Raw),
    /// Without a wire: until it can be seen in the file.
    Seen {
        what: &'static str,
        sql: String,
        number: i64,
    },
    /// A moment that nobody has chosen, within this time.
    ByChance {
        millis: u64,
    },
}

impl Held {
    /// Waits until the process is at the point.
    pub(super) async fn reached(&mut self, scene: &Scene) {
        match self {
            Self::AtProvider(gate) => gate.reached_by(1).await,
            Self::InProxy(hold) => hold.reached().await,
            Self::Locked(gate, raw) => {
                gate.reached_by(1).await;
                raw.begin().await;
                gate.open();
                chance(50).await;
            }
            Self::Seen { what, sql, number } => {
                let mut raw = scene.raw().await;
                until(what, async || (raw.number(sql).await == *number).then_some(())).await;
            }
            Self::ByChance { millis } => chance(*millis).await,
        }
    }
}
