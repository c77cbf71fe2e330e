//! What an MCP server says of itself: protected resource metadata (RFC 9728), in the order of MCP's authorization
//! specification: where the challenge says, else at the well-known address with the path, else without it.

use http::{HeaderValue, Method, Request, StatusCode, header};
use serde::Deserialize;
use url::Url;

use super::{
    Fault, Step,
    challenge::{self, Challenge},
    unanswered, well_known,
};
use crate::{
    config::ThirdPartyMcp,
    outbound::{Outbound, OutboundError},
    provider::{
        endpoints::{check_issuer, check_web},
        error::ProviderError,
    },
    scope::Scopes,
};

/// Bytes of the document.
const LONGEST: usize = 64 * 1024;
/// Authorization servers that are read; more than one is rare.
const ISSUERS_MAX: usize = 16;
/// How long the MCP server has for its challenge.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
const NAME: &str = "oauth-protected-resource";
/// What an answer is called that cannot be read.
const METADATA: &str = "resource_metadata";
/// A request that does nothing, wherever it is taken.
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// What is found of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The resource that tokens are asked for (RFC 8707), as the server writes it.
    pub resource: String,
    /// Its authorization servers, in its order; never none.
    pub issuers: Vec<String>,
    /// What is asked for when nobody says otherwise: what the challenge asks for, else all that it supports.
    pub scopes: Scopes,
}

/// RFC 9728, section 2, as far as it is read.
#[derive(Deserialize)]
struct Document {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    scopes_supported: Option<Vec<String>>,
}

/// Asks the MCP server.
pub(super) async fn find(mcp: &ThirdPartyMcp, outbound: &Outbound) -> Result<Found, Fault> {
    let challenge = challenged(&mcp.url, outbound).await?;
    let document = match &challenge.resource_metadata {
        Some(text) => {
            let url = Url::parse(text).ok().filter(|url| check_web(url).is_ok());
            let url = url.ok_or_else(|| fault(ProviderError::Policy))?;
            fetch(&url, outbound).await?
        }
        None => match fetch(&well_known(&mcp.url, NAME, true), outbound).await? {
            Some(document) => Some(document),
            None if mcp.url.path() == "/" => None,
            None => fetch(&well_known(&mcp.url, NAME, false), outbound).await?,
        },
    };
    let document = document.ok_or_else(|| Fault::misconfigured(Step::Resource, "no_resource_metadata"))?;
    read(document, challenge, mcp, outbound)
}

fn read(
    document: Document,
    challenge: Challenge,
    mcp: &ThirdPartyMcp,
    outbound: &Outbound,
) -> Result<Found, Fault> {
    let Document { resource, authorization_servers: issuers, scopes_supported } = document;
    if !covers(&resource, &mcp.url) {
        return Err(Fault::misconfigured(Step::Resource, "resource_mismatch"));
    }
    if issuers.is_empty() || issuers.len() > ISSUERS_MAX {
        return Err(Fault::misconfigured(Step::AuthorizationServer, "no_authorization_server"));
    }
    for issuer in &issuers {
        let step = Step::AuthorizationServer;
        check_issuer(issuer).map_err(|_| Fault::misconfigured(step, "issuer_malformed"))?;
        let url = Url::parse(issuer).ok().filter(|_| is_as_written(issuer));
        let url = url.ok_or_else(|| Fault::misconfigured(step, "issuer_malformed"))?;
        outbound.check(&url).map_err(|_| Fault::new(step, ProviderError::Policy))?;
    }
    // What is no scope cannot be asked for.
    let supported = scopes_supported.map(|scopes| Scopes::lenient(&scopes.join(" ")));
    Ok(Found { resource, issuers, scopes: challenge.scope.or(supported).unwrap_or_default() })
}

/// Whether a resource is the MCP server, or what it is a part of: the same origin, and its path or the beginning of it
/// in whole segments.
pub(super) fn covers(resource: &str, mcp: &Url) -> bool {
    let Ok(url) = Url::parse(resource) else { return false };
    let plain = is_as_written(resource) && check_web(&url).is_ok() && url.query().is_none();
    let (outer, inner) = (url.path().trim_end_matches('/'), mcp.path().trim_end_matches('/'));
    let within = inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    plain && url.origin() == mcp.origin() && within
}

/// Parsing an address passes over white space, and what is sent is what stands there.
fn is_as_written(address: &str) -> bool {
    address.len() <= 1_000 && address.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Calls the MCP server without a token. What is no challenge says nothing; the document may be there all the same.
async fn challenged(url: &Url, outbound: &Outbound) -> Result<Challenge, Fault> {
    let mut request = Request::new(PING.as_bytes().to_vec());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url.as_str().parse().map_err(|_| fault(ProviderError::Policy))?;
    let headers = request.headers_mut();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    match outbound.post(request, PATIENCE).await {
        Ok(answer) if answer.status == StatusCode::UNAUTHORIZED => Ok(challenge::of(&answer.headers)),
        Ok(_) => Ok(Challenge::default()),
        Err(OutboundError::Refused(_)) => Err(fault(ProviderError::Policy)),
        Err(_) => Ok(Challenge::default()),
    }
}

/// The document; none where there is none. An outage is no absence: what another address says might be older.
async fn fetch(url: &Url, outbound: &Outbound) -> Result<Option<Document>, Fault> {
    let answer = outbound.get_json(url, None).await.map_err(|error| fault(unanswered(&error, METADATA)))?;
    match answer.status.as_u16() {
        200 if answer.body.len() <= LONGEST => answer.json().map(Some).map_err(|_| fault(malformed())),
        200 => Err(fault(malformed())),
        300..=399 => Err(fault(ProviderError::Policy)),
        408 | 429 | 500..=599 => {
            Err(fault(ProviderError::Unreachable { maybe_sent: true, retry_after: None }))
        }
        _ => Ok(None),
    }
}

fn malformed() -> ProviderError {
    ProviderError::Malformed { what: METADATA }
}

fn fault(error: ProviderError) -> Fault {
    Fault::new(Step::Resource, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_the_server_or_what_it_is_a_part_of() {
        let mcp = Url::parse("https://tools.example/a/mcp").unwrap();
        for good in [
            "https://tools.example/a/mcp",
            "https://tools.example/a/mcp/",
            "https://tools.example/a",
            "https://tools.example",
            "https://tools.example:443/",
        ] {
            assert!(covers(good, &mcp), "{good}");
        }
        for bad in [
            "",
            "https://tools.example/a/mc",
            "https://tools.example/a/mcp/b",
            "https://tools.example/b",
            "https://tools.example.evil.example/a/mcp",
            "https://tools.example@evil.example/a/mcp",
            "http://tools.example/a/mcp",
            "https://tools.example:8443/a/mcp",
            "https://tools.example/a/mcp?x",
            "https://tools.example/a/mcp#x",
            " https://tools.example/a/mcp",
            "https://tools.exa\nmple/a/mcp",
            "https://tools.example/a/mcp\t",
            "urn:tools",
        ] {
            assert!(!covers(bad, &mcp), "{bad}");
        }
    }
}
