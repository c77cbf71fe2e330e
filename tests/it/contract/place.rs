//! Values and fingerprints: where they come from, where they go, and who may change them.

use consentry::{
    elicitation::{Attempt, NewElicitation, State},
    revocation::{Hint, NewRevocation, RevocationId},
    vault::Sealed,
};

use super::{given::*, raw::Raw};
use crate::engine::Database;

contract! {
    values_go_from_the_question_to_the_connection,
    what_is_typed_is_the_owners_while_it_is_open,
    a_trips_values_are_kept_while_it_is_finished,
    only_a_connection_of_the_same_values_answers_a_sibling,
    other_values_are_another_question,
    r63_a_row_from_before_takes_a_fingerprint_once,
    r63_a_revocation_knows_its_place,
}

async fn values_go_from_the_question_to_the_connection(db: Database) {
    let acme = values(&[("subdomain", "acme")]);
    let new = NewElicitation { values: acme.clone(), typed: values(&[("region", "eu")]), ..asked() };
    let asked = db.store.given_elicitation(&new).await;
    assert_eq!((&asked.values, &asked.typed), (&new.values, &new.typed));
    let claimed = db.store.given_claimed(&asked, NOW).await;
    assert_eq!(claimed.attempt.values, acme);
    assert_eq!(claimed.attempt.fingerprint, Some(digest("a place")));
    db.store.settle(&settling(&claimed, credential("octocat", 1), None), NOW).await.unwrap();
    let by_owner = db.store.connection_for(&files(), &alice(), &github()).await.unwrap().unwrap();
    let to_hand_out = db.store.connection_to_hand_out(&files(), &alice(), &github()).await.unwrap().unwrap();
    let visit = db.store.visit(asked.id, None, None, NOW, NOW).await.unwrap().unwrap();
    for connection in [&by_owner, &to_hand_out, &visit.connection.unwrap()] {
        assert_eq!((&connection.values, connection.fingerprint), (&acme, Some(digest("a place"))));
    }
    // A further consent has its own.
    let again = db.store.given_elicitation(&asked_by("again")).await;
    let claimed = db.store.given_claimed(&again, NOW).await;
    let mut moved = credential("octocat", 2);
    (moved.values, moved.fingerprint) = (values(&[("subdomain", "other")]), Some(digest("another place")));
    let over = Some((by_owner.id, by_owner.generation));
    db.store.settle(&settling(&claimed, moved, over), NOW).await.unwrap();
    let now = db.store.any_connection(by_owner.id).await.unwrap().unwrap();
    assert_eq!(now.values.get("subdomain"), Some("other"));
    assert_eq!(now.fingerprint, Some(digest("another place")));
}

async fn what_is_typed_is_the_owners_while_it_is_open(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let mine = owned_open(&asked);
    let typed = values(&[("subdomain", "acme")]);
    assert!(db.store.type_values(&mine, &typed, NOW).await.unwrap());
    assert_eq!(db.store.again(&asked).await.typed, typed);
    assert!(!db.store.type_values(&mine, &values(&[]), asked.expires_at).await.unwrap());
    assert!(db.store.decline(&mine, NOW).await.unwrap());
    assert!(!db.store.type_values(&mine, &values(&[]), NOW).await.unwrap());
    let ended = db.store.again(&asked).await;
    assert_eq!((ended.typed, ended.stored), (typed, State::Declined));
}

async fn a_trips_values_are_kept_while_it_is_finished(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let more = values(&[("instance_url", "https://acme.example"), ("subdomain", "acme")]);
    let place = Some(digest("another place"));
    let live = Attempt { values: more.clone(), ..db.store.given_attempt(&asked, NOW).await };
    assert!(!db.store.keep_values(&live).await.unwrap(), "it has not come back");
    let claimed = db.store.given_claimed(&asked, NOW).await.attempt;
    let claimed = Attempt { values: more.clone(), fingerprint: place, ..claimed };
    assert!(db.store.keep_values(&claimed).await.unwrap());
    let offer = Sealed::from_bytes(b"sealed offer".to_vec());
    assert!(db.store.offer(&claimed, &offer, NOW).await.unwrap());
    let kept = db.store.attempt_now(&claimed).await;
    assert_eq!((&kept.values, kept.fingerprint), (&more, place));
    let claimed = Attempt { values: values(&[]), ..claimed };
    assert!(db.store.keep_values(&claimed).await.unwrap());
    assert!(db.store.attempt_now(&claimed).await.values.is_empty());
    assert!(db.store.decline(&owned_open(&asked), NOW).await.unwrap());
    assert!(!db.store.keep_values(&claimed).await.unwrap(), "it is over");
}

async fn only_a_connection_of_the_same_values_answers_a_sibling(db: Database) {
    let same = NewElicitation { values: values(&[("subdomain", "acme")]), ..asked_by("same") };
    let same = db.store.given_elicitation(&same).await;
    let other = NewElicitation { values: values(&[("subdomain", "other")]), ..asked_by("other") };
    let other = db.store.given_elicitation(&other).await;
    db.store.given_connection("octocat").await;
    assert_eq!(db.store.again(&same).await.stored, State::Completed);
    assert_eq!(db.store.again(&other).await.stored, State::Pending);
}

async fn other_values_are_another_question(db: Database) {
    let one = db.store.given_elicitation(&asked()).await;
    let acme = NewElicitation { values: values(&[("subdomain", "acme")]), ..asked() };
    let two = db.store.given_elicitation(&acme).await;
    let again = db.store.create(&NewElicitation { id: asked().id, ..acme }, NOW).await.unwrap();
    assert_eq!((again.is_new, again.elicitation.id), (false, two.id));
    let other = NewElicitation { values: values(&[("subdomain", "other")]), ..asked() };
    assert!(db.store.create(&other, NOW).await.unwrap().is_new);
    assert!(!db.store.create(&NewElicitation { id: asked().id, ..asked() }, NOW).await.unwrap().is_new);
    assert_eq!(db.store.again(&one).await.stored, State::Pending);
}

async fn r63_a_row_from_before_takes_a_fingerprint_once(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let adopt = |place, grant| {
        let (store, id) = (db.store.clone(), connection.id);
        async move { store.adopt_fingerprint(id, grant, &digest(place)).await.unwrap() }
    };
    assert!(!adopt("another", 1).await, "it has one");
    let mut raw = Raw::connect(&db).await;
    assert_eq!(raw.run("UPDATE connections SET fingerprint = NULL, values_json = NULL").await, 1);
    let old = db.store.any_connection(connection.id).await.unwrap().unwrap();
    assert!(old.fingerprint.is_none() && old.values.is_empty());
    assert!(!adopt("another", 2).await, "it is of another consent");
    assert!(adopt("the present", 1).await);
    assert!(!adopt("another", 1).await);
    let now = db.store.any_connection(connection.id).await.unwrap().unwrap();
    assert_eq!(now.fingerprint, Some(digest("the present")));
}

async fn r63_a_revocation_knows_its_place(db: Database) {
    let new = NewRevocation {
        id: RevocationId(consentry::random::Random.row_id(NOW)),
        connection: None,
        server: files(),
        owner: alice(),
        provider: github(),
        account_id: None,
        hint: Hint::Access,
        token: Sealed::from_bytes(b"t".to_vec()),
        values: values(&[("subdomain", "acme")]),
        fingerprint: Some(digest("a place")),
    };
    db.store.queue_revocation(&new, NOW).await.unwrap();
    let read = db.store.claim_revocation(new.id, NOW, after(60)).await.unwrap().unwrap().queued;
    assert_eq!((read.values, read.fingerprint), (new.values, new.fingerprint));
}
