//! Where a step at a provider failed, for whoever wrote its entry: the step, the key that did not find what it names, and
//! what the answer has at that place.
//!
//! Names only. What it must never do: hold a value, a body, an address, or a word of the provider's that does not look like
//! the name of a field or of an error.

use std::fmt;

use serde_json::{Map, Value};

use crate::{
    config::Provider,
    provider::{error::ProviderError, failure::Failure, path, tokens::Tokens},
    values::Values,
};

/// Names of one place that are told.
const NAMES_MAX: usize = 12;
/// Characters of a name, and how many of them may be digits: what has more may be an id, or a token.
const NAME_MAX: usize = 32;
const DIGITS_MAX: usize = 2;

/// What was being done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The code was sent.
    Exchange,
    /// Its answer was read.
    Answer,
    /// A further token was asked for: which of the steps, from 1.
    Further(usize),
    /// The account was asked for.
    Probe,
    /// It was asked what was granted.
    Granted,
    /// A value was to be kept.
    Capture(String),
    /// The tenants were asked for.
    Choice,
    /// A token was to be ended.
    Revocation,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exchange => f.write_str("exchange"),
            Self::Answer => f.write_str("answer"),
            Self::Further(number) => write!(f, "step {number}"),
            Self::Probe => f.write_str("probe"),
            Self::Granted => f.write_str("granted"),
            Self::Capture(name) => write!(f, "capture {name}"),
            Self::Choice => f.write_str("choice"),
            Self::Revocation => f.write_str("revocation"),
        }
    }
}

/// What is known of the place. Everything in it may be logged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The step, where it is another than the one that was begun.
    pub(crate) step: Option<Step>,
    /// The status of the answer.
    pub(crate) status: Option<u16>,
    /// What is wrong, as a stable word of ours.
    pub(crate) what: Option<&'static str>,
    /// The provider's error code, cleaned.
    pub(crate) code: Option<String>,
    /// The key of the entry that did not find what it names, or whose rule was broken.
    pub(crate) key: Option<String>,
    /// The path that stands there, as far as the answer has it.
    pub(crate) at: Option<String>,
    /// What the answer has there.
    pub(crate) has: Option<String>,
}

impl Spot {
    /// At this step.
    pub(crate) fn at(step: Step) -> Self {
        Self { step: Some(step), ..Self::default() }
    }

    /// With the key that is concerned.
    pub(crate) fn of(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// With what `answer` has instead of what `template` names: a path, alternatives of paths, or a text with paths in
    /// braces, as `key` has it.
    pub(crate) fn lost(
        self,
        key: impl Into<String>,
        template: &str,
        answer: &Value,
        values: &Values,
    ) -> Self {
        let paths = path::missing(answer, values, template).unwrap_or(template);
        let first = paths.split('|').next().unwrap_or_default();
        let (found, place) = path::deepest(answer, first);
        let at = Some(found.to_owned()).filter(|found| !found.is_empty());
        Self { at, has: Some(has(place)), ..self.of(key) }
    }
}

/// What stands at a place, without any value of it.
pub(crate) fn has(place: &Value) -> String {
    match place {
        Value::Object(fields) => names(fields),
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::String(_) => "a text".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Null => "nothing".to_owned(),
    }
}

fn names(fields: &Map<String, Value>) -> String {
    if fields.is_empty() {
        return "nothing".to_owned();
    }
    let mut told: Vec<&str> = fields.keys().map(String::as_str).filter(|name| is_name(name)).collect();
    told.sort_unstable();
    told.truncate(NAMES_MAX);
    let more = fields.len() - told.len();
    let mut text = told.join(", ");
    if more > 0 {
        let and = if text.is_empty() { "" } else { " and " };
        text.push_str(&format!("{and}{more} more"));
    }
    text
}

/// Whether it looks like the name of a field, and not like an id or a secret that somebody has made a key of.
fn is_name(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$'));
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || first == '$');
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    plain && begins && name.len() <= NAME_MAX && digits <= DIGITS_MAX
}

/// A failure and where it was.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: ProviderError,
    spot: Box<Spot>,
}

impl Failed {
    /// Made of an answer that cannot be used.
    pub(super) fn unusable(what: &'static str, spot: Spot) -> Self {
        Self { error: ProviderError::Malformed { what }, spot: Box::new(spot) }
    }

    pub(super) fn new(error: ProviderError, spot: Spot) -> Self {
        Self { error, spot: Box::new(spot) }
    }

    /// The same, where nothing nearer is known.
    pub(super) fn during(mut self, step: Step) -> Self {
        self.spot.step.get_or_insert(step);
        self
    }

    /// The one line for it. Who asked, and for whom, is said by the span that this runs in.
    pub(super) fn tell(self, provider: &Provider) -> ProviderError {
        let Self { error, spot } = self;
        let Spot { step, status, what, code, key, at, has } = *spot;
        tracing::warn!(
            provider = %provider.id,
            step = step.map(|step| step.to_string()),
            why = error.code(),
            what = what.or(error.detail()),
            status,
            code,
            key,
            at,
            has,
            "a step at the provider failed"
        );
        error
    }
}

impl From<ProviderError> for Failed {
    fn from(error: ProviderError) -> Self {
        Self::new(error, Spot::default())
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        let mut spot = (*failure.spot).clone();
        (spot.status, spot.what) = (failure.status, Some(failure.what));
        spot.code.clone_from(&failure.code);
        Self::new(failure.into(), spot)
    }
}

/// For a grant that is not kept because nothing renews it; `code` is what its trip ends with.
pub(crate) fn unrenewable(provider: &Provider, tokens: &Tokens, code: &str) -> ProviderError {
    let path = provider.reads.answer.refresh_token.as_deref().unwrap_or("refresh_token");
    let spot = Spot::at(Step::Answer).lost("answer.refresh_token", path, &tokens.answer, &Values::default());
    Failed::new(ProviderError::CodeRefused { code: Some(code.to_owned()) }, spot).tell(provider)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_that_finds_nothing_is_told_with_what_is_there() {
        let answer =
            json!({"ok": true, "data": {"token": "lbt_1", "renewal_token": "lbr_1", "list": [1, 2]}});
        let mut values = Values::default();
        values.insert("workspace", "w").unwrap();
        for (template, at, has) in [
            ("access_token", None, "data, ok"),
            ("data.tokn", Some("data"), "list, renewal_token, token"),
            ("data.token", Some("data.token"), "a text"),
            ("data.token.value", Some("data.token"), "a text"),
            ("data.list.7.id", Some("data.list"), "a list of 2"),
            ("data.name|data.login", Some("data"), "list, renewal_token, token"),
            ("{workspace}:{data.id}", Some("data"), "list, renewal_token, token"),
        ] {
            let spot = Spot::at(Step::Probe).lost("probe.id", template, &answer, &values);
            assert_eq!((spot.at.as_deref(), spot.has.as_deref()), (at, Some(has)), "{template}");
        }
    }

    #[test]
    fn only_what_looks_like_a_name_is_told() {
        for (fields, expected) in [
            (json!({}), "nothing"),
            (json!({"lbt_4f8a9c33": 1}), "1 more"),
            (
                json!({"id": 1, "ann@example.com": 1, "4711": 1, "a b": 1, "oauth2_url": 1}),
                "id, oauth2_url and 3 more",
            ),
        ] {
            assert_eq!(has(&fields), expected, "{fields}");
        }
        let many: Map<String, Value> =
            (0..26_u8).map(|n| (char::from(b'a' + n).to_string(), Value::Null)).collect();
        assert!(has(&Value::Object(many)).ends_with(" and 14 more"));
    }

    proptest! {
        /// R117: nothing of a value, and no long text, whatever the answer is made of.
        #[test]
        fn r117_no_value_is_told(
            fields in proptest::collection::btree_map("[a-z]{1,40}|\\PC{0,40}", "VALUE\\PC{0,20}", 0..30),
            template in "[a-z.|{}0-9]{0,30}",
        ) {
            let answer = json!({ "a": fields, "b": [fields] });
            let spot = Spot::default().lost("answer.error", &template, &answer, &Values::default());
            let said = format!("{:?} {:?}", spot.at, spot.has);
            prop_assert!(!said.contains("VALUE") && said.len() < 600, "{said}");
            prop_assert!(said.is_ascii(), "{said}");
        }
    }
}
