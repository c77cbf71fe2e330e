//! Visits to pages of MCP servers' own: a code, two halves, and what they make together.

use std::time::Duration;

use consentry::{
    connection::{Account, ConnectionId, Marks, NewConnection},
    elicitation::{Attempt, AttemptState, Elicitation, NewAttempt, Outcome, PageCode, State},
    hosted::{Accepted, FailedAtPage},
    random::Random,
    secret::Hash,
    signal::Kind,
    store::{BothHalves, Redemption, Returned, Said, Settled},
};

use super::given::*;
use crate::engine::Database;

contract! {
    a_visit_is_read_as_it_was_begun,
    r54_a_code_is_redeemed_once_and_by_its_own,
    a_code_is_redeemed_in_time,
    a_second_time_ends_the_visit_and_no_other,
    a_result_counts_for_visits_that_were_redeemed,
    r71_the_halves_come_in_either_order,
    a_return_spends_the_state_once,
    r71_a_return_that_does_not_fit_spends_nothing,
    a_failure_ends_it_with_its_signal,
    what_is_settled_is_settled_once,
}

const HASHES: [&str; 2] = ["a code", "another code"];

/// A visit of alice's, begun at [`NOW`], whose code has this text.
async fn visit(db: &Database, asked: &Elicitation, code: &str) -> Attempt {
    let page = Some(PageCode { hash: digest(code), expires_at: after(300) });
    let new = NewAttempt { verifier: None, page, ..trip(NOW) };
    assert!(db.store.begin(&owned_open(asked), &new, NOW).await.unwrap());
    db.store.attempt(asked.id, new.id).await.unwrap().unwrap()
}

async fn redeem(db: &Database, code: &Hash) -> Redemption {
    db.store.redeem(&files(), code, after(1)).await.unwrap()
}

/// The same visit, whose code was redeemed.
async fn visited(db: &Database, asked: &Elicitation, code: &str) -> Attempt {
    let visit = visit(db, asked, code).await;
    assert!(matches!(redeem(db, &digest(code)).await, Redemption::Redeemed(..)));
    visit
}

fn accepted(order: &str) -> Accepted {
    Accepted::new(Some(order), values(&[("order", order)])).unwrap()
}

async fn accept(db: &Database, asked: &Elicitation, order: &str) -> Said {
    db.store.accept_visit(asked, &accepted(order), after(2)).await.unwrap()
}

async fn come_back(db: &Database, asked: &Elicitation, visit: &Attempt) -> Returned {
    db.store.come_back(&owned(asked), visit, after(3)).await.unwrap()
}

fn both(returned: Returned) -> Box<BothHalves> {
    match returned {
        Returned::Both(both) => both,
        other => panic!("{other:?}"),
    }
}

fn deed(both: &BothHalves) -> NewConnection {
    NewConnection {
        id: ConnectionId(Random.row_id(NOW)),
        account: Account { id: None, label: both.accepted().label.clone() },
        refresh: None,
        values: both.accepted().values.clone(),
        fingerprint: None,
        marks: Marks { redirect: true, ..Marks::default() },
        ..credential("octocat", 1)
    }
}

async fn a_visit_is_read_as_it_was_begun(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let visit = visit(&db, &asked, HASHES[0]).await;
    let page = visit.page.as_ref().unwrap();
    assert_eq!(page.code_expires_at, after(300));
    assert!(page.redeemed_at.is_none() && page.accepted.is_none() && page.returned_at.is_none());
    assert!(visit.verifier.is_none() && visit.is_redeemable(NOW) && !visit.is_redeemable(after(300)));
    let other = db.store.given_attempt(&asked, NOW).await;
    assert!(other.page.is_none() && !other.is_redeemable(NOW) && !other.is_waiting(NOW));
}

/// R54: the right MCP server, once.
async fn r54_a_code_is_redeemed_once_and_by_its_own(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let visit = visit(&db, &asked, HASHES[0]).await;
    assert!(matches!(redeem(&db, &digest("unknown")).await, Redemption::Refused));
    let foreign = db.store.redeem(&notes(), &digest(HASHES[0]), NOW).await.unwrap();
    assert!(matches!(foreign, Redemption::Foreign(found) if found.id == visit.id));
    assert!(db.store.attempt_now(&visit).await.is_redeemable(NOW), "nothing was spent");
    match redeem(&db, &digest(HASHES[0])).await {
        Redemption::Redeemed(attempt, elicitation) => {
            assert_eq!((attempt.id, elicitation.id), (visit.id, asked.id));
            assert_eq!(elicitation.owner, alice());
        }
        other => panic!("{other:?}"),
    }
    let now = db.store.attempt_now(&visit).await;
    assert_eq!(now.page.as_ref().unwrap().redeemed_at, Some(after(1)));
    assert!(now.is_live(after(1)) && !now.is_redeemable(after(1)));
}

async fn a_code_is_redeemed_in_time(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let visit = visit(&db, &asked, HASHES[0]).await;
    let late = db.store.redeem(&files(), &digest(HASHES[0]), after(300)).await.unwrap();
    assert!(matches!(late, Redemption::Refused));
    assert!(db.store.attempt_now(&visit).await.is_live(after(300)), "late is not twice");
    assert!(db.store.close(&asked, State::Cancelled, "cancelled_by_server", NOW).await.unwrap());
    assert!(matches!(redeem(&db, &digest(HASHES[0])).await, Redemption::Refused));
}

async fn a_second_time_ends_the_visit_and_no_other(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let first = visited(&db, &asked, HASHES[0]).await;
    let second = visited(&db, &asked, HASHES[1]).await;
    assert!(
        matches!(redeem(&db, &digest(HASHES[0])).await, Redemption::Twice(found) if found.id == first.id)
    );
    let ended = db.store.attempt_now(&first).await;
    assert_eq!((ended.state, ended.outcome), (AttemptState::Settled, Some(Outcome::CodeRefused)));
    assert_eq!(ended.detail.as_deref(), Some(Outcome::TWICE));
    assert!(db.store.attempt_now(&second).await.is_live(after(1)));
    assert!(matches!(redeem(&db, &digest(HASHES[0])).await, Redemption::Twice(_)));
    assert_eq!(db.store.again(&asked).await.state(after(1)), State::Authorizing);
    assert!(matches!(redeem(&db, &digest(HASHES[1])).await, Redemption::Twice(_)));
    assert_eq!(db.store.again(&asked).await.state(after(1)), State::Pending, "no visit is left");
}

async fn a_result_counts_for_visits_that_were_redeemed(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(matches!(accept(&db, &asked, "A-1").await, Said::Nobody));
    let begun = visit(&db, &asked, HASHES[0]).await;
    assert!(matches!(accept(&db, &asked, "A-1").await, Said::Nobody));
    let visited = visited(&db, &asked, HASHES[1]).await;
    assert!(matches!(accept(&db, &asked, "A-1").await, Said::Taken));
    assert!(matches!(accept(&db, &asked, "A-1").await, Said::Before));
    assert!(matches!(accept(&db, &asked, "A-2").await, Said::Otherwise));
    assert!(matches!(fail(&db, &asked, None).await, Said::Otherwise));
    let result = |attempt: Attempt| attempt.page.unwrap().accepted;
    assert_eq!(result(db.store.attempt_now(&visited).await), Some(accepted("A-1")));
    assert_eq!(result(db.store.attempt_now(&begun).await), None);
    assert!(db.store.connection_for(&files(), &alice(), &github()).await.unwrap().is_none());
    assert!(db.store.told(&files()).await.is_empty());
    let over = asked.expires_at;
    assert!(matches!(db.store.accept_visit(&asked, &accepted("A-1"), over).await.unwrap(), Said::Over));
}

/// R71: whichever comes second finds the first, and leaves nothing behind by itself.
async fn r71_the_halves_come_in_either_order(db: Database) {
    let asked = db.store.given_elicitation(&asked_by("1")).await;
    let first = visited(&db, &asked, HASHES[0]).await;
    assert!(matches!(accept(&db, &asked, "A-1").await, Said::Taken));
    let whole = both(come_back(&db, &asked, &first).await);
    assert_eq!(
        (whole.elicitation().id, whole.attempt(), whole.accepted()),
        (asked.id, first.id, &accepted("A-1"))
    );
    assert!(db.store.attempt_now(&first).await.page.unwrap().returned_at.is_none());

    let other = db.store.given_elicitation(&asked_by("2")).await;
    let second = visited(&db, &other, HASHES[1]).await;
    assert!(matches!(come_back(&db, &other, &second).await, Returned::Waits));
    let whole = match accept(&db, &other, "A-2").await {
        Said::Both(both) => both,
        said => panic!("{said:?}"),
    };
    assert_eq!(
        (whole.elicitation().id, whole.attempt(), whole.accepted()),
        (other.id, second.id, &accepted("A-2"))
    );
    assert!(db.store.attempt_now(&second).await.page.unwrap().accepted.is_none());
}

async fn a_return_spends_the_state_once(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let visit = visited(&db, &asked, HASHES[0]).await;
    let response = consentry::vault::Sealed::from_bytes(b"sealed response".to_vec());
    assert!(db.store.park(visit.id, &response, after(300), NOW).await.unwrap());
    assert!(matches!(come_back(&db, &asked, &visit).await, Returned::Waits));
    assert!(matches!(come_back(&db, &asked, &visit).await, Returned::Lost));
    assert!(db.store.claim(owned(&asked), &visit, after(3)).await.unwrap().is_none());
    let back = db.store.attempt_now(&visit).await;
    assert_eq!(back.page.as_ref().unwrap().returned_at, Some(after(3)));
    assert!(
        back.parked.is_none() && back.expires_at == asked.expires_at,
        "it waits as long as the link works"
    );
    let last = asked.expires_at.minus(Duration::from_millis(1));
    assert!(back.is_waiting(last) && !back.is_waiting(asked.expires_at));
    assert_eq!(db.store.again(&asked).await.state(last), State::Authorizing);
}

async fn r71_a_return_that_does_not_fit_spends_nothing(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let visit = visited(&db, &asked, HASHES[0]).await;
    let mut other_state = visit.clone();
    other_state.state_hash = digest("another state");
    assert!(matches!(come_back(&db, &asked, &other_state).await, Returned::Lost));
    let mut bobs = asked.clone();
    bobs.owner = bob();
    assert!(matches!(come_back(&db, &bobs, &visit).await, Returned::Lost));
    let late = db.store.come_back(&owned(&asked), &visit, visit.expires_at).await.unwrap();
    assert!(matches!(late, Returned::Lost));
    let trip = db.store.given_attempt(&asked, NOW).await;
    assert!(matches!(come_back(&db, &asked, &trip).await, Returned::Lost), "no visit");
    assert!(matches!(come_back(&db, &asked, &visit).await, Returned::Waits));
}

async fn fail(db: &Database, asked: &Elicitation, reason: Option<&str>) -> Said {
    db.store.fail_visit(asked, &FailedAtPage::new(reason).unwrap(), after(2)).await.unwrap()
}

async fn a_failure_ends_it_with_its_signal(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    assert!(matches!(fail(&db, &asked, Some("declined")).await, Said::Nobody));
    let visit = visited(&db, &asked, HASHES[0]).await;
    assert!(matches!(fail(&db, &asked, Some("declined")).await, Said::Taken));
    let failed = db.store.again(&asked).await;
    assert_eq!((failed.stored, failed.reason.as_deref()), (State::Failed, Some("page_failed:declined")));
    assert_eq!(db.store.told(&files()).await, [(Kind::ElicitationFailed, Some(asked.id))]);
    assert!(matches!(fail(&db, &asked, Some("declined")).await, Said::Before));
    assert!(matches!(fail(&db, &asked, None).await, Said::Otherwise));
    assert!(matches!(accept(&db, &asked, "A-1").await, Said::Over));
    assert!(matches!(come_back(&db, &asked, &visit).await, Returned::Lost));
    assert_eq!(db.store.told(&files()).await.len(), 1);
    let other = db.store.given_elicitation(&asked_by("2")).await;
    visited(&db, &other, HASHES[1]).await;
    assert!(db.store.decline(&owned_open(&other), NOW).await.unwrap());
    assert!(matches!(fail(&db, &other, None).await, Said::Over));
}

async fn what_is_settled_is_settled_once(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let visit = visited(&db, &asked, HASHES[0]).await;
    assert!(matches!(accept(&db, &asked, "A-1").await, Said::Taken));
    let whole = both(come_back(&db, &asked, &visit).await);
    let settled = db.store.settle_visit(&whole, &deed(&whole), None, after(3)).await.unwrap();
    let Settled::Done { connection, completed } = settled else { panic!("{settled:?}") };
    assert_eq!(completed, [asked.id]);
    assert_eq!((connection.marks.kind(), connection.values.get("order")), ("redirect", Some("A-1")));
    assert_eq!(connection.account.label.as_deref(), Some("A-1"));
    let over = db.store.attempt_now(&visit).await;
    assert_eq!((over.state, over.outcome), (AttemptState::Settled, Some(Outcome::Connected)));
    assert_eq!(over.page.unwrap().returned_at, Some(after(3)));
    let told = [(Kind::ConnectionCreated, None), (Kind::ElicitationCompleted, Some(asked.id))];
    assert_eq!(db.store.told(&files()).await, told);
    assert!(matches!(accept(&db, &asked, "A-1").await, Said::Before));
    assert!(matches!(accept(&db, &asked, "A-2").await, Said::Otherwise));
    let again =
        db.store.settle_visit(&whole, &deed(&whole), Some((connection.id, 1)), after(3)).await.unwrap();
    assert!(matches!(again, Settled::ClosedMeanwhile), "{again:?}");

    // Ended meanwhile, by its browser's sign-out say: nothing is stored.
    let other = db.store.given_elicitation(&asked_by("2")).await;
    let visit = visited(&db, &other, HASHES[1]).await;
    assert!(matches!(accept(&db, &other, "A-2").await, Said::Taken));
    let whole = both(come_back(&db, &other, &visit).await);
    assert!(matches!(redeem(&db, &digest(HASHES[1])).await, Redemption::Twice(_)));
    let mut new = deed(&whole);
    new.generation = 2;
    let lost = db.store.settle_visit(&whole, &new, Some((connection.id, 1)), after(3)).await.unwrap();
    assert!(matches!(lost, Settled::Lost), "{lost:?}");
    assert_eq!(db.store.again(&other).await.state(after(3)), State::Pending);
    let kept = db.store.connection_for(&files(), &alice(), &github()).await.unwrap().unwrap();
    assert_eq!(kept.values.get("order"), Some("A-1"));
}
