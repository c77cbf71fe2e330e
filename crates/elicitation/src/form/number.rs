//! Fields for numbers and for yes or no.

use super::field::{Label, kind};
use super::{AnswerFault, FormFault, InvalidForm};

/// A number, with or without a fraction.
///
/// ```
/// use consentry_elicitation::form::{Form, Number};
///
/// let form = Form::builder().optional("ratio", Number::new().between(0.0, 1.5).default(1.0)).build()?;
/// assert_eq!(
///     serde_json::to_string(&form)?,
///     r#"{"type":"object","properties":{"ratio":{"type":"number","minimum":0,"maximum":1.5,"default":1}}}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Number {
    pub(crate) label: Label,
    /// The least.
    pub minimum: Option<f64>,
    /// The greatest.
    pub maximum: Option<f64>,
    /// What is there from the start, and what is taken when there is no answer.
    pub default: Option<f64>,
}

// A form holds finite numbers alone.
impl Eq for Number {}

kind!(Number);

impl Number {
    /// Any number.
    #[must_use]
    pub fn new() -> Self {
        <Self as Default>::default()
    }

    /// At least and at most this.
    #[must_use]
    pub fn between(self, least: f64, most: f64) -> Self {
        self.minimum(least).maximum(most)
    }

    /// At least this.
    #[must_use]
    pub fn minimum(mut self, least: f64) -> Self {
        self.minimum = Some(least);
        self
    }

    /// At most this.
    #[must_use]
    pub fn maximum(mut self, most: f64) -> Self {
        self.maximum = Some(most);
        self
    }

    /// What is there from the start, and what is taken when there is no answer.
    #[must_use]
    pub fn default(mut self, number: f64) -> Self {
        self.default = Some(number);
        self
    }

    pub(super) fn check(&self) -> Result<(), InvalidForm> {
        for (keyword, number) in
            [("/minimum", self.minimum), ("/maximum", self.maximum), ("/default", self.default)]
        {
            if number.is_some_and(|number| !number.is_finite()) {
                return Err(InvalidForm::new(keyword, FormFault::Range));
            }
        }
        check(self.minimum, self.maximum, self.default)
    }

    pub(super) fn judge(&self, number: f64) -> Result<(), AnswerFault> {
        judge(self.minimum, self.maximum, number)
    }
}

/// A whole number.
///
/// ```
/// use consentry_elicitation::form::{Form, Integer};
///
/// let form = Form::builder().required("age", Integer::new().minimum(18)).build()?;
/// assert_eq!(
///     serde_json::to_string(&form)?,
///     r#"{"type":"object","properties":{"age":{"type":"integer","minimum":18}},"required":["age"]}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Integer {
    pub(crate) label: Label,
    /// The least.
    pub minimum: Option<i64>,
    /// The greatest.
    pub maximum: Option<i64>,
    /// What is there from the start, and what is taken when there is no answer.
    pub default: Option<i64>,
}

kind!(Integer);

impl Integer {
    /// Any whole number that fits in 64 bits.
    #[must_use]
    pub fn new() -> Self {
        <Self as Default>::default()
    }

    /// At least and at most this.
    #[must_use]
    pub fn between(self, least: i64, most: i64) -> Self {
        self.minimum(least).maximum(most)
    }

    /// At least this.
    #[must_use]
    pub fn minimum(mut self, least: i64) -> Self {
        self.minimum = Some(least);
        self
    }

    /// At most this.
    #[must_use]
    pub fn maximum(mut self, most: i64) -> Self {
        self.maximum = Some(most);
        self
    }

    /// What is there from the start, and what is taken when there is no answer.
    #[must_use]
    pub fn default(mut self, number: i64) -> Self {
        self.default = Some(number);
        self
    }

    pub(super) fn check(&self) -> Result<(), InvalidForm> {
        check(self.minimum, self.maximum, self.default)
    }

    pub(super) fn judge(&self, number: i64) -> Result<(), AnswerFault> {
        judge(self.minimum, self.maximum, number)
    }
}

/// Yes or no.
///
/// ```
/// use consentry_elicitation::form::{Boolean, Form};
///
/// let form = Form::builder().optional("private", Boolean::new().default(true)).build()?;
/// assert_eq!(
///     serde_json::to_string(&form)?,
///     r#"{"type":"object","properties":{"private":{"type":"boolean","default":true}}}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Boolean {
    pub(crate) label: Label,
    /// What is there from the start, and what is taken when there is no answer.
    pub default: Option<bool>,
}

kind!(Boolean);

impl Boolean {
    /// Without an answer from the start.
    #[must_use]
    pub fn new() -> Self {
        <Self as Default>::default()
    }

    /// What is there from the start, and what is taken when there is no answer.
    #[must_use]
    pub fn default(mut self, yes: bool) -> Self {
        self.default = Some(yes);
        self
    }
}

fn check<T: PartialOrd + Copy>(
    least: Option<T>,
    most: Option<T>,
    default: Option<T>,
) -> Result<(), InvalidForm> {
    if let (Some(least), Some(most)) = (least, most)
        && least > most
    {
        return Err(InvalidForm::new("/minimum", FormFault::Bounds));
    }
    match default.map(|number| judge(least, most, number)) {
        Some(Err(_)) => Err(InvalidForm::new("/default", FormFault::Default)),
        _ => Ok(()),
    }
}

fn judge<T: PartialOrd + Copy>(least: Option<T>, most: Option<T>, number: T) -> Result<(), AnswerFault> {
    if least.is_some_and(|least| number < least) {
        return Err(AnswerFault::TooLow);
    }
    if most.is_some_and(|most| number > most) {
        return Err(AnswerFault::TooHigh);
    }
    Ok(())
}
