//! When a token is refreshed: pure, from what the row says and the time.
//!
//! A refresh ahead of the expiry is made behind an answer that hands the old token out, so that nobody waits.

use std::time::Duration;

use crate::{
    clock::Millis,
    connection::{Connection, ConnectionId, Status},
};

/// The least margin before an expiry.
const MARGIN: Duration = Duration::from_secs(60);

/// What handing out needs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// A refresh behind the answer; the token lives.
    Behind,
    /// A refresh before the answer.
    First,
}

/// Whether this connection is to be refreshed at `now`.
pub fn need(connection: &Connection, now: Millis) -> Need {
    let may = connection.status == Status::Active && connection.can_refresh;
    if !connection.is_usable(now) {
        return if may { Need::First } else { Need::Nothing };
    }
    let Some(expires_at) = connection.access_expires_at.filter(|_| may) else { return Need::Nothing };
    let margin = margin(connection.id, connection.refreshed_at, expires_at);
    let waits = connection.next_attempt_at.is_some_and(|at| at > now);
    if expires_at.minus(margin) <= now && !waits { Need::Behind } else { Need::Nothing }
}

/// How long before the expiry: 60 s or a tenth of the life, whichever is more, less a share of up to a fifth that the id
/// decides, so that what was made together is not refreshed together. Never more than half of the life: a token that
/// lives shortly is not refreshed with every answer.
fn margin(id: ConnectionId, received_at: Option<Millis>, expires_at: Millis) -> Duration {
    let life = received_at.map(|at| at.until(expires_at));
    let margin = life.map_or(MARGIN, |life| MARGIN.max(life / 10));
    let share = u32::from(u8::try_from(id.0.as_u128() % 200).unwrap_or_default());
    let margin = margin - margin * share / 1000;
    life.map_or(margin, |life| margin.min(life / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn margin_of(id: u128, life: u64) -> u64 {
        let id = ConnectionId(uuid::Uuid::from_u128(id));
        margin(id, Some(Millis(0)), Millis(0).plus(Duration::from_secs(life))).as_secs()
    }

    #[test]
    fn a_token_is_refreshed_a_tenth_of_its_life_ahead_and_not_all_at_once() {
        assert_eq!(margin_of(0, 3600), 360);
        assert_eq!(margin_of(100, 3600), 324);
        assert_eq!(margin_of(199, 3600), 288);
        assert_eq!(margin_of(0, 300), 60);
        assert_eq!(margin_of(0, 100_000), 10_000);
    }

    /// F47: a life shorter than the margin is no reason to refresh all the time.
    #[test]
    fn a_short_life_is_used_by_half_at_least() {
        for life in [0, 1, 10, 60, 119] {
            for id in [0, 1, 199] {
                assert!(margin_of(id, life) <= life / 2, "{life}");
            }
        }
    }
}
