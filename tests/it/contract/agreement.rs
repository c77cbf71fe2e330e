//! The row that the simulation believes in, and the statements: the same commands at random, the same outcomes.

use std::time::Duration;

use consentry::{
    clock::Millis,
    connection::{Connection, NewConnection, Status},
    random::Random,
    signal::Kind,
    store::{Failing, Lease, Renewed, Reported, Settled},
    vault::Sealed,
};

use super::{
    given::*,
    leases::{LENGTH, renewed},
    raw::{self, Raw},
};
use crate::{
    engine::Database,
    refresh::simulation::{
        parties::Chance,
        row::{Row, Without},
    },
};

on_both_engines! {
    r79_the_statements_are_what_the_simulation_believes,
}

/// Histories, and commands of each.
const HISTORIES: u64 = 12;
const COMMANDS: u32 = 60;

/// A row twice: in the database, and in memory.
struct Twice {
    db: Database,
    raw: Raw,
    row: Row,
    /// The database's clock, as far as the model knows it.
    clock: i64,
    leases: Vec<(Lease, u128)>,
    number: u64,
}

fn sealed(number: u64) -> Sealed {
    Sealed::from_bytes(number.to_be_bytes().to_vec())
}

fn tokens(number: u64) -> Renewed {
    Renewed { access: sealed(number), refresh: sealed(number + 1), ..renewed("") }
}

fn consented(number: u64, generation: i64, can_refresh: bool) -> NewConnection {
    NewConnection {
        access: sealed(number),
        refresh: can_refresh.then(|| sealed(number + 1)),
        ..credential("octocat", generation)
    }
}

impl Twice {
    async fn new(db: &Database) -> Self {
        raw::empty(db).await;
        let elicitation = db.store.given_elicitation(&asked_by("")).await;
        let claimed = db.store.given_claimed(&elicitation, NOW).await;
        let settled = db.store.settle(&settling(&claimed, consented(1, 1, true), None), NOW).await.unwrap();
        let Settled::Done { connection, .. } = settled else { panic!("{settled:?}") };
        let row = Row::new(connection.id, 1, Some(2), 0);
        Self {
            db: db.clone(),
            raw: Raw::connect(db).await,
            row,
            clock: 1_000_000,
            leases: Vec::new(),
            number: 10,
        }
    }

    async fn passes(&mut self, millis: i64) {
        self.clock += millis;
        let text = format!(
            "UPDATE connections SET lease_until_ms = lease_until_ms - {millis}, intent_at_ms = intent_at_ms - {millis}"
        );
        self.raw.run(&text).await;
    }

    fn a_lease(&self, chance: &mut Chance) -> Option<(Lease, u128)> {
        let number = self.leases.len() as u64;
        // The latest as a rule.
        let back = if chance.happens(700) { 0 } else { chance.below(number) };
        self.leases.len().checked_sub(1 + usize::try_from(back).unwrap()).map(|at| self.leases[at])
    }

    fn next_number(&mut self) -> u64 {
        self.number += 2;
        self.number
    }

    async fn take(&mut self, chance: &mut Chance) {
        // Two takings are never within one millisecond.
        self.passes(1).await;
        let generation = self.row.generation - i64::from(chance.happens(100));
        let now = if chance.happens(500) { after(5) } else { after(100) };
        let owner = Random.uuid();
        let taken = self.db.store.take_lease(self.row.id, generation, owner, LENGTH, now).await.unwrap();
        let lease = taken.map(|(lease, _)| lease);
        assert!(lease.is_none_or(|lease| lease.recovering != lease.unanswered_for.is_zero()));
        // For how long is the database's to say, and the simulation believes nothing of it.
        let lease = lease.map(|lease| Lease { unanswered_for: Duration::ZERO, ..lease });
        let clock = self.clock;
        let expected = self.row.take(generation, owner.as_u128(), LENGTH, now.0, clock, Without::default());
        assert_eq!(lease, expected);
        self.leases.extend(lease.map(|lease| (lease, owner.as_u128())));
    }

    async fn step(&mut self, chance: &mut Chance) {
        let (store, without) = (self.db.store.clone(), Without::default());
        let lease = self.a_lease(chance);
        match (chance.below(13), lease) {
            (0..=3, _) => self.take(chance).await,
            (4, Some((_, owner))) => {
                let released =
                    store.release_lease(self.row.id, uuid::Uuid::from_u128(owner), LENGTH).await.unwrap();
                assert_eq!(released, self.row.release(owner, LENGTH));
            }
            (5 | 6, Some((lease, _))) => {
                let number = self.next_number();
                let stored = store.commit_refresh(&lease, &tokens(number), after(9)).await.unwrap();
                assert_eq!(stored.is_some(), self.row.commit(&lease, (number, number + 1), 0, without));
            }
            (7, Some((lease, _))) => {
                let next_attempt_at = chance.happens(300).then(|| after(50));
                let keep_intent = chance.happens(500);
                let failing = Failing { code: "transient", next_attempt_at, keep_intent };
                let failed = store.fail_refresh(&lease, &failing).await.unwrap();
                let next = next_attempt_at.map(|at| at.0);
                assert_eq!(failed, self.row.fail(&lease, next, keep_intent, without));
            }
            (8, Some((lease, _))) if chance.happens(300) => {
                let status = if chance.happens(500) { Status::NeedsReconnect } else { Status::Quarantined };
                let ended = store.end_refresh(&lease, status, "refused_by_provider", after(9)).await.unwrap();
                assert_eq!(ended.is_some(), self.row.end(&lease, status, "refused_by_provider", without));
            }
            (9, _) => self.report(chance).await,
            (10, _) if chance.happens(400) => self.reconnect(chance).await,
            (11, _) if chance.happens(300) => {
                let generation = self.row.generation - i64::from(chance.happens(100));
                let ended = store.end_by_clock(self.row.id, generation, "consent_expired", after(9)).await;
                let expected = self.row.expire(generation, "consent_expired", self.clock, without);
                assert_eq!(ended.unwrap().is_some(), expected);
            }
            _ => self.passes(chance.between(1, 60_000)).await,
        }
    }

    async fn report(&mut self, chance: &mut Chance) {
        let generation = self.row.generation - i64::from(chance.happens(300));
        let reported =
            self.db.store.report_refused(&files(), self.row.id, generation, "unauthorized", after(9)).await;
        let told = self.row.told;
        let again = self.row.report(generation, "unauthorized", self.clock, Without::default());
        match reported.unwrap() {
            Reported::Refused(_) => assert!(again),
            Reported::Ended(_) => assert_eq!(self.row.told, told + 1),
            Reported::Nothing => assert!(!again && self.row.told == told),
        }
    }

    async fn reconnect(&mut self, chance: &mut Chance) {
        let number = self.next_number();
        let can_refresh = chance.happens(800);
        let elicitation = self.db.store.given_elicitation(&asked_by(&number.to_string())).await;
        let claimed = self.db.store.given_claimed(&elicitation, NOW).await;
        let (id, generation) = (self.row.id, self.row.generation);
        let connection = consented(number, generation + 1, can_refresh);
        let settlement = settling(&claimed, connection, Some((id, generation)));
        assert!(matches!(self.db.store.settle(&settlement, NOW).await.unwrap(), Settled::Done { .. }));
        self.row.reconnect(number, can_refresh.then_some(number + 1), 0);
    }

    async fn agrees(&mut self) {
        let watched = self.db.store.watch_connection(self.row.id).await.unwrap().unwrap();
        let seen = self.row.seen(self.clock);
        let connection: &Connection = &watched.connection;
        let row = &self.row;
        assert_eq!((connection.generation, connection.status), (row.generation, row.status));
        assert_eq!(connection.reason.as_deref(), row.reason);
        assert_eq!(connection.access.as_bytes(), row.access.to_be_bytes());
        let refresh = connection.refresh.as_ref().map(|sealed| sealed.as_bytes().to_vec());
        assert_eq!(refresh, row.refresh.map(|number| number.to_be_bytes().to_vec()));
        assert_eq!(
            (connection.failures, connection.next_attempt_at),
            (row.failures, row.next_attempt_at.map(Millis))
        );
        assert_eq!(connection.refused_generation, row.refused_generation);
        assert_eq!(connection.mended_generation, row.mended_generation);
        assert_eq!((watched.lease_token, watched.lease_left.is_some()), (seen.lease_token, seen.leased));
        let intents =
            self.raw.number("SELECT COUNT(*) FROM connections WHERE intent_at_ms IS NOT NULL").await;
        assert_eq!(intents == 1, row.intent_at.is_some());
        let signals = self.db.store.signals_after(&files(), 0, 1_000).await.unwrap();
        let told = signals.iter().filter(|signal| signal.kind == Kind::ConnectionNeedsReconnect).count();
        assert_eq!(told, usize::try_from(row.told).unwrap());
    }
}

async fn r79_the_statements_are_what_the_simulation_believes(db: Database) {
    assert!(LENGTH > Duration::from_secs(1), "no lease runs out by itself in here");
    for seed in 0..HISTORIES {
        let mut chance = Chance::new(seed);
        let mut twice = Twice::new(&db).await;
        for _ in 0..COMMANDS {
            twice.step(&mut chance).await;
            twice.agrees().await;
        }
    }
}
