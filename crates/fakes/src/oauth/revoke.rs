//! Revocation (RFC 7009): a refresh token takes its family along, an access token only itself. And GitHub's own way, by
//! which an access token takes along everything that its account has given to the client.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::token::TokenError;
use super::{Core, Revocation};
use crate::clients::Presented;
use crate::log::lock;
use crate::parameters::Parameters;

impl Core {
    /// Logs a revocation that a script answers without any work.
    pub(crate) fn note_revocation(&self, headers: &HeaderMap, body: &Bytes) {
        let sent = Parameters::parse(body);
        self.revocations.push(Revocation { scripted: true, ..self.revocation_entry(headers, &sent) });
    }

    /// `POST /revoke`. Unknown tokens are fine (section 2.2).
    pub(crate) fn revoke(&self, headers: &HeaderMap, body: &Bytes) -> Response {
        let mut entry = self.revocation_entry(headers, &Parameters::parse(body));
        let done = self.try_revoke(headers, body);
        entry.revoked = matches!(done, Ok(true));
        self.revocations.push(entry);
        match done {
            Ok(_) => StatusCode::OK.into_response(),
            Err(error) => error.into_response(),
        }
    }

    /// `DELETE /applications/{client_id}/grant`: the client by Basic, and a JSON object with the access token alone. 204;
    /// 404 for a token that is not a living one of this client's.
    pub(crate) fn end_grant(&self, client_id: &str, headers: &HeaderMap, body: &Bytes) -> Response {
        let presented = Presented::read(headers, &Parameters::default());
        let sent: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let token = sent.get("access_token").and_then(serde_json::Value::as_str);
        let alone = sent.as_object().is_some_and(|members| members.len() == 1);
        let media = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let known = self.client(client_id).is_some_and(|client| presented.proves_by_basic(&client));
        let status = match token {
            _ if !known => StatusCode::UNAUTHORIZED,
            Some(token) if alone && media == Some("application/json") => {
                if self.end_all_of(client_id, token) { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }
            }
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        self.revocations.push(Revocation {
            at_ms: self.clock.now_ms(),
            client_id: presented.id,
            token: token.map(str::to_owned),
            hint: None,
            revoked: status == StatusCode::NO_CONTENT,
            scripted: false,
        });
        status.into_response()
    }

    /// Ends a token, whichever it is, and logs it; whether it lived.
    pub(crate) fn end_token(&self, token: &str) -> bool {
        let now_ms = self.clock.now_ms();
        let revoked = {
            let mut state = lock(&self.state);
            match state.grants.refresh.get(token).map(|refresh| refresh.family) {
                Some(family) => {
                    let grant = state.grants.families.get_mut(&family);
                    grant.is_some_and(|grant| std::mem::replace(&mut grant.alive, false))
                }
                None => {
                    let lived = state.grants.living(token, now_ms).is_some();
                    state.grants.access.remove(token);
                    lived
                }
            }
        };
        let token = Some(token.to_owned());
        self.revocations.push(Revocation {
            at_ms: now_ms,
            client_id: None,
            token,
            hint: None,
            revoked,
            scripted: false,
        });
        revoked
    }

    fn end_all_of(&self, client_id: &str, token: &str) -> bool {
        let now_ms = self.clock.now_ms();
        let mut state = lock(&self.state);
        let living = state.grants.living(token, now_ms).filter(|access| access.client_id == client_id);
        let Some(account) = living.map(|access| access.account.clone()) else { return false };
        for family in state.grants.families.values_mut() {
            family.alive &= family.approval.account != account || family.approval.client_id != client_id;
        }
        state.grants.access.retain(|_, access| access.account != account || access.client_id != client_id);
        true
    }

    /// Ends every grant of an account, as if it had removed the client in its own settings.
    pub(crate) fn revoke_account(&self, account: &str) {
        let mut state = lock(&self.state);
        for family in state.grants.families.values_mut() {
            family.alive &= family.approval.account != account;
        }
        state.grants.access.retain(|_, access| access.account != account);
    }

    /// How often a family died of a reused code or refresh token.
    pub(crate) fn reuse_kills(&self) -> usize {
        lock(&self.state).grants.reuse_kills
    }

    fn revocation_entry(&self, headers: &HeaderMap, sent: &Parameters) -> Revocation {
        Revocation {
            at_ms: self.clock.now_ms(),
            client_id: Presented::read(headers, sent).id,
            token: sent.owned("token"),
            hint: sent.owned("token_type_hint"),
            revoked: false,
            scripted: false,
        }
    }

    fn try_revoke(&self, headers: &HeaderMap, body: &Bytes) -> Result<bool, TokenError> {
        let sent = Parameters::form(headers, body).map_err(|error| TokenError::request(error.to_string()))?;
        if let Some(name) = sent.duplicate() {
            return Err(TokenError::request(format!("{name} was sent more than once")));
        }
        let client = self.authenticate(&Presented::read(headers, &sent))?;
        let token = sent.get("token").ok_or_else(|| TokenError::request("token is missing"))?;
        let now_ms = self.clock.now_ms();
        let mut state = lock(&self.state);
        if let Some(family) = state.grants.refresh.get(token).map(|refresh| refresh.family) {
            let Some(grant) = state.grants.families.get_mut(&family) else { return Ok(false) };
            if grant.approval.client_id != client.id {
                return Err(TokenError::request("this token belongs to another client"));
            }
            return Ok(std::mem::replace(&mut grant.alive, false));
        }
        let Some(access) = state.grants.access.get(token) else { return Ok(false) };
        if access.client_id != client.id {
            return Err(TokenError::request("this token belongs to another client"));
        }
        let lived = state.grants.living(token, now_ms).is_some();
        state.grants.access.remove(token);
        Ok(lived)
    }
}
