//! What a failed refresh means for the connection: the failure table, pure and total.
//!
//! Only the provider's clear word that the grant is dead ends a connection. What it must never do: end one for anything
//! else, or leave one without a next try.

use std::time::Duration;

use crate::{
    clock::Millis,
    provider::{Class, Failure},
};

/// The provider has said that the grant is dead.
pub const REFUSED: &str = "refused_by_provider";
/// The provider does not take the refresh token, and an earlier request's outcome was lost: most likely it has given
/// another one that never arrived.
pub const ROTATION_LOST: &str = "rotation_lost";
/// The provider answered for another account.
pub const ACCOUNT_MISMATCH: &str = "account_mismatch";
/// The time for which the refresh token lives is over.
pub const REFRESH_EXPIRED: &str = "refresh_expired";
/// The time for which the person consented is over.
pub const CONSENT_EXPIRED: &str = "consent_expired";

/// The token was refused again after it was made anew, or could not be made anew.
pub const UNAUTHORIZED: &str = "unauthorized";

/// Every reason for which a connection needs its person, but for a changed provider.
pub const REASONS: [&str; 6] =
    [REFUSED, ROTATION_LOST, ACCOUNT_MISMATCH, REFRESH_EXPIRED, CONSENT_EXPIRED, UNAUTHORIZED];

/// The first back-off, and what every later one grows from.
const BASE: Duration = Duration::from_secs(1);
/// After an answer that no token endpoint should give.
const AFTER_NONSENSE: Duration = Duration::from_secs(5);

/// So many failures in a row there may have been for a refusal to be doubted: the lost answer, and one refusal.
const DOUBTS: i64 = 2;

/// What follows from a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The connection needs the person, for this reason.
    End(&'static str),
    /// Everything is kept.
    Later {
        /// Why, as a stable code.
        code: &'static str,
        /// How long from now; not at all where the provider as a whole is paused.
        after: Option<Duration>,
        /// The request may have been acted on.
        keep_intent: bool,
        /// So soon that whoever waits goes on waiting.
        soon: bool,
    },
}

/// What is known when a failure is judged.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// An earlier request's outcome was never stored.
    pub recovering: bool,
    /// The provider still takes the token that was sent then.
    pub reusable: bool,
    /// Failures since the last success, before this one.
    pub failures: i64,
    /// Every back-off lets a try through after this long.
    pub trial: Duration,
    /// Chance, from 0 to 1,000.
    pub roll: u64,
}

/// Judges. Total: every failure has a verdict.
pub fn judge(failure: &Failure, circumstances: Circumstances) -> Verdict {
    let Circumstances { recovering, reusable, failures, trial, .. } = circumstances;
    let first = failures == 0;
    let back_off = || back_off(circumstances);
    // A gateway may have lost the answer of a server that did its work.
    let lost_behind_a_gateway = matches!(failure.status, Some(502 | 504));
    let (after, keep_intent, soon) = match failure.class {
        // Said of a token that should still be good: once more, and then it is believed.
        Class::Terminal if recovering && reusable && failures < DOUBTS => {
            (Some(AFTER_NONSENSE.min(trial)), true, true)
        }
        Class::Terminal if recovering => return Verdict::End(ROTATION_LOST),
        Class::Terminal => return Verdict::End(REFUSED),
        // The provider's own pause lets one of all connections through at a time.
        Class::Operator => (None, false, false),
        Class::Configuration | Class::Policy => (Some(trial), false, false),
        Class::Transient => {
            let asked = failure.retry_after.map(|wait| wait.max(BASE));
            (Some(asked.unwrap_or_else(back_off)), lost_behind_a_gateway, false)
        }
        Class::Suspicious if first => (Some(AFTER_NONSENSE.min(trial)), true, true),
        Class::Suspicious => (Some(back_off().max(AFTER_NONSENSE.min(trial))), true, false),
        Class::NotSent => (Some(if first { BASE.min(trial) } else { back_off() }), false, first),
        Class::Ambiguous => (Some(if first { BASE.min(trial) } else { back_off() }), true, first),
    };
    let keep_intent = keep_intent || recovering;
    Verdict::Later { code: failure.class.as_str(), after, keep_intent, soon }
}

/// Full jitter over a doubling span, never beyond the trial.
fn back_off(Circumstances { failures, trial, roll, .. }: Circumstances) -> Duration {
    let doublings = u32::try_from(failures.clamp(0, 16)).unwrap_or(0);
    let span = (BASE * 2_u32.saturating_pow(doublings)).min(trial);
    let floor = (BASE / 4).min(trial);
    let roll = u32::try_from(roll.min(1000)).unwrap_or(1000);
    (span * roll / 1000).max(floor)
}

/// Whether the wait is over.
pub(super) fn is_due(next_attempt_at: Option<Millis>, now: Millis) -> bool {
    next_attempt_at.is_none_or(|at| at <= now)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TRIAL: Duration = Duration::from_secs(30);

    fn failure(class: Class) -> Failure {
        Failure { class, code: None, status: None, retry_after: None, what: "x", spot: Box::default() }
    }

    fn circumstances(recovering: bool, failures: i64, roll: u64) -> Circumstances {
        Circumstances { recovering, reusable: false, failures, trial: TRIAL, roll }
    }

    /// R77, R80: the same word means another thing when an answer was lost before.
    #[test]
    fn r80_only_a_refusal_ends_and_a_lost_rotation_is_said() {
        let refused = failure(Class::Terminal);
        assert_eq!(judge(&refused, circumstances(false, 3, 0)), Verdict::End(REFUSED));
        assert_eq!(judge(&refused, circumstances(true, 0, 0)), Verdict::End(ROTATION_LOST));
    }

    /// R80: where the former token is still good, one refusal after a lost answer is asked about again.
    #[test]
    fn r80_a_grace_is_one_more_try() {
        let refused = failure(Class::Terminal);
        let judged = |recovering, failures| {
            judge(&refused, Circumstances { reusable: true, ..circumstances(recovering, failures, 0) })
        };
        assert!(matches!(judged(true, 1), Verdict::Later { keep_intent: true, soon: true, .. }));
        assert_eq!(judged(true, 2), Verdict::End(ROTATION_LOST));
        assert_eq!(judged(false, 0), Verdict::End(REFUSED), "nothing was lost");
    }

    #[test]
    fn what_may_have_been_acted_on_leaves_its_mark() {
        let keeps = |failure: &Failure, recovering| match judge(failure, circumstances(recovering, 0, 500)) {
            Verdict::Later { keep_intent, .. } => keep_intent,
            Verdict::End(_) => panic!("it ends"),
        };
        for class in Class::ALL.into_iter().filter(|class| *class != Class::Terminal) {
            let unknown = matches!(class, Class::Suspicious | Class::Ambiguous);
            assert_eq!(keeps(&failure(class), false), unknown, "{class:?}");
            assert!(keeps(&failure(class), true), "{class:?}: an older mark stays");
        }
        for (status, unknown) in [(500, false), (502, true), (503, false), (504, true)] {
            let failure = Failure { status: Some(status), ..failure(Class::Transient) };
            assert_eq!(keeps(&failure, false), unknown, "{status}");
        }
    }

    /// R87, F18: beyond the trial too, for it is the provider's own word; [`Failure`] bounds it to an hour.
    #[test]
    fn r87_a_wish_to_wait_is_heeded_within_bounds() {
        for (asked, heeded) in [(0, 1), (1, 1), (7, 7), (30, 30), (3600, 3600)] {
            let failure =
                Failure { retry_after: Some(Duration::from_secs(asked)), ..failure(Class::Transient) };
            let Verdict::Later { after, .. } = judge(&failure, circumstances(false, 9, 0)) else { panic!() };
            assert_eq!(after, Some(Duration::from_secs(heeded)), "{asked}");
        }
    }

    proptest! {
        /// R77: nothing but a refusal ends a connection, and every back-off lets a try through in time.
        #[test]
        fn r77_every_failure_but_a_refusal_is_tried_again(
            class in 0..8_usize, status: Option<u16>, recovering: bool, failures: i64, roll: u64, wait: Option<u32>, trial in 1..3600_u64,
        ) {
            let failure = Failure {
                status,
                retry_after: wait.map(|wait| Duration::from_secs(wait.into())),
                ..failure(Class::ALL[class])
            };
            let trial = Duration::from_secs(trial);
            match judge(&failure, Circumstances { recovering, reusable: false, failures, trial, roll }) {
                Verdict::End(_) => prop_assert_eq!(failure.class, Class::Terminal),
                Verdict::Later { after, code, .. } => {
                    prop_assert_ne!(failure.class, Class::Terminal);
                    prop_assert_eq!(after.is_none(), failure.class == Class::Operator);
                    prop_assert!(after.is_none_or(|after| (after <= trial || wait.is_some()) && after > Duration::ZERO), "{:?} {}", after, code);
                }
            }
        }
    }
}
