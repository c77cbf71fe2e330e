//! What a tool needs.

/// One provider that a call needs, by its id in Consentry's settings. A text is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub(crate) provider: String,
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) why: Option<String>,
}

impl Need {
    /// With the scopes of Consentry's settings.
    #[must_use]
    pub fn new(provider: impl Into<String>) -> Self {
        Self { provider: provider.into(), scopes: None, why: None }
    }

    /// With these scopes.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// In words for the user: "Connect GitHub to list your repositories."
    #[must_use]
    pub fn why(mut self, words: impl Into<String>) -> Self {
        self.why = Some(words.into());
        self
    }
}

impl<T: Into<String>> From<T> for Need {
    fn from(provider: T) -> Self {
        Self::new(provider)
    }
}
