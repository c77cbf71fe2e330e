//! The one call that tells whether what was typed works, and whose it is.
//!
//! It goes where the settings say, with a person's values in their places, through the client that checks every address.
//! Nothing of the answer is kept but an id and a label, and nothing of either side is logged.

use http::{HeaderName, HeaderValue, Method, Request, header};
use serde_json::Value;
use url::Url;

use super::Typed;
use crate::{
    config::{FormProbe, ProbeMethod, SecretForm},
    connection::Account,
    outbound::{Answer, Outbound, OutboundError},
    provider::{Spot, find, said},
    template::{Template, Writing},
    usage,
    values::Values,
};

/// What the service says of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// They work, and whose account it is, as far as it tells.
    Works(Account),
    /// They do not.
    Rejected,
    /// Nobody can say now: it did not answer, or with something that says neither.
    Unknown(&'static str),
    /// The address that they make is none that may be called.
    Address,
}

impl Checked {
    /// Every code.
    pub const CODES: [&'static str; 4] = ["works", "rejected", "unknown", "address"];

    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Works(_) => "works",
            Self::Rejected => "rejected",
            Self::Unknown(_) => "unknown",
            Self::Address => "address",
        }
    }
}

/// Asks the service once.
pub(super) async fn check(
    form: &SecretForm,
    probe: &FormProbe,
    typed: &Typed,
    outbound: &Outbound,
) -> (Checked, Spot) {
    let nowhere = |checked| (checked, Spot::default());
    let Some(request) = request(form, probe, typed) else { return nowhere(Checked::Unknown("unwritable")) };
    match outbound.send(request).await {
        Ok(answer) => {
            let mut spot = Spot { status: Some(answer.status.as_u16()), ..Spot::default() };
            let checked = judge(probe, &answer, &mut spot);
            (checked, spot)
        }
        Err(OutboundError::Refused(_)) => nowhere(Checked::Address),
        Err(error) => nowhere(Checked::Unknown(error.code())),
    }
}

fn request(form: &SecretForm, probe: &FormProbe, typed: &Typed) -> Option<Request<Vec<u8>>> {
    let how = &form.usage;
    let value = |name: &str| typed.get(name);
    let mut url = Url::parse(probe.url.fill(value, Writing::Url)?.expose()).ok()?;
    let query = if probe.query.is_empty() { &how.query } else { &probe.query };
    for (name, template) in query {
        // A field that was left empty has no parameter.
        let Some(filled) = template.fill(value, Writing::Plain) else { continue };
        url.query_pairs_mut().append_pair(name, filled.expose());
    }
    let body = match &probe.body {
        Some(body) => body.fill(value, Writing::Json)?.expose().as_bytes().to_vec(),
        None => Vec::new(),
    };
    let is_json = probe.body.is_some();
    let mut request = Request::new(body);
    *request.method_mut() = match probe.method {
        ProbeMethod::Get => Method::GET,
        ProbeMethod::Post => Method::POST,
    };
    *request.uri_mut() = url.as_str().parse().ok()?;
    let headers = request.headers_mut();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    if is_json {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    let own = !probe.headers.is_empty() || probe.basic.is_some();
    let (set, basic) = if own { (&probe.headers, &probe.basic) } else { (&how.headers, &how.basic) };
    let filled = |template: &Template| template.fill(value, Writing::Plain);
    for (name, template) in set {
        let Some(text) = filled(template) else { continue };
        let mut text = HeaderValue::from_str(text.expose()).ok()?;
        text.set_sensitive(true);
        headers.insert(HeaderName::try_from(name).ok()?, text);
    }
    if let Some((username, password)) = basic {
        let mut text =
            HeaderValue::from_str(usage::basic(&filled(username)?, &filled(password)?).expose()).ok()?;
        text.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, text);
    }
    Some(request)
}

/// `spot` is told what the answer does not have.
fn judge(probe: &FormProbe, answer: &Answer, spot: &mut Spot) -> Checked {
    let status = answer.status.as_u16();
    if probe.rejected.contains(&status) {
        return Checked::Rejected;
    }
    match status {
        200..=299 => {}
        300..=399 => return Checked::Unknown("redirect"),
        408 | 425 | 429 => return Checked::Unknown("busy"),
        500..=599 => return Checked::Unknown("failing"),
        _ => return Checked::Unknown("status"),
    }
    let body = answer.json::<Value>();
    let lost = |key: &str, path: &str, body: &Value| Spot {
        status: Some(status),
        ..Spot::default().lost(key, path, body, &Values::default())
    };
    if let Some((path, equals)) = &probe.ok {
        let Ok(body) = &body else { return Checked::Unknown("not_json") };
        let holds = find(body, path).is_some_and(|found| match equals {
            Some(expected) => found == expected,
            None => !matches!(found, Value::Null | Value::Bool(false)),
        });
        if !holds {
            if find(body, path).is_none() {
                *spot = lost("probe.ok", path, body);
            }
            return Checked::Rejected;
        }
    }
    let body = body.unwrap_or(Value::Null);
    // Without a label a person knows a key by its end, and not by an id that they have never seen.
    let Account { id, .. } = said(&body, probe.id.as_deref(), None);
    let Account { label, .. } = said(&body, None, probe.label.as_deref());
    if let (None, Some(path)) = (&id, &probe.id) {
        *spot = lost("probe.id", path, &body);
    }
    Checked::Works(Account { id, label })
}
