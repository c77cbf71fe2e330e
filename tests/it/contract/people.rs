//! What a person reads of their own: theirs alone, in a fixed order.

use consentry::{
    connection::{Account, ConnectionId, NewConnection},
    elicitation::{NewElicitation, OWN_REF},
    random::Random,
    store::Settled,
};

use super::{given::*, raw::Raw};
use crate::engine::Database;

contract! {
    a_person_sees_their_own_under_every_server,
    what_became_of_their_questions_is_told_the_latest_first,
    the_outbox_has_the_last_word_on_what_is_gone,
    a_question_of_their_own_is_told_to_nobody_as_one_of_a_client,
}

async fn connect(db: &Database, new: NewElicitation, account: &str) -> ConnectionId {
    let asked = db.store.given_elicitation(&new).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let account = Account { id: Some(account.to_owned()), label: None };
    let credential = NewConnection { account, ..credential("octocat", 1) };
    match db.store.settle(&settling(&claimed, credential, None), NOW).await.unwrap() {
        Settled::Done { connection, .. } => connection.id,
        other => panic!("{other:?}"),
    }
}

async fn a_person_sees_their_own_under_every_server(db: Database) {
    let notes = NewElicitation { server: notes(), ..asked_by("") };
    let second = connect(&db, notes, "hubot").await;
    let first = connect(&db, asked_by(""), "octocat").await;
    connect(&db, NewElicitation { owner: bob(), ..asked_by("") }, "octocat").await;
    let mut raw = Raw::connect(&db).await;
    let used = format!("INSERT INTO connection_uses VALUES ({}, {})", raw.uuid(first.0), after(5).0);
    raw.run(&used).await;
    let held = db.store.connections_of(&alice(), 9).await.unwrap();
    let seen: Vec<_> = held.iter().map(|one| (one.connection.id, one.used_at)).collect();
    assert_eq!(seen, [(first, Some(after(5))), (second, None)]);
    assert_eq!(db.store.connections_of(&alice(), 1).await.unwrap().len(), 1);
}

async fn what_became_of_their_questions_is_told_the_latest_first(db: Database) {
    let declined = db.store.given_elicitation(&asked_by("one")).await;
    assert!(db.store.decline(&owned_open(&declined), after(1)).await.unwrap());
    let open = db.store.given_elicitation(&asked_by("two")).await;
    let other = NewElicitation { owner: bob(), ..asked_by("three") };
    let other = db.store.given_elicitation(&other).await;
    assert!(db.store.decline(&owned_open(&other), after(2)).await.unwrap());
    let connection = db.store.given_connection("octocat").await;
    let past = db.store.history_of(&connection, 9).await.unwrap();
    let ids: Vec<_> = past.iter().map(|one| one.id).collect();
    assert_eq!((ids.len(), ids[0]), (3, declined.id));
    assert!(ids.contains(&open.id), "it was satisfied by the connection");
    assert_eq!(db.store.history_of(&connection, 1).await.unwrap().len(), 1);
}

async fn the_outbox_has_the_last_word_on_what_is_gone(db: Database) {
    let id = ConnectionId(Random.uuid());
    assert_eq!(db.store.told_of(id, &alice()).await.unwrap(), None);
    let mut raw = Raw::connect(&db).await;
    for (state, at) in [("dead", 1), ("confirmed", 2)] {
        let (row, connection) = (raw.uuid(Random.uuid()), raw.uuid(id.0));
        let owner = alice();
        raw.run(&format!(
            "INSERT INTO revocations (id, connection, server, issuer, sub, provider, hint, state, tries, next_at_ms, \
             created_at_ms) VALUES ({row}, {connection}, 'files', '{}', '{}', 'github', 'access_token', '{state}', 1, 0, \
             {at})",
            owner.issuer, owner.sub
        ))
        .await;
    }
    assert_eq!(db.store.told_of(id, &alice()).await.unwrap().as_deref(), Some("confirmed"));
    assert_eq!(db.store.told_of(id, &bob()).await.unwrap(), None);
}

async fn a_question_of_their_own_is_told_to_nobody_as_one_of_a_client(db: Database) {
    let own = NewElicitation { legacy: false, ..asked_by(OWN_REF) };
    let asked = db.store.given_elicitation(&own).await;
    assert!(asked.is_own());
    let again = NewElicitation { id: asked_by("").id, ..own };
    assert_eq!(db.store.create(&again, NOW).await.unwrap().elicitation.id, asked.id, "one is open already");
    assert!(db.store.decline(&owned_open(&asked), NOW).await.unwrap());
    let told = db.store.signals_after(&files(), 0, 9).await.unwrap();
    assert_eq!((told.len(), told[0].client_ref.as_str()), (1, ""));
}
