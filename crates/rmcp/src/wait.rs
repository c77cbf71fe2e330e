//! Asking within a call, and waiting for a user who may be quicker than the client, slower than the call, or never come.

use std::time::Duration;

use consentry_client::{Action, Elicitation, State};
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
    Call, Consentry, Instead,
    reply::{NOT_CONNECTED, via_json},
};

/// How long Consentry holds one question for an outcome, in seconds.
const HOLD_S: u8 = 25;
/// How often a client that asked for progress hears that the call is still waiting.
const PROGRESS: Duration = Duration::from_secs(20);
const DECLINED: &str = "The user declined. The account is not connected; do not try again by yourself.";

impl Consentry {
    /// Sends `elicitation/create` within the call; returns when the user has connected.
    pub(crate) async fn ask(
        &self,
        call: &Call,
        params: &ElicitRequestParams,
        id: &str,
    ) -> Result<(), Instead> {
        let end = Instant::now() + self.0.patience;
        let mut ended = std::pin::pin!(self.ended(id));
        let mut beats = std::pin::pin!(progress(call));
        let handle = send(call, params).await?;
        let mut asked = std::pin::pin!(answered(handle));
        let action = tokio::select! {
            // The user was quicker than the client's answer, or the client answers only when all is done.
            outcome = &mut ended => return self.outcome(id, outcome?).await,
            action = &mut asked => action,
            () = &mut beats => return Err(Instead::internal("progress ended")),
            () = sleep_until(end) => Action::Error,
        };
        if action != Action::Accept {
            return Err(self.tell(id, action).await);
        }
        // Changes nothing there, and is kept for the record.
        if let Err(error) = self.0.api.respond(id, Action::Accept).await {
            tracing::warn!(%error, "a client's answer could not be passed on");
        }
        tokio::select! {
            outcome = &mut ended => self.outcome(id, outcome?).await,
            () = &mut beats => Err(Instead::internal("progress ended")),
            // The link stays good and news of it are still expected: whoever is at the page now can finish.
            () = sleep_until(end) => Err(self.tell(id, Action::Error).await),
        }
    }

    /// Tells Consentry what the client answered, and says what that leads to.
    async fn tell(&self, id: &str, action: Action) -> Instead {
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

    /// The elicitation as it ended. Goes on asking while Consentry is away for a moment.
    async fn ended(&self, id: &str) -> Result<Elicitation, Instead> {
        let mut pace = interval(Duration::from_secs(1));
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pace.tick().await;
            match self.0.api.elicitation(id, HOLD_S).await {
                Ok(elicitation) if elicitation.state.is_final() => return Ok(elicitation),
                Ok(_) => {}
                Err(error) if error.code() == Some("not_found") => return Err(Instead::failed(&error)),
                Err(error) => tracing::warn!(%error, "an elicitation cannot be looked at"),
            }
        }
    }

    /// The client hears of a connection before the call is finished, and of it once.
    async fn outcome(&self, id: &str, elicitation: Elicitation) -> Result<(), Instead> {
        if elicitation.state == State::Completed {
            self.0.news.tell(id).await;
            return Ok(());
        }
        self.0.news.forget(id);
        Err(Instead::words(match elicitation.state {
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

async fn answered(handle: RequestHandle<RoleServer>) -> Action {
    match handle.await_response().await {
        Ok(ClientResult::ElicitResult(ElicitResult { action, .. })) => match action {
            ElicitationAction::Accept => Action::Accept,
            ElicitationAction::Decline => Action::Decline,
            _ => Action::Cancel,
        },
        Ok(_) => Action::Error,
        Err(error) => {
            let refused = matches!(error, ServiceError::McpError(_));
            tracing::debug!(refused, "the client gave no answer");
            Action::Error
        }
    }
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
