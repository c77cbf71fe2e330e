//! What was last found out from elsewhere: fresh for an hour, and in an outage the last of it for a day.
//!
//! One question at a time, none within half a minute of one that failed: a provider's outage must not become a flood of
//! ours. What it must never do: keep anything in use for longer than a day without having seen it again.

use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    clock::{Clock, Millis},
    provider::error::ProviderError,
};

const FRESH: Duration = Duration::from_secs(3600);
const STALE: Duration = Duration::from_secs(24 * 3600);
const PAUSE: Duration = Duration::from_secs(30);

/// See the head.
pub(super) struct Remembered<T> {
    state: Mutex<State<T>>,
    /// Held while it is asked for.
    turn: tokio::sync::Mutex<()>,
}

struct State<T> {
    last: Option<(Millis, Arc<T>)>,
    failed: Option<(Millis, ProviderError)>,
    doubted: Option<Millis>,
    /// Doubted, and not asked for since.
    doubtful: bool,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        let state = State { last: None, failed: None, doubted: None, doubtful: false };
        Self { state: Mutex::new(state), turn: tokio::sync::Mutex::default() }
    }
}

impl<T> Remembered<T> {
    /// What is known, asked for with `find` when that is too old. `find` runs at most once.
    pub(super) async fn get(
        &self,
        clock: &Clock,
        find: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<Arc<T>, ProviderError> {
        let _turn = self.turn.lock().await;
        if let Some(fresh) = self.fresh(clock.now()) {
            return Ok(fresh);
        }
        if let Some(error) = self.failed(clock.now()) {
            return self.last(clock.now()).ok_or(error);
        }
        match find.await {
            Ok(found) => {
                let found = Arc::new(found);
                let last = Some((clock.now(), found.clone()));
                let mut state = self.state();
                *state = State { last, failed: None, doubted: state.doubted, doubtful: false };
                Ok(found)
            }
            Err(error) => {
                self.state().failed = Some((clock.now(), error.clone()));
                self.last(clock.now()).ok_or(error)
            }
        }
    }

    /// What is known, if it may still be used; nobody is asked.
    pub(super) fn last(&self, now: Millis) -> Option<Arc<T>> {
        let state = self.state();
        state.last.as_ref().filter(|(at, _)| at.plus(STALE) > now).map(|(_, value)| value.clone())
    }

    /// Something did not work with what is known: it is asked for again at the next use, once in half a minute.
    pub(super) fn doubt(&self, now: Millis) {
        let mut state = self.state();
        if state.doubted.is_none_or(|at| at.plus(PAUSE) <= now) {
            state.doubted = Some(now);
            state.doubtful = true;
        }
    }

    fn fresh(&self, now: Millis) -> Option<Arc<T>> {
        let state = self.state();
        let (at, value) = state.last.as_ref()?;
        (!state.doubtful && at.plus(FRESH) > now).then(|| value.clone())
    }

    fn failed(&self, now: Millis) -> Option<ProviderError> {
        let state = self.state();
        state.failed.as_ref().filter(|(at, _)| at.plus(PAUSE) > now).map(|(_, error)| error.clone())
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn found(value: u32) -> Result<u32, ProviderError> {
        Ok(value)
    }

    #[tokio::test]
    async fn doubt_asks_again_once_and_keeps_what_is_known() {
        let clock = Clock::manual();
        let known = Remembered::default();
        assert_eq!(*known.get(&clock, found(1)).await.unwrap(), 1);
        known.doubt(clock.now());
        let down = async { Err(ProviderError::Unreachable { maybe_sent: false, retry_after: None }) };
        assert_eq!(*known.get(&clock, down).await.unwrap(), 1);
        clock.advance(PAUSE);
        assert_eq!(*known.get(&clock, found(2)).await.unwrap(), 2);
        assert_eq!(*known.get(&clock, found(3)).await.unwrap(), 2);
        clock.advance(STALE);
        assert!(known.last(clock.now()).is_none());
    }
}
