//! `connect`: which provider for which MCP server (a form, where it is not said), whether again (a form, where it is
//! connected already), and then the link.

use consentry_elicitation::{
    FormAsk, FormRequest, InputResponses, Outcome, Turn, choose,
    form::{Choice, Form},
};
use serde_json::json;

use super::{
    Done, Step, ToolCall, UNFIT_MAX,
    said::{Arguments, Heard, heard},
    shown::label,
};
use crate::{
    connect,
    connectable::Connectable,
    connection::Connection,
    credential::home::seen_now,
    elicitation::{Elicitation, ProviderId, ServerId},
    mcp::{
        fault::Fault,
        state::{Known, Linked, Question},
    },
    scope::Scopes,
    store::Held,
    values::Values,
};

/// The one field of each form.
const PLACE: &str = "connection";
const ACCOUNT: &str = "account";
const KEEP: &str = "keep";
const AGAIN: &str = "again";

/// A provider that can be connected for an MCP server.
struct Place {
    server: ServerId,
    provider: Connectable,
}

impl Place {
    /// What names it in a form.
    fn value(&self) -> String {
        format!("{}/{}", self.server, self.provider.id())
    }
}

impl ToolCall {
    pub(super) async fn connect(
        &self,
        arguments: &Arguments,
        mut known: Known,
        answers: &InputResponses,
    ) -> Result<Step, Fault> {
        let mut places = self.places(arguments);
        if places.is_empty() {
            return Ok(Step::Done(Done::error(self.no_such_place())));
        }
        let place = if places.len() == 1 {
            places.remove(0)
        } else {
            match self.chosen(places, &mut known, answers).await? {
                Chosen::Place(place) => place,
                Chosen::Step(step) => return Ok(*step),
            }
        };
        let app = &self.mcp.app;
        let existing = app.store.connection_for(&place.server, &self.owner, place.provider.id()).await?;
        let existing = existing.filter(|one| !one.is_taken_out()).map(|one| seen_now(app, one));
        let scopes = existing.as_ref().and_then(|one| connect::worth_asking(app, one));
        let scopes = scopes.unwrap_or_else(|| place.provider.scopes());
        let now = app.clock.now();
        let good = existing.as_ref().filter(|one| one.satisfies(&scopes, now));
        if let Some(good) = good.filter(|_| !arguments.again && !known.again) {
            // Who has named it wants it to be there; who has picked it from a list may want another account.
            if known.chosen.is_none() {
                return self.stands(good).await.map(Step::Done);
            }
            let ask = again(&self.called(good), label(&good.account).as_deref())?;
            match heard(&known, Question::Again, &ask, answers) {
                Heard::Answered(values) if values.text(ACCOUNT) == Some(AGAIN) => known.again = true,
                Heard::Answered(_) => return self.stands(good).await.map(Step::Done),
                Heard::Refused(outcome) => return Ok(Step::Done(self.no_answer(&ask, outcome))),
                not_yet => {
                    let text = format!("{} is connected already.", self.called(good));
                    return Ok(self.asks(ask, Question::Again, &not_yet, text, known));
                }
            }
        }
        self.link(&place, scopes, existing.as_ref(), known).await
    }

    /// What can be connected, as far as the arguments leave it open.
    fn places(&self, arguments: &Arguments) -> Vec<Place> {
        let app = &self.mcp.app;
        let is_meant = |said: &Option<String>, id: &str| said.as_ref().is_none_or(|said| said == id);
        let servers = self.mcp.servers().filter(|server| is_meant(&arguments.server, server.id.as_str()));
        servers
            .flat_map(|server| {
                let providers =
                    server.providers.iter().filter(|id| is_meant(&arguments.provider, id.as_str()));
                // What is done on a page of the MCP server's own, it alone knows when to ask for.
                let known = providers.filter_map(|id| app.connectable(id));
                let known = known.filter(|one| one.hosted_page().is_none());
                known.map(|provider| Place { server: server.id.clone(), provider })
            })
            .collect()
    }

    fn no_such_place(&self) -> String {
        let places: Vec<String> = self.places(&Arguments::default()).iter().map(|it| self.row(it)).collect();
        format!("That cannot be connected here. What can be:\n\n{}", places.join("\n"))
    }

    fn row(&self, place: &Place) -> String {
        let Place { server, provider } = place;
        format!(
            "- `server` \"{server}\", `provider` \"{}\": {}",
            provider.id(),
            self.place(server, provider.id())
        )
    }

    /// The place that the person picks.
    async fn chosen(
        &self,
        mut places: Vec<Place>,
        known: &mut Known,
        answers: &InputResponses,
    ) -> Result<Chosen, Fault> {
        if let Some(at) = places.iter().position(|place| known.chosen.as_ref() == Some(&place.value())) {
            return Ok(Chosen::Place(places.swap_remove(at)));
        }
        let held = self.held().await?;
        let ask = self.which(&places, &held)?;
        match heard(known, Question::Which, &ask, answers) {
            Heard::Answered(values) => {
                let picked = values.text(PLACE);
                let at = places.iter().position(|place| Some(&*place.value()) == picked);
                let at = at.ok_or_else(Fault::internal)?;
                known.chosen = picked.map(str::to_owned);
                known.asked = None;
                Ok(Chosen::Place(places.swap_remove(at)))
            }
            Heard::Refused(outcome) => Ok(Chosen::Step(Box::new(Step::Done(self.no_answer(&ask, outcome))))),
            not_yet => {
                let rows: Vec<String> = places.iter().map(|place| self.row(place)).collect();
                let text = format!(
                    "Ask the user which it is to be, and call `connect` again with these arguments:\n\n{}",
                    rows.join("\n")
                );
                let step = self.asks(ask, Question::Which, &not_yet, text, known.clone());
                Ok(Chosen::Step(Box::new(step)))
            }
        }
    }

    fn which(&self, places: &[Place], held: &[Held]) -> Result<FormAsk, Fault> {
        let options = places.iter().map(|place| {
            let is_it = |it: &&Held| {
                it.connection.server == place.server && it.connection.provider == *place.provider.id()
            };
            let title = match held.iter().find(is_it) {
                Some(it) => format!("{}, connected", self.called(&it.connection)),
                None => self.place(&place.server, place.provider.id()),
            };
            (place.value(), title)
        });
        let field = Choice::titled(options).title("Account to connect");
        form("which", "Which account do you want to connect?", PLACE, field)
    }

    /// The question goes out, or goes out again.
    pub(super) fn asks(
        &self,
        ask: FormAsk,
        question: Question,
        so_far: &Heard,
        instead: String,
        mut known: Known,
    ) -> Step {
        if matches!(so_far, Heard::Unfit) {
            known.unfit += 1;
        }
        if known.unfit >= UNFIT_MAX {
            return Step::Done(self.no_answer(&ask, Outcome::Failed));
        }
        known.asked = Some(question);
        Step::Form { ask, instead, known }
    }

    /// There is no answer, and why.
    pub(super) fn no_answer(&self, ask: &FormAsk, outcome: Outcome) -> Done {
        Done::error(super::super::call::words(&choose(&self.asker.client, ask, Turn::Refused(outcome))))
    }

    /// Asks for the link, or for the one that is open.
    async fn link(
        &self,
        place: &Place,
        scopes: Scopes,
        existing: Option<&Connection>,
        mut known: Known,
    ) -> Result<Step, Fault> {
        let app = &self.mcp.app;
        let values = Values::default();
        if connect::unanswerable(app, place.provider.id(), &values, existing).is_some() {
            let called = self.place(&place.server, place.provider.id());
            let text = format!(
                "{called} has an address for each organisation, which nobody here can say. Use a tool of that MCP server that \
                 needs it: it says which one is meant, and asks you to connect."
            );
            return Ok(Step::Done(Done::error(text)));
        }
        let question = connect::Question {
            server: place.server.clone(),
            owner: self.owner.clone(),
            provider: place.provider.id().clone(),
            scopes,
            values,
            // Nobody else is to send the notification of its completion (E14).
            legacy: false,
            client_ref: self.asker.reference.clone(),
            client_name: self.asker.name.clone(),
            message: Some(format!("Connect {}.", self.place(&place.server, place.provider.id()))),
        };
        let prepared = question.prepare(app, existing);
        let elicitation = match connect::asked_before(app, &prepared).await? {
            Some(open) => open,
            None => {
                if let Err(wait) = self.mcp.pace.question(&place.server, &self.owner) {
                    let seconds = wait.as_secs().saturating_add(1);
                    let text = format!("There were too many questions to this user. Wait {seconds} seconds.");
                    return Ok(Step::Done(Done::error(text)));
                }
                connect::ask(app, &prepared).await?.elicitation
            }
        };
        known.asked = None;
        known.link = Some(Linked::new(&elicitation.server, elicitation.id));
        Ok(Step::Link { elicitation: Box::new(elicitation), known })
    }

    /// It was connected before, and stays so.
    async fn stands(&self, connection: &Connection) -> Result<Done, Fault> {
        let text = format!(
            "{} is connected already. To connect it again, perhaps with another account, call `connect` with `again`.",
            self.called(connection)
        );
        self.tell(text, false, &connection.server, &connection.provider).await
    }

    /// What the link was for is done.
    pub(in crate::mcp) async fn connected(&self, elicitation: &Elicitation) -> Result<Done, Fault> {
        let Elicitation { server, provider, .. } = elicitation;
        let text = format!("{} is connected now.", self.place(server, provider));
        self.tell(text, true, server, provider).await
    }

    async fn tell(
        &self,
        text: String,
        changed: bool,
        server: &ServerId,
        provider: &ProviderId,
    ) -> Result<Done, Fault> {
        let held = self.held().await?;
        let is_it = |it: &&Held| it.connection.server == *server && it.connection.provider == *provider;
        Ok(match held.iter().find(is_it) {
            Some(it) => Done::new(
                text,
                json!({ "connected": true, "changed": changed, "connection": self.shown(it) }),
            ),
            None => Done::error("It was connected, and has been removed since."),
        })
    }
}

/// The place, or what must happen first.
enum Chosen {
    Place(Place),
    Step(Box<Step>),
}

fn again(called: &str, account: Option<&str>) -> Result<FormAsk, Fault> {
    let keep = account.map_or_else(|| "Keep it as it is".to_owned(), |account| format!("Keep {account}"));
    let options = [(KEEP, keep), (AGAIN, "Connect again, perhaps with another account".to_owned())];
    let message = format!("{called} is connected already. What do you want to do?");
    form("again", &message, ACCOUNT, Choice::titled(options).title("Account").default(KEEP))
}

/// A form of one question.
fn form(key: &str, message: &str, name: &str, field: Choice) -> Result<FormAsk, Fault> {
    let form = Form::builder().required(name, field).build();
    ask(key, message, form)
}

/// A form that can be sent; one that cannot is a mistake of ours.
pub(super) fn ask(
    key: &str,
    message: &str,
    form: Result<Form, consentry_elicitation::InvalidForm>,
) -> Result<FormAsk, Fault> {
    let request = form.and_then(|form| FormRequest::new(message, form));
    request.map(|request| FormAsk::new(key, request)).map_err(|error| {
        tracing::error!(%error, "a form of the MCP endpoint cannot be asked");
        Fault::internal()
    })
}
