//! What was disconnected, and what the provider says of it.

use askama::Template;

use super::{
    Page,
    action::{Action, Away, To},
    frame::{Emblem, Frame, Tone},
    label::Label,
    name::Name,
    notice::Notice,
    page,
    sentence::Sentence,
};
use crate::web::{assets, text};

/// A connection that is no more.
#[derive(Clone)]
pub struct Gone {
    /// The provider.
    pub provider: Label,
    /// The account, else the provider.
    pub called: Label,
    /// The MCP server that used it.
    pub server: Label,
    /// What the provider knows of it.
    pub revocation: Revocation,
    /// Where the provider shows what has access.
    pub settings: Option<Away>,
}

/// What became of the access at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// The provider has confirmed that it ended.
    Confirmed,
    /// Not confirmed yet; it is tried again.
    Pending,
    /// The provider has no way to do it.
    Impossible,
    /// The person typed it, and ends it there.
    Typed,
    /// It was done there, and stays so.
    Done,
    /// Left as it is, since ending it would end another connection too.
    Shared,
    /// Not confirmed, and not tried any more.
    GivenUp,
    /// Not told, because what was kept here could not be read.
    Unreadable,
    /// Not told, because it is not set up here any more.
    Unconfigured,
}

impl Gone {
    fn there(&self) -> Sentence {
        let provider = &self.provider;
        match self.revocation {
            Revocation::Confirmed => text::disconnected_confirmed(provider),
            Revocation::Pending => text::disconnected_pending(provider),
            Revocation::Impossible => text::disconnected_impossible(provider),
            Revocation::Typed => text::disconnected_typed(provider),
            Revocation::Done => text::disconnect_there_done(provider),
            Revocation::Shared => text::disconnected_shared(provider),
            Revocation::GivenUp => text::disconnected_given_up(provider),
            Revocation::Unreadable => text::disconnected_unreadable(provider),
            Revocation::Unconfigured => text::disconnected_unconfigured(provider),
        }
    }

    fn settings(&self) -> Option<Action> {
        let away = self.settings.as_ref()?;
        Some(Action::other_link(text::disconnected_settings(&self.provider), away.as_str()))
    }
}

/// `disconnected`: one.
pub struct Disconnected {
    /// The frame.
    pub frame: Frame,
    /// Which.
    pub gone: Gone,
    /// This page again, which then tells what is known by then.
    pub again: String,
    /// `/connections`.
    pub connections: String,
}

impl Notice for Disconnected {
    fn name(&self) -> Name {
        Name::Disconnected
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Good
    }
    fn heading(&self) -> Sentence {
        text::disconnected_heading(&self.gone.provider)
    }
    fn body(&self) -> Vec<Sentence> {
        let Gone { server, called, .. } = &self.gone;
        vec![text::disconnected_what(server, called), self.gone.there()]
    }
    fn actions(&self) -> Vec<Action> {
        let mut actions = vec![Action::main_link(text::your_connections(), &self.connections)];
        actions.extend(again(&self.again, std::slice::from_ref(&self.gone)));
        actions.extend(self.gone.settings());
        actions
    }
}

fn again(href: &str, gone: &[Gone]) -> Option<Action> {
    let pending = gone.iter().any(|one| one.revocation == Revocation::Pending);
    pending.then(|| Action::other_link(text::disconnected_check(), href))
}

/// `disconnected` as well: everything.
#[derive(Template)]
#[template(path = "disconnected_all.html")]
pub struct AllDisconnected {
    /// The frame.
    pub frame: Frame,
    /// Which.
    pub gone: Vec<Gone>,
    /// How many could not be.
    pub failed: u64,
    /// This page again.
    pub again: String,
    /// `/connections`.
    pub connections: String,
}

impl AllDisconnected {
    fn actions(&self) -> Vec<Action> {
        let mut actions = vec![Action::other_link(text::your_connections(), &self.connections)];
        actions.extend(again(&self.again, &self.gone));
        actions
    }
}

page!(
    AllDisconnected,
    |_| Name::Disconnected,
    |page| Emblem::Tone(if page.failed == 0 { Tone::Good } else { Tone::Caution }),
    |page| match page.failed {
        0 => text::disconnected_all_heading(),
        _ => text::disconnected_some_heading(),
    }
);
