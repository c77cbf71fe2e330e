//! The kill switch: one statement, and nothing that matches is handed out by any replica.

use std::time::Duration;

use consentry::{
    connection::{Connection, Status},
    elicitation::{NewElicitation, State},
    store::{AuditFilter, ConnectionFilter, Settled},
    subject::Subject,
};

use super::{given::*, raw::Raw};
use crate::engine::{Database, Engine};

contract! {
    r85_ten_thousand_are_out_of_use_at_once_on_every_replica,
    filters_narrow_what_is_taken_out,
    a_trip_under_way_does_not_bring_it_back,
    what_is_taken_out_is_removed_one_by_one_and_again,
    whoever_is_asked_is_found_and_asked_no_more,
}

const ALL: ConnectionFilter<'static> =
    ConnectionFilter { server: None, issuer: None, sub: None, provider: None, after: None };

/// Connections of `user-1`, `user-2`, ... at `files` to GitHub, put in past the store.
async fn given_many(db: &Database, count: u32) {
    let (id, bytes) = match db.engine {
        Engine::Sqlite => ("randomblob(16)", "x'00'"),
        Engine::Postgres => ("gen_random_uuid()", "'\\x00'::bytea"),
    };
    let sql = format!(
        "INSERT INTO connections (id, server, issuer, sub, provider, granted, asked, status, generation, \
         grant_number, access, created_at_ms, updated_at_ms) \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
         SELECT {id}, 'files', 'https://id.example', 'user-' || i, 'github', 'repo', 'repo', 'active', 1, 1, {bytes}, \
         0, 0 FROM n"
    );
    assert_eq!(Raw::connect(db).await.run(&sql).await, u64::from(count));
}

fn user(number: u32) -> Subject {
    Subject::new("https://id.example", format!("user-{number}")).unwrap()
}

fn would_be_handed_out(found: Option<Connection>) -> bool {
    let found = found.expect("it is there");
    found.is_usable(NOW) && found.satisfies(&scopes(&["repo"]), NOW)
}

/// R85: within a second, whatever their number; here with room for a busy machine.
async fn r85_ten_thousand_are_out_of_use_at_once_on_every_replica(db: Database) {
    given_many(&db, 10_000).await;
    let replica = db.replica().await;
    for store in [&db.store, &replica] {
        let found = store.connection_to_hand_out(&files(), &user(77), &github()).await.unwrap();
        assert!(would_be_handed_out(found));
    }
    let taking = db.store.take_out(ALL, NOW);
    let taken = tokio::time::timeout(Duration::from_secs(10), taking).await.expect("at once").unwrap();
    assert_eq!(taken, 10_000);
    for store in [&db.store, &replica] {
        for number in (1..=10_000).step_by(501) {
            let found = store.connection_to_hand_out(&files(), &user(number), &github()).await.unwrap();
            assert!(!would_be_handed_out(found), "user {number}");
        }
    }
    let in_use = "SELECT COUNT(*) FROM connections WHERE status <> 'quarantined' OR lease_token <> 1";
    assert_eq!(Raw::connect(&db).await.number(in_use).await, 0, "and every lease is fenced");
    let told = db.store.audit_rows(AuditFilter::default(), 9).await.unwrap();
    let told: Vec<_> = told.iter().map(|row| (row.kind.as_str(), row.actor.as_str(), row.times)).collect();
    assert_eq!(told, [("kill_switch", "operator", 10_000)]);
}

async fn filters_narrow_what_is_taken_out(db: Database) {
    given_many(&db, 3).await;
    let mine = db.store.given_connection("octocat").await;
    let owner = user(2);
    let of_user = ConnectionFilter { issuer: Some(&owner.issuer), sub: Some(&owner.sub), ..ALL };
    assert_eq!(db.store.count_connections(of_user).await.unwrap(), [("files".into(), "github".into(), 1)]);
    assert_eq!(db.store.take_out(of_user, NOW).await.unwrap(), 1);
    assert_eq!(db.store.take_out(of_user, NOW).await.unwrap(), 0, "it is out already");
    let (notes, gitlab, github) = (notes(), "gitlab".parse().unwrap(), github());
    let none = [
        ConnectionFilter { server: Some(&notes), ..ALL },
        ConnectionFilter { provider: Some(&gitlab), ..ALL },
        ConnectionFilter { provider: Some(&github), server: Some(&notes), ..ALL },
    ];
    for filter in none {
        assert_eq!(db.store.take_out(filter, NOW).await.unwrap(), 0);
    }
    let kept = db.store.connection(&files(), mine.id).await.unwrap().unwrap();
    assert_eq!(kept.status, Status::Active);
    assert_eq!(db.store.take_out(ConnectionFilter { provider: Some(&github), ..ALL }, NOW).await.unwrap(), 3);
}

/// A consent that was given before the switch must not outlive it.
async fn a_trip_under_way_does_not_bring_it_back(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let asked = db.store.given_elicitation(&asked_by("2")).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    assert_eq!(db.store.take_out(ALL, NOW).await.unwrap(), 1);
    for over in [Some((connection.id, connection.generation)), None] {
        let settled =
            db.store.settle(&settling(&claimed, credential("octocat", 2), over), NOW).await.unwrap();
        assert!(matches!(settled, Settled::Moved), "{settled:?}");
    }
    let found = db.store.connection(&files(), connection.id).await.unwrap().unwrap();
    assert_eq!((found.status, found.reason.as_deref()), (Status::Quarantined, Some("disconnecting")));
    let in_use = db
        .store
        .account_in_use(&found.provider, found.account.id.as_deref(), &found.owner, None, None)
        .await
        .unwrap();
    assert!(!in_use, "its account may be revoked whole");
}

async fn what_is_taken_out_is_removed_one_by_one_and_again(db: Database) {
    given_many(&db, 5).await;
    let mine = db.store.given_connection("octocat").await;
    let open = db.store.given_elicitation(&NewElicitation { seen: Some(mine.as_grant()), ..asked() }).await;
    assert_eq!(db.store.take_out(ALL, NOW).await.unwrap(), 6);
    let first = db.store.taken_out(ALL, 4).await.unwrap();
    assert_eq!(first.len(), 4);
    for connection in &first {
        let gone =
            db.store.disconnect(&files(), connection.id, "disconnected_by_operator", |_| None, NOW).await;
        assert!(gone.unwrap().is_some());
    }
    // As after a crash: what is left is found again.
    assert_eq!(db.store.take_out(ALL, NOW).await.unwrap(), 0);
    let rest = db.store.taken_out(ALL, 4).await.unwrap();
    assert_eq!(rest.len(), 2);
    for connection in &rest {
        db.store
            .disconnect(&files(), connection.id, "disconnected_by_operator", |_| None, NOW)
            .await
            .unwrap();
    }
    assert!(db.store.taken_out(ALL, 4).await.unwrap().is_empty());
    assert_eq!(db.store.again(&open).await.stored, State::Cancelled);
}

/// Whether they have a connection or not.
async fn whoever_is_asked_is_found_and_asked_no_more(db: Database) {
    let mine = db.store.given_elicitation(&asked()).await;
    let attempt = db.store.given_attempt(&mine, NOW).await;
    let bobs = db.store.given_elicitation(&NewElicitation { owner: bob(), ..asked() }).await;
    let elsewhere = db.store.given_elicitation(&NewElicitation { server: notes(), ..asked() }).await;
    let server = files();
    let filter = ConnectionFilter { server: Some(&server), ..ALL };
    let found = db.store.asked(filter, None, 9, NOW).await.unwrap();
    let mut expected = [mine.id, bobs.id];
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(db.store.asked(filter, Some(found[0]), 9, NOW).await.unwrap(), [found[1]]);
    assert_eq!(db.store.asked(filter, None, 1, NOW).await.unwrap(), [found[0]]);
    assert!(db.store.cancel_asked(mine.id, "disconnected_by_operator", NOW).await.unwrap());
    assert!(!db.store.cancel_asked(mine.id, "disconnected_by_operator", NOW).await.unwrap());
    let ended = db.store.again(&mine).await;
    assert_eq!((ended.stored, ended.reason.as_deref()), (State::Cancelled, Some("disconnected")));
    assert!(db.store.attempt_now(&attempt).await.outcome.is_some(), "its trip has ended");
    assert_eq!(db.store.told(&server).await.len(), 1);
    assert_eq!(db.store.asked(filter, None, 9, NOW).await.unwrap(), [bobs.id]);
    assert_eq!(db.store.asked(ALL, None, 9, elsewhere.expires_at).await.unwrap(), [], "they have run out");
}
