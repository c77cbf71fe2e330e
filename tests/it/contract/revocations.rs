//! Revocations: queued with their cause, taken by one, erased at the end.

use consentry::{
    clock::Millis,
    connection::Connection,
    random::Random,
    revocation::{Hint, NewRevocation, RevocationId, State},
    vault::Sealed,
};

use super::{given::*, raw::Raw};
use crate::engine::Database;

contract! {
    what_is_queued_is_what_is_claimed,
    r83_a_disconnect_queues_it_in_the_same_commit,
    one_at_a_time_works_on_it,
    of_two_replicas_one_gets_it,
    a_claim_that_ran_out_is_taken_over,
    who_lost_the_claim_puts_nothing_off,
    what_is_put_off_comes_back,
    the_last_word_erases_the_token,
    each_provider_has_its_own,
    what_is_long_over_is_purged,
    one_that_cannot_be_read_keeps_no_other_back,
}

fn unwanted(token: &str) -> NewRevocation {
    NewRevocation {
        id: RevocationId(Random.row_id(NOW)),
        connection: None,
        server: files(),
        owner: alice(),
        provider: github(),
        account_id: Some("octocat".to_owned()),
        hint: Hint::Refresh,
        token: Sealed::from_bytes(token.as_bytes().to_vec()),
        values: values(&[]),
        fingerprint: None,
    }
}

async fn queued(db: &Database, token: &str) -> RevocationId {
    let new = unwanted(token);
    db.store.queue_revocation(&new, NOW).await.unwrap();
    new.id
}

async fn state(db: &Database, id: RevocationId) -> (State, bool) {
    let standing = db.store.revocation_standing(id).await.unwrap().unwrap();
    (standing.state, standing.failed)
}

async fn what_is_queued_is_what_is_claimed(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let new = NewRevocation { connection: Some(connection.id), ..unwanted("t") };
    db.store.queue_revocation(&new, NOW).await.unwrap();
    let claimed = db.store.claim_revocations(&github(), 10, after(1), after(61)).await.unwrap();
    let [claimed] = &claimed[..] else { panic!("{claimed:?}") };
    let read = &claimed.queued;
    assert_eq!(
        (read.id, read.connection, &read.server, &read.provider),
        (new.id, new.connection, &files(), &github())
    );
    assert!(read.owner == alice());
    assert_eq!((read.account_id.as_deref(), read.hint), (Some("octocat"), Hint::Refresh));
    assert_eq!(read.token.as_bytes(), b"t");
    assert_eq!((claimed.tries, claimed.claimed_until, claimed.created_at), (1, after(61), NOW));
    let without = NewRevocation { account_id: None, hint: Hint::Access, ..unwanted("u") };
    db.store.queue_revocation(&without, NOW).await.unwrap();
    let claimed = db.store.claim_revocation(without.id, NOW, after(60)).await.unwrap().unwrap().queued;
    assert_eq!((claimed.connection, claimed.account_id, claimed.hint), (None, None, Hint::Access));
}

/// R83: whatever becomes of the process after the commit, the provider will be told.
async fn r83_a_disconnect_queues_it_in_the_same_commit(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let new = |gone: &Connection| {
        assert_eq!(gone.id, connection.id);
        Some(NewRevocation { connection: Some(gone.id), ..unwanted("of the connection") })
    };
    let removed = db.store.disconnect(&files(), connection.id, "by_user", new, NOW).await.unwrap().unwrap();
    let claimed = db.store.claim_revocations(&github(), 10, NOW, after(60)).await.unwrap();
    assert_eq!(removed.revocation, Some(claimed[0].queued.id));
    // Nothing is removed, nothing is queued.
    let server = files();
    let never = |_: &Connection| -> Option<NewRevocation> { panic!("not asked") };
    let again = db.store.disconnect(&server, connection.id, "by_user", never, NOW);
    assert!(again.await.unwrap().is_none());
}

async fn one_at_a_time_works_on_it(db: Database) {
    let id = queued(&db, "t").await;
    assert_eq!(state(&db, id).await, (State::Due, false));
    assert!(db.store.claim_revocation(id, NOW, after(60)).await.unwrap().is_some());
    assert!(db.store.claim_revocation(id, after(59), after(119)).await.unwrap().is_none());
    assert!(db.store.claim_revocations(&github(), 10, after(59), after(119)).await.unwrap().is_empty());
    assert_eq!(state(&db, id).await, (State::Due, false), "somebody is at it");
}

async fn of_two_replicas_one_gets_it(db: Database) {
    for n in 0..40 {
        queued(&db, &n.to_string()).await;
    }
    let other = db.replica().await;
    let mut taking = tokio::task::JoinSet::new();
    for n in 0..16 {
        let store = if n % 2 == 0 { db.store.clone() } else { other.clone() };
        taking.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claimed = store.claim_revocations(&github(), 3, NOW, after(60)).await.unwrap();
                if claimed.is_empty() {
                    return mine;
                }
                mine.extend(claimed.into_iter().map(|one| one.queued.id));
            }
        });
    }
    let mut all: Vec<RevocationId> = taking.join_all().await.concat();
    assert_eq!(all.len(), 40, "each is taken once");
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 40);
    other.shut_down().await;
}

async fn a_claim_that_ran_out_is_taken_over(db: Database) {
    let id = queued(&db, "t").await;
    db.store.claim_revocation(id, NOW, after(60)).await.unwrap().unwrap();
    let over = db.store.claim_revocations(&github(), 1, after(60), after(120)).await.unwrap();
    assert_eq!((over[0].queued.id, over[0].tries), (id, 1), "a try whose outcome nobody knows costs none");
    db.store.put_revocation_off(&over[0], after(121), "provider_unreachable").await.unwrap();
    let again = db.store.claim_revocation(id, after(121), after(180)).await.unwrap().unwrap();
    assert_eq!(again.tries, 2);
}

async fn who_lost_the_claim_puts_nothing_off(db: Database) {
    let id = queued(&db, "t").await;
    let late = db.store.claim_revocation(id, NOW, after(60)).await.unwrap().unwrap();
    let new = db.store.claim_revocation(id, after(60), after(120)).await.unwrap().unwrap();
    db.store.put_revocation_off(&late, after(600), "late").await.unwrap();
    assert_eq!(state(&db, id).await, (State::Due, false), "the new one is still at it");
    db.store.put_revocation_off(&new, after(70), "unreachable").await.unwrap();
    assert_eq!(state(&db, id).await, (State::Due, true));
}

async fn what_is_put_off_comes_back(db: Database) {
    let id = queued(&db, "t").await;
    let claimed = db.store.claim_revocation(id, NOW, after(60)).await.unwrap().unwrap();
    db.store.put_revocation_off(&claimed, after(5), "unreachable").await.unwrap();
    assert!(db.store.claim_revocations(&github(), 1, after(4), after(64)).await.unwrap().is_empty());
    assert!(db.store.claim_revocation(id, after(4), after(64)).await.unwrap().is_none());
    assert_eq!(db.store.claim_revocations(&github(), 1, after(5), after(65)).await.unwrap()[0].queued.id, id);
}

async fn the_last_word_erases_the_token(db: Database) {
    for last in [State::Confirmed, State::Impossible, State::Shared, State::Dead] {
        let id = queued(&db, "a token that is to be erased").await;
        db.store.claim_revocation(id, NOW, after(60)).await.unwrap().unwrap();
        db.store.end_revocation(id, last, Some("a_code"), after(1)).await.unwrap();
        assert_eq!(state(&db, id).await.0, last);
        // Final is final.
        db.store.end_revocation(id, State::Confirmed, None, after(2)).await.unwrap();
        assert_eq!(state(&db, id).await.0, last);
        assert!(db.store.claim_revocation(id, after(600), after(660)).await.unwrap().is_none());
    }
    let mut raw = Raw::connect(&db).await;
    assert_eq!(raw.number("SELECT COUNT(*) FROM revocations WHERE token IS NOT NULL").await, 0);
    let mut counts = db.store.revocations_by_state(&github()).await.unwrap();
    counts.sort_by_key(|(state, _)| state.as_str());
    let each = [State::Confirmed, State::Dead, State::Impossible, State::Shared].map(|state| (state, 1));
    assert_eq!(counts, each);
}

async fn each_provider_has_its_own(db: Database) {
    queued(&db, "t").await;
    let gitlab = "gitlab".parse().unwrap();
    assert!(db.store.claim_revocations(&gitlab, 10, NOW, after(60)).await.unwrap().is_empty());
}

async fn what_is_long_over_is_purged(db: Database) {
    let (over, fresh, due) = (queued(&db, "1").await, queued(&db, "2").await, queued(&db, "3").await);
    db.store.end_revocation(over, State::Confirmed, None, after(10)).await.unwrap();
    db.store.end_revocation(fresh, State::Confirmed, None, after(20)).await.unwrap();
    let found = async |id| db.store.revocation_standing(id).await.unwrap().is_some();
    assert_eq!(db.store.purge_revocations(after(11), 9).await.unwrap(), 1);
    assert_eq!(db.store.purge_stale_revocations(NOW, 9).await.unwrap(), 0);
    assert_eq!([found(over).await, found(fresh).await, found(due).await], [false, true, true]);
    db.store.purge_stale_revocations(Millis(NOW.0 + 1), 9).await.unwrap();
    assert!(!found(due).await);
}

async fn one_that_cannot_be_read_keeps_no_other_back(db: Database) {
    let (broken, sound) = (queued(&db, "1").await, queued(&db, "2").await);
    let mut raw = Raw::connect(&db).await;
    let id = raw.uuid(broken.0);
    raw.run(&format!("UPDATE revocations SET hint = 'none' WHERE id = {id}")).await;
    let claimed = db.store.claim_revocations(&github(), 10, NOW, after(60)).await.unwrap();
    assert_eq!(claimed.iter().map(|one| one.queued.id).collect::<Vec<_>>(), [sound]);
}
