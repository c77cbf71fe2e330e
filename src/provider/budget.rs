//! What a provider gets of us: so many requests a second, so many at once, first come first served, and none but a
//! trial while it is left alone ([`standing`](super::standing)).
//!
//! One budget for each registration (a configured provider is one), in this process alone; with several replicas it
//! holds for each of them. Where its addresses have variables, each set of values is left alone for itself: who answers
//! at one customer's host has no say over the others. Whoever waits here holds no database connection and no lease.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::{
    Tokens,
    failure::Failure,
    rate::Rate,
    standing::{BASE, Change, Errand, Leave, Paused, Standing, Why},
};
use crate::{
    clock::{Clock, Millis},
    config::Provider,
    elicitation::ProviderId,
    random::Random,
    telemetry::Metrics,
};

/// Requests that may wait for their turn.
const LONGEST_QUEUE: usize = 16_384;

/// The budget of one provider, and how we stand with it.
pub(super) struct Budget {
    shared: Arc<Shared>,
    standing: Mutex<Standing>,
    /// Whether this one is counted in [`Shared::paused`].
    paused: AtomicBool,
}

/// What all that have one budget share.
struct Shared {
    provider: ProviderId,
    trial: Duration,
    clock: Clock,
    metrics: Metrics,
    rate: Mutex<Rate>,
    /// So many of them are left alone.
    paused: AtomicUsize,
    /// Told when a permit is used or given back.
    settled: Notify,
    waiting: AtomicUsize,
    slots: Arc<Semaphore>,
    /// Held by whoever is next; hands itself on in the order of asking.
    front: tokio::sync::Mutex<()>,
}

/// Leave to send one request. Dropped unused, it is as if it had never been given.
#[must_use]
pub struct Permit {
    leave: Leaving,
    used: bool,
    _slot: OwnedSemaphorePermit,
}

/// A leave that hands itself back.
struct Leaving {
    budget: Arc<Budget>,
    leave: Leave,
}

/// Counts one that waits.
struct Waiting<'a>(&'a AtomicUsize);

impl Budget {
    /// The whole budget of `provider`.
    pub(super) fn new(provider: &Provider, trial: Duration, clock: Clock, metrics: Metrics) -> Self {
        let slots =
            usize::try_from(provider.concurrent_requests).unwrap_or(1).clamp(1, Semaphore::MAX_PERMITS);
        Self::sharing(Arc::new(Shared {
            provider: provider.id.clone(),
            trial,
            clock,
            metrics,
            rate: Mutex::new(Rate::new(provider.requests_per_second)),
            paused: AtomicUsize::new(0),
            settled: Notify::new(),
            waiting: AtomicUsize::new(0),
            slots: Arc::new(Semaphore::new(slots)),
            front: tokio::sync::Mutex::new(()),
        }))
    }

    /// The same budget for another place of the same registration, with which we stand as well as with anybody.
    pub(super) fn beside(&self) -> Self {
        Self::sharing(self.shared.clone())
    }

    fn sharing(shared: Arc<Shared>) -> Self {
        let standing = Mutex::new(Standing::new(shared.trial));
        Self { shared, standing, paused: AtomicBool::new(false) }
    }

    /// Waits for its turn.
    ///
    /// # Errors
    /// [`Paused`], at once or when the pause begins meanwhile.
    pub(super) async fn permit(self: Arc<Self>, errand: Errand) -> Result<Permit, Paused> {
        let now = self.shared.clock.now();
        let crowded = Paused { until: now.plus(BASE), why: Why::Crowded };
        let mut leave = self.leave(errand)?;
        let _waiting = Waiting::count(&self.shared.waiting).ok_or(crowded)?;
        let slot = self.shared.slots.clone().acquire_owned().await.map_err(|_| crowded)?;
        let _front = self.shared.front.lock().await;
        loop {
            if leave.leave == Leave::Free {
                // A pause may have begun since.
                leave = self.leave(errand)?;
            }
            let taken = lock(&self.shared.rate).take(self.shared.clock.now());
            match taken {
                Ok(()) => return Ok(Permit { leave, used: false, _slot: slot }),
                Err(at) => tokio::select! {
                    () = self.shared.settled.notified() => {}
                    () = wait_until(&self.shared.clock, at) => {}
                },
            }
        }
    }

    fn leave(self: &Arc<Self>, errand: Errand) -> Result<Leaving, Paused> {
        let leave = lock(&self.standing).leave(errand, self.shared.clock.now())?;
        Ok(Leaving { budget: self.clone(), leave })
    }

    /// A request that needed no leave was answered as it should be.
    pub(super) fn worked(&self) {
        let change = lock(&self.standing).worked();
        self.tell(change, None);
    }

    fn note(&self, failure: Option<&Failure>, leave: Leave) {
        let change =
            lock(&self.standing).note(failure, leave, self.shared.clock.now(), |bound| Random.below(bound));
        self.tell(change, failure);
    }

    /// One line and one number for a change, however many requests it is made of.
    fn tell(&self, change: Option<Change>, failure: Option<&Failure>) {
        let provider = &self.shared.provider;
        let code = failure.map_or("", Failure::word);
        match change {
            None => return,
            Some(Change::Paused(Paused { why: Why::ClientRefused, .. })) => tracing::error!(
                %provider,
                code,
                "the provider refuses our client, so that no credential is refreshed: see its client_id and client_secret"
            ),
            Some(Change::Paused(Paused { why, until })) => tracing::warn!(
                %provider,
                code,
                why = why.code(),
                until = until.rfc3339(),
                "refreshes are held back"
            ),
            Some(Change::Resumed(why)) => {
                tracing::info!(%provider, why = why.code(), "refreshes go out again");
            }
        }
        self.count(matches!(change, Some(Change::Paused(_))));
    }

    /// Counts it among those that are left alone, or not any more.
    fn count(&self, paused: bool) {
        let Shared { provider, metrics, paused: all, .. } = &*self.shared;
        if self.paused.swap(paused, Ordering::Relaxed) != paused {
            let before = if paused {
                all.fetch_add(1, Ordering::Relaxed)
            } else {
                all.fetch_sub(1, Ordering::Relaxed)
            };
            metrics.provider_paused(provider, paused || before > 1);
        }
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.count(false);
    }
}

impl Permit {
    /// From here on the request may have been sent.
    pub(super) fn using(&mut self) {
        let budget = &self.leave.budget.shared;
        lock(&budget.rate).used(budget.clock.now());
        budget.settled.notify_one();
        self.used = true;
    }

    /// Notes what came of the refresh.
    pub(super) fn note(mut self, result: &Result<Tokens, Failure>) {
        let failure = result.as_ref().err();
        let Leaving { budget, leave } = &mut self.leave;
        budget.shared.metrics.refreshed(&budget.shared.provider, failure.map(|failure| failure.class));
        budget.note(failure, *leave);
        // The trial has its result.
        *leave = Leave::Free;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.used {
            let budget = &self.leave.budget.shared;
            lock(&budget.rate).give_back();
            budget.settled.notify_one();
        }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if self.leave == Leave::Trial {
            lock(&self.budget.standing).hand_back();
        }
    }
}

impl<'a> Waiting<'a> {
    fn count(waiting: &'a AtomicUsize) -> Option<Self> {
        let one = Self(waiting);
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        (before < LONGEST_QUEUE).then_some(one)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits until `at`; for ever without one.
async fn wait_until(clock: &Clock, at: Option<Millis>) {
    match at {
        Some(at) => clock.sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Nothing that is kept under these locks can be left half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
