//! Asking within a call, and waiting for a user who may be quicker than the client, slower than the call, or never come.
//!
//! Where nobody signs in, the link is followed by the form for the code on its page, in the same call. What is typed goes to
//! Consentry and nowhere else.

use std::time::Duration;

use consentry_client::{Action, Body, McpClient, Resolution, Resolve, State};
use consentry_elicitation::ElicitRequestParams;
use rmcp::{
    RoleServer,
    model::{
        ClientResult, ElicitRequest, ElicitResult, ElicitationAction, ProgressNotificationParam,
        ServerRequest,
    },
    service::{OriginatingRequestId, PeerRequestOptions, RequestHandle, ServiceError},
};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::{
    Call, Consentry, Instead, call, guard,
    reply::{NOT_CONNECTED, via_json},
};

/// How long Consentry holds one question for an outcome, in seconds.
const HOLD_S: u8 = 25;
/// How often a client that asked for progress hears that the call is still waiting.
const PROGRESS: Duration = Duration::from_secs(20);
const DECLINED: &str = "The user declined. The account is not connected; do not try again by yourself.";

/// The form's field, and what Consentry takes of it at most, in bytes.
const CODE: &str = "code";
const CODE_BYTES_MAX: usize = 64;
/// More questions than Consentry asks within a call, however often the user mistypes.
const QUESTIONS_MAX: usize = 16;

/// A call that asks, and for whom.
pub(crate) struct Asking<'a> {
    pub(crate) call: &'a Call,
    pub(crate) client: &'a call::Client,
    /// The client as Consentry knows it.
    pub(crate) described: &'a McpClient,
    /// What the call needs, to which a code is added.
    pub(crate) wanted: &'a Resolve,
    /// What the user was asked for.
    pub(crate) ids: &'a [String],
}

impl Consentry {
    /// Sends `elicitation/create` within the call; returns when the user has connected.
    pub(crate) async fn ask(&self, asking: &Asking<'_>, params: ElicitRequestParams) -> Result<(), Instead> {
        let end = Instant::now() + self.0.patience;
        let mut ended = std::pin::pin!(self.ended(asking.ids));
        let mut beats = std::pin::pin!(progress(asking.call));
        let mut asked = std::pin::pin!(self.questions(asking, params));
        tokio::select! {
            // The user was quicker than the client's answer, or the client answers only when all is done.
            outcome = &mut ended => return self.outcome(asking.ids, &outcome?).await,
            asked = &mut asked => asked?,
            () = &mut beats => return Err(Instead::internal("progress ended")),
            () = sleep_until(end) => return Err(self.tell(asking, Action::Error).await),
        }
        tokio::select! {
            outcome = &mut ended => self.outcome(asking.ids, &outcome?).await,
            () = &mut beats => Err(Instead::internal("progress ended")),
            // The link stays good and news of it are still expected: whoever is at the page now can finish.
            () = sleep_until(end) => Err(self.tell(asking, Action::Error).await),
        }
    }

    /// Asks until there is nothing more to ask, and only the page is to be waited for.
    async fn questions(&self, asking: &Asking<'_>, first: ElicitRequestParams) -> Result<(), Instead> {
        let mut next = Some(first);
        for _ in 0..QUESTIONS_MAX {
            let Some(params) = next else { return Ok(()) };
            let (action, content) = answered(send(asking.call, &params).await?).await;
            if action != Action::Accept {
                return Err(self.tell(asking, action).await);
            }
            let body = match params {
                ElicitRequestParams::Form(_) => self.pass_on(asking, content).await?,
                _ => self.accepted(asking).await,
            };
            next = match body {
                Some(body) if !guard::fits(asking.client, &body) => {
                    return Err(Instead::internal("a question that does not fit the client"));
                }
                Some(Body::ElicitationRequest(params @ ElicitRequestParams::Form(_))) => Some(params),
                // No code is asked for, or none any more: the page goes on, or what was asked has ended.
                _ => None,
            };
        }
        Err(Instead::words(NOT_CONNECTED))
    }

    /// The user has agreed to open the link, which changes nothing at Consentry; it says whether a code is to be asked for.
    async fn accepted(&self, asking: &Asking<'_>) -> Option<Body> {
        match self.0.api.respond_as(asking.ids.first()?, Action::Accept, asking.described).await {
            Ok(answered) => answered.reply.map(|reply| reply.body),
            Err(error) => {
                tracing::warn!(%error, "a client's answer could not be passed on");
                None
            }
        }
    }

    /// Passes on the code that the user typed; gives what Consentry asks for next.
    async fn pass_on(
        &self,
        asking: &Asking<'_>,
        content: Option<serde_json::Value>,
    ) -> Result<Option<Body>, Instead> {
        let typed = content.as_ref().and_then(|content| content.get(CODE)?.as_str());
        let typed = typed.filter(|typed| !typed.is_empty() && typed.len() <= CODE_BYTES_MAX);
        let Some(typed) = typed else { return Err(Instead::words(NOT_CONNECTED)) };
        let wanted = asking.wanted.clone().client(asking.described.clone().code(typed));
        match self.0.api.resolve(&wanted).await.map_err(|error| Instead::failed(&error))? {
            Resolution::Ready(_) => Ok(None),
            Resolution::ActionRequired(needed) => Ok(Some(needed.reply.body)),
            Resolution::Refused(refused) if guard::fits(asking.client, &refused.reply.body) => {
                for id in asking.ids {
                    self.0.news.forget(id);
                }
                Err(Instead::reply(refused.reply.body))
            }
            _ => Err(Instead::internal("an answer of Consentry that does not fit")),
        }
    }

    /// Tells Consentry what the client answered, and says what that leads to.
    async fn tell(&self, asking: &Asking<'_>, action: Action) -> Instead {
        let Some(id) = asking.ids.first() else { return Instead::words(NOT_CONNECTED) };
        if matches!(action, Action::Decline | Action::Cancel) {
            self.0.news.forget(id);
        }
        match self.0.api.respond(id, action).await {
            Ok(answered) => answered
                .reply
                .map_or_else(|| Instead::words(words_after(action)), |reply| Instead::reply(reply.body)),
            Err(error) => Instead::failed(&error),
        }
    }

    /// How they ended: completed, or as the first that was not. Goes on asking while Consentry is away for a moment.
    async fn ended(&self, ids: &[String]) -> Result<State, Instead> {
        let mut pace = interval(Duration::from_secs(1));
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for id in ids {
            let state = loop {
                pace.tick().await;
                match self.0.api.elicitation(id, HOLD_S).await {
                    Ok(elicitation) if elicitation.state.is_final() => break elicitation.state,
                    Ok(_) => {}
                    Err(error) if error.code() == Some("not_found") => return Err(Instead::failed(&error)),
                    Err(error) => tracing::warn!(%error, "an elicitation cannot be looked at"),
                }
            };
            if state != State::Completed {
                return Ok(state);
            }
        }
        Ok(State::Completed)
    }

    /// The client hears of a connection before the call is finished, and of it once.
    async fn outcome(&self, ids: &[String], state: &State) -> Result<(), Instead> {
        for id in ids {
            if *state == State::Completed {
                self.0.news.tell(id).await;
            } else {
                self.0.news.forget(id);
            }
        }
        Err(Instead::words(match state {
            State::Completed => return Ok(()),
            State::Declined => DECLINED,
            State::Expired => "Nobody finished in time. Call the tool again for a new link.",
            _ => NOT_CONNECTED,
        }))
    }
}

/// What a client's own answer leads to, where Consentry has no reply for it.
fn words_after(action: Action) -> &'static str {
    if action == Action::Decline { DECLINED } else { NOT_CONNECTED }
}

async fn send(call: &Call, params: &ElicitRequestParams) -> Result<RequestHandle<RoleServer>, Instead> {
    if call.context.ct.is_cancelled() {
        return Err(Instead::given_up());
    }
    let mut request =
        ElicitRequest::new(via_json(params).map_err(|_| Instead::internal("an unreadable question"))?);
    // rmcp marks requests that a handler's own task sends. From any other task, one that the handler has spawned say, it
    // would go out on the session's standalone stream, belonging to no call.
    request.extensions.insert(OriginatingRequestId(call.context.id.clone()));
    let sent = call
        .context
        .peer
        .send_request_with_option(ServerRequest::ElicitRequest(request), PeerRequestOptions::no_options());
    sent.await.map_err(|error| {
        tracing::warn!(%error, "a client could not be asked");
        Instead::words(NOT_CONNECTED)
    })
}

/// What the client answered, and what its user typed.
async fn answered(handle: RequestHandle<RoleServer>) -> (Action, Option<serde_json::Value>) {
    let action = match handle.await_response().await {
        Ok(ClientResult::ElicitResult(ElicitResult { action, content, .. })) => match action {
            ElicitationAction::Accept => return (Action::Accept, content),
            ElicitationAction::Decline => Action::Decline,
            _ => Action::Cancel,
        },
        Ok(_) => Action::Error,
        Err(error) => {
            let refused = matches!(error, ServiceError::McpError(_));
            tracing::debug!(refused, "the client gave no answer");
            Action::Error
        }
    };
    (action, None)
}

/// Most clients do not take a wait of which they hear for silence. Never ends.
async fn progress(call: &Call) {
    let Some(token) = call.context.meta.get_progress_token() else { return std::future::pending().await };
    let mut beat = interval(PROGRESS);
    let mut beats = 0.0;
    loop {
        beat.tick().await;
        let news = ProgressNotificationParam::new(token.clone(), beats)
            .with_message("Waiting for you to finish in the browser.");
        if call.context.peer.notify_progress(news).await.is_err() {
            return std::future::pending().await;
        }
        beats += 1.0;
    }
}
