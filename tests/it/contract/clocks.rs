//! Connections whose time runs out: found by a walk, told of once, emptied a day after their end.

use consentry::{
    connection::{ConnectionId, Status},
    elicitation::NewElicitation,
    signal::Kind,
    store::Clocked,
};

use super::{
    given::*,
    leases::{renewed, taken},
};
use crate::engine::Database;

contract! {
    a_walk_meets_everybody_once,
    what_ends_soon_is_told_once,
    a_refresh_that_moves_the_end_makes_room_for_another_word,
    a_dead_refresh_token_is_deleted_a_day_later,
}

async fn a_walk_meets_everybody_once(db: Database) {
    let mut made = vec![db.store.given_connection("a").await.id];
    for server in [notes(), "third".parse().unwrap(), "fourth".parse().unwrap()] {
        let asked = db.store.given_elicitation(&NewElicitation { server, ..asked() }).await;
        let claimed = db.store.given_claimed(&asked, NOW).await;
        let mut new = credential("b", 1);
        new.consent_expires_at = Some(after(100));
        new.refresh_expires_at = Some(after(50));
        made.push(new.id);
        db.store.settle(&settling(&claimed, new, None), after(1)).await.unwrap();
    }
    made.sort_unstable();
    let mut met: Vec<Clocked> = Vec::new();
    loop {
        let page = db.store.walk_connections(met.last().map(|one| one.id), 3).await.unwrap();
        if page.is_empty() {
            break;
        }
        met.extend(page);
    }
    let ids: Vec<ConnectionId> = met.iter().map(|one| one.id).collect();
    assert_eq!(ids, made);
    let clocked = met.iter().find(|one| one.consent_expires_at.is_some()).unwrap();
    assert_eq!(
        (clocked.consent_expires_at, clocked.refresh_expires_at, clocked.refreshed_at),
        (Some(after(100)), Some(after(50)), Some(after(1)))
    );
    assert_eq!((clocked.status, clocked.can_refresh, clocked.generation), (Status::Active, true, 1));
    assert_eq!((clocked.warned_at, clocked.ended_at), (None, None));
}

async fn what_ends_soon_is_told_once(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let before = db.store.signal_head(&files()).await.unwrap();
    let warn = async |generation| {
        db.store.warn_connection(mine.id, generation, "consent_expires_soon", after(5)).await
    };
    assert!(!warn(2).await.unwrap());
    assert!(warn(1).await.unwrap());
    assert!(!warn(1).await.unwrap());
    let told = db.store.signals_after(&files(), before, 9).await.unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].kind, Kind::ConnectionNeedsReconnect);
    assert_eq!(told[0].reason.as_deref(), Some("consent_expires_soon"));
    let now = db.store.any_connection(mine.id).await.unwrap().unwrap();
    assert_eq!((now.status, now.reason), (Status::Active, None), "it is handed out all the same");
}

async fn a_refresh_that_moves_the_end_makes_room_for_another_word(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    assert!(db.store.warn_connection(mine.id, 1, "refresh_expires_soon", after(5)).await.unwrap());
    let lease = taken(&db, &mine).await;
    assert!(db.store.commit_refresh(&lease, &renewed("2"), after(6)).await.unwrap().is_some());
    assert!(db.store.warn_connection(mine.id, 2, "refresh_expires_soon", after(7)).await.unwrap());
}

async fn a_dead_refresh_token_is_deleted_a_day_later(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    assert!(!db.store.forget_refresh(mine.id, after(99)).await.unwrap(), "it lives");
    db.store.end_by_clock(mine.id, 1, "refresh_expired", after(9)).await.unwrap().unwrap();
    let has = async || db.store.any_connection(mine.id).await.unwrap().unwrap().can_refresh;
    assert!(!db.store.forget_refresh(mine.id, after(9)).await.unwrap() && has().await);
    assert!(db.store.forget_refresh(mine.id, after(10)).await.unwrap() && !has().await);
    assert!(!db.store.forget_refresh(mine.id, after(10)).await.unwrap());
}
