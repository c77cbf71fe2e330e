//! The pages: one struct for each, plain data that a handler fills; here it becomes HTML with its name and status.
//!
//! A page never looks anything up, never decides, and holds nothing that its reader may not know.

mod action;
mod code;
mod connection;
mod connections;
mod disconnected;
mod entry;
mod form;
mod frame;
mod label;
mod mark;
mod name;
mod notice;
mod outcome;
mod refusal;
pub mod sample;
mod sentence;
mod standing;
mod tenants;
#[cfg(test)]
mod tests;
mod trip;

pub use action::{Action, Away, Post, To, Weight};
pub use code::{Closed, Code, Shown};
pub use connection::{Connection, Disconnect, Happened, History, Kept, Parting};
pub use connections::{Connections, DisconnectAll, Group, Listed};
pub use disconnected::{AllDisconnected, Disconnected, Gone, Revocation};
pub use entry::{AlreadyConnected, Before, ConfirmIdentity, Note, Ready, Setting, SignIn, SignInFor, Why};
pub use form::{Choice, Field, FieldProblem, NeedsInput, Replaced, Secret, SecretField, SecretState, Within};
pub use frame::{Asked, Emblem, Frame, Permission, SignedIn, Tone};
pub use label::{Bdi, Label, Message};
pub use mark::Mark;
pub use name::Name;
pub use outcome::{
    Account, Cancelled, CancelledBy, Connected, Declined, Expired, Failed, FailedBecause, PartlyConnected,
    Then,
};
pub use refusal::{
    Bad, BadRequest, NotFound, OtherBrowser, ProviderMisconfigured, ProviderMismatch, ProviderUnreachable,
    ServerError, SignInFailed, SignInTrouble, SignedOut, TooManyRequests, Unavailable, WrongAccount,
};
pub use sentence::{Fill, Gap, Sentence, gap_names};
pub use standing::{Standing, Trouble};
pub use tenants::ChooseTenant;
pub use trip::{
    AccountChanged, AdminApproval, AwaitingResult, Leaving, NotConnected, NotConnectedBecause, Working,
};

use http::StatusCode;

use super::text;

/// What every page can tell about itself.
pub trait Page {
    /// `data-page`.
    fn name(&self) -> Name;

    /// The status that goes with it.
    fn status(&self) -> StatusCode {
        self.name().status()
    }

    /// What stands around it.
    fn frame(&self) -> &Frame;

    /// Its one `<h1>`.
    fn heading(&self) -> Sentence;

    /// The picture above the heading.
    fn emblem(&self) -> Emblem {
        Emblem::None
    }

    /// `<title>`, not escaped.
    fn title(&self) -> String {
        text::title(Gap::Plain(self.heading().plain()), &self.frame().operator).plain()
    }

    /// Where the browser goes by itself at once; only the leaving page has such a place.
    fn onward(&self) -> Option<&Away> {
        None
    }

    /// The whole document.
    ///
    /// # Errors
    /// When formatting fails, which no page does.
    fn html(&self) -> Result<String, askama::Error>;

    /// All that an answer needs.
    ///
    /// # Errors
    /// As [`Page::html`].
    fn document(&self) -> Result<Document, askama::Error> {
        let html = self.html()?;
        let has_forms = html.contains("<form ");
        Ok(Document { name: self.name(), status: self.status(), has_forms, html })
    }
}

/// A rendered page.
pub struct Document {
    /// Which page it is.
    pub name: Name,
    /// The status of the answer.
    pub status: StatusCode,
    /// Whether anything can be posted from it: then it goes with `Referrer-Policy: same-origin`, else `no-referrer`
    /// (which would make the browser send `Origin: null`). Read off the HTML, where a label cannot write a tag.
    pub has_forms: bool,
    /// The body, `text/html; charset=utf-8`.
    pub html: String,
}

/// Implements [`Page`] for a struct that derives `Template` and has a `frame`.
macro_rules! page {
    ($type:ty, $name:expr, $emblem:expr, |$page:ident| $heading:expr) => {
        page!($type, $name, $emblem, |$page| $heading, |_page| None);
    };
    ($type:ty, $name:expr, $emblem:expr, |$page:ident| $heading:expr, |$going:ident| $onward:expr) => {
        impl $crate::web::pages::Page for $type {
            fn name(&self) -> $crate::web::pages::Name {
                let name: fn(&Self) -> $crate::web::pages::Name = $name;
                name(self)
            }
            fn frame(&self) -> &$crate::web::pages::Frame {
                &self.frame
            }
            fn heading(&self) -> $crate::web::pages::Sentence {
                let $page = self;
                $heading
            }
            fn emblem(&self) -> $crate::web::pages::Emblem {
                let emblem: fn(&Self) -> $crate::web::pages::Emblem = $emblem;
                emblem(self)
            }
            fn onward(&self) -> Option<&$crate::web::pages::Away> {
                let $going = self;
                $onward
            }
            fn html(&self) -> Result<String, askama::Error> {
                askama::Template::render(self)
            }
        }
    };
}
use page;
