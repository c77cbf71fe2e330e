//! Texts with places for values: `Bearer {access_token}`, `https://{site}/v1/me`.
//!
//! A place is a lower-case name in braces and nothing else, so that JSON and GraphQL keep their own braces. What is filled
//! in may be a secret: the result is wiped when it is dropped, and nothing of it is ever shown.

use std::fmt::Write as _;

use zeroize::Zeroizing;

use crate::{secret::Secret, values::is_name};

/// A text with places for values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place(String),
}

/// How a value is written where it is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// As it is: in headers.
    Plain,
    /// Percent-encoded but for unreserved characters (RFC 3986, section 2.3): in any part of a URL.
    Url,
    /// As the inside of a JSON string.
    Json,
}

impl Template {
    /// Reads a text; each `{name}` is a place.
    pub fn new(text: &str) -> Self {
        Self::read(text, |_| true)
    }

    /// Reads a text in which only these names are places: for bodies, whose own braces may look like one.
    pub fn with_names(text: &str, is_known: impl Fn(&str) -> bool) -> Self {
        Self::read(text, is_known)
    }

    fn read(text: &str, is_place: impl Fn(&str) -> bool) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            match after.split_once('}').filter(|(name, _)| is_name(name) && is_place(name)) {
                Some((name, after)) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Place(name.to_owned()));
                    rest = after;
                }
                None => {
                    plain.push('{');
                    rest = after;
                }
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Self(pieces)
    }

    /// The names of its places, in order, each as often as it stands.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Place(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The text with every place filled in; none when a value is missing, or is no piece of a URL where it stands in one.
    pub fn fill<'a>(&self, value: impl Fn(&str) -> Option<&'a str>, writing: Writing) -> Option<Secret> {
        let mut filled = Zeroizing::new(String::with_capacity(256));
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Place(name) => {
                    let value = value(name)?;
                    // As a piece of a path it would be another place: this one, or the one above.
                    if writing == Writing::Url && matches!(value, "" | "." | "..") {
                        return None;
                    }
                    write(&mut filled, value, writing);
                }
            }
        }
        Some(Secret::new(std::mem::take(&mut *filled)))
    }

    /// The text as it was read.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Place(name) => text.extend(["{", name, "}"]),
            }
        }
        text
    }
}

fn write(filled: &mut String, value: &str, writing: Writing) {
    match writing {
        Writing::Plain => filled.push_str(value),
        // A whole address may begin another: only values that were held against a list of hosts are such.
        Writing::Url if filled.is_empty() && value.starts_with("https://") => {
            filled.push_str(value.trim_end_matches('/'));
        }
        Writing::Url => {
            for byte in value.bytes() {
                if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                    filled.push(char::from(byte));
                } else {
                    let _ = write!(filled, "%{byte:02X}");
                }
            }
        }
        Writing::Json => {
            for c in value.chars() {
                match c {
                    '"' | '\\' => filled.extend(['\\', c]),
                    c if c.is_control() => {
                        let _ = write!(filled, "\\u{:04x}", u32::from(c));
                    }
                    c => filled.push(c),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fill(text: &str, writing: Writing) -> Option<String> {
        let value = |name: &str| (name == "key").then_some("a b/\"\\é");
        Template::new(text).fill(value, writing).map(|filled| filled.expose().to_owned())
    }

    #[test]
    fn places_are_filled_in_the_writing_of_where_they_stand() {
        assert_eq!(fill("Token {key}!", Writing::Plain).unwrap(), "Token a b/\"\\é!");
        assert_eq!(
            fill("https://a/{key}?x={key}", Writing::Url).unwrap().matches("a%20b%2F%22%5C%C3%A9").count(),
            2
        );
        let body: serde_json::Value =
            serde_json::from_str(&fill("{\"k\": \"{key}\"}", Writing::Json).unwrap()).unwrap();
        assert_eq!(body["k"], "a b/\"\\é");
        assert_eq!(fill("{other}", Writing::Plain), None);
        for value in ["", ".", ".."] {
            let filled = |writing| Template::new("https://a/{key}/b").fill(|_| Some(value), writing);
            assert!(filled(Writing::Url).is_none() && filled(Writing::Plain).is_some(), "{value}");
        }
    }

    #[test]
    fn other_braces_stay() {
        for text in ["{ viewer { id } }", "{}", "{Key}", "{key", "key}", "{{", "{1}", "{\"a\":{}}"] {
            let template = Template::new(text);
            assert_eq!(template.names().count(), 0, "{text}");
            assert_eq!(template.text(), text);
        }
        let body = Template::with_names("{viewer{id}} {key}", |name| name == "key");
        assert_eq!(body.names().collect::<Vec<_>>(), ["key"]);
        assert_eq!(Template::new("{{key}}").text(), "{{key}}");
    }

    proptest! {
        #[test]
        fn any_text_is_a_template(text in "[{}a-c_\\PC]{0,40}") {
            prop_assert_eq!(Template::new(&text).text(), text);
        }

        #[test]
        fn json_stays_json(value in "\\PC{0,20}|[\\x00-\\x20\"\\\\]{0,20}") {
            let filled = Template::new("\"{v}\"").fill(|_| Some(&value), Writing::Json).unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(filled.expose()).unwrap(), value);
        }
    }
}
