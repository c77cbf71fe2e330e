//! Attempts: begun, parked, claimed, spent, offered.

use std::time::Duration;

use consentry::{
    elicitation::{AttemptId, AttemptState, Outcome, State},
    random::Random,
    vault::Sealed,
};

use super::given::*;
use crate::engine::Database;

contract! {
    a_trip_is_read_as_it_was_begun,
    nothing_is_begun_after_the_end,
    r59_a_state_is_spent_once,
    r71_nothing_is_claimed_that_does_not_fit,
    nothing_is_claimed_after_the_attempts_end,
    nothing_is_claimed_after_the_elicitations_end,
    the_first_response_alone_is_parked,
    spending_one_attempt_leaves_the_others,
    without_a_live_attempt_it_is_pending_again,
    a_claimed_attempt_keeps_its_minute_when_another_ends,
    a_claimed_attempt_whose_process_died_frees_the_link,
    an_offer_waits_sealed_and_dies_with_the_elicitation,
    an_answered_offer_is_replaced_once,
    nothing_is_offered_when_it_was_closed_meanwhile,
}

fn response() -> Sealed {
    Sealed::from_bytes(b"sealed response".to_vec())
}

async fn a_trip_is_read_as_it_was_begun(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let new = trip(NOW);
    assert!(db.store.begin(&owned_open(&asked), &new, NOW).await.unwrap());
    let read = db.store.attempt_by_state(&new.state_hash).await.unwrap().unwrap();
    assert_eq!((read.id, read.elicitation, read.browser), (new.id, asked.id, new.browser));
    assert_eq!((&read.server, &read.provider), (&asked.server, &asked.provider));
    assert_eq!((read.state_hash, read.binding_hash), (new.state_hash, new.binding_hash));
    assert_eq!((&read.expected_issuer, read.issuer_required), (&new.expected_issuer, new.issuer_required));
    assert_eq!(read.redirect_uri, new.redirect_uri);
    assert_eq!(read.scopes.to_text(), new.scopes.to_text());
    assert_eq!((read.state, read.created_at, read.expires_at), (AttemptState::Live, NOW, new.expires_at));
    assert!(read.outcome.is_none() && read.parked.is_none() && read.offer.is_none());
    let under_way = db.store.again(&asked).await;
    assert_eq!((under_way.state(NOW), under_way.attempt_until), (State::Authorizing, Some(new.expires_at)));
    assert!(db.store.attempt_by_state(&digest("unknown")).await.unwrap().is_none());
    let other = db.store.given_elicitation(&asked_by("other")).await;
    assert!(db.store.attempt(other.id, new.id).await.unwrap().is_none(), "an attempt is of one elicitation");
    assert!(db.store.attempt(asked.id, AttemptId(Random.row_id(NOW))).await.unwrap().is_none());
}

async fn nothing_is_begun_after_the_end(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let mine = owned_open(&asked);
    let late = trip(asked.expires_at);
    assert!(!db.store.begin(&mine, &late, asked.expires_at).await.unwrap());
    assert!(db.store.attempt_by_state(&late.state_hash).await.unwrap().is_none());
    assert!(db.store.decline(&mine, NOW).await.unwrap());
    let new = trip(NOW);
    assert!(!db.store.begin(&mine, &new, NOW).await.unwrap());
    assert!(db.store.attempt_by_state(&new.state_hash).await.unwrap().is_none());
    assert_eq!(db.store.again(&asked).await.stored, State::Declined);
}

async fn r59_a_state_is_spent_once(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let attempt = db.store.given_attempt(&asked, NOW).await;
    assert!(db.store.park(attempt.id, &response(), after(300), NOW).await.unwrap());
    let claimed = db.store.claim(owned(&asked), &attempt, after(1)).await.unwrap().unwrap();
    assert_eq!(claimed.attempt.verifier.unwrap().as_bytes(), b"sealed verifier");
    assert_eq!((claimed.attempt.id, claimed.attempt.state), (attempt.id, AttemptState::Claimed));
    assert_eq!(claimed.attempt.claimed_at, Some(after(1)));
    assert!(claimed.attempt.parked.is_none(), "parking is deleted on the claim");
    assert!(db.store.claim(owned(&asked), &attempt, after(1)).await.unwrap().is_none());
    assert_eq!(db.store.again(&asked).await.state(after(60)), State::Authorizing);
}

async fn r71_nothing_is_claimed_that_does_not_fit(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let attempt = db.store.given_attempt(&asked, NOW).await;
    let mut other_state = attempt.clone();
    other_state.state_hash = digest("another state");
    assert!(db.store.claim(owned(&asked), &other_state, NOW).await.unwrap().is_none());
    let mut bobs = asked.clone();
    bobs.owner = bob();
    assert!(db.store.claim(owned(&bobs), &attempt, NOW).await.unwrap().is_none());
    assert!(db.store.attempt_now(&attempt).await.is_live(NOW), "nothing was spent");
    assert!(db.store.claim(owned(&asked), &attempt, NOW).await.unwrap().is_some());
}

async fn nothing_is_claimed_after_the_attempts_end(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let attempt = db.store.given_attempt(&asked, NOW).await;
    assert!(db.store.claim(owned(&asked), &attempt, attempt.expires_at).await.unwrap().is_none());
    let last = attempt.expires_at.minus(Duration::from_millis(1));
    assert!(db.store.claim(owned(&asked), &attempt, last).await.unwrap().is_some());
}

async fn nothing_is_claimed_after_the_elicitations_end(db: Database) {
    let expired = db.store.given_elicitation(&asked_by("1")).await;
    let mut outlives = trip(NOW);
    outlives.expires_at = expired.expires_at.plus(LIFE);
    assert!(db.store.begin(&owned_open(&expired), &outlives, NOW).await.unwrap());
    let attempt = db.store.attempt(expired.id, outlives.id).await.unwrap().unwrap();
    assert!(db.store.claim(owned(&expired), &attempt, expired.expires_at).await.unwrap().is_none());

    let closed = db.store.given_elicitation(&asked_by("2")).await;
    let attempt = db.store.given_attempt(&closed, NOW).await;
    assert!(db.store.close(&closed, State::Cancelled, "cancelled_by_server", NOW).await.unwrap());
    assert!(db.store.claim(owned(&closed), &attempt, NOW).await.unwrap().is_none());
}

async fn the_first_response_alone_is_parked(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let attempt = db.store.given_attempt(&asked, NOW).await;
    let later = Sealed::from_bytes(b"a later one".to_vec());
    assert!(db.store.park(attempt.id, &response(), after(300), NOW).await.unwrap());
    assert!(!db.store.park(attempt.id, &later, after(300), after(1)).await.unwrap());
    let parked = db.store.attempt_now(&attempt).await;
    assert_eq!(parked.parked.unwrap().as_bytes(), response().as_bytes());
    assert_eq!(parked.parked_until, Some(after(300)));
    assert!(db.store.park(attempt.id, &later, after(500), after(300)).await.unwrap(), "the first ran out");
    assert!(!db.store.park(attempt.id, &later, after(900), attempt.expires_at).await.unwrap());
    let claimed = db.store.given_claimed(&asked, NOW).await.attempt;
    assert!(!db.store.park(claimed.id, &response(), after(300), NOW).await.unwrap());
}

async fn spending_one_attempt_leaves_the_others(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let first = db.store.given_attempt(&asked, NOW).await;
    let second = db.store.given_claimed(&asked, after(5)).await.attempt;
    let denied = (AttemptState::Claimed, Outcome::Denied);
    assert!(!db.store.spend(&first, denied.0, denied.1, None, NOW).await.unwrap(), "it is not claimed");
    assert_eq!(db.store.last_trip(asked.id).await.unwrap(), None);
    assert!(db.store.spend(&second, denied.0, denied.1, Some("access_denied"), after(6)).await.unwrap());
    let ended = db.store.last_trip(asked.id).await.unwrap().unwrap();
    assert_eq!((ended.attempt, ended.outcome), (second.id, Outcome::Denied));
    assert_eq!(ended.detail.as_deref(), Some("access_denied"));
    assert!(!db.store.spend(&second, denied.0, Outcome::Unreachable, None, after(6)).await.unwrap());
    let spent = db.store.attempt_now(&second).await;
    assert_eq!((spent.state, spent.outcome), (AttemptState::Settled, Some(Outcome::Denied)));
    assert_eq!(spent.detail.as_deref(), Some("access_denied"));
    assert!(db.store.attempt_now(&first).await.is_live(after(6)));
    let asked = db.store.again(&asked).await;
    assert_eq!((asked.state(after(6)), asked.attempt_until), (State::Authorizing, Some(first.expires_at)));
    assert!(db.store.told(&files()).await.is_empty(), "a provider's no ends no elicitation");
}

async fn without_a_live_attempt_it_is_pending_again(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await.attempt;
    assert!(db.store.spend(&claimed, AttemptState::Claimed, Outcome::Denied, None, after(1)).await.unwrap());
    assert_eq!(db.store.again(&asked).await.state(after(1)), State::Pending);
    db.store.given_attempt(&asked, after(2)).await;
    assert_eq!(db.store.again(&asked).await.state(after(2)), State::Authorizing, "the same link works");
    assert_eq!(db.store.again(&asked).await.state(after(2).plus(ATTEMPT_LIFE)), State::Pending);
}

/// Claimed in its last second, it may take a minute, whatever becomes of the other tab.
async fn a_claimed_attempt_keeps_its_minute_when_another_ends(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let other = db.store.given_attempt(&asked, NOW).await;
    let attempt = db.store.given_attempt(&asked, NOW).await;
    let last = attempt.expires_at.minus(Duration::from_secs(1));
    assert!(db.store.claim(owned(&asked), &attempt, last).await.unwrap().is_some());
    assert!(db.store.claim(owned(&asked), &other, last).await.unwrap().is_some());
    let later = last.plus(Duration::from_secs(2));
    assert!(db.store.spend(&other, AttemptState::Claimed, Outcome::Denied, None, later).await.unwrap());
    let asked = db.store.again(&asked).await;
    assert_eq!(asked.state(later), State::Authorizing);
    assert_eq!(asked.state(last.plus(Duration::from_secs(60))), State::Pending);
}

/// `authorizing` means a live attempt: the claim's minute counts, not what the attempt had left.
async fn a_claimed_attempt_whose_process_died_frees_the_link(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    db.store.given_claimed(&asked, NOW).await;
    let asked = db.store.again(&asked).await;
    assert_eq!(asked.state(after(59)), State::Authorizing);
    assert_eq!(asked.state(after(60)), State::Pending);
}

async fn an_offer_waits_sealed_and_dies_with_the_elicitation(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let offer = Sealed::from_bytes(b"sealed offer".to_vec());
    assert!(db.store.offer(&claimed.attempt, &offer, NOW).await.unwrap());
    assert!(!db.store.offer(&claimed.attempt, &offer, NOW).await.unwrap());
    let offered = db.store.attempt_now(&claimed.attempt).await;
    assert_eq!(offered.state, AttemptState::Offered);
    assert_eq!(offered.offer.unwrap().as_bytes(), offer.as_bytes());
    assert!(db.store.connection_for(&files(), &alice(), &github()).await.unwrap().is_none());
    assert_eq!(db.store.again(&asked).await.state(NOW), State::Pending);
    assert!(db.store.close(&asked, State::Cancelled, "cancelled_by_server", NOW).await.unwrap());
    let over = db.store.attempt_now(&claimed.attempt).await;
    assert!(over.offer.is_none());
    assert_eq!(over.outcome, Some(Outcome::ClosedMeanwhile));
}

/// A second question follows the first: only over the offer that was answered, and while the link can be used.
async fn an_answered_offer_is_replaced_once(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let [first, second, third] = ["first", "second", "third"].map(|text| Sealed::from_bytes(text.into()));
    assert!(!db.store.offer_again(&claimed.attempt, &second, NOW).await.unwrap());
    assert!(db.store.offer(&claimed.attempt, &first, NOW).await.unwrap());
    let offered = db.store.attempt_now(&claimed.attempt).await;
    assert!(!db.store.offer_again(&offered, &second, asked.expires_at).await.unwrap());
    assert!(db.store.offer_again(&offered, &second, NOW).await.unwrap());
    // Another answer to the first question comes too late.
    assert!(!db.store.offer_again(&offered, &third, NOW).await.unwrap());
    let again = db.store.attempt_now(&claimed.attempt).await;
    assert_eq!((again.state, again.offer.unwrap().as_bytes()), (AttemptState::Offered, second.as_bytes()));
}

async fn nothing_is_offered_when_it_was_closed_meanwhile(db: Database) {
    let asked = db.store.given_elicitation(&asked()).await;
    let claimed = db.store.given_claimed(&asked, NOW).await;
    let offer = Sealed::from_bytes(b"sealed offer".to_vec());
    assert!(!db.store.offer(&claimed.attempt, &offer, asked.expires_at).await.unwrap());
    assert!(db.store.decline(&owned_open(&asked), NOW).await.unwrap());
    assert!(!db.store.offer(&claimed.attempt, &offer, NOW).await.unwrap());
    assert!(db.store.attempt_now(&claimed.attempt).await.offer.is_none());
}
