//! A configured provider, with what was last discovered about it and what it gets of us.

use std::sync::Arc;

use crate::{
    clock::Clock,
    config::Provider,
    outbound::Outbound,
    provider::{
        budget::Budget, concrete::Concretes, endpoints::Endpoints, error::ProviderError,
        fingerprint::fingerprint, mcp::Found, remembered::Remembered,
    },
    secret::Hash,
};

/// See the head.
pub(super) struct Known {
    pub(super) provider: Arc<Provider>,
    /// See [`fingerprint`]: asked for with each hand-out, and made once.
    pub(super) fingerprint: Hash,
    pub(super) budget: Arc<Budget>,
    /// Where its addresses have variables: what it is with them filled in.
    pub(super) concretes: Concretes,
    /// Of a third-party MCP server: what it says of itself.
    pub(super) mcp: Remembered<Found>,
    seen: Remembered<Endpoints>,
}

impl Known {
    pub(super) fn new(provider: Provider, budget: Budget) -> Self {
        let (fingerprint, provider) = (fingerprint(&provider), Arc::new(provider));
        let budget = Arc::new(budget);
        let (concretes, mcp, seen) = (Concretes::default(), Remembered::default(), Remembered::default());
        Self { provider, fingerprint, budget, concretes, mcp, seen }
    }

    /// It, and the fingerprint of the place that it is at.
    pub(super) fn placed(&self) -> (Arc<Provider>, Hash) {
        (self.provider.clone(), self.fingerprint)
    }

    /// The discovered endpoints.
    pub(super) async fn endpoints(
        &self,
        outbound: &Outbound,
        clock: &Clock,
    ) -> Result<Arc<Endpoints>, ProviderError> {
        let find = async {
            Endpoints::discover(&self.provider, outbound).await.inspect_err(|error| {
                tracing::warn!(provider = %self.provider.id, error = error.code(), detail = error.detail(), "discovery failed");
            })
        };
        self.seen.get(clock, find).await
    }

    /// They did not work: they are discovered again at their next use.
    pub(super) fn doubt(&self, clock: &Clock) {
        self.seen.doubt(clock.now());
    }
}
