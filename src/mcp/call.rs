//! What both eras share of a call: the link as the choice of a reply sees it, waiting for its outcome, and the words of a
//! reply that is handed on in a tool's result.

use std::time::Duration;

use consentry_elicitation::{Ask, Body, Content, Outcome, Reply};

use super::{Mcp, fault::Fault, tools::ToolCall};
use crate::{
    connect,
    elicitation::{Elicitation, State},
    signals,
};

/// How long one answer is held for a link that is out: clients give up on a call after 60 s as a rule.
pub(super) const LEG: Duration = Duration::from_secs(45);

/// How a link ended, as far as is known.
pub(super) enum Ended {
    Completed,
    Refused(Outcome),
    /// Not yet.
    Open,
}

impl Ended {
    pub(super) fn of(state: State) -> Self {
        match state {
            State::Pending | State::Authorizing => Self::Open,
            State::Completed => Self::Completed,
            State::Declined => Self::Refused(Outcome::Declined),
            State::Cancelled => Self::Refused(Outcome::Cancelled),
            State::Expired => Self::Refused(Outcome::Expired),
            State::Failed => Self::Refused(Outcome::Failed),
        }
    }
}

impl ToolCall {
    /// The link of an elicitation.
    pub(super) fn ask(&self, elicitation: &Elicitation) -> Result<Ask, Fault> {
        connect::as_ask(&self.mcp.app, elicitation, None).map_err(|_| Fault::internal())
    }
}

impl Mcp {
    /// Waits for the outcome; the store says it, and nobody else.
    pub(super) async fn outcome(
        &self,
        elicitation: &Elicitation,
        patience: Duration,
    ) -> Result<Ended, Fault> {
        let is_final = |states: &[State]| states.iter().all(|state| !state.is_open());
        let ids = [elicitation.id];
        let found = signals::settled(&self.app, &elicitation.server, &ids, patience, is_final).await;
        let found = match found {
            Ok(found) => found,
            // Deleted with its time, or by an operator.
            Err(connect::Refusal::NotFound) => return Ok(Ended::Refused(Outcome::Expired)),
            Err(refusal) => return Err(refusal.into()),
        };
        let now = self.app.clock.now();
        Ok(found.first().map_or(Ended::Open, |one| Ended::of(one.state(now))))
    }
}

/// The words of a reply, where it has no other meaning than that.
pub(super) fn words(reply: &Reply) -> String {
    match &reply.body {
        Body::ToolResult(result) => {
            let parts = result.content.iter().map(|part| match part {
                Content::Text { text } => text.as_str(),
                _ => "",
            });
            parts.collect::<Vec<_>>().join("\n")
        }
        Body::JsonrpcError(error) => error.message.clone(),
        _ => String::new(),
    }
}
