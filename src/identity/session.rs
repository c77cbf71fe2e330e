//! What a session's id looks like, and how long a session lives.
//!
//! The id is a secret of 256 bits that stands in the browser's cookie and nowhere else; the store keeps its SHA-256.
//! What it must never do: tell the time by itself, or believe a cookie that the store does not know.

use std::time::Duration;

use crate::{
    clock::Millis,
    config::Lifetimes,
    random::Random,
    secret::{Hash, Secret},
};

/// The id of a session.
#[derive(Clone, Debug)]
pub struct SessionId(Secret);

impl SessionId {
    /// A fresh one.
    pub fn new(random: Random) -> Self {
        Self(random.secret())
    }

    /// The cookie's value.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// What the store knows it by.
    pub fn hash(&self) -> Hash {
        self.0.hash()
    }
}

/// How long sessions live.
#[derive(Clone, Copy, Debug)]
pub struct SessionLife {
    idle: Duration,
    whole: Duration,
}

impl SessionLife {
    /// As the settings say.
    pub fn of(lifetimes: &Lifetimes) -> Self {
        Self { idle: lifetimes.session_idle, whole: lifetimes.session }
    }

    /// The oldest idle stamp that still counts.
    pub fn idle_since(self, now: Millis) -> Millis {
        now.minus(self.idle)
    }

    /// Whether the idle stamp is due: at most once in a tenth of the idle life, for most requests only read.
    pub fn is_stamp_due(self, seen_at: Millis, now: Millis) -> bool {
        seen_at.plus(self.idle / 10) <= now
    }

    /// The whole life, as the store counts.
    pub fn whole_ms(self) -> i64 {
        i64::try_from(self.whole.as_millis()).unwrap_or(i64::MAX)
    }

    /// The whole life, as a cookie counts: whole seconds.
    pub fn whole(self) -> Duration {
        self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R98: the store gets the digest, and nothing prints the id.
    #[test]
    fn r98_an_id_is_not_shown() {
        let id = SessionId::new(Random);
        assert_eq!(id.hash(), Hash::of(id.expose().as_bytes()));
        assert!(!format!("{id:?}").contains(id.expose()));
    }

    /// R37: an idle stamp counts for the idle life, and is written ten times in it at most.
    #[test]
    fn r37_idleness_is_judged_from_the_stamp() {
        let life = SessionLife { idle: Duration::from_mins(30), whole: Duration::from_hours(12) };
        let now = Millis(1_764_417_600_000);
        assert_eq!(life.idle_since(now), now.minus(Duration::from_mins(30)));
        assert!(!life.is_stamp_due(now, now));
        assert!(!life.is_stamp_due(now.minus(Duration::from_secs(179)), now));
        assert!(life.is_stamp_due(now.minus(Duration::from_mins(3)), now));
        assert_eq!(life.whole_ms(), 43_200_000);
    }
}
