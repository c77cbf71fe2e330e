//! One call of a tool with the requests that it makes to its client: a form, a link, and the notification that the link is
//! done with. All of them go out on the stream of the call and belong to it (E3, M30).

use std::time::Duration;

use consentry_elicitation::{
    Body, COMPLETE_METHOD, CREATE_METHOD, Capability, Client, ElicitAction, ElicitRequestParams,
    ElicitationComplete, InputResponses, Outcome, Prefer, Turn, choose, reply::keys,
};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::{
    clock::Millis,
    connect,
    elicitation::Elicitation,
    mcp::{
        call::{Ended, LEG, words},
        client::Asker,
        fault::Fault,
        session::Session,
        state::Known,
        stream::Out,
        tools::{Done, Step, ToolCall},
    },
    store::POLL,
};

/// The one key of an answer of this era, which names nothing.
type Answers = InputResponses;

/// A call under way.
pub(super) struct Talk {
    call: ToolCall,
    session: Session,
    out: mpsc::Sender<Out>,
    /// Whether the client was asked something already: then it is not told to repeat the call, which would ask again.
    has_asked: bool,
    /// The request that is out.
    waiting: Option<Uuid>,
}

/// What came back for a request of ours.
enum Back {
    /// The client's result.
    Answer(Value),
    /// It failed the request.
    Failed,
    /// It has not answered in time, or the process drains.
    Nothing,
    /// The link was used before the client said anything.
    Settled(Ended),
}

impl Talk {
    pub(super) fn new(call: ToolCall, session: Session, out: mpsc::Sender<Out>) -> Self {
        Self { call, session, out, has_asked: false, waiting: None }
    }

    /// Holds it to its end: the result.
    pub(super) async fn hold(&mut self) -> Result<Map<String, Value>, Fault> {
        let (mut known, mut answers) = (Known::default(), Answers::default());
        loop {
            self.call.asker.reference = self.session.reference(self.way());
            match self.call.step(known, &answers).await? {
                Step::Done(done) => return Ok(done.into_result()),
                Step::Form { ask, instead, known: so_far } => {
                    let turn = Turn::Ask { request_state: None };
                    let reply = choose(&self.call.asker.client, &ask, turn);
                    let Body::ElicitationRequest(params) = reply.body else {
                        return Ok(Done::error(instead).into_result());
                    };
                    let back = self.asks(&params, None).await?;
                    let outcome = match back {
                        Back::Answer(answer) => {
                            answers = named(&ask.key, &answer);
                            known = so_far;
                            continue;
                        }
                        // Without an answer nothing is done (E21).
                        Back::Failed => Turn::Tell,
                        Back::Nothing | Back::Settled(_) => Turn::Refused(Outcome::Expired),
                    };
                    let text = words(&choose(&self.call.asker.client, &ask, outcome));
                    return Ok(Done::error(text).into_result());
                }
                Step::Link { elicitation, .. } => return self.link(&elicitation).await,
            }
        }
    }

    /// How a link is given now. By `-32042` only where repeating the call will find it connected, and asks nothing twice.
    fn way(&self) -> Prefer {
        let Asker { links, client, .. } = &self.call.asker;
        let again = self.call.arguments.get("again") == Some(&Value::Bool(true));
        if *links == Prefer::Error && client.elicitation.url() && !self.has_asked && !again {
            Prefer::Error
        } else {
            Prefer::Request
        }
    }

    /// Gives the client the link, and waits for what becomes of it.
    async fn link(&mut self, elicitation: &Elicitation) -> Result<Map<String, Value>, Fault> {
        let asks = [self.call.ask(elicitation)?];
        let client = self.call.asker.client.clone().prefer(self.way());
        let say =
            |client: &Client, turn: Turn<'_>| Done::error(words(&choose(client, &asks, turn))).into_result();
        let params = match choose(&client, &asks, Turn::Ask { request_state: None }).body {
            Body::ElicitationRequest(params) => params,
            Body::JsonrpcError(error) => return Err(Fault::from(error).in_a_result()),
            _ => return Ok(say(&client, Turn::Ask { request_state: None })),
        };
        // Kept until the link's end is known: a client's yes ends the question, and the wait goes on.
        let _seat = self.call.mcp.seats.take(&self.call.owner)?;
        let ended = match self.asks(&params, Some(elicitation)).await? {
            Back::Answer(answer) => {
                let key = keys(&asks).into_iter().next().unwrap_or_default();
                match named(&key, &answer).action(&key) {
                    Some(action) => {
                        connect::hear(&self.call.mcp.app, elicitation, action).await?;
                        let patience = if action == ElicitAction::Accept { LEG } else { Duration::ZERO };
                        self.call.mcp.outcome(elicitation, patience).await?
                    }
                    None => return Ok(say(&unable(&client), Turn::Ask { request_state: None })),
                }
            }
            Back::Failed => return Ok(say(&unable(&client), Turn::Ask { request_state: None })),
            Back::Nothing => self.call.mcp.outcome(elicitation, Duration::ZERO).await?,
            Back::Settled(ended) => ended,
        };
        Ok(match ended {
            Ended::Completed => {
                self.completed(elicitation).await;
                self.call.connected(elicitation).await?.into_result()
            }
            Ended::Refused(outcome) => say(&client, Turn::Refused(outcome)),
            Ended::Open => say(&client, Turn::Tell),
        })
    }

    /// E13, E14, E15: the client that was asked is told, on the stream on which it was asked.
    async fn completed(&self, elicitation: &Elicitation) {
        let params = ElicitationComplete::new(elicitation.id.to_string());
        self.sends(json!({ "jsonrpc": "2.0", "method": COMPLETE_METHOD, "params": params })).await;
    }

    /// Sends `elicitation/create` and waits for the answer; for a link, also for what becomes of it, in the seat of who asks.
    async fn asks(
        &mut self,
        params: &ElicitRequestParams,
        link: Option<&Elicitation>,
    ) -> Result<Back, Fault> {
        let app = self.call.mcp.app.clone();
        let _seat = match link {
            None => Some(self.call.mcp.seats.take(&self.call.owner)?),
            Some(_) => None,
        };
        let question = app.random.uuid();
        let until = match link {
            Some(elicitation) => elicitation.expires_at,
            None => app.clock.now().plus(app.settings.lifetimes.elicitation),
        };
        let until = until.min(self.session.expires_at());
        app.store.ask_client(question, self.session.key, until).await?;
        (self.has_asked, self.waiting) = (true, Some(question));
        let message = json!({ "jsonrpc": "2.0", "id": question, "method": CREATE_METHOD, "params": params });
        self.sends(message).await;
        let back = match link {
            None => self.answer(question, until).await?,
            Some(elicitation) => {
                let patience = app.clock.now().until(until);
                tokio::select! {
                    back = self.answer(question, until) => back?,
                    ended = self.call.mcp.outcome(elicitation, patience) => Back::Settled(ended?),
                }
            }
        };
        self.over().await;
        Ok(back)
    }

    /// The answer, which any process may have taken.
    async fn answer(&self, question: Uuid, until: Millis) -> Result<Back, Fault> {
        let app = &self.call.mcp.app;
        let Some(mut woken) = app.store.client_answers() else { return Err(Fault::internal()) };
        loop {
            if let Some(text) = app.store.client_answer(question).await? {
                return Ok(match serde_json::from_str(&text) {
                    Ok(Value::Null) | Err(_) => Back::Failed,
                    Ok(answer) => Back::Answer(answer),
                });
            }
            let now = app.clock.now();
            if now >= until || app.shutdown.is_cancelled() {
                return Ok(Back::Nothing);
            }
            tokio::select! {
                _ = woken.changed() => {}
                () = app.clock.sleep_until(until.min(now.plus(POLL))) => {}
                () = app.shutdown.cancelled() => {}
            }
        }
    }

    async fn sends(&self, message: Value) {
        // When nobody reads any more, the task is about to end.
        let _ = self.out.send(Out::Message(message)).await;
    }

    /// Nobody waits for what is out any more.
    pub(super) async fn over(&mut self) {
        let Some(question) = self.waiting.take() else { return };
        if let Err(error) = self.call.mcp.app.store.forget_question(question).await {
            tracing::debug!(%error, "a question of the MCP endpoint is left to the clean-up");
        }
    }
}

/// An answer under the key by which the steps look for it.
fn named(key: &str, answer: &Value) -> Answers {
    serde_json::from_value(json!({ key: answer })).unwrap_or_default()
}

/// The same client, which cannot show a link after all.
fn unable(client: &Client) -> Client {
    let mut unable = client.clone();
    unable.elicitation = Capability::NONE;
    unable
}
