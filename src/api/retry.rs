//! A modern client's retry: its `requestState` comes back, and with it perhaps what the user answered.
//!
//! Whatever the client says, the store says what happened: `accept` is never taken for completion. A replay is
//! answered from the store like any other retry.

use std::time::Duration;

use axum::response::Response;
use consentry_elicitation::{
    ElicitAction, Era, InputResponses, STATE_ONLY_ROUNDS, Turn, choose, reply::keys,
};

use crate::{
    clock::Millis,
    connect::{self, Refusal, TriesLeft},
    elicitation::{Elicitation, ElicitationId, State},
    signals,
    subject::Subject,
};

use super::{
    auth::Caller,
    code,
    links::{action_required, answer_with, asks, outcome, refused},
    problem::Problem,
    question::Question,
    request_state::{RequestState, binding},
    resolve::{ask_anew, fresh_state, look_up, ready},
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
        return ask_anew(caller, question, owner).await;
    }
    let ids = state.ids.clone();
    let heard = match hear_and_wait(caller, question, &ids, responses).await {
        Ok(heard) => heard,
        // Deleted with its time, or by an operator.
        Err(Refusal::NotFound) => return ask_anew(caller, question, owner).await,
        Err(refusal) => return Err(refusal.into()),
    };
    tell(caller, question, owner, heard, Some(state)).await
}

/// A code that came without a `requestState`: within a legacy client's call, or with its next one.
pub(super) async fn typed(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
    open: Vec<Elicitation>,
) -> Result<Response, Problem> {
    let nothing = InputResponses::default();
    let left = code::take(caller, question, &open, &nothing).await?;
    let asked = code::pick(caller, open).await?;
    let ids: Vec<ElicitationId> = asked.iter().map(|one| one.id).collect();
    let state = fresh_state(caller, question, owner, &asked);
    let asked = match wait(caller, question, &ids).await {
        Ok(asked) => asked,
        Err(Refusal::NotFound) => return ask_anew(caller, question, owner).await,
        Err(refusal) => return Err(refusal.into()),
    };
    tell(caller, question, owner, Heard { asked, left }, state).await
}

/// What became of the questions, and the tries that are left where a code was wrong.
struct Heard {
    asked: Vec<Elicitation>,
    left: TriesLeft,
}

/// The answer, as the store has it.
async fn tell(
    caller: &Caller,
    question: &Question,
    owner: &Subject,
    heard: Heard,
    state: Option<RequestState>,
) -> Result<Response, Problem> {
    let (app, server) = (&caller.app, &caller.server().id);
    let Heard { asked, left } = heard;
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
            None => ask_anew(caller, question, owner).await,
        };
    }
    if let Some(form) = code::ask(caller, &asked, &left).await? {
        // Asking anew is no round of waiting.
        let sealed = state.map(|state| state.seal(&app.vault, server));
        let reply = choose(&question.client, &form, Turn::Ask { request_state: sealed.as_deref() });
        return answer_with(app, question, &asked, &reply);
    }
    let state = state.filter(|state| state.waited < STATE_ONLY_ROUNDS);
    let since = match (&state, question.client.era()) {
        (Some(state), _) => Some(state.asked_until),
        // Asked by a call of its own, and here only after a wrong code.
        (None, Era::Legacy) => Some(Millis(i64::MAX)),
        (None, Era::Modern) => None,
    };
    let again = match since {
        Some(since) => code::ask_again(caller, &question.client, &asked, &left, since).await?,
        None => None,
    };
    // A round of waiting, also with a form in it: however many codes are shown somewhere, the rounds end.
    let next = state.map(|state| {
        let asked_until = again.as_ref().map_or(state.asked_until, |(_, minted)| *minted);
        RequestState { waited: state.waited + 1, asked_until, ..state }.seal(&app.vault, server)
    });
    match (again, next) {
        (Some((form, _)), next) => {
            let reply = choose(&question.client, &form, Turn::Ask { request_state: next.as_deref() });
            answer_with(app, question, &asked, &reply)
        }
        (None, Some(next)) => action_required(app, question, &asked, Turn::Wait { request_state: &next }),
        (None, None) => action_required(app, question, &asked, Turn::Tell),
    }
}

/// Whether nothing is to be waited for: all are connected, or one never will be.
fn decided(states: &[State]) -> bool {
    states.iter().all(|state| *state == State::Completed)
        || states.iter().any(|state| outcome(*state).is_some())
}

async fn hear_and_wait(
    caller: &Caller,
    question: &Question,
    ids: &[ElicitationId],
    responses: &InputResponses,
) -> Result<Heard, Refusal> {
    let (app, server) = (&caller.app, &caller.server().id);
    let mut left = TriesLeft::new();
    if !responses.is_empty() || question.code.is_some() {
        let mut asked = signals::settled(app, server, ids, Duration::ZERO, |_| true).await?;
        if hear(caller, question, &asked, responses).await? {
            asked = signals::settled(app, server, ids, Duration::ZERO, |_| true).await?;
        }
        left = code::take(caller, question, &asked, responses).await?;
    }
    Ok(Heard { asked: wait(caller, question, ids).await?, left })
}

/// Waits for the outcome; not while a code must be asked for first.
async fn wait(
    caller: &Caller,
    question: &Question,
    ids: &[ElicitationId],
) -> Result<Vec<Elicitation>, Refusal> {
    let (app, server) = (&caller.app, &caller.server().id);
    if code::is_used(caller) {
        let asked = signals::settled(app, server, ids, Duration::ZERO, |_| true).await?;
        if !code::unproven(caller, &asked).await?.is_empty() {
            return Ok(asked);
        }
    }
    let patience = Duration::from_secs(question.wait_seconds.into());
    signals::settled(app, server, ids, patience, decided).await
}

/// Takes the user's "no" from the client's answers, to the link or to the form. It closes, and nothing that the client
/// says completes. A "no" to the code of another browser than the one that goes on is none. Tells whether anything was
/// closed.
async fn hear(
    caller: &Caller,
    question: &Question,
    asked: &[Elicitation],
    responses: &InputResponses,
) -> Result<bool, Refusal> {
    let mut closed = false;
    let forms_heard = code::may_answer(caller, question);
    // Without words a link cannot fail to be made; with none there is nothing to hear.
    let asks = asks(&caller.app, asked, None).unwrap_or_default();
    for (key, elicitation) in keys(&asks).iter().zip(asked) {
        let said_no = |key: &str| {
            let no = |no: &ElicitAction| responses.action(key) == Some(*no);
            [ElicitAction::Decline, ElicitAction::Cancel].into_iter().find(no)
        };
        let mut no = said_no(key);
        if no.is_none() && forms_heard {
            no = said_no(&code::key(elicitation));
            if no.is_some() && code::unproven(caller, std::slice::from_ref(elicitation)).await?.is_empty() {
                continue;
            }
        }
        if let Some(no) = no {
            connect::hear(&caller.app, elicitation, no).await?;
            closed = true;
        }
    }
    Ok(closed)
}
