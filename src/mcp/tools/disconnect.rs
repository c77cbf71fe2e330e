//! `disconnect`: which connection, and whether really (one form). Nothing is removed without a yes.

use consentry_elicitation::{
    FormAsk, InputResponses,
    form::{Boolean, Choice, Form},
};
use serde_json::json;

use super::{
    Done, Step, ToolCall, connect,
    said::{Arguments, Heard, heard},
};
use crate::{
    credential::{self, Revocation},
    mcp::{
        fault::Fault,
        state::{Known, Question},
    },
    store::Held,
};

const CONNECTION: &str = "connection";
const CONFIRM: &str = "confirm";

/// Why, in the signal and the record: as on the page, for it is the person who does it.
const REASON: &str = "disconnected_by_user";

impl ToolCall {
    pub(super) async fn disconnect(
        &self,
        arguments: &Arguments,
        known: Known,
        answers: &InputResponses,
    ) -> Result<Step, Fault> {
        let held = self.held().await?;
        let named = arguments.connection.as_ref().map(|id| {
            let is_it = |it: &&Held| it.connection.id.to_string() == *id;
            held.iter().find(is_it)
        });
        let named = match named {
            // Another's is as unknown as one that never was.
            Some(None) => {
                return Ok(Step::Done(Done::error(
                    "The user has no such connection; it may be gone already.",
                )));
            }
            Some(Some(it)) => Some(it),
            None => None,
        };
        if held.is_empty() {
            return Ok(Step::Done(Done::error("The user has connected nothing.")));
        }
        if !self.asker.client.elicitation.form() {
            let (Some(it), true) = (named, arguments.confirm) else {
                return Ok(Step::Done(Done::error(self.how(&held))));
            };
            return self.removed(it).await.map(Step::Done);
        }
        let ask = self.really(&held, named)?;
        match heard(&known, Question::Disconnect, &ask, answers) {
            Heard::Answered(values) if values.boolean(CONFIRM) == Some(true) => {
                let picked = values.text(CONNECTION);
                let is_it = |it: &&Held| Some(&*it.connection.id.to_string()) == picked;
                let it = named.or_else(|| held.iter().find(is_it)).ok_or_else(Fault::internal)?;
                self.removed(it).await.map(Step::Done)
            }
            Heard::Answered(_) => {
                Ok(Step::Done(Done::error("The user did not confirm it; nothing was removed.")))
            }
            Heard::Refused(outcome) => Ok(Step::Done(self.no_answer(&ask, outcome))),
            not_yet => {
                let instead = self.how(&held);
                Ok(self.asks(ask, Question::Disconnect, &not_yet, instead, known))
            }
        }
    }

    fn really(&self, held: &[Held], named: Option<&Held>) -> Result<FormAsk, Fault> {
        let confirm = Boolean::new().title("Yes, remove it");
        let (message, form) = match named {
            Some(it) => {
                let message =
                    format!("Remove {}? Tools that use it lose access at once.", self.called(&it.connection));
                (message, Form::builder())
            }
            None => {
                let options =
                    held.iter().map(|it| (it.connection.id.to_string(), self.called(&it.connection)));
                let field = Choice::titled(options).title("Connection");
                let message = "Which connection is to be removed? Tools that use it lose access at once.";
                (message.to_owned(), Form::builder().required(CONNECTION, field))
            }
        };
        connect::ask("disconnect", &message, form.required(CONFIRM, confirm).build())
    }

    /// For a client that cannot show the form.
    fn how(&self, held: &[Held]) -> String {
        let rows = held
            .iter()
            .map(|it| format!("- `connection` \"{}\": {}", it.connection.id, self.called(&it.connection)));
        let rows: Vec<String> = rows.collect();
        format!(
            "Ask the user which connection is to be removed, and whether really. Then call `disconnect` again with \
             `confirm` true and:\n\n{}",
            rows.join("\n")
        )
    }

    async fn removed(&self, it: &Held) -> Result<Done, Fault> {
        let (app, connection) = (&self.mcp.app, &it.connection);
        let shown = self.shown(it);
        let gone = credential::disconnect(app, &connection.server, connection.id, REASON).await?;
        let told = match gone {
            Some(removed) => Some(removed.revocation(app).await),
            // Somebody was faster, on the page say.
            None => None,
        };
        let (word, sentence) = match told {
            Some(Revocation::Confirmed) => ("confirmed", "The provider has confirmed that the access ended."),
            Some(Revocation::Pending) => {
                ("pending", "The provider has not confirmed yet that the access ended; it is told again.")
            }
            Some(Revocation::Impossible) => {
                ("impossible", "This provider cannot be told; the user can end the access in its settings.")
            }
            Some(Revocation::Unreadable | Revocation::Unconfigured) => {
                ("untold", "The provider could not be told; the user can end the access in its settings.")
            }
            Some(Revocation::Shared) => (
                "shared",
                "The provider was not told, for that would end another connection to the same account.",
            ),
            None => ("nothing", "It was gone already."),
        };
        let text =
            format!("{} is removed: no tool gets access by it any more. {sentence}", self.called(connection));
        Ok(Done::new(text, json!({ "disconnected": true, "connection": shown, "provider_told": word })))
    }
}
