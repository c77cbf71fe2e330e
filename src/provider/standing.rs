//! How we stand with a provider: whether refreshes go out, or are held back because it fails, asked us to wait, or
//! refuses our client.
//!
//! Every pause ends by a trial: one request at a time, sent when the pause is over, and what it finds decides. A pause
//! of our own making lets one through within `refresh.trial`, so that what was mended works again without anyone; only a
//! time that the provider itself has named (`Retry-After`) is kept to the end. What it must never do: end a connection.
//! Pure: no clock, no lock.

use std::time::Duration;

use crate::{
    clock::Millis,
    provider::failure::{Class, Failure, LONGEST_WAIT},
};

/// Failures in a row that begin a pause.
pub(super) const TOO_MANY: u32 = 5;
/// The shortest pause.
pub(super) const BASE: Duration = Duration::from_secs(1);

/// Why nothing is sent for the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It refuses our client: only the operator can mend that.
    ClientRefused,
    /// It failed several times in a row.
    Failing,
    /// It asked us to wait (`Retry-After`).
    Asked,
    /// Too many wait already, in this process.
    Crowded,
}

impl Why {
    /// A stable name, for logs and reasons.
    pub fn code(self) -> &'static str {
        match self {
            Self::ClientRefused => "client_refused",
            Self::Failing => "failing",
            Self::Asked => "asked_to_wait",
            Self::Crowded => "crowded",
        }
    }
}

/// No request now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the provider is left alone: {}", why.code())]
pub struct Paused {
    /// When to ask again; no promise that it is over then.
    pub until: Millis,
    /// Why.
    pub why: Why,
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// A refresh; it can be the trial.
    Refresh,
    /// A revocation, for which a person may wait: a refused client is no reason not to try it, and it proves nothing.
    Revocation,
}

/// Leave to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// As usual.
    Free,
    /// As the one trial of a pause.
    Trial,
}

/// What a result has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A pause began.
    Paused(Paused),
    /// A pause is over.
    Resumed(Why),
}

/// See the head.
#[derive(Debug)]
pub(super) struct Standing {
    trial: Duration,
    failures: u32,
    pause: Option<Pause>,
}

#[derive(Debug)]
struct Pause {
    why: Why,
    until: Millis,
    /// Trials that failed.
    failed: u32,
    /// Whether the trial is under way.
    trying: bool,
}

impl Standing {
    /// Nothing against the provider. `trial` is the longest that a pause of our own making lasts.
    pub(super) fn new(trial: Duration) -> Self {
        Self { trial, failures: 0, pause: None }
    }

    /// Whether something may be sent. A [`Leave::Trial`] is given once, until its result is noted or it is handed back.
    ///
    /// # Errors
    /// [`Paused`].
    pub(super) fn leave(&mut self, errand: Errand, now: Millis) -> Result<Leave, Paused> {
        let Some(pause) = &mut self.pause else { return Ok(Leave::Free) };
        // A clock that was set back must not stretch a pause.
        let longest = if pause.why == Why::Asked { LONGEST_WAIT } else { self.trial.max(BASE) };
        pause.until = pause.until.min(now.plus(longest));
        let over = pause.until <= now;
        match errand {
            Errand::Revocation if over || pause.why == Why::ClientRefused => Ok(Leave::Free),
            Errand::Refresh if over && !pause.trying => {
                pause.trying = true;
                Ok(Leave::Trial)
            }
            Errand::Refresh | Errand::Revocation => {
                Err(Paused { until: pause.until.max(now.plus(BASE)), why: pause.why })
            }
        }
    }

    /// The trial was not made, or ended without a result.
    pub(super) fn hand_back(&mut self) {
        if let Some(pause) = &mut self.pause {
            pause.trying = false;
        }
    }

    /// Something worked that nobody had asked leave for: our client is not refused, the provider does not fail.
    pub(super) fn worked(&mut self) -> Option<Change> {
        self.proved(false, true)
    }

    /// Notes what came of a refresh. `jitter` gives a number below its argument.
    pub(super) fn note(
        &mut self,
        failure: Option<&Failure>,
        leave: Leave,
        now: Millis,
        jitter: impl Fn(u64) -> u64,
    ) -> Option<Change> {
        let is_trial = leave == Leave::Trial;
        let Some(failure) = failure else { return self.proved(is_trial, true) };
        match failure.class {
            // It has looked at the grant, so it has let our client in.
            Class::Terminal => self.proved(is_trial, true),
            Class::Configuration => self.proved(is_trial, false).or_else(|| {
                self.put_off(is_trial, now, &jitter);
                None
            }),
            Class::Operator => self.refused(is_trial, now),
            Class::Transient | Class::Suspicious | Class::NotSent | Class::Ambiguous | Class::Policy => {
                self.failed(failure.retry_after, is_trial, now, &jitter)
            }
        }
    }

    fn proved(&mut self, is_trial: bool, client_let_in: bool) -> Option<Change> {
        self.failures = 0;
        let over = match self.pause.as_ref()?.why {
            Why::ClientRefused => client_let_in,
            // A request that was under way when it asked us to wait takes nothing of that back.
            Why::Asked => is_trial,
            Why::Failing | Why::Crowded => true,
        };
        if over { self.pause.take().map(|pause| Change::Resumed(pause.why)) } else { None }
    }

    fn refused(&mut self, is_trial: bool, now: Millis) -> Option<Change> {
        self.failures = 0;
        let until = now.plus(self.trial.max(BASE));
        match &mut self.pause {
            Some(pause) if pause.why == Why::ClientRefused => {
                if is_trial {
                    *pause = Pause { until, trying: false, ..*pause };
                }
                None
            }
            pause => {
                *pause = Some(Pause { why: Why::ClientRefused, until, failed: 0, trying: false });
                Some(Change::Paused(Paused { until, why: Why::ClientRefused }))
            }
        }
    }

    fn failed(
        &mut self,
        retry_after: Option<Duration>,
        is_trial: bool,
        now: Millis,
        jitter: &impl Fn(u64) -> u64,
    ) -> Option<Change> {
        self.failures = self.failures.saturating_add(1);
        if let Some(wait) = retry_after {
            return self.asked(now.plus(wait.clamp(BASE, LONGEST_WAIT)), is_trial);
        }
        if self.pause.is_some() {
            self.put_off(is_trial, now, jitter);
            return None;
        }
        if self.failures < TOO_MANY {
            return None;
        }
        let until = now.plus(self.back_off(0, jitter));
        self.pause = Some(Pause { why: Why::Failing, until, failed: 0, trying: false });
        Some(Change::Paused(Paused { until, why: Why::Failing }))
    }

    /// The provider named a time.
    fn asked(&mut self, until: Millis, is_trial: bool) -> Option<Change> {
        match &mut self.pause {
            None => {
                self.pause = Some(Pause { why: Why::Asked, until, failed: 0, trying: false });
                Some(Change::Paused(Paused { until, why: Why::Asked }))
            }
            Some(pause) => {
                let trying = pause.trying && !is_trial;
                // What was refused stays refused; all else gives way to what the provider says.
                let why = if pause.why == Why::ClientRefused { pause.why } else { Why::Asked };
                *pause = Pause { why, until: pause.until.max(until), trying, ..*pause };
                None
            }
        }
    }

    /// A trial that found nothing better: the next one later. What was under way besides says nothing new.
    fn put_off(&mut self, is_trial: bool, now: Millis, jitter: &impl Fn(u64) -> u64) {
        let Some(mut pause) = self.pause.take() else { return };
        if is_trial {
            let failed = pause.failed.saturating_add(1);
            let (why, wait) = match pause.why {
                Why::ClientRefused => (Why::ClientRefused, self.trial.max(BASE)),
                Why::Failing | Why::Asked | Why::Crowded => (Why::Failing, self.back_off(failed, jitter)),
            };
            pause = Pause { why, until: now.plus(wait), failed, trying: false };
        }
        self.pause = Some(pause);
    }

    /// Full jitter up to twice as much each time, and never longer than a trial may be away.
    fn back_off(&self, failed: u32, jitter: &impl Fn(u64) -> u64) -> Duration {
        let most = BASE.saturating_mul(2_u32.saturating_pow(failed.saturating_add(1))).min(self.trial);
        let jittered = Duration::from_millis(jitter(u64::try_from(most.as_millis()).unwrap_or(u64::MAX)));
        (BASE + jittered).min(self.trial.max(BASE))
    }
}

#[cfg(test)]
mod tests;
