//! Who may ask: a person with an access token that their authorization server made for this endpoint and nothing else.
//!
//! A token is taken from the header alone (A11), checked in each request (P17), and goes nowhere (A8, A9). What it must
//! never do: log a token, or say why one is refused beyond what RFC 6750 has words for.

use std::time::Duration;

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{Mcp, fault::Fault};
use crate::{clock::Millis, identity::IdentityError, secret::Secret, subject::Subject};

/// Where RFC 9728, section 3.1, puts the metadata of `/mcp`.
pub(super) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";
/// Where clients look that know the origin alone.
pub(super) const ROOT_METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// Before a client should ask again when the authorization server could not be asked.
const RETRY: Duration = Duration::from_secs(5);

/// The person who asks, as the token of this very request names them.
pub(super) struct Caller {
    pub(super) subject: Subject,
    /// When the token runs out, where that is known.
    pub(super) until: Option<Millis>,
}

/// `GET /.well-known/oauth-protected-resource/mcp`: where a client gets a token, and for what (A1, A2).
pub(super) async fn metadata(State(mcp): State<Mcp>) -> Response {
    let mut document = json!({
        "resource": mcp.resource,
        "resource_name": mcp.title(),
        "authorization_servers": [mcp.authority.issuer],
        "bearer_methods_supported": ["header"],
    });
    if let Some(scope) = &mcp.settings.scope {
        document["scopes_supported"] = json!([scope]);
    }
    Json(document).into_response()
}

impl FromRequestParts<Mcp> for Caller {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, mcp: &Mcp) -> Result<Self, Fault> {
        check_origin(&parts.headers, mcp)?;
        let query = parts.uri.query().unwrap_or_default();
        if url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "access_token") {
            return Err(mcp.challenge(Some(Refused::InQuery)));
        }
        let token = bearer(&parts.headers).map_err(|refused| mcp.challenge(refused))?;
        let found = mcp.app.identity.bearer_from_outside(&mcp.authority.id, &token, &mcp.resource).await;
        let bearer = found.map_err(|error| match error {
            IdentityError::Token(_) => mcp.challenge(Some(Refused::Token)),
            IdentityError::Busy(wait) => Fault::too_many(wait),
            error => {
                tracing::warn!(%error, "an access token could not be checked");
                Fault::unavailable(RETRY)
            }
        })?;
        if mcp.settings.scope.as_ref().is_some_and(|scope| !bearer.scopes.has(scope)) {
            return Err(mcp.challenge(Some(Refused::Scope)));
        }
        mcp.pace.request(&bearer.subject)?;
        Ok(Self { subject: bearer.subject, until: bearer.expires_at })
    }
}

/// M26: a browser says from which page a request comes. No page but ours has any business here.
fn check_origin(headers: &HeaderMap, mcp: &Mcp) -> Result<(), Fault> {
    let ours = mcp.app.settings.public_url.origin();
    let all_ours = headers.get_all(header::ORIGIN).iter().all(|origin| origin.as_bytes() == ours.as_bytes());
    if all_ours { Ok(()) } else { Err(Fault::foreign_origin()) }
}

/// Why a token is refused.
#[derive(Clone, Copy)]
enum Refused {
    /// Two of them, or in the query.
    Malformed,
    InQuery,
    Token,
    Scope,
}

/// The one bearer token of a request (RFC 6750, section 2.1); `None` when there is none at all.
fn bearer(headers: &HeaderMap) -> Result<Secret, Option<Refused>> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(None)?;
    if values.next().is_some() {
        return Err(Some(Refused::Malformed));
    }
    let text = value.to_str().map_err(|_| Some(Refused::Malformed))?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(None);
    }
    let token = token.trim_start_matches(' ');
    if token.is_empty() || token.contains(' ') {
        return Err(Some(Refused::Malformed));
    }
    Ok(Secret::new(token))
}

impl Mcp {
    /// What the endpoint is called.
    pub(super) fn title(&self) -> String {
        format!("{}: my connections", self.app.settings.operator.name)
    }

    /// RFC 6750, section 3, with the pointer of RFC 9728, section 5.1 (A3, A4, A6, A14).
    fn challenge(&self, refused: Option<Refused>) -> Fault {
        let (status, error, message) = match refused {
            None => (StatusCode::UNAUTHORIZED, None, "Send an access token in the header `Authorization`."),
            Some(Refused::Malformed) => {
                (StatusCode::BAD_REQUEST, Some("invalid_request"), "The header `Authorization` is malformed.")
            }
            Some(Refused::InQuery) => {
                (StatusCode::BAD_REQUEST, Some("invalid_request"), "An access token never stands in a URL.")
            }
            Some(Refused::Token) => {
                (StatusCode::UNAUTHORIZED, Some("invalid_token"), "The access token is not good here.")
            }
            Some(Refused::Scope) => {
                (StatusCode::FORBIDDEN, Some("insufficient_scope"), "The access token does not allow this.")
            }
        };
        let metadata = self.app.settings.public_url.join(METADATA_PATH);
        let mut challenge = format!("Bearer resource_metadata=\"{metadata}\"");
        if let Some(scope) = &self.settings.scope {
            challenge.push_str(&format!(", scope=\"{scope}\""));
        }
        if let Some(error) = error {
            challenge.push_str(&format!(", error=\"{error}\", error_description=\"{message}\""));
        }
        // No backticks: RFC 6750 would allow them, and some readers do not.
        Fault::challenged(status, message, challenge.replace('`', "'"))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a11_one_token_is_taken_from_one_header() {
        let of = |values: &[&'static str]| {
            let all: HeaderMap =
                values.iter().map(|value| (header::AUTHORIZATION, HeaderValue::from_static(value))).collect();
            bearer(&all).map(|token| token.expose().to_owned())
        };
        assert_eq!(of(&["Bearer abc"]).ok().as_deref(), Some("abc"));
        assert_eq!(of(&["bearer  abc"]).ok().as_deref(), Some("abc"));
        assert!(matches!(of(&[]), Err(None)));
        assert!(matches!(of(&["Basic abc"]), Err(None)));
        for malformed in [&["Bearer"][..], &["Bearer "], &["Bearer a b"], &["Bearer a", "Bearer a"]] {
            assert!(matches!(of(malformed), Err(Some(Refused::Malformed))), "{malformed:?}");
        }
    }
}
