//! A queue that is worked off: claims as many jobs as there are free hands, and waits when there are none.
//!
//! It is woken by this process's commits and looks by itself for what became due, or came from other replicas. What it
//! must never do: let one queue wait for another's hands.

use std::{future::Future, time::Duration};

use tokio::{sync::watch, task::JoinSet};

use crate::{app::App, store::StoreError};

/// How often the store is asked when no wake-up comes.
const POLL: Duration = Duration::from_secs(1);

/// Works a queue off until the process drains, and then finishes what is under way. `claim` gives at most so many jobs.
pub(super) async fn pump<J, C, W, N>(
    app: &App,
    hands: u32,
    mut woken: watch::Receiver<N>,
    claim: impl Fn(u32) -> C,
    work: impl Fn(J) -> W,
) where
    C: Future<Output = Result<Vec<J>, StoreError>>,
    W: Future<Output = ()> + Send + 'static,
{
    let mut working = JoinSet::new();
    while !app.shutdown.is_cancelled() {
        woken.mark_unchanged();
        let busy = u32::try_from(working.len()).unwrap_or(hands);
        let free = hands.saturating_sub(busy);
        let claimed = if free > 0 { claim(free).await } else { Ok(Vec::new()) };
        let claimed = claimed.unwrap_or_else(|error| {
            tracing::warn!(%error, "a queue could not be read");
            Vec::new()
        });
        let more = free > 0 && u32::try_from(claimed.len()) == Ok(free);
        for job in claimed {
            working.spawn(work(job));
        }
        if more {
            // All hands are busy: whoever is done first is free for the next.
            tokio::select! {
                Some(_) = working.join_next() => {}
                () = app.shutdown.cancelled() => {}
            }
            continue;
        }
        tokio::select! {
            Some(_) = working.join_next(), if !working.is_empty() => {}
            changed = woken.changed() => if changed.is_err() { break },
            () = app.clock.sleep(POLL) => {}
            () = app.shutdown.cancelled() => {}
        }
    }
    while working.join_next().await.is_some() {}
}
