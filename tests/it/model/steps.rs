//! What can happen next: what a person would do, and what an attacker would.

use std::time::Duration;

use reqwest::{Method, Url};
use serde_json::json;

use super::scene::{PEOPLE, Scene, elicitation_of, parameters};
use crate::world::{FILES, Form, NOTES, SERVERS};

/// How far the clock goes in one step, in seconds.
const SPANS: [u64; 5] = [5, 61, 310, 660, 1_810];

impl Scene<'_> {
    /// One random step.
    pub(super) async fn step(&mut self) {
        // People stay with what they do; otherwise no trip would ever end.
        if self.chance.percent(12) {
            self.at = self.chance.below(self.tabs.len());
        }
        let (at, tab) = (self.at, self.chance.below(self.tabs.len()));
        match self.chance.below(100) {
            0..66 => self.natural(at).await,
            66..69 => self.asks().await,
            69..80 => self.delivers(tab).await,
            80..86 => self.mixes(tab).await,
            86..90 => self.forges(tab).await,
            90..93 => self.borrows(tab).await,
            93..96 => self.scans().await,
            96..98 => self.loses(tab),
            _ => self.waits(),
        }
    }

    /// What the person at this tab would do with what it shows.
    async fn natural(&mut self, tab: usize) {
        if !self.tabs[tab].shows || self.chance.percent(5) {
            return self.opens_a_link(tab).await;
        }
        let page = self.tabs[tab].browser.page().clone();
        if let Some(next) = page.location().or(page.refresh()) {
            // Now and then somebody stops here, and the address is left for others.
            if self.chance.percent(94) {
                self.goes_on(tab, next).await;
            }
            return;
        }
        let profile = self.tabs[tab].profile;
        if !self.is_ours(&page.url) {
            if let Some(form) = page.forms().into_iter().next() {
                let form = self.answers(tab, form);
                self.posts(tab, form, profile).await;
            }
            return;
        }
        let forms: Vec<Form> = page.forms().into_iter().filter(|form| form.post).collect();
        let likely = forms.iter().find(|form| {
            ["/continue", "/account", "/restart", "/confirm"]
                .iter()
                .any(|end| form.action.path().ends_with(end))
        });
        let links: Vec<Url> = page.links().into_iter().map(|(url, _)| url).collect();
        let inside: Vec<Url> = links.into_iter().filter(|url| self.is_ours(url)).collect();
        let form = match likely {
            Some(form) if self.chance.percent(80) => Some(form),
            _ if inside.is_empty() || self.chance.percent(30) => self.chance.one(&forms),
            _ => None,
        };
        if let Some(form) = form.cloned() {
            let form = self.answers(tab, form);
            self.posts(tab, form, profile).await;
        } else if let Some(link) = self.chance.one(&inside).cloned() {
            self.goes_on(tab, link).await;
        } else {
            self.opens_a_link(tab).await;
        }
    }

    async fn opens_a_link(&mut self, tab: usize) {
        let person = PEOPLE[self.tabs[tab].person];
        let own: Vec<usize> =
            (0..self.judge.asked.len()).filter(|one| self.judge.asked[*one].owner == person).collect();
        let all: Vec<usize> = (0..self.judge.asked.len()).collect();
        if own.is_empty() && self.chance.percent(70) {
            return self.asks_of(person).await;
        }
        let chosen = if self.chance.percent(85) && !own.is_empty() { own } else { all };
        match self.chance.one(&chosen) {
            Some(asked) => {
                let url = self.judge.asked[*asked].url.parse().unwrap();
                self.opens(tab, url).await;
            }
            None => self.asks().await,
        }
    }

    /// Presses one of a form's buttons.
    fn answers(&mut self, tab: usize, form: Form) -> Form {
        let mut named: Vec<(String, String)> =
            form.buttons.iter().filter_map(|(_, pair)| pair.clone()).collect();
        let person = PEOPLE[self.tabs[tab].person];
        if self.chance.percent(85) {
            // Mostly one is oneself, and means it.
            let is_other = |pair: &(String, String)| {
                (pair.0 == "person" && pair.1 != person) || matches!(&*pair.0, "cancel" | "deny")
            };
            named.retain(|pair| !is_other(pair));
        }
        match self.chance.one(&named) {
            Some((name, value)) => form.press(name, value),
            None => form,
        }
    }

    /// An MCP server asks somebody to connect something.
    async fn asks(&mut self) {
        let owner = *self.chance.one(&PEOPLE).unwrap();
        self.asks_of(owner).await;
    }

    async fn asks_of(&mut self, owner: &'static str) {
        let server = SERVERS[usize::from(self.chance.percent(20))];
        let provider = if self.chance.percent(75) { FILES } else { NOTES };
        let api = self.world.api(server);
        let mut question = api.question(owner, provider);
        question["client"]["ref"] = json!(format!("client {}", self.chance.below(3)));
        let answer = api.post("/v1/elicitations", &question).await;
        assert!(answer.status.is_success(), "{}", answer.body);
        let link = crate::world::link(&answer.body["elicitation"]);
        self.tell(format!("{server} asks {owner} for {provider}: {}", link.id));
        self.remember(link.id, link.url, server, provider, owner);
        self.hear_parties(None);
    }

    /// Any address that anybody saw, in any browser.
    async fn delivers(&mut self, tab: usize) {
        let Some(url) = self.some_address() else { return };
        match self.chance.percent(85) {
            true => self.opens(tab, url).await,
            false => self.heads(tab, url).await,
        }
    }

    /// An address; callbacks and the third parties' more often than others.
    fn some_address(&mut self) -> Option<Url> {
        if self.chance.percent(50) {
            let is_hot = |url: &&Url| {
                url.path().contains("/callback")
                    || url.path() == "/authorize"
                    || url.path().ends_with("/resume")
            };
            let hot: Vec<Url> = self.seen.iter().filter(is_hot).cloned().collect();
            if let Some(url) = self.chance.late(&hot) {
                return Some(url.clone());
            }
        }
        self.chance.late(&self.seen).cloned()
    }

    /// Two addresses made one: another elicitation's id, another trip's `state`, `code` or path.
    async fn mixes(&mut self, tab: usize) {
        let (Some(mut url), Some(other)) = (self.some_address(), self.some_address()) else { return };
        let asked = self.judge.asked.get(self.chance.below(self.judge.asked.len()));
        if let (Some(old), Some(asked)) = (elicitation_of(&url), asked) {
            if let Ok(mixed) = url.as_str().replace(&old, &asked.id).parse() {
                url = mixed;
            }
        } else if url.path().contains("/callback") {
            let name = ["state", "code", "iss", "path"][self.chance.below(4)];
            if name == "path" {
                url.set_path(other.path());
            } else if let Some(value) = parameters(&other, name).pop() {
                url = with(&url, name, &value);
            }
        }
        self.opens(tab, url).await;
    }

    /// A callback that no third party sent.
    async fn forges(&mut self, tab: usize) {
        let states: Vec<String> = self.seen.iter().flat_map(|url| parameters(url, "state")).collect();
        let Some(state) = self.chance.late(&states).cloned() else { return };
        let server = SERVERS[usize::from(self.chance.percent(20))];
        let provider = if self.chance.percent(75) { FILES } else { NOTES };
        let mut url: Url = format!("{}/callback/{server}/{provider}", self.world.public_url).parse().unwrap();
        let answer = match self.chance.below(4) {
            0 => ("error", "access_denied"),
            1 => ("error", "server_error"),
            2 => ("error", "invalid_client"),
            _ => ("code", "forged"),
        };
        url.query_pairs_mut().extend_pairs([("state", state.as_str()), answer]);
        if self.chance.percent(60) {
            let of = if provider == FILES { &self.world.files } else { &self.world.notes };
            url.query_pairs_mut().append_pair("iss", of.base_url());
        }
        self.opens(tab, url).await;
    }

    /// A form that another browser was shown.
    async fn borrows(&mut self, tab: usize) {
        let Some((from, form)) = self.chance.late(&self.forms).cloned() else { return };
        let form = self.answers(tab, form);
        self.posts(tab, form, from).await;
    }

    /// A mail scanner, a preview, a prefetch: no cookies.
    async fn scans(&mut self) {
        let Some(url) = self.some_address() else { return };
        self.tell(format!("a scanner looks at {url}"));
        let mut scanner = self.world.browser();
        scanner.more_headers.insert("sec-purpose", "prefetch".parse().unwrap());
        for method in [Method::HEAD, Method::GET] {
            scanner.request(method, url.clone(), None).await;
            self.hear_parties(None);
        }
    }

    /// A browser loses its session: a proxy, a clean-up.
    fn loses(&mut self, tab: usize) {
        self.tell(format!("tab {tab} loses its session"));
        let profile = self.tabs[tab].profile;
        self.tabs[tab].browser.jar().lose("localhost", "consentry-session");
        self.judge.sessions[profile] = None;
        self.judge.disturb(Some(profile));
    }

    fn waits(&mut self) {
        let span = *self.chance.one(&SPANS).unwrap();
        self.tell(format!("{span} s pass"));
        self.world.advance(Duration::from_secs(span));
        self.judge.disturb(None);
    }
}

/// The same address with another value for a parameter.
fn with(url: &Url, name: &str, value: &str) -> Url {
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let mut changed = url.clone();
    let pairs = pairs.into_iter().map(|(found, old)| {
        let value = if found == name { value.to_owned() } else { old };
        (found, value)
    });
    changed.query_pairs_mut().clear().extend_pairs(pairs);
    changed
}
