//! The only caller of the system clock.
//!
//! Instants are milliseconds since the Unix epoch, as the store keeps them. The clock also sleeps, so that
//! long-polls, back-offs and expiry move together when a test advances it. What it must never do: decide a
//! lease, which is the database's clock's.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::sync::watch;

/// Milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// This instant and a span; saturates, so that no input can wrap it.
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// This instant less a span; saturates.
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long until `later`; zero when it has passed.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }

    /// Whole seconds since the epoch, as JWTs count (RFC 7519, section 2).
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// From whole seconds since the epoch; saturates.
    pub fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// RFC 3339 in UTC, as the API writes times. An instant outside of the years 0 to 9999 is clamped.
    pub fn rfc3339(self) -> String {
        const LAST: i64 = 253_402_300_799_999;
        let clamped = i128::from(self.0.clamp(-62_167_219_200_000, LAST)) * 1_000_000;
        OffsetDateTime::from_unix_timestamp_nanos(clamped)
            .ok()
            .and_then(|at| at.format(&Rfc3339).ok())
            .unwrap_or_default()
    }
}

/// Tells the time and waits. Cloning shares the clock.
#[derive(Clone)]
pub struct Clock(Kind);

#[derive(Clone)]
enum Kind {
    System,
    Manual(Arc<Manual>),
}

struct Manual {
    now: AtomicI64,
    moved: watch::Sender<()>,
}

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self(Kind::System)
    }

    /// A clock that starts at the system's now and moves only by [`Clock::advance`]. Peers in tests live in wall
    /// time, hence the start.
    pub fn manual() -> Self {
        let now = AtomicI64::new(system_now().0);
        Self(Kind::Manual(Arc::new(Manual { now, moved: watch::channel(()).0 })))
    }

    /// Now.
    pub fn now(&self) -> Millis {
        match &self.0 {
            Kind::System => system_now(),
            Kind::Manual(manual) => Millis(manual.now.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock and wakes whoever sleeps on it; nothing on the system's clock.
    pub fn advance(&self, span: Duration) {
        if let Kind::Manual(manual) = &self.0 {
            manual.now.fetch_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
            manual.moved.send_replace(());
        }
    }

    /// Waits for `span` of this clock's time.
    pub async fn sleep(&self, span: Duration) {
        self.sleep_until(self.now().plus(span)).await;
    }

    /// Waits until this clock shows `at`.
    #[expect(clippy::disallowed_methods, reason = "the clock is where sleeping is defined")]
    pub async fn sleep_until(&self, at: Millis) {
        match &self.0 {
            Kind::System => tokio::time::sleep(system_now().until(at)).await,
            Kind::Manual(manual) => {
                let mut moved = manual.moved.subscribe();
                while Millis(manual.now.load(Ordering::SeqCst)) < at {
                    if moved.changed().await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0 {
            Kind::System => "system",
            Kind::Manual(_) => "manual",
        };
        write!(f, "Clock({kind})")
    }
}

#[expect(clippy::disallowed_methods, reason = "the one reading of the system clock")]
fn system_now() -> Millis {
    Millis(i64::try_from(OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sleeper_wakes_when_the_clock_is_advanced() {
        let clock = Clock::manual();
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep(Duration::from_secs(3600)).await }
        });
        tokio::task::yield_now().await;
        clock.advance(Duration::from_secs(3600));
        sleeper.await.unwrap();
    }

    #[test]
    fn times_are_written_in_rfc_3339() {
        assert_eq!(Millis(1_764_417_600_000).rfc3339(), "2025-11-29T12:00:00Z");
        assert_eq!(Millis(i64::MAX).rfc3339(), "9999-12-31T23:59:59.999Z");
    }
}
