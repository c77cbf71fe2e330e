//! One connection that is needed, and the key it has in a modern round.

use std::collections::BTreeSet;

use url::Url;

use crate::UrlRequest;

/// A link that the user is to open.
///
/// ```
/// use consentry_elicitation::Ask;
///
/// let ask = Ask::new("github", "GitHub", "550e8400", "https://connect.example.com/".parse()?);
/// assert_eq!(ask.message, "Connect GitHub to continue.");
/// assert_eq!(ask.message("Connect GitHub to list your files.").message, "Connect GitHub to list your files.");
/// # Ok::<(), url::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ask {
    /// The provider's id; the key of a modern round is made from it.
    pub provider: String,
    /// The provider's name, for people.
    pub provider_name: String,
    /// Names the elicitation in the legacy era: unique on this server, never empty.
    pub elicitation_id: String,
    /// Where the user is to go.
    pub url: Url,
    /// Why, in words for the user.
    pub message: String,
}

impl Ask {
    /// A link with the plainest message.
    #[must_use]
    pub fn new(
        provider: impl Into<String>,
        provider_name: impl Into<String>,
        elicitation_id: impl Into<String>,
        url: Url,
    ) -> Self {
        let provider_name = provider_name.into();
        let message = format!("Connect {provider_name} to continue.");
        Self { provider: provider.into(), provider_name, elicitation_id: elicitation_id.into(), url, message }
    }

    /// The same with a message; a blank one changes nothing.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        let message = message.into();
        if !message.trim().is_empty() {
            self.message = message;
        }
        self
    }

    pub(super) fn request(&self) -> UrlRequest {
        UrlRequest::new(self.url.clone(), &self.message)
    }
}

/// The keys of a modern round, in the order of the asks: `connect-{provider}`, and with a number behind it from the
/// second ask of the same provider on. They are unique, and the same for the same asks.
///
/// ```
/// use consentry_elicitation::{Ask, reply::keys};
///
/// let ask = |provider| Ask::new(provider, provider, "id", url::Url::parse("https://connect.example.com/").unwrap());
/// assert_eq!(keys(&[ask("a"), ask("b"), ask("a")]), ["connect-a", "connect-b", "connect-a-2"]);
/// ```
#[must_use]
pub fn keys(asks: &[Ask]) -> Vec<String> {
    // A number must not make the key of another provider that happens to end in that number.
    let plain: BTreeSet<String> = asks.iter().map(|ask| format!("connect-{}", ask.provider)).collect();
    let mut used = BTreeSet::new();
    asks.iter()
        .map(|ask| {
            let first = format!("connect-{}", ask.provider);
            let numbered =
                (2_u32..).map(|number| format!("{first}-{number}")).filter(|key| !plain.contains(key));
            let key = std::iter::once(first.clone())
                .chain(numbered)
                .find(|key| !used.contains(key))
                .unwrap_or(first);
            used.insert(key.clone());
            key
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_never_takes_the_key_of_another_provider() {
        let ask = |provider: &str| Ask::new(provider, "N", "id", Url::parse("https://a.example/").unwrap());
        assert_eq!(
            keys(&[ask("x"), ask("x"), ask("x-2"), ask("x")]),
            ["connect-x", "connect-x-3", "connect-x-2", "connect-x-4"]
        );
    }
}
