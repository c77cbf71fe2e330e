//! Sets of scopes (RFC 6749, section 3.3): what is wanted, what is allowed, what was granted.

use std::{collections::BTreeSet, fmt};

/// A set of scopes, in a fixed order.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Scopes(BTreeSet<String>);

/// A scope that is not a `scope-token` of RFC 6749, or is longer than 256 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a scope is 1 to 256 visible ASCII characters other than quote and backslash")]
pub struct ScopeError;

impl Scopes {
    /// Takes each item as one scope.
    ///
    /// # Errors
    /// When one of them is not a `scope-token`.
    pub fn new<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Result<Self, ScopeError> {
        scopes
            .into_iter()
            .map(Into::into)
            .map(|scope: String| if is_scope_token(&scope) { Ok(scope) } else { Err(ScopeError) })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Reads what a provider says it granted: separated by spaces or commas, what is no scope left out (R75).
    pub fn lenient(text: &str) -> Self {
        Self(text.split([' ', ',', '\t', '\n']).filter(|s| is_scope_token(s)).map(str::to_owned).collect())
    }

    /// As the store keeps them: separated by one space.
    pub fn to_text(&self) -> String {
        self.join(' ')
    }

    /// Joined by a provider's separator.
    pub fn join(&self, separator: char) -> String {
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join(&separator.to_string())
    }

    /// Whether each of `wanted` is here.
    pub fn covers(&self, wanted: &Self) -> bool {
        wanted.0.is_subset(&self.0)
    }

    /// Whether this scope is here.
    pub fn has(&self, scope: &str) -> bool {
        self.0.contains(scope)
    }

    /// What is in `self` and not in `other`.
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).cloned().collect())
    }

    /// What is in either.
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a list, for JSON.
    pub fn to_vec(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scopes({})", self.to_text())
    }
}

fn is_scope_token(scope: &str) -> bool {
    (1..=256).contains(&scope.len())
        && scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5B | 0x5D..=0x7E))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scope_tokens_are_taken() {
        assert!(Scopes::new(["repo", "https://x.example/a.b", "read:user"]).is_ok());
        for bad in ["", "a b", "a\"b", "a\\b", "é", "a\n"] {
            assert_eq!(Scopes::new([bad]), Err(ScopeError), "{bad:?}");
        }
    }

    #[test]
    fn a_providers_list_is_read_leniently() {
        assert_eq!(Scopes::lenient("repo,read:user  gist\"").to_text(), "read:user repo");
        assert!(Scopes::lenient("").is_empty());
    }

    #[test]
    fn sets_are_compared_as_sets() {
        let granted = Scopes::new(["a", "b"]).unwrap();
        assert!(granted.covers(&Scopes::new(["b"]).unwrap()));
        assert!(!granted.covers(&Scopes::new(["b", "c"]).unwrap()));
        assert_eq!(Scopes::new(["b", "c"]).unwrap().without(&granted).to_text(), "c");
    }
}
