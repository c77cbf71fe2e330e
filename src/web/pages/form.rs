//! The pages that ask for something in writing. A secret never goes back into a page: a [`SecretField`] that is secret
//! has nowhere to put one.

use askama::Template;

use super::{
    Page,
    action::{Action, Away, Post, To},
    frame::{Asked, Emblem, Frame, Tone},
    label::Label,
    name::Name,
    page,
    sentence::{Gap, Sentence},
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

/// A field for something harmless.
#[derive(Clone)]
pub struct Field {
    /// What it is posted as.
    pub name: String,
    /// Its label.
    pub label: Label,
    /// How to find the answer.
    pub hint: Option<Label>,
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
    /// What is wrong with the answer.
    pub problem: Option<FieldProblem>,
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
}

fn problem_text(problem: FieldProblem, field: &Label) -> Sentence {
    match problem {
        FieldProblem::Missing => text::field_missing(field),
        FieldProblem::Pattern => text::field_pattern(field),
        FieldProblem::TooLong => text::field_too_long(field),
        FieldProblem::NotOffered => text::field_not_offered(field),
        FieldProblem::Unusual => text::secret_unusual(field),
    }
}

impl Field {
    fn wrong(&self) -> Option<Sentence> {
        self.problem.map(|problem| problem_text(problem, &self.label))
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
    /// How it looks, where it is.
    pub hint: Option<Label>,
    /// Whether it is shown while it is written. What is not secret may still not be echoed.
    pub secret: bool,
    /// Longest value, in characters.
    pub max_length: u32,
    /// What is wrong with it.
    pub problem: Option<FieldProblem>,
}

impl SecretField {
    fn wrong(&self) -> Option<Sentence> {
        self.problem.map(|problem| problem_text(problem, &self.label))
    }

    fn described_by(&self, at: &usize) -> String {
        described_by(*at, self.hint.is_some(), self.problem.is_some())
    }
}

/// How far a secret form has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretState {
    /// `secret-form`.
    Ask,
    /// `secret-rejected`: the provider does not take it.
    Rejected {
        /// Tries left, where there is a limit.
        tries_left: Option<u64>,
    },
    /// `secret-unchecked`: the provider did not answer. Adds the button that posts `save=unchecked`.
    Unchecked,
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
    /// What is wanted.
    pub fields: Vec<SecretField>,
    /// Where the provider shows the key.
    pub find: Option<Away>,
    /// Who is signed in.
    pub person: Option<Label>,
    /// `/sign-in?...&switch=1`.
    pub switch: Option<String>,
    /// `POST .../secret`.
    pub submit: Post,
    /// `POST .../decline`.
    pub decline: Post,
}

impl Secret {
    fn news(&self) -> Vec<Sentence> {
        let Asked { server, provider, .. } = &self.asked;
        match self.state {
            SecretState::Ask => vec![text::secret_why(server, provider)],
            SecretState::Rejected { tries_left } => {
                let mut news = vec![text::secret_rejected_what(provider)];
                news.extend(tries_left.map(text::secret_attempts_left));
                news
            }
            SecretState::Unchecked => vec![text::secret_unchecked_what(provider)],
        }
    }

    fn tone(&self) -> Option<Tone> {
        match self.state {
            SecretState::Ask => None,
            SecretState::Rejected { .. } | SecretState::Unchecked => Some(Tone::Caution),
        }
    }

    fn wrong(&self) -> bool {
        self.fields.iter().any(|field| field.problem.is_some())
    }

    fn unchecked(&self) -> bool {
        self.state == SecretState::Unchecked
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
        SecretState::Rejected { .. } => Name::SecretRejected,
        SecretState::Unchecked => Name::SecretUnchecked,
    },
    |page| page.asked.emblem(),
    |page| match page.state {
        SecretState::Ask => text::secret_heading(&page.asked.provider),
        SecretState::Rejected { .. } => text::secret_rejected_heading(&page.asked.provider),
        SecretState::Unchecked => text::secret_unchecked_heading(),
    }
);
