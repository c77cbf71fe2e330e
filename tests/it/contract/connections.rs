//! Connections: found, listed, disconnected.

use std::time::Duration;

use consentry::{
    connection::{Account, Connection, ConnectionId, Status},
    elicitation::{AttemptState, NewElicitation, Outcome, State},
    random::Random,
    signal::Kind,
    store::{ConnectionFilter, Settled},
};

use super::{given::*, raw::Raw};
use crate::engine::Database;

contract! {
    what_was_stored_is_what_is_read,
    r109_a_connection_is_found_by_its_owner_and_tenant_alone,
    a_list_is_paged_by_id,
    disconnecting_is_told_once,
    r109_another_tenant_disconnects_nothing,
    disconnecting_cancels_what_is_open_for_the_same_account_of_the_same_person,
    r84_a_claimed_attempt_does_not_bring_it_back,
    r84_nor_does_one_that_finishes_past_the_expiry,
    a_connection_made_afterwards_has_a_new_id,
    what_is_handed_out_is_what_is_stored,
    two_people_may_share_an_account,
}

/// A whole trip for somebody.
async fn connect(db: &Database, new: NewElicitation, account: &str) -> Connection {
    let asked = db.store.given_elicitation(&new).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    match db.store.settle(&settling(&claimed, credential(account, 1), None), NOW).await.unwrap() {
        Settled::Done { connection, .. } => *connection,
        other => panic!("{other:?}"),
    }
}

async fn what_was_stored_is_what_is_read(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let mut new = credential("octocat", 1);
    new.asked = scopes(&["repo", "gist"]);
    new.access_expires_at = Some(after(3_600));
    new.refresh_expires_at = Some(after(7_200));
    db.store.settle(&settling(&claimed, new.clone(), None), after(3)).await.unwrap();
    let read = db.store.connection_for(&files(), &alice(), &github()).await.unwrap().unwrap();
    assert_eq!((read.id, &read.server, &read.provider), (new.id, &files(), &github()));
    assert!(read.owner == alice());
    assert_eq!(read.account, new.account);
    assert_eq!((read.granted.to_text(), read.asked.to_text()), ("repo".to_owned(), new.asked.to_text()));
    assert_eq!((read.status, &read.reason), (Status::Active, &None));
    assert_eq!((read.generation, read.grant), (1, 1));
    assert_eq!(read.access.as_bytes(), new.access.as_bytes());
    assert_eq!(read.refresh.unwrap().as_bytes(), new.refresh.unwrap().as_bytes());
    assert_eq!(read.access_expires_at, new.access_expires_at);
    assert_eq!(read.refresh_expires_at, new.refresh_expires_at);
    assert_eq!((read.created_at, read.updated_at), (after(3), after(3)));
}

async fn r109_a_connection_is_found_by_its_owner_and_tenant_alone(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    assert!(db.store.connection_for(&notes(), &alice(), &github()).await.unwrap().is_none());
    assert!(db.store.connection_for(&files(), &bob(), &github()).await.unwrap().is_none());
    let gitlab = "gitlab".parse().unwrap();
    assert!(db.store.connection_for(&files(), &alice(), &gitlab).await.unwrap().is_none());
    assert!(db.store.connection(&files(), mine.id).await.unwrap().is_some());
    assert!(db.store.connection(&notes(), mine.id).await.unwrap().is_none());
    assert!(db.store.any_connection(mine.id).await.unwrap().is_some());
    let unknown = ConnectionId(Random.row_id(NOW));
    assert!(db.store.connection(&files(), unknown).await.unwrap().is_none());
    assert!(db.store.any_connection(unknown).await.unwrap().is_none());
}

async fn a_list_is_paged_by_id(db: Database) {
    let gitlab: consentry::elicitation::ProviderId = "gitlab".parse().unwrap();
    let alices = connect(&db, asked(), "a").await;
    let alices_other = connect(&db, NewElicitation { provider: gitlab.clone(), ..asked() }, "b").await;
    let bobs = connect(&db, NewElicitation { owner: bob(), ..asked() }, "c").await;
    let elsewhere = connect(&db, NewElicitation { server: notes(), ..asked() }, "d").await;
    let list = async |filter: ConnectionFilter<'_>, limit| -> Vec<ConnectionId> {
        let found = db.store.connections(filter, limit).await.unwrap();
        found.into_iter().map(|one| one.id).collect()
    };
    let sorted = |connections: &[&Connection]| {
        let mut ids: Vec<_> = connections.iter().map(|one| one.id).collect();
        ids.sort_unstable();
        ids
    };
    let any = ConnectionFilter::default();
    let all = sorted(&[&alices, &alices_other, &bobs, &elsewhere]);
    assert_eq!(list(any, 9).await, all);
    assert_eq!(list(any, 3).await, all[..3]);
    assert_eq!(list(ConnectionFilter { after: Some(all[2]), ..any }, 3).await, all[3..]);
    let files = files();
    let of_files = ConnectionFilter { server: Some(&files), ..any };
    assert_eq!(list(of_files, 9).await, sorted(&[&alices, &alices_other, &bobs]));
    let (alice, other) = (alice(), "https://other.example");
    let of_alice = ConnectionFilter { issuer: Some(&alice.issuer), sub: Some(&alice.sub), ..of_files };
    assert_eq!(list(of_alice, 9).await, sorted(&[&alices, &alices_other]));
    assert_eq!(list(ConnectionFilter { provider: Some(&gitlab), ..of_alice }, 9).await, [alices_other.id]);
    assert!(list(ConnectionFilter { issuer: Some(other), ..of_files }, 9).await.is_empty());
}

async fn disconnecting_is_told_once(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let before = db.store.signal_head(&files()).await.unwrap();
    let removed =
        db.store.disconnect(&files(), connection.id, "by_user", |_| None, after(1)).await.unwrap().unwrap();
    assert_eq!((removed.connection.id, removed.cancelled), (connection.id, 0));
    assert_eq!(removed.connection.access.as_bytes(), connection.access.as_bytes(), "to be revoked");
    assert!(db.store.connection_for(&files(), &alice(), &github()).await.unwrap().is_none());
    assert!(
        db.store.disconnect(&files(), connection.id, "by_user", |_| None, after(1)).await.unwrap().is_none()
    );
    let signals = db.store.signals_after(&files(), before, 9).await.unwrap();
    assert_eq!(signals.len(), 1);
    assert_eq!((signals[0].kind, signals[0].connection), (Kind::ConnectionDeleted, Some(connection.id)));
    assert_eq!(signals[0].reason.as_deref(), Some("by_user"));
}

async fn r109_another_tenant_disconnects_nothing(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    assert!(db.store.disconnect(&notes(), connection.id, "by_user", |_| None, NOW).await.unwrap().is_none());
    assert!(db.store.connection(&files(), connection.id).await.unwrap().is_some());
    assert!(db.store.told(&notes()).await.is_empty());
}

async fn disconnecting_cancels_what_is_open_for_the_same_account_of_the_same_person(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let before = db.store.signal_head(&files()).await.unwrap();
    let pending = db.store.given_elicitation(&asked_by("1")).await;
    let under_way = db.store.given_elicitation(&asked_by("2")).await;
    let attempt = db.store.given_attempt(&under_way, NOW).await;
    let left_alone = [
        NewElicitation { owner: bob(), ..asked() },
        NewElicitation { server: notes(), ..asked() },
        NewElicitation { provider: "gitlab".parse().unwrap(), ..asked() },
    ];
    let mut others = Vec::new();
    for other in &left_alone {
        others.push(db.store.given_elicitation(other).await);
    }
    let removed =
        db.store.disconnect(&files(), connection.id, "by_user", |_| None, after(1)).await.unwrap().unwrap();
    assert_eq!(removed.cancelled, 2);
    for cancelled in [&pending, &under_way] {
        let cancelled = db.store.again(cancelled).await;
        assert_eq!((cancelled.stored, cancelled.reason.as_deref()), (State::Cancelled, Some("disconnected")));
    }
    assert_eq!(db.store.attempt_now(&attempt).await.outcome, Some(Outcome::ClosedMeanwhile));
    for other in &others {
        assert_eq!(db.store.again(other).await.stored, State::Pending);
    }
    let signals = db.store.signals_after(&files(), before, 9).await.unwrap();
    let told: Vec<_> =
        signals.iter().map(|signal| (signal.kind, signal.elicitation, &*signal.client_ref)).collect();
    let mut expected = [
        (Kind::ElicitationCancelled, Some(pending.id), "1"),
        (Kind::ElicitationCancelled, Some(under_way.id), "2"),
    ];
    expected.sort_by_key(|(_, id, _)| *id);
    assert_eq!(told[0], (Kind::ConnectionDeleted, None, ""));
    assert_eq!(told[1..], expected);
    assert!(db.store.told(&notes()).await.is_empty());
}

async fn r84_a_claimed_attempt_does_not_bring_it_back(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    assert!(
        db.store.disconnect(&files(), connection.id, "by_user", |_| None, after(1)).await.unwrap().is_some()
    );
    let over = Some((connection.id, connection.generation));
    let settled =
        db.store.settle(&settling(&claimed, credential("octocat", 2), over), after(2)).await.unwrap();
    assert!(matches!(settled, Settled::Moved), "{settled:?}");
    let settled =
        db.store.settle(&settling(&claimed, credential("octocat", 1), None), after(2)).await.unwrap();
    assert!(matches!(settled, Settled::ClosedMeanwhile), "{settled:?}");
    assert!(db.store.connection_for(&files(), &alice(), &github()).await.unwrap().is_none());
    assert_eq!(db.store.attempt_now(&claimed.attempt).await.state, AttemptState::Claimed);
}

async fn r84_nor_does_one_that_finishes_past_the_expiry(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let asked = db.store.given_elicitation(&asked()).await;
    let last = asked.expires_at.minus(Duration::from_secs(1));
    let claimed = db.store.given_claimed(&asked, last).await;
    let past = asked.expires_at.plus(Duration::from_secs(10));
    let removed =
        db.store.disconnect(&files(), connection.id, "by_user", |_| None, past).await.unwrap().unwrap();
    assert_eq!(removed.cancelled, 1);
    let settled = db.store.settle(&settling(&claimed, credential("octocat", 1), None), past).await.unwrap();
    assert!(matches!(settled, Settled::ClosedMeanwhile), "{settled:?}");
    assert!(db.store.connection_for(&files(), &alice(), &github()).await.unwrap().is_none());
}

async fn a_connection_made_afterwards_has_a_new_id(db: Database) {
    let first = db.store.given_connection("octocat").await;
    assert!(db.store.disconnect(&files(), first.id, "by_user", |_| None, NOW).await.unwrap().is_some());
    let second = db.store.given_connection("octocat").await;
    assert_ne!(first.id, second.id);
    assert_eq!(second.grant, 1);
}

/// By the lane of its own that many look-ups share.
async fn what_is_handed_out_is_what_is_stored(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    let bobs = connect(&db, NewElicitation { owner: bob(), ..asked() }, "hubot").await;
    let mut looking = tokio::task::JoinSet::new();
    for at in 0..200_u32 {
        let store = db.store.clone();
        let (owner, expected) = match at % 3 {
            0 => (alice(), Some(mine.id)),
            1 => (bob(), Some(bobs.id)),
            _ => (consentry::subject::Subject::new("https://id.example", format!("{at}")).unwrap(), None),
        };
        looking.spawn(async move {
            let found = store.connection_to_hand_out(&files(), &owner, &github()).await.unwrap();
            assert_eq!(found.as_ref().map(|one| one.id), expected);
            assert!(found.is_none_or(|one| one.owner == owner));
        });
    }
    while let Some(looked) = looking.join_next().await {
        looked.unwrap();
    }
    let found = db.store.connection_to_hand_out(&files(), &alice(), &github()).await.unwrap().unwrap();
    assert_eq!(found.access.as_bytes(), mine.access.as_bytes());
    assert_eq!(found.as_grant(), mine.as_grant());
    assert_eq!((found.account, found.generation), (mine.account, mine.generation));
    assert_eq!(
        (found.granted.to_text(), found.asked.to_text()),
        (mine.granted.to_text(), mine.asked.to_text())
    );
    assert_eq!(found.access_expires_at, mine.access_expires_at);
    assert!(db.store.disconnect(&files(), mine.id, "by_user", |_| None, NOW).await.unwrap().is_some());
    let found = db.store.connection_to_hand_out(&files(), &alice(), &github()).await.unwrap();
    assert!(found.is_none(), "from the commit on nothing hands it out");
}

async fn two_people_may_share_an_account(db: Database) {
    let mine = db.store.given_connection("octocat").await;
    connect(&db, NewElicitation { owner: bob(), ..asked() }, "hubot").await;
    let gitlab = "gitlab".parse().unwrap();
    connect(&db, NewElicitation { provider: gitlab, ..asked() }, "octocat").await;
    assert!(db.store.disconnect(&mine.server, mine.id, "x", |_| None, NOW).await.unwrap().is_some());
    let in_use = async |account: &Account, owner| {
        db.store.account_in_use(&mine.provider, account.id.as_deref(), &owner, None, None).await.unwrap()
    };
    assert!(!in_use(&mine.account, alice()).await, "another account, and another provider's");
    assert!(!in_use(&Account::default(), alice()).await);
    assert!(in_use(&Account::default(), bob()).await, "an account that is not known may be any of its owner");
    connect(&db, NewElicitation { server: notes(), owner: bob(), ..asked() }, "octocat").await;
    assert!(in_use(&mine.account, alice()).await);
    // At another place somebody else has that id there.
    let at = async |place: &str| {
        let (account, place) = (mine.account.id.as_deref(), digest(place));
        db.store.account_in_use(&mine.provider, account, &alice(), None, Some(&place)).await.unwrap()
    };
    assert!(at("a place").await && !at("another place").await);
    let mut raw = Raw::connect(&db).await;
    assert!(raw.run("UPDATE connections SET fingerprint = NULL").await > 0);
    assert!(at("another place").await, "one of before there were places may be anywhere");
}
