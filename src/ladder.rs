//! When what was queued for somebody else is tried again: soon at first, for somebody may be waiting, then ever more
//! seldom, and in the end not any more.

use std::time::Duration;

use crate::random::Random;

/// The pauses before the second to the fifth try.
const FIRST: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(15), Duration::from_mins(1)];
/// The pause after these; each further one is twice as long.
const THEN: Duration = Duration::from_mins(5);
/// No pause is longer.
const LONGEST: Duration = Duration::from_hours(24);
/// Tries of one thing. The pauses between so many are three days together even when each is a fifth shorter.
pub const TRIES_MAX: i64 = 16;

/// The pause after so many tries that failed, before jitter; none when there is no further one.
fn step(tries: i64) -> Option<Duration> {
    if tries >= TRIES_MAX {
        return None;
    }
    let Some(beyond) = usize::try_from(tries).unwrap_or(0).checked_sub(FIRST.len() + 1) else {
        let index = usize::try_from(tries.saturating_sub(1)).ok();
        return Some(index.and_then(|index| FIRST.get(index)).copied().unwrap_or_default());
    };
    let doubled = u32::try_from(beyond).ok().and_then(|beyond| 2_u32.checked_pow(beyond));
    Some(doubled.and_then(|factor| THEN.checked_mul(factor)).unwrap_or(LONGEST).min(LONGEST))
}

/// How long to wait after so many tries that failed; none when it is given up. A fifth shorter or longer, so that what
/// failed together does not come back together, and never shorter than the other side asks for, which is heeded up to a
/// day.
pub fn pause(tries: i64, asked: Option<Duration>, random: Random) -> Option<Duration> {
    let step = step(tries)?;
    let fifth = u64::try_from(step.as_millis() / 5).unwrap_or(0);
    let jitter = Duration::from_millis(random.below(2 * fifth + 1));
    let jittered = step.saturating_sub(Duration::from_millis(fifth)).saturating_add(jitter);
    Some(jittered.max(asked.unwrap_or_default().min(LONGEST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_are_those_that_the_documents_name() {
        let minutes = |minutes| Duration::from_mins(minutes);
        let steps: Vec<Duration> = (1..TRIES_MAX).filter_map(step).collect();
        assert_eq!(steps[..4], [2, 5, 15, 60].map(Duration::from_secs));
        assert_eq!(steps[4..13], [5, 10, 20, 40, 80, 160, 320, 640, 1_280].map(minutes));
        assert_eq!(steps[13..], [LONGEST; 2]);
        assert_eq!(step(TRIES_MAX), None);
        assert_eq!(step(i64::MAX), None);
    }

    /// R114: not given up before two days, and ours not before three.
    #[test]
    fn r114_it_goes_on_for_three_days() {
        let least: Duration = (1..TRIES_MAX).filter_map(step).map(|step| step * 4 / 5).sum();
        assert!(least >= Duration::from_hours(72), "{least:?}");
    }

    #[test]
    fn jitter_is_a_fifth_either_way() {
        for tries in 1..TRIES_MAX {
            let step = step(tries).unwrap();
            for _ in 0..200 {
                let pause = pause(tries, None, Random).unwrap();
                assert!(pause >= step * 4 / 5 && pause <= step * 6 / 5, "{tries}: {pause:?}");
            }
        }
    }

    #[test]
    fn what_is_asked_for_is_heeded_up_to_a_day_and_shortens_nothing() {
        let asked = |seconds| pause(1, Some(Duration::from_secs(seconds)), Random).unwrap();
        assert!(asked(0) >= Duration::from_millis(1_600));
        assert_eq!(asked(3_600), Duration::from_hours(1));
        assert_eq!(asked(u64::MAX), LONGEST);
        assert_eq!(pause(TRIES_MAX, Some(Duration::ZERO), Random), None);
    }

    #[test]
    fn any_number_of_tries_has_an_answer() {
        for tries in [i64::MIN, -1, 0] {
            assert_eq!(pause(tries, None, Random), Some(Duration::ZERO));
        }
    }
}
