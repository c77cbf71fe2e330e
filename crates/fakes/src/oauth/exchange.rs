//! An access token for an access token: how some servers give tokens that live long, and renew them, without refresh
//! tokens.

use axum::Json;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::Uri;
use serde_json::json;

use super::Core;
use super::grants::Access;
use super::token::TokenError;
use crate::clients::Authentication;
use crate::clock::millis;
use crate::entropy;
use crate::log::lock;
use crate::parameters::Parameters;

/// How many lives of an ordinary one it has.
const LONG: u32 = 100;

impl Core {
    /// `GET` with everything in the query. `first`: a young token becomes a long-lived one, and the client's secret goes
    /// along (`grant_type=exchange`); else a long-lived one is renewed by itself (`grant_type=renew`). The former stays good.
    pub(crate) fn exchange_access(&self, uri: &Uri, body: &Bytes, first: bool) -> Response {
        let sent = Parameters::parse(uri.query().unwrap_or_default().as_bytes());
        match self.exchanged(&sent, body, first) {
            Ok((token, life_s)) => {
                let answer = json!({ "access_token": token, "token_type": "bearer", "expires_in": life_s });
                ([("cache-control", "no-store")], Json(answer)).into_response()
            }
            Err(error) => error.into_response(),
        }
    }

    fn exchanged(&self, sent: &Parameters, body: &Bytes, first: bool) -> Result<(String, u64), TokenError> {
        let expected: &[&str] = if first {
            &["access_token", "client_secret", "grant_type"]
        } else {
            &["access_token", "grant_type"]
        };
        let mut names: Vec<&str> = sent.0.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if names != expected || !body.is_empty() {
            return Err(TokenError::request(
                "other parameters than these: ".to_owned() + &expected.join(", "),
            ));
        }
        if sent.get("grant_type") != Some(if first { "exchange" } else { "renew" }) {
            return Err(TokenError::request("grant_type"));
        }
        let token = sent.get("access_token").unwrap_or_default();
        let now_ms = self.clock.now_ms();
        let mut state = lock(&self.state);
        let grant = |why: &str| TokenError { status: 400, error: "invalid_grant", why: why.to_owned() };
        let access = state.grants.living(token, now_ms).ok_or_else(|| grant("no living token"))?.clone();
        if state.grants.long.contains(token) == first {
            return Err(grant("a token of the other kind"));
        }
        let secret = state.clients.get(&access.client_id).map(|client| &client.authentication);
        let known = match secret {
            Some(Authentication::Post(secret) | Authentication::Basic(secret)) => Some(secret.as_str()),
            _ => None,
        };
        if first && (known.is_none() || sent.get("client_secret") != known) {
            return Err(TokenError::client("wrong secret"));
        }
        let life = state.settings.access_token_life * LONG;
        let next = entropy::secret("long_");
        let made = Access { issued_ms: now_ms, expires_ms: now_ms.saturating_add(millis(life)), ..access };
        state.grants.long.insert(next.clone());
        state.grants.access.insert(next.clone(), made);
        Ok((next, life.as_secs()))
    }
}
