//! Settling: the connection, the elicitation, its siblings and every signal, or nothing.

use std::time::Duration;

use consentry::{
    connection::{ConnectionId, Grant, Marks, NewConnection},
    elicitation::{AttemptState, NewElicitation, Outcome, State},
    random::Random,
    scope::Scopes,
    signal::Kind,
    store::{Settled, Settlement},
};

use super::given::*;
use crate::engine::Database;

contract! {
    a_first_consent_connects_and_is_told,
    a_further_consent_moves_the_generation_and_the_grant,
    r84_what_moved_meanwhile_is_not_overwritten,
    another_first_consent_wins_once,
    what_was_closed_meanwhile_stores_nothing,
    an_attempt_that_is_over_stores_nothing,
    a_claimed_attempt_has_a_minute_past_the_expiry,
    an_offer_is_taken_while_it_is_open,
    an_offer_is_not_taken_past_the_expiry,
    siblings_complete_each_with_its_own_signal,
    those_that_it_does_not_satisfy_or_that_saw_one_stay_open,
    a_siblings_claimed_attempt_finds_it_closed,
    what_was_typed_is_stored_without_a_trip,
    r84_what_was_typed_over_another_connection_is_not_stored,
    what_is_typed_too_late_is_not_stored,
}

/// The connection and the completed ones of a settlement that must succeed.
macro_rules! done {
    ($settled:expr) => {
        match $settled {
            Settled::Done { connection, completed } => (*connection, completed),
            other => panic!("{other:?}"),
        }
    };
}

async fn a_first_consent_connects_and_is_told(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let settlement = settling(&claimed, credential("octocat", 1), None);
    let (connection, completed) = done!(db.store.settle(&settlement, after(2)).await.unwrap());
    assert_eq!(completed, [asked.id]);
    assert_eq!((connection.generation, connection.grant), (1, 1));
    let settled = db.store.attempt_now(&claimed.attempt).await;
    assert_eq!((settled.state, settled.outcome), (AttemptState::Settled, Some(Outcome::Connected)));
    let over = db.store.again(&asked).await;
    assert_eq!((over.stored, over.connection), (State::Completed, Some(connection.id)));
    assert_eq!((over.reason.as_deref(), over.closed_at), (Some("connected"), Some(after(2))));
    let signals = db.store.signals_after(&files(), 0, 9).await.unwrap();
    assert_eq!(signals.len(), 2);
    assert_eq!((signals[0].kind, signals[0].connection), (Kind::ConnectionCreated, Some(connection.id)));
    assert_eq!((signals[1].kind, signals[1].elicitation), (Kind::ElicitationCompleted, Some(asked.id)));
    assert_eq!((signals[1].connection, &*signals[1].client_ref), (Some(connection.id), "session-1"));
    assert!(signals[1].legacy);
}

async fn a_further_consent_moves_the_generation_and_the_grant(db: Database) {
    let first = db.store.given_connection("octocat").await;
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let mut new = credential("hubot", 2);
    new.refresh = None;
    let settlement = settling(&claimed, new, Some((first.id, first.generation)));
    let (second, _) = done!(db.store.settle(&settlement, after(1)).await.unwrap());
    assert_eq!((second.id, second.generation, second.grant), (first.id, 2, first.grant + 1));
    assert_eq!(second.account.id.as_deref(), Some("hubot"));
    assert_eq!(second.access.as_bytes(), b"sealed access 2");
    assert!(second.refresh.is_none(), "nothing of the former account is left");
    assert_eq!((second.created_at, second.updated_at), (first.created_at, after(1)));
    let told = db.store.told(&files()).await;
    assert_eq!(told[2], (Kind::ConnectionUpdated, None));
}

async fn r84_what_moved_meanwhile_is_not_overwritten(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let before = db.store.signal_head(&files()).await.unwrap();
    let unknown = ConnectionId(Random.row_id(NOW));
    for over in [None, Some((connection.id, connection.generation + 1)), Some((unknown, 1))] {
        let settled = db.store.settle(&settling(&claimed, credential("hubot", 2), over), NOW).await.unwrap();
        assert!(matches!(settled, Settled::Moved), "{over:?}: {settled:?}");
    }
    let kept = db.store.connection(&files(), connection.id).await.unwrap().unwrap();
    assert_eq!(kept.access.as_bytes(), connection.access.as_bytes());
    assert_eq!(db.store.signal_head(&files()).await.unwrap(), before);
    assert_eq!(db.store.attempt_now(&claimed.attempt).await.state, AttemptState::Claimed, "it may try again");
    let over = Some((connection.id, connection.generation));
    done!(db.store.settle(&settling(&claimed, credential("hubot", 2), over), NOW).await.unwrap());
}

/// Two clients of one person connect at once: the second is told to compare with the first.
async fn another_first_consent_wins_once(db: Database) {
    let seen = Some(Grant { connection: ConnectionId(Random.row_id(NOW)), number: 1 });
    let one = db.store.given_elicitation(&asked_by("1")).await;
    let two = db.store.given_elicitation(&NewElicitation { seen, ..asked_by("2") }).await;
    let first = db.store.given_claimed(&one, NOW).await;
    let second = db.store.given_claimed(&two, NOW).await;
    done!(db.store.settle(&settling(&first, credential("octocat", 1), None), NOW).await.unwrap());
    let settled = db.store.settle(&settling(&second, credential("hubot", 1), None), NOW).await.unwrap();
    assert!(matches!(settled, Settled::Moved), "{settled:?}");
    assert!(db.store.again(&two).await.stored.is_open());
}

async fn what_was_closed_meanwhile_stores_nothing(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    assert!(db.store.decline(&owned_open(&asked), NOW).await.unwrap());
    let settled = db.store.settle(&settling(&claimed, credential("octocat", 1), None), NOW).await.unwrap();
    assert!(matches!(settled, Settled::ClosedMeanwhile), "{settled:?}");
    assert!(db.store.connection_for(&files(), &alice(), &github()).await.unwrap().is_none());
    assert_eq!(db.store.told(&files()).await, [(Kind::ElicitationDeclined, Some(asked.id))]);
}

async fn an_attempt_that_is_over_stores_nothing(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let ended = (AttemptState::Claimed, Outcome::Ended);
    assert!(db.store.spend(&claimed.attempt, ended.0, ended.1, None, NOW).await.unwrap());
    let settled = db.store.settle(&settling(&claimed, credential("octocat", 1), None), NOW).await.unwrap();
    assert!(matches!(settled, Settled::Lost), "{settled:?}");
    assert!(db.store.connection_for(&files(), &alice(), &github()).await.unwrap().is_none());
    assert!(db.store.again(&asked).await.stored.is_open());
    assert!(db.store.told(&files()).await.is_empty());
}

async fn a_claimed_attempt_has_a_minute_past_the_expiry(db: Database) {
    let minute = Duration::from_secs(60);
    let mut over = None;
    for (client, late, in_time) in
        [("1", minute.saturating_sub(Duration::from_millis(1)), true), ("2", minute, false)]
    {
        let asked = db.store.given_elicitation(&asked_by(client)).await;
        let claimed = db.store.given_claimed(&asked, asked.expires_at.minus(Duration::from_millis(1))).await;
        let at = asked.expires_at.plus(late);
        let settlement = settling(&claimed, credential("octocat", 2), over);
        match db.store.settle(&settlement, at).await.unwrap() {
            Settled::Done { connection, .. } if in_time => {
                over = Some((connection.id, connection.generation));
            }
            Settled::ClosedMeanwhile if !in_time => {}
            other => panic!("{other:?}"),
        }
    }
}

fn taking<'a>(
    mine: &'a consentry::elicitation::Owned,
    attempt: &'a consentry::elicitation::Attempt,
    over: Option<(ConnectionId, i64)>,
) -> Settlement<'a> {
    Settlement {
        mine,
        attempt,
        from: AttemptState::Offered,
        connection: credential("hubot", 2),
        over,
        outcome: Outcome::Connected,
    }
}

async fn an_offer_is_taken_while_it_is_open(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let asked = db.store.given_elicitation(&asked()).await;
    let offered = db.store.given_offered(&asked, NOW).await;
    let mine = owned(&asked);
    let over = Some((connection.id, connection.generation));
    let (connection, completed) = done!(db.store.settle(&taking(&mine, &offered, over), NOW).await.unwrap());
    assert_eq!((connection.account.id.as_deref(), completed), (Some("hubot"), vec![asked.id]));
    assert!(db.store.attempt_now(&offered).await.offer.is_none());
}

async fn an_offer_is_not_taken_past_the_expiry(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let asked = db.store.given_elicitation(&asked()).await;
    let offered = db.store.given_offered(&asked, NOW).await;
    let mine = owned(&asked);
    let over = Some((connection.id, connection.generation));
    let settled = db.store.settle(&taking(&mine, &offered, over), asked.expires_at).await.unwrap();
    assert!(matches!(settled, Settled::ClosedMeanwhile), "{settled:?}");
}

async fn siblings_complete_each_with_its_own_signal(db: Database) {
    let asked = db.store.given_elicitation(&asked_by("asked")).await;
    let fewer = NewElicitation { scopes: scopes(&[]), legacy: false, ..asked_by("fewer") };
    let fewer = db.store.given_elicitation(&fewer).await;
    let same = db.store.given_elicitation(&asked_by("same")).await;
    let in_another_tab = db.store.given_attempt(&same, NOW).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let settlement = settling(&claimed, credential("octocat", 1), None);
    let (connection, mut completed) = done!(db.store.settle(&settlement, after(1)).await.unwrap());
    let mut expected = [(asked.id, "asked", true), (fewer.id, "fewer", false), (same.id, "same", true)];
    expected.sort_by_key(|one| one.0);
    completed.sort_unstable();
    assert_eq!(completed, expected.map(|one| one.0));
    let signals = db.store.signals_after(&files(), 1, 9).await.unwrap();
    let told: Vec<_> =
        signals.iter().map(|one| (one.elicitation.unwrap(), &*one.client_ref, one.legacy)).collect();
    assert_eq!(told, expected);
    assert!(signals.iter().all(|one| one.kind == Kind::ElicitationCompleted));
    for sibling in [&fewer, &same] {
        let sibling = db.store.again(sibling).await;
        assert_eq!((sibling.stored, sibling.connection), (State::Completed, Some(connection.id)));
        assert_eq!(sibling.reason.as_deref(), Some("satisfied"));
    }
    assert_eq!(db.store.attempt_now(&in_another_tab).await.outcome, Some(Outcome::ClosedMeanwhile));
}

async fn those_that_it_does_not_satisfy_or_that_saw_one_stay_open(db: Database) {
    let asked_first = db.store.given_elicitation(&asked_by("asked")).await;
    let seen = Some(Grant { connection: ConnectionId(Random.row_id(NOW)), number: 1 });
    let soon = NewElicitation { expires_at: after(1), ..asked_by("expired") };
    let mut others = Vec::new();
    for other in [
        NewElicitation { scopes: scopes(&["repo", "gist"]), ..asked_by("more") },
        NewElicitation { seen, ..asked_by("switching") },
        NewElicitation { owner: bob(), ..asked() },
        NewElicitation { server: notes(), ..asked() },
        NewElicitation { provider: "gitlab".parse().unwrap(), ..asked() },
        soon,
    ] {
        others.push(db.store.given_elicitation(&other).await);
    }
    let claimed = db.store.given_claimed(&asked_first, NOW).await;
    let settlement = settling(&claimed, credential("octocat", 1), None);
    let (_, completed) = done!(db.store.settle(&settlement, after(1)).await.unwrap());
    assert_eq!(completed, [asked_first.id]);
    for other in &others {
        assert_eq!(db.store.again(other).await.stored, State::Pending, "{}", other.client_ref);
    }
    assert!(db.store.told(&notes()).await.is_empty());
}

async fn a_siblings_claimed_attempt_finds_it_closed(db: Database) {
    let one = db.store.given_elicitation(&asked_by("1")).await;
    let two = db.store.given_elicitation(&asked_by("2")).await;
    let first = db.store.given_claimed(&one, NOW).await;
    let second = db.store.given_claimed(&two, NOW).await;
    let settlement = settling(&first, credential("octocat", 1), None);
    let (connection, _) = done!(db.store.settle(&settlement, NOW).await.unwrap());
    let over = Some((connection.id, connection.generation));
    let settled = db.store.settle(&settling(&second, credential("hubot", 2), over), NOW).await.unwrap();
    assert!(matches!(settled, Settled::ClosedMeanwhile), "{settled:?}");
    let kept = db.store.connection(&files(), connection.id).await.unwrap().unwrap();
    assert_eq!(kept.account.id.as_deref(), Some("octocat"));
}

/// Alice is asked for a key.
fn asked_for_a_key(client_ref: &str) -> NewElicitation {
    NewElicitation { scopes: Scopes::default(), ..asked_by(client_ref) }
}

/// A key of `account`, sealed.
fn typed(account: &str, generation: i64, unchecked: bool) -> NewConnection {
    let marks = Marks { secret: true, unchecked, test_mode: unchecked, ..Marks::default() };
    let (granted, asked) = (Scopes::default(), Scopes::default());
    NewConnection { granted, asked, refresh: None, marks, ..credential(account, generation) }
}

async fn what_was_typed_is_stored_without_a_trip(db: Database) {
    let asked = db.store.given_elicitation(&asked_for_a_key("1")).await;
    let other = db.store.given_elicitation(&asked_for_a_key("2")).await;
    let new = typed("octocat", 1, true);
    let settled = db.store.settle_typed(&owned_open(&asked), &new, None, after(1)).await.unwrap();
    let (first, mut completed) = done!(settled);
    completed.sort_unstable();
    let mut both = [asked.id, other.id];
    both.sort_unstable();
    assert_eq!((&*completed, first.id, first.marks), (&both[..], new.id, new.marks));
    assert_eq!((first.generation, first.grant, first.access.as_bytes()), (1, 1, new.access.as_bytes()));
    for (one, reason) in [(&asked, "unchecked"), (&other, "satisfied")] {
        let over = db.store.again(one).await;
        assert_eq!((over.stored, over.reason.as_deref()), (State::Completed, Some(reason)));
        assert_eq!((over.connection, over.closed_at), (Some(first.id), Some(after(1))));
    }
    let told: Vec<Kind> = db.store.told(&files()).await.into_iter().map(|one| one.0).collect();
    assert_eq!(told, [Kind::ConnectionCreated, Kind::ElicitationCompleted, Kind::ElicitationCompleted]);

    // Another one in its place, which was checked.
    let seen = Some(Grant { connection: first.id, number: first.grant });
    let again = db.store.given_elicitation(&NewElicitation { seen, ..asked_for_a_key("1") }).await;
    let new = NewConnection { id: first.id, ..typed("hubot", 2, false) };
    let over = Some((first.id, first.generation));
    let settled = db.store.settle_typed(&owned_open(&again), &new, over, after(2)).await.unwrap();
    let (second, completed) = done!(settled);
    assert_eq!((&*completed, second.id, second.marks), (&[again.id][..], first.id, new.marks));
    assert_eq!((second.generation, second.grant, second.access.as_bytes()), (2, 2, new.access.as_bytes()));
    assert_eq!(second.account.id.as_deref(), Some("hubot"));
    assert_eq!(db.store.again(&again).await.reason.as_deref(), Some("connected"));
    let told = db.store.told(&files()).await.split_off(3);
    assert_eq!(told, [(Kind::ConnectionUpdated, None), (Kind::ElicitationCompleted, Some(again.id))]);
}

async fn r84_what_was_typed_over_another_connection_is_not_stored(db: Database) {
    let connection = db.store.given_connection("octocat").await;
    let seen = Some(Grant { connection: connection.id, number: connection.grant });
    let asked = db.store.given_elicitation(&NewElicitation { seen, ..asked_for_a_key("1") }).await;
    let before = db.store.signal_head(&files()).await.unwrap();
    let unknown = ConnectionId(Random.row_id(NOW));
    let mine = owned_open(&asked);
    for over in [None, Some((connection.id, connection.generation + 1)), Some((unknown, 1))] {
        let settled = db.store.settle_typed(&mine, &typed("hubot", 2, false), over, NOW).await.unwrap();
        assert!(matches!(settled, Settled::Moved), "{over:?}: {settled:?}");
    }
    let kept = db.store.connection(&files(), connection.id).await.unwrap().unwrap();
    assert_eq!((kept.access.as_bytes(), kept.marks), (connection.access.as_bytes(), connection.marks));
    assert_eq!(db.store.signal_head(&files()).await.unwrap(), before);
    assert!(db.store.again(&asked).await.stored.is_open(), "it may try again");
}

/// There is no trip that could have begun in time: the expiry is the end.
async fn what_is_typed_too_late_is_not_stored(db: Database) {
    let declined = db.store.given_elicitation(&asked_for_a_key("1")).await;
    assert!(db.store.decline(&owned_open(&declined), NOW).await.unwrap());
    let expired = db.store.given_elicitation(&asked_for_a_key("2")).await;
    for (asked, now) in [(&declined, NOW), (&expired, expired.expires_at)] {
        let new = typed("octocat", 1, false);
        let settled = db.store.settle_typed(&owned_open(asked), &new, None, now).await.unwrap();
        assert!(matches!(settled, Settled::ClosedMeanwhile), "{settled:?}");
        assert!(db.store.connection_for(&files(), &alice(), &github()).await.unwrap().is_none());
    }
    assert_eq!(db.store.told(&files()).await, [(Kind::ElicitationDeclined, Some(declined.id))]);
    let last = expired.expires_at.minus(Duration::from_millis(1));
    done!(
        db.store.settle_typed(&owned_open(&expired), &typed("octocat", 1, false), None, last).await.unwrap()
    );
}
