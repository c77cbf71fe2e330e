//! The pages before leaving: who are you, and do you agree?

use askama::Template;
use time::OffsetDateTime;

use super::{
    Page,
    action::{Action, Away, Post, To},
    frame::{Asked, Emblem, Frame, Permission},
    label::{Label, Message},
    name::Name,
    page,
    sentence::{Gap, Sentence},
    standing::Trouble,
};
use crate::web::{assets, text};

/// `sign-in`: nobody is signed in for this. Says nothing about the owner.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub struct SignIn {
    /// The frame.
    pub frame: Frame,
    /// What for.
    pub purpose: SignInFor,
    /// Name of the place where one signs in; its host, if it has none.
    pub authority: Option<Label>,
    /// `/sign-in?...`: a GET, since it keeps no state.
    pub sign_in: String,
    /// Other places where one can sign in instead, each with its `/sign-in?...`.
    pub others: Vec<(Label, String)>,
}

/// Why a sign-in is wanted.
pub enum SignInFor {
    /// To see and answer the question.
    Connect(Asked),
    /// To finish at the callback.
    Resume(Asked),
    /// To see the connections used by this MCP server.
    Connections(Label),
    /// To see every connection.
    Everything,
}

impl SignIn {
    fn news(&self) -> Vec<Sentence> {
        match &self.purpose {
            SignInFor::Connect(asked) => {
                let asks = if asked.page { text::page_asks } else { text::server_asks };
                let mut news = vec![asks(&asked.server, &asked.provider)];
                news.extend(asked_in(asked));
                news.push(text::sign_in_why());
                news
            }
            SignInFor::Resume(asked) => vec![text::resume_why(&asked.provider)],
            SignInFor::Connections(server) => vec![text::connections_sign_in_why(server)],
            SignInFor::Everything if self.others.is_empty() => vec![text::connections_sign_in_all()],
            SignInFor::Everything => vec![text::connections_sign_in_all(), text::connections_sign_in_where()],
        }
    }

    fn actions(&self) -> Vec<Action> {
        let label = self.authority.as_ref().map_or_else(text::sign_in_plain_button, text::sign_in_button);
        let mut actions = vec![Action::main_link(label, &self.sign_in)];
        let other =
            |(authority, href): &(Label, String)| Action::other_link(text::sign_in_button(authority), href);
        actions.extend(self.others.iter().map(other));
        actions
    }
}

fn asked_in(asked: &Asked) -> Option<Sentence> {
    asked.client.as_ref().map(|client| text::asked_in(&asked.server, client))
}

page!(
    SignIn,
    |_| Name::SignIn,
    |page| match &page.purpose {
        SignInFor::Connect(asked) | SignInFor::Resume(asked) => asked.emblem(),
        SignInFor::Connections(_) | SignInFor::Everything => Emblem::None,
    },
    |page| match &page.purpose {
        SignInFor::Connect(asked) if asked.page => text::sign_in_page_heading(&asked.provider),
        SignInFor::Connect(asked) => text::sign_in_heading(&asked.provider),
        SignInFor::Resume(asked) => text::resume_heading(&asked.provider),
        SignInFor::Connections(_) | SignInFor::Everything => text::connections_sign_in_heading(),
    }
);

/// `sign-in` as well: somebody else than before has signed in here, and confirms it before it counts.
#[derive(Template)]
#[template(path = "confirm_identity.html")]
pub struct ConfirmIdentity {
    /// The frame.
    pub frame: Frame,
    /// Who has signed in.
    pub person: Label,
    /// The yes.
    pub confirm: Post,
    /// `/sign-in?...&switch=1`.
    pub switch: Option<String>,
}

impl ConfirmIdentity {
    fn actions(&self) -> Vec<Action> {
        let mut actions = vec![Action::main(text::confirm_button(&self.person), &self.confirm)];
        actions.extend(self.switch.as_ref().map(|href| Action::other_link(text::switch_account(), href)));
        actions
    }
}

page!(ConfirmIdentity, |_| Name::SignIn, |_| Emblem::None, |page| text::confirm_heading(&page.person));

/// `ready`: the question.
#[derive(Template)]
#[template(path = "ready.html")]
pub struct Ready {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// The connection that there is, which does not do.
    pub before: Option<Before>,
    /// The MCP server's own words; shown as such.
    pub message: Option<Message>,
    /// Permissions that it does not have yet.
    pub new: Vec<Permission>,
    /// Permissions that it has already.
    pub already: Vec<Permission>,
    /// What the person said of the provider's address.
    pub settings: Vec<Setting>,
    /// Where they change it.
    pub change: Option<String>,
    /// What must be there first, and what is chosen at the provider, in the operator's words.
    pub notes: Vec<Note>,
    /// What is done there, in the operator's words, where it is a page of the MCP server's own.
    pub what: Option<Message>,
    /// Host of the provider's authorize URL, in full.
    pub provider_host: String,
    /// The account to choose there, when it matters.
    pub account_hint: Option<Label>,
    /// Who is signed in, named beside the button; nobody where a code was typed.
    pub person: Option<Label>,
    /// `/sign-in?...&switch=1`.
    pub switch: Option<String>,
    /// When the link ends.
    pub expires_at: Option<OffsetDateTime>,
    /// `POST .../continue`.
    pub agree: Post,
    /// `POST .../decline`.
    pub decline: Post,
}

/// Something that the person said of the provider's address, or that is known of it from before.
#[derive(Clone)]
pub struct Setting {
    /// What it is.
    pub label: Label,
    /// What it was said to be.
    pub value: Label,
}

/// What a person should know before they leave.
#[derive(Clone)]
pub struct Note {
    /// A sentence.
    pub text: Message,
    /// Where it is done.
    pub link: Option<Away>,
}

/// A connection that does not do.
#[derive(Clone)]
pub struct Before {
    /// Its account, where it is known.
    pub account: Option<Label>,
    /// What is wanted of it.
    pub why: Why,
}

/// Why a connection does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It works, and has too few permissions.
    More,
    /// It works, and is to be renewed.
    Renew,
    /// It does not work.
    Again(Trouble),
}

impl Ready {
    fn lead(&self) -> Vec<Sentence> {
        let Asked { server, provider, .. } = &self.asked;
        if self.asked.page {
            let mut lead = vec![text::page_asks(server, provider)];
            lead.extend(self.before.as_ref().map(|_| text::page_again()));
            return lead;
        }
        let Some(Before { account, why }) = &self.before else {
            return vec![text::server_asks(server, provider)];
        };
        match (why, account) {
            (Why::More, Some(account)) => vec![text::more_asks(server, provider, account)],
            (Why::More, None) => vec![text::more_asks_nameless(server, provider)],
            (Why::Renew, Some(account)) => vec![text::renew_asks(server, provider, account)],
            (Why::Renew, None) => vec![text::renew_asks_nameless(server, provider)],
            (Why::Again(trouble), Some(account)) => {
                vec![text::again_asks(server, provider, account), trouble.sentence(provider)]
            }
            (Why::Again(trouble), None) => {
                vec![text::again_asks_nameless(server, provider), trouble.sentence(provider)]
            }
        }
    }

    fn technical(&self) -> Vec<Permission> {
        [self.new.as_slice(), &self.already].concat()
    }

    fn why(&self) -> Option<Why> {
        self.before.as_ref().map(|before| before.why)
    }

    fn new_heading(&self) -> Sentence {
        match self.why() {
            None => text::permissions_asked(&self.asked.server),
            Some(_) => text::permissions_new(),
        }
    }

    /// What a connection that does not work could do, and will be able to do again.
    fn again(&self) -> &[Permission] {
        match self.why() {
            Some(Why::Again(_) | Why::Renew) => &self.already,
            Some(Why::More) | None => &[],
        }
    }

    /// What a connection that works can do already.
    fn kept(&self) -> &[Permission] {
        match self.why() {
            Some(Why::Again(_) | Why::Renew) => &[],
            Some(Why::More) | None => &self.already,
        }
    }

    fn next(&self) -> Sentence {
        let host = Gap::Host(self.provider_host.clone());
        if self.asked.page {
            return text::page_next(host);
        }
        match &self.account_hint {
            Some(account) => text::ready_hint(account, host),
            None => text::ready_choose(host),
        }
    }

    /// What is said of the person's secrets and of what they can undo.
    fn assurance(&self) -> Vec<Sentence> {
        let Asked { server, provider, .. } = &self.asked;
        match self.asked.page {
            true => vec![text::page_known(server)],
            false => vec![text::ready_password(server, provider), text::ready_undo()],
        }
    }

    fn until(&self) -> Option<Sentence> {
        self.expires_at.map(|at| text::ready_until(text::hour(at)))
    }

    fn asked_in(&self) -> Option<Sentence> {
        asked_in(&self.asked)
    }

    fn actions(&self) -> Vec<Action> {
        vec![
            Action::main(text::ready_button(&self.asked.provider), &self.agree),
            Action::other(text::not_now(), &self.decline),
        ]
    }
}

page!(Ready, |_| Name::Ready, |page| page.asked.emblem(), |page| match page.why() {
    _ if page.asked.page => text::page_heading(&page.asked.provider),
    None => text::ready_heading(&page.asked.provider),
    Some(Why::More) => text::more_heading(&page.asked.provider),
    Some(Why::Renew | Why::Again(_)) => text::again_heading(&page.asked.provider),
});

/// `already-connected`: the question, when there is an answer.
#[derive(Template)]
#[template(path = "already_connected.html")]
pub struct AlreadyConnected {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// The MCP server's own words.
    pub message: Option<Message>,
    /// The account that is connected.
    pub account: Label,
    /// Permissions that it lacks. With none, the connection will do.
    pub new: Vec<Permission>,
    /// Permissions that it has.
    pub already: Vec<Permission>,
    /// `POST .../keep`; `None` when the connection does not work or does not suffice.
    pub keep: Option<Post>,
    /// Who is signed in; nobody where a code was typed.
    pub person: Option<Label>,
    /// `/sign-in?...&switch=1`.
    pub switch: Option<String>,
    /// `POST .../continue`.
    pub agree: Post,
    /// `POST .../decline`.
    pub decline: Post,
}

impl AlreadyConnected {
    fn technical(&self) -> Vec<Permission> {
        [self.new.as_slice(), &self.already].concat()
    }

    fn news(&self) -> Vec<Sentence> {
        let Asked { server, provider, .. } = &self.asked;
        if self.asked.page {
            return vec![text::page_done(server)];
        }
        let account = text::already_account(provider, &self.account);
        if self.keep.is_some() {
            vec![account, text::already_enough(server)]
        } else if self.new.is_empty() {
            vec![account, text::already_attention(provider)]
        } else {
            vec![account, text::already_more(server)]
        }
    }

    fn asked_in(&self) -> Option<Sentence> {
        asked_in(&self.asked)
    }

    fn actions(&self) -> Vec<Action> {
        let mut actions = match &self.keep {
            Some(keep) if self.asked.page => {
                vec![Action::main(text::page_keep(), keep), Action::other(text::page_repeat(), &self.agree)]
            }
            Some(keep) => vec![
                Action::main(text::keep_button(&self.account), keep),
                Action::other(text::another_button(), &self.agree),
            ],
            None => vec![Action::main(text::more_button(&self.asked.provider), &self.agree)],
        };
        actions.push(Action::other(text::not_now(), &self.decline));
        actions
    }
}

page!(AlreadyConnected, |_| Name::AlreadyConnected, |page| page.asked.emblem(), |page| if page.asked.page {
    text::page_done_heading(&page.asked.provider)
} else if page.keep.is_some() {
    text::already_heading(&page.asked.provider)
} else {
    text::ready_heading(&page.asked.provider)
});
