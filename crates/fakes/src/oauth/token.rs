//! The token endpoint up to the decision: who asks, does the code or refresh token buy anything. Every request is
//! logged, also one that a script answers. Making the tokens is each fake's own business.

use aws_lc_rs::digest;
use axum::Json;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};

use super::grants::{Access, Stale};
use super::{Approval, Core, Refresh, Settings, State, TokenRequest};
use crate::clients::{Authentication, Client, Presented};
use crate::clock::millis;
use crate::log::lock;
use crate::parameters::{Parameters, words};

/// An error answer of RFC 6749 section 5.2.
#[derive(Clone, Debug)]
pub(crate) struct TokenError {
    pub(crate) status: u16,
    pub(crate) error: &'static str,
    pub(crate) why: String,
}

impl TokenError {
    fn new(error: &'static str, why: impl Into<String>) -> Self {
        Self { status: 400, error, why: why.into() }
    }

    pub(crate) fn request(why: impl Into<String>) -> Self {
        Self::new("invalid_request", why)
    }

    fn grant(why: impl Into<String>) -> Self {
        Self::new("invalid_grant", why)
    }

    pub(crate) fn client(why: impl Into<String>) -> Self {
        Self { status: 401, error: "invalid_client", why: why.into() }
    }
}

impl IntoResponse for TokenError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let body = json!({ "error": self.error, "error_description": self.why });
        let mut response = (status, [("cache-control", "no-store")], Json(body)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let challenge = http::HeaderValue::from_static("Basic realm=\"token\"");
            response.headers_mut().insert(http::header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// What was decided to be issued.
#[derive(Clone, Debug)]
pub(crate) struct Issue {
    pub(crate) approval: Approval,
    /// Of this access token; on a refresh they may be fewer than granted.
    pub(crate) scopes: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) nonce: Option<String>,
    pub(crate) auth_time: i64,
    pub(crate) refresh_token: Option<String>,
    pub(crate) settings: Settings,
    family: u64,
}

impl Issue {
    /// The members of the token answer; `more` are those that only one fake has.
    pub(crate) fn answer(&self, access_token: &str, more: Map<String, Value>) -> Response {
        let mut body = Map::new();
        body.insert("access_token".to_owned(), json!(access_token));
        body.insert("token_type".to_owned(), json!("Bearer"));
        body.insert("expires_in".to_owned(), json!(self.settings.access_token_life.as_secs()));
        body.insert("scope".to_owned(), json!(self.scopes.join(" ")));
        if let Some(token) = &self.refresh_token {
            body.insert("refresh_token".to_owned(), json!(token));
        }
        body.extend(more);
        let headers = [("cache-control", "no-store"), ("pragma", "no-cache")];
        (StatusCode::OK, headers, Json(Value::Object(body))).into_response()
    }
}

impl Core {
    /// Logs a token request that a script answers without any work.
    pub(crate) fn note_token_request(&self, headers: &HeaderMap, body: &Bytes) {
        let mut entry = self.token_entry(headers, &Parameters::parse(body));
        entry.scripted = true;
        self.token_log.push(entry);
    }

    /// Logs a request to the token endpoint that is no POST.
    pub(crate) fn note_wrong_method(&self, headers: &HeaderMap, query: &str) {
        let mut entry = self.token_entry(headers, &Parameters::parse(query.as_bytes()));
        entry.error = Some("invalid_request".to_owned());
        entry.why = Some("only POST is answered here".to_owned());
        self.token_log.push(entry);
    }

    /// Logs and decides a token request.
    pub(crate) fn decide(
        &self,
        headers: &HeaderMap,
        body: &Bytes,
        scripted: bool,
    ) -> Result<Issue, TokenError> {
        let mut entry = self.token_entry(headers, &Parameters::parse(body));
        entry.scripted = scripted;
        let decided = self.exchange(headers, body);
        match &decided {
            Ok(_) => entry.accepted = true,
            Err(error) => {
                entry.error = Some(error.error.to_owned());
                entry.why = Some(error.why.clone());
            }
        }
        self.token_log.push(entry);
        decided
    }

    fn token_entry(&self, headers: &HeaderMap, sent: &Parameters) -> TokenRequest {
        let presented = Presented::read(headers, sent);
        let (code, refresh_token) = (sent.owned("code"), sent.owned("refresh_token"));
        let approval = lock(&self.state).grants.approval_of(code.as_deref(), refresh_token.as_deref());
        TokenRequest {
            at_ms: self.clock.now_ms(),
            grant_type: sent.owned("grant_type"),
            client_id: presented.id,
            authentication: presented.used,
            code,
            refresh_token,
            code_verifier: sent.owned("code_verifier"),
            redirect_uri: sent.owned("redirect_uri"),
            resources: sent.all("resource"),
            parameters: sent.0.clone(),
            accepted: false,
            error: None,
            why: None,
            scripted: false,
            approval,
        }
    }

    fn exchange(&self, headers: &HeaderMap, body: &Bytes) -> Result<Issue, TokenError> {
        let sent = Parameters::form(headers, body).map_err(|error| TokenError::request(error.to_string()))?;
        if let Some(name) = sent.duplicate() {
            return Err(TokenError::request(format!("{name} was sent more than once")));
        }
        let client = self.authenticate(&Presented::read(headers, &sent))?;
        let mut state = lock(&self.state);
        let now_ms = self.clock.now_ms();
        match sent.get("grant_type") {
            Some("authorization_code") => state.redeem(&client, &sent, now_ms),
            Some("refresh_token") => state.refresh(&client, &sent, now_ms),
            Some(_) => Err(TokenError::new("unsupported_grant_type", "authorization_code or refresh_token")),
            None => Err(TokenError::request("grant_type is missing")),
        }
    }

    /// Who sent this, if proven.
    pub(crate) fn authenticate(&self, presented: &Presented) -> Result<Client, TokenError> {
        if let Some(secret) = presented.nameless_secret() {
            return self.client_of_secret(secret).ok_or_else(|| TokenError::client("wrong secret"));
        }
        let id = presented.id.as_deref().ok_or_else(|| TokenError::client("no client named"))?;
        let client = self.client(id).ok_or_else(|| TokenError::client("this client is not registered"))?;
        let signed = match (&client.authentication, presented.signed()) {
            (Authentication::Assertion(known), Some(signed)) => {
                known.check(signed, id, self.clock.now_ms() / 1000, &mut lock(&self.state).assertions)
            }
            (Authentication::Assertion(_), None) => Err("not signed"),
            _ => Ok(false),
        };
        let signed = signed.map_err(TokenError::client)?;
        if signed || presented.proves(&client) {
            Ok(client)
        } else {
            let method = client.authentication.method();
            Err(TokenError::client(format!("wrong secret, or not by {method}")))
        }
    }

    /// Remembers an access token that was made for `issue`.
    pub(crate) fn remember(&self, token: &str, issue: &Issue, subject: &str, audience: Vec<String>) {
        let issued_ms = self.clock.now_ms();
        let access = Access {
            family: Some(issue.family),
            account: issue.approval.account.clone(),
            client_id: issue.approval.client_id.clone(),
            scopes: issue.scopes.clone(),
            audience,
            subject: subject.to_owned(),
            issued_ms,
            expires_ms: issued_ms.saturating_add(millis(issue.settings.access_token_life)),
        };
        lock(&self.state).grants.access.insert(token.to_owned(), access);
    }

    /// Remembers an access token that came from no approval (a shortcut's).
    pub(crate) fn remember_free(&self, token: &str, access: Access) {
        lock(&self.state).grants.access.insert(token.to_owned(), access);
    }

    /// The access token, if it lives.
    pub(crate) fn living(&self, token: &str) -> Option<Access> {
        lock(&self.state).grants.living(token, self.clock.now_ms()).cloned()
    }
}

impl State {
    fn redeem(&mut self, client: &Client, sent: &Parameters, now_ms: i64) -> Result<Issue, TokenError> {
        let presented = sent.get("code").ok_or_else(|| TokenError::request("code is missing"))?;
        let code = self.grants.codes.get_mut(presented).ok_or_else(|| TokenError::grant("unknown code"))?;
        let family =
            self.grants.families.get(&code.family).ok_or_else(|| TokenError::grant("unknown code"))?;
        if family.approval.client_id != client.id {
            return Err(TokenError::grant("this code was issued to another client"));
        }
        if code.spent {
            let family = code.family;
            self.grants.kill_for_reuse(family);
            return Err(TokenError::grant("this code was used before; what came from it is revoked"));
        }
        // From here on the right client has presented it: spent, even when something else is wrong.
        code.spent = true;
        let code = code.clone();
        if code.expires_ms <= now_ms {
            return Err(TokenError::grant("this code has expired"));
        }
        if sent.get("redirect_uri") != Some(family.approval.redirect_uri.as_str()) {
            return Err(TokenError::grant("redirect_uri is not that of the authorize request"));
        }
        check_verifier(code.challenge.as_deref(), sent.get("code_verifier"))?;
        self.issue(code.family, sent, None, true)
    }

    fn refresh(&mut self, client: &Client, sent: &Parameters, now_ms: i64) -> Result<Issue, TokenError> {
        let presented =
            sent.get("refresh_token").ok_or_else(|| TokenError::request("refresh_token is missing"))?;
        let owner = self.grants.approval_of(None, Some(presented));
        if owner.is_some_and(|approval| approval.client_id != client.id) {
            return Err(TokenError::grant("this refresh token was issued to another client"));
        }
        let (mode, grace) = (self.settings.refresh, self.settings.rotation_grace);
        let used = self.grants.use_refresh(presented, mode, grace, now_ms);
        let (family, successor) = used.map_err(|stale| {
            TokenError::grant(match stale {
                Stale::Unknown => "unknown refresh token",
                Stale::Revoked => "this grant was revoked",
                Stale::Used => "this refresh token was used before",
                Stale::Reused => "this refresh token was used before; its family is revoked",
            })
        })?;
        self.issue(family, sent, successor, false)
    }

    fn issue(
        &mut self,
        family_id: u64,
        sent: &Parameters,
        successor: Option<String>,
        first: bool,
    ) -> Result<Issue, TokenError> {
        let family =
            self.grants.families.get(&family_id).ok_or_else(|| TokenError::grant("unknown grant"))?.clone();
        let resources = narrowed(&sent.all("resource"), &family.resources).ok_or_else(|| {
            TokenError::new("invalid_target", "this resource was not part of the authorize request")
        })?;
        let asked = if first { Vec::new() } else { sent.get("scope").map(words).unwrap_or_default() };
        let scopes = narrowed(&asked, &family.approval.scopes)
            .ok_or_else(|| TokenError::new("invalid_scope", "more than was granted"))?;
        let refresh_token = match successor {
            None if first && self.settings.refresh != Refresh::Never => {
                Some(self.grants.issue_refresh(family_id))
            }
            other => other,
        };
        Ok(Issue {
            approval: family.approval,
            scopes,
            resources,
            nonce: if first { family.nonce } else { None },
            auth_time: family.auth_time,
            refresh_token,
            settings: self.settings.clone(),
            family: family_id,
        })
    }
}

/// What is asked for when that is part of what was granted; all of it when nothing is named.
fn narrowed(asked: &[String], granted: &[String]) -> Option<Vec<String>> {
    if asked.is_empty() {
        return Some(granted.to_vec());
    }
    asked.iter().all(|one| granted.contains(one)).then(|| asked.to_vec())
}

/// RFC 7636 section 4.6. A verifier without a challenge is refused too: the request lost its challenge on the way.
fn check_verifier(challenge: Option<&str>, verifier: Option<&str>) -> Result<(), TokenError> {
    match (challenge, verifier) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(TokenError::grant("a code_verifier for a request without a challenge")),
        (Some(_), None) => Err(TokenError::grant("code_verifier is missing")),
        (Some(challenge), Some(verifier)) => {
            let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            if !(43..=128).contains(&verifier.len()) || !verifier.bytes().all(unreserved) {
                return Err(TokenError::grant("code_verifier is not 43 to 128 unreserved characters"));
            }
            let hash = digest::digest(&digest::SHA256, verifier.as_bytes());
            if URL_SAFE_NO_PAD.encode(hash) == challenge {
                Ok(())
            } else {
                Err(TokenError::grant("code_verifier does not fit the challenge"))
            }
        }
    }
}
