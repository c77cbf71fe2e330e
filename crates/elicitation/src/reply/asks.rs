//! What a reply is to ask for: links, or a form.

use super::{Ask, FormAsk, keys};
use crate::Capability;

/// What is needed from the user. Made by `into` from a list of [`Ask`] or from a [`FormAsk`].
///
/// ```
/// use consentry_elicitation::{Ask, Asks};
///
/// let ask = Ask::new("github", "GitHub", "550e8400", "https://connect.example.com/".parse()?);
/// assert_eq!(Asks::from(&[ask.clone()]), Asks::Links(&[ask]));
/// # Ok::<(), url::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asks<'a> {
    /// All these links are to be opened.
    Links(&'a [Ask]),
    /// This form is to be filled in.
    Form(&'a FormAsk),
}

impl Asks<'_> {
    /// What a client must declare to be asked like this.
    #[must_use]
    pub fn capability(self) -> Capability {
        match self {
            Self::Links(_) => Capability::URL,
            Self::Form(_) => Capability::FORM,
        }
    }

    /// The keys of a modern round, in the order of the asks.
    #[must_use]
    pub fn keys(self) -> Vec<String> {
        match self {
            Self::Links(asks) => keys(asks),
            Self::Form(ask) => vec![ask.key.clone()],
        }
    }
}

impl<'a> From<&'a [Ask]> for Asks<'a> {
    fn from(asks: &'a [Ask]) -> Self {
        Self::Links(asks)
    }
}

impl<'a, const N: usize> From<&'a [Ask; N]> for Asks<'a> {
    fn from(asks: &'a [Ask; N]) -> Self {
        Self::Links(asks)
    }
}

impl<'a> From<&'a Vec<Ask>> for Asks<'a> {
    fn from(asks: &'a Vec<Ask>) -> Self {
        Self::Links(asks)
    }
}

impl<'a> From<&'a FormAsk> for Asks<'a> {
    fn from(ask: &'a FormAsk) -> Self {
        Self::Form(ask)
    }
}
