//! The person at the terminal, as the server meets them: what they are shown, and what is answered for them.
//!
//! The rules are the specification's for clients (docs/protocol.md, E45 to E60). What is shown of a link comes from
//! `consentry_elicitation::Link`, which cannot fetch anything.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use consentry_elicitation::{
    COMPLETE_METHOD, ConcernKind, ElicitRequestParams as Asked, ElicitationComplete, FormRequest, Link,
    RpcError, UrlRequest,
};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CustomNotification, ElicitRequestParams, ElicitResult,
        ElicitationAction, ElicitationCapability, FormElicitationCapability, Implementation,
        UrlElicitationCapability,
    },
    service::{NotificationContext, RequestContext},
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::Notify;

use super::{Era, form};
use crate::console::{Console, printable};

/// A server that asks more often than this within one connection is not answered any more (E54).
const QUESTIONS_MAX: usize = 20;

pub(super) struct Person {
    console: Console,
    era: Era,
    known: Mutex<Known>,
    /// Something that was asked for is done.
    done: Notify,
}

#[derive(Default)]
struct Known {
    /// The server's name and where it is.
    server: (String, String),
    /// The links that were shown.
    links: HashSet<String>,
    /// The ids of what was agreed to and is not done.
    open: HashSet<String>,
    questions: usize,
    declined: bool,
}

impl Person {
    pub(super) fn new(console: Console, era: Era) -> Self {
        Self { console, era, known: Mutex::default(), done: Notify::new() }
    }

    /// Who is at the other end.
    pub(super) fn knows(&self, server: String, url: &str) {
        self.known().server = (server, printable(url));
    }

    pub(super) fn server(&self) -> String {
        self.known().server.0.clone()
    }

    pub(super) fn has_declined(&self) -> bool {
        self.known().declined
    }

    pub(super) fn has_shown_link_in(&self, text: &str) -> bool {
        self.known().links.iter().any(|link| text.contains(link.as_str()))
    }

    /// After error `-32042` (legacy era): shows everything that has to be opened first, and waits until it is done or the
    /// person wants to try again; not when they have said no. None for another error.
    pub(super) async fn needs_first(&self, error: &ErrorData) -> Option<bool> {
        let needed = via_json::<RpcError>(error).ok()?.elicitations()?;
        let mut waits = HashSet::new();
        for request in needed {
            let id = request.elicitation_id.clone();
            if self.link(&request).await.ok()?.action != ElicitationAction::Accept {
                return Some(false);
            }
            waits.extend(id);
        }
        while !self.known().open.is_disjoint(&waits) {
            let done = self.done.notified();
            // Its sender may have been quicker than this.
            if self.known().open.is_disjoint(&waits) {
                break;
            }
            // No server has to tell that it is done (E51).
            tokio::select! {
                () = done => {}
                Some(answer) = self.console.ask("  Press Enter to try again, c to give up:") => {
                    return Some(answer != "c");
                }
            }
        }
        Some(true)
    }

    /// A link: shown with what there is to know about it, opened after a yes and not otherwise (E49, E55 to E60).
    async fn link(&self, request: &UrlRequest) -> Result<ElicitResult, ErrorData> {
        let link = Link::parse(request.url.as_str())
            .map_err(|error| ErrorData::invalid_params(format!("the link is {error}"), None))?;
        let first = {
            let mut known = self.known();
            let id = request.elicitation_id.clone().filter(|id| !id.is_empty());
            known.open.extend(id);
            known.links.insert(link.text().to_owned())
        };
        if !first {
            self.console.say(&self.console.faint("  Still waiting for the same link."));
            return Ok(ElicitResult::new(ElicitationAction::Accept));
        }
        self.introduce(&request.message);
        self.show(&link);
        let question = "  Open it in your browser? [y/N, d declines]";
        let answer = tokio::select! {
            answer = self.console.ask(question) => answer,
            // The person was quicker in the browser.
            () = self.done.notified() => return Ok(ElicitResult::new(ElicitationAction::Accept)),
        };
        let action = match answer.as_deref() {
            Some("y" | "yes") => self.open(&link),
            Some("d") => ElicitationAction::Decline,
            // The person opens it on their own, here or elsewhere.
            _ => ElicitationAction::Accept,
        };
        if action == ElicitationAction::Decline {
            self.declines(request.elicitation_id.as_deref());
        } else {
            self.console.say("  Waiting for you to finish in the browser ... (Ctrl-C stops everything)");
        }
        Ok(ElicitResult::new(action))
    }

    /// A form: its questions one after the other, and what is typed is checked before it is sent (E61).
    async fn form(&self, request: &FormRequest) -> ElicitResult {
        self.introduce(request.message());
        let concerns = request.concerns();
        for concern in &concerns {
            self.console
                .say(&format!("  {}", self.console.warning(&printable(&format!("Careful: {concern}.")))));
        }
        // A secret is never for a form (E1), whoever would type it.
        if concerns.iter().any(|concern| matches!(concern.kind, ConcernKind::Sensitive(_))) {
            self.console.say("  It is not asked, and the server is told that you declined.");
            self.declines(None);
            return ElicitResult::new(ElicitationAction::Decline);
        }
        let Some(answers) = form::asked(&self.console, request.form()).await else {
            self.declines(None);
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let mut result = ElicitResult::new(ElicitationAction::Accept);
        result.content = serde_json::to_value(answers.values()).ok();
        result
    }

    /// Who asks, and why (E48).
    fn introduce(&self, message: &str) {
        let (server, url) = self.known().server.clone();
        let console = &self.console;
        console.say(&format!("  {} asks {}", console.strong(&server), console.faint(&format!("({url})"))));
        console.say(&format!("  {}\n", console.strong(&printable(message).replace('\n', " "))));
    }

    fn show(&self, link: &Link) {
        let indented = |text: &str| text.replace('\n', "\n    ");
        let console = &self.console;
        console.say(&format!("    {}\n", indented(&console.link(link))));
        console.say(&format!("  It leads to {}.", console.strong(link.host())));
        if let Some(letters) = link.in_letters() {
            console.say(&format!("  Its letters: {}", printable(&letters)));
        }
        for warning in link.warnings() {
            console.say(&format!("  {}", console.warning(&format!("Careful: {warning}."))));
        }
    }

    fn open(&self, link: &Link) -> ElicitationAction {
        if let Err(error) = self.console.open(link) {
            self.console
                .say(&format!("  No browser could be opened ({error}). Please open the link yourself."));
        }
        ElicitationAction::Accept
    }

    fn declines(&self, id: Option<&str>) {
        let mut known = self.known();
        known.declined = true;
        id.map(|id| known.open.remove(id));
    }

    /// Whether one more question is put to the person.
    fn may_be_asked(&self) -> bool {
        let mut known = self.known();
        known.questions += 1;
        known.questions <= QUESTIONS_MAX
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let mut modes = ElicitationCapability::new().with_url(UrlElicitationCapability::default());
        // Only somebody who can type can fill in a form.
        if self.console.has_person() {
            modes = modes.with_form(FormElicitationCapability::default());
        }
        let mut can = ClientCapabilities::default();
        can.elicitation = Some(modes);
        let name = Implementation::new("consentry-demo", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(can, name.with_title("Demo client")).with_protocol_version(self.era.version())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let refused = |why: String| Err(ErrorData::invalid_params(why, None));
        if !self.may_be_asked() {
            self.console
                .say(&self.console.warning("  The server asks too often and is not answered any more."));
            return Ok(ElicitResult::new(ElicitationAction::Cancel));
        }
        match via_json::<Asked>(&request) {
            Ok(Asked::Url(request)) => self.link(&request).await,
            Ok(Asked::Form(request)) if self.console.has_person() => Ok(self.form(&request).await),
            Ok(_) => refused("this mode was not declared".to_owned()),
            Err(error) => refused(error.to_string()),
        }
    }

    async fn on_custom_notification(&self, news: CustomNotification, _: NotificationContext<RoleClient>) {
        if news.method != COMPLETE_METHOD {
            return;
        }
        let complete = news.params.as_ref().and_then(|params| via_json::<ElicitationComplete>(params).ok());
        // What is unknown or done already is ignored (E50).
        if complete.is_some_and(|complete| self.known().open.remove(&complete.elicitation_id)) {
            let told = self.console.faint(&format!("({COMPLETE_METHOD})"));
            self.console.say(&format!("\n  The server says that it is done. {told}"));
            self.done.notify_waiters();
        }
    }
}

/// Both sides write the protocol's JSON, so it leads from the types of one to those of the other.
fn via_json<T: DeserializeOwned>(value: &impl Serialize) -> serde_json::Result<T> {
    serde_json::to_value(value).and_then(serde_json::from_value)
}
