//! The tools, once for both eras: what they are called, what they take and give, and the steps of a call.
//!
//! A step ends with an answer, or with a question and what must be known when it is answered. Whether the question goes out
//! as a request or as a round is not known here.

mod connect;
mod disconnect;
mod list;
mod said;
mod schema;
mod shown;

use consentry_elicitation::{FormAsk, InputResponses};
use serde_json::{Map, Value, json};

pub(super) use self::schema::definitions;
use super::{Mcp, client::Asker, fault::Fault, state::Known};
use crate::{
    elicitation::{Elicitation, ElicitationId, ServerId},
    store::Held,
    subject::Subject,
};

/// More than anybody has.
const HELD_MAX: u32 = 200;
/// Answers to one form that do not fit it before the call ends.
pub(super) const UNFIT_MAX: u8 = 3;

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    List,
    Connect,
    Disconnect,
}

impl Tool {
    const ALL: [Self; 3] = [Self::List, Self::Connect, Self::Disconnect];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::List => "list_connections",
            Self::Connect => "connect",
            Self::Disconnect => "disconnect",
        }
    }

    pub(super) fn called(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}

/// What a step comes to.
pub(super) enum Step {
    /// The answer.
    Done(Done),
    /// A form is to be filled in.
    Form {
        ask: FormAsk,
        /// For a client that cannot show it: what to do without.
        instead: String,
        known: Known,
    },
    /// A link is to be opened.
    Link { elicitation: Box<Elicitation>, known: Known },
}

/// The result of a call, before its era is known.
#[derive(Debug)]
pub(super) struct Done {
    text: String,
    /// None in an answer that says why there is no result.
    structured: Option<Value>,
}

impl Done {
    /// What was asked for, in words and as data.
    pub(super) fn new(text: impl Into<String>, structured: Value) -> Self {
        Self { text: text.into(), structured: Some(structured) }
    }

    /// What went wrong, for the model to mend.
    pub(super) fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), structured: None }
    }

    /// As a tool's result. The data stands in the text as well, for clients that read nothing else
    /// (server/tools, "Structured Content").
    pub(super) fn into_result(self) -> Map<String, Value> {
        let mut content = vec![json!({ "type": "text", "text": self.text })];
        let mut result = Map::new();
        result.insert("isError".to_owned(), self.structured.is_none().into());
        if let Some(structured) = self.structured {
            content.push(json!({ "type": "text", "text": structured.to_string() }));
            result.insert("structuredContent".to_owned(), structured);
        }
        result.insert("content".to_owned(), content.into());
        result
    }
}

/// A call of a tool: who called, with what.
#[derive(Clone)]
pub(super) struct ToolCall {
    pub(super) mcp: Mcp,
    pub(super) owner: Subject,
    pub(super) asker: Asker,
    pub(super) tool: Tool,
    pub(super) arguments: Map<String, Value>,
}

impl ToolCall {
    /// Goes on from what is known, with what the client answered.
    pub(super) async fn step(&self, known: Known, answers: &InputResponses) -> Result<Step, Fault> {
        let arguments = match said::Arguments::read(self.tool, &self.arguments) {
            Ok(arguments) => arguments,
            Err(problem) => return Ok(Step::Done(Done::error(problem))),
        };
        match self.tool {
            Tool::List => self.list().await.map(Step::Done),
            Tool::Connect => self.connect(&arguments, known, answers).await,
            Tool::Disconnect => self.disconnect(&arguments, known, answers).await,
        }
    }

    /// Everything that this person has connected for the MCP servers that are offered here.
    async fn held(&self) -> Result<Vec<Held>, Fault> {
        let mut held = self.mcp.app.store.connections_of(&self.owner, HELD_MAX).await?;
        let is_offered = |id: &ServerId| self.mcp.servers().any(|server| server.id == *id);
        held.retain(|one| !one.connection.is_taken_out() && is_offered(&one.connection.server));
        Ok(held)
    }

    /// The elicitation of this id, if it is this person's. Nobody else's comes into the state that names it; the
    /// comparison costs nothing.
    pub(super) async fn own(
        &self,
        server: &ServerId,
        id: ElicitationId,
    ) -> Result<Option<Elicitation>, Fault> {
        match crate::connect::read(&self.mcp.app, server, id).await {
            Ok(found) => Ok(Some(found).filter(|found| found.owner == self.owner)),
            // Deleted with its time, or by an operator.
            Err(crate::connect::Refusal::NotFound) => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }
}
