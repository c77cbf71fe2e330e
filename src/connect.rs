//! The connect flow: open, agree, leave, arrive, finish, settle. Without axum, so that pages, the API and workers
//! share it.
//!
//! The order of the checks when the browser comes back is the security; it stands in [`arrive`] and nowhere else.
//! A failure at one step has no effect of a later one (R71). Nothing that a stranger does closes, spends or counts
//! against anything.

mod account;
mod agree;
mod arrive;
mod ask;
mod close;
mod code;
mod cookie;
mod finish;
mod hosted;
mod input;
mod open;
mod reconnect;
mod response;
mod restart;
mod sealing;
mod secret;
mod tenant;

pub use self::{
    account::{Answer, answer, drop_offer, offered, seen},
    agree::{Begun, begin, leave},
    arrive::{Arrival, Arriving, arrive, resume},
    ask::{Prepared, Question, as_ask, ask, ask_once, asked_before, link, read, satisfy},
    close::{close, hear},
    code::{CodeCookie, Minted, TriesLeft, is_by_code, mint, prove},
    cookie::AttemptCookie,
    finish::{FINISH_PATIENCE, NO_REFRESH_TOKEN},
    hosted::{NotTaken, PageResult, Visiting, redeem, tell},
    input::{Inputs, Typed, inputs, leads_astray, leads_to, type_in, unanswerable},
    open::{Browser, Opened, View, look, open},
    reconnect::{reconnect, worth_asking},
    response::{Response, ResponseError, Verdict},
    restart::restart,
    secret::{Entered, TAIL_MARK, enter},
    tenant::{Chosen, choose, tenants},
};
use crate::{provider::ProviderError, store::StoreError, vault::OpenError};

/// Why a move was not made. The border maps each to one page or problem.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Unknown, or not this caller's.
    #[error("not found")]
    NotFound,
    /// Nobody is signed in for the elicitation's issuer in this browser, or it has shown no code that was typed.
    #[error("not signed in")]
    NotSignedIn,
    /// Somebody else is signed in (R3, R4).
    #[error("signed in as another person")]
    WrongAccount,
    /// The attempt's cookie is missing or another's (R59).
    #[error("not begun in this browser")]
    OtherBrowser,
    /// It moved since it was read; its page says what it is now.
    #[error("it has moved")]
    Moved,
    /// The provider is not configured any more.
    #[error("the provider is not configured")]
    ProviderGone,
    /// The provider's side does not work.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The store's side does not work.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A sealed value does not open: a missing key, or somebody has changed the row (R99, R102).
    #[error("a sealed value does not open")]
    Unreadable(#[from] OpenError),
}
