//! Who calls: an MCP server, by its API key.
//!
//! The key's hash is compared with every configured one, in constant time and without an early end, so that the time
//! says nothing of which server or how much of a key fits (R54, R110). What it must never do: log a key.

use std::ops::Deref;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, header, request::Parts},
};

use crate::{
    audit::{About, Actor},
    config::McpServer,
    secret::Hash,
    telemetry::SecurityEvent,
};

use super::{
    Api,
    problem::{Code, Problem},
};

/// Longest key that is hashed, in bytes.
const KEY_BYTES_MAX: usize = 512;

/// The authenticated MCP server, and what its call can reach.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) api: Api,
    /// Its place in the settings.
    pub(super) index: usize,
}

impl Caller {
    /// The MCP server.
    pub(super) fn server(&self) -> &McpServer {
        &self.api.app.settings.mcp_servers[self.index]
    }

    /// The issuer that names its users.
    pub(super) fn issuer(&self) -> Result<&str, Problem> {
        self.api.app.issuer_of(self.server()).ok_or_else(Problem::internal)
    }
}

impl Deref for Caller {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

impl FromRequestParts<Api> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let index = bearer(&parts.headers).and_then(|key| {
            let hash = Hash::of(key);
            let mut found = None;
            for (index, server) in api.app.settings.mcp_servers.iter().enumerate() {
                for known in &server.api_keys {
                    if known.matches(&hash) {
                        found = Some(index);
                    }
                }
            }
            found
        });
        let Some(index) = index else {
            api.app.security_event(SecurityEvent::ApiKeyRefused, Actor::Unknown, About::default());
            let detail = "Send one header `Authorization: Bearer` with an API key of an MCP server.";
            return Err(Problem::new(Code::Unauthorized, detail));
        };
        Ok(Self { api: api.clone(), index })
    }
}

/// The one bearer token of a request (RFC 6750, section 2.1).
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.as_bytes();
    if values.next().is_some() {
        return None;
    }
    let (scheme, key) = value.split_at_checked(7)?;
    let fits = scheme.eq_ignore_ascii_case(b"bearer ") && (1..=KEY_BYTES_MAX).contains(&key.len());
    fits.then_some(key)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (header::AUTHORIZATION, HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn one_bearer_token_is_taken() {
        assert_eq!(bearer(&headers(&["Bearer k"])), Some(&b"k"[..]));
        assert_eq!(bearer(&headers(&["bearer k"])), Some(&b"k"[..]));
        for refused in [&["Bearer "][..], &["Bearer"], &["Basic azo="], &[], &["Bearer k", "Bearer k"]] {
            assert_eq!(bearer(&headers(refused)), None, "{refused:?}");
        }
    }
}
