//! The audit record: written with what it tells of, in chains that nobody can mend without the key.

use consentry::{
    audit::{Actor, Entry, Flaw, Head, Kind, Row, Walk},
    clock::Millis,
    connection::{ConnectionId, NewConnection},
    elicitation::State,
    store::{AuditFilter, ConnectionFilter, Reported},
};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{given::*, raw::Raw};
use crate::engine::{Database, Engine};

contract! {
    moves_are_recorded_with_what_they_change,
    what_is_rolled_back_leaves_no_row_and_no_gap,
    rows_are_found_by_what_they_are_about,
    transactions_at_once_leave_every_chain_whole,
    a_commit_whose_outcome_was_lost_is_met_again,
    a_row_that_is_changed_taken_out_moved_or_put_in_is_told,
    an_end_that_was_cut_off_is_told_by_a_head_that_was_seen,
    a_chain_is_purged_from_its_beginning_alone,
    a_long_chain_is_purged_in_batches,
    every_chain_is_found_and_counted_by_its_ends,
    r117_a_row_holds_no_token_and_no_label,
    a_last_use_moves_forward_and_ends_with_its_connection,
}

/// With chains that begin here, also where another test was before.
async fn afresh(mut db: Database) -> Database {
    db.store = db.replica().await;
    db
}

async fn rows(db: &Database) -> Vec<Row> {
    let mut rows = db.store.audit_rows(AuditFilter::default(), 1_000).await.unwrap();
    rows.reverse();
    rows
}

async fn told(db: &Database) -> Vec<(String, String, Option<String>)> {
    let mut told: Vec<_> = rows(db).await.into_iter().map(|row| (row.kind, row.actor, row.detail)).collect();
    told.sort();
    told
}

/// Every flaw of every chain.
async fn flaws(db: &Database, seen: &[Head]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for chain in db.store.audit_chains().await.unwrap() {
        let seen = seen.iter().filter(|head| head.chain == chain).cloned().collect();
        let mut walk = Walk::new(&db.sealer, &[], seen);
        let mut after = 0;
        loop {
            let page = db.store.audit_chain(chain, after, 7).await.unwrap();
            let Some(last) = page.last() else { break };
            after = last.number;
            page.iter().for_each(|row| walk.step(row));
        }
        flaws.extend(walk.end().1);
    }
    flaws
}

fn happened(seconds: u64) -> Entry {
    Entry::new(Kind::Reported, Actor::Server, consentry::audit::About::default(), after(seconds))
}

/// Rows 1 to `count` of one chain.
async fn given_chain(db: &Database, count: u64) -> Uuid {
    db.store.audit((0..count).map(happened).collect()).await.unwrap();
    let chains = db.store.audit_chains().await.unwrap();
    assert_eq!(chains.len(), 1);
    chains[0]
}

fn row(kind: &str, actor: &str, detail: &str) -> (String, String, Option<String>) {
    (kind.to_owned(), actor.to_owned(), Some(detail.to_owned()))
}

async fn moves_are_recorded_with_what_they_change(db: Database) {
    let db = afresh(db).await;
    let connection = db.store.given_connection("octocat").await;
    let asked = db.store.given_elicitation(&asked_by("2")).await;
    let over = Some((connection.id, connection.generation));
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let second = NewConnection { refresh: None, ..credential("octocat", 2) };
    db.store.settle(&settling(&claimed, second, over), NOW).await.unwrap();
    let declined = db.store.given_elicitation(&asked_by("3")).await;
    assert!(db.store.decline(&owned_open(&declined), NOW).await.unwrap());
    let cancelled = db.store.given_elicitation(&asked_by("4")).await;
    assert!(db.store.close(&cancelled, State::Cancelled, "cancelled_by_server", NOW).await.unwrap());
    let reported = db.store.report_refused(&files(), connection.id, 2, "unauthorized", NOW).await.unwrap();
    assert!(matches!(reported, Reported::Ended(_)), "{reported:?}");
    let open = db.store.given_elicitation(&asked_by("5")).await;
    db.store
        .disconnect(&files(), connection.id, "disconnected_by_user", |_| None, NOW)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        told(&db).await,
        [
            row("cancelled", "person", "disconnected"),
            row("cancelled", "server", "cancelled_by_server"),
            row("connected", "person", "connected"),
            row("declined", "person", "declined_by_user"),
            row("disconnected", "person", "disconnected_by_user"),
            row("needs_reconnect", "program", "unauthorized"),
            row("reconnected", "person", "connected"),
            row("reported", "server", "unauthorized"),
        ]
    );
    let of_open = rows(&db).await.into_iter().find(|row| row.elicitation == Some(open.id.0)).unwrap();
    assert_eq!(of_open.kind, "cancelled");
    assert!(flaws(&db, &[]).await.is_empty());
}

async fn what_is_rolled_back_leaves_no_row_and_no_gap(db: Database) {
    let db = afresh(db).await;
    let connection = db.store.given_connection("octocat").await;
    let asked = db.store.given_elicitation(&asked_by("2")).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    assert!(db.store.decline(&owned_open(&asked), NOW).await.unwrap());
    let before = rows(&db).await.len();
    let over = Some((connection.id, connection.generation));
    db.store.settle(&settling(&claimed, credential("octocat", 2), over), NOW).await.unwrap();
    assert!(!db.store.decline(&owned_open(&asked), NOW).await.unwrap());
    assert_eq!(rows(&db).await.len(), before);
    for _ in 0..20 {
        db.store.audit(vec![happened(1)]).await.unwrap();
    }
    assert!(flaws(&db, &[]).await.is_empty());
}

async fn rows_are_found_by_what_they_are_about(db: Database) {
    let db = afresh(db).await;
    let connection = db.store.given_connection("octocat").await;
    db.store.audit(vec![happened(60)]).await.unwrap();
    let found = async |filter: AuditFilter<'static>| {
        db.store.audit_rows(filter, 9).await.unwrap().into_iter().map(|row| row.kind).collect::<Vec<_>>()
    };
    let all = AuditFilter::default();
    assert_eq!(found(all).await, ["reported", "connected"], "the newest first");
    assert_eq!(found(AuditFilter { since: Some(after(60)), ..all }).await, ["reported"]);
    assert_eq!(found(AuditFilter { until: Some(after(60)), ..all }).await, ["connected"]);
    assert_eq!(found(AuditFilter { kind: Some(Kind::Reported), ..all }).await, ["reported"]);
    assert_eq!(found(AuditFilter { connection: Some(connection.id.0), ..all }).await, ["connected"]);
    let server = files();
    assert_eq!(db.store.audit_rows(AuditFilter { server: Some(&server), ..all }, 9).await.unwrap().len(), 1);
    for (who, count) in [(alice(), 1), (bob(), 0)] {
        let mut rows = Vec::new();
        for spelling in db.sealer.spellings(&who) {
            rows.extend(
                db.store.audit_rows(AuditFilter { subject: Some(&spelling), ..all }, 9).await.unwrap(),
            );
        }
        assert_eq!(rows.len(), count);
    }
}

async fn transactions_at_once_leave_every_chain_whole(db: Database) {
    let db = afresh(db).await;
    let replica = db.replica().await;
    let mut writing = JoinSet::new();
    for at in 0..120_u64 {
        let store = if at % 3 == 0 { replica.clone() } else { db.store.clone() };
        writing.spawn(async move {
            // Some hang up before it is done; whether their rows are there is open, and the chain is whole.
            let work = async move { store.audit(vec![happened(at), happened(at)]).await };
            if at % 10 == 9 {
                let _ = tokio::time::timeout(std::time::Duration::from_micros(at * 40), work).await;
            } else {
                work.await.unwrap();
            }
        });
    }
    while let Some(wrote) = writing.join_next().await {
        wrote.unwrap();
    }
    for _ in 0..20 {
        db.store.audit(vec![happened(200)]).await.unwrap();
    }
    assert!(rows(&db).await.len() >= 2 * 108 + 20);
    assert_eq!(flaws(&db, &[]).await, []);
    let chains = db.store.audit_chains().await.unwrap().len();
    match db.engine {
        Engine::Sqlite => assert_eq!(chains, 2),
        Engine::Postgres => assert!((2..=16).contains(&chains), "{chains}"),
    }
}

/// Here: of another store with the same chain, which is what a lost commit looks like.
async fn a_commit_whose_outcome_was_lost_is_met_again(db: Database) {
    let db = afresh(db).await;
    let chain = given_chain(&db, 2).await;
    let lost = db.sealer.seal(&happened(9), &db.store.audit_chain(chain, 1, 1).await.unwrap()[0].head());
    let mut raw = Raw::connect(&db).await;
    put(&mut raw, &lost).await;
    for _ in 0..10 {
        db.store.audit(vec![happened(10), happened(11)]).await.unwrap();
    }
    assert_eq!(flaws(&db, &[]).await, []);
    assert_eq!(rows(&db).await.len(), 2 + 1 + 20);
}

/// Inserts a row past the store.
async fn put(raw: &mut Raw, row: &Row) {
    let chain = raw.uuid(row.chain);
    let bytes = |raw: &Raw, bytes: &[u8]| {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match raw {
            Raw::Sqlite(_) => format!("x'{hex}'"),
            Raw::Postgres(_) => format!("'\\x{hex}'"),
        }
    };
    let (previous, tag) = (bytes(raw, &row.previous), bytes(raw, &row.tag));
    let sql = format!(
        "INSERT INTO audit (chain, number, at_ms, kind, actor, result, times, previous, tag) \
         VALUES ({chain}, {}, {}, '{}', '{}', '{}', {}, {previous}, {tag})",
        row.number, row.at.0, row.kind, row.actor, row.result, row.times
    );
    assert_eq!(raw.run(&sql).await, 1);
}

async fn a_row_that_is_changed_taken_out_moved_or_put_in_is_told(db: Database) {
    let db = afresh(db).await;
    let chain = given_chain(&db, 5).await;
    assert_eq!(flaws(&db, &[]).await, []);
    let genuine = rows(&db).await;
    let mut raw = Raw::connect(&db).await;
    let id = raw.uuid(chain);
    let of = |number: i64| format!("WHERE chain = {id} AND number = {number}");
    // Changed.
    raw.run(&format!("UPDATE audit SET kind = 'connected' {}", of(2))).await;
    assert_eq!(flaws(&db, &[]).await, [Flaw::Changed(2)]);
    raw.run(&format!("UPDATE audit SET kind = 'reported' {}", of(2))).await;
    // Taken out.
    raw.run(&format!("DELETE FROM audit {}", of(3))).await;
    assert_eq!(flaws(&db, &[]).await, [Flaw::Missing(3, 3)]);
    // The gap closed by giving later rows smaller numbers.
    raw.run(&format!("UPDATE audit SET number = 3 {}", of(4))).await;
    raw.run(&format!("UPDATE audit SET number = 4 {}", of(5))).await;
    assert_eq!(flaws(&db, &[]).await, [Flaw::OutOfPlace(3), Flaw::Changed(3), Flaw::Changed(4)]);
    raw.run(&format!("DELETE FROM audit WHERE number > 2 AND chain = {id}")).await;
    for row in &genuine[2..] {
        put(&mut raw, row).await;
    }
    assert_eq!(flaws(&db, &[]).await, []);
    // Two exchanged.
    for (from, to) in [(2, 99), (3, 2), (99, 3)] {
        raw.run(&format!("UPDATE audit SET number = {to} {}", of(from))).await;
    }
    let found = flaws(&db, &[]).await;
    assert!(found.contains(&Flaw::Changed(2)) && found.contains(&Flaw::Changed(3)), "{found:?}");
    for (from, to) in [(2, 99), (3, 2), (99, 3)] {
        raw.run(&format!("UPDATE audit SET number = {to} {}", of(from))).await;
    }
    assert_eq!(flaws(&db, &[]).await, []);
    // Put in behind the end, tagged without the key.
    let last = &genuine[4];
    let mut forged = Row { number: 6, previous: last.tag.clone(), ..last.clone() };
    put(&mut raw, &forged).await;
    assert_eq!(flaws(&db, &[]).await, [Flaw::Changed(6)]);
    // Genuine, but of another chain.
    raw.run(&format!("DELETE FROM audit {}", of(6))).await;
    forged =
        db.sealer.seal(&happened(1), &Head { chain: Uuid::from_u128(7), number: 5, tag: last.tag.clone() });
    forged.chain = chain;
    put(&mut raw, &forged).await;
    assert_eq!(flaws(&db, &[]).await, [Flaw::Changed(6)]);
    // The beginning cut off without a purge.
    raw.run(&format!("DELETE FROM audit WHERE chain = {id} AND number IN (1, 2, 6)")).await;
    assert_eq!(flaws(&db, &[]).await, [Flaw::Missing(1, 2)]);
}

async fn an_end_that_was_cut_off_is_told_by_a_head_that_was_seen(db: Database) {
    let db = afresh(db).await;
    let chain = given_chain(&db, 5).await;
    let seen = db.store.audit_heads().await;
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].chain, seen[0].number), (chain, 5));
    assert_eq!(flaws(&db, &seen).await, []);
    let mut raw = Raw::connect(&db).await;
    let id = raw.uuid(chain);
    raw.run(&format!("DELETE FROM audit WHERE chain = {id} AND number = 5")).await;
    assert_eq!(flaws(&db, &[]).await, [], "nothing in the rows tells");
    assert_eq!(flaws(&db, &seen).await, [Flaw::NotAsSeen(5)]);
}

async fn a_chain_is_purged_from_its_beginning_alone(db: Database) {
    let db = afresh(db).await;
    // The third is older than the second, as a row for a whole minute can be.
    let at = [0, 100, 50, 200];
    db.store.audit(at.map(happened).to_vec()).await.unwrap();
    let chain = db.store.audit_chains().await.unwrap()[0];
    let now = after(1_000);
    assert_eq!(db.store.purge_audit(NOW, now, 9).await.unwrap(), 0);
    assert_eq!(db.store.purge_audit(after(60), now, 9).await.unwrap(), 1);
    let purged = rows(&db).await.pop().unwrap();
    assert_eq!((purged.kind.as_str(), purged.detail), ("purged", Some(format!("{chain}:2"))));
    assert_eq!(rows(&db).await.len(), 3 + 1);
    assert_eq!(flaws(&db, &[]).await, [Flaw::Missing(1, 1)], "unless a purge is known");
    let mut walk = Walk::new(&db.sealer, &[2], Vec::new());
    for row in db.store.audit_chain(chain, 0, 9).await.unwrap() {
        walk.step(&row);
    }
    assert_eq!(walk.end().1, []);
    assert_eq!(db.store.purge_audit(Millis(i64::MAX), now, 9).await.unwrap(), 4);
    assert!(rows(&db).await.iter().all(|row| row.kind == "purged"));
}

/// Each batch is a cut of its own that is told, so that a chain is whole after any of them.
async fn a_long_chain_is_purged_in_batches(db: Database) {
    let db = afresh(db).await;
    db.store.audit((0..7).map(happened).collect()).await.unwrap();
    let chain = db.store.audit_chains().await.unwrap()[0];
    for (gone, begins) in [(3, 4), (2, 6), (0, 6)] {
        assert_eq!(db.store.purge_audit(after(5), after(1_000), 3).await.unwrap(), gone);
        assert_eq!(db.store.audit_chain(chain, 0, 1).await.unwrap()[0].number, begins);
    }
    let told = rows(&db).await.into_iter().filter(|row| row.kind == "purged");
    let mut told: Vec<i64> = told.map(|row| row.times).collect();
    told.sort_unstable();
    assert_eq!(told, [2, 3]);
}

/// More chains than one look takes, and each counted by its ends alone.
async fn every_chain_is_found_and_counted_by_its_ends(db: Database) {
    let mut raw = Raw::connect(&db).await;
    let tag = raw.bytes(&[&[1, 4][..], b"test", &[0; 32]].concat());
    let none = raw.bytes(&[]);
    for number in 1..=3 {
        let id = match db.engine {
            Engine::Sqlite => "CAST(printf('%016d', i) AS BLOB)",
            Engine::Postgres => "CAST(lpad(CAST(i AS TEXT), 32, '0') AS UUID)",
        };
        raw.run(&format!(
            "INSERT INTO audit (chain, number, at_ms, kind, actor, result, times, previous, tag) \
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100) \
             SELECT {id}, {number}, 0, 'connected', 'person', 'done', 1, {none}, {tag} FROM n"
        ))
        .await;
    }
    let chains = db.store.audit_chains().await.unwrap();
    assert_eq!((chains.len(), chains.is_sorted()), (1_100, true));
    let counts = db.store.count_keys().await.unwrap();
    let tagged: Vec<_> = counts.iter().filter(|one| !one.is_sealed()).collect();
    assert_eq!(tagged.len(), 1);
    assert_eq!((tagged[0].key.as_ref().unwrap().as_str(), tagged[0].rows), ("test", 3_300));
}

async fn r117_a_row_holds_no_token_and_no_label(db: Database) {
    let db = afresh(db).await;
    let connection = db.store.given_connection("octocat").await;
    db.store.report_refused(&files(), connection.id, 1, "Bearer sealed access 1", NOW).await.unwrap();
    db.store.disconnect(&files(), connection.id, "Octocat label", |_| None, NOW).await.unwrap().unwrap();
    for row in rows(&db).await {
        let text = format!("{row:?}");
        for canary in ["sealed", "octocat", "label", "alice", "id.example", "session-1", "Some Client"] {
            assert!(!text.contains(canary), "{canary}: {text}");
        }
    }
}

async fn a_last_use_moves_forward_and_ends_with_its_connection(db: Database) {
    let db = afresh(db).await;
    let connection = db.store.given_connection("octocat").await;
    let id = connection.id;
    assert_eq!(db.store.last_use(id).await.unwrap(), None);
    for (at, seen) in [(60, 60), (30, 60), (120, 120)] {
        db.store.record(&[(id, after(at))], vec![happened(at)]).await.unwrap();
        assert_eq!(db.store.last_use(id).await.unwrap(), Some(after(seen)));
    }
    let unknown = ConnectionId(Uuid::from_u128(7));
    db.store.record(&[(unknown, after(1))], Vec::new()).await.unwrap();
    assert_eq!(db.store.last_use(unknown).await.unwrap(), None, "it is not there");
    let listed = db.store.last_uses(ConnectionFilter::default(), 9).await.unwrap();
    assert_eq!(listed.into_iter().collect::<Vec<_>>(), [(id, after(120))]);
    db.store.disconnect(&files(), id, "disconnected_by_user", |_| None, NOW).await.unwrap().unwrap();
    let end = db.store.purge_uses(None, 1).await.unwrap();
    assert_eq!(end, Some(id), "one row in a span of one");
    assert_eq!(db.store.purge_uses(end, 1).await.unwrap(), None);
    assert_eq!(db.store.last_use(id).await.unwrap(), None);
}
