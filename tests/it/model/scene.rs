//! Everybody and everything in one run, and one request at a time with the judge looking on.

use reqwest::{Method, Url};

use super::{chance::Chance, judge::Judge};
use crate::world::{Browser, Form, World};

/// Who there is.
pub(super) const PEOPLE: [&str; 3] = ["alice", "bob", "mallory"];
/// The tabs: whose they are, and which profile's. Alice has a phone too.
const TABS: [(usize, usize); 5] = [(0, 0), (0, 0), (0, 1), (1, 2), (2, 3)];
/// Profiles in [`TABS`].
const PROFILES: usize = 4;
/// Pages that only the owner may see.
const OWNERS: [&str; 14] = [
    "ready",
    "already-connected",
    "leaving",
    "working",
    "connected",
    "partly-connected",
    "account-changed",
    "not-connected",
    "declined",
    "cancelled",
    "expired",
    "failed",
    "admin-approval",
    "provider-unreachable",
];

/// A tab.
pub(super) struct Tab {
    pub(super) browser: Browser,
    /// Whose: an index into [`PEOPLE`].
    pub(super) person: usize,
    pub(super) profile: usize,
    pub(super) shows: bool,
}

/// One run.
pub(super) struct Scene<'a> {
    pub(super) world: &'a World,
    pub(super) chance: Chance,
    pub(super) judge: Judge,
    pub(super) tabs: Vec<Tab>,
    /// The tab that somebody sits at.
    pub(super) at: usize,
    /// Every address that anybody saw.
    pub(super) seen: Vec<Url>,
    /// Forms of our pages, and the profile that saw each.
    pub(super) forms: Vec<(usize, Form)>,
    /// Sign-ins that wait for a yes: profile, which, who.
    waiting: Vec<(usize, String, &'static str)>,
    /// What was done, for whoever reads of a failure.
    pub(super) told: Vec<String>,
    /// Stopped pages that were shown.
    pub(super) refused: u64,
    seed: u64,
}

impl<'a> Scene<'a> {
    pub(super) fn new(world: &'a World, seed: u64) -> Self {
        let mut tabs: Vec<Tab> = Vec::new();
        for (person, profile) in TABS {
            let same = tabs.iter().find(|tab| tab.profile == profile).map(|tab| tab.browser.tab());
            let browser = same.unwrap_or_else(|| world.browser());
            tabs.push(Tab { browser, person, profile, shows: false });
        }
        for log in [world.id.token_requests(), world.files.token_requests(), world.notes.token_requests()] {
            log.clear();
        }
        Self {
            world,
            chance: Chance::new(seed),
            judge: Judge { sessions: vec![None; PROFILES], ..Judge::default() },
            tabs,
            at: 0,
            seen: Vec::new(),
            forms: Vec::new(),
            waiting: Vec::new(),
            told: Vec::new(),
            refused: 0,
            seed,
        }
    }

    pub(super) fn tell(&mut self, step: String) {
        self.told.push(step);
    }

    pub(super) fn is_ours(&self, url: &Url) -> bool {
        url.as_str().starts_with(&self.world.public_url)
    }

    /// A tab opens an address from outside, and follows nothing.
    pub(super) async fn opens(&mut self, tab: usize, url: Url) {
        self.tell(format!("tab {tab} opens {url}"));
        self.tabs[tab].browser.goes(url.as_str()).await;
        self.look(tab, &Method::GET, &url, None, true);
    }

    /// A tab goes where its page leads.
    pub(super) async fn goes_on(&mut self, tab: usize, url: Url) {
        self.tell(format!("tab {tab} goes on to {url}"));
        self.tabs[tab].browser.request(Method::GET, url.clone(), None).await;
        self.look(tab, &Method::GET, &url, None, true);
    }

    /// A tab asks by HEAD.
    pub(super) async fn heads(&mut self, tab: usize, url: Url) {
        self.tell(format!("tab {tab} asks by HEAD for {url}"));
        self.tabs[tab].browser.request(Method::HEAD, url.clone(), None).await;
        self.look(tab, &Method::HEAD, &url, None, true);
    }

    /// A tab posts a form that profile `from` was shown.
    pub(super) async fn posts(&mut self, tab: usize, form: Form, from: usize) {
        let is_own = self.tabs[tab].profile == from;
        self.tell(format!("tab {tab} posts {} of profile {from}: {:?}", form.action, form.fields));
        let url = form.action.clone();
        self.tabs[tab].browser.submits(form.clone()).await;
        self.look(tab, &Method::POST, &url, Some(&form), is_own);
    }

    /// What the judge makes of the answer that a tab got.
    fn look(&mut self, tab: usize, method: &Method, url: &Url, form: Option<&Form>, is_own: bool) {
        self.tabs[tab].shows = true;
        let profile = self.tabs[tab].profile;
        let page = self.tabs[tab].browser.page().clone();
        let location = page.location();
        self.seen.push(url.clone());
        self.seen.extend(location.clone());
        self.seen.extend(page.refresh());
        if !self.is_ours(url) {
            self.hear_parties(Some(profile));
            return;
        }
        assert!(page.status.as_u16() != 500, "{url} failed");
        let leads = location.as_ref().map_or("", Url::path).to_owned();
        self.hear_sign_ins(profile, location.as_ref());
        if method == Method::POST {
            self.judge_post(profile, url, location.as_ref(), form, is_own);
        }
        if url.path().starts_with("/callback/") && method == Method::GET {
            for state in parameters(url, "state") {
                self.judge.delivered(profile, &state, &leads);
            }
        }
        if leads.starts_with("/stopped/") || page.status.is_client_error() {
            self.refused += 1;
        }
        self.hear_parties(Some(profile));
        if let Some(name) = page.name().filter(|name| OWNERS.contains(&name.as_str())) {
            if let Some(id) = elicitation_of(url) {
                self.judge.shown(profile, &id, &name);
            }
            if name == "leaving" {
                let attempt = parameters(url, "attempt").pop().expect("the page names an attempt");
                self.judge.leaving(profile, &attempt, &page.refresh().expect("it leads away"));
            }
        }
        self.forms.extend(page.forms().into_iter().filter(|form| form.post).map(|form| (profile, form)));
    }

    /// What a post has done.
    fn judge_post(
        &mut self,
        profile: usize,
        url: &Url,
        location: Option<&Url>,
        form: Option<&Form>,
        is_own: bool,
    ) {
        let Some(location) = location else { return };
        let id = elicitation_of(url);
        let asked = id.as_deref().and_then(|id| self.judge.find(id));
        let is_owners =
            asked.is_some_and(|asked| self.judge.sessions[profile] == Some(self.judge.asked[asked].owner));
        match url.path().rsplit('/').next().unwrap_or_default() {
            "continue" if location.path().ends_with("/leaving") => {
                assert!(is_own, "another browser's form was taken");
                let attempt = parameters(location, "attempt").pop().expect("an attempt");
                self.judge.begun(profile, &id.expect("its elicitation"), &attempt);
            }
            "decline" if is_owners && is_own && location.path().ends_with("/done") => {
                let asked = &mut self.judge.asked[asked.expect("its elicitation")];
                asked.declined = true;
            }
            "keep" if is_owners && is_own && location.path().ends_with("/done") => {
                self.judge.asked[asked.expect("its elicitation")].kept = true;
            }
            // Back to the same one is the way to sign in, for a browser whose session has ended.
            "restart" if location.path() == "/connect" && elicitation_of(location) != id => {
                assert!(is_owners && is_own, "somebody else has asked again");
                let id = elicitation_of(location).expect("the new elicitation");
                let former = &self.judge.asked[asked.expect("its elicitation")];
                let (server, provider, owner) = (former.server, former.provider, former.owner);
                self.remember(id, location.to_string(), server, provider, owner);
            }
            // A post from another site's page comes without cookies, and ends nothing.
            "sign-out" if !self.has_session(profile) => {
                self.judge.sessions[profile] = None;
                self.judge.disturb(Some(profile));
            }
            "confirm" => {
                let which = form.and_then(|form| form.fields.iter().find(|(name, _)| name == "which"));
                let which = which.map_or("", |(_, which)| which);
                let found = self.waiting.iter().find(|(of, one, _)| *of == profile && one == which);
                let person = found.expect("nobody has signed in in this browser").2;
                self.judge.sessions[profile] = Some(person);
                self.judge.disturb(Some(profile));
            }
            _ => {}
        }
    }

    fn has_session(&self, profile: usize) -> bool {
        let tab = self.tabs.iter().find(|tab| tab.profile == profile).expect("a tab of the profile");
        tab.browser.jar().of("localhost").any(|cookie| cookie.name == "consentry-session")
    }

    /// An elicitation that was made.
    pub(super) fn remember(
        &mut self,
        id: String,
        url: String,
        server: &'static str,
        provider: &'static str,
        owner: &'static str,
    ) {
        if self.judge.find(&id).is_some() {
            return;
        }
        self.seen.extend(url.parse::<Url>());
        let at = self.world.clock.now();
        let asked =
            super::judge::Asked { id, url, server, provider, owner, at, declined: false, kept: false };
        self.judge.asked.push(asked);
    }

    /// Who has signed in by the last request, as the authorization server says.
    fn hear_sign_ins(&mut self, profile: usize, location: Option<&Url>) {
        let log = self.world.id.token_requests();
        if log.is_empty() {
            return;
        }
        let entries = log.entries();
        log.clear();
        for entry in entries.iter().filter(|entry| entry.accepted && entry.is_code()) {
            let account = &entry.approval.as_ref().expect("an accepted code was issued").account;
            let person = PEOPLE.into_iter().find(|person| person == account).expect("a known person");
            let location = location.expect("a sign-in leads somewhere");
            if location.path() == "/sign-in/confirm" {
                let which = parameters(location, "which").pop().expect("which");
                self.waiting.push((profile, which, person));
            } else if !location.path().starts_with("/stopped/") {
                self.judge.sessions[profile] = Some(person);
                self.judge.disturb(Some(profile));
            }
        }
    }

    /// What reached the third parties' token endpoints.
    pub(super) fn hear_parties(&mut self, acting: Option<usize>) {
        for provider in [&self.world.files, &self.world.notes] {
            let log = provider.token_requests();
            if log.is_empty() {
                continue;
            }
            let entries = log.entries();
            log.clear();
            for entry in &entries {
                self.judge.redeemed(acting, entry);
            }
        }
    }
}

impl Drop for Scene<'_> {
    /// Says how it came to a failure.
    #[expect(clippy::print_stderr, reason = "what a failing test has to say")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("CONSENTRY_MODEL_SEED={} fails after:", self.seed);
            for (number, step) in self.told.iter().enumerate() {
                eprintln!("{number:4} {step}");
            }
        }
    }
}

/// The values of a query parameter.
pub(super) fn parameters(url: &Url, name: &str) -> Vec<String> {
    url.query_pairs().filter(|(found, _)| found == name).map(|(_, value)| value.into_owned()).collect()
}

/// The elicitation that an address of ours is about.
pub(super) fn elicitation_of(url: &Url) -> Option<String> {
    if url.path() == "/connect" {
        return parameters(url, "elicitationId").pop();
    }
    let mut parts = url.path().split('/').skip(1);
    (parts.next() == Some("connect")).then(|| parts.next().map(str::to_owned)).flatten()
}
