//! Deliveries: queued with their signal, taken by one, kept until told.

use consentry::{
    delivery::{Claimed, Failure, State},
    elicitation::State as Ended,
    secret::Hash,
    signal::{Kind, SignalId},
    store::Store,
};

use super::{given::*, raw::Raw};
use crate::engine::Database;

contract! {
    r114_each_signal_of_a_posted_server_is_queued_in_its_own_transaction,
    what_is_claimed_is_the_signal_in_its_order,
    of_two_replicas_one_posts_it,
    f34_a_claim_that_ran_out_is_posted_again_under_the_same_id,
    who_lost_the_claim_puts_nothing_off_but_may_say_delivered,
    what_is_put_off_comes_back_and_without_a_next_try_is_dead,
    r114_a_receiver_that_is_gone_gets_nothing_under_that_url,
    dead_letters_are_replayed,
    what_is_on_its_way_is_not_replayed,
    r115_what_nobody_is_to_be_told_is_dropped,
    what_ended_long_ago_is_purged_and_what_is_due_keeps_its_signal,
    one_that_cannot_be_read_keeps_no_other_back,
}

const URL: &str = "https://files.example/hooks";
const FAILED: Failure = Failure { status: Some(503), code: "status" };

/// A store that posts for `files`.
fn posting(db: &Database) -> Store {
    db.store.clone().posting([files()])
}

fn url() -> Hash {
    Hash::of(URL.as_bytes())
}

/// An elicitation that is cancelled: one signal.
async fn one_signal(store: &Store, client_ref: &str) -> SignalId {
    let elicitation = store.given_elicitation(&asked_by(client_ref)).await;
    assert!(store.close(&elicitation, Ended::Cancelled, "x", NOW).await.unwrap());
    store.signals_after(&files(), 0, 1_000).await.unwrap().last().unwrap().id
}

async fn claimed(store: &Store, limit: u32, seconds: u64) -> Vec<Claimed> {
    let until = after(seconds + 60);
    store.claim_deliveries(&files(), &url(), limit, after(seconds), until).await.unwrap()
}

fn ids(claimed: &[Claimed]) -> Vec<SignalId> {
    claimed.iter().map(|one| one.signal.id).collect()
}

async fn state(store: &Store, id: SignalId) -> State {
    let all = store.deliveries(None, None, 1_000).await.unwrap();
    all.into_iter().find(|one| one.signal == id).unwrap().state
}

async fn r114_each_signal_of_a_posted_server_is_queued_in_its_own_transaction(db: Database) {
    let store = posting(&db);
    store.given_connection("octocat").await;
    let signals = store.signals_after(&files(), 0, 100).await.unwrap();
    let queued = store.deliveries(Some(&files()), Some(State::Due), 100).await.unwrap();
    let told: Vec<_> = signals.iter().rev().map(|one| (one.id, one.sequence)).collect();
    assert_eq!(queued.iter().map(|one| (one.signal, one.sequence)).collect::<Vec<_>>(), told);
    assert_eq!(queued[0].kind.as_deref(), Some(Kind::ElicitationCompleted.as_str()));
    assert_eq!((queued[0].tries, queued[0].next_at, queued[0].created_at), (0, NOW, NOW));
    // A server without a webhook has a signal and no delivery.
    db.store.clone().posting([notes()]).given_elicitation(&asked_by("other")).await;
    let before = db.store.deliveries(None, None, 100).await.unwrap().len();
    one_signal(&db.store, "not posted").await;
    assert_eq!(db.store.deliveries(None, None, 100).await.unwrap().len(), before);
}

async fn what_is_claimed_is_the_signal_in_its_order(db: Database) {
    let store = posting(&db);
    let first = one_signal(&store, "1").await;
    let second = one_signal(&store, "2").await;
    let taken = claimed(&store, 10, 1).await;
    assert_eq!(ids(&taken), [first, second]);
    assert_eq!((taken[0].tries, taken[0].claimed_until), (1, after(61)));
    assert_eq!(
        (taken[0].signal.kind, taken[0].signal.client_ref.as_str()),
        (Kind::ElicitationCancelled, "1")
    );
    assert!(claimed(&store, 10, 60).await.is_empty());
    store.delivered(first, 204, after(2)).await.unwrap();
    assert_eq!(state(&store, first).await, State::Delivered);
    let listed = store.deliveries(Some(&files()), Some(State::Delivered), 10).await.unwrap();
    assert_eq!((listed[0].last_status, listed[0].done_at), (Some(204), Some(after(2))));
    let backlog = store.backlog(&files(), State::Due).await.unwrap();
    assert_eq!((backlog.number, backlog.oldest), (1, Some(NOW)));
    assert_eq!(store.backlog(&files(), State::Dead).await.unwrap().oldest, None);
}

async fn of_two_replicas_one_posts_it(db: Database) {
    let store = posting(&db);
    for n in 0..24 {
        one_signal(&store, &n.to_string()).await;
    }
    let other = db.replica().await;
    let mut taking = tokio::task::JoinSet::new();
    for n in 0..8 {
        let store = if n % 2 == 0 { store.clone() } else { other.clone() };
        taking.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let taken = claimed(&store, 3, 1).await;
                if taken.is_empty() {
                    return mine;
                }
                mine.extend(ids(&taken));
            }
        });
    }
    let mut all: Vec<SignalId> = taking.join_all().await.concat();
    assert_eq!(all.len(), 24, "each is taken once");
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 24);
    other.shut_down().await;
}

async fn f34_a_claim_that_ran_out_is_posted_again_under_the_same_id(db: Database) {
    let store = posting(&db);
    let id = one_signal(&store, "1").await;
    assert_eq!(claimed(&store, 1, 0).await[0].tries, 1);
    let again = claimed(&store, 1, 60).await;
    assert_eq!((again[0].signal.id, again[0].tries), (id, 1), "a try whose outcome nobody knows costs none");
    store.put_delivery_off(&again[0], Some(after(120)), FAILED, after(61)).await.unwrap();
    assert_eq!(claimed(&store, 1, 120).await[0].tries, 2);
}

async fn who_lost_the_claim_puts_nothing_off_but_may_say_delivered(db: Database) {
    let store = posting(&db);
    let id = one_signal(&store, "1").await;
    let late = claimed(&store, 1, 0).await.remove(0);
    claimed(&store, 1, 60).await.remove(0);
    store.put_delivery_off(&late, None, FAILED, after(61)).await.unwrap();
    assert_eq!(state(&store, id).await, State::Due);
    store.delivered(id, 200, after(62)).await.unwrap();
    assert_eq!(state(&store, id).await, State::Delivered);
    assert!(claimed(&store, 1, 600).await.is_empty());
}

async fn what_is_put_off_comes_back_and_without_a_next_try_is_dead(db: Database) {
    let store = posting(&db);
    let id = one_signal(&store, "1").await;
    let first = claimed(&store, 1, 0).await.remove(0);
    store.put_delivery_off(&first, Some(after(5)), FAILED, after(1)).await.unwrap();
    assert!(claimed(&store, 1, 4).await.is_empty());
    let second = claimed(&store, 1, 5).await.remove(0);
    store.put_delivery_off(&second, None, FAILED, after(6)).await.unwrap();
    assert_eq!(state(&store, id).await, State::Dead);
    assert!(claimed(&store, 1, 600).await.is_empty());
    let dead = store.deliveries(None, Some(State::Dead), 10).await.unwrap();
    assert_eq!((dead[0].last_status, dead[0].last_error.as_deref()), (Some(503), Some("status")));
    assert_eq!(store.backlog(&files(), State::Dead).await.unwrap().number, 1);
}

async fn r114_a_receiver_that_is_gone_gets_nothing_under_that_url(db: Database) {
    let store = posting(&db);
    let id = one_signal(&store, "1").await;
    let taken = claimed(&store, 1, 0).await.remove(0);
    store.disable_receiver(&files(), &url(), after(1)).await.unwrap();
    store.put_delivery_off(&taken, Some(after(3_600)), FAILED, after(1)).await.unwrap();
    one_signal(&store, "2").await;
    assert!(claimed(&store, 10, 7_200).await.is_empty());
    assert_eq!(store.receiver_disabled(&files(), &url()).await.unwrap(), Some(after(1)));
    // Another URL is another receiver.
    let other = Hash::of(b"https://files.example/new");
    assert_eq!(store.receiver_disabled(&files(), &other).await.unwrap(), None);
    let there = store.claim_deliveries(&files(), &other, 1, after(2), after(3)).await.unwrap();
    assert_eq!(there.len(), 1);
    // Enabled again, it gets what waited, at once.
    assert!(store.enable_receiver(&files(), after(10)).await.unwrap());
    assert!(!store.enable_receiver(&files(), after(10)).await.unwrap());
    assert!(ids(&claimed(&store, 10, 10).await).contains(&id));
    // Gone twice, under two URLs.
    store.disable_receiver(&files(), &url(), after(11)).await.unwrap();
    store.disable_receiver(&files(), &other, after(12)).await.unwrap();
    assert_eq!(store.receiver_disabled(&files(), &other).await.unwrap(), Some(after(12)));
}

async fn dead_letters_are_replayed(db: Database) {
    let store = posting(&db);
    let (one, two) = (one_signal(&store, "1").await, one_signal(&store, "2").await);
    for taken in claimed(&store, 2, 0).await {
        store.put_delivery_off(&taken, None, FAILED, after(1)).await.unwrap();
    }
    assert_eq!(store.delivery_server(one).await.unwrap(), Some(files()));
    assert_eq!(store.delivery_server(SignalId(uuid::Uuid::nil())).await.unwrap(), None);
    assert!(store.replay_delivery(one, after(2)).await.unwrap());
    assert_eq!((state(&store, one).await, state(&store, two).await), (State::Due, State::Dead));
    assert_eq!(store.replay_dead(&notes(), after(2)).await.unwrap(), 0);
    assert_eq!(store.replay_dead(&files(), after(2)).await.unwrap(), 1);
    let again = claimed(&store, 10, 2).await;
    assert_eq!(again.iter().map(|one| one.tries).collect::<Vec<_>>(), [1, 1], "from the first try on");
    // What was delivered can be told again too; what is unknown cannot.
    store.delivered(one, 200, after(3)).await.unwrap();
    assert!(store.replay_delivery(one, after(4)).await.unwrap());
    assert!(!store.replay_delivery(SignalId(uuid::Uuid::nil()), after(4)).await.unwrap());
}

async fn what_is_on_its_way_is_not_replayed(db: Database) {
    let store = posting(&db);
    let id = one_signal(&store, "1").await;
    claimed(&store, 1, 0).await;
    assert!(!store.replay_delivery(id, after(59)).await.unwrap());
    assert!(store.replay_delivery(id, after(60)).await.unwrap());
}

async fn r115_what_nobody_is_to_be_told_is_dropped(db: Database) {
    let store = posting(&db);
    let id = one_signal(&store, "1").await;
    assert_eq!(store.drop_unposted(after(1), after(9)).await.unwrap(), 0, "it has a webhook");
    assert_eq!(db.store.drop_unposted(NOW, after(9)).await.unwrap(), 0, "a newer process may know better");
    assert_eq!(db.store.drop_unposted(after(1), after(9)).await.unwrap(), 1);
    assert_eq!(state(&store, id).await, State::Dropped);
    assert!(claimed(&store, 1, 60).await.is_empty());
}

async fn what_ended_long_ago_is_purged_and_what_is_due_keeps_its_signal(db: Database) {
    let store = posting(&db);
    let (told, due) = (one_signal(&store, "1").await, one_signal(&store, "2").await);
    store.delivered(told, 200, after(10)).await.unwrap();
    store.purge_signals(after(60), 9).await.unwrap();
    let kept: Vec<_> = store.signals_after(&files(), 0, 10).await.unwrap().iter().map(|one| one.id).collect();
    assert_eq!(kept, [due]);
    assert_eq!(store.purge_deliveries(after(10), 9).await.unwrap(), 0);
    assert_eq!(store.purge_stale_deliveries(NOW, 9).await.unwrap(), 0);
    assert_eq!(store.deliveries(None, None, 10).await.unwrap().len(), 2);
    assert_eq!(store.purge_deliveries(after(11), 9).await.unwrap(), 1);
    assert_eq!(state(&store, due).await, State::Due);
    assert_eq!(store.deliveries(None, None, 10).await.unwrap().len(), 1);
    assert_eq!(store.purge_stale_deliveries(after(1), 9).await.unwrap(), 1);
    assert!(store.deliveries(None, None, 10).await.unwrap().is_empty());
}

async fn one_that_cannot_be_read_keeps_no_other_back(db: Database) {
    let store = posting(&db);
    let (broken, sound) = (one_signal(&store, "1").await, one_signal(&store, "2").await);
    let mut raw = Raw::connect(&db).await;
    let id = raw.uuid(broken.0);
    raw.run(&format!("UPDATE signals SET kind = 'none' WHERE id = {id}")).await;
    assert_eq!(ids(&claimed(&store, 10, 0).await), [sound]);
    assert_eq!(state(&store, broken).await, State::Dropped);
}
