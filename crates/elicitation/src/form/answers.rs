//! Judging what came back for a form (E38). An error never repeats what the user wrote.

use std::collections::BTreeMap;
use std::fmt;

use super::{Field, Form, Format, Values};
use crate::ElicitValue;

/// Values that fit their form, with its defaults where nothing was answered.
///
/// ```
/// use consentry_elicitation::form::{Choices, Form, Integer};
///
/// let form = Form::builder()
///     .optional("count", Integer::new().default(3))
///     .optional("days", Choices::plain(["Mo", "Tu"]))
///     .build()?;
/// let answers = form.answers(&Default::default())?;
/// assert_eq!(answers.integer("count"), Some(3));
/// assert_eq!(answers.many("days"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers(Values);

impl Answers {
    /// The value of this field, when there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ElicitValue> {
        self.0.get(name)
    }

    /// The text of a text field, or the value of a choice.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            ElicitValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number of a number field or of an integer field.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            ElicitValue::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    /// The number of an integer field.
    #[must_use]
    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            ElicitValue::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    /// Yes or no.
    #[must_use]
    pub fn boolean(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            ElicitValue::Bool(yes) => Some(*yes),
            _ => None,
        }
    }

    /// The values of a choice of several.
    #[must_use]
    pub fn many(&self, name: &str) -> Option<&[String]> {
        match self.get(name)? {
            ElicitValue::Many(values) => Some(values),
            _ => None,
        }
    }

    /// All values.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.0
    }
}

/// What is wrong with an answer, and with which field.
///
/// ```
/// use consentry_elicitation::form::{AnswerFault, Form, Integer};
///
/// let form = Form::builder().required("age", Integer::new()).build()?;
/// let refused = form.answers(&Default::default()).unwrap_err();
/// assert_eq!(refused.0[0].field, "age");
/// assert_eq!(refused.0[0].fault, AnswerFault::Missing);
/// assert_eq!(refused.0[0].to_string(), "age: must be answered");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAnswer {
    /// The field's name.
    pub field: String,
    /// What is wrong.
    pub fault: AnswerFault,
}

impl fmt::Display for InvalidAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.field, self.fault)
    }
}

/// Everything that is wrong with the answers to a form, in the order of its fields; never empty.
///
/// ```
/// use consentry_elicitation::form::{Form, Integer, Text};
///
/// let form = Form::builder().required("age", Integer::new()).required("name", Text::new()).build()?;
/// let refused = form.answers(&Default::default()).unwrap_err();
/// assert_eq!(refused.to_string(), "age: must be answered; name: must be answered");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAnswers(pub Vec<InvalidAnswer>);

impl fmt::Display for InvalidAnswers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, answer) in self.0.iter().enumerate() {
            write!(out, "{}{answer}", if place == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidAnswers {}

/// The faults of an answer.
///
/// ```
/// use consentry_elicitation::form::AnswerFault;
///
/// assert_eq!(AnswerFault::TooLow.to_string(), "is too low");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerFault {
    /// A required field without an answer and without a default.
    #[error("must be answered")]
    Missing,
    /// Another JSON type than the field has.
    #[error("is of the wrong type")]
    WrongType,
    /// A text that is too short.
    #[error("is too short")]
    TooShort,
    /// A text that is too long.
    #[error("is too long")]
    TooLong,
    /// A text that the pattern does not match.
    #[error("does not have the form that was asked for")]
    Pattern,
    /// A text of another format.
    #[error("is not of the format {}", .0.name())]
    Format(Format),
    /// A number below the least.
    #[error("is too low")]
    TooLow,
    /// A number above the most.
    #[error("is too high")]
    TooHigh,
    /// A value that was not offered.
    #[error("is none of the choices")]
    NoOption,
    /// A value chosen a second time.
    #[error("names a choice twice")]
    Twice,
    /// Fewer choices than the least.
    #[error("has too few choices")]
    TooFew,
    /// More choices than the most.
    #[error("has too many choices")]
    TooMany,
}

impl Form {
    /// Judges the values of an answer by this form, and adds the defaults of fields that were left out. What the form
    /// does not ask is passed over (M11).
    ///
    /// # Errors
    ///
    /// With everything that does not fit.
    pub fn answers(&self, values: &Values) -> Result<Answers, InvalidAnswers> {
        let (mut good, mut bad) = (BTreeMap::new(), Vec::new());
        for entry in &self.fields {
            let judged = match (values.get(&entry.name), entry.field.default()) {
                (Some(value), _) => entry.field.judge(value).map(Some),
                (None, Some(default)) => Ok(Some(default)),
                (None, None) if entry.required => Err(AnswerFault::Missing),
                (None, None) => Ok(None),
            };
            match judged {
                Ok(value) => good.extend(value.map(|value| (entry.name.clone(), value))),
                Err(fault) => bad.push(InvalidAnswer { field: entry.name.clone(), fault }),
            }
        }
        if bad.is_empty() { Ok(Answers(good)) } else { Err(InvalidAnswers(bad)) }
    }
}

impl Field {
    /// What is taken when there is no answer.
    #[must_use]
    pub fn default(&self) -> Option<ElicitValue> {
        match self {
            Self::Text(field) => field.default.clone().map(ElicitValue::Text),
            Self::Number(field) => {
                field.default.and_then(serde_json::Number::from_f64).map(ElicitValue::Number)
            }
            Self::Integer(field) => field.default.map(|number| ElicitValue::Number(number.into())),
            Self::Boolean(field) => field.default.map(ElicitValue::Bool),
            Self::Choice(field) => field.default.clone().map(ElicitValue::Text),
            Self::Choices(field) => field.default.clone().map(ElicitValue::Many),
        }
    }

    /// The value as this field has it.
    fn judge(&self, value: &ElicitValue) -> Result<ElicitValue, AnswerFault> {
        match (self, value) {
            (Self::Text(field), ElicitValue::Text(text)) => field.judge(text)?,
            (Self::Choice(field), ElicitValue::Text(text)) => field.judge(text)?,
            (Self::Choices(field), ElicitValue::Many(values)) => field.judge(values)?,
            (Self::Boolean(_), ElicitValue::Bool(_)) => {}
            (Self::Number(field), ElicitValue::Number(number)) => {
                field.judge(number.as_f64().ok_or(AnswerFault::WrongType)?)?;
            }
            (Self::Integer(field), ElicitValue::Number(number)) => {
                let number = whole(number).ok_or(AnswerFault::WrongType)?;
                field.judge(number)?;
                return Ok(ElicitValue::Number(number.into()));
            }
            _ => return Err(AnswerFault::WrongType),
        }
        Ok(value.clone())
    }
}

/// `3` and also `3.0`, which JSON Schema holds for the same.
pub(super) fn whole(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let number = number.as_f64().filter(|number| number.fract() == 0.0)?;
        // 2^63 is the first that does not fit, and both bounds can be said exactly.
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked, and there is no fraction")]
        (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number).then_some(number as i64)
    })
}
