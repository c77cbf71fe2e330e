//! The many pages that are a heading, a few sentences and something to do.

use askama::Template;
use http::StatusCode;

use super::{
    Page,
    action::{Action, To},
    frame::{Emblem, Frame, Permission, Tone},
    label::Label,
    name::Name,
    sentence::Sentence,
};
use crate::web::{assets, text};

/// Such a page.
pub trait Notice {
    fn name(&self) -> Name;
    fn frame(&self) -> &Frame;
    fn tone(&self) -> Tone;
    fn heading(&self) -> Sentence;
    /// The first sentence is the news, the rest what to do.
    fn body(&self) -> Vec<Sentence>;
    fn status(&self) -> StatusCode {
        self.name().status()
    }
    /// The main one first.
    fn actions(&self) -> Vec<Action> {
        Vec::new()
    }
    /// What the provider called its error.
    fn code(&self) -> Option<&Label> {
        None
    }
    /// Permissions that the news is about.
    fn permissions(&self) -> &[Permission] {
        &[]
    }
    /// Further permissions, with what is to be said of them.
    fn more_permissions(&self) -> Option<(Sentence, &[Permission])> {
        None
    }
    /// All of them.
    fn technical(&self) -> Vec<Permission> {
        let more = self.more_permissions().map(|(_, more)| more).unwrap_or_default();
        [self.permissions(), more].concat()
    }
    /// Words to copy, for somebody else.
    fn quote(&self) -> Option<Sentence> {
        None
    }
    /// What comes below the actions.
    fn after(&self) -> Vec<Sentence> {
        Vec::new()
    }
}

impl<T: Notice> Page for T {
    fn name(&self) -> Name {
        Notice::name(self)
    }
    fn status(&self) -> StatusCode {
        Notice::status(self)
    }
    fn frame(&self) -> &Frame {
        Notice::frame(self)
    }
    fn heading(&self) -> Sentence {
        Notice::heading(self)
    }
    fn emblem(&self) -> Emblem {
        Emblem::Tone(self.tone())
    }
    fn html(&self) -> Result<String, askama::Error> {
        Sheet { page: self, notice: self }.render()
    }
}

#[derive(Template)]
#[template(path = "notice.html")]
struct Sheet<'a> {
    page: &'a dyn Page,
    notice: &'a dyn Notice,
}

impl Sheet<'_> {
    fn name(&self) -> Name {
        self.page.name()
    }
    fn frame(&self) -> &Frame {
        self.page.frame()
    }
    fn heading(&self) -> Sentence {
        self.page.heading()
    }
    fn emblem(&self) -> Emblem {
        self.page.emblem()
    }
    fn title(&self) -> String {
        self.page.title()
    }
    fn onward(&self) -> Option<&super::Away> {
        None
    }
}
