//! The time a fake believes in: wall time plus an offset that tests move.
//!
//! Peers live on wall time, so the offset starts at zero; nothing here ever waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock that is shared by all its clones: moving one moves all.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    offset_ms: Arc<AtomicI64>,
}

impl Clock {
    /// Milliseconds since the Unix epoch, offset included.
    pub fn now_ms(&self) -> i64 {
        wall_ms().saturating_add(self.offset_ms.load(Ordering::SeqCst))
    }

    /// Seconds since the Unix epoch, offset included: the unit of JWT claims.
    pub fn now_s(&self) -> i64 {
        self.now_ms().div_euclid(1000)
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.offset_ms.fetch_add(millis(by), Ordering::SeqCst);
    }

    /// Sets the distance from wall time in milliseconds; a negative one makes this party late.
    pub fn set_offset_ms(&self, offset: i64) {
        self.offset_ms.store(offset, Ordering::SeqCst);
    }
}

/// A duration as whole milliseconds, saturating.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "the fakes' only reading of the system clock")]
fn wall_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

/// Waits in wall time; only scripted delays do.
#[expect(clippy::disallowed_methods, reason = "a scripted delay is real: it is what a slow peer looks like")]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
