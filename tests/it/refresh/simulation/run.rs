//! One run: replicas, a store and a provider in virtual time, with whatever chance makes of them.
//!
//! The machine is the very one that the server drives. Everything else here is small enough to be seen to be right: a
//! queue of happenings, the row with the statements' guards, and a provider.

mod judge;
mod peers;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet},
    time::Duration,
};

use consentry::{
    clock::Millis,
    connection::{ConnectionId, Status},
    credential::refresh::{
        Action, Answer, CONSENT_EXPIRED, Event, Finish, Machine, Pause, Spans, UNAUTHORIZED, Write,
    },
    store::Lease,
};
use uuid::Uuid;

use super::{
    parties::{Chance, Provider, Rotation},
    row::{Row, Without},
};

const LEASE: Duration = Duration::from_secs(30);
const TRIAL: Duration = Duration::from_secs(30);
/// A request; then the caller has given it up.
const TIMEOUT: i64 = 10_000;
/// Between two looks at what is over.
const WALK: i64 = 60_000;
/// Life of an access token.
const LIFE: i64 = 120_000;
/// Faults end here, and the run ends there.
const CALM_FROM: i64 = 900_000;
const END: i64 = 1_500_000;

/// What goes wrong, in how many of a thousand times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    pub(super) crash: u64,
    /// A process stands still, also for longer than a lease.
    pub(super) freeze: u64,
    /// The store's word is lost, done or not.
    pub(super) store_word: u64,
    /// The store is away for a while.
    pub(super) store_away: u64,
    /// An answer of the provider is lost, or comes too late.
    pub(super) lost_answer: u64,
    /// The provider fails.
    pub(super) provider: u64,
    /// The person disconnects, connects again, or ends it at the provider.
    pub(super) person: u64,
    /// A resource server refuses the token.
    pub(super) report: u64,
    /// The time for which the person consented is over.
    pub(super) clock: u64,
}

impl Faults {
    /// Whether an answer with tokens can be lost between the provider and the store.
    pub(super) fn lose_answers(self) -> bool {
        self.crash + self.freeze + self.lost_answer + self.provider + self.store_away > 0
    }
}

/// What a run is made of.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) replicas: usize,
    pub(super) rotation: Rotation,
    pub(super) faults: Faults,
    pub(super) without: Without,
}

#[derive(Clone, Debug)]
enum Happening {
    /// To a task of a replica's incarnation.
    Told {
        replica: usize,
        incarnation: u32,
        task: u64,
        event: Event,
    },
    /// The store does something, and its word comes back.
    Stored {
        replica: usize,
        incarnation: u32,
        task: u64,
        deed: Deed,
    },
    /// A request reaches the provider.
    Asked {
        replica: usize,
        incarnation: u32,
        task: u64,
        token: u64,
    },
    /// The answer is there; none that arrives after the caller has given up.
    Answered {
        replica: usize,
        incarnation: u32,
        task: u64,
        answer: Answer,
        tokens: Option<(u64, u64)>,
    },
    Called {
        replica: usize,
        rounds: u32,
    },
    Crash {
        replica: usize,
    },
    Freeze {
        replica: usize,
        span: i64,
    },
    Away {
        span: i64,
    },
    Disconnect,
    Reconnect,
    Revoke,
    Report,
    Over,
    Walk,
}

#[derive(Clone, Debug)]
enum Deed {
    Look,
    Take(i64, u128),
    Release(u128),
    Write(Lease, Write, Option<(u64, u64)>),
    GiveBack(u64),
    Expire(i64, &'static str),
}

#[derive(Debug)]
struct Task {
    number: u64,
    machine: Machine,
    owner: u128,
    /// What was read with the lease.
    refresh: Option<u64>,
    tokens: Option<(u64, u64)>,
    waiting: u32,
}

#[derive(Debug, Default)]
struct Replica {
    incarnation: u32,
    frozen_until: i64,
    task: Option<Task>,
}

/// A run under way.
pub(super) struct Run {
    plan: Plan,
    chance: Chance,
    now: i64,
    queue: BinaryHeap<Reverse<(i64, u64)>>,
    happenings: HashMap<u64, Happening>,
    last: u64,
    replicas: Vec<Replica>,
    row: Option<Row>,
    provider: Provider,
    away_until: i64,
    connections: u128,
    // What the judge looks at.
    stored: HashSet<u64>,
    dropped: HashSet<u64>,
    given_back: HashSet<u64>,
    /// Refresh tokens of answers that reached a living process.
    arrived: HashSet<u64>,
    died_with: HashSet<u64>,
    asked: HashMap<(ConnectionId, i64), u32>,
    excuses: HashMap<(ConnectionId, i64), u32>,
    in_flight: u32,
    overlaps: u32,
    handed_out: u32,
    last_handed_at: i64,
    rotations_lost: u32,
    refused: u32,
    /// What happened, when somebody wants to read it.
    trace: Option<Vec<String>>,
}

/// What was seen of a run that kept every promise.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) generations: i64,
    pub(super) handed_out: u32,
    pub(super) rotations_lost: u32,
    pub(super) kills: usize,
    pub(super) dropped: usize,
    pub(super) given_back: usize,
}

impl Run {
    pub(super) fn new(plan: Plan) -> Self {
        let mut chance = Chance::new(plan.seed);
        let mut provider = Provider::new(plan.rotation);
        let (access, refresh) = provider.grant();
        let id = ConnectionId(Uuid::from_u128(1));
        let replicas = (0..plan.replicas).map(|_| Replica::default()).collect();
        let mut run = Self {
            row: Some(Row::new(id, access, Some(refresh), LIFE)),
            stored: HashSet::from([access]),
            provider,
            now: 0,
            queue: BinaryHeap::new(),
            happenings: HashMap::new(),
            last: 0,
            replicas,
            away_until: 0,
            connections: 1,
            dropped: HashSet::new(),
            given_back: HashSet::new(),
            arrived: HashSet::new(),
            died_with: HashSet::new(),
            asked: HashMap::new(),
            excuses: HashMap::new(),
            in_flight: 0,
            overlaps: 0,
            handed_out: 0,
            last_handed_at: 0,
            rotations_lost: 0,
            refused: 0,
            trace: None,
            chance: chance.clone(),
            plan,
        };
        for at in (WALK..END).step_by(usize::try_from(WALK).unwrap()) {
            run.at(at, Happening::Walk);
        }
        let mut at = 0;
        while at < END {
            let replica = usize::try_from(chance.below(run.plan.replicas as u64)).unwrap();
            // Now and then many at once.
            let callers = if chance.happens(100) { 20 } else { 1 };
            for _ in 0..callers {
                let replica = if callers > 1 {
                    usize::try_from(chance.below(run.plan.replicas as u64)).unwrap()
                } else {
                    replica
                };
                run.at(at + chance.between(0, 200), Happening::Called { replica, rounds: 0 });
            }
            if at < CALM_FROM {
                run.plan_faults(&mut chance, at, replica);
            }
            at += chance.between(500, 12_000);
        }
        run.chance = chance;
        run
    }

    fn plan_faults(&mut self, chance: &mut Chance, at: i64, replica: usize) {
        let faults = self.plan.faults;
        let soon = at + chance.between(0, 3_000);
        let mut when = |often: u64, happening: Happening| {
            if chance.happens(often) {
                self.last += 1;
                self.queue.push(Reverse((soon, self.last)));
                self.happenings.insert(self.last, happening);
            }
        };
        when(faults.crash, Happening::Crash { replica });
        when(faults.store_away, Happening::Away { span: 20_000 });
        when(faults.report, Happening::Report);
        when(faults.clock, Happening::Over);
        when(faults.person, Happening::Disconnect);
        when(faults.person, Happening::Reconnect);
        when(faults.person, Happening::Revoke);
        let span = chance.between(1_000, 50_000);
        if chance.happens(faults.freeze) {
            self.at(soon, Happening::Freeze { replica, span });
        }
    }

    fn at(&mut self, at: i64, happening: Happening) {
        self.last += 1;
        self.queue.push(Reverse((at, self.last)));
        self.happenings.insert(self.last, happening);
    }

    fn later(&mut self, least: i64, most: i64, happening: Happening) {
        let at = self.now + self.chance.between(least, most);
        self.at(at, happening);
    }

    /// The same, to be read.
    pub(super) fn traced(mut self) -> Self {
        self.trace = Some(Vec::new());
        self
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// The promise that was broken, with what had happened last.
    pub(super) fn play(mut self) -> Result<Seen, String> {
        while let Some(Reverse((at, number))) = self.queue.pop() {
            self.now = at;
            let happening = self.happenings.remove(&number).unwrap();
            if let Some(trace) = &mut self.trace {
                trace.push(format!("{at:>8} {happening:?}"));
            }
            self.happen(happening).map_err(|broken| self.report(&broken))?;
        }
        self.judge().map_err(|broken| self.report(&broken))
    }

    fn report(&self, broken: &str) -> String {
        let trace = self.trace.as_deref().unwrap_or_default();
        let last = trace.len().saturating_sub(60);
        format!("{broken}\n{:?}\n{}\nrow: {:?}", self.plan, trace[last..].join("\n"), self.row)
    }

    fn happen(&mut self, happening: Happening) -> Result<(), String> {
        match happening {
            Happening::Told { replica, incarnation, task, event } => {
                let here = &self.replicas[replica];
                if here.frozen_until > self.now && here.incarnation == incarnation {
                    let at = here.frozen_until;
                    self.at(at, Happening::Told { replica, incarnation, task, event });
                    return Ok(());
                }
                self.tell(replica, incarnation, task, event)
            }
            Happening::Stored { replica, incarnation, task, deed } => {
                self.store(replica, incarnation, task, &deed)
            }
            Happening::Asked { replica, incarnation, task, token } => {
                self.ask(replica, incarnation, task, token);
                Ok(())
            }
            Happening::Answered { replica, incarnation, task, answer, tokens } => {
                self.in_flight -= 1;
                let roll = self.chance.below(1001);
                if let Some(task) = self.task(replica, incarnation, task) {
                    task.tokens = tokens;
                    if let Some((_, refresh)) = tokens {
                        self.arrived.insert(refresh);
                    }
                }
                let event = Event::Answered(answer, roll);
                self.at(self.now, Happening::Told { replica, incarnation, task, event });
                Ok(())
            }
            Happening::Called { replica, rounds } => self.call(replica, rounds),
            Happening::Crash { replica } => {
                self.excuse();
                let here = &mut self.replicas[replica];
                here.incarnation += 1;
                here.frozen_until = 0;
                if let Some(Task { tokens: Some((_, refresh)), .. }) = here.task.take() {
                    self.died_with.insert(refresh);
                }
                Ok(())
            }
            Happening::Freeze { replica, span } => {
                self.excuse();
                self.replicas[replica].frozen_until = self.now + span;
                Ok(())
            }
            Happening::Away { span } => {
                self.excuse();
                self.away_until = self.now + span;
                Ok(())
            }
            Happening::Disconnect => {
                self.row = None;
                Ok(())
            }
            Happening::Reconnect => {
                let (access, refresh) = self.provider.grant();
                self.stored.insert(access);
                let expires_at = self.now + LIFE;
                if let Some(row) = &mut self.row {
                    row.reconnect(access, Some(refresh), expires_at);
                } else {
                    self.connections += 1;
                    let id = ConnectionId(Uuid::from_u128(self.connections));
                    self.row = Some(Row::new(id, access, Some(refresh), expires_at));
                }
                Ok(())
            }
            Happening::Revoke => {
                if let Some(Row { refresh: Some(refresh), .. }) = &self.row {
                    self.provider.revoke(*refresh);
                }
                Ok(())
            }
            Happening::Report => {
                if let Some(row) = &mut self.row {
                    row.report(row.generation, UNAUTHORIZED, self.now, self.plan.without);
                }
                Ok(())
            }
            Happening::Over => {
                if let Some(row) = &mut self.row {
                    row.over = Some(CONSENT_EXPIRED);
                }
                // A walk may come by at any moment.
                self.happen(Happening::Walk)
            }
            Happening::Walk => {
                if let Some(row) = self.row.as_mut().filter(|_| self.away_until <= self.now)
                    && let Some(reason) = row.seen(self.now).over
                {
                    row.expire(row.generation, reason, self.now, self.plan.without);
                }
                Ok(())
            }
        }
    }

    /// A reason why the present generation may be asked for once more.
    fn excuse(&mut self) {
        if let Some(row) = &self.row {
            *self.excuses.entry((row.id, row.generation)).or_default() += 1;
        }
    }

    fn task(&mut self, replica: usize, incarnation: u32, number: u64) -> Option<&mut Task> {
        let here = &mut self.replicas[replica];
        if here.incarnation != incarnation {
            return None;
        }
        here.task.as_mut().filter(|task| task.number == number)
    }

    /// A caller of `resolve`.
    fn call(&mut self, replica: usize, rounds: u32) -> Result<(), String> {
        if self.away_until > self.now || self.replicas[replica].frozen_until > self.now {
            return Ok(());
        }
        let Some(row) = &self.row else { return Ok(()) };
        let usable = row.access_expires_at > self.now && row.refused_generation != Some(row.generation);
        let can = row.status == Status::Active && row.refresh.is_some();
        if usable && row.status != Status::Quarantined {
            if !self.stored.contains(&row.access) {
                return Err("a token was handed out before it was stored".to_owned());
            }
            self.handed_out += 1;
            self.last_handed_at = self.now;
        }
        let soon = row.access_expires_at - 20_000 <= self.now;
        let waits = row.next_attempt_at.is_some_and(|at| at > self.now);
        if !can || (usable && !soon) || waits || rounds > 4 {
            return Ok(());
        }
        let (id, generation) = (row.id, row.generation);
        let here = &mut self.replicas[replica];
        if let Some(task) = here.task.as_mut().filter(|task| task.machine.connection() == id) {
            task.waiting += u32::from(!usable);
            return Ok(());
        }
        if here.task.is_some() {
            // Of a connection that is gone; in life both would run.
            return Ok(());
        }
        self.last += 1;
        let number = self.last;
        let spans = Spans { trial: TRIAL, lease: LEASE };
        here.task = Some(Task {
            number,
            machine: Machine::new(id, generation, spans),
            owner: 0,
            refresh: None,
            tokens: None,
            waiting: u32::from(!usable),
        });
        let incarnation = here.incarnation;
        self.tell(replica, incarnation, number, Event::Begin)
    }

    fn tell(&mut self, replica: usize, incarnation: u32, number: u64, event: Event) -> Result<(), String> {
        let now = Millis(self.now);
        let Some(task) = self.task(replica, incarnation, number) else { return Ok(()) };
        let action = task.machine.step(event, now);
        if let Some(trace) = &mut self.trace {
            trace.push(format!("         -> {replica}: {action:?}"));
        }
        self.act(replica, incarnation, number, action)
    }

    fn act(&mut self, replica: usize, incarnation: u32, number: u64, action: Action) -> Result<(), String> {
        let told = |event| Happening::Told { replica, incarnation, task: number, event };
        let stored = |deed| Happening::Stored { replica, incarnation, task: number, deed };
        match action {
            Action::Look => self.later(1, 30, stored(Deed::Look)),
            Action::Line => {
                let paused = self.now < CALM_FROM && self.chance.happens(self.plan.faults.provider / 4);
                let event = if paused { Event::Paused(Millis(self.now + 5_000)) } else { Event::Permitted };
                self.later(0, 800, told(event));
            }
            Action::Take(generation) => {
                let owner = u128::from(self.chance.next());
                if let Some(task) = self.task(replica, incarnation, number) {
                    task.owner = owner;
                }
                self.later(1, 30, stored(Deed::Take(generation, owner)));
            }
            Action::Release => {
                let owner = self.task(replica, incarnation, number).map_or(0, |task| task.owner);
                self.later(1, 30, stored(Deed::Release(owner)));
            }
            Action::Send(lease) => self.send(replica, incarnation, number, &lease),
            Action::Write(lease, write) => {
                let tokens = self.task(replica, incarnation, number).and_then(|task| task.tokens);
                self.later(1, 30, stored(Deed::Write(lease, write, tokens)));
            }
            Action::Expire { generation, reason } => {
                self.later(1, 30, stored(Deed::Expire(generation, reason)));
            }
            Action::Pause(pause) => {
                let waited = told(Event::Waited { draining: false });
                match pause {
                    Pause::Poll(_) => self.later(60, 100, waited),
                    Pause::Until(at) => self.at(at.0.max(self.now), waited),
                    Pause::StoreAway(times) => {
                        let span = (50_i64 << times.min(7)).min(5_000);
                        self.at(self.now + span, waited);
                    }
                }
            }
            Action::GiveBack => {
                let refresh = self.task(replica, incarnation, number).and_then(|task| task.tokens);
                let (_, refresh) = refresh.ok_or("there is nothing to give back")?;
                self.later(1, 30, stored(Deed::GiveBack(refresh)));
            }
            Action::Done(finish) => return self.done(replica, &finish),
        }
        Ok(())
    }

    fn done(&mut self, replica: usize, finish: &Finish) -> Result<(), String> {
        let Some(task) = self.replicas[replica].task.take() else { return Ok(()) };
        if let Some((access, refresh)) = task.tokens {
            match finish {
                Finish::Renewed if !self.stored.contains(&access) => {
                    return Err("a refresh is said to be stored and is not".to_owned());
                }
                Finish::Renewed => {}
                Finish::Fenced => {
                    self.dropped.insert(refresh);
                }
                Finish::GaveBack if self.given_back.contains(&refresh) => {}
                other => return Err(format!("tokens were received and forgotten: {other:?}")),
            }
        }
        for _ in 0..task.waiting.min(1) {
            self.later(0, 5, Happening::Called { replica, rounds: 1 });
        }
        Ok(())
    }
}
