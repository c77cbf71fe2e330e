//! What runs without being asked: expiry, and deleting what is old.
//!
//! Nothing depends on it for correctness; a missed round is made good by the next.

use std::time::Duration;

use crate::{app::App, elicitation::State, identity::SessionLife, store::StoreError};

/// Between two rounds.
const ROUND: Duration = Duration::from_secs(15);
/// Rounds between two clean-ups.
const ROUNDS_PER_PURGE: u32 = 40;
/// Elicitations that are closed in one go.
const BATCH: u32 = 200;

/// Runs until the process drains.
pub async fn sweep(app: App) {
    let mut round: u32 = 0;
    while !app.shutdown.is_cancelled() {
        let result = if round.is_multiple_of(ROUNDS_PER_PURGE) { purge(&app).await } else { Ok(()) };
        if let Err(error) = result.and(expire(&app).await) {
            tracing::warn!(%error, "a round of housekeeping failed");
        }
        round = round.wrapping_add(1);
        tokio::select! {
            () = app.clock.sleep(ROUND) => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}

/// Closes what ran out, each with its signal.
///
/// # Errors
/// The store's.
pub async fn expire(app: &App) -> Result<(), StoreError> {
    loop {
        let closed = app.store.expire_due(app.clock.now(), BATCH).await?;
        app.metrics.elicitations_ended(State::Expired, closed);
        if closed < BATCH as usize {
            return Ok(());
        }
    }
}

/// Deletes what is old.
///
/// # Errors
/// The store's.
pub async fn purge(app: &App) -> Result<(), StoreError> {
    let now = app.clock.now();
    let lifetimes = &app.settings.lifetimes;
    app.store.purge(now.minus(lifetimes.history), now).await?;
    app.store.purge_sessions(now, SessionLife::of(lifetimes).idle_since(now)).await
}
