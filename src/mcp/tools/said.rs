//! What was said: the arguments of a call, and the answer to a form.
//!
//! A value that a tool does not take is told in the tool's own answer, so that a model can mend it.

use consentry_elicitation::{ElicitAction, FormAsk, FormOutcome, InputResponses, Outcome, form::Answers};
use serde_json::{Map, Value};

use super::Tool;
use crate::mcp::state::{Known, Question};

/// The arguments of all tools.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) server: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) again: bool,
    pub(super) connection: Option<String>,
    pub(super) confirm: bool,
}

impl Arguments {
    /// Reads those of this tool; a name that it does not have is a mistake.
    pub(super) fn read(tool: Tool, arguments: &Map<String, Value>) -> Result<Self, String> {
        let mut read = Self::default();
        for (name, value) in arguments {
            match (tool, name.as_str()) {
                (Tool::Connect, "server") => read.server = Some(text(name, value)?),
                (Tool::Connect, "provider") => read.provider = Some(text(name, value)?),
                (Tool::Connect, "again") => read.again = yes(name, value)?,
                (Tool::Disconnect, "connection") => read.connection = Some(text(name, value)?),
                (Tool::Disconnect, "confirm") => read.confirm = yes(name, value)?,
                _ => {
                    return Err(format!("`{}` has another argument than those of its schema.", tool.name()));
                }
            }
        }
        Ok(read)
    }
}

fn text(name: &str, value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("The argument `{name}` is a text."))
}

fn yes(name: &str, value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("The argument `{name}` is true or false."))
}

/// What came back for a form.
pub(super) enum Heard {
    /// It was not asked yet, or nothing came back.
    Nothing,
    /// Values that fit it.
    Answered(Answers),
    /// The person said no, or closed it.
    Refused(Outcome),
    /// Values that do not fit it (E38).
    Unfit,
}

/// The answer to this form, if it is the one that was asked.
pub(super) fn heard(known: &Known, question: Question, ask: &FormAsk, answers: &InputResponses) -> Heard {
    if known.asked != Some(question) {
        return Heard::Nothing;
    }
    match answers.action(&ask.key) {
        None => Heard::Nothing,
        // A "no" counts, whatever stands beside it.
        Some(ElicitAction::Decline) => Heard::Refused(Outcome::Declined),
        Some(ElicitAction::Cancel) => Heard::Refused(Outcome::Cancelled),
        Some(ElicitAction::Accept) => {
            match answers.elicited(&ask.key).map(|answer| answer.for_form(ask.request.form())) {
                Some(Ok(FormOutcome::Accepted(values))) => Heard::Answered(values),
                _ => Heard::Unfit,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(tool: Tool, arguments: &Value) -> Result<Arguments, String> {
        Arguments::read(tool, arguments.as_object().unwrap())
    }

    #[test]
    fn arguments_are_those_of_the_tool_and_of_their_type() {
        let read_all =
            read(Tool::Connect, &json!({ "server": "files", "provider": "github", "again": true })).unwrap();
        assert_eq!((read_all.server.as_deref(), read_all.again), (Some("files"), true));
        for (tool, arguments) in [
            (Tool::List, json!({ "server": "files" })),
            (Tool::Connect, json!({ "confirm": true })),
            (Tool::Connect, json!({ "provider": 7 })),
            (Tool::Disconnect, json!({ "confirm": "yes" })),
            (Tool::Disconnect, json!({ "connection": null })),
        ] {
            assert!(read(tool, &arguments).is_err(), "{arguments}");
        }
    }
}
