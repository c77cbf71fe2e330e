//! The lease on a refresh token: who may take it, and that nobody writes past its fence.

use std::time::Duration;

use consentry::{
    clock::Millis,
    connection::{Connection, ConnectionId, Status},
    random::Random,
    signal::Kind,
    store::{Failing, Lease, Renewed, Settled},
    vault::Sealed,
};

use super::{given::*, raw::Raw};
use crate::engine::{Database, Engine};

contract! {
    r79_one_holder_at_a_time,
    r79_many_replicas_take_it_once,
    a_lease_is_on_the_databases_clock,
    a_lease_that_ran_out_is_taken_with_its_open_intent,
    what_was_not_sent_leaves_no_intent,
    a_refresh_is_stored_and_seen_at_once,
    r84_a_later_holder_fences_an_earlier_one_off,
    r84_a_disconnect_fences_a_refresh_off,
    r84_a_new_consent_fences_a_refresh_off,
    r77_a_failure_keeps_the_tokens,
    a_failure_says_when_and_whether_the_intent_is_open,
    r77_an_end_is_told_once_and_keeps_the_tokens,
    an_end_by_the_clock_needs_no_lease,
    r84_an_end_by_the_clock_waits_for_a_refresh,
    r82_another_account_is_quarantined,
    one_that_has_ended_is_not_leased,
}

pub(super) const LENGTH: Duration = Duration::from_secs(30);

/// A lease of the connection, which is free.
pub(super) async fn taken(db: &Database, connection: &Connection) -> Lease {
    take(db, connection.id, connection.generation).await.expect("the lease is free")
}

async fn take(db: &Database, id: ConnectionId, generation: i64) -> Option<Lease> {
    let owner = Random.uuid();
    let taken = db.store.take_lease(id, generation, owner, LENGTH, after(5)).await.unwrap();
    taken.map(|(lease, connection)| {
        assert_eq!((lease.connection, lease.generation), (connection.id, connection.generation));
        assert!(connection.refresh.is_some());
        lease
    })
}

/// Ends every lease, as if its time had passed.
pub(super) async fn time_passes(db: &Database) {
    Raw::connect(db)
        .await
        .run("UPDATE connections SET lease_until_ms = lease_until_ms - 60000, intent_at_ms = intent_at_ms - 60000")
        .await;
}

pub(super) fn renewed(word: &str) -> Renewed {
    Renewed {
        access: Sealed::from_bytes(format!("access {word}").into_bytes()),
        refresh: Sealed::from_bytes(format!("refresh {word}").into_bytes()),
        granted: scopes(&["repo"]),
        access_expires_at: Some(after(3_600)),
        refresh_expires_at: Some(after(7_200)),
        values: values(&[("instance_url", &format!("https://example/{word}"))]),
        warned_until: after(0),
    }
}

fn failing(code: &'static str, next: Option<Millis>, keep_intent: bool) -> Failing {
    Failing { code, next_attempt_at: next, keep_intent }
}

async fn read(db: &Database, id: ConnectionId) -> Connection {
    db.store.any_connection(id).await.unwrap().unwrap()
}

async fn r79_one_holder_at_a_time(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let free = db.store.watch_connection(mine.id).await.unwrap().unwrap();
    assert_eq!((free.lease_token, free.lease_left), (0, None));
    assert!(take(&db, mine.id, mine.generation + 1).await.is_none());
    assert!(take(&db, mine.id, mine.generation - 1).await.is_none());
    assert!(take(&db, ConnectionId(Random.uuid()), 1).await.is_none());
    let lease = taken(&db, &mine).await;
    assert!(!lease.recovering);
    assert!(take(&db, mine.id, mine.generation).await.is_none());
    let held = db.store.watch_connection(mine.id).await.unwrap().unwrap();
    assert_eq!(held.lease_token, lease.token);
    let left = held.lease_left.unwrap();
    assert!(left <= LENGTH && left > LENGTH / 2, "{left:?}");
    assert!(db.store.watch_connection(ConnectionId(Random.uuid())).await.unwrap().is_none());
}

async fn r79_many_replicas_take_it_once(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let mut taking = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (db, id) = (db.clone(), mine.id);
        taking.spawn(async move { take(&db, id, 1).await });
    }
    let won = taking.join_all().await.into_iter().flatten().count();
    assert_eq!(won, 1);
}

/// Whatever the program believes the time to be.
async fn a_lease_is_on_the_databases_clock(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let owner = Random.uuid();
    let long_ago = db.store.take_lease(mine.id, 1, owner, LENGTH, Millis(1)).await.unwrap();
    assert!(long_ago.is_some());
    let far_ahead = db.store.take_lease(mine.id, 1, owner, LENGTH, Millis(i64::MAX)).await.unwrap();
    assert!(far_ahead.is_none());
}

/// F1 to F3: what came of its request is not known.
async fn a_lease_that_ran_out_is_taken_with_its_open_intent(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let first = taken(&db, &mine).await;
    time_passes(&db).await;
    assert_eq!(db.store.watch_connection(mine.id).await.unwrap().unwrap().lease_left, None);
    let second = taken(&db, &mine).await;
    assert!(second.recovering && second.token > first.token);
    assert!(db.store.commit_refresh(&second, &renewed("2"), after(9)).await.unwrap().is_some());
    let third = taken(&db, &read(&db, mine.id).await).await;
    assert!(!third.recovering, "its outcome is stored");
}

async fn what_was_not_sent_leaves_no_intent(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let owner = Random.uuid();
    let (first, _) = db.store.take_lease(mine.id, 1, owner, LENGTH, after(1)).await.unwrap().unwrap();
    assert!(!db.store.release_lease(mine.id, Random.uuid(), LENGTH).await.unwrap(), "not theirs");
    assert!(db.store.release_lease(mine.id, owner, LENGTH).await.unwrap());
    assert!(!db.store.release_lease(mine.id, owner, LENGTH).await.unwrap());
    let owner = Random.uuid();
    let (second, _) = db.store.take_lease(mine.id, 1, owner, LENGTH, after(1)).await.unwrap().unwrap();
    assert!(!second.recovering && second.token > first.token);
    time_passes(&db).await;
    let (third, _) = db.store.take_lease(mine.id, 1, owner, LENGTH, after(1)).await.unwrap().unwrap();
    assert!(third.recovering);
    assert!(db.store.release_lease(mine.id, owner, LENGTH).await.unwrap());
    assert!(taken(&db, &mine).await.recovering, "an older intent stays");
}

async fn a_refresh_is_stored_and_seen_at_once(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let lease = taken(&db, &mine).await;
    let next = renewed("2");
    let stored = db.store.commit_refresh(&lease, &next, after(9)).await.unwrap().unwrap();
    let handed = db.store.connection_to_hand_out(&files(), &alice(), &github()).await.unwrap().unwrap();
    assert_eq!((handed.id, handed.generation), (mine.id, mine.generation + 1));
    assert_eq!(handed.access.as_bytes(), next.access.as_bytes());
    let read = read(&db, mine.id).await;
    assert_eq!(read.refresh.unwrap().as_bytes(), next.refresh.as_bytes());
    assert_eq!((read.access_expires_at, read.refresh_expires_at), (Some(after(3_600)), Some(after(7_200))));
    assert_eq!((read.refreshed_at, read.updated_at, read.grant), (Some(after(9)), after(9), mine.grant));
    assert_eq!((read.failures, read.failure, read.next_attempt_at), (0, None, None));
    assert_eq!((&handed.values, &read.values), (&next.values, &next.values));
    assert_ne!(next.values, mine.values);
    assert_eq!(stored.mended_generation, None, "nobody had refused its predecessor");
    assert!(db.store.commit_refresh(&lease, &renewed("3"), after(9)).await.unwrap().is_none(), "once");
}

async fn r84_a_later_holder_fences_an_earlier_one_off(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let paused = taken(&db, &mine).await;
    time_passes(&db).await;
    let later = taken(&db, &mine).await;
    let end = Status::NeedsReconnect;
    assert!(db.store.commit_refresh(&paused, &renewed("late"), after(9)).await.unwrap().is_none());
    assert!(!db.store.fail_refresh(&paused, &failing("transient", None, false)).await.unwrap());
    assert!(db.store.end_refresh(&paused, end, "refused_by_provider", after(9)).await.unwrap().is_none());
    assert!(db.store.commit_refresh(&later, &renewed("2"), after(9)).await.unwrap().is_some());
    assert!(db.store.end_refresh(&later, end, "refused_by_provider", after(9)).await.unwrap().is_none());
    assert_eq!(read(&db, mine.id).await.access.as_bytes(), b"access 2");
}

async fn r84_a_disconnect_fences_a_refresh_off(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let lease = taken(&db, &mine).await;
    assert!(db.store.disconnect(&files(), mine.id, "by_user", |_| None, after(1)).await.unwrap().is_some());
    assert!(db.store.commit_refresh(&lease, &renewed("late"), after(2)).await.unwrap().is_none());
    assert!(db.store.any_connection(mine.id).await.unwrap().is_none());
    assert!(db.store.watch_connection(mine.id).await.unwrap().is_none());
}

/// F11: the newest grant stays.
async fn r84_a_new_consent_fences_a_refresh_off(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let lease = taken(&db, &mine).await;
    let again = db.store.given_elicitation(&asked_by("again")).await;
    let claimed = db.store.given_claimed(&again, NOW).await;
    let over = Some((mine.id, mine.generation));
    let settled =
        db.store.settle(&settling(&claimed, credential("octocat", 2), over), after(1)).await.unwrap();
    assert!(matches!(settled, Settled::Done { .. }));
    assert!(db.store.commit_refresh(&lease, &renewed("late"), after(2)).await.unwrap().is_none());
    let now = read(&db, mine.id).await;
    assert_eq!((now.generation, now.access.as_bytes()), (2, &b"sealed access 2"[..]));
    assert!(!taken(&db, &now).await.recovering, "and its intent is over");
}

async fn r77_a_failure_keeps_the_tokens(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    for round in 1..=5 {
        let lease = taken(&db, &mine).await;
        assert!(db.store.fail_refresh(&lease, &failing("transient", Some(after(5)), false)).await.unwrap());
        let now = read(&db, mine.id).await;
        assert_eq!((now.failures, now.failure.as_deref()), (round, Some("transient")));
        assert_eq!((now.status, now.generation), (Status::Active, mine.generation));
        assert_eq!(now.access.as_bytes(), mine.access.as_bytes());
        assert_eq!(now.refresh.unwrap().as_bytes(), mine.refresh.as_ref().unwrap().as_bytes());
        assert_eq!(now.next_attempt_at, Some(after(5)));
    }
    assert_eq!(db.store.told(&files()).await.len(), 2, "of the connect alone");
}

async fn a_failure_says_when_and_whether_the_intent_is_open(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let lease = taken(&db, &mine).await;
    assert!(db.store.fail_refresh(&lease, &failing("ambiguous", Some(after(6)), true)).await.unwrap());
    let early = db.store.take_lease(mine.id, 1, Random.uuid(), LENGTH, after(5)).await.unwrap();
    assert!(early.is_none(), "not before its time");
    Raw::connect(&db).await.run("UPDATE connections SET intent_at_ms = intent_at_ms - 1000").await;
    let due = db.store.take_lease(mine.id, 1, Random.uuid(), LENGTH, after(6)).await.unwrap();
    let (lease, _) = due.unwrap();
    assert!(lease.recovering, "the request may have been acted on");
    assert!(db.store.fail_refresh(&lease, &failing("transient", None, false)).await.unwrap());
    assert!(!taken(&db, &mine).await.recovering);
}

async fn r77_an_end_is_told_once_and_keeps_the_tokens(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let before = db.store.signal_head(&files()).await.unwrap();
    let lease = taken(&db, &mine).await;
    let ended = db
        .store
        .end_refresh(&lease, Status::NeedsReconnect, "refused_by_provider", after(9))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (ended.status, ended.reason.as_deref()),
        (Status::NeedsReconnect, Some("refused_by_provider"))
    );
    assert!(ended.refresh.is_some(), "kept, sealed");
    let again = db.store.end_refresh(&lease, Status::NeedsReconnect, "refused_by_provider", after(9)).await;
    assert!(again.unwrap().is_none());
    let told = db.store.signals_after(&files(), before, 9).await.unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].kind, told[0].connection), (Kind::ConnectionNeedsReconnect, Some(mine.id)));
    assert_eq!(told[0].reason.as_deref(), Some("refused_by_provider"));
}

async fn an_end_by_the_clock_needs_no_lease(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let lease = taken(&db, &mine).await;
    // A process that stood still for longer than its lease.
    time_passes(&db).await;
    let end = async |generation| {
        db.store.end_by_clock(mine.id, generation, "consent_expired", after(9)).await.unwrap()
    };
    assert!(end(2).await.is_none());
    let ended = end(1).await.unwrap();
    assert_eq!((ended.status, ended.reason.as_deref()), (Status::NeedsReconnect, Some("consent_expired")));
    assert!(end(1).await.is_none());
    assert!(db.store.commit_refresh(&lease, &renewed("late"), after(9)).await.unwrap().is_none());
}

/// R84: what the refresh was given is stored; then whoever ends it comes back, and finds another generation.
async fn r84_an_end_by_the_clock_waits_for_a_refresh(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let lease = taken(&db, &mine).await;
    let end = async |generation| {
        db.store.end_by_clock(mine.id, generation, "refresh_expired", after(9)).await.unwrap()
    };
    assert!(end(1).await.is_none());
    assert!(db.store.commit_refresh(&lease, &renewed("2"), after(10)).await.unwrap().is_some());
    assert!(end(1).await.is_none() && end(2).await.is_some());
    // A lease that nobody gave back runs out.
    db.store.disconnect(&files(), mine.id, "x", |_| None, NOW).await.unwrap().unwrap();
    let other = db.store.given_connection("hubot").await;
    taken(&db, &other).await;
    assert!(db.store.end_by_clock(other.id, 1, "refresh_expired", after(9)).await.unwrap().is_none());
    time_passes(&db).await;
    assert!(db.store.end_by_clock(other.id, 1, "refresh_expired", after(9)).await.unwrap().is_some());
}

async fn r82_another_account_is_quarantined(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let lease = taken(&db, &mine).await;
    let held = db
        .store
        .end_refresh(&lease, Status::Quarantined, "account_mismatch", after(9))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((held.status, held.reason.as_deref()), (Status::Quarantined, Some("account_mismatch")));
    assert!(!held.is_usable(after(9)));
}

async fn one_that_has_ended_is_not_leased(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    assert!(db.store.end_by_clock(mine.id, 1, "refresh_expired", after(9)).await.unwrap().is_some());
    assert!(take(&db, mine.id, 1).await.is_none());
    let other =
        db.store.given_elicitation(&consentry::elicitation::NewElicitation { owner: bob(), ..asked() }).await;
    let claimed = db.store.given_claimed(&other, NOW).await;
    let mut without = credential("hubot", 1);
    without.refresh = None;
    let settled = db.store.settle(&settling(&claimed, without, None), after(1)).await.unwrap();
    let Settled::Done { connection, .. } = settled else { panic!("{settled:?}") };
    assert!(take(&db, connection.id, 1).await.is_none(), "there is nothing to send");
}

/// A refresh writes the row twice (the lease, then the tokens) and no index: none names a column that changes, and
/// the pages are not filled to the brim. A vacuum then has nothing to do in the indexes of the largest table.
#[tokio::test]
async fn a_refresh_is_a_heap_only_update() {
    // One row of each page, so that room for both versions does not depend on when dead ones are cleared away.
    const ROWS: usize = 800;
    const REFRESHED: usize = ROWS / 8;
    let db = Database::start(Engine::Postgres).await;
    let mine = db.store.given_connection("octocat").await;
    let mut raw = Raw::connect(&db).await;
    raw.run(&format!(
        "INSERT INTO connections SELECT (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(), \
         'sub', 'person ' || n, 'access', repeat('a', 300), 'refresh', repeat('b', 100)))).* \
         FROM connections c, generate_series(1, {ROWS}) n"
    ))
    .await;
    let ids = "SELECT id::text FROM connections WHERE sub LIKE 'person %' ORDER BY ctid";
    let ids: Vec<String> = raw.texts(ids).await.into_iter().step_by(ROWS / REFRESHED).collect();
    assert_eq!(ids.len(), REFRESHED);
    for id in ids {
        let lease = take(&db, ConnectionId(id.parse().unwrap()), mine.generation).await.unwrap();
        let next = Renewed {
            access: Sealed::from_bytes(vec![b'c'; 300]),
            refresh: Sealed::from_bytes(vec![b'd'; 100]),
            ..renewed("2")
        };
        assert!(db.store.commit_refresh(&lease, &next, after(9)).await.unwrap().is_some());
    }
    // A connection counts what it has done when it ends.
    db.store.shut_down().await;
    let mut counted = async |column: &str| {
        raw.number(&format!("SELECT {column} FROM pg_stat_user_tables WHERE relname = 'connections'")).await
    };
    let (all, hot) = loop {
        let all = counted("n_tup_upd").await;
        if all >= 2 * REFRESHED as i64 {
            break (all, counted("n_tup_hot_upd").await);
        }
        tokio::task::yield_now().await;
    };
    assert!(hot * 10 >= all * 9, "{hot} of {all} updates were heap-only");
}
