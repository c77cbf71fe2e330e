//! Elicitations: made, used again, looked at, closed.

use std::time::Duration;

use consentry::{
    connection::{ConnectionId, Grant},
    elicitation::{AttemptState, ElicitationId, NewElicitation, Outcome, State},
    random::Random,
    signal::Kind,
    store::{CreatedOnce, Idempotency},
    subject::Subject,
};

use super::given::*;
use crate::engine::Database;

contract! {
    what_was_asked_is_what_is_read,
    one_that_is_open_is_used_again,
    another_question_is_another_elicitation,
    one_without_a_reference_is_never_used_again,
    one_with_less_than_two_minutes_is_left_alone,
    one_that_is_closed_is_not_used_again,
    an_expired_predecessor_is_closed_with_its_signal,
    a_predecessor_that_is_finishing_is_left_to_finish,
    r1_another_tenants_is_like_an_unknown_one,
    r13_a_decline_is_told_once,
    nothing_is_declined_after_the_expiry,
    nobody_elses_is_closed,
    each_end_has_its_signal,
    an_end_ends_the_attempts_and_forgets_what_they_held,
    keeping_takes_the_grant_that_was_seen_and_no_other,
    a_satisfying_connection_completes_it,
    r112_an_idempotency_key_makes_one_elicitation,
    r112_a_key_remembers_the_one_that_was_used_again,
    looking_for_an_open_one_agrees_with_creating,
    the_operator_lists_the_newest_first,
    a_page_sees_the_elicitation_and_the_owners_connection,
}

async fn what_was_asked_is_what_is_read(db: Database) {
    let seen = Grant { connection: ConnectionId(Random.row_id(NOW)), number: 7 };
    let new = NewElicitation {
        scopes: scopes(&["repo", "read:user"]),
        legacy: false,
        client_ref: "r\u{e9}f".to_owned(),
        message: Some("\u{202e}'; DROP TABLE elicitations; --".to_owned()),
        seen: Some(seen),
        ..asked()
    };
    db.store.given_elicitation(&new).await;
    let read = db.store.elicitation(new.id).await.unwrap().unwrap();
    assert_eq!(read.server, new.server);
    assert!(read.owner == new.owner);
    assert_eq!(read.provider, new.provider);
    assert_eq!(read.scopes.to_text(), new.scopes.to_text());
    assert!(!read.legacy);
    assert_eq!(read.client_ref, new.client_ref);
    assert_eq!(read.client_name, new.client_name);
    assert_eq!(read.message, new.message);
    assert_eq!(read.stored, State::Pending);
    assert_eq!(read.seen, Some(seen));
    assert_eq!((read.created_at, read.expires_at), (NOW, new.expires_at));
    assert_eq!((read.reason, read.connection, read.attempt_until, read.closed_at), (None, None, None, None));
    assert!(db.store.elicitation(ElicitationId(Random.uuid())).await.unwrap().is_none());
}

async fn one_that_is_open_is_used_again(db: Database) {
    let first = db.store.given_elicitation(&asked()).await;
    db.store.given_attempt(&first, NOW).await;
    let two_minutes_left = first.expires_at.minus(Duration::from_secs(120));
    let again = db.store.create(&asked(), two_minutes_left).await.unwrap();
    assert!(!again.is_new);
    assert_eq!(again.elicitation.id, first.id);
    assert_eq!(again.elicitation.expires_at, first.expires_at, "its life is not prolonged");
    assert!(db.store.told(&files()).await.is_empty());
}

async fn another_question_is_another_elicitation(db: Database) {
    let first = db.store.given_elicitation(&asked()).await;
    for other in [
        NewElicitation { server: notes(), ..asked() },
        NewElicitation { owner: bob(), ..asked() },
        NewElicitation { owner: Subject::new("https://other.example", "alice").unwrap(), ..asked() },
        NewElicitation { provider: "gitlab".parse().unwrap(), ..asked() },
        NewElicitation { scopes: scopes(&["repo", "gist"]), ..asked() },
        NewElicitation { legacy: false, ..asked() },
        asked_by("session-2"),
    ] {
        assert_ne!(db.store.given_elicitation(&other).await.id, first.id);
    }
}

async fn one_without_a_reference_is_never_used_again(db: Database) {
    let first = db.store.given_elicitation(&asked_by("")).await;
    let second = db.store.given_elicitation(&asked_by("")).await;
    assert_ne!(first.id, second.id);
}

async fn one_with_less_than_two_minutes_is_left_alone(db: Database) {
    let first = db.store.given_elicitation(&asked()).await;
    let late = first.expires_at.minus(Duration::from_millis(119_999));
    let second =
        db.store.create(&NewElicitation { expires_at: late.plus(LIFE), ..asked() }, late).await.unwrap();
    assert!(second.is_new);
    assert_eq!(db.store.again(&first).await.state(late), State::Pending, "whoever is at its page may finish");
    assert!(db.store.told(&files()).await.is_empty());
    let third = db.store.create(&asked(), late).await.unwrap();
    assert_eq!(third.elicitation.id, second.elicitation.id);
}

async fn one_that_is_closed_is_not_used_again(db: Database) {
    let first = db.store.given_elicitation(&asked()).await;
    assert!(db.store.decline(&owned_open(&first), NOW).await.unwrap());
    assert_ne!(db.store.given_elicitation(&asked()).await.id, first.id);
}

async fn an_expired_predecessor_is_closed_with_its_signal(db: Database) {
    let first = db.store.given_elicitation(&asked()).await;
    let attempt = db.store.given_attempt(&first, NOW).await;
    let late = first.expires_at;
    let second =
        db.store.create(&NewElicitation { expires_at: late.plus(LIFE), ..asked() }, late).await.unwrap();
    assert!(second.is_new);
    let closed = db.store.again(&first).await;
    assert_eq!((closed.stored, closed.closed_at), (State::Expired, Some(late)));
    assert_eq!(closed.reason.as_deref(), Some("expired"));
    assert_eq!(db.store.told(&files()).await, [(Kind::ElicitationExpired, Some(first.id))]);
    assert_eq!(db.store.attempt_now(&attempt).await.state, AttemptState::Settled);
    assert!(!db.store.expire(first.id, late).await.unwrap(), "its signal is told once");
}

/// A claimed attempt has a minute past the expiry, whoever asks anew meanwhile.
async fn a_predecessor_that_is_finishing_is_left_to_finish(db: Database) {
    let first = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&first, first.expires_at.minus(Duration::from_secs(1))).await;
    let late = first.expires_at.plus(Duration::from_secs(10));
    let second =
        db.store.create(&NewElicitation { expires_at: late.plus(LIFE), ..asked() }, late).await.unwrap();
    assert!(second.is_new);
    assert!(db.store.told(&files()).await.is_empty());
    let settled = db.store.settle(&settling(&claimed, credential("octocat", 1), None), late).await.unwrap();
    assert!(matches!(settled, consentry::store::Settled::Done { .. }), "{settled:?}");
    assert_eq!(db.store.again(&first).await.stored, State::Completed);
}

async fn r1_another_tenants_is_like_an_unknown_one(db: Database) {
    let mine = db.store.given_elicitation(&asked()).await;
    assert!(db.store.elicitation_of(&files(), mine.id).await.unwrap().is_some());
    assert!(db.store.elicitation_of(&notes(), mine.id).await.unwrap().is_none());
    assert!(db.store.elicitation_of(&files(), ElicitationId(Random.uuid())).await.unwrap().is_none());
}

async fn r13_a_decline_is_told_once(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let mine = owned_open(&asked);
    assert!(db.store.decline(&mine, after(1)).await.unwrap());
    assert!(!db.store.decline(&mine, after(2)).await.unwrap());
    assert!(!db.store.close(&asked, State::Cancelled, "cancelled_by_server", after(2)).await.unwrap());
    let declined = db.store.again(&asked).await;
    assert_eq!((declined.stored, declined.closed_at), (State::Declined, Some(after(1))));
    assert_eq!(declined.reason.as_deref(), Some("declined_by_user"));
    assert_eq!(db.store.told(&files()).await, [(Kind::ElicitationDeclined, Some(asked.id))]);
    let signal = db.store.signals_after(&files(), 0, 1).await.unwrap().remove(0);
    assert_eq!(signal.client_ref, asked.client_ref);
    assert_eq!(signal.reason, declined.reason);
    assert!(signal.subject == asked.owner && signal.legacy);
    assert_eq!((signal.at, signal.connection), (after(1), None));
}

async fn nothing_is_declined_after_the_expiry(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(!db.store.decline(&owned_open(&asked), asked.expires_at).await.unwrap());
    assert!(db.store.told(&files()).await.is_empty());
    let last = asked.expires_at.minus(Duration::from_millis(1));
    assert!(db.store.decline(&owned_open(&asked), last).await.unwrap());
}

/// The store trusts no caller: a proof of another server or owner closes nothing.
async fn nobody_elses_is_closed(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let mut others = vec![asked.clone(), asked.clone(), asked.clone()];
    others[0].server = notes();
    others[1].owner = bob();
    others[2].owner = Subject::new("https://other.example", "alice").unwrap();
    for other in others {
        assert!(!db.store.close(&other, State::Cancelled, "x", NOW).await.unwrap());
        assert!(!db.store.decline(&owned_open(&other), NOW).await.unwrap());
    }
    for stranger in [bob(), Subject::new("https://other.example", "alice").unwrap()] {
        let mut theirs = asked.clone();
        theirs.owner = stranger;
        assert!(!db.store.begin(&owned_open(&theirs), &trip(NOW), NOW).await.unwrap());
    }
    assert_eq!(db.store.again(&asked).await.closed_at, None);
    assert!(db.store.told(&files()).await.is_empty() && db.store.told(&notes()).await.is_empty());
}

async fn each_end_has_its_signal(db: Database) {
    let mut expected = Vec::new();
    for end in [State::Declined, State::Cancelled, State::Failed] {
        let asked = db.store.given_elicitation(&asked()).await;
        assert!(db.store.close(&asked, end, "because", NOW).await.unwrap());
        assert_eq!(db.store.again(&asked).await.state(NOW), end);
        expected.push((ending(end), Some(asked.id)));
    }
    let asked = db.store.given_elicitation(&asked()).await;
    for open in [State::Pending, State::Authorizing] {
        assert!(!db.store.close(&asked, open, "because", NOW).await.unwrap(), "{open:?} is no end");
    }
    assert_eq!(db.store.told(&files()).await, expected);
}

async fn an_end_ends_the_attempts_and_forgets_what_they_held(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let offered = db.store.given_offered(&asked, NOW).await;
    let claimed = db.store.given_claimed(&asked, NOW).await.attempt;
    let live = db.store.given_attempt(&asked, NOW).await;
    let parked = consentry::vault::Sealed::from_bytes(b"sealed response".to_vec());
    assert!(db.store.park(live.id, &parked, after(300), NOW).await.unwrap());
    assert!(db.store.decline(&owned_open(&asked), after(1)).await.unwrap());
    for attempt in [&offered, &live] {
        let ended = db.store.attempt_now(attempt).await;
        assert_eq!((ended.state, ended.outcome), (AttemptState::Settled, Some(Outcome::ClosedMeanwhile)));
        assert!(ended.parked.is_none() && ended.offer.is_none());
    }
    assert_eq!(db.store.attempt_now(&claimed).await.state, AttemptState::Claimed, "it ends by itself");
    let mut raw = super::raw::Raw::connect(&db).await;
    let held = "SELECT COUNT(*) FROM attempts WHERE state = 'settled' AND verifier IS NOT NULL";
    assert_eq!(raw.number(held).await, 0);
}

async fn keeping_takes_the_grant_that_was_seen_and_no_other(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let asked = db.store.given_elicitation(&asked()).await;
    let live = db.store.given_attempt(&asked, NOW).await;
    let seen = connection.as_grant();
    let mine = owned_open(&asked);
    let newer = Grant { number: seen.number + 1, ..seen };
    let other = Grant { connection: ConnectionId(Random.row_id(NOW)), ..seen };
    assert!(!db.store.keep(&mine, newer, NOW).await.unwrap());
    assert!(!db.store.keep(&mine, other, NOW).await.unwrap());
    assert!(!db.store.keep(&mine, seen, asked.expires_at).await.unwrap());
    assert!(db.store.keep(&mine, seen, after(1)).await.unwrap());
    assert!(!db.store.keep(&mine, seen, after(1)).await.unwrap());
    let kept = db.store.again(&asked).await;
    assert_eq!((kept.stored, kept.connection), (State::Completed, Some(connection.id)));
    assert_eq!(kept.reason.as_deref(), Some("kept"));
    assert_eq!(db.store.attempt_now(&live).await.state, AttemptState::Settled);
    let told = db.store.told(&files()).await;
    assert_eq!(told.last(), Some(&(Kind::ElicitationCompleted, Some(asked.id))));
    assert_eq!(told.len(), 3, "the connection, its elicitation, and this one");
}

/// Nobody else's connection, and none that was removed, completes anything.
async fn a_satisfying_connection_completes_it(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let grant = connection.as_grant();
    for other in [
        NewElicitation { server: notes(), ..asked() },
        NewElicitation { owner: bob(), ..asked() },
        NewElicitation { provider: "gitlab".parse().unwrap(), ..asked() },
    ] {
        let other = db.store.given_elicitation(&other).await;
        assert!(!db.store.satisfy(&other, grant, NOW).await.unwrap());
        assert!(!db.store.keep(&owned_open(&other), grant, NOW).await.unwrap());
    }
    let asked_first = db.store.given_elicitation(&asked()).await;
    assert!(db.store.satisfy(&asked_first, grant, NOW).await.unwrap());
    assert_eq!(db.store.again(&asked_first).await.reason.as_deref(), Some("satisfied"));
    let asked_later = db.store.given_elicitation(&asked()).await;
    assert!(db.store.disconnect(&files(), connection.id, "by_user", |_| None, NOW).await.unwrap().is_some());
    assert!(!db.store.satisfy(&asked_later, grant, NOW).await.unwrap());
    assert_eq!(db.store.again(&asked_later).await.stored, State::Cancelled);
}

async fn r112_an_idempotency_key_makes_one_elicitation(db: Database) {
    let key = Idempotency { key: digest("key"), body: digest("body") };
    assert!(db.store.recall(&files(), &key.key).await.unwrap().is_none());
    let new = asked_by("");
    let CreatedOnce::Now(made) = db.store.create_once(&new, key, NOW).await.unwrap() else {
        panic!("the first with a key makes it")
    };
    assert!(made.is_new && made.elicitation.id == new.id);
    for body in [key.body, digest("another body")] {
        let again = NewElicitation { id: ElicitationId(Random.uuid()), ..asked_by("") };
        let CreatedOnce::Before(before) =
            db.store.create_once(&again, Idempotency { body, ..key }, after(1)).await.unwrap()
        else {
            panic!("a key is used once")
        };
        assert_eq!((before.body, before.id, before.at), (key.body, new.id, NOW));
        assert!(db.store.elicitation(again.id).await.unwrap().is_none());
    }
    let recalled = db.store.recall(&files(), &key.key).await.unwrap().unwrap();
    assert_eq!((recalled.body, recalled.id), (key.body, new.id));
    assert!(db.store.recall(&notes(), &key.key).await.unwrap().is_none(), "keys are of one tenant");
    let elsewhere = NewElicitation { server: notes(), ..asked_by("") };
    assert!(matches!(db.store.create_once(&elsewhere, key, NOW).await.unwrap(), CreatedOnce::Now(_)));
}

/// The key then names what was handed out, not what was not made.
async fn r112_a_key_remembers_the_one_that_was_used_again(db: Database) {
    let open = db.store.given_elicitation(&asked()).await;
    let key = Idempotency { key: digest("key"), body: digest("body") };
    let CreatedOnce::Now(made) = db.store.create_once(&asked(), key, NOW).await.unwrap() else {
        panic!("the first with a key gives it")
    };
    assert!(!made.is_new && made.elicitation.id == open.id);
    assert_eq!(db.store.recall(&files(), &key.key).await.unwrap().unwrap().id, open.id);
}

/// What it finds, a creation gives again; what it does not, a creation decides.
async fn looking_for_an_open_one_agrees_with_creating(db: Database) {
    assert!(db.store.open_like(&asked(), NOW).await.unwrap().is_none());
    let open = db.store.given_elicitation(&asked()).await;
    assert_eq!(db.store.open_like(&asked(), NOW).await.unwrap().unwrap().id, open.id);
    let other = NewElicitation { owner: bob(), ..asked() };
    assert!(db.store.open_like(&other, NOW).await.unwrap().is_none());
    assert!(db.store.open_like(&asked_by(""), NOW).await.unwrap().is_none());
    let two_minutes_left = open.expires_at.minus(Duration::from_secs(120));
    assert!(db.store.open_like(&asked(), two_minutes_left).await.unwrap().is_some());
    let less = two_minutes_left.plus(Duration::from_millis(1));
    assert!(db.store.open_like(&asked(), less).await.unwrap().is_none());
    assert!(db.store.decline(&owned_open(&open), NOW).await.unwrap());
    assert!(db.store.open_like(&asked(), NOW).await.unwrap().is_none());
}

async fn the_operator_lists_the_newest_first(db: Database) {
    let old = db.store.given_elicitation(&asked_by("1")).await;
    let new = db.store.create(&asked_by("2"), after(1)).await.unwrap().elicitation;
    let other = db.store.create(&NewElicitation { server: notes(), ..asked() }, after(2)).await.unwrap();
    db.store.decline(&owned_open(&old), after(3)).await.unwrap();
    let ids = async |server: Option<&_>, state, limit| -> Vec<ElicitationId> {
        let found = db.store.elicitations(server, state, limit).await.unwrap();
        found.into_iter().map(|one| one.id).collect()
    };
    assert_eq!(ids(None, None, 9).await, [other.elicitation.id, new.id, old.id]);
    assert_eq!(ids(None, None, 2).await, [other.elicitation.id, new.id]);
    assert_eq!(ids(Some(&files()), None, 9).await, [new.id, old.id]);
    assert_eq!(ids(Some(&files()), Some(State::Declined), 9).await, [old.id]);
}

async fn a_page_sees_the_elicitation_and_the_owners_connection(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let idle_since = NOW.minus(LIFE);
    let visit = db.store.visit(asked.id, None, None, NOW, idle_since).await.unwrap().unwrap();
    assert_eq!(visit.elicitation.id, asked.id);
    assert!(visit.visitor.is_none() && visit.connection.is_none());
    let connection = db.store.given_connection("octocat").await;
    let visit =
        db.store.visit(asked.id, Some(&digest("no session")), None, NOW, idle_since).await.unwrap().unwrap();
    assert!(visit.visitor.is_none());
    let seen = visit.connection.unwrap();
    assert_eq!((seen.id, seen.as_grant()), (connection.id, connection.as_grant()));
    assert_eq!(seen.account, connection.account);
    assert!(seen.access.as_bytes().is_empty() && seen.refresh.is_none(), "a page has no use for tokens");
    assert!(
        db.store.visit(ElicitationId(Random.uuid()), None, None, NOW, idle_since).await.unwrap().is_none()
    );
}
