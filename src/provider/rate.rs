//! How many requests a provider gets in a second, counted exactly.
//!
//! Remembered are the moments at which the last ones were sent, as many as a second may hold, and how many may be sent
//! any moment: another permit is given when the oldest moment is a second old. Thus no window of a second, wherever it
//! begins, ever holds more (R87), however long a permit was held before it was used; and somebody who asks after a quiet
//! second does not wait. Pure: no clock, no lock.

use std::{collections::VecDeque, time::Duration};

use crate::clock::Millis;

/// A second, and what requests may differ in on their way to the provider.
pub(super) const WINDOW: Duration = Duration::from_millis(1_050);

/// The requests of the last second.
#[derive(Debug)]
pub(super) struct Rate {
    per_second: usize,
    /// Permits that are neither used nor given back.
    held: usize,
    /// In order; never more than `per_second`.
    sent: VecDeque<Millis>,
}

impl Rate {
    /// So many a second; at least one.
    pub(super) fn new(per_second: u32) -> Self {
        let per_second = usize::try_from(per_second).unwrap_or(usize::MAX).max(1);
        Self { per_second, held: 0, sent: VecDeque::new() }
    }

    /// Gives a permit, to be [used](Self::used) or [given back](Self::give_back).
    ///
    /// # Errors
    /// The moment at which to ask again; none when it depends on those that hold permits.
    pub(super) fn take(&mut self, now: Millis) -> Result<(), Option<Millis>> {
        // A clock that was set back: what was sent then counts as sent now, so that nobody waits for the past.
        for sent in &mut self.sent {
            *sent = (*sent).min(now);
        }
        while self.sent.front().is_some_and(|oldest| oldest.plus(WINDOW) <= now) {
            self.sent.pop_front();
        }
        if self.sent.len().saturating_add(self.held) >= self.per_second {
            return Err(self.sent.front().map(|oldest| oldest.plus(WINDOW)));
        }
        self.held += 1;
        Ok(())
    }

    /// A permit is used at `now`.
    pub(super) fn used(&mut self, now: Millis) {
        self.give_back();
        self.sent.push_back(now);
    }

    /// A permit is not needed.
    pub(super) fn give_back(&mut self) {
        self.held = self.held.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_second_holds_so_many_and_no_more() {
        let mut rate = Rate::new(2);
        for at in [0, 900] {
            assert_eq!(rate.take(Millis(at)), Ok(()));
            rate.used(Millis(at));
        }
        assert_eq!(rate.take(Millis(999)), Err(Some(Millis(1_050))));
        assert_eq!(rate.take(Millis(1_050)), Ok(()));
        assert_eq!(rate.take(Millis(1_050)), Err(Some(Millis(1_950))));
        rate.give_back();
        assert_eq!(rate.take(Millis(1_051)), Ok(()));
    }

    /// A permit that was held for long counts from when it was used.
    #[test]
    fn a_permit_that_is_held_counts_until_it_is_used_and_a_second_longer() {
        let mut rate = Rate::new(1);
        assert_eq!(rate.take(Millis(0)), Ok(()));
        assert_eq!(rate.take(Millis(60_000)), Err(None));
        rate.used(Millis(60_000));
        assert_eq!(rate.take(Millis(60_001)), Err(Some(Millis(61_050))));
    }

    #[test]
    fn a_clock_that_is_set_back_costs_a_second_at_most() {
        let mut rate = Rate::new(1);
        assert_eq!(rate.take(Millis(7_200_000)), Ok(()));
        rate.used(Millis(7_200_000));
        assert_eq!(rate.take(Millis(3_600_000)), Err(Some(Millis(3_601_050))));
        assert_eq!(rate.take(Millis(3_601_050)), Ok(()));
    }

    proptest! {
        /// R87: in no window of a second is more sent than the budget, whatever is asked, waited for, held for a while
        /// and given back.
        #[test]
        fn r87_no_window_holds_more_than_the_budget(
            per_second in 1_u32..40,
            steps in proptest::collection::vec((0_i64..400, 0_u8..10), 1..400),
        ) {
            let mut rate = Rate::new(per_second);
            let (mut now, mut held, mut sent) = (Millis(0), 0, Vec::new());
            for (pause, choice) in steps {
                now = Millis(now.0 + pause);
                match choice {
                    0 if held > 0 => {
                        rate.give_back();
                        held -= 1;
                    }
                    1..=4 if held > 0 => {
                        rate.used(now);
                        held -= 1;
                        sent.push(now.0);
                    }
                    _ => match rate.take(now) {
                        Ok(()) => held += 1,
                        Err(None) => prop_assert_eq!(held, per_second),
                        Err(Some(at)) => {
                            prop_assert!(at > now && at <= now.plus(WINDOW));
                            now = at;
                            prop_assert_eq!(rate.take(now), Ok(()));
                            held += 1;
                        }
                    },
                }
            }
            for window in sent.windows(per_second as usize + 1) {
                prop_assert!(window[per_second as usize] - window[0] >= 1_000, "{window:?}");
            }
        }

        #[test]
        fn no_moment_overflows(moments in proptest::collection::vec(any::<i64>(), 1..50), per_second: u32) {
            let mut rate = Rate::new(per_second);
            for moment in moments {
                let _ = rate.take(Millis(moment));
                rate.used(Millis(moment));
            }
        }
    }
}
