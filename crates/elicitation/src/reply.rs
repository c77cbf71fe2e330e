//! Which answer a client gets, in one place. The declared capability decides what it may be sent, the version only in
//! which era's words; a client's name decides nothing. Neither a link nor a form is ever sent to a client that did not
//! declare it, and nothing of the legacy era (`-32042`, `elicitationId`) in the modern one.

mod ask;
mod asks;
mod client;
mod form;
mod text;

use serde::{Deserialize, Serialize};

pub use ask::{Ask, keys};
pub use asks::Asks;
pub use client::{Client, Prefer};
pub use form::FormAsk;
pub use text::Outcome;

use crate::{ElicitRequestParams, Era, INPUT_METHODS, InputRequiredResult, RpcError, ToolResult, UrlRequest};

/// What is to be told to the client now.
///
/// ```
/// use consentry_elicitation::{Ask, Capability, Client, Outcome, ProtocolVersion, Turn, choose};
///
/// let client = Client::new(ProtocolVersion::V2026_07_28, Capability::URL, "tools/call");
/// let ask = Ask::new("github", "GitHub", "550e8400", "https://connect.example.com/".parse()?);
/// let kind = |turn| serde_json::to_value(choose(&client, &[ask.clone()], turn)).map(|reply| reply["kind"].clone());
///
/// assert_eq!(kind(Turn::Ask { request_state: Some("v1.sealed") })?, "input_required");
/// assert_eq!(kind(Turn::Wait { request_state: "v1.sealed" })?, "input_required");
/// assert_eq!(kind(Turn::Tell)?, "tool_result");
/// assert_eq!(kind(Turn::Refused(Outcome::Declined))?, "tool_result");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Turn<'a> {
    /// The links are to be opened, or the form filled in.
    Ask {
        /// Modern era only: what the client is to send back. Ignored in the legacy era.
        request_state: Option<&'a str>,
    },
    /// The question is out and nothing is known yet: come back without asking again. A client that cannot come back by
    /// itself gets the text.
    Wait {
        /// What the client is to send back.
        request_state: &'a str,
    },
    /// No answer after the waiting rounds, or the client failed the request: the question in plain words.
    Tell,
    /// It is over, and there is no connection or no answer.
    Refused(Outcome),
}

/// An answer, and how to hand it to the client: `{ "kind", "body", "http_status"? }`.
///
/// ```
/// use consentry_elicitation::{Ask, Capability, Client, ProtocolVersion, Turn, choose};
///
/// let client = Client::new(ProtocolVersion::V2026_07_28, Capability::NONE, "prompts/get");
/// let ask = Ask::new("github", "GitHub", "550e8400", "https://connect.example.com/".parse()?);
/// let reply = choose(&client, &[ask], Turn::Ask { request_state: None });
/// let value = serde_json::to_value(&reply)?;
/// assert_eq!(value["kind"], "jsonrpc_error");
/// assert_eq!(value["body"]["code"], -32021);
/// assert_eq!(value["http_status"], 400);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reply {
    /// The kind with its body.
    #[serde(flatten)]
    pub body: Body,
    /// The status that the HTTP response to the client must have, where the specification prescribes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
}

impl From<Body> for Reply {
    fn from(body: Body) -> Self {
        Self { body, http_status: None }
    }
}

/// The kinds of answer.
///
/// ```
/// use consentry_elicitation::{Body, RpcError};
///
/// let value = serde_json::to_value(Body::JsonrpcError(RpcError::invalid_params("Unknown requestState.")))?;
/// assert_eq!(value["kind"], "jsonrpc_error");
/// assert_eq!(value["body"]["code"], -32602);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Body {
    /// Send `elicitation/create` with these parameters while the call is being handled, and wait.
    ElicitationRequest(ElicitRequestParams),
    /// Answer the call with this error.
    JsonrpcError(RpcError),
    /// Answer the call with this result; the client will retry.
    InputRequired(InputRequiredResult),
    /// Answer the call with this tool result.
    ToolResult(ToolResult),
}

/// The answer for this client. Without an ask there is nothing to open, and the text says so.
///
/// ```
/// use consentry_elicitation::{Ask, Body, Capability, Client, Prefer, ProtocolVersion, Turn, choose};
///
/// // A client of an old version that declares URL mode all the same is served as it declares.
/// let client = Client::new(ProtocolVersion::V2025_06_18, Capability::BOTH, "tools/call").prefer(Prefer::Error);
/// let ask = Ask::new("github", "GitHub", "550e8400", "https://connect.example.com/".parse()?);
/// let Body::JsonrpcError(error) = choose(&client, &[ask], Turn::Ask { request_state: None }).body else { panic!() };
/// assert_eq!(error.code, -32042);
/// # Ok::<(), url::ParseError>(())
/// ```
///
/// A form goes the same ways as a link, except that it is asked by request or by round alone: `-32042` is for links.
///
/// ```
/// use consentry_elicitation::form::{Boolean, Form};
/// use consentry_elicitation::{Body, Capability, Client, FormAsk, FormRequest, ProtocolVersion, Turn, choose};
///
/// let form = Form::builder().required("sure", Boolean::new()).build()?;
/// let ask = FormAsk::new("sure", FormRequest::new("Delete it?", form)?);
/// let reply = |capability| {
///     let client = Client::new(ProtocolVersion::V2025_11_25, capability, "tools/call");
///     choose(&client, &ask, Turn::Ask { request_state: None }).body
/// };
/// assert!(matches!(reply(Capability::FORM), Body::ElicitationRequest(_)));
/// assert!(matches!(reply(Capability::URL), Body::ToolResult(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn choose<'a>(client: &Client, asks: impl Into<Asks<'a>>, turn: Turn<'_>) -> Reply {
    let asks = asks.into();
    let (declared, question) = match asks {
        Asks::Links(links) => (client.elicitation.url(), Some(links.iter().map(link).collect::<Vec<_>>())),
        // What the client's revision has no words for cannot be asked, however it is declared.
        Asks::Form(ask) => {
            let request = ask.request.for_version(client.protocol_version).ok();
            (client.elicitation.form(), request.map(|request| vec![request.into()]))
        }
    };
    let Some(questions) = question.filter(|questions| {
        // Without a question there is nothing to ask.
        declared && !(questions.is_empty() && matches!(turn, Turn::Ask { .. }))
    }) else {
        return in_words(client, asks, turn);
    };
    let retries = client.era() == Era::Modern && INPUT_METHODS.contains(&client.method.as_str());
    match (client.era(), turn) {
        (Era::Legacy, Turn::Ask { .. }) => match asks {
            Asks::Links(links) => request_or_error(client, links),
            Asks::Form(_) => questions.into_iter().next().map_or_else(
                || in_words(client, asks, turn),
                |question| Body::ElicitationRequest(question).into(),
            ),
        },
        (Era::Modern, Turn::Ask { request_state }) if retries => {
            let mut round = InputRequiredResult::asking(asks.keys().into_iter().zip(questions));
            round.request_state = request_state.map(str::to_owned);
            Body::InputRequired(round).into()
        }
        (Era::Modern, Turn::Wait { request_state }) if retries => {
            Body::InputRequired(InputRequiredResult::waiting(request_state)).into()
        }
        // The capability is there, only this method has no way to use it: `-32021` would be untrue.
        (Era::Modern, Turn::Ask { .. }) if client.method != "tools/call" => {
            Body::JsonrpcError(RpcError::internal(sentence(asks, turn))).into()
        }
        _ => in_words(client, asks, turn),
    }
}

fn link(ask: &Ask) -> ElicitRequestParams {
    ask.request().into()
}

/// Legacy, URL mode declared: one link by request, several (or by preference one) by error.
fn request_or_error(client: &Client, asks: &[Ask]) -> Reply {
    let mut requests: Vec<UrlRequest> =
        asks.iter().map(|ask| ask.request().elicitation_id(&ask.elicitation_id)).collect();
    match requests.pop() {
        Some(only) if requests.is_empty() && client.prefer == Prefer::Request => {
            Body::ElicitationRequest(only.into()).into()
        }
        last => {
            requests.extend(last);
            let message = text::required(asks);
            Body::JsonrpcError(RpcError::url_elicitation_required(message, &requests)).into()
        }
    }
}

/// For a client that is not to be asked as such: a tool's text, or an error where there is no tool.
fn in_words(client: &Client, asks: Asks<'_>, turn: Turn<'_>) -> Reply {
    if client.method == "tools/call" {
        let text = match asks {
            Asks::Links(links) => text::paragraphs(links, turn, client.target.as_deref()),
            Asks::Form(ask) => form::paragraphs(ask, turn),
        };
        return Body::ToolResult(ToolResult::error(client.era(), text)).into();
    }
    let sentence = sentence(asks, turn);
    match client.era() {
        Era::Modern => Reply {
            body: Body::JsonrpcError(RpcError::missing_capability(sentence, asks.capability())),
            http_status: Some(400),
        },
        Era::Legacy => Body::JsonrpcError(RpcError::internal(sentence)).into(),
    }
}

fn sentence(asks: Asks<'_>, turn: Turn<'_>) -> String {
    match asks {
        Asks::Links(links) => text::sentence(links, turn),
        Asks::Form(ask) => form::sentence(ask, turn),
    }
}
