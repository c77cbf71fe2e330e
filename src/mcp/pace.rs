//! How much one person may ask for: requests and new questions by the minute, and calls that wait at the same time.
//!
//! Counted in this process alone; with several replicas the bounds are for each.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::fault::Fault;
use crate::{app::App, elicitation::ServerId, pace, secret::Hash, subject::Subject};

/// Calls and streams of one person that are open at the same time.
const SEATS: u32 = 16;
/// Before another should be tried.
const SEAT_RETRY: Duration = Duration::from_secs(5);

/// Requests and questions.
pub(super) struct Pace {
    requests: pace::Pace<Hash>,
    questions: pace::Pace<Hash>,
}

impl Pace {
    pub(super) fn new(app: &App) -> Self {
        let limits = &app.settings.limits;
        let per_minute = |times| pace::Pace::per_minute(times, app.clock.clone());
        Self {
            requests: per_minute(limits.requests_per_minute),
            questions: per_minute(limits.elicitations_per_minute),
        }
    }

    /// Counts one request.
    pub(super) fn request(&self, owner: &Subject) -> Result<(), Fault> {
        self.requests.check(&person(owner)).map_err(Fault::too_many)
    }

    /// Counts one new question to this person for this MCP server (E43).
    ///
    /// # Errors
    /// How long to wait.
    pub(super) fn question(&self, server: &ServerId, owner: &Subject) -> Result<(), Duration> {
        let key = [Hash::of(server.as_str().as_bytes()).0, person(owner).0].concat();
        self.questions.check(&Hash::of(&key))
    }
}

fn person(owner: &Subject) -> Hash {
    let parts = [&owner.issuer, &owner.sub].map(|part| Hash::of(part.as_bytes()).0);
    Hash::of(&parts.concat())
}

/// Who waits, and how often.
#[derive(Clone, Default)]
pub(super) struct Seats(Arc<Mutex<HashMap<Hash, u32>>>);

/// One that is taken; dropping it makes room.
pub(super) struct Seat {
    seats: Seats,
    person: Hash,
}

impl Seats {
    /// Takes one.
    pub(super) fn take(&self, owner: &Subject) -> Result<Seat, Fault> {
        let person = person(owner);
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(person).or_default();
        if *count >= SEATS {
            return Err(Fault::too_many(SEAT_RETRY));
        }
        *count += 1;
        drop(taken);
        Ok(Seat { seats: self.clone(), person })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.person) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.person);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_takes_so_many_seats_and_nobody_elses() {
        let seats = Seats::default();
        let alice = Subject::new("https://id.example", "alice").unwrap();
        let bob = Subject::new("https://id.example", "bob").unwrap();
        let taken: Vec<Seat> = (0..SEATS).map(|_| seats.take(&alice).ok().unwrap()).collect();
        assert!(seats.take(&alice).is_err());
        assert!(seats.take(&bob).is_ok());
        drop(taken);
        assert!(seats.take(&alice).is_ok());
        assert!(seats.0.lock().unwrap().is_empty(), "nothing is kept of who has left");
    }
}
