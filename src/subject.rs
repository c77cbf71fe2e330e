//! Who is asked, and who is at the browser: `(iss, sub)`, compared byte for byte (R22).
//!
//! Never an e-mail address, never normalised, never printed: logs get [`Subject`]'s keyed hash from the vault.

use std::fmt;

/// A person as an authorization server names them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The issuer, as configured.
    pub issuer: String,
    /// The subject claim's value.
    pub sub: String,
}

/// Why a subject was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// Nothing in it.
    #[error("the subject is empty")]
    Empty,
    /// Longer than [`Subject::SUB_BYTES_MAX`].
    #[error("the subject is longer than 255 bytes")]
    TooLong,
    /// Holds a control character, which no engine and no page should have to carry.
    #[error("the subject holds a control character")]
    Control,
}

impl Subject {
    /// OpenID Connect Core, section 2: a subject is at most 255 characters.
    pub const SUB_BYTES_MAX: usize = 255;

    /// Takes a subject claim's value as it is.
    ///
    /// # Errors
    /// When it is empty, longer than 255 bytes, or holds a control character.
    pub fn new(issuer: impl Into<String>, sub: impl Into<String>) -> Result<Self, SubjectError> {
        let (issuer, sub) = (issuer.into(), sub.into());
        if sub.is_empty() {
            return Err(SubjectError::Empty);
        }
        if sub.len() > Self::SUB_BYTES_MAX {
            return Err(SubjectError::TooLong);
        }
        if sub.chars().any(char::is_control) {
            return Err(SubjectError::Control);
        }
        Ok(Self { issuer, sub })
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subject([personal])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R22: case, spaces and look-alikes are different people.
    #[test]
    fn subjects_are_compared_byte_for_byte() {
        let alice = Subject::new("https://id.example", "alice").unwrap();
        for (issuer, sub) in [
            ("https://id.example", "Alice"),
            ("https://id.example", "alice "),
            ("https://id.example", "\u{430}lice"),
            ("https://id.example/", "alice"),
            ("https://ID.example", "alice"),
        ] {
            assert_ne!(alice, Subject::new(issuer, sub).unwrap());
        }
        assert!(!format!("{alice:?}").contains("alice"));
    }

    #[test]
    fn what_cannot_be_carried_is_refused() {
        assert_eq!(Subject::new("i", ""), Err(SubjectError::Empty));
        assert_eq!(Subject::new("i", "a\0"), Err(SubjectError::Control));
        assert_eq!(Subject::new("i", "a".repeat(256)), Err(SubjectError::TooLong));
    }
}
