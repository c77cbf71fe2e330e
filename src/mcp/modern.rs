//! The modern era (2026-07-28): each request says all of itself, and a question is a result that makes the client repeat it.
//!
//! Nothing of an earlier request is relied on (M20). A question goes only to a client that declared, in this very request,
//! that it can show it (M8, M18).

use axum::{
    Json,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use consentry_elicitation::{
    Body, Client, Era, InputResponses, Reply, Retry, STATE_ONLY_ROUNDS, Turn, choose, reply::keys,
};
use serde_json::{Map, Value, json};

use super::{
    Mcp, answer,
    call::{Ended, LEG},
    client::{Asker, name_of_request},
    door::Caller,
    fault::Fault,
    headers::{self, VERSIONS},
    message::Request,
    state::{Bound, Known},
    tools::{self, Done, Step, Tool, ToolCall},
};
use crate::{
    connect,
    elicitation::{ENDPOINT_REF, Elicitation},
};

/// What does not change until the program or its settings do, and differs by nothing that a cache could see.
const LIST_TTL_MS: u64 = 300_000;

/// Answers one request.
pub(super) async fn answer(
    mcp: &Mcp,
    caller: &Caller,
    headers: &HeaderMap,
    request: Request,
) -> Result<Response, Fault> {
    headers::check_repeated(headers, &request)?;
    let Request { id, method, params, .. } = request;
    let params = Value::Object(params);
    let client = Client::of_request(&method, &params)?;
    let Value::Object(mut params) = params else { return Err(Fault::internal()) };
    let result = match &*method {
        "server/discover" => mcp.in_era(Era::Modern, mcp.discovered()),
        "tools/list" => mcp.in_era(Era::Modern, cacheable(&json!({ "tools": tools::definitions() }))),
        "tools/call" => {
            let call = mcp.call(caller, client, &mut params)?;
            match call.round(params).await? {
                Answered::Result(result) => mcp.in_era(Era::Modern, result),
                Answered::Reply(reply) => return mcp.hand_on(&id, reply),
            }
        }
        _ => return Err(Fault::method_not_found()),
    };
    Ok(answer::result(&id, &result))
}

fn cacheable(value: &Value) -> Map<String, Value> {
    let mut result = value.as_object().cloned().unwrap_or_default();
    result.insert("ttlMs".to_owned(), LIST_TTL_MS.into());
    result.insert("cacheScope".to_owned(), "private".into());
    result
}

impl Mcp {
    /// M23.
    fn discovered(&self) -> Map<String, Value> {
        cacheable(&json!({
            "supportedVersions": VERSIONS,
            "capabilities": { "tools": {} },
            "instructions": self.instructions(),
        }))
    }

    fn call(
        &self,
        caller: &Caller,
        client: Client,
        params: &mut Map<String, Value>,
    ) -> Result<ToolCall, Fault> {
        let asker = Asker {
            client,
            name: name_of_request(params),
            // Each call has an elicitation of its own, for nothing says that two calls are of one client (E30).
            reference: format!("{ENDPOINT_REF} {}", self.app.random.uuid().as_simple()),
            links: self.settings.legacy_links,
        };
        let (tool, arguments) = called(params)?;
        Ok(ToolCall { mcp: self.clone(), owner: caller.subject.clone(), asker, tool, arguments })
    }

    /// A reply that is not a result of ours.
    fn hand_on(&self, id: &super::message::Id, reply: Reply) -> Result<Response, Fault> {
        let value = match reply.body {
            Body::InputRequired(round) => serde_json::to_value(round),
            Body::ToolResult(result) => serde_json::to_value(result),
            Body::JsonrpcError(error) => {
                let fault = Fault::from(error).for_request(id.clone());
                let status = reply.http_status.and_then(|status| StatusCode::from_u16(status).ok());
                return Ok((status.unwrap_or(StatusCode::OK), Json(fault.body())).into_response());
            }
            // Of the other era, or of a later one: it is never chosen for this client.
            _ => return Err(Fault::internal()),
        };
        let value = value.map_err(|_| Fault::internal())?;
        let result = value.as_object().cloned().ok_or_else(Fault::internal)?;
        Ok(answer::result(id, &self.in_era(Era::Modern, result)))
    }
}

/// The tool that is called, and its arguments.
pub(super) fn called(params: &mut Map<String, Value>) -> Result<(Tool, Map<String, Value>), Fault> {
    let name = params.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| Fault::invalid_params("/params/name: is missing or no text"))?;
    let tool =
        Tool::called(name).ok_or_else(|| Fault::invalid_params("/params/name: there is no such tool"))?;
    let arguments = match params.remove("arguments") {
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(Fault::invalid_params("/params/arguments: is not an object")),
    };
    Ok((tool, arguments))
}

enum Answered {
    Result(Map<String, Value>),
    Reply(Reply),
}

impl From<Done> for Answered {
    fn from(done: Done) -> Self {
        Self::Result(done.into_result())
    }
}

impl ToolCall {
    /// One round: the first, or a retry with what the client answered.
    async fn round(&self, mut params: Map<String, Value>) -> Result<Answered, Fault> {
        params.retain(|name, _| name == "inputResponses" || name == "requestState");
        let retry: Retry = serde_json::from_value(Value::Object(params)).map_err(|_| {
            Fault::invalid_params("/params: `inputResponses` or `requestState` cannot be read")
        })?;
        let bound = Bound::new(&self.owner, self.tool, &self.arguments);
        let known = match &retry.request_state {
            Some(text) => bound.open(&self.mcp, text)?,
            None => None,
        };
        // Answers to what was not asked, or too long ago, say nothing (M11).
        let answers = if known.is_some() { retry.input_responses } else { InputResponses::default() };
        let known = known.unwrap_or_default();
        if let Some((server, id)) = known.link.as_ref().and_then(|link| link.elicitation()) {
            return match self.own(&server, id).await? {
                Some(elicitation) => self.after_link(&bound, &elicitation, known, &answers).await,
                None => self.go_on(&bound, Known::default(), &InputResponses::default()).await,
            };
        }
        self.go_on(&bound, known, &answers).await
    }

    async fn go_on(
        &self,
        bound: &Bound<'_>,
        known: Known,
        answers: &InputResponses,
    ) -> Result<Answered, Fault> {
        Ok(match self.step(known, answers).await? {
            Step::Done(done) => done.into(),
            Step::Form { instead, .. } if !self.asker.client.elicitation.form() => {
                Done::error(instead).into()
            }
            Step::Form { ask, known, .. } => {
                let state = bound.seal(&self.mcp, &known)?;
                let turn = Turn::Ask { request_state: Some(&state) };
                Answered::Reply(choose(&self.asker.client, &ask, turn))
            }
            Step::Link { elicitation, known } => {
                let state = bound.seal(&self.mcp, &known)?;
                let turn = Turn::Ask { request_state: Some(&state) };
                Answered::Reply(choose(&self.asker.client, &[self.ask(&elicitation)?], turn))
            }
        })
    }

    /// The link is out: hears a "no", waits, and tells what the store knows.
    async fn after_link(
        &self,
        bound: &Bound<'_>,
        elicitation: &Elicitation,
        mut known: Known,
        answers: &InputResponses,
    ) -> Result<Answered, Fault> {
        let asks = [self.ask(elicitation)?];
        let action = keys(&asks).first().and_then(|key| answers.action(key));
        let waited = known.link.as_ref().map_or(0, |link| link.waited);
        let reply = |turn: Turn<'_>| Answered::Reply(choose(&self.asker.client, &asks, turn));
        if let Some(action) = action {
            connect::hear(&self.mcp.app, elicitation, action).await?;
        } else if waited == 0 && elicitation.state(self.mcp.app.clock.now()).is_open() {
            // The answer is missing: asked again, and no error (M10).
            let state = bound.seal(&self.mcp, &known)?;
            return Ok(reply(Turn::Ask { request_state: Some(&state) }));
        }
        let _seat = self.mcp.seats.take(&self.owner)?;
        Ok(match self.mcp.outcome(elicitation, LEG).await? {
            Ended::Completed => self.connected(elicitation).await?.into(),
            Ended::Refused(outcome) => reply(Turn::Refused(outcome)),
            Ended::Open if waited >= STATE_ONLY_ROUNDS => reply(Turn::Tell),
            Ended::Open => {
                if let Some(link) = &mut known.link {
                    link.waited += 1;
                }
                let state = bound.seal(&self.mcp, &known)?;
                reply(Turn::Wait { request_state: &state })
            }
        })
    }
}
