//! Multi-round-trip requests of the modern era: the result that asks, and the retry that answers
//! (2026-07-28, basic/patterns/mrtr). What comes back in a retry is the client's word, and proves nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::object::object;
use crate::{ElicitAction, ElicitRequestParams, ElicitResult};

/// The only methods that may be answered by an [`InputRequiredResult`].
pub const INPUT_METHODS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// How many rounds without a new question a server can count on: one widespread client gives up at the third.
pub const STATE_ONLY_ROUNDS: u8 = 2;

/// The result that makes the client gather answers and retry.
///
/// ```
/// use consentry_elicitation::{InputRequiredResult, UrlRequest};
///
/// let ask = UrlRequest::new("https://connect.example.com/".parse()?, "Connect GitHub.");
/// let result = InputRequiredResult::asking([("connect-github".into(), ask.into())]).state("v1.sealed");
/// let value = serde_json::to_value(&result)?;
/// assert_eq!(value["resultType"], "input_required");
/// assert_eq!(value["inputRequests"]["connect-github"]["method"], "elicitation/create");
/// assert_eq!(value["requestState"], "v1.sealed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequiredResult {
    result_type: InputRequired,
    /// What the client is to gather, by keys that the server chose.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::present")]
    pub input_requests: Option<BTreeMap<String, InputRequest>>,
    /// What the client is to send back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::present")]
    pub request_state: Option<String>,
    /// Metadata, when the sender gave any.
    #[serde(
        rename = "_meta",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::present"
    )]
    pub meta: Option<Map<String, Value>>,
}

object!(InputRequiredResult);

// One variant, so that serde both writes the constant and refuses any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InputRequired {
    InputRequired,
}

impl InputRequiredResult {
    /// A round that asks.
    #[must_use]
    pub fn asking(requests: impl IntoIterator<Item = (String, ElicitRequestParams)>) -> Self {
        let requests =
            requests.into_iter().map(|(key, params)| (key, InputRequest::Elicit(params))).collect();
        Self {
            result_type: InputRequired::InputRequired,
            input_requests: Some(requests),
            request_state: None,
            meta: None,
        }
    }

    /// A round that asks nothing new and only makes the client come back.
    ///
    /// `inputRequests` is written as `{}`: where it is left out, Go clients return the result instead of retrying.
    #[must_use]
    pub fn waiting(state: impl Into<String>) -> Self {
        Self::asking([]).state(state)
    }

    /// The same with this `requestState`.
    #[must_use]
    pub fn state(mut self, state: impl Into<String>) -> Self {
        self.request_state = Some(state.into());
        self
    }
}

/// One thing that the client is to gather.
///
/// ```
/// use consentry_elicitation::{InputRequest, UrlRequest};
///
/// let ask = UrlRequest::new("https://connect.example.com/".parse()?, "Connect GitHub.");
/// let value = serde_json::to_value(InputRequest::Elicit(ask.into()))?;
/// assert_eq!(value["method"], "elicitation/create");
/// assert_eq!(value["params"]["mode"], "url");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[serde(tag = "method", content = "params")]
#[non_exhaustive]
pub enum InputRequest {
    /// `elicitation/create`, as a value and without a JSON-RPC id.
    #[serde(rename = "elicitation/create")]
    Elicit(ElicitRequestParams),
}

object!(InputRequest);

/// What the client gathered, by the keys of the round before.
///
/// Reading never fails on one bad entry: what is missing or unreadable is asked again, and what is not known is passed
/// over, as the specification advises.
///
/// ```
/// use consentry_elicitation::{ElicitAction, InputResponses};
///
/// let answers: InputResponses = serde_json::from_str(r#"{ "connect-github": { "action": "decline" }, "other": 7 }"#)?;
/// assert_eq!(answers.action("connect-github"), Some(ElicitAction::Decline));
/// assert_eq!(answers.action("connect-gitlab"), None);
/// assert_eq!(answers.action("other"), None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputResponses(BTreeMap<String, Value>);

impl InputResponses {
    /// The answer under this key, when there is one that can be read.
    #[must_use]
    pub fn elicited(&self, key: &str) -> Option<ElicitResult> {
        <ElicitResult as Deserialize>::deserialize(self.0.get(key)?).ok()
    }

    /// The decision under this key, when there is one that can be read. The rest of the answer need not be: a "no" counts
    /// whatever stands beside it.
    #[must_use]
    pub fn action(&self, key: &str) -> Option<ElicitAction> {
        <ElicitAction as Deserialize>::deserialize(self.0.get(key)?.get("action")?).ok()
    }

    /// Adds an answer, as a client does.
    ///
    /// # Errors
    ///
    /// When the answer cannot be written as JSON.
    pub fn insert(&mut self, key: impl Into<String>, answer: &ElicitResult) -> Result<(), serde_json::Error> {
        self.0.insert(key.into(), serde_json::to_value(answer)?);
        Ok(())
    }

    /// Is there no answer at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a retry adds to the parameters of the original request.
///
/// ```
/// use consentry_elicitation::Retry;
///
/// let params = r#"{ "name": "list_files", "requestState": "v1.sealed", "inputResponses": {} }"#;
/// let retry: Retry = serde_json::from_str(params)?;
/// assert_eq!(retry.request_state.as_deref(), Some("v1.sealed"));
/// assert!(retry.input_responses.is_empty());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Retry {
    /// The answers; absent reads as none.
    #[serde(default, skip_serializing_if = "InputResponses::is_empty")]
    pub input_responses: InputResponses,
    /// The state of the round before, as the client sent it: under its control, so sealed and checked by who made it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::present")]
    pub request_state: Option<String>,
}

object!(Retry);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_waiting_round_writes_empty_requests() {
        assert_eq!(
            serde_json::to_value(InputRequiredResult::waiting("s")).unwrap(),
            json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "s" })
        );
    }

    #[test]
    fn another_result_type_or_method_is_refused() {
        let complete = json!({ "resultType": "complete", "inputRequests": {} });
        assert!(serde_json::from_value::<InputRequiredResult>(complete).is_err());
        let sampling = json!({ "method": "sampling/createMessage", "params": {} });
        assert!(serde_json::from_value::<InputRequest>(sampling).is_err());
    }

    #[test]
    fn a_decision_counts_also_beside_values_that_cannot_be_read() {
        let answers: InputResponses = serde_json::from_value(json!({
            "no": { "action": "decline", "content": null },
            "odd": { "action": "cancel", "content": { "x": {} } },
            "list": ["decline"],
        }))
        .unwrap();
        assert_eq!((answers.elicited("no"), answers.action("no")), (None, Some(ElicitAction::Decline)));
        assert_eq!(answers.action("odd"), Some(ElicitAction::Cancel));
        assert_eq!(answers.action("list"), None);
    }

    #[test]
    fn a_client_builds_a_retry_that_the_server_reads() {
        let mut answers = InputResponses::default();
        answers.insert("connect-github", &ElicitResult::new(ElicitAction::Accept)).unwrap();
        let retry = Retry { input_responses: answers, request_state: Some("s".into()) };
        let value = serde_json::to_value(&retry).unwrap();
        assert_eq!(
            value,
            json!({ "inputResponses": { "connect-github": { "action": "accept" } }, "requestState": "s" })
        );
        assert_eq!(serde_json::from_value::<Retry>(value).unwrap(), retry);
    }
}
