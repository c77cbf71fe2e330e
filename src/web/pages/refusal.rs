//! What could not be done. These pages know as little as possible: most stand where nobody has proven anything.

use http::StatusCode;

use super::{
    action::{Action, Post},
    frame::{Frame, Tone},
    label::Label,
    name::Name,
    notice::Notice,
    sentence::Sentence,
};
use crate::web::text;

/// Implements [`Notice`] for a page of a heading, sentences and actions.
macro_rules! refusal {
    ($type:ident, $tone:ident, |$page:ident| $heading:expr, $body:expr, $actions:expr) => {
        impl Notice for $type {
            fn name(&self) -> Name {
                Name::$type
            }
            fn frame(&self) -> &Frame {
                &self.frame
            }
            fn tone(&self) -> Tone {
                Tone::$tone
            }
            fn heading(&self) -> Sentence {
                let $page = self;
                let _ = $page;
                $heading
            }
            fn body(&self) -> Vec<Sentence> {
                let $page = self;
                let _ = $page;
                $body
            }
            fn actions(&self) -> Vec<Action> {
                let $page = self;
                let _ = $page;
                $actions
            }
        }
    };
}

/// `wrong-account`: signed in, but not as the owner. Holds nothing about the owner, nor about what was asked of them.
pub struct WrongAccount {
    /// The frame.
    pub frame: Frame,
    /// Who is signed in here: the reader.
    pub person: Label,
    /// `/sign-in?...&switch=1`.
    pub switch: String,
}

refusal!(
    WrongAccount,
    Caution,
    |page| text::wrong_heading(),
    vec![text::wrong_person(&page.person), text::wrong_yours(), text::wrong_sent()],
    vec![Action::main_link(text::wrong_switch(), &page.switch)]
);

/// `not-found`: one page for unknown and malformed ids, and for addresses that are none.
pub struct NotFound {
    /// The frame.
    pub frame: Frame,
}

refusal!(
    NotFound,
    Calm,
    |page| text::not_found_heading(),
    vec![text::not_found_what(), text::not_found_do()],
    Vec::new()
);

/// `sign-in-failed`.
pub struct SignInFailed {
    /// The frame.
    pub frame: Frame,
    /// What happened.
    pub trouble: SignInTrouble,
    /// `/sign-in?...`; `None` when it is not known what for.
    pub again: Option<String>,
    /// `/sign-in?...&switch=1`.
    pub switch: Option<String>,
}

/// Why a sign-in did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInTrouble {
    /// The person, or the authorization server, said no.
    SaidNo,
    /// The answer could not be used.
    WentWrong,
    /// Its cookie is gone, or its time was over.
    TooLate,
    /// The authorization server does not answer.
    Unreachable,
}

refusal!(
    SignInFailed,
    Caution,
    |page| text::sign_in_failed_heading(),
    {
        let mut body = vec![match page.trouble {
            SignInTrouble::SaidNo => text::sign_in_failed_said_no(),
            SignInTrouble::WentWrong => text::sign_in_failed_went_wrong(),
            SignInTrouble::TooLate => text::sign_in_failed_too_late(),
            SignInTrouble::Unreachable => text::sign_in_failed_unreachable(),
        }];
        if page.again.is_none() {
            body.push(text::sign_in_failed_do());
        }
        body
    },
    {
        let again = page.again.iter().map(|href| Action::main_link(text::sign_in_again(), href));
        again.chain(page.switch.iter().map(|href| Action::other_link(text::switch_account(), href))).collect()
    }
);

/// `other-browser`: came back to a browser that never left, or too late.
pub struct OtherBrowser {
    /// The frame.
    pub frame: Frame,
    /// The connect page, when this browser is known to be allowed to see it.
    pub open_again: Option<String>,
}

refusal!(
    OtherBrowser,
    Caution,
    |page| text::other_browser_heading(),
    vec![text::other_browser_what(), text::other_browser_do(), text::other_browser_cookies()],
    page.open_again.iter().map(|href| Action::main_link(text::open_link_again(), href)).collect()
);

/// `provider-mismatch`: the answer names another issuer than the one that was asked. No way to go on from here.
pub struct ProviderMismatch {
    /// The frame.
    pub frame: Frame,
}

refusal!(
    ProviderMismatch,
    Stop,
    |page| text::mismatch_heading(),
    vec![text::mismatch_what(), text::mismatch_do()],
    Vec::new()
);

/// `provider-unreachable`.
pub struct ProviderUnreachable {
    /// The frame.
    pub frame: Frame,
    /// Which; `None` where nobody is proven.
    pub provider: Option<Label>,
    /// Whether it did answer, with something that is of no use.
    pub unusable: bool,
    /// `POST .../continue`.
    pub again: Option<Post>,
    /// Where the person changes what they said of the provider's address, where they did.
    pub change: Option<String>,
    /// `POST .../decline`.
    pub decline: Option<Post>,
}

refusal!(
    ProviderUnreachable,
    Caution,
    |page| match (&page.provider, page.unusable) {
        (Some(provider), true) => text::unusable_heading(provider),
        (None, true) => text::unusable_heading_nameless(),
        (Some(provider), false) => text::unreachable_heading(provider),
        (None, false) => text::unreachable_heading_nameless(),
    },
    if page.unusable {
        vec![text::unusable_what(), text::unusable_do(&page.frame.operator)]
    } else {
        let change = page.change.is_some();
        vec![
            text::unreachable_what(),
            if change { text::unreachable_check() } else { text::unreachable_do() },
        ]
    },
    {
        let again = page.again.iter().map(|post| Action::main(text::try_again(), post));
        let again =
            again.chain(page.change.iter().map(|href| Action::other_link(text::ready_change(), href)));
        again.chain(page.decline.iter().map(|post| Action::other(text::not_now(), post))).collect()
    }
);

/// `provider-misconfigured`: the operator has to act.
pub struct ProviderMisconfigured {
    /// The frame.
    pub frame: Frame,
    /// Which; `None` where nobody is proven.
    pub provider: Option<Label>,
    /// Whether the link has ended with it, so that mending is not enough.
    pub ended: bool,
}

refusal!(
    ProviderMisconfigured,
    Caution,
    |page| page
        .provider
        .as_ref()
        .map_or_else(text::misconfigured_heading_nameless, text::misconfigured_heading),
    vec![
        text::misconfigured_what(),
        if page.ended {
            text::misconfigured_ended(&page.frame.operator)
        } else {
            text::misconfigured_do(&page.frame.operator)
        }
    ],
    Vec::new()
);

/// `too-many-requests`.
pub struct TooManyRequests {
    /// The frame.
    pub frame: Frame,
    /// As in `Retry-After`, in seconds.
    pub retry_after: u64,
}

refusal!(
    TooManyRequests,
    Caution,
    |page| text::too_many_heading(),
    vec![text::wait(page.retry_after), text::too_many_what()],
    Vec::new()
);

/// `unavailable`: no database, or going down.
pub struct Unavailable {
    /// The frame.
    pub frame: Frame,
}

refusal!(
    Unavailable,
    Caution,
    |page| text::unavailable_heading(),
    vec![text::unavailable_what(), text::unavailable_do()],
    Vec::new()
);

/// `bad-request`.
pub struct BadRequest {
    /// The frame.
    pub frame: Frame,
    /// What is wrong with it.
    pub bad: Bad,
}

/// What was wrong with a request. Each has a status of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// 400.
    Malformed,
    /// 403: the CSRF token or the origin is not ours.
    FromElsewhere,
    /// 405.
    Method,
    /// 408: the body did not come in time.
    TooSlow,
    /// 413.
    TooLarge,
    /// 414.
    LongAddress,
    /// 415.
    MediaType,
    /// 421: another host than that of the public URL.
    Host,
}

impl Notice for BadRequest {
    fn name(&self) -> Name {
        Name::BadRequest
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Caution
    }
    fn status(&self) -> StatusCode {
        match self.bad {
            Bad::Malformed => Name::BadRequest.status(),
            Bad::FromElsewhere => StatusCode::FORBIDDEN,
            Bad::Method => StatusCode::METHOD_NOT_ALLOWED,
            Bad::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Bad::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Bad::LongAddress => StatusCode::URI_TOO_LONG,
            Bad::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Bad::Host => StatusCode::MISDIRECTED_REQUEST,
        }
    }
    fn heading(&self) -> Sentence {
        text::bad_request_heading()
    }
    fn body(&self) -> Vec<Sentence> {
        let what = match self.bad {
            Bad::Malformed | Bad::LongAddress | Bad::MediaType => text::bad_request_malformed(),
            Bad::FromElsewhere => text::bad_request_from_elsewhere(),
            Bad::Method => text::bad_request_method(),
            Bad::TooSlow => text::bad_request_too_slow(),
            Bad::TooLarge => text::bad_request_too_large(),
            Bad::Host => text::bad_request_host(),
        };
        vec![what, text::bad_request_do()]
    }
}

/// `server-error`.
pub struct ServerError {
    /// The frame.
    pub frame: Frame,
}

refusal!(
    ServerError,
    Stop,
    |page| text::server_error_heading(),
    vec![text::server_error_what(), text::server_error_do(&page.frame.operator)],
    Vec::new()
);

/// `signed-out`.
pub struct SignedOut {
    /// The frame.
    pub frame: Frame,
}

refusal!(
    SignedOut,
    Calm,
    |page| text::signed_out_heading(),
    vec![text::signed_out_what(), text::signed_out_other(), text::close_page()],
    Vec::new()
);
