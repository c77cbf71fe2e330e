//! How fast and how much a caller may: new elicitations of one user, open streams of one MCP server.
//!
//! Counted in this process alone; with several replicas the bounds are per replica.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use crate::{clock::Clock, elicitation::ServerId, secret::Hash, subject::Subject};

use super::{
    Api,
    problem::{Code, Problem},
};

/// Before another stream should be tried.
const STREAM_RETRY: Duration = Duration::from_secs(5);

/// New elicitations of one user under one MCP server.
pub(super) struct Pace(crate::pace::Pace<Hash>);

impl Pace {
    pub(super) fn new(per_minute: u32, clock: Clock) -> Self {
        Self(crate::pace::Pace::per_minute(per_minute, clock))
    }

    /// Counts one request that asks this user something new.
    pub(super) fn check(&self, server: &ServerId, owner: &Subject) -> Result<(), Problem> {
        let parts = [server.as_str(), &owner.issuer, &owner.sub].map(|part| Hash::of(part.as_bytes()).0);
        self.0.check(&Hash::of(&parts.concat())).map_err(|wait| {
            let detail = "This user was asked for too many new connections within a minute.";
            Problem::new(Code::TooManyElicitations, detail).retry_after(wait)
        })
    }
}

/// Open event streams, counted for each MCP server of the settings.
pub(super) struct Streams {
    open: Vec<AtomicU32>,
    most: u32,
}

impl Streams {
    pub(super) fn new(servers: usize, most: u32) -> Self {
        Self { open: (0..servers).map(|_| AtomicU32::new(0)).collect(), most }
    }
}

/// One open stream; dropping it makes room.
pub(super) struct OpenStream {
    api: Api,
    index: usize,
}

impl OpenStream {
    /// Takes a place among the streams of an MCP server.
    pub(super) fn enter(api: &Api, index: usize) -> Result<Self, Problem> {
        let Streams { open, most } = &api.streams;
        let more = |count: u32| (count < *most).then_some(count + 1);
        match open[index].fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Self { api: api.clone(), index }),
            Err(_) => {
                let detail = "One stream carries everything; close another first.";
                Err(Problem::new(Code::TooManyStreams, detail).retry_after(STREAM_RETRY))
            }
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.api.streams.open[self.index].fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_a_pace_of_their_own_and_time_gives_it_back() {
        let clock = Clock::manual();
        let pace = Pace::new(2, clock.clone());
        let (files, notes): (ServerId, ServerId) = ("files".parse().unwrap(), "notes".parse().unwrap());
        let alice = Subject::new("https://id.example", "alice").unwrap();
        let bob = Subject::new("https://id.example", "bob").unwrap();
        assert!(pace.check(&files, &alice).is_ok());
        assert!(pace.check(&files, &alice).is_ok());
        assert!(pace.check(&files, &alice).is_err());
        assert!(pace.check(&files, &bob).is_ok());
        assert!(pace.check(&notes, &alice).is_ok());
        clock.advance(Duration::from_secs(30));
        assert!(pace.check(&files, &alice).is_ok());
        assert!(pace.check(&files, &alice).is_err());
    }
}
