//! Text from outside (a server's name, an account's label, a message): cleaned, capped, and set apart in the page.
//!
//! Whoever wrote it must not be able to end the element, turn the direction of the words around it, hide in it, or fill
//! the page with it.

use std::fmt;

use askama::filters::{Escaper, Html};

use crate::untrusted::is_hidden;

/// One line of untrusted text, at most [`Label::MAX_CHARS`] characters, without control or invisible characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label(String);

impl Label {
    /// Longest label; beyond it, an ellipsis.
    pub const MAX_CHARS: usize = 80;

    /// Cleans `raw`. Nothing left gives `"?"`, so that a sentence never has a hole in it.
    #[must_use]
    pub fn new(raw: &str) -> Self {
        let clean = cap(&one_line(raw), Self::MAX_CHARS);
        Self(if clean.is_empty() { "?".to_owned() } else { clean })
    }

    /// The cleaned text; not escaped.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The letter that stands for it where a picture would.
    #[must_use]
    pub fn initial(&self) -> String {
        let first = self.0.chars().find(|c| c.is_alphanumeric()).unwrap_or('?');
        first.to_uppercase().collect()
    }

    /// For a template: `<bdi>` around the escaped text.
    #[must_use]
    pub fn bdi(&self) -> Bdi<'_> {
        Bdi(&self.0)
    }
}

impl From<&str> for Label {
    fn from(raw: &str) -> Self {
        Self::new(raw)
    }
}

impl From<String> for Label {
    fn from(raw: String) -> Self {
        Self::new(&raw)
    }
}

/// Not escaped: a template escapes it again like any other string.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Several lines of untrusted text, at most [`Message::MAX_CHARS`] characters; each line is cleaned like a [`Label`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(Vec<String>);

impl Message {
    /// Longest message; beyond it, an ellipsis.
    pub const MAX_CHARS: usize = 600;
    /// Most lines.
    pub const MAX_LINES: usize = 8;

    /// Cleans `raw`; `None` when nothing is left.
    #[must_use]
    pub fn new(raw: &str) -> Option<Self> {
        let mut left = Self::MAX_CHARS;
        let mut lines = Vec::new();
        for line in raw.lines().map(one_line).filter(|line| !line.is_empty()).take(Self::MAX_LINES) {
            if left == 0 {
                break;
            }
            let line = cap(&line, left);
            left -= line.chars().count();
            lines.push(line);
        }
        (!lines.is_empty()).then_some(Self(lines))
    }

    /// The lines; not escaped.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.0
    }
}

/// Escaped text within `<bdi dir="auto" translate="no">`.
pub struct Bdi<'a>(&'a str);

impl askama::filters::HtmlSafe for Bdi<'_> {}

impl fmt::Display for Bdi<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<bdi dir=\"auto\" translate=\"no\">")?;
        Html.write_escaped_str(&mut *f, self.0)?;
        f.write_str("</bdi>")
    }
}

fn one_line(raw: &str) -> String {
    let spaced: String = raw
        .chars()
        // Enough for any cap below; keeps the work small for a hostile megabyte.
        .take(4 * Message::MAX_CHARS)
        .filter(|c| c.is_whitespace() || !is_hidden(*c))
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .scan(0, |marks, c| {
            *marks = if is_mark(c) { *marks + 1 } else { 0 };
            Some((*marks <= MOST_MARKS).then_some(c))
        })
        .flatten()
        .collect();
    spaced.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn cap(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(most.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}

/// Marks that may stand on one letter; more of them would reach into the lines above and below.
const MOST_MARKS: u32 = 3;

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_out_what_is_hidden_or_turns_text_around() {
        assert_eq!(
            Label::new("octo\u{202e}tac\u{2066}\u{200b}\u{0}\u{7f}\u{1b}[31m").as_str(),
            "octotac[31m"
        );
        assert_eq!(Label::new(" a\t\r\n b\u{2028}c\u{a0}d ").as_str(), "a b c d");
        assert_eq!(Label::new("\u{202e}\u{e0041}\n").as_str(), "?");
        assert_eq!(Label::new("").initial(), "?");
        assert_eq!(Label::new(&format!("a{}b", "\u{301}".repeat(50))).as_str().chars().count(), 5);
        assert_eq!(Label::new("نمونه\u{200c}ها").as_str(), "نمونه\u{200c}ها");
    }

    #[test]
    fn caps_what_is_long() {
        let long = Label::new(&"x".repeat(10_240));
        assert_eq!(long.as_str().chars().count(), Label::MAX_CHARS);
        assert!(long.as_str().ends_with('…'));
        let message = Message::new(&"line of words\n".repeat(1000)).unwrap();
        assert_eq!(message.lines().len(), Message::MAX_LINES);
        let message = Message::new(&"x".repeat(10_240)).unwrap();
        assert_eq!(message.lines()[0].chars().count(), Message::MAX_CHARS);
        assert!(Message::new(" \n\u{202e}").is_none());
    }

    #[test]
    fn escapes_within_the_isolate() {
        let hostile = Label::new("</bdi><script>\"'&");
        let shown = hostile.bdi().to_string();
        assert!(!shown.contains("<script") && shown.matches("</bdi>").count() == 1, "{shown}");
        assert_eq!(Label::new("«example files»").initial(), "E");
    }
}
