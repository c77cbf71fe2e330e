//! The JSON-RPC errors of elicitation: the member `error` of a response, without the envelope.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::object::object;
use crate::{Capability, UrlRequest};

/// Invalid params (JSON-RPC 2.0): also for a `requestState` that is forged or bound to something else.
pub const INVALID_PARAMS: i64 = -32602;
/// Internal error (JSON-RPC 2.0).
pub const INTERNAL_ERROR: i64 = -32603;
/// A capability is required that the client did not declare (2026-07-28; on HTTP the status is 400).
pub const MISSING_CAPABILITY: i64 = -32021;
/// URL elicitation is required (2025-11-25 only; modern implementations must not send it).
pub const URL_ELICITATION_REQUIRED: i64 = -32042;

/// A JSON-RPC error object.
///
/// ```
/// use consentry_elicitation::{RpcError, URL_ELICITATION_REQUIRED, UrlRequest};
///
/// let ask = UrlRequest::new("https://connect.example.com/".parse()?, "Connect GitHub.").elicitation_id("550e8400");
/// let error = RpcError::url_elicitation_required("This needs your GitHub account.", &[ask.clone()]);
/// assert_eq!(error.code, URL_ELICITATION_REQUIRED);
/// assert_eq!(error.elicitations(), Some(vec![ask]));
/// # Ok::<(), url::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(remote = "Self")]
#[error("{message} ({code})")]
#[non_exhaustive]
pub struct RpcError {
    /// What kind of error.
    pub code: i64,
    /// One sentence.
    pub message: String,
    /// What the code prescribes.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::present")]
    pub data: Option<Value>,
}

object!(RpcError);

impl RpcError {
    /// `-32602`.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self { code: INVALID_PARAMS, message: message.into(), data: None }
    }

    /// `-32603`.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self { code: INTERNAL_ERROR, message: message.into(), data: None }
    }

    /// `-32021` for elicitation in the modes given; to be sent with HTTP status 400.
    #[must_use]
    pub fn missing_capability(message: impl Into<String>, required: Capability) -> Self {
        let data = json!({ "requiredCapabilities": { "elicitation": required } });
        Self { code: MISSING_CAPABILITY, message: message.into(), data: Some(data) }
    }

    /// `-32042` with everything that must be opened before the request can be repeated.
    #[must_use]
    pub fn url_elicitation_required(message: impl Into<String>, elicitations: &[UrlRequest]) -> Self {
        let data = json!({ "elicitations": elicitations });
        Self { code: URL_ELICITATION_REQUIRED, message: message.into(), data: Some(data) }
    }

    /// What a `-32021` asks for; `None` for any other code, or when it asks for something else than elicitation.
    ///
    /// ```
    /// use consentry_elicitation::{Capability, RpcError};
    ///
    /// let error = RpcError::missing_capability("This needs a form.", Capability::FORM);
    /// assert_eq!(error.required_capability(), Some(Capability::FORM));
    /// assert_eq!(RpcError::internal("m").required_capability(), None);
    /// ```
    #[must_use]
    pub fn required_capability(&self) -> Option<Capability> {
        let data = self.data.as_ref().filter(|_| self.code == MISSING_CAPABILITY)?;
        Capability::declared(Some(data.get("requiredCapabilities")?.get("elicitation")?)).ok()
    }

    /// The links of a `-32042`; `None` for any other code, or when they cannot be read.
    #[must_use]
    pub fn elicitations(&self) -> Option<Vec<UrlRequest>> {
        let data = self.data.as_ref().filter(|_| self.code == URL_ELICITATION_REQUIRED)?;
        serde_json::from_value(data.get("elicitations")?.clone()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_capability_is_named_as_a_client_would_declare_it() {
        let error = RpcError::missing_capability("m", Capability::URL);
        assert_eq!(
            serde_json::to_value(error).unwrap(),
            json!({ "code": -32021, "message": "m", "data": { "requiredCapabilities": { "elicitation": { "url": {} } } } })
        );
    }

    #[test]
    fn only_the_legacy_error_has_links() {
        assert_eq!(RpcError::invalid_params("m").elicitations(), None);
        assert_eq!(
            serde_json::to_value(RpcError::internal("m")).unwrap(),
            json!({ "code": -32603, "message": "m" })
        );
    }
}
