//! A provider whose addresses have variables in them: what it becomes once they are known.
//!
//! The settings' own table is filled in and checked again like any other, so that a value can lead nowhere that the
//! operator could not have written, and all other code sees a provider without variables. What it must never hold: a
//! secret; those of the provider it is made for are taken over.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::{
    Environment, Provider, check,
    variables::{Ask, Known, Part, Unfit, Variable},
};
use crate::{outbound::AddressPolicy, values::Values};

/// Keys whose value is an address.
const ADDRESSES: &[&str] = &[
    "issuer",
    "authorization_endpoint",
    "token_endpoint",
    "refresh_endpoint",
    "revocation_endpoint",
    "userinfo_endpoint",
    "manage_url",
    "resource",
];
/// Tables, or lists of tables, with an address under `url` or `base_url`.
const CALLS: &[&str] =
    &["revocation", "renewal", "token_steps", "probe", "choice", "granted", "use", "preconditions"];
/// What such a table says beside: headers, parameters.
const TEXTS: &[&str] = &["headers", "params", "query", "basic"];
/// What is never kept here.
const SECRETS: &[&str] =
    &["client_secret", "client_key", "client_key_id", "client_key_thumbprint", "client_key_algorithm"];

/// See the head.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// The variables, by name.
    pub variables: BTreeMap<String, Variable>,
    /// What the operator has set.
    pub given: Values,
    pub(super) table: Table,
    pub(super) policy: AddressPolicy,
    pub(super) loopback: bool,
}

/// A value that may not be given, or not like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGiven {
    /// There is no variable of this name, or others give it.
    #[error("may not be given")]
    NotAllowed,
    /// It does not fit.
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

impl Blueprint {
    /// One value from `who`, in its one form.
    ///
    /// # Errors
    /// [`NotGiven`].
    pub fn accept(&self, who: Ask, name: &str, text: &str) -> Result<String, NotGiven> {
        let variable = self.variables.get(name).filter(|one| one.may(who)).ok_or(NotGiven::NotAllowed)?;
        if self.given.get(name).is_some() {
            return Err(NotGiven::NotAllowed);
        }
        Ok(variable.accept(text)?)
    }

    /// The operator's values, else the first of `sources` that has one which still fits, else the default.
    pub fn known(&self, sources: &[&Values]) -> Known {
        let mut known = Known::default();
        for (name, variable) in &self.variables {
            let given = || sources.iter().find_map(|source| variable.accept(source.get(name)?).ok());
            let value =
                self.given.get(name).map(str::to_owned).or_else(given).or_else(|| variable.default.clone());
            match value {
                Some(value) if known.values.insert(name, &value).is_ok() => {}
                _ => known.missing.push(name.clone()),
            }
        }
        known
    }

    /// A sentence for people with these values in it: choices by their labels, and what nobody has said yet by what it is
    /// called.
    pub fn told(&self, text: &str, values: &Values) -> String {
        let mut told = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => told.push_str(text),
                Piece::Name(name, _) => {
                    let variable = self.variables.get(name);
                    // Before the provider has said it, there is a sample.
                    let known =
                        values.get(name).filter(|_| variable.is_none_or(|it| it.from_callback.is_none()));
                    let shown = known.map(|value| {
                        variable.and_then(|it| it.choices.get(value)).map_or(value, String::as_str)
                    });
                    told.push_str(shown.or(variable.map(|it| it.label.as_str())).unwrap_or(name));
                }
            }
        }
        told
    }

    /// The provider that `base` is with these values, checked like any other.
    ///
    /// # Errors
    /// When a value is missing, or what comes of it may not be configured.
    pub fn build(&self, base: &Provider, values: &Values) -> Result<Provider, Unfit> {
        let mut table = self.table.clone();
        fill(&mut table, &|name| values.get(name));
        let mut built = check::concrete(table, base, &self.policy, self.loopback).ok_or(Unfit::Host)?;
        built.variables = self
            .variables
            .keys()
            .filter_map(|name| Some((name, values.get(name)?)))
            .try_fold(Values::default(), |mut all, (name, value)| {
                all.insert(name, value).map(|()| all).map_err(|_| Unfit::Pattern)
            })?;
        Ok(built)
    }
}

/// Takes what is kept of a provider's table.
pub(super) fn kept(table: &Table) -> Table {
    let mut kept = table.clone();
    kept.retain(|key, _| !SECRETS.contains(&key));
    kept
}

/// Calls `each` with every text that may hold variables, and whether it is an address.
pub(super) fn texts(table: &mut Table, each: &mut dyn FnMut(&str, &mut String, bool)) {
    for (key, value) in table.iter_mut() {
        if ADDRESSES.contains(&key.as_str()) {
            each_text(key, value, true, each);
        } else if key.ends_with("_params") {
            each_text(key, value, false, each);
        } else if CALLS.contains(&key.as_str()) {
            match value {
                Value::Table(call) => call_texts(key, call, each),
                Value::Array(calls) => {
                    for (at, call) in calls.iter_mut().enumerate() {
                        if let Value::Table(call) = call {
                            call_texts(&format!("{key}[{at}]"), call, each);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

fn call_texts(at: &str, call: &mut Table, each: &mut dyn FnMut(&str, &mut String, bool)) {
    for (key, value) in call.iter_mut() {
        let path = format!("{at}.{key}");
        if matches!(key.as_str(), "url" | "base_url") {
            each_text(&path, value, true, each);
        } else if TEXTS.contains(&key.as_str()) {
            each_text(&path, value, false, each);
        }
    }
}

fn each_text(path: &str, value: &mut Value, address: bool, each: &mut dyn FnMut(&str, &mut String, bool)) {
    match value {
        Value::String(text) => each(path, text, address),
        Value::Array(values) => values.iter_mut().for_each(|value| each_text(path, value, address, each)),
        Value::Table(table) => {
            for (key, value) in table.iter_mut() {
                each_text(&format!("{path}.{key}"), value, address, each);
            }
        }
        _ => {}
    }
}

/// Puts values into a provider's table. What is not known stays as it is.
pub(super) fn fill<'a>(table: &mut Table, known: &dyn Fn(&str) -> Option<&'a str>) {
    texts(table, &mut |_, text, address| {
        if text.contains('{') {
            *text = filled(text, address, known);
        }
    });
}

fn filled<'a>(template: &str, address: bool, known: &dyn Fn(&str) -> Option<&'a str>) -> String {
    let mut whole = String::with_capacity(template.len());
    for piece in pieces(template) {
        match piece {
            Piece::Text(text) => whole.push_str(text),
            Piece::Name(name, at) => match known(name) {
                Some(value) if address && at >= authority_end(template) => {
                    // In a path a space is not a plus.
                    let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
                    whole.push_str(&encoded.replace('+', "%20"));
                }
                Some(value) => whole.push_str(value),
                None => {
                    whole.push('{');
                    whole.push_str(name);
                    whole.push('}');
                }
            },
        }
    }
    whole
}

/// A part of a template.
pub(super) enum Piece<'a> {
    /// As it stands.
    Text(&'a str),
    /// A name in braces, and where its brace is.
    Name(&'a str, usize),
}

/// The parts of a template; a brace without a name is text.
pub(super) fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    while let Some(open) = template[from..].find('{').map(|at| from + at) {
        let name = template[open + 1..].find('}').map(|length| &template[open + 1..open + 1 + length]);
        let Some(name) = name.filter(|name| crate::values::is_name(name)) else {
            pieces.push(Piece::Text(&template[from..=open]));
            from = open + 1;
            continue;
        };
        pieces.push(Piece::Text(&template[from..open]));
        pieces.push(Piece::Name(name, open));
        from = open + name.len() + 2;
    }
    pieces.push(Piece::Text(&template[from..]));
    pieces
}

/// Where the host begins; none in a text without one.
fn authority_start(template: &str) -> Option<usize> {
    template.find("://").map(|at| at + 3)
}

/// Where the host and its port end.
fn authority_end(template: &str) -> usize {
    let Some(start) = authority_start(template) else { return 0 };
    template[start..].find(['/', '?', '#', '\\']).map_or(template.len(), |length| start + length)
}

/// Where in an address the brace at `at` stands; none where no variable may stand.
pub(super) fn part(template: &str, at: usize) -> Option<Part> {
    let start = authority_start(template)?;
    let end = authority_end(template);
    if at >= end {
        return Some(Part::Elsewhere);
    }
    let before = template.get(start..at)?;
    if at < start || before.contains([':', '@']) {
        return None;
    }
    let behind = template[at..end].split_once('}')?.1;
    if behind.contains('@') {
        return None;
    }
    let tail = behind.split(':').next().unwrap_or_default();
    let fixed = tail.starts_with('.') && !tail.contains('{');
    Some(Part::Host(if fixed { tail.to_ascii_lowercase() } else { String::new() }))
}

/// Reads no environment: what is filled in has no secrets of its own.
pub(super) fn no_environment() -> Environment {
    Environment::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(template: &str, value: &str) -> String {
        filled(template, true, &|name| (name == "v").then_some(value))
    }

    #[test]
    fn a_value_outside_of_the_host_is_one_piece() {
        assert_eq!(with("https://{v}.example/a", "acme"), "https://acme.example/a");
        assert_eq!(with("https://a.example/{v}/b", "x/../y?z#"), "https://a.example/x%2F..%2Fy%3Fz%23/b");
        assert_eq!(with("https://a.example/{w}/{v}", "x y"), "https://a.example/{w}/x%20y");
        assert_eq!(with("https://a.example/{ {v}", "{v}"), "https://a.example/{ %7Bv%7D");
    }

    #[test]
    fn the_part_of_an_address_is_told() {
        let part = |template: &str| part(template, template.find('{').unwrap());
        assert_eq!(part("https://{v}.zendesk.com/x"), Some(Part::Host(".zendesk.com".to_owned())));
        assert_eq!(part("https://api-{v}.A.com:8443?x"), Some(Part::Host(".a.com".to_owned())));
        assert_eq!(part("https://{v}/x"), Some(Part::Host(String::new())));
        assert_eq!(part("https://{v}.{w}.com/x"), Some(Part::Host(String::new())));
        assert_eq!(part("https://{v}evil.com/x"), Some(Part::Host(String::new())));
        assert_eq!(part("https://a.com/{v}"), Some(Part::Elsewhere));
        assert_eq!(part("https://a.com?{v}@b"), Some(Part::Elsewhere));
        for bad in ["{v}://a.com", "{v}/x", "https://a.com:{v}/x", "https://{v}@a.com/", "https://u@{v}/"] {
            assert_eq!(part(bad), None, "{bad}");
        }
    }
}
