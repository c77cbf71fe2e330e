//! The kinds of field that a form can have. Nothing else can be said with these types: no nesting, no lists but those of
//! choices, no keywords of JSON Schema beyond the ones that clients must understand.

use super::{Boolean, Choice, Choices, Integer, Number, Text};

/// One field of a form, with everything that a client needs to show it and to check what is typed.
///
/// ```
/// use consentry_elicitation::form::{Boolean, Field};
///
/// let field = Field::from(Boolean::new().title("Private?").default(true));
/// assert_eq!(field.title(), Some("Private?"));
/// let Field::Boolean(boolean) = field else { panic!() };
/// assert_eq!(boolean.default, Some(true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// Free text.
    Text(Text),
    /// A number, with or without a fraction.
    Number(Number),
    /// A whole number.
    Integer(Integer),
    /// Yes or no.
    Boolean(Boolean),
    /// One of several texts.
    Choice(Choice),
    /// Any of several texts.
    Choices(Choices),
}

/// What a field is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
}

impl Field {
    /// The name that is shown.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.label().title.as_deref()
    }

    /// The words beside it.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.label().description.as_deref()
    }

    pub(crate) fn label(&self) -> &Label {
        match self {
            Self::Text(field) => &field.label,
            Self::Number(field) => &field.label,
            Self::Integer(field) => &field.label,
            Self::Boolean(field) => &field.label,
            Self::Choice(field) => &field.label,
            Self::Choices(field) => &field.label,
        }
    }

    /// Can the user type anything, so that a secret could be typed?
    pub(crate) fn is_free(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Number(_) | Self::Integer(_))
    }
}

/// `title` and `description` of a kind of field, and its way into [`Field`].
macro_rules! kind {
    ($kind:ident) => {
        impl $kind {
            /// The same with the name that is shown for it.
            #[must_use]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.label.title = Some(title.into());
                self
            }

            /// The same with words beside it.
            #[must_use]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.label.description = Some(description.into());
                self
            }
        }

        impl From<$kind> for $crate::form::Field {
            fn from(field: $kind) -> Self {
                Self::$kind(field)
            }
        }
    };
}
pub(super) use kind;
