//! From a tool call to the user's account: asks Consentry for a credential, and when the user has to connect first,
//! hands its reply to the client in the form that this client understands.
//!
//! What it must never do: take the client's `accept` for a connection (Consentry is asked), send a client what it has
//! not declared (Consentry chooses from what is passed on here), or notify a session that was not asked.

mod reply;
mod wait;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::http::request::Parts;
use consentry_client::{Action, Body, Client, Grant, McpClient, Prefer, Resolution, Resolve};
use consentry_elicitation::ElicitRequestParams;
use rmcp::{
    RoleServer,
    model::{ElicitationAction, InputResponses, ProtocolVersion},
    service::RequestContext,
};
use tokio::time::Instant;

pub(super) use self::reply::Instead;
use self::reply::{NOT_CONNECTED, answer, failed, internal, json, say, via_json};
use super::bearer::User;

/// How long Consentry holds a call that is repeated, in seconds. Clients allow a request 60 s by default.
const HOLD_RETRY_S: u8 = 45;

type Call = RequestContext<RoleServer>;

/// A tool's way to the user's accounts; one for each session.
#[derive(Clone)]
pub(super) struct Connect {
    consentry: Client,
    /// How long a call waits for the user.
    patience: Duration,
    prefer: Prefer,
    /// Names this session to Consentry. Not the session id, which is a secret between client and server.
    session: String,
    /// Elicitations whose completion this session has been told.
    told: Arc<Mutex<HashSet<String>>>,
}

/// What a tool needs.
pub(super) struct Need<'a> {
    /// The tool's name.
    pub(super) tool: &'a str,
    /// The provider's id in Consentry's settings.
    pub(super) provider: &'a str,
    /// In words for the user.
    pub(super) why: &'a str,
}

/// What a client of the modern era sends along when it repeats a call.
pub(super) struct Retry {
    pub(super) state: Option<String>,
    pub(super) responses: Option<InputResponses>,
}

impl Connect {
    pub(super) fn new(consentry: Client, patience: Duration, prefer: Prefer) -> Self {
        #[expect(clippy::disallowed_methods, reason = "this server has no generator of its own")]
        let session = uuid::Uuid::new_v4().to_string();
        Self { consentry, patience, prefer, session, told: Arc::default() }
    }

    /// The credential of the user behind `call`, or what to answer instead.
    pub(super) async fn account(&self, call: &Call, need: Need<'_>, retry: Retry) -> Result<Grant, Instead> {
        let wanted = self.wanted(call, &need)?;
        let first = match retry.state {
            Some(state) => wanted.clone().retry(state, json(&retry.responses), self.hold()),
            None => wanted.clone(),
        };
        let needed = match self.consentry.resolve(&first).await.map_err(|error| failed(&error))? {
            Resolution::Ready(grants) => return one(grants),
            Resolution::ActionRequired(needed) => needed,
            Resolution::Refused(refused) => return Err(answer(refused.reply)),
            _ => return Err(internal("an unknown answer of Consentry")),
        };
        let id = needed.elicitations.first().map(|asked| asked.id.clone()).unwrap_or_default();
        match needed.reply.body {
            Body::ElicitationRequest(params) => self.ask(call, params, &id).await?,
            body => {
                // Legacy era, -32042: the client waits for the news before it calls again.
                if matches!(&body, Body::JsonrpcError(error) if error.elicitations().is_some()) {
                    drop(self.watch(call.peer.clone(), id));
                }
                return Err(answer(body.into()));
            }
        }
        match self.consentry.resolve(&wanted).await.map_err(|error| failed(&error))? {
            Resolution::Ready(grants) => one(grants),
            _ => Err(say(NOT_CONNECTED)),
        }
    }

    /// The provider refused the credential: it is not to be handed out again.
    pub(super) async fn refused(&self, grant: &Grant) {
        let reported = self.consentry.report(&grant.connection.id, grant.connection.generation).await;
        if let Err(error) = reported {
            tracing::warn!(%error, "a refused credential could not be reported");
        }
    }

    /// How long Consentry holds a call that is repeated, in seconds.
    fn hold(&self) -> u8 {
        u8::try_from(self.patience.as_secs()).map_or(HOLD_RETRY_S, |patience| patience.min(HOLD_RETRY_S))
    }

    fn wanted(&self, call: &Call, need: &Need<'_>) -> Result<Resolve, Instead> {
        let request = call.extensions.get::<Parts>();
        let user = request.and_then(|request| request.extensions.get::<User>());
        let user = user.ok_or_else(|| internal("a request without a user"))?;
        let version = call.protocol_version().unwrap_or(ProtocolVersion::V_2025_03_26);
        // There are no sessions in the modern era; the user's OAuth client is the next best to find an open link by.
        let modern = version >= ProtocolVersion::V_2026_07_28;
        let reference = if modern { &user.client } else { &self.session };
        let mut client =
            McpClient::new(version.as_str(), "tools/call").target(need.tool).reference(reference);
        client = client.prefer(self.prefer);
        // The declared capability decides what the client may be sent, so it is passed on as it is.
        if let Some(declared) = call.client_capabilities().and_then(|all| json(&all.elicitation)) {
            client = client.elicitation(declared);
        }
        if let Some(info) = call.client_info() {
            client = client.name(info.title.unwrap_or(info.name));
        }
        let user = consentry_client::User::subject(&user.subject);
        Ok(Resolve::new(need.provider, user).client(client).message(need.why))
    }

    /// Sends `elicitation/create` within the call, and returns when the user has connected.
    async fn ask(&self, call: &Call, params: ElicitRequestParams, id: &str) -> Result<(), Instead> {
        let params = via_json(&params).map_err(|error| Box::new(Err(error)))?;
        let end = Instant::now() + self.patience;
        let mut outcome = self.watch(call.peer.clone(), id.to_owned());
        let asked = call.peer.create_elicitation_with_timeout(params, Some(self.patience));
        let action = tokio::select! {
            // The user was quicker than the client's answer, or the client answers only when all is done.
            outcome = &mut outcome => return wait::connected(outcome),
            answer = asked => match answer.map(|answer| answer.action) {
                Ok(ElicitationAction::Accept) => Action::Accept,
                Ok(ElicitationAction::Decline) => Action::Decline,
                Ok(_) => Action::Cancel,
                Err(_) => Action::Error,
            },
        };
        let answered = self.consentry.respond(id, action).await.map_err(|error| failed(&error))?;
        if action != Action::Accept {
            return Err(answered.reply.map_or_else(|| say(NOT_CONNECTED), answer));
        }
        match self.wait(call, &mut outcome, end).await {
            Some(outcome) => wait::connected(outcome),
            // The link stays good and is still watched: whoever is at the page now can finish.
            None => match self.consentry.respond(id, Action::Error).await {
                Ok(answered) => Err(answered.reply.map_or_else(|| say(NOT_CONNECTED), answer)),
                Err(error) => Err(failed(&error)),
            },
        }
    }
}

fn one(grants: Vec<Grant>) -> Result<Grant, Instead> {
    grants.into_iter().next().ok_or_else(|| internal("ready without a credential"))
}
