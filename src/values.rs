//! Named values of a provider that are no secrets: the variables of its addresses, and what its answers were read for.
//!
//! They stand in the clear in rows and in answers. What must never be put here: anything that proves something.

use std::collections::{BTreeMap, btree_map};

/// Values in one set.
pub const VALUES_MAX: usize = 32;
/// Bytes of a name.
pub const NAME_MAX: usize = 64;
/// Bytes of a value.
pub const VALUE_MAX: usize = 1_024;

/// Values by name, bounded in number and length, without control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Values(BTreeMap<String, String>);

/// A name or a value that cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValuesError {
    /// Not 1 to 64 of `a-z`, `0-9` and `_`, beginning with a letter.
    #[error("a name must be 1 to 64 of a-z, 0-9 and _, and begin with a letter")]
    Name,
    /// Empty, longer than 1024 bytes, or with a control character.
    #[error("a value must be 1 to 1024 bytes without control characters")]
    Value,
    /// More than 32.
    #[error("there are too many values")]
    TooMany,
    /// Not a JSON object of texts.
    #[error("it is no object of texts")]
    Json,
}

impl Values {
    /// Sets one.
    ///
    /// # Errors
    /// [`ValuesError`]; then nothing was set.
    pub fn insert(&mut self, name: &str, value: &str) -> Result<(), ValuesError> {
        if !is_name(name) {
            return Err(ValuesError::Name);
        }
        if value.is_empty() || value.len() > VALUE_MAX || value.chars().any(char::is_control) {
            return Err(ValuesError::Value);
        }
        if self.0.len() >= VALUES_MAX && !self.0.contains_key(name) {
            return Err(ValuesError::TooMany);
        }
        self.0.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.into_iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those and `over`, which wins.
    #[must_use]
    pub fn with(&self, over: &Self) -> Self {
        let mut both = self.0.clone();
        for (name, value) in over {
            if both.len() < VALUES_MAX || both.contains_key(name) {
                both.insert(name.to_owned(), value.to_owned());
            }
        }
        Self(both)
    }

    /// Whether each of `others` is here too, and the same.
    pub fn hold(&self, others: &Self) -> bool {
        others.iter().all(|(name, value)| self.get(name) == Some(value))
    }

    /// As a JSON object, as the store keeps it; none when there is none.
    pub fn to_json(&self) -> Option<String> {
        let object = || self.0.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        (!self.is_empty()).then(|| serde_json::Value::Object(object()).to_string())
    }

    /// What [`Values::to_json`] wrote.
    ///
    /// # Errors
    /// [`ValuesError`] for anything else.
    pub fn from_json(text: Option<&str>) -> Result<Self, ValuesError> {
        let Some(text) = text else { return Ok(Self::default()) };
        let object: BTreeMap<String, String> = serde_json::from_str(text).map_err(|_| ValuesError::Json)?;
        let mut values = Self::default();
        for (name, value) in &object {
            values.insert(name, value)?;
        }
        Ok(values)
    }
}

impl<'a> IntoIterator for &'a Values {
    type Item = (&'a str, &'a str);
    type IntoIter =
        std::iter::Map<btree_map::Iter<'a, String, String>, fn((&'a String, &'a String)) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

/// Whether a text can name a value.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= NAME_MAX
        && bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Values {
        let mut values = Values::default();
        for (name, value) in pairs {
            values.insert(name, value).unwrap();
        }
        values
    }

    #[test]
    fn what_is_written_is_read_back() {
        let values = of(&[("subdomain", "acme"), ("region", "\"eu\" ü")]);
        assert_eq!(Values::from_json(values.to_json().as_deref()), Ok(values));
        assert_eq!(Values::default().to_json(), None);
        assert_eq!(Values::from_json(None), Ok(Values::default()));
        for bad in ["", "[]", "null", r#"{"a":1}"#, r#"{"A":"b"}"#, r#"{"a":""}"#, r#"{"a":"\n"}"#] {
            assert!(Values::from_json(Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_values_and_their_number_are_bounded() {
        let mut values = Values::default();
        for bad in ["", "Acme", "1a", "a-b", "a.b", "_a", "ä", &"a".repeat(65)] {
            assert_eq!(values.insert(bad, "x"), Err(ValuesError::Name), "{bad}");
        }
        for bad in ["", "a\u{0}", "a\u{7f}", &"a".repeat(1_025)] {
            assert_eq!(values.insert("a", bad), Err(ValuesError::Value));
        }
        for number in 0..VALUES_MAX {
            values.insert(&format!("a{number}"), "x").unwrap();
        }
        assert_eq!(values.insert("b", "x"), Err(ValuesError::TooMany));
        values.insert("a1", "y").unwrap();
        assert_eq!(values.get("a1"), Some("y"));
    }

    #[test]
    fn the_later_ones_win_and_a_part_is_held() {
        let both = of(&[("a", "1"), ("b", "2")]).with(&of(&[("b", "3"), ("c", "4")]));
        assert_eq!(both, of(&[("a", "1"), ("b", "3"), ("c", "4")]));
        assert!(both.hold(&of(&[("b", "3")])) && both.hold(&Values::default()));
        assert!(!both.hold(&of(&[("b", "2")])) && !both.hold(&of(&[("d", "1")])));
    }
}
