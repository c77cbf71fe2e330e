//! Signals: numbered without gaps, visible in the order of their numbers, to their own tenant alone.

use std::time::Duration;

use consentry::{elicitation::NewElicitation, random::Random, signal::Kind};
use tokio::task::JoinSet;

use super::{
    given::*,
    raw::{Raw, until_somebody_waits},
};
use crate::engine::{Database, Engine};

contract! {
    numbers_count_from_one_for_each_tenant,
    a_page_is_what_comes_after_a_number,
    r16_another_tenant_sees_nothing,
    a_reader_is_woken_in_this_process,
    a_number_that_is_taken_and_not_committed_is_not_skipped,
    a_number_that_is_given_back_leaves_no_gap,
    news_are_read_once_for_all_and_none_is_missed,
    a_tenant_does_not_wait_for_another,
    a_reader_that_never_looks_back_misses_nothing,
}

/// Ends `count` elicitations of a tenant, one after the other.
async fn end(store: &consentry::store::Store, server: &consentry::elicitation::ServerId, count: usize) {
    for _ in 0..count {
        let new = NewElicitation { server: server.clone(), ..asked_by("") };
        let asked = store.given_elicitation(&new).await;
        assert!(store.decline(&owned_open(&asked), NOW).await.unwrap());
    }
}

async fn numbers_count_from_one_for_each_tenant(db: Database) {
    assert_eq!(db.store.signal_head(&files()).await.unwrap(), 0);
    end(&db.store, &files(), 2).await;
    end(&db.store, &notes(), 1).await;
    end(&db.store, &files(), 1).await;
    assert_eq!(db.store.told(&files()).await.len(), 3);
    assert_eq!(db.store.told(&notes()).await.len(), 1);
    assert_eq!(db.store.signal_head(&files()).await.unwrap(), 3);
    assert_eq!(db.store.signal_head(&notes()).await.unwrap(), 1);
}

async fn a_page_is_what_comes_after_a_number(db: Database) {
    end(&db.store, &files(), 5).await;
    let numbers = async |after, limit| -> Vec<i64> {
        let page = db.store.signals_after(&files(), after, limit).await.unwrap();
        page.into_iter().map(|signal| signal.sequence).collect()
    };
    assert_eq!(numbers(0, 2).await, [1, 2]);
    assert_eq!(numbers(2, 2).await, [3, 4]);
    assert_eq!(numbers(4, 2).await, [5]);
    assert!(numbers(5, 2).await.is_empty());
    assert!(numbers(i64::MAX, 2).await.is_empty());
    assert_eq!(numbers(-1, 200).await, [1, 2, 3, 4, 5]);
}

async fn r16_another_tenant_sees_nothing(db: Database) {
    end(&db.store, &files(), 2).await;
    assert!(db.store.signals_after(&notes(), 0, 200).await.unwrap().is_empty());
    assert_eq!(db.store.signal_head(&notes()).await.unwrap(), 0);
}

async fn a_reader_is_woken_in_this_process(db: Database) {
    let mut files_woke = db.store.subscribe(&files());
    let notes_woke = db.store.subscribe(&notes());
    if db.engine == Engine::Postgres {
        // Once, for what came before the listener was there.
        files_woke.changed().await.unwrap();
    }
    assert!(!files_woke.has_changed().unwrap());
    end(&db.store, &files(), 1).await;
    files_woke.changed().await.unwrap();
    assert_eq!(db.store.signals_after(&files(), 0, 9).await.unwrap().len(), 1, "it is there when told");
    assert!(db.engine == Engine::Postgres || !notes_woke.has_changed().unwrap());
}

/// Queues a signal of `files` as the store does, in a transaction of the test's own that stays open.
async fn queue_and_hold(raw: &mut Raw) {
    raw.begin().await;
    raw.run("UPDATE signal_heads SET sequence = sequence + 1 WHERE server = 'files'").await;
    let id = raw.uuid(Random.row_id(NOW));
    raw.run(&format!(
        "INSERT INTO signals (id, server, sequence, kind, provider, issuer, sub, client_ref, legacy, at_ms) \
         SELECT {id}, server, sequence, 'connection.updated', 'github', 'i', 's', '', FALSE, 0 \
         FROM signal_heads WHERE server = 'files'"
    ))
    .await;
}

/// The one hazard of a table that is read by number: 3 is committed before 2, and who saw 3 never sees 2.
async fn a_number_that_is_taken_and_not_committed_is_not_skipped(db: Database) {
    end(&db.store, &files(), 1).await;
    let asked = db.store.given_elicitation(&asked()).await;
    let mut raw = Raw::connect(&db).await;
    queue_and_hold(&mut raw).await;
    let waiting = tokio::spawn({
        let store = db.store.clone();
        async move { store.decline(&owned_open(&asked), NOW).await.unwrap() }
    });
    if db.engine == Engine::Postgres {
        until_somebody_waits(&db).await;
    }
    assert_eq!(db.store.told(&files()).await.len(), 1, "neither the held number nor a later one");
    assert!(!waiting.is_finished());
    raw.run("COMMIT").await;
    assert!(waiting.await.unwrap());
    let kinds: Vec<Kind> = db.store.told(&files()).await.into_iter().map(|one| one.0).collect();
    let (declined, updated) = (Kind::ElicitationDeclined, Kind::ConnectionUpdated);
    assert_eq!(kinds, [declined, updated, declined]);
}

/// Who took the number dies: the next gets it, and nobody waits for one that will never come.
async fn a_number_that_is_given_back_leaves_no_gap(db: Database) {
    end(&db.store, &files(), 1).await;
    let asked = db.store.given_elicitation(&asked()).await;
    let mut raw = Raw::connect(&db).await;
    queue_and_hold(&mut raw).await;
    let waiting = tokio::spawn({
        let store = db.store.clone();
        async move { store.decline(&owned_open(&asked), NOW).await.unwrap() }
    });
    if db.engine == Engine::Postgres {
        until_somebody_waits(&db).await;
    }
    // The connection is gone without a word, as after a crash.
    drop(raw);
    assert!(waiting.await.unwrap());
    assert_eq!(db.store.told(&files()).await.len(), 2, "1 and 2");
}

/// Streams at different places, one of them on another replica's commits, each see every number in order.
async fn news_are_read_once_for_all_and_none_is_missed(db: Database) {
    const COUNT: i64 = 400;
    let replica = db.replica().await;
    let ending = tokio::spawn({
        let stores = [db.store.clone(), replica];
        async move {
            for at in 0..usize::try_from(COUNT).unwrap() {
                end(&stores[at % 2], &files(), 1).await;
            }
        }
    });
    let mut reading = JoinSet::new();
    for reader in 0..8_i64 {
        let store = db.store.clone();
        reading.spawn(async move {
            let mut now = NOW;
            let (begin, mut last) = (reader * 3, reader * 3);
            while store.signal_head(&files()).await.unwrap() < begin {
                tokio::task::yield_now().await;
            }
            while last < COUNT {
                for signal in store.news(&files(), last, now).await.unwrap() {
                    last += 1;
                    assert_eq!(signal.sequence, last);
                }
                // A slow one falls behind what is kept in memory.
                for _ in 0..reader * 20 {
                    tokio::task::yield_now().await;
                }
                now = now.plus(Duration::from_millis(100));
            }
        });
    }
    let all = async {
        while let Some(read) = reading.join_next().await {
            read.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all).await.expect("every number comes");
    ending.await.unwrap();
}

/// On SQLite there is one writer; on Postgres a tenant's numbers are its own lock.
async fn a_tenant_does_not_wait_for_another(db: Database) {
    end(&db.store, &files(), 1).await;
    if db.engine == Engine::Sqlite {
        end(&db.store, &notes(), 1).await;
        return;
    }
    let mut raw = Raw::connect(&db).await;
    queue_and_hold(&mut raw).await;
    end(&db.store, &notes(), 3).await;
    raw.run("ROLLBACK").await;
    assert_eq!(db.store.told(&notes()).await.len(), 3);
}

/// Many end at once, on two replicas, while one reader goes forward by the last number that it saw.
async fn a_reader_that_never_looks_back_misses_nothing(db: Database) {
    const TASKS: usize = 6;
    const EACH: usize = 10;
    let replica = db.replica().await;
    let mut ending = JoinSet::new();
    for at in 0..TASKS {
        let store = if at % 2 == 0 { db.store.clone() } else { replica.clone() };
        ending.spawn(async move { end(&store, &files(), EACH).await });
    }
    let mut seen = Vec::new();
    let reading = async {
        while seen.len() < TASKS * EACH {
            let last = seen.last().copied().unwrap_or(0);
            let page = db.store.signals_after(&files(), last, 7).await.unwrap();
            assert!(page.iter().all(|signal| signal.kind == Kind::ElicitationDeclined));
            seen.extend(page.iter().map(|signal| signal.sequence));
            assert_eq!(seen, (1..).take(seen.len()).collect::<Vec<i64>>());
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reading).await.expect("every number comes");
    while let Some(ended) = ending.join_next().await {
        ended.unwrap();
    }
    assert_eq!(db.store.signal_head(&files()).await.unwrap(), i64::try_from(TASKS * EACH).unwrap());
}
