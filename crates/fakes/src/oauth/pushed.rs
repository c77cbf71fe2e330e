//! Pushed authorization requests (RFC 9126): kept 60 s, for the client that pushed them, spent when answered.

use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::json;

use super::token::TokenError;
use super::{Core, Par, Refused};
use crate::clients::Presented;
use crate::clock::millis;
use crate::entropy;
use crate::log::lock;
use crate::parameters::Parameters;

const LIFE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Pushed {
    client_id: String,
    parameters: Parameters,
    expires_ms: i64,
}

impl Core {
    /// `POST /par`.
    pub(crate) fn push(&self, headers: &HeaderMap, body: &Bytes) -> Response {
        match self.keep(headers, body) {
            Ok(request_uri) => {
                let answer = json!({ "request_uri": request_uri, "expires_in": LIFE.as_secs() });
                (StatusCode::CREATED, [("cache-control", "no-store")], Json(answer)).into_response()
            }
            Err(error) => error.into_response(),
        }
    }

    fn keep(&self, headers: &HeaderMap, body: &Bytes) -> Result<String, TokenError> {
        if self.settings().par == Par::Off {
            return Err(TokenError {
                status: 404,
                error: "not_found",
                why: "no pushed requests here".to_owned(),
            });
        }
        let sent = Parameters::form(headers, body).map_err(|error| TokenError::request(error.to_string()))?;
        if let Some(name) = sent.duplicate() {
            return Err(TokenError::request(format!("{name} was sent more than once")));
        }
        if sent.get("request_uri").is_some() {
            return Err(TokenError::request("a request_uri cannot be pushed"));
        }
        let client = self.authenticate(&Presented::read(headers, &sent))?;
        let kept = sent.0.into_iter().filter(|(name, _)| name != "client_secret" && name != "client_id");
        let mut parameters = Parameters(kept.collect());
        parameters.0.push(("client_id".to_owned(), client.id.clone()));
        if !parameters.get("redirect_uri").is_some_and(|uri| client.accepts_redirect(uri)) {
            return Err(TokenError::request("this redirect_uri is not registered for this client"));
        }
        let request_uri = format!("urn:ietf:params:oauth:request_uri:{}", entropy::secret(""));
        let expires_ms = self.clock.now_ms().saturating_add(millis(LIFE));
        let pushed = Pushed { client_id: client.id, parameters, expires_ms };
        lock(&self.state).pushed.insert(request_uri.clone(), pushed);
        Ok(request_uri)
    }

    pub(super) fn pushed(&self, request_uri: &str, client_id: &str) -> Result<Parameters, Refused> {
        let state = lock(&self.state);
        let pushed = state
            .pushed
            .get(request_uri)
            .filter(|pushed| pushed.client_id == client_id && pushed.expires_ms > self.clock.now_ms())
            .ok_or_else(|| {
                Refused::new("invalid_request_uri", "this request_uri is unknown, spent or expired")
            })?;
        Ok(pushed.parameters.clone())
    }
}
