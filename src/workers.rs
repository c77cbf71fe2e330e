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
    store::StoreError,
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
/// Rows that one statement deletes, so that none takes long however much has become old.
const PURGED_AT_ONCE: u32 = 2_000;

/// Everything, until the process drains and what is under way has ended.
pub async fn run(app: App) {
    let refreshing = wind(app.clone());
    tokio::join!(sweep(app.clone()), refreshing, deliveries::run(app.clone()), revocations::run(app));
}

async fn sweep(app: App) {
    let mut round: u32 = 0;
    while !app.shutdown.is_cancelled() {
        for result in [
            satisfy(&app).await,
            expire(&app).await,
            deliveries::measure(&app).await,
            revocations::measure(&app).await,
        ] {
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

/// Deletes what is old: each kind in batches, and each whatever becomes of the others.
///
/// # Errors
/// The store's first; what failed is tried again in the next round.
pub async fn purge(app: &App) -> Result<(), Refusal> {
    /// Runs a purge until it gives less than it may, or the process drains.
    macro_rules! in_batches {
        ($purge:expr) => {
            async {
                while !app.shutdown.is_cancelled() && $purge.await? >= u64::from(PURGED_AT_ONCE) {}
                Ok::<(), StoreError>(())
            }
            .await
        };
    }
    let (store, now, lifetimes) = (&app.store, app.clock.now(), &app.settings.lifetimes);
    let before = now.minus(lifetimes.history);
    let queued_before = before.minus(LONGEST_QUEUED);
    let idle_since = SessionLife::of(lifetimes).idle_since(now);
    let at_once = PURGED_AT_ONCE;
    let all = [
        // Before the signals, which are kept for what is still to be posted.
        in_batches!(store.purge_deliveries(before, at_once)),
        in_batches!(store.purge_stale_deliveries(queued_before, at_once)),
        in_batches!(store.purge_elicitations(before, at_once)),
        in_batches!(store.purge_signals(before, at_once)),
        in_batches!(store.purge_idempotency_keys(before, at_once)),
        in_batches!(store.purge_revocations(before, at_once)),
        in_batches!(store.purge_stale_revocations(queued_before, at_once)),
        in_batches!(store.purge_sessions(now, idle_since, at_once)),
        in_batches!(store.purge_sign_ins(at_once)),
        in_batches!(store.purge_codes(now, at_once)),
        in_batches!(store.purge_mcp_questions(now, at_once)),
        in_batches!(store.purge_mcp_endings(now, at_once)),
        purge_uses(app).await,
        purge_audit(app).await,
    ];
    let mut first = Ok(());
    for result in all {
        match result {
            Err(error) if first.is_err() => tracing::warn!(%error, "what is old could not be deleted"),
            Err(error) => first = Err(error),
            Ok(()) => {}
        }
    }
    Ok(first?)
}

async fn purge_uses(app: &App) -> Result<(), StoreError> {
    let mut after = None;
    while !app.shutdown.is_cancelled() {
        after = app.store.purge_uses(after, PURGED_AT_ONCE).await?;
        if after.is_none() {
            break;
        }
    }
    Ok(())
}

/// Each batch tells of itself in the record; the last is empty.
async fn purge_audit(app: &App) -> Result<(), StoreError> {
    let now = app.clock.now();
    let before = now.minus(app.settings.lifetimes.audit);
    while !app.shutdown.is_cancelled() && app.store.purge_audit(before, now, PURGED_AT_ONCE).await? > 0 {}
    Ok(())
}
