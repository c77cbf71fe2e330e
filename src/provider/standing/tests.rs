//! Pauses, step by step and at random.

use proptest::prelude::*;

use super::*;

const TRIAL: Duration = Duration::from_secs(30);
const NOW: Millis = Millis(1_764_417_600_000);

fn failure(class: Class) -> Failure {
    Failure { class, code: None, status: None, retry_after: None, what: "x", spot: Box::default() }
}

fn wait(seconds: u64) -> Failure {
    Failure { retry_after: Some(Duration::from_secs(seconds)), ..failure(Class::Transient) }
}

/// The longest that jitter can make of it.
fn most(bound: u64) -> u64 {
    bound.saturating_sub(1)
}

fn failing() -> Standing {
    let mut standing = Standing::new(TRIAL);
    for n in 1..=TOO_MANY {
        let change = standing.note(Some(&failure(Class::NotSent)), Leave::Free, NOW, most);
        assert_eq!(change.is_some(), n == TOO_MANY);
    }
    standing
}

/// F14: what fails in a row is left alone, longer each time, and one trial is out at a time.
#[test]
fn r87_a_failing_provider_is_left_alone_and_tried() {
    let mut standing = failing();
    let (mut now, mut last) = (NOW, Duration::ZERO);
    for _ in 0..8 {
        let paused = standing.leave(Errand::Refresh, now).unwrap_err();
        assert_eq!(paused.why, Why::Failing);
        let pause = now.until(paused.until);
        assert!(pause >= last && pause <= TRIAL, "{pause:?}");
        last = pause;
        now = paused.until;
        assert_eq!(standing.leave(Errand::Refresh, now), Ok(Leave::Trial));
        assert!(standing.leave(Errand::Refresh, now).is_err(), "one trial at a time");
        assert_eq!(standing.note(Some(&failure(Class::Ambiguous)), Leave::Trial, now, most), None);
    }
    assert_eq!(last, TRIAL);
    now = now.plus(TRIAL);
    assert_eq!(standing.leave(Errand::Refresh, now), Ok(Leave::Trial));
    assert_eq!(standing.note(None, Leave::Trial, now, most), Some(Change::Resumed(Why::Failing)));
    assert_eq!(standing.leave(Errand::Refresh, now), Ok(Leave::Free));
}

#[test]
fn a_trial_that_is_not_made_leaves_room_for_another() {
    let mut standing = failing();
    let now = NOW.plus(TRIAL);
    assert_eq!(standing.leave(Errand::Refresh, now), Ok(Leave::Trial));
    standing.hand_back();
    assert_eq!(standing.leave(Errand::Refresh, now), Ok(Leave::Trial));
}

#[test]
fn failures_that_are_not_in_a_row_pause_nothing() {
    let mut standing = Standing::new(TRIAL);
    for _ in 0..20 {
        for _ in 1..TOO_MANY {
            assert_eq!(standing.note(Some(&failure(Class::Transient)), Leave::Free, NOW, most), None);
        }
        assert_eq!(standing.note(Some(&failure(Class::Terminal)), Leave::Free, NOW, most), None);
    }
    assert_eq!(standing.leave(Errand::Refresh, NOW), Ok(Leave::Free));
}

/// F18: the provider's own time is kept, within a second and an hour; nothing is tried before.
#[test]
fn r87_retry_after_is_kept_and_clamped() {
    for (asked, kept) in [(0, 1), (7, 7), (3_600, 3_600), (1_000_000_000, 3_600)] {
        let mut standing = Standing::new(TRIAL);
        let until = NOW.plus(Duration::from_secs(kept));
        let change = standing.note(Some(&wait(asked)), Leave::Free, NOW, most);
        assert_eq!(change, Some(Change::Paused(Paused { until, why: Why::Asked })));
        // Others were under way: neither their success nor their failure shortens it.
        assert_eq!(standing.note(None, Leave::Free, NOW, most), None);
        assert_eq!(standing.note(Some(&wait(0)), Leave::Free, NOW, most), None);
        assert!(standing.leave(Errand::Refresh, until.minus(Duration::from_millis(1))).is_err());
        assert!(standing.leave(Errand::Revocation, until.minus(Duration::from_millis(1))).is_err());
        assert_eq!(standing.leave(Errand::Refresh, until), Ok(Leave::Trial), "{asked}");
        assert_eq!(standing.note(None, Leave::Trial, until, most), Some(Change::Resumed(Why::Asked)));
    }
}

/// F23: told once, tried every half minute, and over with the first success, a person's included.
#[test]
fn r77_a_refused_client_pauses_the_provider() {
    let mut standing = Standing::new(TRIAL);
    let refused = failure(Class::Operator);
    let until = NOW.plus(TRIAL);
    let begun = Change::Paused(Paused { until, why: Why::ClientRefused });
    assert_eq!(standing.note(Some(&refused), Leave::Free, NOW, most), Some(begun));
    // Fifteen more were under way.
    for _ in 0..15 {
        assert_eq!(standing.note(Some(&refused), Leave::Free, NOW, most), None);
    }
    let mut now = NOW;
    for _ in 0..10 {
        assert!(standing.leave(Errand::Refresh, now).is_err());
        assert_eq!(standing.leave(Errand::Revocation, now), Ok(Leave::Free));
        now = now.plus(TRIAL);
        assert_eq!(standing.leave(Errand::Refresh, now), Ok(Leave::Trial));
        assert_eq!(standing.note(Some(&refused), Leave::Trial, now, most), None);
    }
    assert_eq!(standing.worked(), Some(Change::Resumed(Why::ClientRefused)));
    assert_eq!(standing.leave(Errand::Refresh, now), Ok(Leave::Free));
}

#[test]
fn a_refusal_of_the_request_says_nothing_of_the_client() {
    let mut standing = Standing::new(TRIAL);
    standing.note(Some(&failure(Class::Operator)), Leave::Free, NOW, most);
    let now = NOW.plus(TRIAL);
    assert_eq!(standing.leave(Errand::Refresh, now), Ok(Leave::Trial));
    assert_eq!(standing.note(Some(&failure(Class::Configuration)), Leave::Trial, now, most), None);
    assert_eq!(standing.leave(Errand::Refresh, now).unwrap_err().until, now.plus(TRIAL));
}

/// F47.
#[test]
fn a_clock_that_is_set_back_stretches_no_pause() {
    let mut standing = failing();
    let earlier = NOW.minus(Duration::from_secs(86_400));
    assert!(standing.leave(Errand::Refresh, earlier).is_err());
    assert_eq!(standing.leave(Errand::Refresh, earlier.plus(TRIAL)), Ok(Leave::Trial));
}

fn classes() -> impl Strategy<Value = Class> {
    proptest::sample::select(vec![
        Class::Terminal,
        Class::Operator,
        Class::Configuration,
        Class::Transient,
        Class::Suspicious,
        Class::NotSent,
        Class::Ambiguous,
        Class::Policy,
    ])
}

proptest! {
    /// Whatever happened: without a `Retry-After`, a trial goes out within `trial`, and one at a time.
    #[test]
    fn r77_every_pause_lets_a_trial_through(
        results in proptest::collection::vec((proptest::option::of(classes()), 0_u64..40_000, any::<bool>()), 1..200),
        trial in 1_u64..600,
        chance: u64,
    ) {
        let trial = Duration::from_secs(trial);
        let mut standing = Standing::new(trial);
        let mut now = NOW;
        for (class, pause, hands_back) in results {
            now = now.plus(Duration::from_millis(pause));
            let leave = match standing.leave(Errand::Refresh, now) {
                Ok(leave) => leave,
                Err(paused) => {
                    prop_assert!(paused.until > now && paused.until <= now.plus(trial.max(BASE)));
                    now = paused.until;
                    let leave = standing.leave(Errand::Refresh, now);
                    prop_assert_eq!(leave, Ok(Leave::Trial));
                    prop_assert!(standing.leave(Errand::Refresh, now).is_err());
                    Leave::Trial
                }
            };
            if hands_back && leave == Leave::Trial {
                standing.hand_back();
            } else {
                standing.note(class.map(failure).as_ref(), leave, now, |bound| chance % bound.max(1));
            }
        }
    }
}
