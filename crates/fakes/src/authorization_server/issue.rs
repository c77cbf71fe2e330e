//! Making tokens: access tokens (RFC 9068 JWTs or opaque), ID tokens, and userinfo.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};

use super::Inner;
use crate::answers::{bearer, challenge};
use crate::clock::millis;
use crate::entropy;
use crate::log::lock;
use crate::oauth::Issue;
use crate::observe::token_endpoint;
use crate::tokens::{Forge, at_hash};

/// Life of an ID token in seconds.
const ID_TOKEN_LIFE: i64 = 600;

/// What an access token says.
pub(super) struct Says<'a> {
    pub(super) subject: &'a str,
    pub(super) client_id: &'a str,
    pub(super) audience: &'a [String],
    pub(super) scopes: &'a [String],
    pub(super) auth_time: i64,
    pub(super) life_s: i64,
}

pub(super) async fn token(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    token_endpoint(&inner.core, &headers, &body, async |scripted| {
        match inner.core.decide(&headers, &body, scripted) {
            Err(error) => error.into_response(),
            Ok(issue) => {
                inner.answer(&issue).unwrap_or_else(|| StatusCode::INTERNAL_SERVER_ERROR.into_response())
            }
        }
    })
    .await
}

impl Inner {
    fn answer(&self, issue: &Issue) -> Option<Response> {
        let subject = self.subject(&issue.approval.account, &issue.approval.client_id);
        let audience =
            if issue.resources.is_empty() { vec![self.core.issuer.clone()] } else { issue.resources.clone() };
        let says = Says {
            subject: &subject,
            client_id: &issue.approval.client_id,
            audience: &audience,
            scopes: &issue.scopes,
            auth_time: issue.auth_time,
            life_s: millis(issue.settings.access_token_life) / 1000,
        };
        let access_token = self.access_token(&says, &self.honest())?;
        let mut more = Map::new();
        if issue.scopes.iter().any(|scope| scope == "openid") {
            more.insert("id_token".to_owned(), json!(self.id_token(issue, &subject, &access_token)?));
        }
        self.core.remember(&access_token, issue, &subject, audience);
        Some(issue.answer(&access_token, more))
    }

    /// A forge that changes nothing but follows the configured signature.
    pub(super) fn honest(&self) -> Forge {
        Forge::new().signed(self.identity().signature)
    }

    /// An access token; `None` only when the crypto library fails.
    pub(super) fn access_token(&self, says: &Says<'_>, forge: &Forge) -> Option<String> {
        if self.identity().opaque_access_tokens {
            return Some(entropy::secret("access_"));
        }
        let now = self.core.clock.now_s();
        let audience = match says.audience {
            [one] => json!(one),
            several => json!(several),
        };
        let claims = json!({
            "iss": self.core.issuer, "sub": says.subject, "aud": audience, "client_id": says.client_id,
            "iat": now, "exp": now.saturating_add(says.life_s), "jti": entropy::label(),
            "scope": says.scopes.join(" "), "auth_time": says.auth_time,
        });
        forge.sign(&lock(&self.keys), "at+jwt", object(claims)).ok()
    }

    fn id_token(&self, issue: &Issue, subject: &str, access_token: &str) -> Option<String> {
        let person = self.person(&issue.approval.account).ok()?;
        let now = self.core.clock.now_s();
        let mut claims = person.claims_for(&issue.scopes);
        claims.extend(object(json!({
            "iss": self.core.issuer, "sub": subject, "aud": issue.approval.client_id,
            "iat": now, "exp": now.saturating_add(ID_TOKEN_LIFE), "auth_time": issue.auth_time,
            "at_hash": at_hash(access_token),
        })));
        if let Some(nonce) = &issue.nonce {
            claims.insert("nonce".to_owned(), json!(nonce));
        }
        let forge = {
            let mut forges = lock(&self.forges);
            if forges.is_empty() { self.honest() } else { forges.remove(0) }
        };
        forge.sign(&lock(&self.keys), "JWT", claims).ok()
    }
}

/// `/userinfo` (OpenID Connect Core 5.3): for tokens with the scope `openid`.
pub(super) async fn userinfo(State(inner): State<Arc<Inner>>, headers: HeaderMap) -> Response {
    let Some(token) = bearer(&headers) else { return challenge(StatusCode::UNAUTHORIZED, None, "") };
    let Some(access) = inner.core.living(token) else {
        return challenge(StatusCode::UNAUTHORIZED, Some("invalid_token"), "");
    };
    if !access.scopes.iter().any(|scope| scope == "openid") {
        return challenge(StatusCode::FORBIDDEN, Some("insufficient_scope"), ", scope=\"openid\"");
    }
    let Ok(person) = inner.person(&access.account) else {
        return challenge(StatusCode::UNAUTHORIZED, Some("invalid_token"), "");
    };
    let mut claims = person.claims_for(&access.scopes);
    claims.insert("sub".to_owned(), json!(access.subject));
    ([("cache-control", "no-store")], Json(Value::Object(claims))).into_response()
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
