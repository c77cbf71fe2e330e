//! From a tool call to the user's account: asks Consentry for a credential, and when the user has to connect first,
//! hands its reply to the client in the form that this client understands.
//!
//! What it must never do: take the client's `accept` for a connection (Consentry is asked), send a client what it has
//! not declared (Consentry chooses from what is passed on here), or notify a session that was not asked.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::http::request::Parts;
use consentry_client::{
    Action, Body, Client, Elicitation, Error, Grant, McpClient, Reply, Resolution, Resolve, State,
};
use consentry_elicitation::{COMPLETE_METHOD, ElicitRequestParams, ElicitationComplete};
use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{
        CallToolResponse, CallToolResult, ContentBlock, CustomNotification, ElicitationAction, ErrorCode,
        InputRequiredResult, InputResponses, ProgressNotificationParam, ProtocolVersion, ServerNotification,
    },
    service::RequestContext,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    task::JoinHandle,
    time::{MissedTickBehavior, interval, timeout},
};

use super::bearer::User;

/// How long Consentry holds one question for an outcome, in seconds.
const HOLD_S: u8 = 25;
/// The same for a call that is repeated (modern era). Clients allow a request 60 s by default.
const HOLD_RETRY_S: u8 = 45;
/// How often a client that asked for progress hears that the call is still waiting.
const PROGRESS: Duration = Duration::from_secs(20);

type Call = RequestContext<RoleServer>;
type Outcome = Result<Elicitation, Error>;

/// A tool's way to the user's accounts; one for each session.
#[derive(Clone)]
pub(super) struct Connect {
    consentry: Client,
    /// How long a call waits for the user.
    patience: Duration,
    /// Names this session to Consentry. Not the session id, which is a secret between client and server.
    session: String,
    /// Elicitations whose completion this session has been told.
    told: Arc<Mutex<HashSet<String>>>,
}

/// What a tool gets.
pub(super) enum Connected {
    /// The credential.
    Yes(Grant),
    /// This is the answer to the call.
    NotYet(CallToolResponse),
}

/// What a client of the modern era sends along when it repeats a call.
pub(super) struct Retry {
    pub(super) state: Option<String>,
    pub(super) responses: Option<InputResponses>,
}

impl Connect {
    pub(super) fn new(consentry: Client, patience: Duration) -> Self {
        #[expect(clippy::disallowed_methods, reason = "this server has no generator of its own")]
        let session = uuid::Uuid::new_v4().to_string();
        Self { consentry, patience, session, told: Arc::default() }
    }

    /// The credential of the user behind `call` for `provider`, or what to answer instead.
    pub(super) async fn account(
        &self,
        call: &Call,
        tool: &str,
        provider: &str,
        why: &str,
        retry: Retry,
    ) -> Result<Connected, ErrorData> {
        let wanted = self.wanted(call, tool, provider, why)?;
        let first = match retry.state {
            Some(state) => wanted.clone().retry(state, json(&retry.responses), HOLD_RETRY_S),
            None => wanted.clone(),
        };
        let needed = match self.consentry.resolve(&first).await {
            Ok(Resolution::Ready(grants)) => return one(grants),
            Ok(Resolution::ActionRequired(needed)) => needed,
            Ok(Resolution::Refused(refused)) => return answer(refused.reply),
            Ok(_) => return Err(ErrorData::internal_error("an unknown answer of Consentry", None)),
            Err(error) => return failed(&error),
        };
        match (needed.reply.body, needed.elicitations.into_iter().next()) {
            (Body::ElicitationRequest(params), Some(asked)) => {
                match self.ask(call, params, &asked.id).await? {
                    Some(instead) => Ok(instead),
                    None => self.connected(&wanted).await,
                }
            }
            (Body::JsonrpcError(error), asked) => {
                // The client waits for the notification before it calls again (legacy era, -32042).
                if error.elicitations().is_some() {
                    asked.into_iter().for_each(|asked| drop(self.watch(call.peer.clone(), asked.id)));
                }
                answer(Body::JsonrpcError(error).into())
            }
            (body, _) => answer(body.into()),
        }
    }

    /// The provider refused the credential: it is not to be handed out again.
    pub(super) async fn refused(&self, grant: &Grant) {
        let reported = self.consentry.report(&grant.connection.id, grant.connection.generation).await;
        if let Err(error) = reported {
            tracing::warn!(%error, "a refused credential could not be reported");
        }
    }

    fn wanted(&self, call: &Call, tool: &str, provider: &str, why: &str) -> Result<Resolve, ErrorData> {
        let user = call.extensions.get::<Parts>().and_then(|request| request.extensions.get::<User>());
        let user = user.ok_or_else(|| ErrorData::internal_error("a request without a user", None))?;
        let version = call.protocol_version().unwrap_or(ProtocolVersion::V_2025_03_26);
        // There are no sessions in the modern era; the user's client is the next best to recognise an open link by.
        let modern = version >= ProtocolVersion::V_2026_07_28;
        let mut client = McpClient::new(version.as_str(), "tools/call").target(tool).reference(if modern {
            user.client.clone()
        } else {
            self.session.clone()
        });
        // The declared capability decides what the client may be sent, so it is passed on as it is.
        if let Some(declared) = call.client_capabilities().and_then(|all| json(&all.elicitation)) {
            client = client.elicitation(declared);
        }
        if let Some(info) = call.client_info() {
            client = client.name(info.title.unwrap_or(info.name));
        }
        let user = consentry_client::User::subject(user.subject.clone());
        Ok(Resolve::new(provider, user).client(client).message(why))
    }

    /// Sends `elicitation/create` within the call and waits for the user: nothing when it is connected, else the answer
    /// to the call.
    async fn ask(
        &self,
        call: &Call,
        params: ElicitRequestParams,
        id: &str,
    ) -> Result<Option<Connected>, ErrorData> {
        let params = via_json(&params)?;
        let mut outcome = self.watch(call.peer.clone(), id.to_owned());
        let asked = call.peer.create_elicitation_with_timeout(params, Some(self.patience));
        let action = tokio::select! {
            // The user was quicker than the client's answer, or the client answers only when all is done.
            outcome = &mut outcome => return self.settled(outcome).await,
            answer = asked => match answer.map(|answer| answer.action) {
                Ok(ElicitationAction::Accept) => Action::Accept,
                Ok(ElicitationAction::Decline) => Action::Decline,
                Ok(_) => Action::Cancel,
                Err(_) => Action::Error,
            },
        };
        match self.consentry.respond(id, action).await {
            Err(error) => return failed(&error).map(Some),
            Ok(_) if action == Action::Accept => {}
            Ok(answered) => {
                return answered
                    .reply
                    .map_or_else(|| Ok(Some(say(NOT_CONNECTED))), |reply| answer(reply).map(Some));
            }
        }
        match timeout(self.patience, self.wait(call, &mut outcome)).await {
            Ok(outcome) => self.settled(outcome).await,
            // The link stays good, and its outcome is still watched: whoever is at the page now can finish.
            Err(_) => match self.consentry.respond(id, Action::Error).await.map(|answered| answered.reply) {
                Ok(Some(reply)) => answer(reply).map(Some),
                _ => Ok(Some(say(STILL_WAITING))),
            },
        }
    }

    /// Waits for the end of an elicitation, and tells the session that was asked when it is a connection. Goes on when
    /// the call has ended, until the elicitation has.
    fn watch(&self, session: Peer<RoleServer>, id: String) -> JoinHandle<Outcome> {
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
            let params = json(&ElicitationComplete::new(id));
            let news = CustomNotification::new(COMPLETE_METHOD, params);
            // The client may be gone; its next call finds the connection all the same.
            let _ = session.send_notification(ServerNotification::CustomNotification(news)).await;
        }
    }

    /// Waits, and says so to a client that asked for progress: most then do not count the wait as silence.
    async fn wait(
        &self,
        call: &Call,
        outcome: &mut JoinHandle<Outcome>,
    ) -> Result<Outcome, tokio::task::JoinError> {
        let mut beat = interval(PROGRESS);
        let mut beats = 0.0;
        loop {
            tokio::select! {
                outcome = &mut *outcome => return outcome,
                _ = beat.tick() => {
                    if let Some(token) = call.meta.get_progress_token() {
                        let waiting = "Waiting for you to finish in the browser.";
                        let news = ProgressNotificationParam::new(token, beats).with_message(waiting);
                        let _ = call.peer.notify_progress(news).await;
                        beats += 1.0;
                    }
                }
            }
        }
    }

    async fn settled(
        &self,
        outcome: Result<Outcome, tokio::task::JoinError>,
    ) -> Result<Option<Connected>, ErrorData> {
        match outcome {
            Ok(Ok(elicitation)) => Ok(match elicitation.state {
                State::Completed => None,
                State::Declined => Some(say("The user declined. Do not try again by yourself.")),
                State::Expired => Some(say("Nobody finished in time. Call the tool again for a new link.")),
                _ => Some(say(NOT_CONNECTED)),
            }),
            Ok(Err(error)) => failed(&error).map(Some),
            Err(_) => Err(ErrorData::internal_error("waiting was interrupted", None)),
        }
    }

    /// The elicitation is completed: the credential is there now.
    async fn connected(&self, wanted: &Resolve) -> Result<Connected, ErrorData> {
        match self.consentry.resolve(wanted).await {
            Ok(Resolution::Ready(grants)) => one(grants),
            Ok(_) => Ok(say(NOT_CONNECTED)),
            Err(error) => failed(&error),
        }
    }
}

const NOT_CONNECTED: &str = "The account was not connected. Call the tool again to try once more.";
const STILL_WAITING: &str =
    "The account is not connected yet. Finish in the browser, then call the tool again.";

fn one(grants: Vec<Grant>) -> Result<Connected, ErrorData> {
    let grant = grants.into_iter().next();
    grant.map(Connected::Yes).ok_or_else(|| ErrorData::internal_error("ready without a credential", None))
}

/// Consentry's reply as the answer to the call.
fn answer(reply: Reply) -> Result<Connected, ErrorData> {
    let response = match reply.body {
        Body::ToolResult(result) => via_json::<CallToolResult>(&result)?.into(),
        Body::InputRequired(result) => via_json::<InputRequiredResult>(&result)?.into(),
        Body::JsonrpcError(error) => {
            let code = i32::try_from(error.code).unwrap_or(ErrorCode::INTERNAL_ERROR.0);
            return Err(ErrorData::new(ErrorCode(code), error.message, error.data));
        }
        _ => return Err(ErrorData::internal_error("a reply that does not end a call", None)),
    };
    Ok(Connected::NotYet(response))
}

fn failed(error: &Error) -> Result<Connected, ErrorData> {
    if error.code() == Some("request_state_invalid") {
        return Err(ErrorData::invalid_params("requestState is not valid for this call", None));
    }
    tracing::error!(%error, "no credential");
    Ok(say("Your account cannot be reached at the moment. Try again later."))
}

fn say(text: &str) -> Connected {
    Connected::NotYet(CallToolResult::error(vec![ContentBlock::text(text)]).into())
}

fn json(value: &impl Serialize) -> Option<serde_json::Value> {
    serde_json::to_value(value).ok().filter(|value| !value.is_null())
}

/// Both sides write the protocol's JSON, so it leads from the types of one to those of the other.
fn via_json<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, ErrorData> {
    let read = serde_json::to_value(value).and_then(serde_json::from_value);
    read.map_err(|_| ErrorData::internal_error("a reply that cannot be read", None))
}
