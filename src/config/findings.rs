//! What is wrong with a configuration, all of it at once.
//!
//! What it must never do: repeat a value. A value in the wrong place may be a secret.

use std::fmt;

use strsim::levenshtein;

/// The most keys that a sentence lists.
const LISTED_MAX: usize = 12;
/// Keys of a form that a person fills in, which the other kinds have not.
const OF_FORMS: [&str; 4] = ["fields", "key_url", "probe_note", "what"];

/// One thing that is wrong: where, and why. Never the value (R103).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The key's path, such as `providers[0].client_id`; a file's name or a variable's for what concerns it as a whole.
    pub key: String,
    /// A sentence without a subject: "must be https".
    pub problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.problem)
    }
}

impl std::error::Error for ConfigError {}

/// Collects findings, so that an operator mends a file in one go.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<ConfigError>);

impl Findings {
    /// Notes that `key` cannot stay as it is.
    pub(super) fn refuse(&mut self, key: impl Into<String>, problem: impl Into<String>) {
        self.0.push(ConfigError { key: key.into(), problem: problem.into() });
    }

    /// Notes it unless `holds`.
    pub(super) fn demand(&mut self, holds: bool, key: impl Into<String>, problem: impl Into<String>) {
        if !holds {
            self.refuse(key, problem);
        }
    }

    /// Whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value, or a finding. The error's text must not repeat the value.
    pub(super) fn keep<T, E: fmt::Display>(
        &mut self,
        key: impl Into<String>,
        result: Result<T, E>,
    ) -> Option<T> {
        result.map_err(|error| self.refuse(key, error.to_string())).ok()
    }

    /// Notes what serde says of a value below `at`, reworded so that it holds no value.
    pub(super) fn refuse_shape(&mut self, at: &str, error: &serde_path_to_error::Error<toml::de::Error>) {
        let inner = error.path().to_string();
        let key = match (at, inner.as_str()) {
            (at, ".") => at.to_owned(),
            ("", inner) => inner.to_owned(),
            (at, inner) if inner.starts_with('[') => format!("{at}{inner}"),
            (at, inner) => format!("{at}.{inner}"),
        };
        self.refuse(key, reword(error.inner().message()));
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// `value` when nothing is wrong.
    pub(super) fn settle<T>(self, value: Option<T>) -> Result<T, Vec<ConfigError>> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(self.0),
        }
    }
}

/// serde's own sentences repeat the value; what remains of them says what was expected.
fn reword(message: &str) -> String {
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected);
    if message.starts_with("unknown field ") {
        // The path names the field.
        let known = expected.map(|known| known.trim_start_matches("one of ")).unwrap_or_default();
        let field = message.split('`').nth(1).unwrap_or_default();
        return no_setting(field, known);
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("lacks the key {field}");
    }
    if message.starts_with("unknown variant ") {
        return format!("must be {}", expected.unwrap_or("another word"));
    }
    if message.starts_with("invalid ") {
        return format!("must be {}", expected.unwrap_or("of another kind"));
    }
    // A sentence of ours.
    if message.starts_with("must be ") {
        return message.to_owned();
    }
    // `url` and others append the value to their own sentence.
    let plain = message.split('"').next().unwrap_or_default().trim_end_matches([' ', ':']);
    format!("is refused: {plain}")
}

/// Points where one name is near, and lists only what can be read at a glance.
fn no_setting(field: &str, known: &str) -> String {
    let names: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    match names.iter().min_by_key(|name| levenshtein(name, field)) {
        None => "is no setting".to_owned(),
        Some(nearest) if levenshtein(nearest, field) <= field.chars().count().div_ceil(3) => {
            format!("is no setting; the nearest is `{nearest}`")
        }
        Some(_) if names.len() <= LISTED_MAX => format!("is no setting; there are {known}"),
        // A key of the other kind of provider, most of all.
        Some(_) if names.contains(&"token_endpoint") && OF_FORMS.contains(&field) => {
            "is no setting of OAuth 2; what users type in is `kind = \"secret\"`".to_owned()
        }
        Some(_) => "is no setting here".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_none_is_told_what_it_may_be() {
        let many: Vec<String> = (0..20).map(|n| format!("`key_{n}_of_them`")).collect();
        let many = format!("`token_endpoint`, {}", many.join(", "));
        for (field, known, told) in [
            ("tokenendpoint", many.as_str(), "is no setting; the nearest is `token_endpoint`"),
            ("fields", &many, "is no setting of OAuth 2; what users type in is `kind = \"secret\"`"),
            ("wheels", &many, "is no setting here"),
            ("wheels", "`a`, `b`", "is no setting; there are `a`, `b`"),
            ("wheels", "", "is no setting"),
        ] {
            assert_eq!(no_setting(field, known), told);
        }
    }

    #[test]
    fn a_sentence_of_serdes_loses_the_value() {
        for (theirs, ours) in [
            ("invalid type: string \"canary, expected nothing\", expected u32", "must be u32"),
            ("unknown field `colour`, expected one of `a`, `b`", "is no setting; there are `a`, `b`"),
            ("unknown variant `canary`, expected `text` or `json`", "must be `text` or `json`"),
            ("missing field `id`", "lacks the key `id`"),
            ("invalid value: integer `-1`, expected u16", "must be u16"),
        ] {
            assert_eq!(reword(theirs), ours);
        }
    }
}
