//! One refresh, as a machine without I/O: it is told what happened and says what to do next.
//!
//! A task drives it against the store and the provider, and a simulation against both in virtual time, so that what is
//! proved of it is what runs. The order is the protocol: look, stand in line, take the lease with the intent, send once,
//! store under the fence. What it must never do: send without a lease, send twice under one, or call a token usable
//! before it is stored.

use std::time::Duration;

use super::{
    step::{Action, Answer, Event, Finish, Pause, Seen, Spans, Write},
    verdict::{ACCOUNT_MISMATCH, Circumstances, Verdict, is_due, judge},
};
use crate::{
    clock::Millis,
    connection::{ConnectionId, Status},
    store::Lease,
};

/// How long tokens that cannot be stored are kept and tried again: they exist nowhere else.
const HOLD: Duration = Duration::from_secs(15 * 60);

#[derive(Clone, Debug)]
enum State {
    Idle,
    Looking,
    /// Whose commit went through?
    Fenced(Lease),
    Polling,
    Lining(i64),
    Taking {
        generation: i64,
        since: Millis,
    },
    Releasing(Finish),
    Asking(Lease, i64),
    Writing {
        lease: Lease,
        write: Write,
        away: u32,
        draining: bool,
    },
    /// A write, or the look after one, that the store did not do.
    WaitingForStore {
        lease: Lease,
        write: Option<Write>,
        away: u32,
    },
    Expiring(&'static str),
    WaitingToRetry,
    GivingBack(u32),
    Over,
}

/// The machine of one refresh.
#[derive(Debug)]
pub struct Machine {
    spans: Spans,
    /// The generation that is to be replaced.
    beyond: i64,
    connection: ConnectionId,
    state: State,
    polls: u32,
    retried: bool,
    /// That the next failure is followed by another try at once.
    soon: Option<Millis>,
    began_at: Millis,
    leased_at: Millis,
}

impl Machine {
    /// Of the refresh that replaces a generation.
    pub fn new(connection: ConnectionId, beyond: i64, spans: Spans) -> Self {
        Self {
            spans,
            beyond,
            connection,
            state: State::Idle,
            polls: 0,
            retried: false,
            soon: None,
            began_at: Millis(0),
            leased_at: Millis(0),
        }
    }

    /// Which connection it is of.
    pub fn connection(&self) -> ConnectionId {
        self.connection
    }

    /// Takes what happened and says what to do. An event that does not fit ends it.
    pub fn step(&mut self, event: Event, now: Millis) -> Action {
        match (std::mem::replace(&mut self.state, State::Over), event) {
            (State::Idle, Event::Begin) => {
                self.began_at = now;
                self.look()
            }
            (State::Polling | State::WaitingToRetry, Event::Waited { draining: false }) => self.look(),
            (State::Polling | State::WaitingToRetry, Event::Waited { draining: true }) => {
                Action::Done(Finish::Drained)
            }
            (State::Looking, Event::Seen(seen)) => self.seen(seen, now),
            (State::Lining(generation), Event::Permitted) => {
                self.state = State::Taking { generation, since: now };
                Action::Take(generation)
            }
            (State::Lining(_), Event::Paused(until)) => Action::Done(Finish::Paused(until)),
            (State::Taking { generation, since }, Event::Taken(taken)) => {
                self.taken(generation, since, taken, now)
            }
            // Whether it was taken is not known.
            (State::Taking { .. }, Event::StoreAway) => self.release(Finish::StoreAway),
            (State::Releasing(finish), Event::Released | Event::StoreAway) => Action::Done(finish),
            (State::Asking(lease, failures), Event::Answered(answer, roll)) => {
                self.answered(lease, failures, answer, roll, now)
            }
            (State::Writing { write, .. }, Event::Written(true)) => self.written(&write),
            (State::Writing { lease, write: Write::Commit, .. }, Event::Written(false)) => {
                self.state = State::Fenced(lease);
                Action::Look
            }
            (State::Writing { .. }, Event::Written(false)) => {
                self.soon = None;
                self.look()
            }
            (State::Writing { lease, write, away, draining }, Event::StoreAway) => {
                self.store_away(lease, Some(write), away, draining, now)
            }
            (State::Fenced(lease), Event::StoreAway) => self.store_away(lease, None, 0, false, now),
            (State::WaitingForStore { lease, write, away }, Event::Waited { draining }) => match write {
                Some(write) => self.write(lease, write, away + 1, draining),
                None if draining => Action::Done(Finish::Drained),
                None => {
                    self.state = State::Fenced(lease);
                    Action::Look
                }
            },
            (State::Fenced(lease), Event::Seen(seen)) => self.fenced(lease, seen),
            (State::Expiring(reason), Event::Written(true)) => Action::Done(Finish::Ended(reason)),
            (State::Expiring(_), Event::Written(false)) => Action::Done(Finish::Moved),
            (State::GivingBack(_), Event::GivenBack) => Action::Done(Finish::GaveBack),
            (State::GivingBack(_), Event::Waited { draining: true }) => Action::Done(Finish::StoreAway),
            (State::GivingBack(away), Event::Waited { draining: false }) => {
                self.state = State::GivingBack(away + 1);
                Action::GiveBack
            }
            (State::GivingBack(away), Event::StoreAway) if self.leased_at.plus(HOLD) > now => {
                self.state = State::GivingBack(away);
                Action::Pause(Pause::StoreAway(away))
            }
            // A look or an end that the store does not do now is somebody's next try.
            (_, _) => Action::Done(Finish::StoreAway),
        }
    }

    fn look(&mut self) -> Action {
        self.state = State::Looking;
        Action::Look
    }

    fn seen(&mut self, seen: Option<Seen>, now: Millis) -> Action {
        let Some(seen) = seen else { return Action::Done(Finish::Moved) };
        if seen.generation > self.beyond || !seen.refreshable {
            return Action::Done(Finish::Moved);
        }
        if seen.leased {
            if self.began_at.plus(self.spans.lease * 3) <= now {
                return Action::Done(Finish::Busy);
            }
            self.polls += 1;
            self.state = State::Polling;
            return Action::Pause(Pause::Poll(self.polls));
        }
        if let Some(reason) = seen.over {
            self.state = State::Expiring(reason);
            return Action::Expire { generation: seen.generation, reason };
        }
        match seen.next_attempt_at.filter(|at| !is_due(Some(*at), now)) {
            Some(at) => Action::Done(Finish::Later(at)),
            None => {
                self.state = State::Lining(seen.generation);
                Action::Line
            }
        }
    }

    fn taken(&mut self, generation: i64, since: Millis, taken: Option<(Lease, i64)>, now: Millis) -> Action {
        match taken {
            None => {
                self.polls += 1;
                self.state = State::Polling;
                Action::Pause(Pause::Poll(self.polls))
            }
            // The store's word came so late that the lease could run out under the request.
            Some(_) if since.plus(self.spans.lease / 4) <= now => self.release(Finish::StoreAway),
            Some((lease, failures)) => {
                debug_assert_eq!(lease.generation, generation, "the lease is of what was looked at");
                self.leased_at = since;
                self.state = State::Asking(lease, failures);
                Action::Send(lease)
            }
        }
    }

    fn release(&mut self, finish: Finish) -> Action {
        self.state = State::Releasing(finish);
        Action::Release
    }

    fn answered(&mut self, lease: Lease, failures: i64, answer: Answer, roll: u64, now: Millis) -> Action {
        let reusable = matches!(answer, Answer::Doubtful(_));
        let write = match answer {
            Answer::Tokens => Write::Commit,
            Answer::OtherAccount => Write::End { status: Status::Quarantined, reason: ACCOUNT_MISMATCH },
            Answer::Unsent => return self.release(Finish::Unreadable),
            Answer::Failed(failure) | Answer::Doubtful(failure) => {
                let trial = self.spans.trial;
                let circumstances =
                    Circumstances { recovering: lease.recovering, reusable, failures, trial, roll };
                match judge(&failure, circumstances) {
                    Verdict::End(reason) => Write::End { status: Status::NeedsReconnect, reason },
                    Verdict::Later { code, after, keep_intent, soon } => {
                        let next_attempt_at = after.map(|after| now.plus(after));
                        self.soon = next_attempt_at.filter(|_| soon && !self.retried);
                        Write::Fail { code, next_attempt_at, keep_intent }
                    }
                }
            }
        };
        self.write(lease, write, 0, false)
    }

    fn write(&mut self, lease: Lease, write: Write, away: u32, draining: bool) -> Action {
        self.state = State::Writing { lease, write: write.clone(), away, draining };
        Action::Write(lease, write)
    }

    fn written(&mut self, write: &Write) -> Action {
        match *write {
            Write::Commit => Action::Done(Finish::Renewed),
            Write::End { reason, .. } => Action::Done(Finish::Ended(reason)),
            Write::Fail { code, next_attempt_at, .. } => match self.soon.take() {
                Some(at) => {
                    self.retried = true;
                    self.state = State::WaitingToRetry;
                    Action::Pause(Pause::Until(at))
                }
                None => Action::Done(Finish::Failed { code, next_attempt_at }),
            },
        }
    }

    /// New tokens are kept for long; a failure is found out again by whoever comes after the lease.
    fn store_away(
        &mut self,
        lease: Lease,
        write: Option<Write>,
        away: u32,
        draining: bool,
        now: Millis,
    ) -> Action {
        let patience = match write {
            Some(Write::Commit) | None => HOLD,
            Some(Write::Fail { .. } | Write::End { .. }) => self.spans.lease,
        };
        if draining || self.leased_at.plus(patience) <= now {
            return Action::Done(Finish::StoreAway);
        }
        self.state = State::WaitingForStore { lease, write, away };
        Action::Pause(Pause::StoreAway(away))
    }

    fn fenced(&mut self, lease: Lease, seen: Option<Seen>) -> Action {
        // Nobody has these tokens, and nobody will: whoever advances the generation has others of the same grant.
        let orphaned = seen.is_none_or(|seen| seen.ended && seen.generation == lease.generation);
        let Some(seen) = seen.filter(|_| !orphaned) else {
            self.state = State::GivingBack(0);
            return Action::GiveBack;
        };
        // The word of an earlier try was lost: it went through.
        let ours = seen.lease_token == lease.token && seen.generation == lease.generation + 1;
        Action::Done(if ours { Finish::Renewed } else { Finish::Fenced })
    }
}
