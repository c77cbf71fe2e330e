//! On the way to the provider, and back with a question still open.

use askama::Template;

use super::{
    Page,
    action::{Action, Away, Post, To},
    frame::{Asked, Emblem, Frame, Tone},
    label::Label,
    name::Name,
    notice::Notice,
    page,
    sentence::{Gap, Sentence},
};
use crate::web::{assets, text};

/// `leaving`: names the host, then goes there (a meta refresh of 0 s, and a plain link).
#[derive(Template)]
#[template(path = "leaving.html")]
pub struct Leaving {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// The authorize URL. It holds `state`: this page is for the proven owner with the attempt's cookie alone.
    pub away: Away,
}

impl Leaving {
    fn actions(&self) -> Vec<Action> {
        vec![Action::main_link(text::leaving_button(&self.away), self.away.as_str())]
    }
}

page!(
    Leaving,
    |_| Name::Leaving,
    |page| page.asked.emblem(),
    |page| text::leaving_heading(&page.away),
    |page| Some(&page.away)
);

/// `working`: another request is finishing this. No refresh by itself (WCAG 2.2, 2.2.1): a link.
pub struct Working {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// `/connect/{id}/done?attempt=`.
    pub again: String,
}

impl Notice for Working {
    fn name(&self) -> Name {
        Name::Working
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Calm
    }
    fn heading(&self) -> Sentence {
        text::working_heading(&self.asked.provider)
    }
    fn body(&self) -> Vec<Sentence> {
        vec![text::working_what()]
    }
    fn actions(&self) -> Vec<Action> {
        vec![Action::main_link(text::working_button(), &self.again)]
    }
}

/// `awaiting-result`: back from the MCP server's page, which has not said yet what came of it.
pub struct AwaitingResult {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// `/connect/{id}/done?attempt=`.
    pub again: String,
    /// `/connect?elicitationId=`.
    pub open_again: String,
}

impl Notice for AwaitingResult {
    fn name(&self) -> Name {
        Name::AwaitingResult
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Calm
    }
    fn heading(&self) -> Sentence {
        text::awaiting_heading(&self.asked.provider)
    }
    fn body(&self) -> Vec<Sentence> {
        vec![text::awaiting_what(&self.asked.server), text::awaiting_again(&self.asked.provider)]
    }
    fn actions(&self) -> Vec<Action> {
        vec![
            Action::main_link(text::awaiting_button(), &self.again),
            Action::other_link(text::awaiting_open(), &self.open_again),
        ]
    }
}

/// `account-changed`: another account than the one that is connected. Which of the two?
pub struct AccountChanged {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// The account that has just been chosen.
    pub new: Label,
    /// The account that is connected.
    pub previous: Label,
    /// Whether that connection is active and suffices, so that `use=previous` can complete.
    pub previous_suffices: bool,
    /// `POST .../account` without its fields: the page adds `attempt` and `use`.
    pub answer: Post,
    /// The attempt that brought the new account.
    pub attempt: String,
    /// `POST .../decline`.
    pub decline: Option<Post>,
}

impl AccountChanged {
    fn using(&self, which: &str) -> Post {
        self.answer.clone().with("attempt", &self.attempt).with("use", which)
    }
}

impl Notice for AccountChanged {
    fn name(&self) -> Name {
        Name::AccountChanged
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Caution
    }
    fn heading(&self) -> Sentence {
        text::changed_heading(&self.asked.provider)
    }
    fn body(&self) -> Vec<Sentence> {
        let question = if self.previous_suffices {
            text::changed_question(&self.asked.server)
        } else {
            text::changed_gone(&self.asked.server, &self.previous)
        };
        vec![text::changed_what(&self.new, &self.previous), question]
    }
    fn actions(&self) -> Vec<Action> {
        let mut actions = vec![Action::main(text::changed_use(&self.new), &self.using("new"))];
        if self.previous_suffices {
            actions.push(Action::main(text::changed_keep(&self.previous), &self.using("previous")));
        }
        actions.extend(self.decline.as_ref().map(|post| Action::other(text::changed_neither(), post)));
        actions
    }
}

/// `not-connected`: came back without an account.
pub struct NotConnected {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// Why.
    pub because: NotConnectedBecause,
    /// The provider's error code, for support.
    pub code: Option<Label>,
    /// `POST .../continue`.
    pub again: Post,
    /// `POST .../decline`.
    pub decline: Post,
}

/// Why nothing was connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotConnectedBecause {
    /// The person said no at the provider.
    SaidNo,
    /// The provider ended it with an error of its own.
    ProviderError,
    /// The code was too old, or used before.
    TooLate,
    /// The code for a page of the MCP server's own was redeemed twice.
    Twice,
    /// No refresh token, though the MCP server needs lasting access.
    NothingLasting,
    /// The provider did not say whose account it is.
    NoAccount,
}

impl Notice for NotConnected {
    fn name(&self) -> Name {
        Name::NotConnected
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Calm
    }
    fn heading(&self) -> Sentence {
        let heading =
            if self.asked.page { text::not_connected_page_heading } else { text::not_connected_heading };
        heading(&self.asked.provider)
    }
    fn body(&self) -> Vec<Sentence> {
        let provider = &self.asked.provider;
        let why = match self.because {
            NotConnectedBecause::SaidNo => text::not_connected_said_no(provider),
            NotConnectedBecause::ProviderError => text::not_connected_provider(provider),
            NotConnectedBecause::TooLate => text::not_connected_too_late(provider),
            NotConnectedBecause::Twice => text::not_connected_twice(provider),
            NotConnectedBecause::NothingLasting => text::not_connected_no_lasting(provider),
            NotConnectedBecause::NoAccount => text::not_connected_account(provider),
        };
        vec![why, text::not_connected_again(&self.asked.server)]
    }
    fn actions(&self) -> Vec<Action> {
        vec![Action::main(text::try_again(), &self.again), Action::other(text::not_now(), &self.decline)]
    }
    fn code(&self) -> Option<&Label> {
        self.code.as_ref()
    }
}

/// `admin-approval`: somebody in the person's organisation must approve first.
pub struct AdminApproval {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// Where the administrator approves.
    pub approve: Option<Away>,
    /// The provider's error code.
    pub code: Option<Label>,
    /// `POST .../continue`.
    pub again: Post,
    /// `POST .../decline`.
    pub decline: Post,
}

impl Notice for AdminApproval {
    fn name(&self) -> Name {
        Name::AdminApproval
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Caution
    }
    fn heading(&self) -> Sentence {
        text::approval_heading(&self.asked.provider)
    }
    fn body(&self) -> Vec<Sentence> {
        vec![text::approval_what(&self.asked.provider), text::approval_do()]
    }
    fn quote(&self) -> Option<Sentence> {
        let Asked { server, provider, .. } = &self.asked;
        Some(text::approval_message(provider, server, Gap::Host(self.frame.host.clone())))
    }
    fn after(&self) -> Vec<Sentence> {
        vec![text::approval_after()]
    }
    fn actions(&self) -> Vec<Action> {
        let mut actions = vec![Action::main(text::try_again(), &self.again)];
        actions.extend(
            self.approve.as_ref().map(|away| Action::other_link(text::approval_link(), away.as_str())),
        );
        actions.push(Action::other(text::not_now(), &self.decline));
        actions
    }
    fn code(&self) -> Option<&Label> {
        self.code.as_ref()
    }
}
