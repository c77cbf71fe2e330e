//! A sentence with named gaps: one pattern, translated as a whole, whose gaps are filled with text that is escaped and
//! set apart. The only place where markup is put around a value outside of a template.

use std::fmt;

use askama::filters::{Escaper, Html};

use super::label::Label;

/// What may stand in a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gap {
    /// A name or label from outside: cleaned, isolated, not translated.
    Name(Label),
    /// A host name in its ASCII form, shown whole.
    Host(String),
    /// Our own words or a number.
    Plain(String),
}

/// Anything that can fill a gap.
pub trait Fill {
    /// The filling.
    fn fill(&self) -> Gap;
}

impl<T: Fill + ?Sized> Fill for &T {
    fn fill(&self) -> Gap {
        (**self).fill()
    }
}

impl Fill for Label {
    fn fill(&self) -> Gap {
        Gap::Name(self.clone())
    }
}

impl Fill for Gap {
    fn fill(&self) -> Gap {
        self.clone()
    }
}

impl Fill for u64 {
    fn fill(&self) -> Gap {
        Gap::Plain(self.to_string())
    }
}

/// A filled sentence. Shown by `{}` it is HTML (and a template takes it as such); [`Sentence::plain`] is for titles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    pattern: &'static str,
    gaps: Vec<(&'static str, Gap)>,
}

impl Sentence {
    /// `pattern` holds `{name}` for each gap.
    #[must_use]
    pub fn new(pattern: &'static str, gaps: Vec<(&'static str, Gap)>) -> Self {
        Self { pattern, gaps }
    }

    /// The sentence without markup; not escaped.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut text = String::new();
        for piece in pieces(self.pattern) {
            match piece {
                Piece::Words(words) => text.push_str(words),
                Piece::Gap(name) => match self.gap(name) {
                    Some(Gap::Name(label)) => text.push_str(label.as_str()),
                    Some(Gap::Host(words) | Gap::Plain(words)) => text.push_str(words),
                    None => {}
                },
            }
        }
        text
    }

    fn gap(&self, name: &str) -> Option<&Gap> {
        self.gaps.iter().find(|(key, _)| *key == name).map(|(_, gap)| gap)
    }
}

impl askama::filters::HtmlSafe for Sentence {}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in pieces(self.pattern) {
            match piece {
                Piece::Words(words) => Html.write_escaped_str(&mut *f, words)?,
                Piece::Gap(name) => match self.gap(name) {
                    Some(Gap::Name(label)) => label.bdi().fmt(f)?,
                    Some(Gap::Host(host)) => {
                        f.write_str("<bdi dir=\"ltr\" translate=\"no\" class=\"host\">")?;
                        Html.write_escaped_str(&mut *f, host)?;
                        f.write_str("</bdi>")?;
                    }
                    Some(Gap::Plain(words)) => Html.write_escaped_str(&mut *f, words)?,
                    None => {}
                },
            }
        }
        Ok(())
    }
}

enum Piece<'a> {
    Words(&'a str),
    Gap(&'a str),
}

fn pieces(pattern: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(after) = rest.strip_prefix('{')
            && let Some((name, tail)) = after.split_once('}')
        {
            rest = tail;
            return Some(Piece::Gap(name));
        }
        let end = rest.char_indices().skip(1).find(|(_, c)| *c == '{').map_or(rest.len(), |(at, _)| at);
        let (words, tail) = rest.split_at(end);
        rest = tail;
        Some(Piece::Words(words))
    })
}

/// The names of the gaps in `pattern`, in its order.
#[must_use]
pub fn gap_names(pattern: &str) -> Vec<&str> {
    pieces(pattern)
        .filter_map(|piece| match piece {
            Piece::Gap(name) => Some(name),
            Piece::Words(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str) -> Sentence {
        let gaps = vec![("who", Label::new(name).fill()), ("n", 3_u64.fill())];
        Sentence::new("{who} & you have {n}.", gaps)
    }

    #[test]
    fn escapes_words_and_gaps() {
        let html = sample("<b>{n}").to_string();
        assert!(html.starts_with("<bdi dir=\"auto\" translate=\"no\">"), "{html}");
        assert!(!html.contains("<b>") && html.contains("{n}</bdi> &#38; you have 3."), "{html}");
        assert_eq!(sample("Ann").plain(), "Ann & you have 3.");
    }

    #[test]
    fn words_before_a_multibyte_character_are_kept() {
        assert_eq!(Sentence::new("é {x} ü", vec![("x", 1_u64.fill())]).plain(), "é 1 ü");
        assert_eq!(gap_names("{a} b {c}"), ["a", "c"]);
    }
}
