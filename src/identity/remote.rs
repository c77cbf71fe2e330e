//! One document of a peer, kept for a while: fetched by one task at a time, used a while longer when its source is
//! down, and never asked for more often than its pauses allow (R30, R94).

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::IdentityError;
use crate::clock::{Clock, Millis};

/// After a failure, the same answer is given for this long without asking again.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);
/// At most one fetch out of turn in this span.
const FORCED_PAUSE: Duration = Duration::from_mins(1);

/// How long a document is used.
#[derive(Clone, Copy)]
pub(super) struct Life {
    /// Without asking.
    pub(super) fresh: Duration,
    /// While its source does not answer.
    pub(super) stale: Duration,
}

/// A document and when it was fetched.
pub(super) struct Remote<T> {
    life: Life,
    clock: Clock,
    state: Mutex<State<T>>,
    fetching: tokio::sync::Mutex<()>,
}

struct State<T> {
    value: Option<(Arc<T>, Millis)>,
    failed: Option<(IdentityError, Millis)>,
    forced: Option<Millis>,
}

impl<T> Remote<T> {
    pub(super) fn new(life: Life, clock: Clock) -> Self {
        let state = State { value: None, failed: None, forced: None };
        Self { life, clock, state: Mutex::new(state), fetching: tokio::sync::Mutex::new(()) }
    }

    /// The document, fetched when there is none that is fresh. `fetch` runs at most once.
    pub(super) async fn get(
        &self,
        fetch: impl Future<Output = Result<T, IdentityError>>,
    ) -> Result<Arc<T>, IdentityError> {
        if let Some(known) = self.known(self.life.fresh) {
            return Ok(known);
        }
        let _turn = match (self.fetching.try_lock(), self.known(self.life.stale)) {
            (Ok(turn), _) => turn,
            // Somebody is asking already: what is a little old serves until they have the answer.
            (Err(_), Some(stale)) => return Ok(stale),
            (Err(_), None) => self.fetching.lock().await,
        };
        if let Some(known) = self.known(self.life.fresh) {
            return Ok(known);
        }
        if let Some(error) = self.recent_failure() {
            return self.known(self.life.stale).ok_or(error);
        }
        self.fetch(fetch).await
    }

    /// The document, fetched out of turn because the one that is known does not serve; `None` when that was done
    /// a moment ago.
    pub(super) async fn forced(
        &self,
        fetch: impl Future<Output = Result<T, IdentityError>>,
    ) -> Option<Result<Arc<T>, IdentityError>> {
        {
            let now = self.clock.now();
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.forced.is_some_and(|at| within(at, now, FORCED_PAUSE)) {
                return None;
            }
            state.forced = Some(now);
        }
        let _turn = self.fetching.lock().await;
        Some(self.fetch(fetch).await)
    }

    async fn fetch(
        &self,
        fetch: impl Future<Output = Result<T, IdentityError>>,
    ) -> Result<Arc<T>, IdentityError> {
        let fetched = fetch.await;
        let now = self.clock.now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match fetched {
            Ok(value) => {
                let value = Arc::new(value);
                state.value = Some((value.clone(), now));
                state.failed = None;
                Ok(value)
            }
            Err(error) => {
                state.failed = Some((error, now));
                // Only silence is excused by what was known before; an answer that is refused is not.
                let excused = matches!(error, IdentityError::Unreachable(_));
                let stale =
                    state.value.as_ref().filter(|(_, at)| excused && within(*at, now, self.life.stale));
                stale.map(|(value, _)| value.clone()).ok_or(error)
            }
        }
    }

    fn known(&self, age: Duration) -> Option<Arc<T>> {
        let now = self.clock.now();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = state.failed.is_some_and(|(error, _)| !matches!(error, IdentityError::Unreachable(_)));
        let usable = state.value.as_ref().filter(|(_, at)| !refused && within(*at, now, age));
        usable.map(|(value, _)| value.clone())
    }

    fn recent_failure(&self) -> Option<IdentityError> {
        let now = self.clock.now();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failed.filter(|(_, at)| within(*at, now, FAILURE_PAUSE)).map(|(error, _)| error)
    }
}

fn within(at: Millis, now: Millis, span: Duration) -> bool {
    now < at.plus(span) && at.0 <= now.0.saturating_add(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Life = Life { fresh: Duration::from_mins(5), stale: Duration::from_hours(1) };

    async fn answer(value: u32) -> Result<u32, IdentityError> {
        Ok(value)
    }

    async fn silence() -> Result<u32, IdentityError> {
        Err(IdentityError::Unreachable("test"))
    }

    async fn nonsense() -> Result<u32, IdentityError> {
        Err(IdentityError::Metadata("test"))
    }

    #[tokio::test]
    async fn a_document_is_asked_for_once_while_it_is_fresh() {
        let clock = Clock::manual();
        let remote = Remote::new(LIFE, clock.clone());
        assert_eq!(*remote.get(answer(1)).await.unwrap(), 1);
        assert_eq!(*remote.get(answer(2)).await.unwrap(), 1);
        clock.advance(LIFE.fresh);
        assert_eq!(*remote.get(answer(3)).await.unwrap(), 3);
    }

    #[tokio::test]
    async fn silence_is_bridged_for_a_bounded_time_and_a_refusal_is_not() {
        let clock = Clock::manual();
        let remote = Remote::new(LIFE, clock.clone());
        remote.get(answer(1)).await.unwrap();
        clock.advance(LIFE.fresh);
        assert_eq!(*remote.get(silence()).await.unwrap(), 1);
        clock.advance(LIFE.stale);
        assert!(remote.get(silence()).await.is_err());
        // A pause follows, and then one trial goes through.
        assert!(remote.get(answer(2)).await.is_err());
        clock.advance(FAILURE_PAUSE);
        assert_eq!(*remote.get(answer(2)).await.unwrap(), 2);
        clock.advance(LIFE.fresh);
        assert_eq!(remote.get(nonsense()).await.unwrap_err(), IdentityError::Metadata("test"));
        assert!(remote.get(silence()).await.is_err());
    }

    /// R30: however many ask, one fetch out of turn a minute.
    #[tokio::test]
    async fn r30_a_fetch_out_of_turn_is_throttled() {
        let clock = Clock::manual();
        let remote = Remote::new(LIFE, clock.clone());
        remote.get(answer(1)).await.unwrap();
        assert_eq!(*remote.forced(answer(2)).await.unwrap().unwrap(), 2);
        for _ in 0..1000 {
            assert!(remote.forced(answer(3)).await.is_none());
        }
        clock.advance(FORCED_PAUSE);
        assert_eq!(*remote.forced(answer(4)).await.unwrap().unwrap(), 4);
    }
}
