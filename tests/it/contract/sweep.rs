//! Housekeeping: what ran out is closed once, what is old is deleted, what died is ended.

use std::time::Duration;

use consentry::{
    elicitation::{AttemptState, ElicitationId, NewElicitation, Outcome, State},
    random::Random,
    signal::Kind,
    store::Idempotency,
};

use super::{given::*, raw::Raw};
use crate::engine::Database;

contract! {
    what_ran_out_is_closed_once_with_its_signal,
    r10_the_sweeper_is_not_needed_to_see_an_expiry,
    no_more_than_the_limit_is_closed_and_the_oldest_first,
    one_with_a_claimed_attempt_waits_a_minute,
    what_is_closed_is_not_expired,
    what_is_old_is_deleted_with_its_attempts,
    what_is_old_is_deleted_in_batches,
    an_attempt_whose_process_died_is_ended,
    one_made_at_the_moment_of_a_connect_is_found,
    a_caller_who_hangs_up_leaves_no_transaction_behind,
}

/// R81: dropped while `BEGIN` is on its way, a move must not give a connection back that is inside a transaction: what
/// the next one writes on it would never be committed.
async fn a_caller_who_hangs_up_leaves_no_transaction_behind(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let mut cut_off = 0;
    // On a busy machine SQLite's thread may answer before the first poll is over, many times in a row.
    for _ in 0..5_000 {
        let mut expiring = Box::pin(db.store.expire(asked.id, NOW));
        let polled =
            std::future::poll_fn(|context| std::task::Poll::Ready(expiring.as_mut().poll(context))).await;
        cut_off += usize::from(polled.is_pending());
        drop(expiring);
        if cut_off == 20 {
            break;
        }
    }
    assert!(cut_off > 0, "somebody hung up in between");
    assert!(db.store.decline(&owned_open(&asked), NOW).await.unwrap());
    let mut raw = Raw::connect(&db).await;
    assert_eq!(raw.number("SELECT COUNT(*) FROM elicitations WHERE state = 'declined'").await, 1);
    if db.engine == crate::engine::Engine::Postgres {
        let idle = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
            AND state LIKE 'idle in transaction%'";
        // One that nobody waits for any more is rolled back when its connection returns, which takes a moment.
        for _ in 0..500 {
            if raw.number(idle).await == 0 {
                break;
            }
            raw.number("SELECT COUNT(*) FROM pg_sleep(0.01)").await;
        }
        assert_eq!(raw.number(idle).await, 0);
    }
}

/// One that saw no connection when it was made, because that was being committed, must not hang.
async fn one_made_at_the_moment_of_a_connect_is_found(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let missed = db.store.given_elicitation(&asked_by("missed")).await;
    let switching = NewElicitation { seen: Some(connection.as_grant()), ..asked_by("switching") };
    db.store.given_elicitation(&switching).await;
    db.store.given_elicitation(&NewElicitation { owner: bob(), ..asked_by("bob") }).await;
    let found: Vec<ElicitationId> =
        db.store.satisfiable(NOW, 10).await.unwrap().iter().map(|one| one.id).collect();
    assert_eq!(found, [missed.id]);
    assert!(db.store.satisfiable(missed.expires_at, 10).await.unwrap().is_empty());
    assert!(db.store.satisfy(&missed, connection.as_grant(), NOW).await.unwrap());
    assert!(db.store.satisfiable(NOW, 10).await.unwrap().is_empty());
}

async fn what_ran_out_is_closed_once_with_its_signal(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let attempt = db.store.given_attempt(&asked, asked.expires_at.minus(Duration::from_secs(5))).await;
    let last = asked.expires_at.minus(Duration::from_millis(1));
    assert_eq!(db.store.expire_due(last, 10).await.unwrap(), 0);
    assert_eq!(db.store.expire_due(asked.expires_at, 10).await.unwrap(), 1);
    assert_eq!(db.store.expire_due(asked.expires_at, 10).await.unwrap(), 0);
    let expired = db.store.again(&asked).await;
    assert_eq!((expired.stored, expired.closed_at), (State::Expired, Some(asked.expires_at)));
    assert_eq!(expired.reason.as_deref(), Some("expired"));
    assert_eq!(db.store.attempt_now(&attempt).await.outcome, Some(Outcome::ClosedMeanwhile));
    assert_eq!(db.store.told(&files()).await, [(Kind::ElicitationExpired, Some(asked.id))]);
}

async fn r10_the_sweeper_is_not_needed_to_see_an_expiry(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let read = db.store.elicitation(asked.id).await.unwrap().unwrap();
    assert_eq!(read.state(asked.expires_at), State::Expired);
    assert!(owned(&read).open(asked.expires_at).is_err());
}

async fn no_more_than_the_limit_is_closed_and_the_oldest_first(db: Database) {
    let mut asked = Vec::new();
    for seconds in [30, 10, 20] {
        let new = NewElicitation { expires_at: after(seconds), ..asked_by("") };
        asked.push(db.store.given_elicitation(&new).await.id);
    }
    assert_eq!(db.store.expire_due(after(60), 2).await.unwrap(), 2);
    let told = db.store.told(&files()).await;
    assert_eq!(told.iter().map(|one| one.1.unwrap()).collect::<Vec<_>>(), [asked[1], asked[2]]);
    assert_eq!(db.store.expire_due(after(60), 2).await.unwrap(), 1);
}

async fn one_with_a_claimed_attempt_waits_a_minute(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let last = asked.expires_at.minus(Duration::from_secs(1));
    let claimed = db.store.given_claimed(&asked, last).await;
    let minute_later = last.plus(Duration::from_secs(60));
    let before = minute_later.minus(Duration::from_millis(1));
    assert_eq!(db.store.expire_due(before, 10).await.unwrap(), 0);
    assert!(!db.store.expire(asked.id, before).await.unwrap());
    assert_eq!(db.store.again(&asked).await.state(before), State::Authorizing);
    assert_eq!(db.store.expire_due(minute_later, 10).await.unwrap(), 1);
    let settlement = settling(&claimed, credential("octocat", 1), None);
    let settled = db.store.settle(&settlement, minute_later).await.unwrap();
    assert!(matches!(settled, consentry::store::Settled::ClosedMeanwhile), "{settled:?}");
}

async fn what_is_closed_is_not_expired(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(db.store.decline(&owned_open(&asked), NOW).await.unwrap());
    assert!(!db.store.expire(asked.id, asked.expires_at).await.unwrap());
    assert_eq!(db.store.expire_due(asked.expires_at, 10).await.unwrap(), 0);
    assert!(!db.store.expire(ElicitationId(Random.uuid()), NOW).await.unwrap());
    assert_eq!(db.store.again(&asked).await.stored, State::Declined);
}

async fn what_is_old_is_deleted_with_its_attempts(db: Database) {
    let old = db.store.given_elicitation(&asked_by("old")).await;
    let attempt = db.store.given_attempt(&old, NOW).await;
    assert!(db.store.decline(&owned_open(&old), after(1)).await.unwrap());
    let recent = db.store.given_elicitation(&asked_by("recent")).await;
    assert!(db.store.decline(&owned_open(&recent), after(5)).await.unwrap());
    let open = db.store.given_elicitation(&asked_by("open")).await;
    let idempotency = Idempotency { key: digest("key"), body: digest("body") };
    db.store.create_once(&asked_by("open"), idempotency, NOW).await.unwrap();
    assert_eq!(db.store.purge_elicitations(after(5), 9).await.unwrap(), 1);
    assert_eq!(db.store.purge_signals(after(5), 9).await.unwrap(), 1);
    assert_eq!(db.store.purge_idempotency_keys(after(5), 9).await.unwrap(), 1);
    assert!(db.store.elicitation(old.id).await.unwrap().is_none());
    assert!(db.store.attempt(old.id, attempt.id).await.unwrap().is_none());
    assert!(db.store.recall(&files(), &idempotency.key).await.unwrap().is_none());
    for kept in [&recent, &open] {
        assert!(db.store.elicitation(kept.id).await.unwrap().is_some());
    }
    let left = db.store.signals_after(&files(), 0, 9).await.unwrap();
    assert_eq!(left.iter().map(|one| one.sequence).collect::<Vec<_>>(), [2]);
    assert_eq!(db.store.signal_head(&files()).await.unwrap(), 2, "a number is never used again");
    let mut raw = Raw::connect(&db).await;
    assert_eq!(raw.number("SELECT COUNT(*) FROM attempts").await, 0);
}

/// However much has become old, no statement deletes more than it may.
async fn what_is_old_is_deleted_in_batches(db: Database) {
    for number in 0..5 {
        let one = db.store.given_elicitation(&asked_by(&number.to_string())).await;
        assert!(db.store.decline(&owned_open(&one), after(1)).await.unwrap());
        let idempotency = Idempotency { key: digest(&format!("key-{number}")), body: digest("body") };
        db.store.create_once(&asked_by("open"), idempotency, NOW).await.unwrap();
    }
    for expected in [2, 2, 1, 0] {
        assert_eq!(db.store.purge_elicitations(after(5), 2).await.unwrap(), expected);
        assert_eq!(db.store.purge_signals(after(5), 2).await.unwrap(), expected);
        assert_eq!(db.store.purge_idempotency_keys(after(5), 2).await.unwrap(), expected);
    }
}

async fn an_attempt_whose_process_died_is_ended(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await.attempt;
    db.store.abandon(after(60)).await.unwrap();
    assert_eq!(db.store.attempt_now(&claimed).await.state, AttemptState::Claimed);
    db.store.abandon(after(61)).await.unwrap();
    let ended = db.store.attempt_now(&claimed).await;
    assert_eq!((ended.state, ended.outcome), (AttemptState::Settled, Some(Outcome::Unreachable)));
    assert_eq!(db.store.again(&asked).await.state(after(61)), State::Pending, "the link works again");
}
