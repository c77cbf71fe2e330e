//! What the client answers to `elicitation/create`, in both eras. `accept` in URL mode says that the user agreed to
//! open the link; it never says that anything was done there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The user's decision.
///
/// ```
/// use consentry_elicitation::ElicitAction;
///
/// assert_eq!(serde_json::to_string(&ElicitAction::Decline)?, r#""decline""#);
/// assert!(serde_json::from_str::<ElicitAction>(r#""done""#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Agreed; in URL mode, to open the link.
    Accept,
    /// Said no.
    Decline,
    /// Closed the question without an answer.
    Cancel,
}

/// The answer to one elicitation.
///
/// ```
/// use consentry_elicitation::{ElicitAction, ElicitResult};
///
/// let answer: ElicitResult = serde_json::from_str(r#"{ "action": "accept" }"#)?;
/// assert_eq!(answer, ElicitResult::new(ElicitAction::Accept));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// The decision.
    pub action: ElicitAction,
    /// The values of a form that was accepted; URL mode has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<BTreeMap<String, ElicitValue>>,
}

impl ElicitResult {
    /// An answer without values.
    #[must_use]
    pub fn new(action: ElicitAction) -> Self {
        Self { action, content: None }
    }
}

/// One value of a form.
///
/// ```
/// use consentry_elicitation::ElicitValue;
///
/// let value: ElicitValue = serde_json::from_str(r#"["red", "blue"]"#)?;
/// assert_eq!(value, ElicitValue::Many(vec!["red".into(), "blue".into()]));
/// assert!(serde_json::from_str::<ElicitValue>("{}").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ElicitValue {
    /// A string, or the choice of a single-choice field.
    Text(String),
    /// A number or an integer.
    Number(serde_json::Number),
    /// Yes or no.
    Bool(bool),
    /// The choices of a multiple-choice field.
    Many(Vec<String>),
}
