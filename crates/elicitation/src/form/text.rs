//! A field for free text.

use regex_lite::Regex;

use super::field::{Label, kind};
use super::{AnswerFault, FormFault, Format, InvalidForm};

/// Free text. Lengths are counted in Unicode code points, as JSON Schema does.
///
/// ```
/// use consentry_elicitation::form::{Form, Text};
///
/// let form = Form::builder()
///     .required("branch", Text::new().title("Branch").length(1, 80).pattern("^[a-z/-]+$").default("main"))
///     .build()?;
/// assert_eq!(
///     serde_json::to_string(&form)?,
///     concat!(
///         r#"{"type":"object","properties":{"branch":{"type":"string","title":"Branch","#,
///         r#""minLength":1,"maxLength":80,"pattern":"^[a-z/-]+$","default":"main"}},"required":["branch"]}"#,
///     ),
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    pub(crate) label: Label,
    /// The least length, in code points.
    pub min_length: Option<u64>,
    /// The greatest length, in code points.
    pub max_length: Option<u64>,
    /// A regular expression that a part of the text must match.
    pub pattern: Option<String>,
    /// What the text must look like.
    pub format: Option<Format>,
    /// What is there from the start, and what is taken when there is no answer.
    pub default: Option<String>,
}

kind!(Text);

impl Text {
    /// Any text.
    #[must_use]
    pub fn new() -> Self {
        <Self as Default>::default()
    }

    /// At least and at most this long.
    #[must_use]
    pub fn length(self, least: u64, most: u64) -> Self {
        self.min_length(least).max_length(most)
    }

    /// At least this long.
    #[must_use]
    pub fn min_length(mut self, least: u64) -> Self {
        self.min_length = Some(least);
        self
    }

    /// At most this long.
    #[must_use]
    pub fn max_length(mut self, most: u64) -> Self {
        self.max_length = Some(most);
        self
    }

    /// With a part that this regular expression matches; `^` and `$` make it the whole.
    ///
    /// Only clients of revision `2025-11-25` are told of it, the others do not know it. The answer is checked in any case.
    #[must_use]
    pub fn pattern(mut self, pattern: impl Into<String>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// In this format.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// What is there from the start, and what is taken when there is no answer.
    #[must_use]
    pub fn default(mut self, text: impl Into<String>) -> Self {
        self.default = Some(text.into());
        self
    }

    pub(super) fn check(&self) -> Result<(), InvalidForm> {
        if self.min_length > self.max_length && self.max_length.is_some() {
            return Err(InvalidForm::new("/minLength", FormFault::Bounds));
        }
        if self.pattern.as_deref().is_some_and(|pattern| Regex::new(pattern).is_err()) {
            return Err(InvalidForm::new("/pattern", FormFault::Pattern));
        }
        match self.default.as_deref().map(|text| self.judge(text)) {
            Some(Err(_)) => Err(InvalidForm::new("/default", FormFault::Default)),
            _ => Ok(()),
        }
    }

    pub(crate) fn judge(&self, text: &str) -> Result<(), AnswerFault> {
        let length = text.chars().count() as u64;
        if self.min_length.is_some_and(|least| length < least) {
            return Err(AnswerFault::TooShort);
        }
        if self.max_length.is_some_and(|most| length > most) {
            return Err(AnswerFault::TooLong);
        }
        // It was compiled when the form was made, so it does again.
        let fits = |pattern: &str| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
        if self.pattern.as_deref().is_some_and(|pattern| !fits(pattern)) {
            return Err(AnswerFault::Pattern);
        }
        match self.format {
            Some(format) if !format.fits(text) => Err(AnswerFault::Format(format)),
            _ => Ok(()),
        }
    }
}
