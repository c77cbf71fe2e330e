//! The tool result that tells the model and the person in plain words what to do: for clients that cannot be asked.

use serde::{Deserialize, Serialize};

use crate::object::object;

/// Whether a modern result is final. Legacy results do not say.
///
/// ```
/// use consentry_elicitation::ResultType;
///
/// assert_eq!(serde_json::to_string(&ResultType::Complete)?, r#""complete""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultType {
    /// Nothing more is needed.
    Complete,
}

/// A result of `tools/call`.
///
/// ```
/// use consentry_elicitation::{Era, ToolResult};
/// use serde_json::json;
///
/// let result = ToolResult::error(Era::Legacy, "Open this link.");
/// assert_eq!(
///     serde_json::to_value(result)?,
///     json!({ "isError": true, "content": [{ "type": "text", "text": "Open this link." }] }),
/// );
/// // The modern revision requires every result to say what it is.
/// assert_eq!(serde_json::to_value(ToolResult::error(Era::Modern, "m"))?["resultType"], "complete");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResult {
    /// Modern era only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// Did the call fail? The model sees the content either way.
    #[serde(default)]
    pub is_error: bool,
    /// What the model and the person read.
    pub content: Vec<Content>,
}

object!(ToolResult);

impl ToolResult {
    /// A failed call with one text.
    #[must_use]
    pub fn error(era: crate::Era, text: impl Into<String>) -> Self {
        let result_type = match era {
            crate::Era::Modern => Some(ResultType::Complete),
            crate::Era::Legacy => None,
        };
        Self { result_type, is_error: true, content: vec![Content::Text { text: text.into() }] }
    }
}

/// One piece of a tool result.
///
/// ```
/// use consentry_elicitation::Content;
///
/// let text = Content::Text { text: "Open this link.".into() };
/// assert_eq!(serde_json::to_string(&text)?, r#"{"type":"text","text":"Open this link."}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// Plain text.
    Text {
        /// The words.
        text: String,
    },
}

object!(Content);
