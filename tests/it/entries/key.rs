//! One key service's whole life: a key that is refused, one of a wrong kind, one that nobody can check, one that works,
//! another in its place, and none any more.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use toml::Table;

use super::{
    Stage,
    fact::{Fact, Told},
    key_service::{IN_ADDRESS, KeyServices, secrets, shows_secret_in_address, used},
    oauth::{anew, is},
    sample::{Samples, choices, example_fits, is_secret, list, of, text, wrong},
};
use crate::world::{Api, Browser, Form};

/// Between two posts: the person's ten a minute, and then some.
const PAUSE: Duration = Duration::from_secs(10);

type Values = BTreeMap<String, String>;

/// How a page's status and name belong together.
const REFUSED: (&str, u16) = ("secret-rejected", 422);
const UNCHECKED: (&str, u16) = ("secret-unchecked", 200);

pub(super) async fn plays(stage: &Stage<KeyServices>, fact: &Fact) -> Result<(), String> {
    is_told(fact)?;
    let (api, mut samples) = (stage.world.api("files"), Samples::new());
    let link = api.asks("alice", &fact.id).await;
    let mut play = Play { stage, fact, alice: stage.world.browser() };
    play.alice.opens(&link.url).await;
    play.alice.signs_in("alice").await;
    is(play.alice.page(), "secret-form")?;
    play.shows_fields()?;
    play.refuses(&mut samples).await?;
    play.advises(&mut samples).await?;
    let values = samples.fill(fact);
    play.is_out_of_reach(&values).await?;
    play.is_handed_out(&api, &values, false).await?;
    let mut generation = 1;
    for values in play.variations(&mut samples) {
        let again = anew(&api, &fact.id).await;
        play.alice.opens(&again.url).await;
        is(play.alice.page(), "already-connected")?;
        play.alice.agrees().await;
        is(play.alice.page(), "secret-form")?;
        let tells = fact.recorded("probe").unwrap_or_else(Told::nothing);
        play.types(&values, tells, None).await?;
        is(play.alice.page(), "connected")?;
        let ready = play.is_handed_out(&api, &values, fact.says("probe")).await?;
        generation += 1;
        equal("generation", &ready["connection"]["generation"], generation)?;
    }
    play.is_removed(&api).await
}

/// What must be known of an entry to play it.
fn is_told(fact: &Fact) -> Result<(), String> {
    let file = format!("tests/it/catalogue/answers/{}.toml", fact.id);
    if fact.says("probe") && fact.recorded("probe").is_none() {
        return Err(format!(
            "add {file} with [probe]: `body` is the answer to a good key as the service's documentation shows it, with \
             made-up values, `id` and `label` are what must be read of it; and [rejected], where a wrong key is not \
             answered by a bare 401"
        ));
    }
    for key in ["id", "label"] {
        let (reads, told) = (fact.says(&format!("probe.{key}")), fact.account(key).is_some());
        if reads != told {
            let what = if reads { "add to" } else { "remove from" };
            return Err(format!("{what} [probe] of {file} the `{key}` that the entry reads of it"));
        }
    }
    let listed = IN_ADDRESS.iter().any(|(id, _)| *id == fact.id);
    if listed != shows_secret_in_address(fact) {
        return Err(
            "an entry whose secret stands in an address belongs to IN_ADDRESS with its reason, and no other"
                .into(),
        );
    }
    fact.tables("fields").into_iter().try_for_each(example_fits)
}

fn equal(what: &str, found: &Value, expected: impl Into<Value>) -> Result<(), String> {
    let expected = expected.into();
    if *found == expected { Ok(()) } else { Err(format!("{what} is {found}, expected {expected}")) }
}

struct Play<'a> {
    stage: &'a Stage<KeyServices>,
    fact: &'a Fact,
    alice: Browser,
}

impl Play<'_> {
    fn fields(&self) -> Vec<&Table> {
        self.fact.tables("fields")
    }

    /// The form asks for the entry's fields, secrets hidden, with nothing in them but the entry's own defaults.
    fn shows_fields(&self) -> Result<(), String> {
        let page = self.alice.page();
        let form = page.form_to("/secret");
        for field in self.fields() {
            let (name, label) = (text(field, "name"), text(field, "label"));
            let sent = form.fields.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
            let expected = of(field, "default").unwrap_or_default();
            if sent != Some(expected) {
                return Err(format!("{name} holds {sent:?}, expected {expected:?}"));
            }
            let input = page.html.split('<').find(|tag| tag.contains(&format!("name=\"{name}\"")));
            let hidden = input.is_some_and(|tag| tag.contains("type=\"password\""));
            if hidden != is_secret(field) || !page.text().contains(label) {
                return Err(format!("{name} is not shown as `{label}`, secrets hidden: {input:?}"));
            }
        }
        if self.fact.says("probe") == page.text().contains("cannot check") {
            return Err(format!("the page does not say what can be checked: {}", page.text()));
        }
        Ok(())
    }

    /// Types values and sends the form; the service says this. Nothing of it comes back.
    async fn types(
        &mut self,
        values: &Values,
        tells: Told,
        button: Option<(&str, &str)>,
    ) -> Result<(), String> {
        self.stage.player.awaits(self.fact, values, tells);
        self.stage.world.advance(PAUSE);
        let before = self.stage.player.times();
        let form = values.iter().fold(self.alice.page().form_to("/secret"), |form, (name, value)| {
            // As it is pasted.
            Form::set(form, name, &format!(" {value}\r\n"))
        });
        let form = button.into_iter().fold(form, |form, (name, value)| form.press(name, value));
        let seen = self.alice.history().len();
        self.alice.submits(form).await;
        self.alice.follows().await;
        let asked = self.stage.player.times() - before;
        if asked != usize::from(self.fact.says("probe")) {
            return Err(format!("the service was asked {asked} times"));
        }
        for page in &self.alice.history()[seen..] {
            let all = format!("{} {:?} {}", page.url, page.headers, page.html);
            if secrets(self.fact, values).iter().any(|secret| all.contains(secret)) {
                return Err(format!("a secret comes back at {}", page.url));
            }
        }
        Ok(())
    }

    fn shows(&self, (name, status): (&str, u16), after: &str) -> Result<(), String> {
        let page = self.alice.page();
        is(page, name).map_err(|error| format!("after {after}: {error}"))?;
        if page.status.as_u16() == status { Ok(()) } else { Err(format!("{name} is {}", page.status)) }
    }

    /// A key that does not work, in every way in which the service says so.
    async fn refuses(&mut self, samples: &mut Samples) -> Result<(), String> {
        if !self.fact.says("probe") {
            return Ok(());
        }
        let statuses: Vec<u16> = match self.fact.numbers("probe.rejected") {
            listed if listed.is_empty() => vec![401, 403],
            listed => listed,
        };
        let bare = |status: u16| (format!("a bare {status}"), Told::json(status, &json!({})));
        let mut ways: Vec<(String, Told)> = statuses.into_iter().map(bare).collect();
        ways.extend(self.fact.recorded("rejected").map(|told| ("its own words".to_owned(), told)));
        if self.fact.says("probe.ok") {
            ways.push(("a success that is none".to_owned(), Told::json(200, &json!({ "error": "no" }))));
        }
        for (way, tells) in ways {
            self.types(&samples.fill(self.fact), tells, None).await?;
            self.shows(REFUSED, &way)?;
            let odd = self.alice.page().html.contains("class=\"problem\"");
            if odd {
                return Err(format!("a usual value is taken for odd: {}", self.alice.page().text()));
            }
        }
        Ok(())
    }

    /// A key of a wrong kind is told apart by its look, whatever the service says.
    async fn advises(&mut self, samples: &mut Samples) -> Result<(), String> {
        let fact = self.fact;
        for field in fact.tables("fields") {
            for (at, (pattern, advice)) in wrong(field).into_iter().enumerate() {
                let mut values = samples.fill(fact);
                values.insert(text(field, "name").to_owned(), samples.wrong(field, at));
                self.types(&values, Told::json(401, &json!({})), None).await?;
                self.shows(if fact.says("probe") { REFUSED } else { UNCHECKED }, pattern)?;
                if !self.alice.page().text().contains(advice) {
                    return Err(format!("for {pattern} there is no advice: {}", self.alice.page().text()));
                }
            }
        }
        Ok(())
    }

    /// While the service cannot say anything nothing is kept; who wants to saves the key all the same.
    async fn is_out_of_reach(&mut self, values: &Values) -> Result<(), String> {
        if !self.fact.says("probe") {
            self.types(values, Told::nothing(), None).await?;
            return is(self.alice.page(), "connected");
        }
        for tells in [Told::json(503, &json!({})), Told::json(429, &json!({})), Told::nothing()] {
            let way = format!("the status {}", tells.status);
            self.types(values, tells, None).await?;
            self.shows(UNCHECKED, &way)?;
        }
        self.types(values, Told::nothing(), Some(("save", "unchecked"))).await?;
        is(self.alice.page(), "connected")
    }

    /// Every place that can be chosen, and a key of the test mode, where there are such.
    fn variations(&self, samples: &mut Samples) -> Vec<Values> {
        let fact = self.fact;
        let mut all = vec![samples.fill(fact)];
        for field in self.fields() {
            let name = text(field, "name");
            let hosts = list(field, "suffixes").into_iter().map(|suffix| format!("example-2{suffix}"));
            let mut others: Vec<String> = choices(field).into_iter().chain(hosts).collect();
            if of(field, "default").is_some() && others.is_empty() {
                others.push(of(field, "example").unwrap_or_default().to_owned());
            }
            others.extend(of(field, "test").map(|pattern| samples.like(pattern, |_| true)));
            for other in others {
                let mut values = samples.fill(fact);
                values.insert(name.to_owned(), other);
                all.push(values);
            }
        }
        all
    }

    /// The MCP server gets what was typed, and how to use it, as the entry says.
    async fn is_handed_out(&self, api: &Api, values: &Values, checked: bool) -> Result<Value, String> {
        let ready = api.resolves("alice", &self.fact.id).await;
        let credential = json!({ "kind": "secret", "fields": values, "use": used(self.fact, values) });
        equal("credential", &ready["credential"], credential)?;
        let account = &ready["connection"]["account"];
        let told = |key: &str| self.fact.account(key).filter(|_| checked);
        equal("account", &account["id"], told("id"))?;
        let first = secrets(self.fact, values).into_iter().next().unwrap_or_default();
        let tail = first.get(first.len().saturating_sub(4)..).map(|tail| format!("…{tail}"));
        equal("label", &account["label"], told("label").map(str::to_owned).or(tail))?;
        let kept = api.get("/v1/connections?sub=alice").await.expect(200);
        let of = kept["connections"].as_array().into_iter().flatten();
        let kept = of.into_iter().find(|one| one["provider"] == *self.fact.id).cloned().unwrap_or_default();
        let is_test = |field: &&Table| {
            let pattern = of_pattern(field);
            let value = values.get(text(field, "name"));
            pattern.zip(value).is_some_and(|(pattern, value)| pattern.is_match(value))
        };
        equal("test_mode", &kept["test_mode"], self.fields().iter().any(is_test))?;
        equal("unchecked", &kept["unchecked"], !checked)?;
        Ok(ready)
    }

    /// Gone here, and the service is told nothing.
    async fn is_removed(&self, api: &Api) -> Result<(), String> {
        let before = self.stage.player.times();
        let ready = api.resolves("alice", &self.fact.id).await;
        let connection = ready["connection"]["id"].as_str().unwrap_or_default();
        let answer = api.delete(&format!("/v1/connections/{connection}")).await;
        if !answer.status.is_success() {
            return Err(format!("not disconnected: {}", answer.body));
        }
        let answer = api.resolves("alice", &self.fact.id).await;
        equal("status", &answer["status"], "action_required")?;
        if self.stage.player.times() == before { Ok(()) } else { Err("the service was asked again".into()) }
    }
}

fn of_pattern(field: &Table) -> Option<regex_lite::Regex> {
    of(field, "test").map(super::sample::matcher)
}
