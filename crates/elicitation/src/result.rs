//! What the client answers to `elicitation/create`, in both eras. `accept` in URL mode says that the user agreed to
//! open the link; it never says that anything was done there.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::form::{Answers, Form, InvalidAnswers, Values};
use crate::object::object;

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
/// use consentry_elicitation::{ElicitAction, ElicitResult, ElicitValue};
///
/// let answer: ElicitResult = serde_json::from_str(r#"{ "action": "accept" }"#)?;
/// assert_eq!(answer, ElicitResult::new(ElicitAction::Accept));
///
/// let filled = ElicitResult::accept([("name".to_owned(), ElicitValue::Text("octocat".into()))].into());
/// assert_eq!(serde_json::to_string(&filled)?, r#"{"action":"accept","content":{"name":"octocat"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct ElicitResult {
    /// The decision.
    pub action: ElicitAction,
    /// The values of a form that was accepted; URL mode has none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::present")]
    pub content: Option<Values>,
    /// Metadata, when the sender gave any.
    #[serde(
        rename = "_meta",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::present"
    )]
    pub meta: Option<Map<String, Value>>,
}

object!(ElicitResult);

impl ElicitResult {
    /// An answer without values.
    #[must_use]
    pub fn new(action: ElicitAction) -> Self {
        Self { action, content: None, meta: None }
    }

    /// A form that was filled in.
    #[must_use]
    pub fn accept(values: Values) -> Self {
        Self { action: ElicitAction::Accept, content: Some(values), meta: None }
    }

    /// What the answer means for the form that was asked. Values that come with a "no" are passed over.
    ///
    /// # Errors
    ///
    /// When it was accepted with values that do not fit (E38).
    ///
    /// ```
    /// use consentry_elicitation::form::{Form, Text};
    /// use consentry_elicitation::{ElicitAction, ElicitResult, FormOutcome};
    ///
    /// let form = Form::builder().required("name", Text::new()).build()?;
    /// assert!(ElicitResult::new(ElicitAction::Accept).for_form(&form).is_err());
    /// assert_eq!(ElicitResult::new(ElicitAction::Decline).for_form(&form)?, FormOutcome::Declined);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_form(&self, form: &Form) -> Result<FormOutcome, InvalidAnswers> {
        match self.action {
            ElicitAction::Accept => {
                let nothing = Values::new();
                form.answers(self.content.as_ref().unwrap_or(&nothing)).map(FormOutcome::Accepted)
            }
            ElicitAction::Decline => Ok(FormOutcome::Declined),
            ElicitAction::Cancel => Ok(FormOutcome::Cancelled),
        }
    }
}

/// How a form was answered (E21): each of the three is to be handled.
///
/// ```
/// use consentry_elicitation::form::Form;
/// use consentry_elicitation::{ElicitAction, ElicitResult, FormOutcome};
///
/// let form = Form::builder().build()?;
/// match ElicitResult::new(ElicitAction::Cancel).for_form(&form)? {
///     FormOutcome::Accepted(answers) => println!("{:?}", answers.values()),
///     FormOutcome::Declined => println!("The user said no."),
///     FormOutcome::Cancelled => println!("The user did not say."),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum FormOutcome {
    /// Filled in, with these values.
    Accepted(Answers),
    /// The user said no.
    Declined,
    /// The user closed it without an answer.
    Cancelled,
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
