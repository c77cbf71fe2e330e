//! Fields for a choice of given texts: one of them, or any of them; with titles or without.

use std::collections::BTreeSet;

use super::field::{Label, kind};
use super::{AnswerFault, FormFault, InvalidForm};

/// One thing to choose.
///
/// ```
/// use consentry_elicitation::form::Choice;
///
/// let choice = Choice::titled([("public", "For everyone"), ("private", "For members")]);
/// assert_eq!(choice.options()[1].value(), "private");
/// assert_eq!(choice.options()[1].title(), Some("For members"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub(crate) value: String,
    pub(crate) title: Option<String>,
}

impl Item {
    /// What the answer says.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// What the user reads; without one, the value.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }
}

/// How the options are written. Each is a shape of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `enum`.
    Plain,
    /// `oneOf` (one) or `anyOf` (many) of `const` and `title`.
    Titled,
    /// `enum` with `enumNames`, the only way to have titles in 2025-06-18.
    Names,
}

/// One of several texts.
///
/// ```
/// use consentry_elicitation::form::{Choice, Form};
///
/// let form = Form::builder()
///     .required("color", Choice::plain(["red", "green"]).default("red"))
///     .required("shade", Choice::titled([("#00f", "Blue"), ("#0ff", "Cyan")]))
///     .build()?;
/// let schema = serde_json::to_value(&form)?;
/// assert_eq!(schema["properties"]["color"]["enum"][1], "green");
/// assert_eq!(schema["properties"]["shade"]["oneOf"][0]["title"], "Blue");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    pub(crate) label: Label,
    pub(crate) options: Vec<Item>,
    pub(crate) spelling: Spelling,
    /// What is there from the start, and what is taken when there is no answer.
    pub default: Option<String>,
}

kind!(Choice);

impl Choice {
    /// A choice of texts that are shown as they are.
    #[must_use]
    pub fn plain<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::spelled(plain(values), Spelling::Plain)
    }

    /// A choice of values, each with the title that is shown for it.
    #[must_use]
    pub fn titled<V: Into<String>, T: Into<String>>(options: impl IntoIterator<Item = (V, T)>) -> Self {
        Self::spelled(titled(options), Spelling::Titled)
    }

    /// The same in the old spelling, `enum` beside `enumNames`, which all revisions know and 2025-11-25 deprecates. A
    /// titled choice is written like this by itself for a client of 2025-06-18.
    #[must_use]
    pub fn named<V: Into<String>, T: Into<String>>(options: impl IntoIterator<Item = (V, T)>) -> Self {
        Self::spelled(titled(options), Spelling::Names)
    }

    fn spelled(options: Vec<Item>, spelling: Spelling) -> Self {
        Self { label: Label::default(), options, spelling, default: None }
    }

    /// The value that is chosen from the start, and that is taken when there is no answer.
    #[must_use]
    pub fn default(mut self, value: impl Into<String>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// What can be chosen, in the order in which it is shown.
    #[must_use]
    pub fn options(&self) -> &[Item] {
        &self.options
    }

    pub(super) fn check(&self) -> Result<(), InvalidForm> {
        let (list, value) = match self.spelling {
            Spelling::Titled => ("/oneOf", "/const"),
            Spelling::Plain | Spelling::Names => ("/enum", ""),
        };
        check(&self.options, list, value)?;
        match &self.default {
            Some(value) if !has(&self.options, value) => {
                Err(InvalidForm::new("/default", FormFault::Default))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn judge(&self, value: &str) -> Result<(), AnswerFault> {
        if has(&self.options, value) { Ok(()) } else { Err(AnswerFault::NoOption) }
    }
}

/// Any of several texts.
///
/// ```
/// use consentry_elicitation::form::{Choices, Form};
///
/// let form = Form::builder()
///     .required("days", Choices::plain(["Mo", "Tu", "We"]).count(1, 2).default(["Mo"]))
///     .build()?;
/// assert_eq!(
///     serde_json::to_string(&form)?,
///     concat!(
///         r#"{"type":"object","properties":{"days":{"type":"array","minItems":1,"maxItems":2,"#,
///         r#""items":{"type":"string","enum":["Mo","Tu","We"]},"default":["Mo"]}},"required":["days"]}"#,
///     ),
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choices {
    pub(crate) label: Label,
    pub(crate) options: Vec<Item>,
    /// Never [`Spelling::Names`]: lists have no old spelling.
    pub(crate) spelling: Spelling,
    /// How many must be chosen.
    pub min_items: Option<u64>,
    /// How many may be chosen.
    pub max_items: Option<u64>,
    /// What is there from the start, and what is taken when there is no answer.
    pub default: Option<Vec<String>>,
}

kind!(Choices);

impl Choices {
    /// A choice of texts that are shown as they are.
    #[must_use]
    pub fn plain<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::spelled(plain(values), Spelling::Plain)
    }

    /// A choice of values, each with the title that is shown for it.
    #[must_use]
    pub fn titled<V: Into<String>, T: Into<String>>(options: impl IntoIterator<Item = (V, T)>) -> Self {
        Self::spelled(titled(options), Spelling::Titled)
    }

    fn spelled(options: Vec<Item>, spelling: Spelling) -> Self {
        Self { label: Label::default(), options, spelling, min_items: None, max_items: None, default: None }
    }

    /// At least and at most this many.
    #[must_use]
    pub fn count(self, least: u64, most: u64) -> Self {
        self.min_items(least).max_items(most)
    }

    /// At least this many.
    #[must_use]
    pub fn min_items(mut self, least: u64) -> Self {
        self.min_items = Some(least);
        self
    }

    /// At most this many.
    #[must_use]
    pub fn max_items(mut self, most: u64) -> Self {
        self.max_items = Some(most);
        self
    }

    /// The values that are chosen from the start, and that are taken when there is no answer.
    #[must_use]
    pub fn default<T: Into<String>>(mut self, values: impl IntoIterator<Item = T>) -> Self {
        self.default = Some(values.into_iter().map(Into::into).collect());
        self
    }

    /// What can be chosen, in the order in which it is shown.
    #[must_use]
    pub fn options(&self) -> &[Item] {
        &self.options
    }

    pub(super) fn check(&self) -> Result<(), InvalidForm> {
        let (list, value) = match self.spelling {
            Spelling::Titled => ("/items/anyOf", "/const"),
            Spelling::Plain | Spelling::Names => ("/items/enum", ""),
        };
        check(&self.options, list, value)?;
        let most = self.max_items.unwrap_or(u64::MAX).min(self.options.len() as u64);
        if self.min_items.is_some_and(|least| least > most) {
            return Err(InvalidForm::new("/minItems", FormFault::Bounds));
        }
        match self.default.as_deref().map(|values| self.judge(values)) {
            Some(Err(_)) => Err(InvalidForm::new("/default", FormFault::Default)),
            _ => Ok(()),
        }
    }

    pub(super) fn judge(&self, values: &[String]) -> Result<(), AnswerFault> {
        if !values.iter().all(|value| has(&self.options, value)) {
            return Err(AnswerFault::NoOption);
        }
        let count = values.iter().collect::<BTreeSet<_>>().len() as u64;
        // JSON Schema would let it pass, but nothing can be chosen twice.
        if count < values.len() as u64 {
            return Err(AnswerFault::Twice);
        }
        if self.min_items.is_some_and(|least| count < least) {
            return Err(AnswerFault::TooFew);
        }
        if self.max_items.is_some_and(|most| count > most) {
            return Err(AnswerFault::TooMany);
        }
        Ok(())
    }
}

fn plain<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Vec<Item> {
    values.into_iter().map(|value| Item { value: value.into(), title: None }).collect()
}

fn titled<V: Into<String>, T: Into<String>>(options: impl IntoIterator<Item = (V, T)>) -> Vec<Item> {
    options
        .into_iter()
        .map(|(value, title)| Item { value: value.into(), title: Some(title.into()) })
        .collect()
}

fn has(options: &[Item], value: &str) -> bool {
    options.iter().any(|option| option.value == value)
}

fn check(options: &[Item], list: &str, value: &str) -> Result<(), InvalidForm> {
    if options.is_empty() {
        return Err(InvalidForm::new(list, FormFault::Empty));
    }
    let mut seen = BTreeSet::new();
    match options.iter().position(|option| !seen.insert(&option.value)) {
        Some(place) => Err(InvalidForm::new(format!("{list}/{place}{value}"), FormFault::Twice)),
        None => Ok(()),
    }
}
