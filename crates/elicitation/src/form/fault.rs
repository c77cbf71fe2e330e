//! What is wrong with a form, and where.

use std::fmt;

use crate::Sensitive;

/// A form, or the request that asks it, is not one that may be sent.
///
/// ```
/// use consentry_elicitation::{Form, form::FormFault};
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "age": { "type": "integer", "minimum": "18" } } });
/// let error = Form::read(&schema).unwrap_err();
/// assert_eq!(error.at, "/properties/age/minimum");
/// assert_eq!(error.fault, FormFault::WrongType);
/// assert_eq!(error.to_string(), "/properties/age/minimum: has the wrong type");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidForm {
    /// Where: a JSON pointer (RFC 6901) into the schema, or into the parameters of the request.
    pub at: String,
    /// What.
    pub fault: FormFault,
}

impl InvalidForm {
    pub(crate) fn new(at: impl Into<String>, fault: FormFault) -> Self {
        Self { at: at.into(), fault }
    }

    /// The same error of something that stands inside of something else.
    pub(crate) fn below(mut self, outer: &str) -> Self {
        self.at.insert_str(0, outer);
        self
    }
}

impl fmt::Display for InvalidForm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() {
            return self.fault.fmt(out);
        }
        write!(out, "{}: {}", self.at, self.fault)
    }
}

impl std::error::Error for InvalidForm {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.fault)
    }
}

/// The faults of a form.
///
/// ```
/// use consentry_elicitation::form::FormFault;
///
/// assert_eq!(FormFault::Bounds.to_string(), "the least is more than the most");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum FormFault {
    /// A member that must be there is not.
    #[error("is missing")]
    Missing,
    /// Another JSON type than the member has.
    #[error("has the wrong type")]
    WrongType,
    /// Another value than the only ones allowed.
    #[error("has a value that is not allowed here")]
    Value,
    /// The same name or value a second time.
    #[error("is there twice")]
    Twice,
    /// Neither text nor number nor boolean nor a choice: forms are flat.
    #[error(
        "is not a kind of field that a form can have: string, number, integer, boolean or a choice of strings"
    )]
    Kind,
    /// A keyword of JSON Schema that forms do not have, or not for this kind of field.
    #[error("is not a keyword that forms have here")]
    Keyword,
    /// Neither `email` nor `uri` nor `date` nor `date-time`.
    #[error("is none of the formats email, uri, date and date-time")]
    Format,
    /// A number too large for this crate, or not finite.
    #[error("is out of range")]
    Range,
    /// A lower bound above the upper one.
    #[error("the least is more than the most")]
    Bounds,
    /// Not a regular expression, or one that cannot be run in linear time (look-around, back-references).
    #[error("is not a regular expression that can be checked")]
    Pattern,
    /// A default that would be refused as an answer.
    #[error("would not be accepted as an answer")]
    Default,
    /// Nothing to choose from.
    #[error("has nothing to choose from")]
    Empty,
    /// `enumNames` of another length than `enum`.
    #[error("has not one name for each value")]
    Names,
    /// A required field that the form does not have.
    #[error("is not a field of this form")]
    NoField,
    /// The revision of the protocol has no way to say it.
    #[error("cannot be said in this revision of the protocol")]
    Revision,
    /// Not an absolute URL (E12).
    #[error("is not an absolute URL")]
    Url,
    /// It asks for a secret (E1, E37). The way to ask for one is URL mode, where the client does not see it.
    #[error("asks for {0}, which must not pass through the client: use URL mode")]
    Sensitive(Sensitive),
}

/// RFC 6901, section 3.
pub(crate) fn escaped(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}
