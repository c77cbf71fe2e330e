//! Forms: the restricted subset of JSON Schema by which a server asks in form mode (client/elicitation, "Requested
//! Schema"). A [`Form`] can say nothing that the subset does not have, and is never contradictory: what is wrong is found
//! when it is built or read, with the place. The server keeps the form and judges the answer by it, because a client
//! that skips a check, or cannot be told of one, is no reason to take what was not asked for (E38).

mod answers;
mod choice;
mod fault;
mod field;
mod format;
mod number;
mod read;
mod revision;
mod text;
mod write;

use std::collections::{BTreeMap, BTreeSet};

pub use answers::{AnswerFault, Answers, InvalidAnswer, InvalidAnswers};
pub use choice::{Choice, Choices, Item};
pub use fault::{FormFault, InvalidForm};
pub use field::Field;
pub use format::Format;
pub use number::{Boolean, Integer, Number};
pub use text::Text;

pub(crate) use fault::escaped;

/// The `requestedSchema` of a form: its fields in the order in which they are shown.
///
/// ```
/// use consentry_elicitation::form::{Choice, Form, Text};
/// use consentry_elicitation::{ElicitResult, ElicitValue};
///
/// let form = Form::builder()
///     .required("repository", Text::new().title("Repository").length(1, 100))
///     .optional("visibility", Choice::plain(["public", "private"]).default("private"))
///     .build()?;
///
/// // What the client answers is judged by the same form.
/// let content = [("repository".to_owned(), ElicitValue::Text("octo/hello".into()))].into();
/// let answers = form.answers(&content)?;
/// assert_eq!(answers.text("repository"), Some("octo/hello"));
/// assert_eq!(answers.text("visibility"), Some("private"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    fields: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    required: bool,
    field: Field,
}

impl Form {
    /// A form without fields yet.
    pub fn builder() -> FormBuilder {
        FormBuilder { fields: Vec::new() }
    }

    /// The fields with their names, in the order in which they are shown.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Field)> {
        self.fields.iter().map(|entry| (entry.name.as_str(), &entry.field))
    }

    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields().find_map(|(known, field)| (known == name).then_some(field))
    }

    /// Must the field of this name be answered?
    #[must_use]
    pub fn is_required(&self, name: &str) -> bool {
        self.fields.iter().any(|entry| entry.name == name && entry.required)
    }
}

/// Makes a [`Form`].
///
/// ```
/// use consentry_elicitation::form::{Form, FormFault, Integer};
///
/// let error = Form::builder().required("age", Integer::new().between(18, 1)).build().unwrap_err();
/// assert_eq!((error.at.as_str(), error.fault), ("/properties/age/minimum", FormFault::Bounds));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct FormBuilder {
    fields: Vec<Entry>,
}

impl FormBuilder {
    /// Adds a field that must be answered.
    pub fn required(self, name: impl Into<String>, field: impl Into<Field>) -> Self {
        self.entry(name.into(), true, field.into())
    }

    /// Adds a field that may be left out.
    pub fn optional(self, name: impl Into<String>, field: impl Into<Field>) -> Self {
        self.entry(name.into(), false, field.into())
    }

    fn entry(mut self, name: String, required: bool, field: Field) -> Self {
        self.fields.push(Entry { name, required, field });
        self
    }

    /// The form.
    ///
    /// # Errors
    ///
    /// When a name is there twice, bounds or lengths contradict each other, there is nothing to choose from, a pattern
    /// is no regular expression, or a default would be refused as an answer.
    pub fn build(self) -> Result<Form, InvalidForm> {
        let mut names = BTreeSet::new();
        for entry in &self.fields {
            let at = format!("/properties/{}", escaped(&entry.name));
            if !names.insert(&entry.name) {
                return Err(InvalidForm::new(at, FormFault::Twice));
            }
            let checked = match &entry.field {
                Field::Text(field) => field.check(),
                Field::Number(field) => field.check(),
                Field::Integer(field) => field.check(),
                Field::Boolean(_) => Ok(()),
                Field::Choice(field) => field.check(),
                Field::Choices(field) => field.check(),
            };
            checked.map_err(|fault| fault.below(&at))?;
        }
        Ok(Form { fields: self.fields })
    }
}

/// The values of a form, by the names of its fields.
pub type Values = BTreeMap<String, crate::ElicitValue>;
