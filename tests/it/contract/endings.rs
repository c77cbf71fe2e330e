//! Every ending signals exactly once: random moves by several processes at once, judged after each round.
//!
//! The judge knows nothing of how an elicitation ends. It looks at the rows: an open one has no signal of an end, a
//! closed one has exactly one and of its own kind, an end is never undone, and each signal has its one delivery.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use consentry::{
    clock::Millis,
    connection::NewConnection,
    delivery::State as Delivery,
    elicitation::{ElicitationId, NewElicitation, State},
    signal::{Kind, SignalId},
    store::{ConnectionFilter, Settled, Store},
};
use futures_util::future::join_all;

use super::given::*;
use crate::{engine::Database, model::chance::Chance};

on_both_engines!(z23_every_ending_signals_exactly_once);

const SEEDS: u64 = 6;
const ROUNDS: usize = 25;

/// One move of one process.
#[derive(Clone, Copy, Debug)]
enum Move {
    Ask { reference: usize, person: usize, server: usize },
    Close(ElicitationId, State),
    Connect(ElicitationId),
    Satisfy(ElicitationId),
    Keep(ElicitationId),
    Expire(ElicitationId),
    ExpireDue,
    Disconnect(usize),
}

#[derive(Default)]
struct Judge {
    asked: Vec<ElicitationId>,
    ended: HashMap<ElicitationId, State>,
}

async fn z23_every_ending_signals_exactly_once(db: Database) {
    let replica = db.replica().await.posting([files(), notes()]);
    let stores = [db.store.clone().posting([files(), notes()]), replica.clone()];
    for seed in 0..SEEDS {
        super::raw::empty(&db).await;
        play(&stores, seed).await;
    }
    replica.shut_down().await;
}

async fn play(stores: &[Store; 2], seed: u64) {
    let mut chance = Chance::new(seed);
    let mut judge = Judge::default();
    let mut now = NOW;
    let mut history = Vec::new();
    for _ in 0..ROUNDS {
        let together = 1 + chance.below(4);
        let moves: Vec<Move> = (0..together).map(|_| choose(&mut chance, &judge.asked)).collect();
        history.push((now, moves.clone()));
        let playing = moves.iter().zip(stores.iter().cycle()).map(|(one, store)| carry_out(store, *one, now));
        let asked: Vec<Option<ElicitationId>> = join_all(playing).await;
        for id in asked.into_iter().flatten() {
            // An open question that is asked again is the same one.
            if !judge.asked.contains(&id) {
                judge.asked.push(id);
            }
        }
        judge.looks(&stores[0], seed, &history).await;
        if chance.percent(40) {
            now = now.plus(Duration::from_secs([1, 90, 600, 1_790][chance.below(4)]));
        }
    }
    // Nobody ever opens the rest.
    let late = now.plus(LIFE).plus(Duration::from_hours(1));
    history.push((late, vec![Move::ExpireDue]));
    carry_out(&stores[0], Move::ExpireDue, late).await;
    judge.looks(&stores[0], seed, &history).await;
    let unended = judge.asked.iter().filter(|id| !judge.ended.contains_key(id)).count();
    assert_eq!(unended, 0, "seed {seed}: all have ended");
}

fn choose(chance: &mut Chance, asked: &[ElicitationId]) -> Move {
    let Some(id) = chance.late(asked).copied().filter(|_| !chance.percent(25)) else {
        return Move::Ask { reference: chance.below(3), person: chance.below(2), server: chance.below(2) };
    };
    match chance.below(12) {
        0 => Move::Close(id, State::Declined),
        1 => Move::Close(id, State::Cancelled),
        2 => Move::Close(id, State::Failed),
        3..=6 => Move::Connect(id),
        7 => Move::Satisfy(id),
        8 => Move::Keep(id),
        9 => Move::Expire(id),
        10 => Move::ExpireDue,
        _ => Move::Disconnect(chance.below(4)),
    }
}

/// Whatever the move finds, it is allowed to come too late, and never to fail. Gives the elicitation that was asked.
async fn carry_out(store: &Store, one: Move, now: Millis) -> Option<ElicitationId> {
    match one {
        Move::Ask { reference, person, server } => {
            let owner = [alice(), bob()][person].clone();
            let server = [files(), notes()][server].clone();
            let seen = store.connection_for(&server, &owner, &github()).await.unwrap();
            let new = NewElicitation {
                server,
                owner,
                seen: seen.map(|one| one.as_grant()),
                expires_at: now.plus(LIFE),
                ..asked_by(&format!("session-{reference}"))
            };
            return Some(store.create(&new, now).await.unwrap().elicitation.id);
        }
        Move::Close(id, end) => {
            let found = store.elicitation(id).await.unwrap().unwrap();
            store.close(&found, end, "of the test", now).await.unwrap();
        }
        Move::Connect(id) => connect(store, id, now).await,
        Move::Satisfy(id) | Move::Keep(id) => {
            let found = store.elicitation(id).await.unwrap().unwrap();
            let existing = store.connection_for(&found.server, &found.owner, &github()).await.unwrap();
            let existing = existing?;
            if matches!(one, Move::Satisfy(_)) {
                store.satisfy(&found, existing.as_grant(), now).await.unwrap();
            } else if let Ok(open) = owned(&found).open(now) {
                store.keep(&open, existing.as_grant(), now).await.unwrap();
            }
        }
        Move::Expire(id) => {
            store.expire(id, now).await.unwrap();
        }
        Move::ExpireDue => {
            store.expire_due(now, 1_000).await.unwrap();
        }
        Move::Disconnect(which) => {
            let all = store.connections(ConnectionFilter::default(), 100).await.unwrap();
            let one = all.get(which)?;
            store.disconnect(&one.server, one.id, "of the test", |_| None, now).await.unwrap();
        }
    }
    None
}

/// A whole trip, which others may cross at every step.
async fn connect(store: &Store, id: ElicitationId, now: Millis) {
    let found = store.elicitation(id).await.unwrap().unwrap();
    let Ok(open) = owned(&found).open(now) else { return };
    let mut new = trip(now);
    new.expires_at = new.expires_at.min(found.expires_at);
    if !store.begin(&open, &new, now).await.unwrap() {
        return;
    }
    let attempt = store.attempt(id, new.id).await.unwrap().unwrap();
    let Some(claimed) = store.claim(owned(&found), &attempt, now).await.unwrap() else { return };
    for _ in 0..5 {
        let existing = store.connection_for(&found.server, &found.owner, &github()).await.unwrap();
        let over = existing.as_ref().map(|one| (one.id, one.generation));
        let generation = over.map_or(1, |(_, generation)| generation + 1);
        let kept = existing.map(|one| one.id);
        let fresh = credential("octocat", generation);
        let new = NewConnection { id: kept.unwrap_or(fresh.id), ..fresh };
        if !matches!(store.settle(&settling(&claimed, new, over), now).await.unwrap(), Settled::Moved) {
            return;
        }
    }
}

impl Judge {
    async fn looks(&mut self, store: &Store, seed: u64, history: &[(Millis, Vec<Move>)]) {
        let mut ends: HashMap<ElicitationId, Vec<Kind>> = HashMap::new();
        let mut signals = HashSet::new();
        for server in [files(), notes()] {
            for (number, signal) in (1..).zip(store.signals_after(&server, 0, 10_000).await.unwrap()) {
                assert_eq!(signal.sequence, number, "seed {seed}: numbers have no gaps");
                signals.insert(signal.id);
                if let Some(id) = signal.elicitation {
                    ends.entry(id).or_default().push(signal.kind);
                }
            }
        }
        for id in &self.asked {
            let found = store.elicitation(*id).await.unwrap().unwrap();
            let told = ends.remove(id).unwrap_or_default();
            let right: Vec<Kind> = Kind::of_end(found.stored).into_iter().collect();
            assert_eq!(told, right, "seed {seed}: {id} is {:?}, after {history:#?}", found.stored);
            if found.stored.is_open() {
                assert!(!self.ended.contains_key(id), "seed {seed}: an end was undone, after {history:#?}");
            } else {
                assert!(found.reason.is_some(), "seed {seed}: an end has a reason");
                let before = *self.ended.entry(*id).or_insert(found.stored);
                assert_eq!(before, found.stored, "seed {seed}: an end became another, after {history:#?}");
            }
        }
        assert!(ends.is_empty(), "seed {seed}: of what nobody asked: {ends:?}");
        let due: HashSet<SignalId> = deliveries(store).await.into_iter().collect();
        assert_eq!(due, signals, "seed {seed}: each signal is to be posted once");
    }
}

async fn deliveries(store: &Store) -> Vec<SignalId> {
    let all = store.deliveries(None, Some(Delivery::Due), 10_000).await.unwrap();
    all.into_iter().map(|one| one.signal).collect()
}
