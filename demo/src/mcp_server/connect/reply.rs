//! The answer that a call gets instead of its result, in rmcp's types.

use consentry_client::{Body, Error, Reply};
use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, ContentBlock, ErrorCode, InputRequiredResult},
};
use serde::{Serialize, de::DeserializeOwned};

/// What the client is answered instead of the tool's result: words, a request for input, or an error.
pub(in super::super) type Instead = Box<Result<CallToolResponse, ErrorData>>;

pub(super) const NOT_CONNECTED: &str = "The account is not connected. Call the tool again to try once more.";

/// Consentry's reply.
pub(super) fn answer(reply: Reply) -> Instead {
    Box::new(match reply.body {
        Body::ToolResult(result) => via_json::<CallToolResult>(&result).map(Into::into),
        Body::InputRequired(result) => via_json::<InputRequiredResult>(&result).map(Into::into),
        Body::JsonrpcError(error) => {
            let code = i32::try_from(error.code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
            Err(ErrorData::new(code, error.message, error.data))
        }
        _ => return internal("a reply that does not end a call"),
    })
}

/// Consentry did not answer, or refused the call.
pub(super) fn failed(error: &Error) -> Instead {
    if error.code() == Some("request_state_invalid") {
        return Box::new(Err(ErrorData::invalid_params("requestState is not valid for this call", None)));
    }
    tracing::error!(%error, "no credential");
    say("Your account cannot be reached at the moment. Try again later.")
}

/// Words for the model and the user.
pub(super) fn say(text: &str) -> Instead {
    Box::new(Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into()))
}

/// A fault of ours.
pub(super) fn internal(what: &'static str) -> Instead {
    Box::new(Err(ErrorData::internal_error(what, None)))
}

pub(super) fn json(value: &impl Serialize) -> Option<serde_json::Value> {
    serde_json::to_value(value).ok().filter(|value| !value.is_null())
}

/// Both sides write the protocol's JSON, so it leads from the types of one to those of the other.
pub(super) fn via_json<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, ErrorData> {
    let read = serde_json::to_value(value).and_then(serde_json::from_value);
    read.map_err(|_| ErrorData::internal_error("a reply that cannot be read", None))
}
