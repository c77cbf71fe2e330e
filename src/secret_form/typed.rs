//! What a person has typed into a form, read strictly.
//!
//! Nothing of it is ever shown again. A pattern only makes a remark, for services change how their keys look; what goes
//! into a host is refused unless it fits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{
    config::{FormField, SecretForm},
    secret::{Secret, SecretBytes},
    template::Template,
};

/// Longest value, in bytes: a signed token fits.
pub const VALUE_BYTES_MAX: usize = 4_096;
/// A key shorter than this says too much by its last characters.
const TAIL_OF: usize = 12;
/// So many of them.
const TAIL: usize = 4;

/// The values of a form, by the names of its fields. A field that was left empty has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed(BTreeMap<String, Secret>);

/// Why a value is refused before anybody is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing was entered.
    Missing,
    /// Longer than any key.
    TooLong,
    /// It holds a line break or another character that no key has, or none that can stand where it is used.
    Unwritable,
    /// None of the choices.
    NotOffered,
    /// It does not fit the host that it is part of.
    Host,
}

/// What may be wrong with a value; no refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// It does not look as usual.
    Unusual,
    /// It is of a wrong kind; what to do instead.
    Wrong(String),
}

/// Flaws and remarks, each with the place of its field in the form.
pub type Found<T> = Vec<(usize, T)>;

impl Typed {
    /// Reads what was posted; `posted` gives the value of a field.
    ///
    /// # Errors
    /// Each field that cannot be taken.
    pub fn read<'a>(
        form: &SecretForm,
        posted: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, Found<Flaw>> {
        let mut typed = Self::default();
        let mut flaws = Vec::new();
        for (at, field) in form.fields.iter().enumerate() {
            let value = posted(&field.name).unwrap_or_default();
            let value = if field.in_host { host_of(value) } else { bare(value) };
            let flaw =
                flaw(field, value).or_else(|| unwritable(form, field, value).then_some(Flaw::Unwritable));
            match flaw {
                Some(flaw) => flaws.push((at, flaw)),
                None if value.is_empty() => {}
                None => drop(typed.0.insert(field.name.clone(), Secret::new(value))),
            }
        }
        if flaws.is_empty() { Ok(typed) } else { Err(flaws) }
    }

    /// A field's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(Secret::expose)
    }

    /// Name and value of each field that has one, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// What is odd about them.
    pub fn remarks(&self, form: &SecretForm) -> Found<Remark> {
        let remark = |field: &FormField| {
            let value = self.get(&field.name)?;
            let wrong = field.wrong.iter().find(|wrong| wrong.pattern.fits(value));
            let usual = field.pattern.as_ref().is_none_or(|pattern| pattern.fits(value));
            let unusual = (!usual).then_some(Remark::Unusual);
            wrong.map(|wrong| Remark::Wrong(wrong.advice.clone())).or(unusual)
        };
        let all = form.fields.iter().enumerate();
        all.filter_map(|(at, field)| Some((at, remark(field)?))).collect()
    }

    /// Whether one of them is of the service's test mode.
    pub fn is_of_test_mode(&self, form: &SecretForm) -> bool {
        form.fields.iter().any(|field| {
            let value = self.get(&field.name);
            field.test.as_ref().zip(value).is_some_and(|(test, value)| test.fits(value))
        })
    }

    /// The last characters of the first secret, by which its owner knows it again; none of a short one.
    pub fn tail(&self, form: &SecretForm) -> Option<String> {
        let first = form.fields.iter().find(|field| field.secret && self.0.contains_key(&field.name))?;
        let value = self.get(&first.name)?;
        let tail = value.get(value.len().checked_sub(TAIL)?..)?;
        (value.len() >= TAIL_OF && tail.bytes().all(|byte| byte.is_ascii_graphic())).then(|| tail.to_owned())
    }

    /// As it is sealed.
    pub(crate) fn to_bytes(&self) -> SecretBytes {
        let values = self.0.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        let sealed = Zeroizing::new(serde_json::to_string(&Values(values)).unwrap_or_default());
        SecretBytes::new(format!("{MARK}\n{}", *sealed).into_bytes())
    }

    /// What [`Typed::to_bytes`] made; none for anything else.
    pub(crate) fn from_secret(plain: &Secret) -> Option<Self> {
        let json = plain.expose().strip_prefix(MARK)?.strip_prefix('\n')?;
        let values: BTreeMap<String, Secret> = serde_json::from_str(json).ok()?;
        Some(Self(values))
    }
}

/// What stands where an access token has its type.
const MARK: &str = "fields";

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Values<'a>(#[serde(borrow)] BTreeMap<&'a str, &'a str>);

fn flaw(field: &FormField, value: &str) -> Option<Flaw> {
    if value.is_empty() {
        return (!field.optional).then_some(Flaw::Missing);
    }
    if value.len() > VALUE_BYTES_MAX {
        return Some(Flaw::TooLong);
    }
    if value.chars().any(char::is_control) {
        return Some(Flaw::Unwritable);
    }
    if !field.choices.is_empty() && !field.choices.contains_key(value) {
        return Some(Flaw::NotOffered);
    }
    (field.in_host && !fits_host(field, value)).then_some(Flaw::Host)
}

/// Stands where not every character can: the service would be asked with something else, or not at all.
fn unwritable(form: &SecretForm, field: &FormField, value: &str) -> bool {
    let holds = |template: &Template| template.names().any(|name| name == field.name);
    let (usage, probe) = (&form.usage, form.probe.as_ref());
    let mut headers =
        usage.headers.values().chain(probe.into_iter().flat_map(|probe| probe.headers.values()));
    let mut basic = usage.basic.iter().chain(probe.and_then(|probe| probe.basic.as_ref()));
    // RFC 9110, section 5.5; RFC 7617, section 2: a user name ends at its first colon.
    (!value.is_ascii() && headers.any(holds)) || (value.contains(':') && basic.any(|(user, _)| holds(user)))
}

/// A part of a host, and bounded as the settings say.
fn fits_host(field: &FormField, value: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let lower = value.to_ascii_lowercase();
    let ends = field
        .suffixes
        .iter()
        .any(|suffix| lower.strip_suffix(suffix.as_str()).is_some_and(|before| !before.is_empty()));
    value.len() <= 253
        && value.split('.').all(label)
        && (field.suffixes.is_empty() || ends)
        && field.pattern.as_ref().is_none_or(|pattern| pattern.fits(value))
}

/// Without what stands around it where it was copied: blanks, line breaks, and marks that nobody sees.
fn bare(value: &str) -> &str {
    let unseen = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    value.trim_matches(|c: char| c.is_whitespace() || unseen(c))
}

/// People paste an address where a host is wanted.
fn host_of(value: &str) -> &str {
    let value = bare(value);
    let value = value.strip_prefix("https://").unwrap_or(value);
    value.split_once('/').map_or(value, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::secret_form::tests::form;

    fn read(form: &SecretForm, values: &[(&str, &str)]) -> Result<Typed, Found<Flaw>> {
        let values: BTreeMap<&str, &str> = values.iter().copied().collect();
        Typed::read(form, |name| values.get(name).copied())
    }

    #[test]
    fn values_are_trimmed_and_refused_by_what_can_never_be_a_key() {
        let form = form("{ name = \"a\", label = \"A\" }, { name = \"b\", label = \"B\", optional = true }");
        let typed = read(&form, &[("a", " key-of-acme\n"), ("other", "x")]).unwrap();
        assert_eq!((typed.get("a"), typed.get("b"), typed.get("other")), (Some("key-of-acme"), None, None));
        for (value, flaw) in [
            ("", Flaw::Missing),
            (" \t", Flaw::Missing),
            ("a\nb", Flaw::Unwritable),
            ("a\0b", Flaw::Unwritable),
            (&*"x".repeat(VALUE_BYTES_MAX + 1), Flaw::TooLong),
        ] {
            assert_eq!(read(&form, &[("a", value)]), Err(vec![(0, flaw)]));
        }
    }

    #[test]
    fn a_choice_is_one_of_those_offered() {
        let form = form(
            "{ name = \"k\", label = \"K\" }, { name = \"c\", label = \"C\", secret = false, choices = { eu = \"Europe\" } }",
        );
        assert!(read(&form, &[("k", "x"), ("c", "eu")]).is_ok());
        assert_eq!(read(&form, &[("k", "x"), ("c", "us")]), Err(vec![(1, Flaw::NotOffered)]));
    }

    /// A key that was copied with its ellipsis, say, or with a mark that nobody sees.
    #[test]
    fn what_cannot_stand_where_it_is_used_is_refused() {
        let form = |usage: &str| {
            crate::config::form_of(&format!(
                "fields = [{{ name = \"user\", label = \"U\", secret = false }}, {{ name = \"key\", label = \"K\" }}]\nuse = {usage}\n"
            ))
        };
        let basic = form("{ basic = { username = \"{user}/token\", password = \"{key}\" } }");
        let header = form("{ headers = { X-User = \"u={user}\", X-Key = \"{key}\" } }");
        let query = form("{ query = { u = \"{user}\", k = \"{key}\" } }");
        let read = |form: &SecretForm, user: &str, key: &str| read(form, &[("user", user), ("key", key)]);
        for (form, user, key, flaws) in [
            (&basic, "mona:x", "a:b", vec![0]),
            (&basic, "möna", "schlüssel:1", vec![]),
            (&header, "mona:x", "a:b", vec![]),
            (&header, "möna", "sk_1…9", vec![0, 1]),
            (&query, "möna:x", "schlüssel", vec![]),
        ] {
            let found = read(form, user, key).err().unwrap_or_default();
            assert_eq!(
                found,
                flaws.into_iter().map(|at| (at, Flaw::Unwritable)).collect::<Vec<_>>(),
                "{user} {key}"
            );
        }
        let typed = read(&header, "\u{feff}mona\u{200b}", " \u{200e}key\r\n").unwrap();
        assert_eq!((typed.get("user"), typed.get("key")), (Some("mona"), Some("key")));
    }

    /// What goes into a host must not lead elsewhere.
    #[test]
    fn a_part_of_a_host_is_refused_unless_it_fits() {
        let form = form(
            "{ name = \"k\", label = \"K\" }, { name = \"host\", label = \"H\", secret = false, suffixes = [\".acme.example\"] }",
        );
        let host = |value: &str| read(&form, &[("k", "x"), ("host", value)]);
        assert_eq!(host("https://one.acme.example/login?x").unwrap().get("host"), Some("one.acme.example"));
        assert!(host("ONE.acme.example").is_ok());
        for bad in [
            "acme.example",
            ".acme.example",
            "evil.example",
            "evil.example#.acme.example",
            "evil.example\\.acme.example",
            "evil.example?.acme.example",
            "user@x.acme.example",
            "x.acme.example:8080",
            "169.254.169.254",
            "[::1]",
            "a b.acme.example",
            "xn--\u{e9}.acme.example",
            "-.acme.example",
        ] {
            assert_eq!(host(bad), Err(vec![(1, Flaw::Host)]), "{bad}");
        }
    }

    #[test]
    fn what_looks_odd_is_remarked_and_taken() {
        let form = form(
            "{ name = \"k\", label = \"K\", pattern = \"^sk_\", test = \"^sk_test_\", wrong = [{ pattern = \"^pk_\", advice = \"Not the publishable one.\" }] }",
        );
        let typed = |value: &str| read(&form, &[("k", value)]).unwrap();
        assert_eq!(typed("sk_live_1").remarks(&form), []);
        assert_eq!(typed("key").remarks(&form), [(0, Remark::Unusual)]);
        assert_eq!(typed("pk_1").remarks(&form), [(0, Remark::Wrong("Not the publishable one.".into()))]);
        assert!(typed("sk_test_1").is_of_test_mode(&form) && !typed("sk_live_1").is_of_test_mode(&form));
    }

    #[test]
    fn a_long_key_is_known_by_its_last_characters() {
        let form = form("{ name = \"k\", label = \"K\" }");
        let tail = |value: &str| read(&form, &[("k", value)]).unwrap().tail(&form);
        assert_eq!(tail("sk_live_0123456789a1b2").as_deref(), Some("a1b2"));
        assert_eq!(tail("short-a1b2"), None);
        assert_eq!(tail("sk_live_0123456789éé"), None);
    }

    #[test]
    fn nothing_of_it_is_shown() {
        let form = form("{ name = \"k\", label = \"K\" }");
        let typed = read(&form, &[("k", "canary-4711")]).unwrap();
        assert!(!format!("{typed:?} {:?}", typed.to_bytes()).contains("canary"));
    }

    proptest! {
        #[test]
        fn what_is_sealed_is_read_again(value in "[^\\x00-\\x20\\x7f-\\x9f][\"\\\\ !-~é]{0,40}[!-~]") {
            let form = form("{ name = \"k\", label = \"K\" }");
            let typed = read(&form, &[("k", &value)]).unwrap();
            let again = Typed::from_secret(&typed.to_bytes().into_secret().unwrap()).unwrap();
            prop_assert_eq!(again, typed);
        }
    }
}
