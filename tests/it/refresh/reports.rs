//! A resource server refused a token: it is not handed out again, and made anew once.

use consentry_fakes::{Answer, Refresh};
use serde_json::json;

use super::stand::Stand;
use crate::{engine::Database, world::World};

on_both_engines! {
    a_refused_token_is_replaced_once_and_then_the_user_is_asked,
    a_report_of_an_older_generation_changes_nothing,
    a_refused_token_is_not_handed_out_through_an_outage,
    without_a_refresh_token_the_user_is_asked_at_once,
}

async fn a_refused_token_is_replaced_once_and_then_the_user_is_asked(db: Database) {
    let stand = Stand::new(db).await;
    let first = stand.resolves().await;
    let shown = stand.reports(1).await;
    assert_eq!(shown["status"], "active");
    let second = stand.resolves().await;
    assert_eq!(second.generation, 2);
    assert_ne!(second.token, first.token);
    for _ in 0..3 {
        assert_eq!(stand.reports(1).await["status"], "active");
    }
    assert_eq!(stand.resolves().await, second);
    assert_eq!(stand.refreshes().len(), 1);
    assert!(stand.needs_reconnect().await.is_empty());
    let shown = stand.reports(2).await;
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("needs_reconnect"), &json!("unauthorized")));
    stand.asks().await;
    assert_eq!(stand.needs_reconnect().await, ["unauthorized"]);
    assert_eq!(stand.refreshes().len(), 1);
}

async fn a_report_of_an_older_generation_changes_nothing(db: Database) {
    let stand = Stand::new(db).await;
    stand.runs_out();
    let second = stand.resolves().await;
    for other in [0, 1, 3] {
        assert_eq!(stand.reports(other).await["status"], "active", "{other}");
    }
    assert_eq!(stand.resolves().await, second);
    stand.reports(2).await;
    assert_eq!(stand.resolves().await.generation, 3, "one that was made unasked is replaced");
}

async fn a_refused_token_is_not_handed_out_through_an_outage(db: Database) {
    let stand = Stand::new(db).await;
    stand.world.files.next_token_answer(Answer::status(503));
    stand.reports(1).await;
    stand.until_refreshes(1).await;
    stand.world.until(async || stand.stored().await.failures == 1).await;
    stand.is_unavailable().await;
    stand.world.advance(std::time::Duration::from_secs(30));
    assert_eq!(stand.resolves().await.generation, 2);
}

async fn without_a_refresh_token_the_user_is_asked_at_once(db: Database) {
    let world = World::start(db).await;
    world.files.configure(|settings| settings.refresh = Refresh::Never);
    let stand = Stand::in_world(world).await;
    assert_eq!(stand.reports(1).await["status"], "needs_reconnect");
    stand.asks().await;
    assert_eq!(stand.needs_reconnect().await, ["unauthorized"]);
    assert!(stand.refreshes().is_empty());
}
