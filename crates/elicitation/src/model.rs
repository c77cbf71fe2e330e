//! A client for tests that obeys the specification to the letter and says which rule a server broke. It looks at the
//! JSON of a reply and not at this crate's types, so that it also judges what another server sent. It answers as
//! strictly as it reads: see [`Model::answer`] and [`Model::retry`].

mod answer;
mod form;
mod shape;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;
use shape::{At, Kind};

use crate::{
    COMPLETE_METHOD, CREATE_METHOD, Capability, Client, Era, INPUT_METHODS, INTERNAL_ERROR, INVALID_PARAMS,
    Link, MISSING_CAPABILITY, ProtocolVersion, Reply, URL_ELICITATION_REQUIRED, Warning,
};

/// A strict client in the middle of one call.
///
/// ```
/// use consentry_elicitation::{Capability, Client, Model, ProtocolVersion, Rule};
/// use serde_json::json;
///
/// let client = Client::new(ProtocolVersion::V2026_07_28, Capability::URL, "tools/call");
/// let mut model = Model::new(&client);
/// let broken = model.receive_value(&json!({
///     "kind": "jsonrpc_error",
///     "body": { "code": -32042, "message": "m", "data": { "elicitations": [] } },
/// }));
/// assert_eq!(broken[0].rule, Rule::OtherEra);
/// assert_eq!(broken[0].to_string(), "/body/code: belongs to the other era");
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    era: Era,
    version: ProtocolVersion,
    capability: Capability,
    method: String,
    asked: BTreeSet<String>,
    completed: BTreeSet<String>,
    finished: bool,
}

/// A rule broken, and where in the JSON (RFC 6901 pointer).
///
/// ```
/// use consentry_elicitation::{Capability, Client, Model, ProtocolVersion};
///
/// let client = Client::new(ProtocolVersion::V2025_11_25, Capability::NONE, "tools/call");
/// let broken = Model::new(&client).receive_value(&serde_json::json!({ "kind": "tool_result", "body": {} }));
/// assert_eq!(broken[0].at, "/body/content");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// Where.
    pub at: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.at, self.rule)
    }
}

/// The rules that the model knows.
///
/// ```
/// use consentry_elicitation::Rule;
///
/// assert_eq!(Rule::Undeclared.to_string(), "the client did not declare this mode");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// A required field is not there.
    #[error("is missing")]
    Missing,
    /// A field of another type or with another constant.
    #[error("has the wrong type or value")]
    Wrong,
    /// A field that this message does not have in this era.
    #[error("is not a field of this message")]
    Unknown,
    /// Text that is there and says nothing.
    #[error("is empty")]
    Empty,
    /// Not an absolute URL (E12).
    #[error("is not a valid URL")]
    InvalidUrl,
    /// A mode that the client did not declare (E7, M8).
    #[error("the client did not declare this mode")]
    Undeclared,
    /// A message, code or field of the other era (M16).
    #[error("belongs to the other era")]
    OtherEra,
    /// This method has no such result (M1).
    #[error("is no answer to this method")]
    Method,
    /// Two elicitations of one message with the same id (E63).
    #[error("is used twice")]
    Twice,
    /// The HTTP status that the specification prescribes is missing, or one is given without need (M17).
    #[error("is not the prescribed HTTP status")]
    Status,
    /// An error code of the range reserved for the protocol that no revision defines, or of no use here.
    #[error("is not an error code of this protocol")]
    Code,
    /// A keyword or a field that this revision does not have, though another of its era does.
    #[error("is not known to this revision")]
    Revision,
    /// What no answer could satisfy, or what the form itself would refuse.
    #[error("contradicts itself")]
    Contradiction,
    /// A form asks for a secret (E1, E2, E37).
    #[error("asks for a secret by a form")]
    Secret,
    /// A form holds a link that is meant to be clicked (E34, a SHOULD).
    #[error("holds a link that is meant to be clicked")]
    Clickable,
    /// A link with credentials or personal data in it, or one that is a login by itself (E31, E33), as far as can be seen.
    #[error("holds what looks like a credential or personal data")]
    Revealing,
    /// A link without HTTPS that leads to another machine (E35, a SHOULD outside of development).
    #[error("is not encrypted")]
    NotHttps,
    /// A request that belongs to no request of the client (E3, E4).
    #[error("belongs to no request of the client")]
    Standalone,
    /// A notification about an elicitation that this client was not asked, or that is already complete (E14, E50).
    #[error("is not an open elicitation of this client")]
    NotOpen,
}

impl Model {
    /// The client of this call.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        Self {
            era: client.era(),
            version: client.protocol_version,
            capability: client.elicitation,
            method: client.method.clone(),
            asked: BTreeSet::new(),
            completed: BTreeSet::new(),
            finished: false,
        }
    }

    /// The call is over: from now on the server may complete what it asked, and ask nothing more.
    ///
    /// ```
    /// use consentry_elicitation::{Ask, Capability, Client, Model, ProtocolVersion, Rule, Turn, choose};
    ///
    /// let client = Client::new(ProtocolVersion::V2025_11_25, Capability::URL, "tools/call");
    /// let ask = Ask::new("a", "A", "i", "https://a.example/".parse()?);
    /// let mut model = Model::new(&client);
    /// model.finish();
    /// let broken = model.receive(&choose(&client, &[ask], Turn::Ask { request_state: None }));
    /// assert_eq!(broken[0].rule, Rule::Standalone);
    /// # Ok::<(), url::ParseError>(())
    /// ```
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Takes a reply and returns what is wrong with it.
    pub fn receive(&mut self, reply: &Reply) -> Vec<Violation> {
        match serde_json::to_value(reply) {
            Ok(value) => self.receive_value(&value),
            Err(_) => vec![Violation { rule: Rule::Wrong, at: String::new() }],
        }
    }

    /// The same for a reply as JSON: `{ "kind", "body", "http_status"? }`.
    pub fn receive_value(&mut self, reply: &Value) -> Vec<Violation> {
        let mut at = At::root(reply);
        at.only(&["kind", "body", "http_status"]);
        let status = at.optional("http_status", Kind::Number).and_then(Value::as_u64);
        let kind = at.required("kind", Kind::Text).and_then(Value::as_str).unwrap_or_default();
        let mut expected = None;
        if self.finished {
            at.broken("kind", Rule::Standalone);
        }
        match kind {
            "elicitation_request" => self.request(&mut at),
            "jsonrpc_error" => expected = self.error(&mut at),
            "input_required" => self.round(&mut at),
            "tool_result" => self.tool(&mut at),
            _ => at.broken("kind", Rule::Wrong),
        }
        if status != expected && !(expected.is_none() && self.may_be_malformed(reply)) {
            at.broken("http_status", Rule::Status);
        }
        at.finish()
    }

    /// A modern `-32602` over HTTP has status 400 where the request was malformed, which is not ours to know (M19).
    fn may_be_malformed(&self, reply: &Value) -> bool {
        self.era == Era::Modern
            && reply.pointer("/body/code").is_some_and(|code| *code == INVALID_PARAMS)
            && reply.get("http_status").is_some_and(|status| *status == 400)
    }

    /// Takes a notification. Others than the one about completion are none of this model's business.
    pub fn notified(&mut self, method: &str, params: &Value) -> Vec<Violation> {
        if method != COMPLETE_METHOD {
            return Vec::new();
        }
        let mut at = At::root(params);
        if self.era == Era::Modern {
            at.broken("", Rule::OtherEra);
            return at.finish();
        }
        at.only(&["elicitationId", "_meta"]);
        if let Some(id) = at.text("elicitationId")
            && !(self.asked.contains(id) && self.completed.insert(id.to_owned()))
        {
            at.broken("elicitationId", Rule::NotOpen);
        }
        at.finish()
    }

    fn request(&mut self, at: &mut At<'_>) {
        if self.era == Era::Modern {
            at.broken("kind", Rule::OtherEra);
        }
        at.inside("body", |params| self.params(params));
    }

    /// Returns the HTTP status that the error must have.
    fn error(&mut self, at: &mut At<'_>) -> Option<u64> {
        let mut code = 0;
        at.inside("body", |error| {
            error.only(&["code", "message", "data"]);
            error.text("message");
            code = error.required("code", Kind::Number).and_then(Value::as_i64).unwrap_or_default();
            match (code, self.era) {
                (URL_ELICITATION_REQUIRED, Era::Legacy) => error.inside("data", |data| self.links(data)),
                (MISSING_CAPABILITY, Era::Modern) => error.inside("data", |data| {
                    data.only(&["requiredCapabilities"]);
                    data.inside("requiredCapabilities", At::not_empty);
                }),
                (URL_ELICITATION_REQUIRED | MISSING_CAPABILITY, _) => error.broken("code", Rule::OtherEra),
                (INVALID_PARAMS | INTERNAL_ERROR, _) => {}
                _ => error.broken("code", Rule::Code),
            }
        });
        (code == MISSING_CAPABILITY && self.era == Era::Modern).then_some(400)
    }

    fn links(&mut self, data: &mut At<'_>) {
        let mut ids = BTreeSet::new();
        data.each("elicitations", Kind::List, |item, at| {
            self.url_params(at);
            if let Some(id) = item.get("elicitationId").and_then(Value::as_str)
                && !ids.insert(id.to_owned())
            {
                at.broken("elicitationId", Rule::Twice);
            }
        });
        if ids.is_empty() {
            data.broken("elicitations", Rule::Empty);
        }
    }

    fn round(&mut self, at: &mut At<'_>) {
        if self.era == Era::Legacy {
            at.broken("kind", Rule::OtherEra);
        }
        if !INPUT_METHODS.contains(&self.method.as_str()) {
            at.broken("kind", Rule::Method);
        }
        at.inside("body", |result| {
            result.only(&["resultType", "inputRequests", "requestState", "_meta"]);
            result.constant("resultType", "input_required");
            result.optional("requestState", Kind::Text);
            // With `requestState` it may be left out by the letter, but that ends the call on Go clients.
            result.each("inputRequests", Kind::Object, |_, request| {
                request.only(&["method", "params"]);
                request.constant("method", CREATE_METHOD);
                request.inside("params", |params| self.params(params));
            });
            // By the letter one of the two is enough (M7), but with no question and no state nothing can change.
            if !result.has("requestState") && result.is_empty_object("inputRequests") {
                result.broken("inputRequests", Rule::Empty);
            }
        });
    }

    fn tool(&mut self, at: &mut At<'_>) {
        if self.method != "tools/call" {
            at.broken("kind", Rule::Method);
        }
        let era = self.era;
        at.inside("body", |result| {
            result.only(match era {
                Era::Legacy => &["content", "structuredContent", "isError", "_meta"],
                Era::Modern => &["content", "structuredContent", "isError", "_meta", "resultType"],
            });
            if era == Era::Modern {
                result.constant("resultType", "complete");
            }
            result.optional("isError", Kind::Bool);
            result.each("content", Kind::List, |_, part| {
                part.only(&["type", "text", "annotations", "_meta"]);
                part.constant("type", "text");
                part.text("text");
            });
        });
    }

    /// Without a mode it is a form (E47).
    fn params(&mut self, at: &mut At<'_>) {
        let form = match at.value().get("mode") {
            None => !at.has("url"),
            Some(mode) => mode == "form",
        };
        if form { self.form_params(at) } else { self.url_params(at) }
    }

    fn judge_url(at: &mut At<'_>, url: &str) {
        if url::Url::parse(url).is_err() {
            at.broken("url", Rule::InvalidUrl);
        }
        let warnings = Link::parse(url).map(|link| link.warnings()).unwrap_or_default();
        let revealing = [Warning::UserInfo, Warning::Credentials, Warning::PersonalData];
        if warnings.iter().any(|warning| revealing.contains(warning)) {
            at.broken("url", Rule::Revealing);
        }
        if warnings.contains(&Warning::NotHttps) {
            at.broken("url", Rule::NotHttps);
        }
    }

    fn url_params(&mut self, at: &mut At<'_>) {
        at.only(&["mode", "elicitationId", "url", "message", "_meta"]);
        at.constant("mode", "url");
        if !self.capability.url() {
            at.broken("mode", Rule::Undeclared);
        }
        at.text("message");
        if let Some(url) = at.text("url") {
            Self::judge_url(at, url);
        }
        match self.era {
            Era::Modern if at.has("elicitationId") => at.broken("elicitationId", Rule::OtherEra),
            Era::Modern => {}
            Era::Legacy => self.asked.extend(at.text("elicitationId").map(str::to_owned)),
        }
    }
}
