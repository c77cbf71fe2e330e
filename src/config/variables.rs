//! Variables of a provider's addresses: what stands for `{subdomain}` in `https://{subdomain}.zendesk.com`.
//!
//! Who may give a value, how it must look, and how it is brought into the one form in which it is stored and compared.
//! What it must never do: let a value leave the part of an address that it stands in.

use std::collections::BTreeMap;

use super::Pattern;
use crate::values::Values;

/// Characters of a value.
pub const VARIABLE_MAX: usize = 253;
/// Bytes of a label of a host (RFC 1035, section 2.3.4).
const LABEL_MAX: usize = 63;

/// Who may give a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// The settings, under `values`.
    Operator,
    /// The MCP server, with its request.
    Caller,
    /// The person, on a page.
    User,
}

impl Ask {
    /// All of them, the default.
    pub const ALL: [Self; 3] = [Self::Operator, Self::Caller, Self::User];
}

/// Where in an address a variable stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// In a path, a query or a header.
    #[default]
    Elsewhere,
    /// In a host, with this text behind it up to the host's end: `.zendesk.com`, or nothing.
    Host(String),
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// What the person is asked for.
    pub label: String,
    /// Where to find it.
    pub help: Option<String>,
    /// How it looks.
    pub example: Option<String>,
    /// What a whole value must match.
    pub pattern: Option<Pattern>,
    /// The values to choose from, each with its label; empty where anything may be typed.
    pub choices: BTreeMap<String, String>,
    /// What it is when nobody says.
    pub default: Option<String>,
    /// The value is a host that ends so.
    pub suffixes: Vec<String>,
    /// The value is one of these hosts.
    pub hosts: Vec<String>,
    /// The parameter of the provider's response that gives it.
    pub from_callback: Option<String>,
    /// Who may give it.
    pub ask: Vec<Ask>,
    /// Where it stands.
    pub part: Part,
}

/// Why a value is not taken. Never holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Nothing but white space.
    #[error("is empty")]
    Empty,
    /// Longer than 253 characters.
    #[error("is longer than 253 characters")]
    TooLong,
    /// None of the choices.
    #[error("is none of the choices")]
    NotOffered,
    /// Not a host, or one outside of what is allowed.
    #[error("is not a host of this provider")]
    Host,
    /// It leads to an address that is not called.
    #[error("leads to an address that may not be called")]
    Private,
    /// Against the pattern, or with characters that no value has.
    #[error("does not look as it must")]
    Pattern,
}

impl Variable {
    /// Whether `who` may give it.
    pub fn may(&self, who: Ask) -> bool {
        self.from_callback.is_none() && self.ask.contains(&who)
    }

    /// A value in its one form, if it fits: trimmed; a host in lower case, without scheme and slash, and without what the
    /// address says behind it anyway.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn accept(&self, text: &str) -> Result<String, Unfit> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Unfit::Empty);
        }
        if text.chars().count() > VARIABLE_MAX {
            return Err(Unfit::TooLong);
        }
        if !self.choices.is_empty() {
            // A host may come as people copy it, and as providers send it: as the address of its own page.
            let whole = matches!(self.part, Part::Host(_)).then(|| strip(text));
            let found =
                [Some(text), whole].into_iter().flatten().find_map(|text| self.choices.get_key_value(text));
            return found.map(|(key, _)| key.clone()).ok_or(Unfit::NotOffered);
        }
        match &self.part {
            Part::Elsewhere => self.accept_text(text),
            Part::Host(tail) => self.accept_host(text, tail),
        }
    }

    fn accept_text(&self, text: &str) -> Result<String, Unfit> {
        // No other alphabets: what looks like one word must be one. No braces: what is put in where this stands is
        // looked for by them.
        let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'{' | b'}'))
            && !matches!(text, "." | "..");
        let fits = plain && self.pattern.as_ref().is_none_or(|pattern| pattern.fits(text));
        let text = if self.suffixes.is_empty() && self.hosts.is_empty() {
            text.to_owned()
        } else {
            self.within(host(strip(text), true).ok_or(Unfit::Host)?)?
        };
        if fits { Ok(text) } else { Err(Unfit::Pattern) }
    }

    fn accept_host(&self, text: &str, tail: &str) -> Result<String, Unfit> {
        let pasted = strip(text).to_ascii_lowercase();
        let short = pasted.strip_suffix(tail).filter(|_| !tail.is_empty()).unwrap_or(&pasted);
        let listed = self.hosts.iter().any(|host| host == short);
        let value =
            if listed { short.to_owned() } else { host(short, tail.is_empty()).ok_or(Unfit::Host)? };
        // Before a fixed part a value is one label, unless a pattern says more.
        if !tail.is_empty() && self.pattern.is_none() && value.contains('.') {
            return Err(Unfit::Host);
        }
        if !self.pattern.as_ref().is_none_or(|pattern| pattern.fits(&value)) {
            return Err(Unfit::Pattern);
        }
        self.within(value)
    }

    fn within(&self, value: String) -> Result<String, Unfit> {
        let free = self.suffixes.is_empty() && self.hosts.is_empty();
        let below = |suffix: &String| {
            value.strip_suffix(suffix.as_str()).is_some_and(|name| !name.is_empty() && !name.ends_with('.'))
        };
        if free || self.hosts.contains(&value) || self.suffixes.iter().any(below) {
            Ok(value)
        } else {
            Err(Unfit::Host)
        }
    }

    /// A value that stands for any other when nobody has given one yet: what fits, or nothing.
    pub fn sample(&self) -> Option<String> {
        let below = self.suffixes.first().map(|suffix| format!("example{suffix}"));
        let first = self.choices.keys().next().cloned();
        let all = [self.default.clone(), first, self.hosts.first().cloned(), self.example.clone(), below];
        all.into_iter().flatten().find_map(|text| self.accept(&text).ok())
    }
}

/// A value as people copy it from their browser's address: of a whole address the host, whatever page of it they were at.
/// What is more than scheme, host and page stays as it is, and fits nothing.
fn strip(text: &str) -> &str {
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let Some(scheme) = scheme else { return text.strip_suffix('/').unwrap_or(text) };
    let rest = &text[scheme.len()..];
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// A host name in lower case, or a part of one: letters, digits and hyphens, no name of another alphabet, and no address
/// where it is `whole`.
fn host(text: &str, whole: bool) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let label = |label: &str| {
        (1..=LABEL_MAX).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
            && !label.starts_with("xn--")
    };
    if text.len() > VARIABLE_MAX || !text.split('.').all(label) {
        return None;
    }
    if whole {
        // A URL parser reads a last label of digits, or of `0x`, as an address.
        let last = text.rsplit('.').next()?;
        let number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
        return (text.contains('.') && !number).then_some(text);
    }
    Some(text)
}

/// What is known of a provider's variables, and what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The values.
    pub values: Values,
    /// Names without one.
    pub missing: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(part: Part) -> Variable {
        Variable {
            label: "Subdomain".to_owned(),
            help: None,
            example: None,
            pattern: None,
            choices: BTreeMap::new(),
            default: None,
            suffixes: Vec::new(),
            hosts: Vec::new(),
            from_callback: None,
            ask: Ask::ALL.to_vec(),
            part,
        }
    }

    /// R73: what people paste is understood, and nothing leaves the label that it stands in.
    #[test]
    fn r73_a_value_before_a_fixed_part_is_one_label() {
        let one = variable(Part::Host(".zendesk.com".to_owned()));
        for (text, value) in [
            ("acme", "acme"),
            (" ACME\n", "acme"),
            ("acme.zendesk.com", "acme"),
            ("https://Acme.zendesk.com/", "acme"),
            ("https://acme.zendesk.com/boards/1?x=@evil.example#y", "acme"),
            ("http://acme.zendesk.com", "acme"),
            ("a-1", "a-1"),
        ] {
            assert_eq!(one.accept(text).as_deref(), Ok(value), "{text}");
        }
        for text in [
            "evil.com#",
            "evil.com/",
            "evil.com",
            "a.b/..",
            "a@b",
            "user:pw@acme",
            "acme:8443",
            "acme.",
            ".acme",
            "-acme",
            "acme-",
            "a..b",
            "a b",
            "ac%6de",
            "xn--acme-9ta",
            "acmé",
            "ａcme",
            "acme。",
            "a\u{200b}cme",
            "a\\b",
            "a?b",
            "ftp://acme.zendesk.com",
            "https://https://acme",
            "https://evil.example/acme.zendesk.com",
            "https://me@acme.zendesk.com/x",
            "https://acme.zendesk.com:8443/x",
            "https://evil.example\\.zendesk.com/",
            "acme.zendesk.com/boards",
            &"a".repeat(64),
        ] {
            assert_eq!(one.accept(text), Err(Unfit::Host), "{text}");
        }
        assert_eq!(one.accept(" "), Err(Unfit::Empty));
        assert_eq!(one.accept(&"a".repeat(254)), Err(Unfit::TooLong));
    }

    #[test]
    fn r73_a_whole_host_ends_as_it_must() {
        let mut one = variable(Part::Host(String::new()));
        one.suffixes = vec![".my.salesforce.com".to_owned()];
        one.hosts = vec!["login.salesforce.com".to_owned()];
        for (text, value) in [
            ("https://Acme.my.salesforce.com/", "acme.my.salesforce.com"),
            ("login.salesforce.com", "login.salesforce.com"),
            ("a.b.my.salesforce.com", "a.b.my.salesforce.com"),
        ] {
            assert_eq!(one.accept(text).as_deref(), Ok(value), "{text}");
        }
        for text in [
            "my.salesforce.com",
            ".my.salesforce.com",
            "evilmy.salesforce.com",
            "acme.my.salesforce.com.evil.example",
            "evil.example/acme.my.salesforce.com",
            "evil.example#.my.salesforce.com",
            "evil.example?.my.salesforce.com",
            "evil.example\\.my.salesforce.com",
            "acme.my.salesforce.com.",
            "acme.my.salesforce.com:443",
            "a@acme.my.salesforce.com",
            "127.0.0.1",
            "localhost",
        ] {
            assert_eq!(one.accept(text), Err(Unfit::Host), "{text}");
        }
    }

    #[test]
    fn an_address_is_no_host_of_a_free_variable() {
        let one = variable(Part::Host(String::new()));
        assert_eq!(one.accept("gitlab.example.com").as_deref(), Ok("gitlab.example.com"));
        for text in ["169.254.169.254", "127.1", "0x7f.1", "2130706433", "[::1]", "localhost", "a.0x7f"] {
            assert_eq!(one.accept(text), Err(Unfit::Host), "{text}");
        }
    }

    #[test]
    fn choices_and_patterns_are_for_the_whole_value() {
        let mut one = variable(Part::Elsewhere);
        one.pattern = Some(Pattern::whole("[A-Z]{2}").unwrap());
        assert_eq!(one.accept("DE").as_deref(), Ok("DE"));
        for text in ["DEX", "de", "DE\u{7}", "..", "D E"] {
            assert_eq!(one.accept(text), Err(Unfit::Pattern), "{text}");
        }
        // R73: nor does a value stand for another one, wherever it is put.
        one.pattern = None;
        for text in ["{access_token}", "{client_secret}", "a{", "}b", ".", "..", "a\rb", "a\nb"] {
            assert_eq!(one.accept(text), Err(Unfit::Pattern), "{text}");
        }
        one.choices = BTreeMap::from([("eu".to_owned(), "Europe".to_owned())]);
        assert_eq!(one.accept("eu").as_deref(), Ok("eu"));
        assert_eq!(one.accept("us"), Err(Unfit::NotOffered));
        assert_eq!(one.sample().as_deref(), Some("eu"));
    }

    #[test]
    fn what_the_callback_gives_nobody_else_does() {
        let one = Variable { from_callback: Some("accounts-server".to_owned()), ..variable(Part::Elsewhere) };
        assert!(Ask::ALL.iter().all(|who| !one.may(*who)));
    }
}
