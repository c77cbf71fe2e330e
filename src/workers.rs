//! What runs without being asked: expiry, telling others what was queued for them, and deleting what is old.
//!
//! Nothing depends on it for correctness; a missed round is made good by the next.

mod deliveries;
mod pump;
mod revocations;

use std::time::Duration;

use uuid::Uuid;

use crate::{
    app::App,
    connect::{self, Refusal},
    credential,
    elicitation::State,
    identity::SessionLife,
    keys,
};

/// Between two rounds.
const ROUND: Duration = Duration::from_secs(15);
/// Between two walks through the connections.
const WALK: Duration = Duration::from_secs(60);
/// Rounds between two clean-ups.
const ROUNDS_PER_PURGE: u32 = 40;
/// Longer than anything is tried again.
const LONGEST_QUEUED: Duration = Duration::from_hours(24 * 20);
/// Elicitations that are closed in one go.
const BATCH: u32 = 200;

/// Everything, until the process drains and what is under way has ended.
pub async fn run(app: App) {
    let refreshing = wind(app.clone());
    tokio::join!(sweep(app.clone()), refreshing, deliveries::run(app.clone()), revocations::run(app));
}

async fn sweep(app: App) {
    let mut round: u32 = 0;
    while !app.shutdown.is_cancelled() {
        for result in [satisfy(&app).await, expire(&app).await, deliveries::measure(&app).await] {
            note(result);
        }
        if round.is_multiple_of(ROUNDS_PER_PURGE) {
            note(purge(&app).await);
            note(deliveries::drop_unposted(&app).await);
        }
        round = round.wrapping_add(1);
        tokio::select! {
            () = app.clock.sleep(ROUND) => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}

/// Goes through the connections' clocks until the process drains: keeps refresh tokens alive before they end unused,
/// tells of what ends soon, and ends what is over.
async fn wind(app: App) {
    while !app.shutdown.is_cancelled() {
        let began = app.clock.now();
        note(credential::walk(&app).await);
        tokio::select! {
            () = app.clock.sleep_until(began.plus(WALK)) => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}

/// Tells the others that this process is there and which key it seals with, until it drains.
pub async fn beat(app: App, replica: Uuid) {
    while !app.shutdown.is_cancelled() {
        tokio::select! {
            () = app.clock.sleep(keys::BEAT) => {}
            () = app.shutdown.cancelled() => return,
        }
        if let Err(error) = keys::beat(&app.store, &app.vault, replica, app.clock.now()).await {
            tracing::warn!(%error, "the others could not be told that this process is there");
        }
    }
}

fn note(result: Result<(), Refusal>) {
    if let Err(error) = result {
        tracing::warn!(%error, "a part of the housekeeping failed");
    }
}

/// Completes what a connection came to satisfy while nobody asked, before it could run out.
///
/// # Errors
/// The store's.
pub async fn satisfy(app: &App) -> Result<(), Refusal> {
    for found in app.store.satisfiable(app.clock.now(), BATCH).await? {
        if connect::satisfy(app, &found).await? {
            app.metrics.elicitations_ended(State::Completed, 1);
        }
    }
    Ok(())
}

/// Ends attempts whose process died, and closes what ran out, each with its signal.
///
/// # Errors
/// The store's.
pub async fn expire(app: &App) -> Result<(), Refusal> {
    app.store.abandon(app.clock.now()).await?;
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
pub async fn purge(app: &App) -> Result<(), Refusal> {
    let now = app.clock.now();
    let lifetimes = &app.settings.lifetimes;
    let before = now.minus(lifetimes.history);
    // Before the signals: they are kept for what is still to be posted.
    app.store.purge_deliveries(before, before.minus(LONGEST_QUEUED)).await?;
    app.store.purge(before).await?;
    app.store.purge_revocations(before, before.minus(LONGEST_QUEUED)).await?;
    app.store.purge_uses().await?;
    app.store.purge_audit(now.minus(lifetimes.audit), now).await?;
    app.store.purge_sessions(now, SessionLife::of(lifetimes).idle_since(now)).await?;
    app.store.purge_codes(now).await?;
    Ok(())
}
