//! What ends by itself: kept alive, told of ahead, and ended in time.

use std::time::Duration;

use consentry_fakes::Answer;
use serde_json::json;

use super::stand::Stand;
use crate::engine::Database;

on_both_engines! {
    a_refresh_token_is_kept_alive_before_its_idle_limit,
    the_end_of_a_refresh_token_is_told_ahead_when_it_cannot_be_kept_alive,
    the_end_of_a_consent_is_told_ahead_and_then_it_ends,
    no_access_token_is_refreshed_unasked,
    f47_a_clock_that_is_wrong_refreshes_no_faster,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Moves time in steps that a walk can follow.
async fn days(stand: &Stand, days: u32) {
    for _ in 0..days {
        stand.world.advance(DAY);
        // A walk that has begun is over when the next day's signals can be read.
        for _ in 0..3 {
            stand.needs_reconnect().await;
        }
    }
}

async fn a_refresh_token_is_kept_alive_before_its_idle_limit(db: Database) {
    let stand = Stand::with(db, |settings| {
        for provider in &mut settings.providers {
            provider.refresh_idle = Some(60 * DAY);
        }
    })
    .await;
    let renewable = stand.shown().await["renewable_until"].clone();
    assert_eq!(renewable, json!(stand.stored().await.refreshed_at.unwrap().plus(60 * DAY).rfc3339()));
    days(&stand, 47).await;
    assert!(stand.refreshes().is_empty());
    stand.world.advance(2 * DAY);
    stand.world.until(async || stand.stored().await.generation == 2).await;
    assert_eq!(stand.refreshes().len(), 1);
    assert!(stand.needs_reconnect().await.is_empty());
    assert_ne!(stand.shown().await["renewable_until"], renewable);
}

async fn the_end_of_a_refresh_token_is_told_ahead_when_it_cannot_be_kept_alive(db: Database) {
    let stand = Stand::with(db, |settings| {
        for provider in &mut settings.providers {
            provider.refresh_idle = Some(60 * DAY);
        }
    })
    .await;
    stand.world.files.always_answer("/token", Answer::status(503));
    stand.world.advance(58 * DAY);
    stand.world.until(async || !stand.needs_reconnect().await.is_empty()).await;
    assert_eq!(stand.needs_reconnect().await, ["refresh_expires_soon"]);
    assert_eq!(stand.shown().await["status"], "active");
    stand.world.advance(2 * DAY);
    assert_eq!(stand.until_status("needs_reconnect").await, "refresh_expired");
    assert_eq!(stand.needs_reconnect().await, ["refresh_expires_soon", "refresh_expired"]);
    let before = stand.refreshes().len();
    stand.asks().await;
    assert_eq!(stand.refreshes().len(), before, "what is over is not sent");
}

async fn the_end_of_a_consent_is_told_ahead_and_then_it_ends(db: Database) {
    let stand = Stand::with(db, |settings| {
        for provider in &mut settings.providers {
            provider.consent_lifetime = Some(90 * DAY);
        }
    })
    .await;
    let end = stand.stored().await.created_at.plus(90 * DAY).rfc3339();
    assert_eq!(stand.shown().await["consent_expires_at"], json!(end));
    stand.world.advance(86 * DAY);
    stand.resolves().await;
    assert!(stand.needs_reconnect().await.is_empty());
    stand.world.advance(DAY);
    stand.world.until(async || !stand.needs_reconnect().await.is_empty()).await;
    assert_eq!(stand.needs_reconnect().await, ["consent_expires_soon"]);
    stand.resolves().await;
    assert_eq!(stand.shown().await["consent_expires_at"], json!(end), "a refresh does not move it");
    stand.world.advance(3 * DAY);
    assert_eq!(stand.until_status("needs_reconnect").await, "consent_expired");
    assert_eq!(stand.needs_reconnect().await, ["consent_expires_soon", "consent_expired"]);
}

async fn no_access_token_is_refreshed_unasked(db: Database) {
    let stand = Stand::new(db).await;
    days(&stand, 5).await;
    assert!(stand.refreshes().is_empty());
    assert_eq!(stand.resolves().await.generation, 2);
}

/// A provider whose tokens have run out already by our clock: each is handed out all the same, and each call makes no
/// more than one.
async fn f47_a_clock_that_is_wrong_refreshes_no_faster(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    stand.world.files.always_answer("/token", Answer::with_member("expires_in", json!("0.001")));
    for round in 1..=3 {
        assert_eq!(stand.resolves().await.generation, round + 1);
        assert_eq!(stand.refreshes().len(), usize::try_from(round).unwrap());
        stand.world.advance(Duration::from_secs(1));
    }
}
