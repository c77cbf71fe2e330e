//! Sets of scopes (RFC 6749, section 3.3): what is wanted, what is allowed, what was granted; and which scopes a provider
//! takes for part of others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

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

/// Which scopes a provider takes for part of others, and which for the same: it may grant `repo` where `repo` and
/// `repo:status` were asked for, or answer with a scope's other name. Two scopes that imply each other are aliases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Implications(BTreeMap<String, Scopes>);

impl Implications {
    /// None at all.
    pub const NONE: Self = Self(BTreeMap::new());

    /// Takes each key as a scope that implies its values.
    ///
    /// # Errors
    /// When one of them is not a `scope-token`.
    pub fn new(table: BTreeMap<String, Vec<String>>) -> Result<Self, ScopeError> {
        let implied = |(scope, implied): (String, Vec<String>)| {
            if is_scope_token(&scope) { Ok((scope, Scopes::new(implied)?)) } else { Err(ScopeError) }
        };
        table.into_iter().map(implied).collect::<Result<_, _>>().map(Self)
    }

    /// Everything that `granted` amounts to, itself included.
    pub fn all_of(&self, granted: &Scopes) -> Scopes {
        let mut all = granted.clone();
        let mut next: Vec<&str> = granted.iter().collect();
        while let Some(scope) = next.pop() {
            let implied = self.0.get(scope).into_iter().flat_map(Scopes::iter);
            next.extend(implied.filter(|scope| all.0.insert((*scope).to_owned())));
        }
        all
    }

    /// Whether `granted` amounts to each of `wanted`.
    pub fn cover(&self, granted: &Scopes, wanted: &Scopes) -> bool {
        granted.covers(wanted) || self.all_of(granted).covers(wanted)
    }

    /// What of `wanted` is missing in all that `granted` amounts to.
    pub fn missing(&self, granted: &Scopes, wanted: &Scopes) -> Scopes {
        wanted.without(&self.all_of(granted))
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
    use proptest::prelude::*;

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

    fn implications(table: &[(&str, &[&str])]) -> Implications {
        let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
        Implications::new(table.iter().map(|(scope, list)| ((*scope).to_owned(), owned(list))).collect())
            .unwrap()
    }

    #[test]
    fn a_larger_scope_covers_the_smaller_ones() {
        let table = implications(&[("admin", &["write"]), ("write", &["read"])]);
        let of = |text: &str| Scopes::lenient(text);
        assert!(table.cover(&of("admin"), &of("read write")));
        assert!(!table.cover(&of("read"), &of("write")));
        assert_eq!(table.missing(&of("write"), &of("admin read write other")).to_text(), "admin other");
        assert!(!Implications::NONE.cover(&of("admin"), &of("read")));
        assert!(Implications::new([("a b".to_owned(), Vec::new())].into()).is_err());
    }

    /// Aliases imply each other; the circle ends.
    #[test]
    fn another_name_is_the_same_scope() {
        let long = "https://www.googleapis.com/auth/userinfo.email";
        let table = implications(&[("email", &[long]), (long, &["email"])]);
        assert!(table.cover(&Scopes::lenient(long), &Scopes::lenient("email")));
        assert!(table.cover(&Scopes::lenient("email"), &Scopes::lenient(long)));
        assert_eq!(table.all_of(&Scopes::lenient("email")).len(), 2);
    }

    proptest! {
        /// Whatever the table is: nothing that was granted is lost, and what it amounts to amounts to no more.
        #[test]
        fn what_is_granted_is_a_part_of_what_it_amounts_to(
            table in proptest::collection::btree_map("[a-f]", proptest::collection::vec("[a-f]", 0..4), 0..6),
            granted in proptest::collection::vec("[a-h]", 0..5),
        ) {
            let (table, granted) = (Implications::new(table).unwrap(), Scopes::new(granted).unwrap());
            let all = table.all_of(&granted);
            prop_assert!(all.covers(&granted));
            prop_assert_eq!(&table.all_of(&all), &all);
            prop_assert!(table.missing(&granted, &all).is_empty());
        }
    }

    #[test]
    fn sets_are_compared_as_sets() {
        let granted = Scopes::new(["a", "b"]).unwrap();
        assert!(granted.covers(&Scopes::new(["b"]).unwrap()));
        assert!(!granted.covers(&Scopes::new(["b", "c"]).unwrap()));
        assert_eq!(Scopes::new(["b", "c"]).unwrap().without(&granted).to_text(), "c");
    }
}
