//! The protocol in virtual time: replicas, crashes, delays, a store that goes away, words that are lost, people who
//! disconnect in between. Thousands of runs, each from one number.
//!
//! A run that breaks a promise prints its number; `CONSENTRY_SIMULATION=number` plays that one alone.

pub(crate) mod parties;
pub(crate) mod row;
mod run;

use self::{
    parties::{Chance, Rotation},
    row::Without,
    run::{Faults, Plan, Run, Seen},
};

/// Runs of one test.
const RUNS: u64 = 1_500;

fn seeds() -> Vec<u64> {
    #[expect(clippy::disallowed_methods, reason = "who looks into one run says here which")]
    let one = std::env::var("CONSENTRY_SIMULATION").ok();
    one.map_or_else(|| (0..RUNS).collect(), |seed| vec![seed.parse().expect("a number")])
}

fn plan(seed: u64, faults: Faults, without: Without) -> Plan {
    let mut chance = Chance::new(seed ^ 0x5eed);
    let rotation = match chance.below(4) {
        0 => Rotation::Static,
        1 => Rotation::Grace(60_000),
        _ => Rotation::Strict,
    };
    let replicas = usize::try_from(1 + chance.below(3)).unwrap();
    Plan { seed, replicas, rotation, faults, without }
}

/// Plays every seed; the first broken promise fails.
fn play(faults: impl Fn(&mut Chance) -> Faults) -> Seen {
    let mut all = Seen::default();
    for seed in seeds() {
        let faults = faults(&mut Chance::new(seed ^ 0xfa17));
        match Run::new(plan(seed, faults, Without::default())).play() {
            Ok(seen) => {
                all.generations += seen.generations;
                all.handed_out += seen.handed_out;
                all.rotations_lost += seen.rotations_lost;
                all.kills += seen.kills;
                all.dropped += seen.dropped;
                all.given_back += seen.given_back;
            }
            Err(broken) => {
                let again = Run::new(plan(seed, faults, Without::default())).traced().play();
                panic!("CONSENTRY_SIMULATION={seed}: {}", again.err().unwrap_or(broken));
            }
        }
    }
    all
}

#[test]
fn r79_while_all_is_well_each_generation_is_asked_for_once() {
    let seen = play(|_| Faults::default());
    assert_eq!((seen.kills, seen.rotations_lost), (0, 0));
    assert!(seen.generations > 0 && seen.handed_out > 0);
}

#[test]
fn r79_a_store_that_loses_its_word_costs_no_grant() {
    let seen = play(|chance| Faults { store_word: chance.below(120), ..Faults::default() });
    assert_eq!((seen.kills, seen.rotations_lost), (0, 0));
}

#[test]
fn r80_whatever_crashes_nothing_is_lost_in_silence() {
    let seen = play(|chance| Faults {
        crash: chance.below(60),
        freeze: chance.below(40),
        store_word: chance.below(60),
        store_away: chance.below(20),
        lost_answer: chance.below(120),
        provider: chance.below(200),
        ..Faults::default()
    });
    assert!(seen.rotations_lost > 0, "a strict provider does not forgive each of them");
}

#[test]
fn r84_people_come_in_between() {
    let seen = play(|chance| Faults {
        crash: chance.below(30),
        freeze: chance.below(20),
        store_word: chance.below(60),
        lost_answer: chance.below(40),
        provider: chance.below(100),
        person: chance.below(40),
        report: chance.below(60),
        ..Faults::default()
    });
    assert!(seen.dropped > 0 && seen.given_back > 0, "{seen:?}");
}

/// A clock that runs out, and a token that is refused again, wait for a refresh that is under way.
#[test]
fn r79_what_ends_a_connection_waits_for_its_refresh() {
    let seen = play(|chance| Faults {
        report: 200 + chance.below(300),
        clock: chance.below(20),
        ..Faults::default()
    });
    assert_eq!((seen.dropped, seen.given_back, seen.kills), (0, 0, 0), "{seen:?}");
}

/// R84: what comes for a connection that has ended is nobody's, and is given back.
#[test]
fn r84_tokens_that_come_after_the_end_are_given_back() {
    let seen =
        play(|chance| Faults { freeze: 60, report: 300, clock: chance.below(20), ..Faults::default() });
    assert!(seen.given_back > 0, "{seen:?}");
}

/// Each guard that is taken out is missed.
#[test]
fn without_a_guard_a_promise_breaks() {
    let freezing = Faults { freeze: 60, lost_answer: 60, ..Faults::default() };
    let ending = Faults { clock: 20, ..Faults::default() };
    for (what, without, faults) in [
        ("the lease", Without { lease: true, ..Without::default() }, Faults::default()),
        ("the fence", Without { fence: true, ..Without::default() }, freezing),
        ("the intent", Without { intent: true, ..Without::default() }, freezing),
        ("the patience of the clock", Without { patience: true, ..Without::default() }, ending),
    ] {
        let broken = (0..RUNS).any(|seed| Run::new(plan(seed, faults, without)).play().is_err());
        assert!(broken, "nobody noticed that {what} was gone");
    }
}
