//! `needs-input` after the way to the provider: one grant covers several tenants, and one of them is meant.

use askama::Template;

use super::{
    Page,
    action::{Action, Post, To},
    form::Choice,
    frame::{Asked, Emblem, Frame},
    label::Label,
    name::Name,
    page,
    sentence::Sentence,
};
use crate::web::{assets, text};

/// The page. Nothing is connected before it is answered.
#[derive(Template)]
#[template(path = "tenants.html")]
pub struct ChooseTenant {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// The account that came back, where it is known.
    pub account: Option<Label>,
    /// What to choose from.
    pub tenants: Vec<Choice>,
    /// The value that stands there at first.
    pub first: String,
    /// `POST .../input`, with the attempt.
    pub submit: Post,
    /// `POST .../decline`.
    pub decline: Post,
}

impl ChooseTenant {
    fn what(&self) -> Sentence {
        let Asked { server, provider, .. } = &self.asked;
        match &self.account {
            Some(account) => text::tenant_what(account, provider, server),
            None => text::tenant_what_nameless(provider, server),
        }
    }

    fn actions(&self) -> Vec<Action> {
        vec![Action::other(text::not_now(), &self.decline)]
    }
}

page!(ChooseTenant, |_| Name::NeedsInput, |page| page.asked.emblem(), |page| text::tenant_heading(
    &page.asked.provider
));
