//! Tells providers of tokens that are no longer wanted. Each provider has hands of its own, so that one that is slow
//! keeps no other waiting.

use futures_util::future::join_all;

use super::pump::pump;
use crate::{
    app::App,
    config::Provider,
    connect::Refusal,
    credential::{REVOCATION_CLAIM, revoke},
};

/// Runs until the process drains.
pub(super) async fn run(app: App) {
    join_all(app.providers.iter().map(|provider| of(&app, provider))).await;
}

async fn of(app: &App, provider: &Provider) {
    let claim = |free| async move {
        let now = app.clock.now();
        app.store.claim_revocations(&provider.id, free, now, now.plus(REVOCATION_CLAIM)).await
    };
    let work = |claimed| {
        let app = app.clone();
        async move { revoke(&app, &claimed).await }
    };
    pump(app, provider.concurrent_requests, app.store.revocations_queued(), claim, work).await;
}

/// Tells the metrics how far the stored ones have come.
///
/// # Errors
/// The store's.
pub(super) async fn measure(app: &App) -> Result<(), Refusal> {
    for provider in app.providers.iter() {
        let counts = app.store.revocations_by_state(&provider.id).await?;
        app.metrics.revocations_stored(&provider.id, &counts);
    }
    Ok(())
}
