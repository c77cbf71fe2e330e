//! A form that is to be filled in, and what is said where it cannot be.

use std::fmt::Write;

use super::{Outcome, Turn};
use crate::FormRequest;

/// A form that the user is to fill in.
///
/// ```
/// use consentry_elicitation::form::{Form, Text};
/// use consentry_elicitation::{Body, Capability, Client, FormAsk, FormRequest, ProtocolVersion, Turn, choose};
///
/// let form = Form::builder().required("name", Text::new()).build()?;
/// let ask = FormAsk::new("name", FormRequest::new("Your GitHub name?", form)?);
/// let client = Client::new(ProtocolVersion::V2026_07_28, Capability::FORM, "tools/call");
/// let Body::InputRequired(round) = choose(&client, &ask, Turn::Ask { request_state: Some("v1.sealed") }).body else {
///     panic!()
/// };
/// assert!(round.input_requests.unwrap().contains_key("name"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormAsk {
    /// The key of the answer in a modern round.
    pub key: String,
    /// What is asked.
    pub request: FormRequest,
}

impl FormAsk {
    /// This form under this key.
    #[must_use]
    pub fn new(key: impl Into<String>, request: FormRequest) -> Self {
        Self { key: key.into(), request }
    }
}

/// The text of a tool result.
pub(super) fn paragraphs(ask: &FormAsk, turn: Turn<'_>) -> String {
    if let Turn::Refused(outcome) = turn {
        return format!(
            "There is no answer to the question \"{}\": {}.\n\n\
             Do not try again by yourself. Ask the user first.",
            ask.request.message(),
            words(outcome)
        );
    }
    let mut text = format!("{}\n\n", ask.request.message());
    text.push_str(match turn {
        Turn::Ask { .. } => "The user must fill in a form, which this client did not say it can show.",
        _ => "The user has not filled in the form yet.",
    });
    let names: Vec<&str> =
        ask.request.form().fields().map(|(name, field)| field.title().unwrap_or(name)).collect();
    if !names.is_empty() {
        let _ = write!(text, " It asks for: {}.", names.join(", "));
    }
    text
}

/// The message of an error, in one sentence.
pub(super) fn sentence(ask: &FormAsk, turn: Turn<'_>) -> String {
    let why = match turn {
        Turn::Refused(outcome) => words(outcome),
        Turn::Ask { .. } => "the user must fill in a form",
        _ => "the user has not filled in the form yet",
    };
    format!("No answer to \"{}\": {why}.", ask.request.message())
}

fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Declined => "the user declined",
        Outcome::Cancelled => "the question was cancelled",
        Outcome::Expired => "there was no answer in time",
        Outcome::Failed => "what was answered cannot be used",
    }
}
