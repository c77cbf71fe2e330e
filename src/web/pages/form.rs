//! The pages that ask for something in writing. A secret never goes back into a page: a [`SecretField`] that is secret
//! has nowhere to put one.

use std::collections::BTreeMap;

use askama::Template;

use super::{
    Page,
    action::{Action, Away, Post, To},
    frame::{Asked, Emblem, Frame, Tone},
    label::{Label, Message},
    name::Name,
    page,
    sentence::{Gap, Sentence},
    standing::Trouble,
};
use crate::web::{assets, text};

/// One answer of several to choose from.
#[derive(Clone)]
pub struct Choice {
    /// What is posted.
    pub value: String,
    /// What is read.
    pub label: Label,
}

impl Choice {
    /// Each of these, as settings have them: what is posted, and what is read.
    pub fn all(choices: &BTreeMap<String, String>) -> Vec<Self> {
        let one =
            |(value, label): (&String, &String)| Self { value: value.clone(), label: Label::new(label) };
        choices.iter().map(one).collect()
    }
}

/// A field for something harmless.
#[derive(Clone)]
pub struct Field {
    /// What it is posted as.
    pub name: String,
    /// Its label.
    pub label: Label,
    /// How to find the answer.
    pub hint: Option<String>,
    /// An answer that would fit.
    pub example: Option<Label>,
    /// What was entered before, or is known from the last time.
    pub value: String,
    /// Whether it may stay empty.
    pub required: bool,
    /// Longest answer, in characters.
    pub max_length: u32,
    /// The answers to choose from; with none, a line to write in.
    pub choices: Vec<Choice>,
    /// `autocomplete` (WCAG 2.2, 1.3.5); `off` where nothing fits.
    pub autocomplete: &'static str,
    /// Which hosts are taken, where it is one or a part of one.
    pub within: Option<Within>,
    /// What is wrong with the answer.
    pub problem: Option<FieldProblem>,
}

/// Which hosts are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Within {
    /// What stands before this.
    Before(String),
    /// Those that end with one of these.
    Ends(String),
    /// These.
    One(String),
}

/// What can be wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldProblem {
    /// Nothing was entered.
    Missing,
    /// It has not the right shape.
    Pattern,
    /// It is too long.
    TooLong,
    /// It is none of the choices.
    NotOffered,
    /// It may be wrong; a warning, no refusal.
    Unusual,
    /// It holds a character that does not belong there.
    Unwritable,
    /// It is no address of the provider.
    Host,
    /// It leads to an address that is not called.
    Private,
}

fn problem_text(problem: FieldProblem, field: &Label) -> Sentence {
    match problem {
        FieldProblem::Missing => text::field_missing(field),
        FieldProblem::Pattern => text::field_pattern(field),
        FieldProblem::TooLong => text::field_too_long(field),
        FieldProblem::NotOffered => text::field_not_offered(field),
        FieldProblem::Unusual => text::secret_unusual(field),
        FieldProblem::Unwritable => text::field_unwritable(field),
        FieldProblem::Host => text::field_host(field),
        FieldProblem::Private => text::field_private(field),
    }
}

impl Field {
    fn wrong(&self) -> Option<Sentence> {
        self.problem.map(|problem| match (problem, &self.within) {
            (FieldProblem::Host, Some(Within::Before(tail))) => {
                text::field_host_before(&self.label, Gap::Host(tail.clone()))
            }
            (FieldProblem::Host, Some(Within::Ends(ends))) => {
                text::field_host_ends(&self.label, Gap::Host(ends.clone()))
            }
            (FieldProblem::Host, Some(Within::One(hosts))) => {
                text::field_host_one(&self.label, Gap::Host(hosts.clone()))
            }
            (FieldProblem::Pattern, _) if self.example.is_none() => text::field_pattern_plain(&self.label),
            _ => problem_text(problem, &self.label),
        })
    }

    fn described_by(&self, at: &usize) -> String {
        described_by(*at, self.hint.is_some() || self.example.is_some(), self.problem.is_some())
    }
}

fn described_by(at: usize, hint: bool, problem: bool) -> String {
    let mut ids = Vec::new();
    if problem {
        ids.push(format!("wrong-{at}"));
    }
    if hint {
        ids.push(format!("hint-{at}"));
    }
    ids.join(" ")
}

/// `needs-input`: tenant, region and the like.
#[derive(Template)]
#[template(path = "needs_input.html")]
pub struct NeedsInput {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// What is needed.
    pub fields: Vec<Field>,
    /// `POST .../input`.
    pub submit: Post,
    /// `POST .../decline`.
    pub decline: Post,
}

impl NeedsInput {
    fn wrong(&self) -> bool {
        self.fields.iter().any(|field| field.problem.is_some())
    }

    fn actions(&self) -> Vec<Action> {
        vec![Action::other(text::not_now(), &self.decline)]
    }
}

page!(NeedsInput, |_| Name::NeedsInput, |page| page.asked.emblem(), |page| text::input_heading(
    &page.asked.provider
));

/// A field of a secret form.
#[derive(Clone)]
pub struct SecretField {
    /// What it is posted as.
    pub name: String,
    /// Its label, as the provider calls it.
    pub label: Label,
    /// How it looks, where it is: the operator's words.
    pub hint: Option<String>,
    /// An answer that would fit.
    pub example: Option<Label>,
    /// Whether it is hidden while it is written. What is not secret may still not be echoed.
    pub secret: bool,
    /// Whether it may stay empty.
    pub required: bool,
    /// Longest value, in characters.
    pub max_length: usize,
    /// The answers to choose from; with none, a line to write in.
    pub choices: Vec<Choice>,
    /// Which of them is chosen; with none, what stands there at first.
    pub chosen: String,
    /// What is wrong with it.
    pub problem: Option<FieldProblem>,
    /// What to do instead, where a value of a wrong kind was entered: the operator's words.
    pub advice: Option<String>,
}

impl SecretField {
    fn wrong(&self) -> Option<Sentence> {
        let advice = self.advice.clone().map(|advice| text::field_advice(&self.label, Gap::Plain(advice)));
        advice.or_else(|| self.problem.map(|problem| problem_text(problem, &self.label)))
    }

    fn described_by(&self, at: &usize) -> String {
        described_by(*at, self.hint.is_some() || self.example.is_some(), self.wrong().is_some())
    }
}

/// How far a secret form has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretState {
    /// `secret-form`.
    Ask,
    /// `secret-rejected`: it cannot be right, and the provider was not asked.
    Incomplete,
    /// `secret-rejected`: the provider does not take it.
    Rejected,
    /// `secret-unchecked`: the provider did not answer. Adds the button that posts `save=unchecked`.
    Unchecked,
    /// The same, where the provider answered something that says neither yes nor no.
    Unusable,
}

/// `secret-form`, `secret-rejected` and `secret-unchecked`: one form, empty each time.
#[derive(Template)]
#[template(path = "secret.html")]
pub struct Secret {
    /// The frame.
    pub frame: Frame,
    /// Who asks.
    pub asked: Asked,
    /// How far it has come.
    pub state: SecretState,
    /// The MCP server's own words; shown as such.
    pub message: Option<Message>,
    /// The account that is connected, and whose key this one takes the place of.
    pub replaces: Option<Replaced>,
    /// What is wanted.
    pub fields: Vec<SecretField>,
    /// What it can do there.
    pub what: Option<Message>,
    /// What to know before it is checked.
    pub note: Option<Message>,
    /// Whether the provider can be asked.
    pub can_check: bool,
    /// Where the provider shows the key.
    pub find: Option<Away>,
    /// Whether it is shown while it is written.
    pub revealed: bool,
    /// This form, the other way.
    pub reveal: String,
    /// Who is signed in.
    pub person: Option<Label>,
    /// `/sign-in?...&switch=1`.
    pub switch: Option<String>,
    /// `POST .../secret`.
    pub submit: Post,
    /// `POST .../decline`.
    pub decline: Post,
}

/// What a new key takes the place of.
#[derive(Clone)]
pub struct Replaced {
    /// The account, where it is known.
    pub account: Option<Label>,
    /// Why it does not do, where it does not.
    pub trouble: Option<Trouble>,
}

impl Secret {
    fn news(&self) -> Vec<Sentence> {
        let Asked { server, provider, .. } = &self.asked;
        let mut news = match self.state {
            SecretState::Ask if self.can_check => vec![text::secret_why(server, provider)],
            SecretState::Ask => vec![text::secret_why_unchecked(server, provider)],
            SecretState::Incomplete => vec![text::secret_incomplete_what()],
            SecretState::Rejected => vec![text::secret_rejected_what(provider)],
            SecretState::Unchecked if self.can_check => vec![text::secret_unchecked_what(provider)],
            SecretState::Unchecked => vec![text::secret_doubtful_what()],
            SecretState::Unusable => {
                vec![text::secret_unusable_what(provider), text::secret_unusable_do(&self.frame.operator)]
            }
        };
        if let Some(Replaced { account, trouble }) = &self.replaces {
            news.push(match account {
                Some(account) => text::secret_replaces(account),
                None => text::secret_replaces_nameless(provider),
            });
            // Why the one before does not do is no news beside what is wrong with this one.
            let trouble = trouble.filter(|_| self.state == SecretState::Ask);
            news.extend(trouble.map(|trouble| trouble.sentence(provider)));
        }
        news
    }

    fn asked_in(&self) -> Option<Sentence> {
        self.asked.client.as_ref().map(|client| text::asked_in(&self.asked.server, client))
    }

    fn button(&self) -> Sentence {
        if self.can_check { text::secret_button() } else { text::secret_save_button_plain() }
    }

    fn has_hidden(&self) -> bool {
        self.fields.iter().any(|field| field.secret)
    }

    fn reveal_label(&self) -> Sentence {
        if self.revealed { text::secret_hide() } else { text::secret_reveal() }
    }

    fn tone(&self) -> Option<Tone> {
        match self.state {
            SecretState::Ask => None,
            SecretState::Incomplete
            | SecretState::Rejected
            | SecretState::Unchecked
            | SecretState::Unusable => Some(Tone::Caution),
        }
    }

    fn wrong(&self) -> bool {
        self.fields.iter().any(|field| field.wrong().is_some())
    }

    fn unchecked(&self) -> bool {
        matches!(self.state, SecretState::Unchecked | SecretState::Unusable)
    }

    fn where_to(&self) -> Sentence {
        text::secret_host(Gap::Host(self.frame.host.clone()), &self.asked.server, &self.asked.provider)
    }

    fn actions(&self) -> Vec<Action> {
        vec![Action::other(text::not_now(), &self.decline)]
    }
}

page!(
    Secret,
    |page| match page.state {
        SecretState::Ask => Name::SecretForm,
        SecretState::Incomplete | SecretState::Rejected => Name::SecretRejected,
        SecretState::Unchecked | SecretState::Unusable => Name::SecretUnchecked,
    },
    |page| page.asked.emblem(),
    |page| match page.state {
        SecretState::Ask => text::secret_heading(&page.asked.provider),
        SecretState::Incomplete => text::secret_incomplete_heading(),
        SecretState::Rejected => text::secret_rejected_heading(&page.asked.provider),
        SecretState::Unchecked if page.can_check => text::secret_unchecked_heading(),
        SecretState::Unchecked => text::secret_incomplete_heading(),
        SecretState::Unusable => text::secret_unchecked_heading(),
    }
);
