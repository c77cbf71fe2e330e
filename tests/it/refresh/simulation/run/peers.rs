//! The other side of what a machine asks for: the provider, the store, and what gets lost between.

use consentry::{
    credential::refresh::{Answer, Event, REFUSED, Write},
    provider::{Class, Failure},
    store::Lease,
};

use super::{CALM_FROM, Deed, Happening, LEASE, LIFE, Run, TIMEOUT};

impl Run {
    pub(super) fn send(&mut self, replica: usize, incarnation: u32, number: u64, lease: &Lease) {
        *self.asked.entry((lease.connection, lease.generation)).or_default() += 1;
        self.in_flight += 1;
        self.overlaps += u32::from(self.in_flight > 1);
        let refresh = self.task(replica, incarnation, number).and_then(|task| task.refresh);
        let Some(token) = refresh else { return };
        let calm = self.now >= CALM_FROM;
        if !calm && self.chance.happens(self.plan.faults.provider / 3) {
            // Nobody listens.
            self.excuse();
            let answer = Answer::Failed(failure(Class::NotSent, None));
            self.later(
                1,
                50,
                Happening::Answered { replica, incarnation, task: number, answer, tokens: None },
            );
            return;
        }
        let slow = !calm && self.chance.happens(self.plan.faults.lost_answer / 4);
        let most = if slow { 9_500 } else { 400 };
        self.later(5, most, Happening::Asked { replica, incarnation, task: number, token });
    }

    pub(super) fn ask(&mut self, replica: usize, incarnation: u32, number: u64, token: u64) {
        let calm = self.now >= CALM_FROM;
        let faults = self.plan.faults;
        let answered =
            |answer, tokens| Happening::Answered { replica, incarnation, task: number, answer, tokens };
        if !calm && self.chance.happens(faults.provider) {
            self.excuse();
            let (class, status, works) = [
                (Class::Transient, Some(503), false),
                (Class::Transient, Some(504), true),
                (Class::Suspicious, Some(200), true),
                (Class::Suspicious, Some(200), false),
                (Class::Operator, Some(401), false),
                (Class::Configuration, Some(400), false),
                (Class::Policy, Some(302), false),
            ][usize::try_from(self.chance.below(7)).unwrap()];
            if works {
                self.provider.refresh(token, self.now);
            }
            let answer = Answer::Failed(failure(class, status));
            self.later(5, 500, answered(answer, None));
            return;
        }
        let given = self.provider.refresh(token, self.now);
        if !calm && self.chance.happens(faults.lost_answer) {
            self.excuse();
            let answer = Answer::Failed(failure(Class::Ambiguous, None));
            let after = self.chance.between(5, TIMEOUT);
            self.at(self.now + after, answered(answer, None));
            return;
        }
        let answer = match given {
            Some(_) => Answer::Tokens,
            None => Answer::Failed(failure(Class::Terminal, Some(400))),
        };
        self.later(5, 400, answered(answer, given));
    }

    pub(super) fn store(
        &mut self,
        replica: usize,
        incarnation: u32,
        number: u64,
        deed: &Deed,
    ) -> Result<(), String> {
        let told = |event| Happening::Told { replica, incarnation, task: number, event };
        if self.away_until > self.now {
            self.later(100, 2_000, told(Event::StoreAway));
            return Ok(());
        }
        let lost = self.now < CALM_FROM && self.chance.happens(self.plan.faults.store_word);
        if lost {
            self.excuse();
        }
        if lost && self.chance.happens(500) {
            self.later(1, 2_000, told(Event::StoreAway));
            return Ok(());
        }
        let again = self.now < CALM_FROM && self.chance.happens(self.plan.faults.store_word);
        let event = self.perform(replica, incarnation, number, deed)?;
        if again && matches!(deed, Deed::Write(..)) {
            // The same statement once more, as after a proxy's retry: nobody hears of it.
            self.perform(replica, incarnation, number, deed)?;
        }
        self.later(1, 30, told(if lost { Event::StoreAway } else { event }));
        Ok(())
    }

    fn perform(
        &mut self,
        replica: usize,
        incarnation: u32,
        number: u64,
        deed: &Deed,
    ) -> Result<Event, String> {
        let (now, without) = (self.now, self.plan.without);
        let id = self.task(replica, incarnation, number).map(|task| task.machine.connection());
        let row = self.row.as_mut().filter(|row| id.is_none_or(|id| row.id == id));
        Ok(match deed {
            Deed::Look => Event::Seen(row.map(|row| row.seen(now))),
            Deed::Take(generation, owner) => {
                let Some(row) = row else { return Ok(Event::Taken(None)) };
                let (failures, refresh) = (row.failures, row.refresh);
                let lease = row.take(*generation, *owner, LEASE, now, now, without);
                if let Some(task) = self.task(replica, incarnation, number) {
                    task.refresh = refresh;
                }
                Event::Taken(lease.map(|lease| (lease, failures)))
            }
            Deed::Release(owner) => {
                if let Some(row) = row {
                    row.release(*owner, LEASE);
                }
                Event::Released
            }
            Deed::Write(lease, write, tokens) => {
                let Some(row) = row.filter(|row| row.id == lease.connection) else {
                    return Ok(Event::Written(false));
                };
                let written = match write {
                    Write::Commit => {
                        let tokens = tokens.ok_or("a commit without tokens")?;
                        let before = row.generation;
                        let written = row.commit(lease, tokens, now + LIFE, without);
                        if written && before != lease.generation {
                            return Err("a late refresh has written over a later one".to_owned());
                        }
                        if written {
                            self.stored.insert(tokens.0);
                        }
                        written
                    }
                    Write::Fail { next_attempt_at, keep_intent, .. } => {
                        row.fail(lease, next_attempt_at.map(|at| at.0), *keep_intent, without)
                    }
                    Write::End { status, reason } => {
                        let told = row.told;
                        let written = row.end(lease, *status, reason, without);
                        if row.told > told + 1 {
                            return Err("an end was told twice".to_owned());
                        }
                        if written {
                            self.refused += u32::from(*reason == REFUSED);
                            self.rotations_lost += u32::from(*reason != REFUSED);
                        }
                        written
                    }
                };
                Event::Written(written)
            }
            Deed::Expire(generation, reason) => {
                Event::Written(row.is_some_and(|row| row.expire(*generation, reason, now, without)))
            }
            Deed::GiveBack(refresh) => {
                self.given_back.insert(*refresh);
                Event::GivenBack
            }
        })
    }
}

fn failure(class: Class, status: Option<u16>) -> Failure {
    Failure { class, code: None, status, retry_after: None, what: "simulated", spot: Box::default() }
}
