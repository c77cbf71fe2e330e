//! The three clocks of a connection: its access token's, its refresh token's, and the consent's.
//!
//! The first is looked at when it is handed out. The other two are looked at by a walk over all connections: a refresh
//! token is used before it ends unused, the MCP server is told ahead of what nobody here can prevent, and what is over
//! is ended. What it must never do: refresh an access token that nobody asks for, for any other reason.

use std::time::Duration;

use futures_util::future::join_all;

use super::{
    home::{Home, adopt},
    refresh::{CONSENT_EXPIRED, REFRESH_EXPIRED, UNAUTHORIZED},
};
use crate::{
    app::App,
    clock::Millis,
    connect::Refusal,
    connection::{PROVIDER_CHANGED, Status},
    store::Clocked,
};

/// The refresh token ends soon, and could not be renewed so far.
const REFRESH_EXPIRES_SOON: &str = "refresh_expires_soon";
/// The consent ends soon.
const CONSENT_EXPIRES_SOON: &str = "consent_expires_soon";

/// How long a refresh token that is not sent any more is kept.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// Between two refreshes that only keep a token alive.
const SELDOM: Duration = Duration::from_secs(3600);
/// Connections in one page, and between two pages.
const PAGE: u32 = 500;
const BREATH: Duration = Duration::from_millis(100);

/// What a clock asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// The connection is over.
    End(&'static str),
    /// The MCP server is told, once.
    Warn(&'static str),
    /// The refresh token is used, lest it end unused.
    KeepAlive,
    /// The dead refresh token is deleted.
    Forget,
}

/// Goes through all connections once.
///
/// # Errors
/// The store's; the next walk begins anew.
pub async fn walk(app: &App) -> Result<(), Refusal> {
    let mut after = None;
    loop {
        let page = app.store.walk_connections(after, PAGE).await?;
        let mut kept_alive = Vec::new();
        for one in &page {
            let now = app.clock.now();
            let home = Home::of(app, &one.provider, &one.values, one.fingerprint.as_ref());
            if let Home::Unsaid(provider) = &home {
                adopt(app, one.id, one.grant, provider).await?;
            }
            for due in due(one, &home, app.settings.refresh.warn_ahead, now) {
                match due {
                    Due::End(reason) => {
                        app.store.end_by_clock(one.id, one.generation, reason, now).await?;
                    }
                    Due::Warn(reason) => {
                        app.store.warn_connection(one.id, one.generation, reason, now).await?;
                    }
                    Due::KeepAlive => {
                        kept_alive.push(app.refreshes.join(app, one.id, one.generation).end());
                    }
                    Due::Forget => {
                        app.store.forget_refresh(one.id, now.minus(KEPT)).await?;
                    }
                }
            }
        }
        // The next page waits for this one's refreshes, so that a walk never asks for more than the providers give.
        join_all(kept_alive).await;
        after = page.last().map(|last| last.id);
        if page.len() < PAGE as usize || app.shutdown.is_cancelled() {
            return Ok(());
        }
        app.clock.sleep(BREATH).await;
    }
}

fn due(one: &Clocked, home: &Home, warn_ahead: Duration, now: Millis) -> Vec<Due> {
    if one.status != Status::Active {
        let dead = one.can_refresh && one.ended_at.is_some_and(|at| at.plus(KEPT) < now);
        return if dead { vec![Due::Forget] } else { Vec::new() };
    }
    if matches!(home, Home::Changed) {
        return vec![Due::End(PROVIDER_CHANGED)];
    }
    if one.consent_expires_at.is_some_and(|at| at <= now) {
        return vec![Due::End(CONSENT_EXPIRED)];
    }
    let provider = home.as_provider();
    // Reported while a refresh was under way, which has brought nothing.
    if one.refused_again {
        return vec![Due::End(UNAUTHORIZED)];
    }
    let mut all = Vec::new();
    let lifetime = provider.and_then(|provider| provider.consent_lifetime);
    let ahead = lifetime.map_or(warn_ahead, |lifetime| warn_ahead.min(lifetime / 4));
    if one.warned_at.is_none() && one.consent_expires_at.is_some_and(|at| at.minus(ahead) <= now) {
        all.push(Due::Warn(CONSENT_EXPIRES_SOON));
    }
    let idle = provider.and_then(|provider| provider.refresh_idle);
    let from = one.refreshed_at.or_else(|| Some(one.refresh_expires_at?.minus(idle?))).unwrap_or(now);
    let end = one.refresh_expires_at.or_else(|| Some(one.refreshed_at?.plus(idle?)));
    let Some(end) = end.filter(|_| one.can_refresh) else { return all };
    if end <= now {
        return vec![Due::End(REFRESH_EXPIRED)];
    }
    let span = from.until(end);
    // Beside the margin that the operator wants, there must have been time to renew it.
    let told_from = end.minus(warn_ahead).max(from.plus(span * 9 / 10));
    if all.is_empty() && one.warned_at.is_none() && told_from <= now {
        all.push(Due::Warn(REFRESH_EXPIRES_SOON));
    }
    if from.plus(span * 8 / 10) <= now && from.plus(SELDOM.min(span / 2)) <= now {
        all.push(Due::KeepAlive);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::ConnectionId;

    const HOUR: Duration = Duration::from_secs(3600);
    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn clocked() -> Clocked {
        Clocked {
            id: ConnectionId(uuid::Uuid::from_u128(1)),
            provider: "acme".parse().unwrap(),
            generation: 1,
            status: Status::Active,
            can_refresh: true,
            refresh_expires_at: None,
            consent_expires_at: None,
            refreshed_at: Some(Millis(0)),
            warned_at: None,
            ended_at: None,
            refused_again: false,
            grant: 1,
            values: crate::values::Values::default(),
            fingerprint: None,
        }
    }

    fn at(one: &Clocked, after: Duration) -> Vec<Due> {
        due(one, &Home::Gone, DAY * 3, Millis(0).plus(after))
    }

    #[test]
    fn what_has_no_end_asks_for_nothing() {
        assert!(at(&clocked(), DAY * 3650).is_empty());
    }

    #[test]
    fn a_refresh_token_is_used_before_it_ends_unused() {
        let one = Clocked { refresh_expires_at: Some(Millis(0).plus(DAY * 60)), ..clocked() };
        assert!(at(&one, DAY * 47).is_empty());
        assert_eq!(at(&one, DAY * 48), [Due::KeepAlive]);
        assert_eq!(at(&one, DAY * 57), [Due::Warn(REFRESH_EXPIRES_SOON), Due::KeepAlive]);
        assert_eq!(at(&one, DAY * 60), [Due::End(REFRESH_EXPIRED)]);
        let told = Clocked { warned_at: Some(Millis(1)), ..one.clone() };
        assert_eq!(at(&told, DAY * 59), [Due::KeepAlive]);
        let cannot = Clocked { can_refresh: false, ..one };
        assert!(at(&cannot, DAY * 60).is_empty());
    }

    #[test]
    fn a_short_idle_limit_is_kept_without_alarm() {
        let one = Clocked { refresh_expires_at: Some(Millis(0).plus(HOUR)), ..clocked() };
        assert!(at(&one, HOUR / 2).is_empty());
        assert_eq!(at(&one, HOUR * 8 / 10), [Due::KeepAlive]);
    }

    #[test]
    fn the_end_of_a_consent_is_told_ahead_and_then_it_ends() {
        let one = Clocked { consent_expires_at: Some(Millis(0).plus(DAY * 90)), ..clocked() };
        assert!(at(&one, DAY * 86).is_empty());
        assert_eq!(at(&one, DAY * 87), [Due::Warn(CONSENT_EXPIRES_SOON)]);
        assert_eq!(at(&one, DAY * 90), [Due::End(CONSENT_EXPIRED)]);
    }

    /// R63.
    #[test]
    fn r63_a_changed_place_ends_it() {
        let due = due(&clocked(), &Home::Changed, DAY * 3, Millis(1));
        assert_eq!(due, [Due::End(PROVIDER_CHANGED)]);
    }

    #[test]
    fn what_was_refused_again_ends() {
        assert_eq!(at(&Clocked { refused_again: true, ..clocked() }, HOUR), [Due::End(UNAUTHORIZED)]);
    }

    #[test]
    fn a_dead_refresh_token_goes_after_a_day() {
        let ended = Clocked {
            status: Status::NeedsReconnect,
            ended_at: Some(Millis(0)),
            refresh_expires_at: Some(Millis(0)),
            ..clocked()
        };
        assert!(at(&ended, DAY).is_empty());
        assert_eq!(at(&ended, DAY + HOUR), [Due::Forget]);
    }
}
