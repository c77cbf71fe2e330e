//! What a person can do on a page: a form of its own for each thing that changes something, a link for each that does
//! not.

use url::Url;

use super::sentence::{Fill, Gap, Sentence};

/// A form that posts: where to, with which CSRF token, and with which further hidden fields.
#[derive(Clone)]
pub struct Post {
    /// Path on the public listener.
    pub action: String,
    /// The session's CSRF token.
    pub csrf: String,
    /// Further hidden fields.
    pub fields: Vec<(&'static str, String)>,
}

impl Post {
    /// A form without further fields.
    #[must_use]
    pub fn new(action: impl Into<String>, csrf: impl Into<String>) -> Self {
        Self { action: action.into(), csrf: csrf.into(), fields: Vec::new() }
    }

    /// With one more hidden field.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }
}

/// An address on somebody else's host: `http` or `https`, without user information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Away(Url);

impl Away {
    /// `None` for anything that a page may not send a browser to.
    #[must_use]
    pub fn new(url: Url) -> Option<Self> {
        let fine =
            matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
        (fine && url.host_str().is_some()).then_some(Self(url))
    }

    /// As [`Away::new`], from text.
    #[must_use]
    pub fn parse(url: &str) -> Option<Self> {
        Url::parse(url).ok().and_then(Self::new)
    }

    /// The whole address, in ASCII.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The host in full, Punycode for an IDN, with the port when it is not the usual one: what a browser's address bar
    /// can be compared with.
    #[must_use]
    pub fn host(&self) -> Gap {
        let host = self.0.host_str().unwrap_or_default();
        Gap::Host(self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
    }
}

impl Fill for Away {
    fn fill(&self) -> Gap {
        self.host()
    }
}

/// A button or a link that looks like one.
#[derive(Clone)]
pub struct Action {
    /// Its words.
    pub label: Sentence,
    /// How much it stands out.
    pub weight: Weight,
    /// What it does.
    pub to: To,
}

/// Where an [`Action`] leads.
#[derive(Clone)]
pub enum To {
    /// Posts a form.
    Post(Post),
    /// Follows a link.
    Link(String),
}

impl Action {
    /// The main thing to do on a page, as a form.
    #[must_use]
    pub fn main(label: Sentence, post: &Post) -> Self {
        Self { label, weight: Weight::Main, to: To::Post(post.clone()) }
    }

    /// Another thing to do, as a form.
    #[must_use]
    pub fn other(label: Sentence, post: &Post) -> Self {
        Self { label, weight: Weight::Other, to: To::Post(post.clone()) }
    }

    /// The main thing to do, as a link.
    #[must_use]
    pub fn main_link(label: Sentence, href: impl Into<String>) -> Self {
        Self { label, weight: Weight::Main, to: To::Link(href.into()) }
    }

    /// Another thing to do, as a link.
    #[must_use]
    pub fn other_link(label: Sentence, href: impl Into<String>) -> Self {
        Self { label, weight: Weight::Other, to: To::Link(href.into()) }
    }
}

/// How much an [`Action`] stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The one that most people want.
    Main,
    /// The others.
    Other,
    /// One that cannot be taken back.
    Final,
}

impl Weight {
    /// Its class in the stylesheet.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Other => "other",
            Self::Final => "final",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r46_only_web_addresses_are_somewhere_to_go() {
        for bad in [
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://a",
            "https://github.com@evil.example/",
            "/connect",
            "//a",
        ] {
            assert!(Away::parse(bad).is_none(), "{bad}");
        }
        let host = |url: &str| Away::parse(url).map(|away| away.host());
        assert_eq!(host("https://bücher.example/a"), Some(Gap::Host("xn--bcher-kva.example".to_owned())));
        assert_eq!(host("http://127.0.0.2:8000/a"), Some(Gap::Host("127.0.0.2:8000".to_owned())));
    }
}
