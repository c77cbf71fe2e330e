//! How many requests a provider gets in a second, counted exactly.
//!
//! Remembered are the moments of the last permits, as many as a second may hold: another one is given when the oldest
//! of them is a second old. Thus no window of a second, wherever it begins, ever holds more (R87), and somebody who asks
//! after a quiet second does not wait. Pure: no clock, no lock.

use std::{collections::VecDeque, time::Duration};

use crate::clock::Millis;

const SECOND: Duration = Duration::from_secs(1);

/// The permits of the last second.
#[derive(Debug)]
pub(super) struct Rate {
    per_second: usize,
    /// In order; never more than `per_second`.
    given: VecDeque<Millis>,
}

impl Rate {
    /// So many a second; at least one.
    pub(super) fn new(per_second: u32) -> Self {
        Self { per_second: usize::try_from(per_second).unwrap_or(usize::MAX).max(1), given: VecDeque::new() }
    }

    /// Gives one at `now`.
    ///
    /// # Errors
    /// The moment at which to ask again.
    pub(super) fn take(&mut self, now: Millis) -> Result<(), Millis> {
        // A clock that was set back: what was given then counts as given now, so that nobody waits for the past.
        for given in &mut self.given {
            *given = (*given).min(now);
        }
        while self.given.front().is_some_and(|oldest| oldest.plus(SECOND) <= now) {
            self.given.pop_front();
        }
        match self.given.front() {
            Some(oldest) if self.given.len() >= self.per_second => Err(oldest.plus(SECOND)),
            _ => {
                self.given.push_back(now);
                Ok(())
            }
        }
    }

    /// Takes back one that was given at `at` and not used.
    pub(super) fn give_back(&mut self, at: Millis) {
        if let Some(index) = self.given.iter().position(|given| *given == at) {
            self.given.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_second_holds_so_many_and_no_more() {
        let mut rate = Rate::new(2);
        assert_eq!(rate.take(Millis(0)), Ok(()));
        assert_eq!(rate.take(Millis(900)), Ok(()));
        assert_eq!(rate.take(Millis(999)), Err(Millis(1000)));
        assert_eq!(rate.take(Millis(1000)), Ok(()));
        assert_eq!(rate.take(Millis(1000)), Err(Millis(1900)));
        rate.give_back(Millis(1000));
        assert_eq!(rate.take(Millis(1001)), Ok(()));
    }

    #[test]
    fn a_clock_that_is_set_back_costs_a_second_at_most() {
        let mut rate = Rate::new(1);
        assert_eq!(rate.take(Millis(7_200_000)), Ok(()));
        assert_eq!(rate.take(Millis(3_600_000)), Err(Millis(3_601_000)));
        assert_eq!(rate.take(Millis(3_601_000)), Ok(()));
    }

    proptest! {
        /// R87: in no window of a second is more used than the budget, whatever is asked, waited for and given back.
        #[test]
        fn r87_no_window_holds_more_than_the_budget(
            per_second in 1_u32..40,
            steps in proptest::collection::vec((0_i64..400, 0_u8..10), 1..400),
        ) {
            let mut rate = Rate::new(per_second);
            let (mut now, mut used) = (Millis(0), Vec::new());
            for (pause, chance) in steps {
                now = Millis(now.0 + pause);
                match rate.take(now) {
                    Ok(()) if chance == 0 => rate.give_back(now),
                    Ok(()) => used.push(now.0),
                    Err(at) => {
                        prop_assert!(at > now && at <= now.plus(SECOND));
                        if chance > 5 {
                            now = at;
                            prop_assert_eq!(rate.take(now), Ok(()));
                            used.push(now.0);
                        }
                    }
                }
            }
            for window in used.windows(per_second as usize + 1) {
                prop_assert!(window[per_second as usize] - window[0] >= 1000, "{window:?}");
            }
        }

        #[test]
        fn no_moment_overflows(moments in proptest::collection::vec(any::<i64>(), 1..50), per_second: u32) {
            let mut rate = Rate::new(per_second);
            for moment in moments {
                let _ = rate.take(Millis(moment));
                rate.give_back(Millis(moment));
            }
        }
    }
}
