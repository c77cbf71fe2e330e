//! A modern client's retry: its `requestState` comes back, and with it perhaps what the user answered.
//!
//! Whatever the client says, the store says what happened: `accept` is never taken for completion. A replay is
//! answered from the store like any other retry.

use std::time::Duration;

use axum::response::Response;
use consentry_elicitation::{ElicitAction, InputResponses, STATE_ONLY_ROUNDS, Turn, reply::keys};

use crate::{
    connect::Refusal,
    elicitation::{Elicitation, State},
    signals,
    subject::Subject,
};

use super::{
    auth::Caller,
    elicitations::close,
    links::{action_required, asks, outcome, refused},
    problem::Problem,
    question::Question,
    request_state::{RequestState, binding},
    resolve::{first_round, look_up, ready},
};

/// Waits for the outcome of what was asked, and tells it.
pub(super) async fn retry(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
    text: &str,
    responses: &InputResponses,
) -> Result<Response, Problem> {
    let (app, server) = (&caller.app, &caller.server().id);
    let state = RequestState::open(&app.vault, server, &binding(owner, question), text)?;
    if state.expires_at <= app.clock.now() {
        return first_round(caller, question, owner).await;
    }
    let asked = match hear_and_wait(caller, question, &state, responses).await {
        Ok(asked) => asked,
        // Deleted with its time, or by an operator.
        Err(Refusal::NotFound) => return first_round(caller, question, owner).await,
        Err(refusal) => return Err(refusal.into()),
    };
    let now = app.clock.now();
    let states: Vec<State> = asked.iter().map(|one| one.state(now)).collect();
    if let Some(outcome) = states.iter().copied().find_map(outcome) {
        return refused(app, question, &asked, outcome);
    }
    if states.iter().all(|state| *state == State::Completed) {
        let found = look_up(caller, question, owner).await?;
        return match ready(caller, question, &found)? {
            Some(ready) => Ok(ready),
            // Completed, and gone again since.
            None => first_round(caller, question, owner).await,
        };
    }
    if state.waited >= STATE_ONLY_ROUNDS {
        return action_required(app, question, &asked, Turn::Tell);
    }
    let state = RequestState { waited: state.waited + 1, ..state }.seal(&app.vault, server);
    action_required(app, question, &asked, Turn::Wait { request_state: &state })
}

/// Whether nothing is to be waited for: all are connected, or one never will be.
fn decided(states: &[State]) -> bool {
    states.iter().all(|state| *state == State::Completed)
        || states.iter().any(|state| outcome(*state).is_some())
}

async fn hear_and_wait(
    caller: &Caller,
    question: &Question,
    state: &RequestState,
    responses: &InputResponses,
) -> Result<Vec<Elicitation>, Refusal> {
    let (app, server) = (&caller.app, &caller.server().id);
    if !responses.is_empty() {
        let asked = signals::settled(app, server, &state.ids, Duration::ZERO, |_| true).await?;
        hear(caller, &asked, responses).await?;
    }
    let patience = Duration::from_secs(question.wait_seconds.into());
    signals::settled(app, server, &state.ids, patience, decided).await
}

/// Takes the user's "no" from the client's answers. It closes, and nothing that the client says completes.
async fn hear(caller: &Caller, asked: &[Elicitation], responses: &InputResponses) -> Result<(), Refusal> {
    // Without words a link cannot fail to be made; with none there is nothing to hear.
    let asks = asks(&caller.app, asked, None).unwrap_or_default();
    for (key, elicitation) in keys(&asks).iter().zip(asked) {
        match responses.action(key) {
            Some(ElicitAction::Decline) => {
                close(caller, elicitation, State::Declined, "declined_by_client").await?;
            }
            Some(ElicitAction::Cancel) => {
                close(caller, elicitation, State::Cancelled, "cancelled_by_client").await?;
            }
            Some(ElicitAction::Accept) | None => {}
        }
    }
    Ok(())
}
