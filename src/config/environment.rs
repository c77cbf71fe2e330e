//! The process's environment, captured once.
//!
//! What it must never do: be printed. It holds secrets.

use std::{collections::BTreeMap, fmt};

use crate::secret::Secret;

/// Names and values. Tests make their own; only [`Environment::of_process`] looks at the process.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, Secret>);

impl Environment {
    /// What this process was started with. Values that are not UTF-8 are left out.
    pub fn of_process() -> Self {
        let pairs = std::env::vars_os();
        Self::new(
            pairs.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    /// An environment of these names and values.
    pub fn new<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), Secret::new(value))).collect())
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.0.get(name)
    }

    /// The value of `name` where it is not empty, as text that may be shown.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(Secret::expose).filter(|text| !text.is_empty())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
