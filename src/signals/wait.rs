//! Waiting for elicitations to end: woken by commits, and looking by itself for those that woke nobody.

use std::time::Duration;

use futures_util::future::try_join_all;

use crate::{
    app::App,
    connect::{self, Refusal},
    elicitation::{Elicitation, ElicitationId, ServerId, State},
    store::POLL,
};

/// Reads elicitations of one MCP server until `enough` of what is known, `patience` is over, or the process drains.
/// No database connection is held meanwhile.
///
/// # Errors
/// [`Refusal::NotFound`] for an id that is not this MCP server's; the store's.
pub async fn settled(
    app: &App,
    server: &ServerId,
    ids: &[ElicitationId],
    patience: Duration,
    enough: impl Fn(&[State]) -> bool,
) -> Result<Vec<Elicitation>, Refusal> {
    let until = app.clock.now().plus(patience);
    // Before the first look, or what is committed in between wakes nobody.
    let mut woken = app.store.subscribe(server);
    loop {
        let found = try_join_all(ids.iter().map(|id| connect::read(app, server, *id))).await?;
        let now = app.clock.now();
        let states: Vec<State> = found.iter().map(|one| one.state(now)).collect();
        if found.iter().zip(&states).any(|(one, state)| one.stored.is_open() && *state == State::Expired) {
            // It ran out while it was read; the next look closes it, with its signal.
            continue;
        }
        if enough(&states) || now >= until || app.shutdown.is_cancelled() {
            return Ok(found);
        }
        tokio::select! {
            // The sender lives as long as the store, so this ends only by a wake-up.
            _ = woken.changed() => {}
            () = app.clock.sleep_until(until.min(now.plus(POLL))) => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}
