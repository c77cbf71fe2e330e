//! What a call is answered instead of its result, in rmcp's types.

use consentry_client::{Body, Elicitation, Error};
use consentry_elicitation::Capability;
use rmcp::{
    ErrorData,
    model::{
        CallToolResponse, CallToolResult, ContentBlock, ErrorCode, GetPromptResponse, InputRequiredResult,
        ReadResourceResponse,
    },
};
use serde::{Serialize, de::DeserializeOwned};

pub(crate) const NOT_CONNECTED: &str = "The account is not connected. Call the tool again to try once more.";

/// What the client is answered instead of the handler's result: words, a request for input, or an error. Hand it out
/// as it is; [`grant!`](crate::grant) does.
#[derive(Clone, Debug)]
pub struct Instead(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Words(Box<CallToolResult>),
    Input(Box<InputRequiredResult>),
    Error(ErrorData),
}

impl Instead {
    /// A reply of Consentry's that ends the call.
    pub(crate) fn reply(body: Body) -> Self {
        match body {
            Body::ToolResult(result) => Self::read(&result, |result| Kind::Words(Box::new(result))),
            Body::InputRequired(result) => Self::read(&result, |result| Kind::Input(Box::new(result))),
            Body::JsonrpcError(error) => {
                let code = i32::try_from(error.code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
                Self(Kind::Error(ErrorData::new(code, error.message, error.data)))
            }
            _ => Self::internal("a reply that does not end a call"),
        }
    }

    fn read<T: DeserializeOwned>(value: &impl Serialize, kind: impl FnOnce(T) -> Kind) -> Self {
        match via_json(value) {
            Ok(value) => Self(kind(value)),
            Err(error) => Self(Kind::Error(error)),
        }
    }

    /// Consentry did not answer, or refused the call.
    pub(crate) fn failed(error: &Error) -> Self {
        if error.code() == Some("request_state_invalid") {
            let error = ErrorData::invalid_params("requestState is not valid for this call", None);
            return Self(Kind::Error(error));
        }
        tracing::error!(%error, "no credential could be had");
        Self::words("Your account cannot be reached at the moment. Try again later.")
    }

    /// Words for the model and the user.
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self(Kind::Words(Box::new(CallToolResult::error(vec![ContentBlock::text(text)]))))
    }

    /// The links in words, for a client that can be sent nothing else.
    pub(crate) fn links(elicitations: &[Elicitation]) -> Self {
        let mut text =
            "An account must be connected first. Open this in a browser, then call the tool again:"
                .to_owned();
        for elicitation in elicitations {
            text.push('\n');
            text.push_str(elicitation.url.as_str());
        }
        Self::words(text)
    }

    /// `-32021`: the server insists on URL mode.
    pub(crate) fn missing_url_mode() -> Self {
        let message = "This needs a client that supports URL mode elicitation.";
        let error = consentry_elicitation::RpcError::missing_capability(message, Capability::URL);
        Self::reply(Body::JsonrpcError(error))
    }

    /// A fault of ours.
    pub(crate) fn internal(what: &'static str) -> Self {
        tracing::error!(what, "a call cannot be answered");
        Self(Kind::Error(ErrorData::internal_error(what, None)))
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn given_up() -> Self {
        Self(Kind::Error(ErrorData::internal_error("the call was cancelled", None)))
    }

    fn no_tool(result: &CallToolResult) -> ErrorData {
        let text = result.content.iter().filter_map(ContentBlock::as_text).map(|block| block.text.as_str());
        ErrorData::internal_error(text.collect::<Vec<_>>().join("\n"), None)
    }
}

impl From<Instead> for Result<CallToolResponse, ErrorData> {
    fn from(instead: Instead) -> Self {
        match instead.0 {
            Kind::Words(result) => Ok((*result).into()),
            Kind::Input(result) => Ok((*result).into()),
            Kind::Error(error) => Err(error),
        }
    }
}

impl From<Instead> for Result<GetPromptResponse, ErrorData> {
    fn from(instead: Instead) -> Self {
        match instead.0 {
            Kind::Words(result) => Err(Instead::no_tool(&result)),
            Kind::Input(result) => Ok((*result).into()),
            Kind::Error(error) => Err(error),
        }
    }
}

impl From<Instead> for Result<ReadResourceResponse, ErrorData> {
    fn from(instead: Instead) -> Self {
        match instead.0 {
            Kind::Words(result) => Err(Instead::no_tool(&result)),
            Kind::Input(result) => Ok((*result).into()),
            Kind::Error(error) => Err(error),
        }
    }
}

/// Both sides write the protocol's JSON, so it leads from the types of one to those of the other.
pub(crate) fn via_json<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, ErrorData> {
    let read = serde_json::to_value(value).and_then(serde_json::from_value);
    read.map_err(|_| ErrorData::internal_error("a reply that cannot be read", None))
}
