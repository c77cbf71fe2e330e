//! Walking through a JSON object and noting what is not as it should be.

use serde_json::Value;

use super::{Rule, Violation};
use crate::form::escaped;

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Number,
    Count,
    Fraction,
    Bool,
    Object,
    List,
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Number => value.is_i64() || value.is_u64(),
            Self::Count => value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
            Self::Fraction => value.is_number(),
            Self::Bool => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::List => value.is_array(),
        }
    }
}

/// A place in the JSON, with what was found below it so far.
pub(super) struct At<'a> {
    value: &'a Value,
    path: String,
    found: Vec<Violation>,
}

impl<'a> At<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        let mut at = Self { value, path: String::new(), found: Vec::new() };
        if !value.is_object() {
            at.broken("", Rule::Wrong);
        }
        at
    }

    pub(super) fn finish(self) -> Vec<Violation> {
        self.found
    }

    /// Notes a violation at this field, or here when the name is empty.
    pub(super) fn broken(&mut self, field: &str, rule: Rule) {
        let at = if field.is_empty() { self.path.clone() } else { self.below(field) };
        self.found.push(Violation { rule, at });
    }

    /// Notes a violation at a place that a pointer names from here.
    pub(super) fn broken_below(&mut self, pointer: &str, rule: Rule) {
        self.found.push(Violation { rule, at: format!("{}{pointer}", self.path) });
    }

    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    /// Is nothing wrong so far, here and below?
    pub(super) fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn is_empty_object(&self, field: &str) -> bool {
        self.value.get(field).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty)
    }

    /// The texts of a list that must be there, all of them different.
    pub(super) fn texts(&mut self, field: &str) -> Vec<&'a str> {
        let mut texts = Vec::new();
        for (place, text) in self.placed_texts(field) {
            if texts.contains(&text) {
                let at = format!("{}/{place}", self.below(field));
                self.found.push(Violation { rule: Rule::Twice, at });
            } else {
                texts.push(text);
            }
        }
        texts
    }

    /// The texts of a list that must be there, some of which may be the same.
    pub(super) fn repeated_texts(&mut self, field: &str) -> Vec<&'a str> {
        self.placed_texts(field).into_iter().map(|(_, text)| text).collect()
    }

    fn placed_texts(&mut self, field: &str) -> Vec<(usize, &'a str)> {
        let list = self.required(field, Kind::List).and_then(Value::as_array);
        let mut texts = Vec::new();
        for (place, item) in list.into_iter().flatten().enumerate() {
            match item.as_str() {
                None => {
                    let at = format!("{}/{place}", self.below(field));
                    self.found.push(Violation { rule: Rule::Wrong, at });
                }
                Some(text) => texts.push((place, text)),
            }
        }
        texts
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.value.get(field).is_some()
    }

    pub(super) fn only(&mut self, known: &[&str]) {
        let value = self.value;
        for field in value.as_object().into_iter().flat_map(|fields| fields.keys()) {
            if !known.contains(&field.as_str()) {
                self.broken(field, Rule::Unknown);
            }
        }
    }

    pub(super) fn not_empty(&mut self) {
        if self.value.as_object().is_some_and(serde_json::Map::is_empty) {
            self.broken("", Rule::Empty);
        }
    }

    pub(super) fn optional(&mut self, field: &str, kind: Kind) -> Option<&'a Value> {
        let value = self.value.get(field)?;
        if !kind.fits(value) {
            self.broken(field, Rule::Wrong);
            return None;
        }
        Some(value)
    }

    pub(super) fn required(&mut self, field: &str, kind: Kind) -> Option<&'a Value> {
        if !self.has(field) {
            self.broken(field, Rule::Missing);
        }
        self.optional(field, kind)
    }

    /// A text that is there and not blank.
    pub(super) fn text(&mut self, field: &str) -> Option<&'a str> {
        let text = self.required(field, Kind::Text)?.as_str()?;
        if text.trim().is_empty() {
            self.broken(field, Rule::Empty);
            return None;
        }
        Some(text)
    }

    pub(super) fn constant(&mut self, field: &str, wanted: &str) {
        if self.required(field, Kind::Text).is_some_and(|value| value != wanted) {
            self.broken(field, Rule::Wrong);
        }
    }

    pub(super) fn inside(&mut self, field: &str, look: impl FnOnce(&mut At<'a>)) {
        if let Some(value) = self.required(field, Kind::Object) {
            let mut at = At { value, path: self.below(field), found: Vec::new() };
            look(&mut at);
            self.found.append(&mut at.found);
        }
    }

    /// Looks at every member of a list or of an object of objects.
    pub(super) fn each(&mut self, field: &str, kind: Kind, mut look: impl FnMut(&'a Value, &mut At<'a>)) {
        let Some(members) = self.required(field, kind) else { return };
        let members: Vec<(String, &'a Value)> = match members {
            Value::Array(list) => {
                list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
            }
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
            _ => Vec::new(),
        };
        for (name, value) in members {
            let mut at =
                At { value, path: format!("{}/{}", self.below(field), escaped(&name)), found: Vec::new() };
            if value.is_object() {
                look(value, &mut at);
            } else {
                at.broken("", Rule::Wrong);
            }
            self.found.append(&mut at.found);
        }
    }

    fn below(&self, field: &str) -> String {
        format!("{}/{}", self.path, escaped(field))
    }
}
