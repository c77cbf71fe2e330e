//! `code`: nobody can sign in for this; the browser shows a code, and its person types it into their MCP client.

use askama::Template;

use super::{
    Page,
    action::{Action, Post, To},
    frame::{Asked, Emblem, Frame, Tone},
    name::Name,
    notice::Notice,
    page,
    sentence::Sentence,
};
use crate::{
    secret::Secret,
    web::{assets, text},
};

/// `code`. Says nothing about the owner, for nobody knows yet who is here.
#[derive(Template)]
#[template(path = "code.html")]
pub struct Code {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// What this browser shows.
    pub shown: Shown,
    /// `POST .../code`.
    pub mint: Post,
    /// Where it goes on once the code was typed.
    pub on: String,
}

/// What a browser shows.
pub enum Shown {
    /// Nothing: it has not asked for a code.
    Nothing,
    /// Nothing any more: its code is too old.
    TooOld,
    /// This code.
    Code(Secret),
}

impl Code {
    fn code(&self) -> Option<&str> {
        match &self.shown {
            Shown::Code(code) => Some(code.expose()),
            Shown::Nothing | Shown::TooOld => None,
        }
    }

    fn news(&self) -> Vec<Sentence> {
        let Asked { server, provider, .. } = &self.asked;
        let asks = text::server_asks(server, provider);
        match &self.shown {
            Shown::Nothing => vec![asks, text::code_why(server)],
            Shown::TooOld => vec![asks, text::code_too_old()],
            Shown::Code(_) => vec![text::code_where(server, provider)],
        }
    }

    fn actions(&self) -> Vec<Action> {
        match &self.shown {
            Shown::Nothing => vec![Action::main(text::code_button(), &self.mint)],
            Shown::TooOld => vec![Action::main(text::code_new_button(), &self.mint)],
            Shown::Code(_) => vec![
                Action::main_link(text::code_typed_button(), &self.on),
                Action::other(text::code_new_button(), &self.mint),
            ],
        }
    }
}

page!(Code, |_| Name::Code, |page| page.asked.emblem(), |page| match &page.shown {
    Shown::Code(_) => text::code_heading(),
    Shown::Nothing | Shown::TooOld => text::ready_heading(&page.asked.provider),
});

/// `expired` as well: it cannot be answered any more, and nobody knows who is here, so that no more is said.
pub struct Closed {
    /// The frame.
    pub frame: Frame,
}

impl Notice for Closed {
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
        text::closed_heading()
    }
    fn body(&self) -> Vec<Sentence> {
        vec![text::closed_what(), text::expired_only_ask_somewhere()]
    }
    fn actions(&self) -> Vec<Action> {
        Vec::new()
    }
}
