//! Which answer a client gets, in one place. The declared capability decides what it may be sent, the version only in
//! which era's words; a client's name decides nothing. No link is ever sent to a client in a way it did not declare,
//! and nothing of the legacy era (`-32042`, `elicitationId`) in the modern one.

mod ask;
mod client;
mod text;

use serde::{Deserialize, Serialize};

pub use ask::{Ask, keys};
pub use client::{Client, Prefer};
pub use text::Outcome;

use crate::{Capability, ElicitRequestParams, Era, InputRequiredResult, RpcError, ToolResult, UrlRequest};

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
    /// The links are to be opened.
    Ask {
        /// Modern era only: what the client is to send back. Ignored in the legacy era.
        request_state: Option<&'a str>,
    },
    /// The links are out and nothing is known yet: come back without asking again. A client that cannot come back by
    /// itself gets the text.
    Wait {
        /// What the client is to send back.
        request_state: &'a str,
    },
    /// No answer after the waiting rounds, or the client failed the request: the links in plain words.
    Tell,
    /// It is over, and there is no connection.
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
#[must_use]
pub fn choose(client: &Client, asks: &[Ask], turn: Turn<'_>) -> Reply {
    let nothing_to_open = asks.is_empty() && matches!(turn, Turn::Ask { .. });
    if !client.elicitation.url() || nothing_to_open {
        return in_words(client, asks, turn);
    }
    match (client.era(), turn) {
        (Era::Legacy, Turn::Ask { .. }) => request_or_error(client, asks),
        (Era::Modern, Turn::Ask { request_state }) if client.may_be_asked_again() => {
            let asked = keys(asks).into_iter().zip(asks).map(|(key, ask)| (key, ask.request().into()));
            let mut round = InputRequiredResult::asking(asked);
            round.request_state = request_state.map(str::to_owned);
            Body::InputRequired(round).into()
        }
        (Era::Modern, Turn::Wait { request_state }) if client.may_be_asked_again() => {
            Body::InputRequired(InputRequiredResult::waiting(request_state)).into()
        }
        // The capability is there, only this method has no way to use it: `-32021` would be untrue.
        (Era::Modern, Turn::Ask { .. }) if client.method != "tools/call" => {
            Body::JsonrpcError(RpcError::internal(text::sentence(asks, turn))).into()
        }
        _ => in_words(client, asks, turn),
    }
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

/// For a client that is not to be sent a link as such: a tool's text, or an error where there is no tool.
fn in_words(client: &Client, asks: &[Ask], turn: Turn<'_>) -> Reply {
    if client.method == "tools/call" {
        let text = text::paragraphs(asks, turn, client.target.as_deref());
        return Body::ToolResult(ToolResult::error(client.era(), text)).into();
    }
    let sentence = text::sentence(asks, turn);
    match client.era() {
        Era::Modern => Reply {
            body: Body::JsonrpcError(RpcError::missing_capability(sentence, Capability::URL)),
            http_status: Some(400),
        },
        Era::Legacy => Body::JsonrpcError(RpcError::internal(sentence)).into(),
    }
}
