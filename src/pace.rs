//! How often something may happen, for each key: by the program's clock, in this process alone.
//!
//! With several replicas a bound holds for each of them.

use std::{hash::Hash, num::NonZeroU32, time::Duration};

use governor::{Quota, RateLimiter, middleware::NoOpMiddleware, state::keyed::DashMapStateStore};

use crate::clock::Clock;

/// Keys that are remembered before those that have been quiet are forgotten.
const KEYS_MAX: usize = 10_000;

/// Counts by key; a burst of a whole minute's worth is let through.
pub struct Pace<K: Hash + Eq + Clone> {
    limiter: RateLimiter<K, DashMapStateStore<K>, Ticks, NoOpMiddleware<Duration>>,
    ticks: Ticks,
}

/// The program's clock as the limiter reads it.
#[derive(Clone)]
struct Ticks(Clock);

impl governor::clock::Clock for Ticks {
    type Instant = Duration;

    fn now(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.now().0).unwrap_or(0))
    }
}

impl<K: Hash + Eq + Clone> Pace<K> {
    /// So many a minute; at least one.
    pub fn per_minute(times: u32, clock: Clock) -> Self {
        let quota = Quota::per_minute(NonZeroU32::new(times).unwrap_or(NonZeroU32::MIN));
        let ticks = Ticks(clock);
        Self { limiter: RateLimiter::new(quota, DashMapStateStore::default(), ticks.clone()), ticks }
    }

    /// So many a second; at least one.
    pub fn per_second(times: u32, clock: Clock) -> Self {
        let quota = Quota::per_second(NonZeroU32::new(times).unwrap_or(NonZeroU32::MIN));
        let ticks = Ticks(clock);
        Self { limiter: RateLimiter::new(quota, DashMapStateStore::default(), ticks.clone()), ticks }
    }

    /// Counts one.
    ///
    /// # Errors
    /// How long to wait, when it is one too many; then it is not counted.
    pub fn check(&self, key: &K) -> Result<(), Duration> {
        if self.limiter.len() > KEYS_MAX {
            self.limiter.retain_recent();
        }
        self.limiter
            .check_key(key)
            .map_err(|refused| refused.wait_time_from(governor::clock::Clock::now(&self.ticks)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutes_worth_is_let_through_and_comes_back_with_time() {
        let clock = Clock::manual();
        let pace = Pace::per_minute(3, clock.clone());
        assert!((0..3).all(|_| pace.check(&"a").is_ok()));
        let wait = pace.check(&"a").unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(20));
        assert!(pace.check(&"b").is_ok());
        clock.advance(Duration::from_secs(20));
        assert!(pace.check(&"a").is_ok());
    }
}
