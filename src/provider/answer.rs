//! Reads a token endpoint's answer: tolerantly, and within bounds (R75).
//!
//! The content type is not trusted: a body is JSON when it begins like an object, and form-encoded when it holds the
//! fields of one. Whether it is an error is decided by what it says, not by its status (R76). What it must never do:
//! shorten a token, or let a body, a token or a parser's error (which quotes its input) out of here.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::{
    clock::Millis,
    config::{self, Provider},
    outbound::Answer,
    provider::{
        diagnosis::{Spot, Step},
        life, path,
        tokens::{SlotTokens, Tokens},
    },
    scope::Scopes,
    secret::Secret,
    values::Values,
};

/// Bytes of an answer that are read.
pub(super) const LONGEST_BODY: usize = 256 * 1024;
/// Bytes of one token.
pub(super) const LONGEST_TOKEN: usize = 64 * 1024;
/// Levels of nesting.
const DEEPEST: usize = 32;

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

    /// Reads a token endpoint's answer, whose errors may look as the provider says.
    pub(super) fn of_tokens(answer: &Answer, shape: &config::Answer) -> Self {
        Self { reading: Reading::by(&answer.body, shape), ..Self::of(answer) }
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
        Self::by(body, &config::Answer::default())
    }

    /// The same where errors look as `shape` says.
    pub(super) fn by(body: &[u8], shape: &config::Answer) -> Self {
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
            Ok(fields) => Self::judge(fields, shape),
            Err(what) => Self::Unreadable(what),
        }
    }

    /// `ok` alone decides where it is given. Else what stands at the provider's own place makes an error, and after that
    /// what means one everywhere.
    fn judge(fields: Map<String, Value>, shape: &config::Answer) -> Self {
        let answer = Value::Object(fields);
        let own = shape.error.as_deref().and_then(|path| path::text_at(&answer, path));
        let error = match &shape.ok {
            Some(ok) if path::find(&answer, &ok.path) == Some(&ok.equals) => None,
            Some(_) => Some(own.or_else(|| common_error(&answer).flatten())),
            None => own.map(Some).or_else(|| common_error(&answer)),
        };
        match (error, answer) {
            (Some(code), _) => Self::Error { code },
            (None, Value::Object(fields)) => Self::Fields(fields),
            (None, _) => Self::Unreadable("not_an_object"),
        }
    }
}

/// Whether an answer speaks of an error, with its code where it has one.
fn common_error(answer: &Value) -> Option<Option<String>> {
    match answer.get("error") {
        Some(Value::String(code)) if !code.is_empty() => Some(Some(code.clone())),
        Some(Value::Object(error)) => {
            let named = ["code", "type", "status"].iter().find_map(|key| error.get(*key)?.as_str());
            Some(named.map(str::to_owned))
        }
        Some(Value::Bool(true) | Value::Number(_) | Value::Array(_)) => Some(None),
        None | Some(Value::Null | Value::String(_) | Value::Bool(false)) => {
            (answer.get("ok") == Some(&Value::Bool(false))).then_some(None)
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
    fields: Map<String, Value>,
    provider: &Provider,
    asked: &Scopes,
    now: Millis,
) -> Result<Tokens, &'static str> {
    let shape = &provider.reads.answer;
    let answer = Value::Object(fields);
    let at = |path: &Option<String>, standard| find(&answer, path.as_deref().unwrap_or(standard));
    let access_expires_at = life::of_span(at(&shape.expires_in, "expires_in"), now)
        .or_else(|| life::of_instant(find(&answer, shape.expires_at.as_deref()?), now))
        .or_else(|| shape.default_life.map(|life| now.plus(life)));
    let refresh_life = shape.refresh_expires_in.as_deref().and_then(|path| find(&answer, path));
    let refresh_expires_at = life::of_span(refresh_life, now)
        .or_else(|| REFRESH_LIVES.iter().find_map(|key| life::of_span(answer.get(*key), now)));
    let mut slots = BTreeMap::new();
    for (name, slot) in &provider.reads.slots {
        if let Some(read) = slot_tokens(slot, &answer, provider, now)? {
            slots.insert(name.clone(), read);
        }
    }
    let scope = |path: &Option<String>| granted(at(path, "scope"), provider.scope_separator);
    Ok(Tokens {
        access_token: token_at(at(&shape.access_token, "access_token"), "access_token")?
            .ok_or("access_token")?,
        token_type: match &shape.scheme {
            Some(scheme) => scheme.clone(),
            None => token_type(answer.get("token_type"))?,
        },
        refresh_token: token_at(at(&shape.refresh_token, "refresh_token"), "refresh_token")?,
        access_expires_at,
        refresh_expires_at,
        granted: scope(&shape.scope).unwrap_or_else(|| asked.clone()),
        id_token: token_at(answer.get("id_token"), "id_token")?,
        slots,
        values: Values::default(),
        answer,
    })
}

/// The tokens out of the answer to a refresh of a further token: some providers have it where the first answer had it,
/// others as if it were the only one.
///
/// # Errors
/// As [`tokens`].
pub(super) fn tokens_of_slot(
    fields: Map<String, Value>,
    provider: &Provider,
    slot: &config::Slot,
    asked: &Scopes,
    now: Millis,
) -> Result<Tokens, &'static str> {
    let answer = Value::Object(fields);
    let read = slot_tokens(slot, &answer, provider, now)?;
    let (Some(read), scheme) = (read, provider.reads.answer.scheme.as_deref()) else {
        let Value::Object(fields) = answer else { return Err("not_an_object") };
        return tokens(fields, provider, asked, now);
    };
    Ok(Tokens {
        access_token: read.access_token,
        token_type: scheme.unwrap_or("Bearer").to_owned(),
        refresh_token: read.refresh_token,
        access_expires_at: read.access_expires_at,
        refresh_expires_at: None,
        granted: if read.granted.is_empty() { asked.clone() } else { read.granted },
        id_token: None,
        slots: BTreeMap::new(),
        values: Values::default(),
        answer,
    })
}

/// A further token; none when the answer has none.
fn slot_tokens(
    slot: &config::Slot,
    answer: &Value,
    provider: &Provider,
    now: Millis,
) -> Result<Option<SlotTokens>, &'static str> {
    let Some(access_token) = token_at(find(answer, &slot.access_token), "access_token")? else {
        return Ok(None);
    };
    let at = |path: &Option<String>| path.as_deref().and_then(|path| find(answer, path));
    Ok(Some(SlotTokens {
        access_token,
        refresh_token: token_at(at(&slot.refresh_token), "refresh_token")?,
        access_expires_at: life::of_span(at(&slot.expires_in), now),
        granted: granted(at(&slot.scope), provider.scope_separator).unwrap_or_default(),
    }))
}

/// Where an answer without usable tokens is not as the entry says; `what` as [`tokens`] says it.
pub(super) fn lost(what: &'static str, answer: &Answer, provider: &Provider) -> Spot {
    let shape = &provider.reads.answer;
    let path = match what {
        "access_token" => shape.access_token.as_deref(),
        "refresh_token" => shape.refresh_token.as_deref(),
        _ => None,
    };
    let (spot, key) = (Spot::at(Step::Answer), format!("answer.{what}"));
    match Reading::by(&answer.body, shape) {
        Reading::Fields(fields) => {
            spot.lost(key, path.unwrap_or(what), &Value::Object(fields), &Values::default())
        }
        Reading::Error { .. } | Reading::Unreadable(_) => spot.of(key),
    }
}

/// Where an answer that speaks of an error is not as the entry says: its error has no code, or `ok` is not there.
pub(super) fn unsaid(answer: &Answer, shape: &config::Answer) -> Spot {
    let Ok(body @ Value::Object(_)) = answer.json::<Value>() else { return Spot::default() };
    let none = Values::default();
    match &shape.ok {
        Some(ok) if path::find(&body, &ok.path).is_none() => {
            Spot::default().lost("answer.ok", &ok.path, &body, &none)
        }
        _ => Spot::default().lost("answer.error", shape.error.as_deref().unwrap_or("error"), &body, &none),
    }
}

/// What stands at the first of alternative paths that has something.
fn find<'a>(answer: &'a Value, paths: &str) -> Option<&'a Value> {
    paths.split('|').find_map(|path| path::find(answer, path).filter(|value| !value.is_null()))
}

/// How providers call the life of a refresh token.
const REFRESH_LIVES: [&str; 3] =
    ["refresh_token_expires_in", "refresh_expires_in", "x_refresh_token_expires_in"];

/// A token as it can stand in a header (RFC 6749, appendix A.12); none when it is empty, too long or holds anything else.
fn token_value(token: &str) -> Option<Secret> {
    let token = Secret::new(token);
    let text = token.expose();
    let usable =
        (1..=LONGEST_TOKEN).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    usable.then_some(token)
}

fn token_at(value: Option<&Value>, name: &'static str) -> Result<Option<Secret>, &'static str> {
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

/// What was granted: text separated by spaces, commas or the provider's separator, or a list of such; none when the
/// provider does not say (RFC 6749, section 5.1).
fn granted(value: Option<&Value>, separator: char) -> Option<Scopes> {
    let read = |text: &str| Scopes::lenient(&text.replace(separator, " "));
    match value? {
        Value::String(text) => Some(read(text)),
        Value::Array(list) => {
            let texts = list.iter().filter_map(Value::as_str);
            Some(texts.fold(Scopes::default(), |all, text| all.union(&read(text))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
