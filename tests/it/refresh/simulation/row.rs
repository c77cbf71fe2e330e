//! A connection's row in memory, with exactly the guards of the statements; another test holds the two side by side.

use std::time::Duration;

use consentry::{
    clock::Millis,
    connection::{ConnectionId, Status},
    credential::refresh::{Seen, UNAUTHORIZED},
    store::Lease,
};

/// A guard that a test takes out, to see that somebody notices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Without {
    /// A lease is given while another stands.
    pub(crate) lease: bool,
    /// Whoever comes late may write.
    pub(crate) fence: bool,
    /// An open intent is forgotten when the next lease is taken.
    pub(crate) intent: bool,
    /// Whoever ends it does not wait for a refresh that is under way.
    pub(crate) patience: bool,
}

/// The columns that the protocol is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: ConnectionId,
    pub(crate) generation: i64,
    pub(crate) status: Status,
    pub(crate) reason: Option<&'static str>,
    /// Numbers in place of tokens.
    pub(crate) access: u64,
    pub(crate) refresh: Option<u64>,
    pub(crate) access_expires_at: i64,
    pub(crate) failures: i64,
    pub(crate) next_attempt_at: Option<i64>,
    pub(crate) refused_generation: Option<i64>,
    pub(crate) mended_generation: Option<i64>,
    pub(crate) lease_token: i64,
    pub(crate) lease_owner: Option<u128>,
    pub(crate) lease_until: Option<i64>,
    pub(crate) intent_at: Option<i64>,
    /// Signals that the person must act.
    pub(crate) told: u32,
    /// Why its time is over.
    pub(crate) over: Option<&'static str>,
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap()
}

impl Row {
    pub(crate) fn new(id: ConnectionId, access: u64, refresh: Option<u64>, access_expires_at: i64) -> Self {
        Self {
            id,
            generation: 1,
            status: Status::Active,
            reason: None,
            access,
            refresh,
            access_expires_at,
            failures: 0,
            next_attempt_at: None,
            refused_generation: None,
            mended_generation: None,
            lease_token: 0,
            lease_owner: None,
            lease_until: None,
            intent_at: None,
            told: 0,
            over: None,
        }
    }

    /// As the machine sees it; `db` is the database's clock.
    pub(crate) fn seen(&self, db: i64) -> Seen {
        let refused_again = [self.refused_generation, self.mended_generation] == [Some(self.generation); 2];
        Seen {
            generation: self.generation,
            refreshable: self.status == Status::Active && self.refresh.is_some(),
            ended: self.status != Status::Active,
            lease_token: self.lease_token,
            leased: self.leased(db),
            next_attempt_at: self.next_attempt_at.map(Millis),
            over: self.over.or(refused_again.then_some(UNAUTHORIZED)),
        }
    }

    fn leased(&self, db: i64) -> bool {
        self.lease_until.is_some_and(|until| until > db)
    }

    pub(crate) fn take(
        &mut self,
        generation: i64,
        owner: u128,
        length: Duration,
        now: i64,
        db: i64,
        without: Without,
    ) -> Option<Lease> {
        let free = without.lease || !self.leased(db);
        let due = self.next_attempt_at.is_none_or(|at| at <= now);
        if self.generation != generation
            || self.status != Status::Active
            || self.refresh.is_none()
            || !free
            || !due
        {
            return None;
        }
        if without.intent {
            self.intent_at = None;
        }
        self.lease_token += 1;
        self.lease_owner = Some(owner);
        let until = db + millis(length);
        self.lease_until = Some(until);
        let intent = *self.intent_at.get_or_insert(db);
        let recovering = intent < until - millis(length);
        Some(Lease {
            connection: self.id,
            generation,
            token: self.lease_token,
            recovering,
            unanswered_for: std::time::Duration::ZERO,
        })
    }

    pub(crate) fn release(&mut self, owner: u128, length: Duration) -> bool {
        let Some(until) = self.lease_until.filter(|_| self.lease_owner == Some(owner)) else { return false };
        self.intent_at = self.intent_at.filter(|intent| *intent < until - millis(length));
        self.lease_owner = None;
        self.lease_until = None;
        true
    }

    fn fenced(&self, lease: &Lease, without: Without) -> bool {
        let fenced = self.lease_token != lease.token || self.generation != lease.generation;
        (fenced && !without.fence) || self.status != Status::Active
    }

    fn free(&mut self) {
        self.lease_owner = None;
        self.lease_until = None;
    }

    pub(crate) fn commit(
        &mut self,
        lease: &Lease,
        (access, refresh): (u64, u64),
        access_expires_at: i64,
        without: Without,
    ) -> bool {
        if self.fenced(lease, without) {
            return false;
        }
        if self.refused_generation == Some(self.generation) {
            self.mended_generation = Some(self.generation + 1);
        }
        self.generation += 1;
        (self.access, self.refresh, self.access_expires_at) = (access, Some(refresh), access_expires_at);
        (self.failures, self.next_attempt_at, self.intent_at) = (0, None, None);
        self.free();
        true
    }

    pub(crate) fn fail(
        &mut self,
        lease: &Lease,
        next_attempt_at: Option<i64>,
        keep_intent: bool,
        without: Without,
    ) -> bool {
        if self.fenced(lease, without) {
            return false;
        }
        self.failures += 1;
        self.next_attempt_at = next_attempt_at;
        self.intent_at = self.intent_at.filter(|_| keep_intent);
        self.free();
        true
    }

    pub(crate) fn end(
        &mut self,
        lease: &Lease,
        status: Status,
        reason: &'static str,
        without: Without,
    ) -> bool {
        if self.fenced(lease, without) {
            return false;
        }
        self.ends(status, reason);
        true
    }

    /// An end by a clock, when nobody refreshes it.
    pub(crate) fn expire(
        &mut self,
        generation: i64,
        reason: &'static str,
        db: i64,
        without: Without,
    ) -> bool {
        let busy = self.leased(db) && !without.patience;
        if self.generation != generation || self.status != Status::Active || busy {
            return false;
        }
        self.ends(Status::NeedsReconnect, reason);
        true
    }

    fn ends(&mut self, status: Status, reason: &'static str) {
        self.status = status;
        self.reason = Some(reason);
        self.intent_at = None;
        self.told += 1;
        self.free();
    }

    /// A report of a generation; whether one refresh is to be made.
    pub(crate) fn report(
        &mut self,
        generation: i64,
        reason: &'static str,
        db: i64,
        without: Without,
    ) -> bool {
        if self.generation != generation {
            return false;
        }
        if self.status != Status::Active {
            self.refused_generation = Some(generation);
            return false;
        }
        let busy = self.leased(db) && !without.patience;
        let mended = self.mended_generation == Some(generation) && !busy;
        if self.refresh.is_none() || mended {
            self.refused_generation = Some(generation);
            self.ends(Status::NeedsReconnect, reason);
            return false;
        }
        self.refused_generation.replace(generation) != Some(generation)
    }

    /// A new consent over what is there.
    pub(crate) fn reconnect(&mut self, access: u64, refresh: Option<u64>, access_expires_at: i64) {
        *self = Self {
            generation: self.generation + 1,
            lease_token: self.lease_token + 1,
            told: self.told,
            ..Self::new(self.id, access, refresh, access_expires_at)
        };
    }
}
