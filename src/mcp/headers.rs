//! The headers of a request to the endpoint: media types, the protocol version, and what the modern era repeats of the body.
//!
//! What stands in both must be the same, so that a gateway in front and we do not act on different requests (M27).

use axum::http::HeaderMap;
use base64::{Engine, prelude::BASE64_STANDARD};
use consentry_elicitation::{Era, ProtocolVersion, VERSION_KEY};
use serde_json::Value;

use super::{fault::Fault, message::Request};
use crate::media_type;

/// Every revision that is spoken here, the latest first.
pub(super) const VERSIONS: [&str; 3] = ["2026-07-28", "2025-11-25", "2025-06-18"];

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
/// "Value Encoding" of basic/transports/streamable-http.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// The body is JSON, and the client takes both kinds of answer.
pub(super) fn check_types(headers: &HeaderMap) -> Result<(), Fault> {
    let content = one(headers, "content-type")?.ok_or_else(Fault::media_type)?;
    if !media_type::is_json(content) {
        return Err(Fault::media_type());
    }
    if !accepts(headers, "application/json") || !accepts(headers, "text/event-stream") {
        return Err(Fault::not_acceptable("Accept both `application/json` and `text/event-stream`."));
    }
    Ok(())
}

/// Whether the client takes this type (RFC 9110, section 12.5.1).
pub(super) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let group = wanted.split('/').next().unwrap_or_default();
    media_type::accepted(headers).any(|kind| kind == wanted || kind == "*/*" || kind == format!("{group}/*"))
}

/// The version that the headers declare.
pub(super) fn version(headers: &HeaderMap) -> Result<Option<ProtocolVersion>, Fault> {
    let Some(text) = one(headers, VERSION)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| Fault::unsupported_version(text, &VERSIONS))
}

/// Whether requests of this version declare all of themselves.
pub(super) fn is_modern(version: ProtocolVersion) -> bool {
    version.era() == Era::Modern
}

/// The request's own version is spoken here, and the headers repeat it, its method and its name.
pub(super) fn check_repeated(headers: &HeaderMap, request: &Request) -> Result<(), Fault> {
    let declared = request.params.get("_meta").and_then(|meta| meta.get(VERSION_KEY));
    let declared = declared.and_then(Value::as_str).ok_or_else(|| {
        Fault::invalid_params("/params/_meta/io.modelcontextprotocol~1protocolVersion: is missing or no text")
    })?;
    same(headers, VERSION, declared)?;
    if !VERSIONS.contains(&declared) {
        return Err(Fault::unsupported_version(declared, &VERSIONS));
    }
    same(headers, METHOD, &request.method)?;
    let name = match &*request.method {
        "tools/call" | "prompts/get" => request.params.get("name"),
        "resources/read" => request.params.get("uri"),
        _ => return Ok(()),
    };
    let name = name.and_then(Value::as_str);
    same(headers, NAME, name.ok_or_else(|| Fault::invalid_params("/params/name: is missing or no text"))?)
}

fn same(headers: &HeaderMap, name: &'static str, expected: &str) -> Result<(), Fault> {
    let mismatch =
        || Fault::header_mismatch(format!("The header {name} is missing or differs from the body."));
    let text = one(headers, name).map_err(|_| mismatch())?.ok_or_else(mismatch)?;
    let encoded = text.strip_prefix(ENCODED.0).and_then(|rest| rest.strip_suffix(ENCODED.1));
    let decoded = match encoded.filter(|_| name == NAME) {
        Some(encoded) => {
            let bytes = BASE64_STANDARD.decode(encoded).ok();
            bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(mismatch)?
        }
        None => text.to_owned(),
    };
    if decoded == expected { Ok(()) } else { Err(mismatch()) }
}

/// The one value of a header.
pub(super) fn one<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a str>, Fault> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Fault::invalid_request(format!("The header {name} is given twice.")));
    }
    let text =
        value.to_str().map_err(|_| Fault::invalid_request(format!("The header {name} is not ASCII.")))?;
    Ok(Some(text.trim()))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, header};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn both_kinds_of_answer_must_be_accepted() {
        for fits in [
            "application/json, text/event-stream",
            "*/*",
            "text/*;q=0.5, Application/JSON",
            "application/*, text/*",
        ] {
            let value = HeaderValue::from_str(fits).unwrap();
            let mut all = headers(&[("content-type", "application/json; charset=utf-8")]);
            all.insert(header::ACCEPT, value);
            assert!(check_types(&all).is_ok(), "{fits}");
        }
        for misses in [
            "application/json",
            "text/event-stream",
            "text/html",
            "application/json, text/event-stream;q=0",
            "",
        ] {
            let mut all = headers(&[("content-type", "application/json")]);
            all.insert(header::ACCEPT, HeaderValue::from_str(misses).unwrap());
            assert!(check_types(&all).is_err(), "{misses}");
        }
        for kind in [
            "text/plain",
            "application/jsonp",
            "application/json; charset=latin-1",
            "application/x-www-form-urlencoded",
        ] {
            let mut all = headers(&[("accept", "*/*")]);
            all.insert(header::CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
            assert!(check_types(&all).is_err(), "{kind}");
        }
    }

    /// M27, with the encoding of names that no header can carry.
    #[test]
    fn m27_an_encoded_name_is_decoded_before_it_is_compared() {
        for (sent, name, fits) in [
            ("connect", "connect", true),
            ("=?base64?Y29ubmVjdA==?=", "connect", true),
            ("=?base64?Y29ubmVjdA?=", "connect", false),
            ("=?base64?ZGlzY29ubmVjdA==?=", "connect", false),
            ("=?BASE64?Y29ubmVjdA==?=", "connect", false),
            ("Connect", "connect", false),
            ("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?literal?=", true),
        ] {
            let mut all = HeaderMap::new();
            all.insert(NAME, HeaderValue::from_str(sent).unwrap());
            assert_eq!(same(&all, NAME, name).is_ok(), fits, "{sent}");
        }
        // Only names are ever encoded.
        let all = headers(&[(METHOD, "=?base64?dG9vbHMvY2FsbA==?=")]);
        assert!(same(&all, METHOD, "tools/call").is_err());
        let twice = headers(&[(METHOD, "tools/call"), (METHOD, "tools/call")]);
        assert_eq!(twice.get_all(METHOD).iter().count(), 2);
        assert!(same(&twice, METHOD, "tools/call").is_err());
    }
}
