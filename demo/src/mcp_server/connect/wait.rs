//! Waiting for a user, who may be quicker than the client, slower than the call, or never come.

use std::{sync::PoisonError, time::Duration};

use consentry_client::{Elicitation, Error, State};
use consentry_elicitation::{COMPLETE_METHOD, ElicitationComplete};
use rmcp::{
    Peer, RoleServer,
    model::{CustomNotification, ProgressNotificationParam, ServerNotification},
};
use tokio::{
    task::{JoinError, JoinHandle},
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use super::{
    Call, Connect,
    reply::{Instead, NOT_CONNECTED, failed, internal, json, say},
};

/// How long Consentry holds one question for an outcome, in seconds.
const HOLD_S: u8 = 25;
/// How often a client that asked for progress hears that the call is still waiting.
const PROGRESS: Duration = Duration::from_secs(20);

/// What became of an elicitation.
pub(super) type Outcome = Result<Result<Elicitation, Error>, JoinError>;

impl Connect {
    /// Waits for the end of an elicitation, and tells the session that was asked when it is a connection. Goes on when
    /// the call has ended, until the elicitation has.
    pub(super) fn watch(
        &self,
        session: Peer<RoleServer>,
        id: String,
    ) -> JoinHandle<Result<Elicitation, Error>> {
        let this = self.clone();
        tokio::spawn(async move {
            let mut pace = interval(Duration::from_secs(1));
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                pace.tick().await;
                let elicitation = this.consentry.elicitation(&id, HOLD_S).await?;
                if elicitation.state.is_final() {
                    if elicitation.state == State::Completed {
                        this.tell(&session, &id).await;
                    }
                    return Ok(elicitation);
                }
            }
        })
    }

    /// `notifications/elicitation/complete`, once.
    async fn tell(&self, session: &Peer<RoleServer>, id: &str) {
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned()) {
            let news = CustomNotification::new(COMPLETE_METHOD, json(&ElicitationComplete::new(id)));
            // The client may be gone; its next call finds the connection all the same.
            let _ = session.send_notification(ServerNotification::CustomNotification(news)).await;
        }
    }

    /// Waits until the call must end; says so to a client that asked for progress, for most then do not take the
    /// wait for silence.
    pub(super) async fn wait(
        &self,
        call: &Call,
        watched: &mut JoinHandle<Result<Elicitation, Error>>,
        end: Instant,
    ) -> Option<Outcome> {
        let mut beat = interval(PROGRESS);
        let mut beats = 0.0;
        loop {
            tokio::select! {
                outcome = &mut *watched => return Some(outcome),
                () = sleep_until(end) => return None,
                _ = beat.tick() => if let Some(token) = call.meta.get_progress_token() {
                    let waiting = "Waiting for you to finish in the browser.";
                    let news = ProgressNotificationParam::new(token, beats).with_message(waiting);
                    let _ = call.peer.notify_progress(news).await;
                    beats += 1.0;
                }
            }
        }
    }
}

/// Whether the end of an elicitation is a connection.
pub(super) fn connected(outcome: Outcome) -> Result<(), Instead> {
    let Ok(outcome) = outcome else { return Err(internal("waiting was interrupted")) };
    match outcome.map_err(|error| failed(&error))?.state {
        State::Completed => Ok(()),
        State::Declined => Err(say("The user declined. Do not try again by yourself.")),
        State::Expired => Err(say("Nobody finished in time. Call the tool again for a new link.")),
        _ => Err(say(NOT_CONNECTED)),
    }
}
