//! How it ended.

use super::{
    action::{Action, Post},
    frame::{Asked, Frame, Permission, Tone},
    label::Label,
    name::Name,
    notice::Notice,
    sentence::Sentence,
};
use crate::{hosted::FailedAtPage, web::text};

/// What is known of the account that was connected.
#[derive(Clone)]
pub enum Account {
    /// Its label.
    Named(Label),
    /// Something was done on a page of the MCP server's own, which may have a label.
    Done(Option<Label>),
    /// A key, with its last characters; too few to be of use to anyone.
    KeyEnding(Label),
    /// The provider does not say.
    Nameless,
}

/// What the person does next.
#[derive(Clone)]
pub enum Then {
    /// Somebody is waiting: go back, it continues.
    GoBack,
    /// Nobody waits any more: ask again.
    AskAgain,
    /// The person began it themselves, on their connections page.
    Rest,
    /// One more provider is wanted: its connect page.
    Next {
        /// That provider.
        provider: Label,
        /// Its link.
        href: String,
    },
}

/// `connected`.
pub struct Connected {
    /// The frame.
    pub frame: Frame,
    /// Who asked.
    pub asked: Asked,
    /// What was connected.
    pub account: Account,
    /// Whether a key was saved without a check.
    pub unchecked: bool,
    /// Whether it is a key for a test mode.
    pub test_mode: bool,
    /// What comes next.
    pub then: Then,
    /// `/connections?server=`.
    pub connections: Option<String>,
}

fn account(provider: &Label, account: &Account) -> Sentence {
    match account {
        Account::Named(label) => text::connected_as(provider, label),
        Account::KeyEnding(ending) => text::connected_secret(provider, ending),
        Account::Done(Some(label)) => text::connected_done(provider, label),
        Account::Done(None) => text::connected_done_nameless(provider),
        Account::Nameless => text::connected_nameless(provider),
    }
}

fn then(then: &Then, client: Option<&Label>) -> Option<Sentence> {
    match (then, client) {
        (Then::GoBack, Some(client)) => Some(text::go_back(client)),
        (Then::GoBack, None) => Some(text::go_back_somewhere()),
        (Then::AskAgain, Some(client)) => Some(text::ask_again(client)),
        (Then::AskAgain, None) => Some(text::ask_again_somewhere()),
        (Then::Rest, _) => Some(text::close_tab()),
        (Then::Next { .. }, _) => None,
    }
}

fn done_actions(then: &Then, connections: Option<&String>) -> Vec<Action> {
    let mut actions = Vec::new();
    if let Then::Next { provider, href } = then {
        actions.push(Action::main_link(text::next_step(provider), href));
    }
    let link = if matches!(then, Then::Rest) { Action::main_link } else { Action::other_link };
    actions.extend(connections.map(|href| link(text::your_connections(), href)));
    actions
}

impl Notice for Connected {
    fn name(&self) -> Name {
        Name::Connected
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Good
    }
    fn heading(&self) -> Sentence {
        match self.account {
            Account::Done(_) => text::connected_done_heading(&self.asked.provider),
            _ => text::connected_heading(&self.asked.provider),
        }
    }
    fn body(&self) -> Vec<Sentence> {
        let provider = &self.asked.provider;
        let mut body = vec![account(provider, &self.account)];
        body.extend(self.unchecked.then(|| text::connected_unchecked(provider)));
        body.extend(self.test_mode.then(|| text::connected_test_mode(provider)));
        body.extend(then(&self.then, self.asked.client.as_ref()));
        let is_account = !matches!(self.account, Account::Done(_));
        if self.connections.is_some() && is_account {
            body.push(text::not_this_account());
        }
        body
    }
    fn actions(&self) -> Vec<Action> {
        done_actions(&self.then, self.connections.as_ref())
    }
}

/// `partly-connected`: with fewer permissions than asked for.
pub struct PartlyConnected {
    /// The frame.
    pub frame: Frame,
    /// Who asked.
    pub asked: Asked,
    /// What was connected.
    pub account: Account,
    /// What was wanted and not given.
    pub missing: Vec<Permission>,
    /// What was given before, asked for once more, and not given this time.
    pub lost: Vec<Permission>,
    /// Asks for the rest at once, where that is possible.
    pub rest: Option<Post>,
    /// What comes next.
    pub then: Then,
    /// `/connections?server=`.
    pub connections: Option<String>,
}

impl Notice for PartlyConnected {
    fn name(&self) -> Name {
        Name::PartlyConnected
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Good
    }
    fn heading(&self) -> Sentence {
        text::partly_heading(&self.asked.provider)
    }
    fn body(&self) -> Vec<Sentence> {
        let provider = &self.asked.provider;
        let what = if self.missing.is_empty() {
            text::partly_lost(&self.asked.server, provider)
        } else {
            text::partly_missing(provider)
        };
        vec![account(provider, &self.account), what]
    }
    fn permissions(&self) -> &[Permission] {
        if self.missing.is_empty() { &self.lost } else { &self.missing }
    }
    fn more_permissions(&self) -> Option<(Sentence, &[Permission])> {
        let both = !self.missing.is_empty() && !self.lost.is_empty();
        both.then(|| (text::partly_lost_too(&self.asked.server), self.lost.as_slice()))
    }
    fn after(&self) -> Vec<Sentence> {
        then(&self.then, self.asked.client.as_ref()).into_iter().collect()
    }
    fn actions(&self) -> Vec<Action> {
        let mut actions: Vec<Action> =
            self.rest.iter().map(|post| Action::main(text::partly_button(), post)).collect();
        actions.extend(done_actions(&self.then, self.connections.as_ref()));
        actions
    }
}

/// `declined`: the person said no.
pub struct Declined {
    /// The frame.
    pub frame: Frame,
    /// Who asked.
    pub asked: Asked,
}

impl Notice for Declined {
    fn name(&self) -> Name {
        Name::Declined
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Calm
    }
    fn heading(&self) -> Sentence {
        text::declined_heading()
    }
    fn body(&self) -> Vec<Sentence> {
        let again =
            self.asked.client.as_ref().map_or_else(text::declined_again_somewhere, text::declined_again);
        vec![text::declined_what(&self.asked.server), again, text::close_tab()]
    }
}

/// `cancelled`: nobody wants it any more.
pub struct Cancelled {
    /// The frame.
    pub frame: Frame,
    /// Who asked.
    pub asked: Asked,
    /// Who cancelled it.
    pub by: CancelledBy,
}

/// Who ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelledBy {
    /// The person, in the MCP client.
    Client,
    /// The MCP server.
    Server,
    /// A disconnect while the link was open.
    Disconnect,
    /// The operator.
    Operator,
}

impl CancelledBy {
    /// Of a reason that was stored.
    pub fn of(reason: Option<&str>) -> Self {
        match reason {
            Some("disconnected") => Self::Disconnect,
            Some("cancelled_by_client") => Self::Client,
            Some("cancelled_by_operator") => Self::Operator,
            _ => Self::Server,
        }
    }
}

impl Notice for Cancelled {
    fn name(&self) -> Name {
        Name::Cancelled
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Calm
    }
    fn heading(&self) -> Sentence {
        text::cancelled_heading()
    }
    fn body(&self) -> Vec<Sentence> {
        let client = self.asked.client.as_ref();
        let who = match self.by {
            CancelledBy::Client => {
                client.map_or_else(text::cancelled_client_somewhere, text::cancelled_client)
            }
            CancelledBy::Server => text::cancelled_server(&self.asked.server),
            CancelledBy::Disconnect => text::cancelled_disconnected(&self.asked.provider),
            CancelledBy::Operator => text::cancelled_operator(&self.frame.operator),
        };
        vec![who, text::close_tab()]
    }
}

/// `expired`: its time is over.
pub struct Expired {
    /// The frame.
    pub frame: Frame,
    /// Who asked.
    pub asked: Asked,
    /// `POST .../restart`, where the same question can be asked again.
    pub restart: Option<Post>,
}

impl Notice for Expired {
    fn name(&self) -> Name {
        Name::Expired
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Calm
    }
    fn heading(&self) -> Sentence {
        text::expired_heading()
    }
    fn body(&self) -> Vec<Sentence> {
        let what_to_do = match (&self.restart, &self.asked.client) {
            (Some(_), Some(client)) => text::expired_ask(client),
            (Some(_), None) => text::expired_ask_somewhere(),
            (None, Some(client)) => text::expired_only_ask(client),
            (None, None) => text::expired_only_ask_somewhere(),
        };
        vec![text::expired_what(), what_to_do]
    }
    fn actions(&self) -> Vec<Action> {
        self.restart.iter().map(|post| Action::main(text::expired_restart(), post)).collect()
    }
}

/// `failed`: trying again cannot help.
pub struct Failed {
    /// The frame.
    pub frame: Frame,
    /// Who asked.
    pub asked: Asked,
    /// Why.
    pub because: FailedBecause,
}

/// Why it can never work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedBecause {
    /// The provider was taken out of the configuration.
    Removed,
    /// The provider refuses our client.
    Refused,
    /// A wrong code was typed too often.
    CodeTries,
    /// The MCP server has said so of its own page.
    Page,
}

impl FailedBecause {
    /// Of a reason that was stored.
    pub fn of(reason: Option<&str>) -> Self {
        match reason {
            Some("provider_removed") => Self::Removed,
            Some("code_tries_spent") => Self::CodeTries,
            Some(reason) if FailedAtPage::is(reason) => Self::Page,
            _ => Self::Refused,
        }
    }
}

impl Notice for Failed {
    fn name(&self) -> Name {
        Name::Failed
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Stop
    }
    fn heading(&self) -> Sentence {
        match self.because {
            FailedBecause::Page => text::failed_page_heading(&self.asked.provider),
            _ => text::failed_heading(&self.asked.provider),
        }
    }
    fn body(&self) -> Vec<Sentence> {
        let operator = &self.frame.operator;
        match self.because {
            FailedBecause::Removed => {
                vec![text::failed_removed(operator, &self.asked.provider), text::failed_do(operator)]
            }
            FailedBecause::Refused => {
                vec![text::failed_refused(operator, &self.asked.provider), text::failed_do(operator)]
            }
            FailedBecause::Page => {
                let client = self.asked.client.as_ref();
                let again = client.map_or_else(text::failed_page_again_somewhere, text::failed_page_again);
                vec![text::failed_page(&self.asked.server, &self.asked.provider), again]
            }
            FailedBecause::CodeTries => vec![text::failed_tries(), text::expired_only_ask_somewhere()],
        }
    }
}
