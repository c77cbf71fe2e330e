//! A configured provider, with what was last discovered about it and what it gets of us.
//!
//! One question at a time, none within half a minute of one that failed: a provider's outage must not become a flood of
//! ours. What it must never do: keep metadata in use for longer than a day without having seen it again.

use std::{sync::Arc, time::Duration};

use tokio::sync::Mutex;

use crate::{
    clock::{Clock, Millis},
    config::Provider,
    outbound::Outbound,
    provider::{
        budget::Budget, concrete::Concretes, endpoints::Endpoints, error::ProviderError,
        fingerprint::fingerprint,
    },
    secret::Hash,
};

const FRESH: Duration = Duration::from_secs(3600);
const STALE: Duration = Duration::from_secs(24 * 3600);
const PAUSE: Duration = Duration::from_secs(30);

/// See the head.
pub(super) struct Known {
    pub(super) provider: Arc<Provider>,
    /// See [`fingerprint`]: asked for with each hand-out, and made once.
    pub(super) fingerprint: Hash,
    pub(super) budget: Arc<Budget>,
    /// Where its addresses have variables: what it is with them filled in.
    pub(super) concretes: Concretes,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    last: Option<(Millis, Arc<Endpoints>)>,
    failed: Option<(Millis, ProviderError)>,
}

impl Known {
    pub(super) fn new(provider: Provider, budget: Budget) -> Self {
        Self::sharing(provider, Arc::new(budget))
    }

    /// With the budget of another.
    pub(super) fn sharing(provider: Provider, budget: Arc<Budget>) -> Self {
        let (fingerprint, provider) = (fingerprint(&provider), Arc::new(provider));
        Self { provider, fingerprint, budget, concretes: Concretes::default(), seen: Mutex::default() }
    }

    /// The discovered endpoints.
    /// It, and the fingerprint of the place that it is at.
    pub(super) fn placed(&self) -> (Arc<Provider>, Hash) {
        (self.provider.clone(), self.fingerprint)
    }

    pub(super) async fn endpoints(
        &self,
        outbound: &Outbound,
        clock: &Clock,
    ) -> Result<Arc<Endpoints>, ProviderError> {
        let mut seen = self.seen.lock().await;
        if let Some(fresh) = seen.last_within(FRESH, clock.now()) {
            return Ok(fresh);
        }
        if let Some((at, error)) = &seen.failed
            && at.plus(PAUSE) > clock.now()
        {
            let error = error.clone();
            return seen.last_within(STALE, clock.now()).ok_or(error);
        }
        match Endpoints::discover(&self.provider, outbound).await {
            Ok(endpoints) => {
                let endpoints = Arc::new(endpoints);
                *seen = Seen { last: Some((clock.now(), endpoints.clone())), failed: None };
                Ok(endpoints)
            }
            Err(error) => {
                tracing::warn!(provider = %self.provider.id, error = error.code(), detail = error.detail(), "discovery failed");
                seen.failed = Some((clock.now(), error.clone()));
                seen.last_within(STALE, clock.now()).ok_or(error)
            }
        }
    }
}

impl Seen {
    fn last_within(&self, age: Duration, now: Millis) -> Option<Arc<Endpoints>> {
        self.last.as_ref().filter(|(at, _)| at.plus(age) > now).map(|(_, endpoints)| endpoints.clone())
    }
}
