//! A request as a provider reads it: to whom it is, and its parameters, each where it belongs.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::{Method, Url, header::HeaderMap};
use serde_json::Value;
use url::form_urlencoded;

use super::fact::Pair;

/// A request, whole.
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// How a request is refused: with the reason, for the test.
pub(super) type Refused = String;

impl Asked {
    /// The entry that a request is for, by the marks in it.
    pub(super) fn marked(&self) -> Option<String> {
        let mut text = format!("{} {}", self.url, String::from_utf8_lossy(&self.body));
        for (_, value) in &self.headers {
            let value = value.to_str().unwrap_or_default();
            text.push(' ');
            text.push_str(value);
            if let Some(encoded) = value.strip_prefix("Basic ") {
                let decoded = BASE64_STANDARD.decode(encoded).unwrap_or_default();
                text.push_str(&String::from_utf8_lossy(&decoded));
            }
        }
        let marks = ["CID.", "SEC.", "TOK.", "REF.", "COD.", "KEY."];
        let at = marks.iter().filter_map(|mark| text.find(mark)).min()?;
        text[at + 4..].split('.').next().map(str::to_owned)
    }

    /// Whether it holds this text, in `Authorization` or its body.
    pub(super) fn bears(&self, text: &str) -> bool {
        let header = self.header("authorization").unwrap_or_default();
        header.contains(text) || String::from_utf8_lossy(&self.body).contains(text)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Many answer 411 to a POST that does not say how long it is.
    pub(super) fn tells_length(&self) -> Result<(), Refused> {
        let told = self.method != Method::POST || self.header("content-length").is_some();
        demand(told, || "it does not say how long it is".to_owned())
    }

    /// Whether it is sent to this address, whose own query it may go beyond.
    pub(super) fn is_to(&self, address: &str) -> bool {
        let (Ok(ours), Ok(theirs)) = (self.url.parse::<Url>(), address.parse::<Url>()) else { return false };
        let whole: Vec<Pair> = ours.query_pairs().into_owned().collect();
        (ours.host_str(), ours.path()) == (theirs.host_str(), theirs.path())
            && theirs.query_pairs().into_owned().all(|pair| whole.contains(&pair))
    }

    /// The query beyond that of an address.
    pub(super) fn query_beyond(&self, address: &str) -> Vec<Pair> {
        let own: Vec<Pair> = address.parse::<Url>().unwrap().query_pairs().into_owned().collect();
        let whole = self.url.parse::<Url>().unwrap();
        whole.query_pairs().into_owned().filter(|pair| !own.contains(pair)).collect()
    }

    /// The parameters, from where this kind of request has them.
    pub(super) fn parameters(&self, body: &str, address: &str) -> Result<Vec<Pair>, Refused> {
        let kind = self.header("content-type").unwrap_or_default();
        let expected = match body {
            "json" => "application/json",
            "form" => "application/x-www-form-urlencoded",
            _ => "",
        };
        demand(kind == expected, || format!("content type is `{kind}`"))?;
        if matches!(body, "form" | "json") {
            let beyond = self.query_beyond(address);
            demand(beyond.is_empty(), || format!("the query holds {beyond:?}"))?;
        }
        match body {
            "json" => {
                let read: BTreeMap<String, Value> =
                    serde_json::from_slice(&self.body).map_err(|_| "no JSON object".to_owned())?;
                let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                Ok(read.into_iter().map(|(name, value)| (name, text(value))).collect())
            }
            "form" => Ok(form_urlencoded::parse(&self.body).into_owned().collect()),
            _ => {
                demand(self.body.is_empty(), || "there is a body".to_owned())?;
                Ok(self.query_beyond(address))
            }
        }
    }
}

pub(super) fn demand(is_so: bool, otherwise: impl FnOnce() -> String) -> Result<(), Refused> {
    if is_so { Ok(()) } else { Err(otherwise()) }
}

/// Parameters are these, each once, in any order.
pub(super) fn demand_pairs(found: Vec<Pair>, expected: Vec<Pair>) -> Result<(), Refused> {
    let (mut found, mut expected) = (found, expected);
    found.sort();
    expected.sort();
    demand(found == expected, || format!("parameters are {found:?}, expected {expected:?}"))
}

pub(super) fn pair(name: &str, value: impl Into<String>) -> Pair {
    (name.to_owned(), value.into())
}
