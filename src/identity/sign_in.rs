//! Signing a person in: an OpenID Connect code flow with PKCE, `nonce`, and a `state` that only this browser can
//! bring back.
//!
//! Path and `iss` are compared with what was begun before the code is sent anywhere, so that one authorization
//! server never gets another's code (RFC 9207). What it must never do: touch a session; who is signed in is decided
//! after it, and only when everything here held.

use std::time::Duration;

use aws_lc_rs::constant_time;
use consentry_jwt::Jws;
use http::StatusCode;
use serde_json::{Map, Value};
use url::{Url, form_urlencoded};
use uuid::Uuid;

use super::{
    Identity, IdentityError, Peer, SignInRefusal, Target,
    claims::Claims,
    fetch, id_token,
    pending::{self, Pending},
    response::{Outcome, Response},
};
use crate::{secret::Secret, subject::Subject};

/// A sign-in that was begun: where the browser goes, and the cookie that it takes along.
#[derive(Debug)]
pub struct Begun {
    /// The authorization server's page. Holds `state` and `nonce`, or stands for them.
    pub location: String,
    /// What the cookie is called, behind the common part of the names.
    pub cookie_key: String,
    /// The cookie's value, sealed.
    pub cookie: String,
}

/// A person who has proven to the authorization server who they are.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// Who they are.
    pub subject: Subject,
    /// What they recognise themselves by. Untrusted text, for their own eyes.
    pub label: Option<String>,
    /// Where they wanted to go.
    pub target: Target,
    /// What tells this browser from another, as it was when the sign-in was begun.
    pub browser: Uuid,
}

impl Identity {
    /// Begins a sign-in at the server of this id. `switch` asks it to let the person choose another account.
    ///
    /// # Errors
    /// When the server is unknown, unreachable, or refuses what is pushed to it (RFC 9126).
    pub async fn begin(
        &self,
        server: &str,
        target: Target,
        switch: bool,
        browser: Uuid,
    ) -> Result<Begun, IdentityError> {
        let peer = self.peer(server)?;
        let metadata = self.metadata(peer).await?;
        let settings = &peer.settings;
        let pending = Pending::new(self.0.random, self.0.clock.now(), browser, target);
        let (state, nonce) = (pending.state(), pending.nonce());
        let (redirect_uri, challenge) = (self.redirect_uri(&settings.id), pending.challenge());
        let scope = scope(&settings.scopes);
        let mut parameters = vec![
            ("response_type", "code"),
            ("redirect_uri", &redirect_uri),
            ("scope", &scope),
            ("state", state.expose()),
            ("nonce", nonce.expose()),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        if switch {
            let chooses =
                metadata.prompts.as_ref().is_some_and(|known| known.iter().any(|p| p == "select_account"));
            parameters.push(("prompt", if chooses { "select_account" } else { "login" }));
        }
        let mut location = metadata.authorization_endpoint.clone();
        match &metadata.pushed_authorization_request_endpoint {
            Some(endpoint) => {
                let request_uri = self.push(peer, endpoint, &parameters).await?;
                location.query_pairs_mut().extend_pairs([
                    ("client_id", settings.client_id.as_str()),
                    ("request_uri", &request_uri),
                ]);
            }
            None => {
                parameters.insert(0, ("client_id", &settings.client_id));
                location.query_pairs_mut().extend_pairs(&parameters);
            }
        }
        Ok(Begun {
            location: location.into(),
            cookie_key: pending::cookie_key(&state),
            cookie: pending.seal(&self.0.vault, &settings.id, &settings.issuer),
        })
    }

    /// The lineage that a sign-in on its way was begun in, so that two begun side by side arrive in one.
    pub fn browser_of(&self, cookie: &str, life: Duration) -> Option<Uuid> {
        let now = self.0.clock.now();
        let pending = self.0.peers.iter().find_map(|peer| self.opened(peer, cookie).ok())?;
        (now < pending.begun_at.plus(life)).then_some(pending.browser)
    }

    /// Where a sign-in of this server would have led, for the way back from a failure.
    pub fn target_of(&self, server: &str, cookie: &str) -> Option<Target> {
        self.opened(self.peer(server).ok()?, cookie).ok().map(|pending| pending.target)
    }

    fn opened(&self, peer: &Peer, cookie: &str) -> Result<Pending, SignInRefusal> {
        Pending::open(&self.0.vault, &peer.settings.id, &peer.settings.issuer, cookie)
    }

    /// Finishes a sign-in with what came back on this server's callback path and the cookie of its `state`. Nothing is
    /// sent anywhere before both are known to belong together; a code is sent once.
    ///
    /// # Errors
    /// [`IdentityError`]; whatever it is, nobody is signed in.
    pub async fn complete(
        &self,
        server: &str,
        response: &Response,
        cookie: &str,
        life: Duration,
    ) -> Result<Arrived, IdentityError> {
        let peer = self.peer(server)?;
        let settings = &peer.settings;
        let pending = self.opened(peer, cookie)?;
        if !same(&pending.state(), &response.state) {
            return Err(SignInRefusal::NotBegunHere.into());
        }
        if pending.begun_at.plus(life) <= self.0.clock.now() {
            return Err(SignInRefusal::TooOld.into());
        }
        match &response.issuer {
            Some(issuer) if *issuer != settings.issuer => return Err(SignInRefusal::WrongIssuer.into()),
            None if self.metadata(peer).await?.iss_always_sent => {
                return Err(SignInRefusal::WrongIssuer.into());
            }
            Some(_) | None => {}
        }
        let code = match &response.outcome {
            Outcome::Code(code) => code,
            Outcome::Denied => return Err(SignInRefusal::Denied.into()),
            Outcome::Failed => return Err(SignInRefusal::Failed.into()),
        };
        let tokens = self.exchange(peer, &pending, code).await?;
        let named = self.named(peer, &pending, code, &tokens).await?;
        Ok(Arrived {
            subject: named.subject,
            label: named.label,
            target: pending.target,
            browser: pending.browser,
        })
    }

    /// RFC 9126, section 2. What is refused there is not asked for in the open instead (R68).
    async fn push(
        &self,
        peer: &Peer,
        endpoint: &Url,
        parameters: &[(&str, &str)],
    ) -> Result<String, IdentityError> {
        let metadata = self.metadata(peer).await?;
        let (status, answer) =
            fetch::form(&self.0.outbound, &peer.settings, &metadata, endpoint, parameters).await?;
        let request_uri =
            answer.as_ref().and_then(|answer| answer.get("request_uri")).and_then(Value::as_str);
        match (status, request_uri) {
            (StatusCode::CREATED | StatusCode::OK, Some(request_uri)) if !request_uri.is_empty() => {
                Ok(request_uri.to_owned())
            }
            (status, _) => Err(refused_by(status, answer.as_ref(), IdentityError::ClientRefused)),
        }
    }

    async fn exchange(
        &self,
        peer: &Peer,
        pending: &Pending,
        code: &Secret,
    ) -> Result<Map<String, Value>, IdentityError> {
        let metadata = self.metadata(peer).await?;
        let verifier = pending.verifier();
        let redirect_uri = self.redirect_uri(&peer.settings.id);
        let parameters = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", &redirect_uri),
            ("code_verifier", verifier.expose()),
        ];
        let endpoint = &metadata.token_endpoint;
        let (status, answer) =
            fetch::form(&self.0.outbound, &peer.settings, &metadata, endpoint, &parameters).await?;
        match (status, answer) {
            (StatusCode::OK, Some(answer)) if !answer.contains_key("error") => Ok(answer),
            (status, answer) => Err(refused_by(status, answer.as_ref(), SignInRefusal::CodeRefused.into())),
        }
    }

    async fn named(
        &self,
        peer: &Peer,
        pending: &Pending,
        code: &Secret,
        tokens: &Map<String, Value>,
    ) -> Result<id_token::Named, IdentityError> {
        let token = |name: &str| tokens.get(name).and_then(Value::as_str).map(Secret::new);
        let id_token = token("id_token").ok_or(SignInRefusal::NoIdToken)?;
        let jws = Jws::parse(id_token.expose(), &peer.algorithms)?;
        id_token::check_type(&jws)?;
        let claims = self.verified(peer, &jws).await?;
        let access_token = token("access_token");
        let expected = id_token::Expected {
            server: &peer.settings,
            nonce: &pending.nonce(),
            code,
            access_token: access_token.as_ref(),
            now: self.0.clock.now(),
        };
        let mut named = id_token::check(claims, jws.algorithm, &expected)?;
        if let (None, Some(access_token)) = (&named.label, access_token) {
            named.label = self.label(peer, &named.subject, &access_token).await;
        }
        Ok(named)
    }

    /// What the person is called, where the ID token does not say: a page that asks "are you X?" should not ask it with
    /// an opaque subject. Only of the same subject (OpenID Connect Core 1.0, section 5.3.2), and never needed.
    async fn label(&self, peer: &Peer, subject: &Subject, access_token: &Secret) -> Option<String> {
        let metadata = self.metadata(peer).await.ok()?;
        let endpoint = metadata.userinfo_endpoint.as_ref()?;
        let answer = self.0.outbound.get_json(endpoint, Some(access_token)).await.ok()?;
        let claims = Claims::new(answer.json().ok().filter(|_| answer.status == StatusCode::OK)?);
        let settings = &peer.settings;
        let same = claims.subject(&settings.issuer, &settings.subject_claim).is_ok_and(|one| one == *subject);
        claims.label().filter(|_| same)
    }

    /// The callback of one authorization server; never another's, so that codes cannot be mixed up (RFC 9700,
    /// section 4.4).
    fn redirect_uri(&self, server: &str) -> String {
        let server: String = form_urlencoded::byte_serialize(server.as_bytes()).collect();
        self.0.public_url.join(&format!("/sign-in/callback/{server}"))
    }
}

/// `openid` and what the settings add.
fn scope(further: &[String]) -> String {
    let further = further.iter().map(String::as_str).filter(|scope| *scope != "openid");
    std::iter::once("openid").chain(further).collect::<Vec<_>>().join(" ")
}

/// Whose fault a refusal is, by the error code (RFC 6749, section 5.2).
fn refused_by(
    status: StatusCode,
    answer: Option<&Map<String, Value>>,
    otherwise: IdentityError,
) -> IdentityError {
    match answer.and_then(|answer| answer.get("error")).and_then(Value::as_str) {
        Some("invalid_client" | "unauthorized_client") => IdentityError::ClientRefused,
        Some("server_error" | "temporarily_unavailable") => {
            IdentityError::Unreachable("it answers with an error")
        }
        Some(_) => otherwise,
        None if status == StatusCode::UNAUTHORIZED => IdentityError::ClientRefused,
        None => IdentityError::Unreachable("its answer cannot be read"),
    }
}

fn same(a: &Secret, b: &Secret) -> bool {
    constant_time::verify_slices_are_equal(a.expose().as_bytes(), b.expose().as_bytes()).is_ok()
}
