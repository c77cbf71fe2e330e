//! Every key service of the catalogue, one at a time: it takes the one call that its entry tells of, with each value where
//! the entry says and nowhere else, and answers as its documentation shows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::Url;
use serde_json::{Value, json};

use super::{
    Plays,
    asked::{Asked, Refused, demand},
    fact::{Fact, Pair, Told},
    sample::{is_secret, text},
};

/// Entries whose secrets stand in an address, and why they must. Elsewhere none does, for addresses are logged by
/// everything between here and there.
pub(super) const IN_ADDRESS: [(&str, &str); 3] = [
    ("algolia", "a key's own record is the one call that every key may make"),
    ("serpapi", "the service reads a key in the query alone"),
    ("telegram-bot", "the service reads a token in the path alone"),
];

/// What every request holds beside what its entry says.
const ORDINARY: [&str; 3] = ["host", "user-agent", "content-length"];

/// All of them.
pub(super) struct KeyServices {
    facts: BTreeMap<String, Fact>,
    now: Mutex<Scene>,
}

/// Who is asked now, with what, and what it says.
struct Scene {
    id: String,
    values: BTreeMap<String, String>,
    tells: Told,
    heard: Vec<String>,
    faults: Vec<String>,
    /// Every secret that was ever due.
    known: BTreeSet<String>,
}

impl KeyServices {
    pub(super) fn new(facts: Vec<Fact>) -> Self {
        let facts = facts.into_iter().map(|fact| (fact.id.clone(), fact)).collect();
        let (id, values, tells) = (String::new(), BTreeMap::new(), Told::nothing());
        let (heard, faults, known) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { facts, now: Mutex::new(Scene { id, values, tells, heard, faults, known }) }
    }

    /// From now on these values are due at this service, which says this.
    pub(super) fn awaits(&self, fact: &Fact, values: &BTreeMap<String, String>, tells: Told) {
        let mut now = self.now.lock().unwrap();
        if now.id != fact.id {
            now.heard.clear();
        }
        now.known.extend(secrets(fact, values));
        (now.id, now.values, now.tells) = (fact.id.clone(), values.clone(), tells);
    }

    /// How often the one that is asked now was asked.
    pub(super) fn times(&self) -> usize {
        self.now.lock().unwrap().heard.len()
    }

    /// Every secret that was typed.
    pub(super) fn known(&self) -> BTreeSet<String> {
        self.now.lock().unwrap().known.clone()
    }
}

impl Plays for KeyServices {
    fn hears(&self, asked: &Asked) -> Told {
        let mut now = self.now.lock().unwrap();
        let asks = format!("{} {}", asked.method, asked.url);
        now.heard.push(asks.clone());
        let Some(fact) = self.facts.get(&now.id) else {
            now.faults.push(format!("{asks} though nobody types"));
            return Told::nothing();
        };
        if let Err(fault) = checks(fact, &now.values, asked) {
            now.faults.push(format!("{asks}: {fault}"));
            return Told::json(404, &json!({}));
        }
        now.tells.clone()
    }

    fn facts(&self) -> Vec<Fact> {
        self.facts.values().cloned().collect()
    }

    fn faults(&self, id: &str) -> Vec<String> {
        let mut now = self.now.lock().unwrap();
        if now.id == id { std::mem::take(&mut now.faults) } else { Vec::new() }
    }

    fn heard(&self, _id: &str) -> String {
        self.now.lock().unwrap().heard.join(", ")
    }
}

/// The secrets among values.
pub(super) fn secrets(fact: &Fact, values: &BTreeMap<String, String>) -> Vec<String> {
    let fields = fact.tables("fields").into_iter().filter(|field| is_secret(field));
    fields.filter_map(|field| values.get(text(field, "name")).cloned()).collect()
}

/// A template with values as they are.
fn filled(template: &str, values: &BTreeMap<String, String>) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Percent-encoded but for what RFC 3986, section 2.3 leaves.
pub(super) fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// An address with values in it.
pub(super) fn address(template: &str, values: &BTreeMap<String, String>) -> String {
    let values = values.iter().map(|(name, value)| (name.clone(), encoded(value))).collect();
    filled(template, &values)
}

/// The headers of a table of the entry, and Basic: the name in lower case.
fn headers(fact: &Fact, of: &str, values: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let own = fact.texts(&format!("{of}.headers")).into_iter();
    let mut headers: BTreeMap<String, String> =
        own.map(|(name, value)| (name.to_ascii_lowercase(), filled(&value, values))).collect();
    if fact.says(&format!("{of}.basic")) {
        let part = |part: &str| filled(fact.text(&format!("{of}.basic.{part}")).unwrap_or_default(), values);
        let pair = BASE64_STANDARD.encode(format!("{}:{}", part("username"), part("password")));
        headers.insert("authorization".to_owned(), format!("Basic {pair}"));
    }
    headers
}

/// What the entry's `use` says with these values.
pub(super) fn used(fact: &Fact, values: &BTreeMap<String, String>) -> Value {
    let names = fact.texts("use.headers").into_keys().chain(["Authorization".to_owned()]);
    let written: BTreeMap<String, String> = names.map(|name| (name.to_ascii_lowercase(), name)).collect();
    let headers = headers(fact, "use", values).into_iter();
    let headers: BTreeMap<String, String> =
        headers.map(|(name, value)| (written[&name].clone(), value)).collect();
    let query = fact.texts("use.query").into_iter();
    let query: BTreeMap<String, String> = query.map(|(name, text)| (name, filled(&text, values))).collect();
    let base = fact.text("use.base_url").map(|base| address(base, values));
    json!({ "base_url": base, "headers": headers, "query": query })
}

/// Whether a secret of the entry stands in an address that is called or handed out.
pub(super) fn shows_secret_in_address(fact: &Fact) -> bool {
    let fields = fact.tables("fields").into_iter().filter(|field| is_secret(field));
    let places: Vec<String> = fields.map(|field| format!("{{{}}}", text(field, "name"))).collect();
    let queries = ["use.query", "probe.query"].map(|key| fact.texts(key).into_values());
    let texts = ["use.base_url", "probe.url"].map(|key| fact.text(key).map(str::to_owned));
    let mut texts = texts.into_iter().flatten().chain(queries.into_iter().flatten());
    texts.any(|text| places.iter().any(|place| text.contains(place)))
}

/// The call is the entry's, to the last byte.
fn checks(fact: &Fact, values: &BTreeMap<String, String>, asked: &Asked) -> Result<(), Refused> {
    asked.tells_length()?;
    let template = fact.text("probe.url").ok_or("it has no call to check a key by")?;
    let method = fact.text("probe.method").unwrap_or("GET");
    demand(asked.method.as_str() == method, || format!("it wants {method}"))?;
    let (place, own) = template.split_once('?').unwrap_or((template, ""));
    let (expected, found): (Url, Url) = (
        address(place, values).parse().map_err(|_| format!("{place} is no address with values"))?,
        asked.url.parse().map_err(|_| "no address")?,
    );
    demand(expected.origin() == found.origin(), || {
        format!("it is at {}", expected.origin().ascii_serialization())
    })?;
    demand(expected.path() == found.path(), || format!("it is at the path {}", expected.path()))?;
    let mut query: Vec<Pair> = url::form_urlencoded::parse(own.as_bytes())
        .map(|(name, value)| (name.into_owned(), filled(&value, values)))
        .collect();
    let more = if fact.says("probe.query") { "probe.query" } else { "use.query" };
    query.extend(fact.texts(more).into_iter().map(|(name, text)| (name, filled(&text, values))));
    let mut said: Vec<Pair> = found.query_pairs().into_owned().collect();
    query.sort();
    said.sort();
    demand(query == said, || format!("the query is {said:?}, expected {query:?}"))?;

    let own = fact.says("probe.headers") || fact.says("probe.basic");
    let mut expected = headers(fact, if own { "probe" } else { "use" }, values);
    expected.entry("accept".to_owned()).or_insert_with(|| "application/json".to_owned());
    let body = fact.text("probe.body");
    if body.is_some() {
        expected.insert("content-type".to_owned(), "application/json".to_owned());
    }
    for (name, value) in &expected {
        let found: Vec<_> = asked.headers.get_all(name).iter().collect();
        let fits = found.len() == 1 && found[0].as_bytes() == value.as_bytes();
        demand(fits, || format!("{name} is {found:?}, expected {value}"))?;
    }
    let known = |name: &str| expected.contains_key(name) || ORDINARY.contains(&name);
    let stray = asked.headers.keys().find(|name| !known(name.as_str()));
    demand(stray.is_none(), || format!("{stray:?} is not asked for"))?;
    match body {
        None => demand(asked.body.is_empty(), || "there is a body".to_owned()),
        Some(body) => {
            let escaped = values.iter().map(|(name, value)| {
                let quoted = Value::from(value.as_str()).to_string();
                (name.clone(), quoted[1..quoted.len() - 1].to_owned())
            });
            let expected: Option<Value> = serde_json::from_str(&filled(body, &escaped.collect())).ok();
            let found: Option<Value> = serde_json::from_slice(&asked.body).ok();
            demand(found.is_some() && found == expected, || format!("the body is {found:?}"))
        }
    }
}
