//! Whose account it is at the provider: a configured probe, else `userinfo`, else the ID token's claims.
//!
//! The id is what two connects are compared by, so it is taken from a place that does not change with the person's name,
//! and refused when it cannot be told exactly. The label is the provider's text: bounded, without control characters, and
//! never compared.

use http::{HeaderName, HeaderValue, Method, Request, header};
use serde_json::{Map, Value};
use url::Url;

use crate::{
    config::{Probe, ProbeMethod, ProbeOf, Provider},
    connection::Account,
    outbound::{self, Answer, Outbound, OutboundError},
    provider::{
        answer::{Answered, Reading},
        capture,
        diagnosis::{Failed, Spot, Step},
        endpoints::Endpoints,
        error::{ProviderError, clean},
        filled, id_token, path,
        tokens::Tokens,
    },
    secret::Secret,
    values::Values,
};

const LONGEST_ID: usize = 255;
const LONGEST_LABEL: usize = 200;

/// By the configured probe, which has a URL.
pub(super) async fn probe(
    provider: &Provider,
    probe: &Probe,
    url: &str,
    tokens: &Tokens,
    outbound: &Outbound,
) -> Result<Value, Failed> {
    let mut request = bearing(provider, probe, url, tokens)?;
    if probe.method == ProbeMethod::Post {
        *request.method_mut() = Method::POST;
    }
    if let Some(body) = &probe.body {
        *request.body_mut() = body.clone().into_bytes();
        request
            .headers_mut()
            .entry(header::CONTENT_TYPE)
            .or_insert(HeaderValue::from_static("application/json"));
    }
    let answer = outbound.send(request).await.map_err(unreachable)?;
    let body: Value = read(&answer)?;
    match &probe.ok {
        Some(ok) if path::find(&body, &ok.path) != Some(&ok.equals) => {
            let spot = Spot { code: error_code(&answer), ..Spot::at(Step::Probe) };
            let spot = spot.lost("probe.ok", &ok.path, &body, &Values::default());
            Err(Failed::unusable("account_answer", spot))
        }
        _ => Ok(body),
    }
}

/// A further question about the grant, with the token as the probe sends it.
pub(super) async fn call(
    provider: &Provider,
    url: &str,
    tokens: &Tokens,
    outbound: &Outbound,
) -> Result<Value, Failed> {
    let request = match &provider.probe {
        Some(probe) => bearing(provider, probe, url, tokens)?,
        None => {
            let url = filled::address(url, &provider.client_id, &tokens.values)?;
            get(&url, Some("Bearer"), &tokens.access_token)?
        }
    };
    let answer = outbound.send(request).await.map_err(unreachable)?;
    read(&answer)
}

/// The account that an answer speaks of.
pub(super) fn told(probe: &Probe, answer: &Value, values: &Values) -> Result<Account, Failed> {
    let id = path::exact(answer, values, &probe.id).filter(|id| is_id(id));
    let id = id.ok_or_else(|| {
        Failed::unusable("account_id", Spot::at(Step::Probe).lost("probe.id", &probe.id, answer, values))
    })?;
    let label = label(&path::readable(answer, values, &probe.label));
    Ok(Account { label: label.or_else(|| self::label(&id)), id: Some(id) })
}

/// Whether a refresh's answer speaks of another account than the connection's: the id is read of such answers alone, or
/// is made of a value that is kept of them.
pub(super) fn is_anothers(provider: &Provider, answer: &Value, account: &Account, values: &Values) -> bool {
    let Some(probe) = &provider.probe else { return false };
    if probe.url.is_none() {
        // Of alternatives another may be there than before.
        let exact = (probe.of == ProbeOf::Answer && !probe.id.contains('|')).then_some(&probe.id);
        let told = exact.and_then(|id| path::exact(answer, values, id));
        return told.is_some_and(|id| account.id.as_ref().is_some_and(|known| *known != id));
    }
    let (new, _) = capture::renewed(provider, answer);
    new.iter().any(|(name, value)| {
        probe.id.contains(&format!("{{{name}}}")) && values.get(name).is_some_and(|known| known != value)
    })
}

/// A GET with the token where the probe wants it, and the probe's headers.
fn bearing(
    provider: &Provider,
    probe: &Probe,
    url: &str,
    tokens: &Tokens,
) -> Result<Request<Vec<u8>>, ProviderError> {
    let url = filled::address(url, &provider.client_id, &tokens.values)?;
    let placed = probe.headers.values().any(|value| value.contains("{access_token}"));
    let scheme = probe.scheme.as_deref().unwrap_or("Bearer");
    let mut request = get(&url, (!placed).then_some(scheme), &tokens.access_token)?;
    for (name, value) in &probe.headers {
        let value = filled::header(value, |name| match name {
            "client_id" => Some(&provider.client_id),
            "access_token" => Some(tokens.access_token.expose()),
            name => tokens.values.get(name),
        });
        let name = HeaderName::try_from(name).map_err(|_| ProviderError::misconfigured("probe_headers"))?;
        let mut value = HeaderValue::try_from(value.as_str())
            .map_err(|_| ProviderError::misconfigured("probe_headers"))?;
        value.set_sensitive(placed);
        // The token stands where it stands: no setting takes it away.
        if name != header::AUTHORIZATION {
            request.headers_mut().insert(name, value);
        }
    }
    Ok(request)
}

/// By OpenID Connect: `userinfo` where there is one, and the ID token where there is one. Both must speak of the same
/// subject (OpenID Connect Core, section 5.3.2). Neither: nothing is known, which is no error.
pub(super) async fn open_id(
    provider: &Provider,
    endpoints: &Endpoints,
    tokens: &Tokens,
    now: crate::clock::Millis,
    outbound: &Outbound,
) -> Result<Account, Failed> {
    let claims = match (&tokens.id_token, &endpoints.issuer) {
        (Some(token), Some(issuer)) => Some(id_token::claims(token, issuer, &provider.client_id, now)?),
        _ => None,
    };
    let claimed = claims.as_ref().map(of_claims).transpose()?;
    let Some(url) = userinfo_endpoint(provider, endpoints, tokens) else {
        return Ok(claimed.unwrap_or_default());
    };
    let told = userinfo(url, &tokens.access_token, outbound).await;
    match (told, claimed) {
        (Ok(told), Some(claimed)) if told.id != claimed.id => Err(ProviderError::AccountMismatch.into()),
        (Ok(told), _) => Ok(told),
        (Err(_), Some(claimed)) => Ok(claimed),
        (Err(error), None) => Err(error),
    }
}

/// A discovered `userinfo` answers only to tokens that were granted `openid`; a configured one is asked in any case.
fn userinfo_endpoint<'a>(provider: &Provider, endpoints: &'a Endpoints, tokens: &Tokens) -> Option<&'a Url> {
    let asked = provider.userinfo_endpoint.is_some() || tokens.granted.iter().any(|scope| scope == "openid");
    endpoints.userinfo.as_ref().filter(|_| asked)
}

async fn userinfo(url: &Url, token: &Secret, outbound: &Outbound) -> Result<Account, Failed> {
    let answer = outbound.send(get(url, Some("Bearer"), token)?).await.map_err(unreachable)?;
    of_claims(&read::<Map<String, Value>>(&answer)?)
}

fn of_claims(claims: &Map<String, Value>) -> Result<Account, Failed> {
    let id = id(claims.get("sub")).ok_or_else(|| {
        let spot = Spot { at: Some("sub".to_owned()), ..Spot::at(Step::Probe) };
        Failed::unusable("account_id", spot)
    })?;
    let named = ["email", "preferred_username", "name", "nickname"]
        .iter()
        .find_map(|claim| label(claims.get(*claim)?.as_str()?));
    Ok(Account { label: named.or_else(|| label(&id)), id: Some(id) })
}

/// What an answer says of an account, at these paths or templates of paths, where it says anything.
pub(crate) fn said(answer: &Value, id: Option<&str>, label: Option<&str>) -> Account {
    let none = Values::default();
    let id = id.and_then(|id| path::exact(answer, &none, id)).filter(|id| is_id(id));
    let named = label.and_then(|label| self::label(&path::readable(answer, &none, label)));
    Account { label: named.or_else(|| self::label(id.as_deref()?)), id }
}

/// With the token after `scheme`, or without it.
fn get(url: &Url, scheme: Option<&str>, token: &Secret) -> Result<Request<Vec<u8>>, ProviderError> {
    let mut request = Request::new(Vec::new());
    *request.uri_mut() = url.as_str().parse().map_err(|_| ProviderError::Policy)?;
    request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(scheme) = scheme {
        let value = outbound::authorization(scheme, token)
            .map_err(|_| ProviderError::Malformed { what: "access_token" })?;
        request.headers_mut().insert(header::AUTHORIZATION, value);
    }
    Ok(request)
}

fn read<T: serde::de::DeserializeOwned>(answer: &Answer) -> Result<T, Failed> {
    let error = match answer.status.as_u16() {
        200..=299 => match answer.json() {
            Ok(read) => return Ok(read),
            Err(_) => ProviderError::Malformed { what: "account_answer" },
        },
        300..=399 => ProviderError::Policy,
        status @ (401 | 403) => ProviderError::Denied { status },
        408 | 425 | 429 | 500..=599 => ProviderError::Unreachable {
            maybe_sent: true,
            retry_after: answer.retry_after(answer.received_at),
        },
        _ => ProviderError::misconfigured("probe_refused"),
    };
    let spot = Spot { status: Some(answer.status.as_u16()), code: error_code(answer), ..Spot::default() };
    Err(Failed::new(error, spot))
}

/// The code of the error that an answer speaks of, in whatever notation.
fn error_code(answer: &Answer) -> Option<String> {
    match Answered::of(answer).reading {
        Reading::Error { code } => clean(&code?),
        Reading::Fields(_) | Reading::Unreadable(_) => None,
    }
}

fn unreachable(error: OutboundError) -> ProviderError {
    match error {
        OutboundError::Refused(_) => ProviderError::Policy,
        OutboundError::TooLarge | OutboundError::Garbled | OutboundError::Unwritable => {
            ProviderError::Malformed { what: error.code() }
        }
        OutboundError::NotSent(_) | OutboundError::TimedOut { .. } | OutboundError::Cut => {
            ProviderError::Unreachable { maybe_sent: error.maybe_sent(), retry_after: None }
        }
    }
}

/// Exact, or none: two connects are compared by it.
fn id(value: Option<&Value>) -> Option<String> {
    path::text(value?).filter(|id| is_id(id))
}

fn is_id(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len()) && !id.contains(char::is_control)
}

/// What a person may read: no control characters and none that turn the direction of writing, at most 200 characters.
pub(super) fn label(text: &str) -> Option<String> {
    let shown = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let clean: String = text.trim().chars().filter(shown).take(LONGEST_LABEL).collect();
    let clean = clean.trim();
    (!clean.is_empty()).then(|| clean.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_is_exact_or_none() {
        for (value, expected) in [
            (json!("u-1"), Some("u-1")),
            (json!(583_231), Some("583231")),
            (json!(18_446_744_073_709_551_615_u64), Some("18446744073709551615")),
            (json!(-7), Some("-7")),
            (json!(1.5), None),
            (json!(""), None),
            (json!("a\nb"), None),
            (json!(true), None),
            (json!(null), None),
            (json!({"a": 1}), None),
        ] {
            assert_eq!(id(Some(&value)).as_deref(), expected, "{value}");
        }
        let rounded: Value = serde_json::from_str("184467440737095516160").unwrap();
        assert_eq!(id(Some(&rounded)), None);
        assert_eq!(id(Some(&json!("x".repeat(256)))), None);
    }

    proptest! {
        #[test]
        fn a_label_is_short_and_shows_what_it_is(text in ".{0,400}|[\\x00-\\x20\u{202e}]{0,9}") {
            if let Some(label) = label(&text) {
                prop_assert!((1..=LONGEST_LABEL).contains(&label.chars().count()));
                let turned = label.contains('\u{202e}');
                prop_assert!(!label.contains(char::is_control) && !turned);
            }
        }
    }
}
