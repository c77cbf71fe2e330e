//! Reads a token endpoint's answer: tolerantly, and within bounds (R75).
//!
//! The content type is not trusted: a body is JSON when it begins like an object, and form-encoded when it holds the
//! fields of one. Whether it is an error is decided by what it says, not by its status (R76). What it must never do:
//! shorten a token, or let a body, a token or a parser's error (which quotes its input) out of here.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::{clock::Millis, outbound::Answer, provider::tokens::Tokens, scope::Scopes, secret::Secret};

/// Bytes of an answer that are read.
pub(super) const LONGEST_BODY: usize = 256 * 1024;
/// Bytes of one token.
pub(super) const LONGEST_TOKEN: usize = 64 * 1024;
/// Levels of nesting.
const DEEPEST: usize = 32;
/// A life beyond this is a mistake or "never"; both are bounded to it.
const LONGEST_LIFE: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A whole answer, with what of its head matters.
pub(super) struct Answered {
    /// The status.
    pub status: u16,
    /// How long we are asked to wait.
    pub retry_after: Option<Duration>,
    /// The body.
    pub reading: Reading,
}

impl Answered {
    /// Reads an answer.
    pub(super) fn of(answer: &Answer) -> Self {
        Self {
            status: answer.status.as_u16(),
            retry_after: answer.retry_after(answer.received_at),
            reading: Reading::of(&answer.body),
        }
    }
}

/// A body, read.
pub(super) enum Reading {
    /// An object that speaks of no error.
    Fields(Map<String, Value>),
    /// An object that speaks of an error, with its code where it has one.
    Error {
        /// As the provider wrote it: not to be shown before it is cleaned.
        code: Option<String>,
    },
    /// Nothing, HTML, cut off, too long or too deep: a stable word for what it is.
    Unreadable(&'static str),
}

impl Reading {
    /// Reads a body. Total: any bytes give a reading.
    pub(super) fn of(body: &[u8]) -> Self {
        if body.len() > LONGEST_BODY {
            return Self::Unreadable("too_long");
        }
        let Ok(text) = std::str::from_utf8(body) else { return Self::Unreadable("not_text") };
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Self::Unreadable("empty");
        }
        let fields = if text.starts_with('{') { from_json(text) } else { from_form(text) };
        match fields {
            Ok(fields) => Self::judge(fields),
            Err(what) => Self::Unreadable(what),
        }
    }

    fn judge(fields: Map<String, Value>) -> Self {
        let code = match fields.get("error") {
            None | Some(Value::Null) => None,
            Some(Value::String(code)) if code.is_empty() => None,
            Some(Value::String(code)) => Some(Some(code.clone())),
            Some(Value::Object(error)) => {
                let named = ["code", "type", "status"].iter().find_map(|key| error.get(*key)?.as_str());
                Some(named.map(str::to_owned))
            }
            Some(Value::Bool(false)) => None,
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => Some(None),
        };
        match code {
            Some(code) => Self::Error { code },
            None if fields.get("ok") == Some(&Value::Bool(false)) => Self::Error { code: None },
            None => Self::Fields(fields),
        }
    }
}

fn from_json(text: &str) -> Result<Map<String, Value>, &'static str> {
    if depth(text) > DEEPEST {
        return Err("too_deep");
    }
    serde_json::from_str(text).map_err(|_| "not_json")
}

/// How deep brackets are nested, outside of strings.
fn depth(text: &str) -> usize {
    let (mut now, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                now += 1;
                deepest = deepest.max(now);
            }
            b'}' | b']' if !in_string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn from_form(text: &str) -> Result<Map<String, Value>, &'static str> {
    if text.starts_with('<') || !text.contains('=') || text.contains(char::is_whitespace) {
        return Err(if text.starts_with('<') { "markup" } else { "not_an_object" });
    }
    let mut fields = Map::new();
    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
        if fields.insert(name.into_owned(), Value::String(value.into_owned())).is_some() {
            return Err("repeated_field");
        }
    }
    if fields.contains_key("access_token") || fields.contains_key("error") {
        Ok(fields)
    } else {
        Err("not_an_object")
    }
}

/// Reads the tokens out of a successful answer. `asked` is what was granted when the provider does not say.
///
/// # Errors
/// A stable word for what makes the answer unusable.
pub(super) fn tokens(
    mut fields: Map<String, Value>,
    asked: &Scopes,
    now: Millis,
) -> Result<Tokens, &'static str> {
    let access_token = match fields.remove("access_token") {
        Some(Value::String(token)) => token_value(token).ok_or("access_token")?,
        _ => return Err("access_token"),
    };
    Ok(Tokens {
        access_token,
        token_type: token_type(fields.get("token_type"))?,
        refresh_token: optional_token(fields.remove("refresh_token"), "refresh_token")?,
        access_expires_at: expiry(fields.get("expires_in"), now),
        refresh_expires_at: REFRESH_LIVES.iter().find_map(|key| expiry(fields.get(*key), now)),
        granted: granted(fields.get("scope"), asked),
        id_token: optional_token(fields.remove("id_token"), "id_token")?,
        values: BTreeMap::new(),
    })
}

/// How providers call the life of a refresh token.
const REFRESH_LIVES: [&str; 3] =
    ["refresh_token_expires_in", "refresh_expires_in", "x_refresh_token_expires_in"];

/// A token as it can stand in a header (RFC 6749, appendix A.12); none when it is empty, too long or holds anything else.
fn token_value(token: String) -> Option<Secret> {
    let token = Secret::new(token);
    let text = token.expose();
    let usable =
        (1..=LONGEST_TOKEN).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    usable.then_some(token)
}

fn optional_token(value: Option<Value>, name: &'static str) -> Result<Option<Secret>, &'static str> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(token)) if token.is_empty() => Ok(None),
        Some(Value::String(token)) => token_value(token).map(Some).ok_or(name),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => Err(name),
    }
}

/// RFC 6749, section 5.1: the type is case-insensitive. Absent means `Bearer`; what is not `Bearer` is kept as it is.
fn token_type(value: Option<&Value>) -> Result<String, &'static str> {
    match value {
        None | Some(Value::Null) => Ok("Bearer".into()),
        Some(Value::String(kind)) if kind.is_empty() || kind.eq_ignore_ascii_case("bearer") => {
            Ok("Bearer".into())
        }
        Some(Value::String(kind))
            if kind.len() <= 32
                && kind.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')) =>
        {
            Ok(kind.clone())
        }
        Some(_) => Err("token_type"),
    }
}

/// When a life given in seconds ends: a number or its text, whole or not. None when it is absent, not a number, zero or
/// negative: some providers write 0 for "never", and a token that is really dead is reported by whoever tries it.
fn expiry(value: Option<&Value>, now: Millis) -> Option<Millis> {
    let seconds = match value? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let life = Duration::try_from_secs_f64(seconds).unwrap_or(if seconds > 0.0 {
        LONGEST_LIFE
    } else {
        Duration::ZERO
    });
    (life >= Duration::from_millis(1)).then(|| now.plus(life.min(LONGEST_LIFE)))
}

/// What was granted: text separated by spaces or commas, or a list of such; what was asked for when the provider does not
/// say (RFC 6749, section 5.1).
fn granted(value: Option<&Value>, asked: &Scopes) -> Scopes {
    match value {
        Some(Value::String(text)) => Scopes::lenient(text),
        Some(Value::Array(list)) => list
            .iter()
            .filter_map(Value::as_str)
            .fold(Scopes::default(), |all, text| all.union(&Scopes::lenient(text))),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => asked.clone(),
    }
}

#[cfg(test)]
mod tests;
