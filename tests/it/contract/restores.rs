//! A restored database: nothing is refreshed before it is let go, and what became of each connection is counted.

use consentry::{
    connection::{Connection, Status},
    elicitation::NewElicitation,
    random::Random,
    store::{AuditFilter, Lease, Restore, Settled, Tally},
};

use super::{
    given::*,
    leases::{LENGTH, renewed},
};
use crate::engine::Database;

contract! {
    r107_what_is_restored_is_held_back_and_still_handed_out,
    r107_what_became_of_each_is_counted,
    r107_a_second_restore_begins_anew,
    r107_signals_after_a_restore_have_new_numbers,
}

/// A lease, unless the connection is held back.
async fn take(db: &Database, connection: &Connection) -> Option<Lease> {
    let (id, generation) = (connection.id, connection.generation);
    let taken = db.store.take_lease(id, generation, Random.uuid(), LENGTH, after(5)).await.unwrap();
    taken.map(|(lease, _)| lease)
}

/// Alice's connections under several MCP servers.
async fn given_many(db: &Database, servers: &[&str]) -> Vec<Connection> {
    let mut made = Vec::new();
    for server in servers {
        let server = server.parse().unwrap();
        let asked = db.store.given_elicitation(&NewElicitation { server, ..asked() }).await;
        let claimed = db.store.given_claimed(&asked, NOW).await;
        let settled =
            db.store.settle(&settling(&claimed, credential("octocat", 1), None), NOW).await.unwrap();
        let Settled::Done { connection, .. } = settled else { panic!("{settled:?}") };
        made.push(*connection);
    }
    made
}

async fn tally(db: &Database, restore: &Restore) -> Tally {
    let mut all = db.store.restore_tally(restore).await.unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn counts(tally: &Tally) -> [i64; 4] {
    [tally.in_doubt, tally.renewed, tally.lost, tally.ended]
}

async fn r107_what_is_restored_is_held_back_and_still_handed_out(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    assert_eq!(db.store.latest_restore().await.unwrap(), None);
    let restore = db.store.declare_restored(after(1)).await.unwrap();
    assert_eq!((restore.connections, restore.released_at), (1, None));
    assert_eq!(db.store.latest_restore().await.unwrap(), Some(restore));
    assert!(take(&db, &mine).await.is_none(), "it is held back");
    let found = db.store.connection_to_hand_out(&files(), &alice(), &github()).await.unwrap().unwrap();
    assert!(found.is_usable(after(5)) && found.satisfies(&scopes(&["repo"]), after(5)));
    let told = db.store.audit_rows(AuditFilter::default(), 1).await.unwrap();
    assert_eq!((told[0].kind.as_str(), told[0].actor.as_str(), told[0].times), ("restored", "operator", 1));

    // One that is made meanwhile is of now.
    let new = given_many(&db, &["notes"]).await.remove(0);
    assert!(!take(&db, &new).await.unwrap().recovering);

    db.store.let_refreshes_go(&restore, after(9)).await.unwrap();
    assert_eq!(db.store.latest_restore().await.unwrap().unwrap().released_at, Some(after(9)));
    let lease = take(&db, &mine).await.expect("it is let go");
    assert!(lease.recovering, "a refusal is a lost rotation");
}

async fn r107_what_became_of_each_is_counted(db: Database) {
    let made = given_many(&db, &["one", "two", "three", "four", "five", "six"]).await;
    let restore = db.store.declare_restored(NOW).await.unwrap();
    assert_eq!(counts(&tally(&db, &restore).await), [6, 0, 0, 0]);
    db.store.let_refreshes_go(&restore, after(1)).await.unwrap();

    let mut paged = Vec::new();
    while let page @ [_, ..] =
        &db.store.in_doubt(&restore, &github(), paged.last().map(|(id, _)| *id), 4).await.unwrap()[..]
    {
        paged.extend_from_slice(page);
    }
    let mut all: Vec<_> = made.iter().map(|one| (one.id, 1)).collect();
    all.sort_unstable();
    assert_eq!(paged, all);
    assert!(db.store.in_doubt(&restore, &"gitlab".parse().unwrap(), None, 4).await.unwrap().is_empty());

    let lease = take(&db, &made[0]).await.unwrap();
    assert!(db.store.commit_refresh(&lease, &renewed("new"), after(2)).await.unwrap().is_some());
    let needs = Status::NeedsReconnect;
    let lease = take(&db, &made[1]).await.unwrap();
    assert!(db.store.end_refresh(&lease, needs, "rotation_lost", after(2)).await.unwrap().is_some());
    assert!(db.store.end_by_clock(made[2].id, 1, "consent_expired", after(2)).await.unwrap().is_some());
    let gone = db.store.disconnect(&made[3].server, made[3].id, "disconnected_by_user", |_| None, after(2));
    assert!(gone.await.unwrap().is_some());
    // Connected anew over what was in doubt.
    let asked = NewElicitation { server: made[4].server.clone(), seen: Some(made[4].as_grant()), ..asked() };
    let asked = db.store.given_elicitation(&asked).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let over = settling(&claimed, credential("octocat", 2), Some((made[4].id, 1)));
    assert!(matches!(db.store.settle(&over, NOW).await.unwrap(), Settled::Done { .. }));
    assert_eq!(counts(&tally(&db, &restore).await), [1, 1, 1, 1]);
    let left = db.store.in_doubt(&restore, &github(), None, 9).await.unwrap();
    assert_eq!(left, [(made[5].id, 1)]);
}

async fn r107_a_second_restore_begins_anew(db: Database) {
    let made = given_many(&db, &["one", "two"]).await;
    let first = db.store.declare_restored(NOW).await.unwrap();
    db.store.let_refreshes_go(&first, after(1)).await.unwrap();
    let lease = take(&db, &made[1]).await.unwrap();
    let needs = Status::NeedsReconnect;
    assert!(db.store.end_refresh(&lease, needs, "rotation_lost", after(2)).await.unwrap().is_some());
    let second = db.store.declare_restored(NOW).await.unwrap();
    assert!(second.at > first.at);
    assert_eq!(second.connections, 1);
    assert!(take(&db, &made[0]).await.is_none());
    assert_eq!(counts(&tally(&db, &second).await), [1, 0, 0, 0]);
    assert!(db.store.restore_tally(&first).await.unwrap().is_empty());
    db.store.let_refreshes_go(&first, after(1)).await.unwrap();
    assert!(take(&db, &made[0]).await.is_none(), "the first lets nothing go that the second holds");
}

/// A reader that has seen more than the restored database has must not wait for numbers that come again.
async fn r107_signals_after_a_restore_have_new_numbers(db: Database) {
    db.store.given_connection("octocat").await;
    let before = db.store.signal_head(&files()).await.unwrap();
    db.store.declare_restored(NOW).await.unwrap();
    assert!(db.store.signal_head(&files()).await.unwrap() > before + 1_000_000);
}
