//! Reading an authorize request (RFC 6749 section 4.1.1, RFC 7636, RFC 8707, RFC 9126), and answering it.
//!
//! A request whose client or redirect URI is in doubt is refused here and never redirected.

use super::reply::{Reply, Target};
use super::{Answered, Approval, AuthorizeRequest, Core, Par, Refused, Settings, Verdict, Via};
use crate::clients::Client;
use crate::log::lock;
use crate::parameters::{Parameters, words};

/// A valid authorize request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) number: usize,
    pub(crate) client: Client,
    pub(crate) target: Target,
    pub(crate) scopes: Vec<String>,
    pub(crate) challenge: Option<String>,
    pub(crate) nonce: Option<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) prompt: Vec<String>,
    pub(crate) max_age: Option<i64>,
    pub(crate) login_hint: Option<String>,
    pub(super) request_uri: Option<String>,
}

/// Why a person is not asked.
#[derive(Clone, Debug)]
pub(crate) enum Turned {
    /// Shown here.
    Here(Refused),
    /// Sent to the client.
    Back(Reply),
}

/// An error for the client.
struct Wrong(&'static str, String);

impl Core {
    /// Logs and reads a request.
    pub(crate) fn ask(&self, sent: Parameters, via: Via) -> Result<Asked, Turned> {
        let number = self.authorize_log.push_with(|number| AuthorizeRequest {
            number,
            at_ms: self.clock.now_ms(),
            via,
            parameters: sent.0.clone(),
            pushed: Vec::new(),
            verdict: Verdict::Valid,
            answers: Vec::new(),
        });
        let asked = self.read(number, self.settings().dialect.authorize(sent));
        self.authorize_log.amend(number, |entry| match &asked {
            Ok(_) => {}
            Err(Turned::Here(refused)) => entry.verdict = Verdict::RefusedHere(refused.to_string()),
            Err(Turned::Back(Reply::Redirect(location))) => {
                entry.verdict = Verdict::RefusedToClient(location.clone());
            }
            Err(Turned::Back(Reply::FormPost(form))) => entry.verdict = Verdict::RefusedToClient(form.body()),
        });
        asked
    }

    fn read(&self, number: usize, sent: Parameters) -> Result<Asked, Turned> {
        let settings = self.settings();
        let (sent, request_uri) = self.unpack(number, sent, &settings).map_err(Turned::Here)?;
        let (client, target) = self.client_and_target(&sent, &settings).map_err(Turned::Here)?;
        match check(&sent, &settings) {
            Err(Wrong(error, description)) => {
                Err(Turned::Back(target.reply(&[("error", error), ("error_description", &description)])))
            }
            Ok(()) => Ok(Asked {
                number,
                client,
                scopes: sent.get("scope").map_or(settings.default_scopes, words),
                challenge: sent.owned("code_challenge"),
                nonce: sent.owned("nonce"),
                resources: sent.all("resource"),
                prompt: sent.words("prompt"),
                max_age: sent.get("max_age").and_then(|age| age.parse().ok()),
                login_hint: sent.owned("login_hint"),
                target,
                request_uri,
            }),
        }
    }

    /// Replaces a `request_uri` by what was pushed under it.
    fn unpack(
        &self,
        number: usize,
        sent: Parameters,
        settings: &Settings,
    ) -> Result<(Parameters, Option<String>), Refused> {
        if let Some(name) = sent.duplicate() {
            return Err(Refused::new("invalid_request", format!("{name} was sent more than once")));
        }
        let Some(request_uri) = sent.owned("request_uri") else {
            if settings.par == Par::Required {
                return Err(Refused::new(
                    "invalid_request",
                    "only pushed authorization requests are accepted",
                ));
            }
            return Ok((sent, None));
        };
        let client_id = sent.get("client_id").unwrap_or_default();
        let pushed = self.pushed(&request_uri, client_id)?;
        self.authorize_log.amend(number, |entry| entry.pushed.clone_from(&pushed.0));
        Ok((pushed, Some(request_uri)))
    }

    fn client_and_target(&self, sent: &Parameters, settings: &Settings) -> Result<(Client, Target), Refused> {
        let id =
            sent.get("client_id").ok_or_else(|| Refused::new("invalid_request", "client_id is missing"))?;
        let client =
            self.client(id).ok_or_else(|| Refused::new("invalid_client", "this client is not registered"))?;
        let redirect_uri = sent
            .owned("redirect_uri")
            .ok_or_else(|| Refused::new("invalid_request", "redirect_uri is missing"))?;
        if !client.accepts_redirect(&redirect_uri) {
            return Err(Refused::new(
                "invalid_request",
                "this redirect_uri is not registered for this client",
            ));
        }
        let form_post = match sent.get("response_mode") {
            None | Some("query") => false,
            Some("form_post") => true,
            Some(_) => return Err(Refused::new("invalid_request", "response_mode is query or form_post")),
        };
        let issuer = settings.issuer_in_response.then(|| self.issuer.clone());
        Ok((client, Target { redirect_uri, form_post, state: sent.owned("state"), issuer }))
    }

    /// Issues a code for what `who` approved. `ticked` are the scopes that stayed after the person's choice.
    pub(crate) fn approve(&self, asked: &Asked, who: &str, ticked: &[String], auth_time: i64) -> Reply {
        let settings = self.settings();
        let scopes = settings.grant_only.clone().unwrap_or_else(|| ticked.to_vec());
        let approval = Approval {
            request: asked.number,
            state: asked.target.state.clone(),
            account: who.to_owned(),
            client_id: asked.client.id.clone(),
            redirect_uri: asked.target.redirect_uri.clone(),
            scopes: scopes.clone(),
            at_ms: self.clock.now_ms(),
        };
        let code = {
            let mut state = lock(&self.state);
            if let Some(request_uri) = &asked.request_uri {
                state.pushed.remove(request_uri);
            }
            state.grants.issue_code(asked, approval, auth_time, settings.code_life)
        };
        self.note_answer(asked, Answered::Approved { account: who.to_owned(), scopes });
        asked.target.reply(&[("code", &code)])
    }

    /// Sends an error to the client.
    pub(crate) fn deny(&self, asked: &Asked, error: &str) -> Reply {
        if let Some(request_uri) = &asked.request_uri {
            lock(&self.state).pushed.remove(request_uri);
        }
        self.note_answer(asked, Answered::Denied(error.to_owned()));
        asked.target.reply(&[("error", error)])
    }

    fn note_answer(&self, asked: &Asked, answered: Answered) {
        self.authorize_log.amend(asked.number, |entry| entry.answers.push(answered));
    }
}

fn check(sent: &Parameters, settings: &Settings) -> Result<(), Wrong> {
    if sent.get("request").is_some() {
        return Err(Wrong("request_not_supported", "request objects are not supported".to_owned()));
    }
    match sent.get("response_type") {
        Some("code") => {}
        None => return Err(Wrong("invalid_request", "response_type is missing".to_owned())),
        Some(_) => return Err(Wrong("unsupported_response_type", "response_type is code".to_owned())),
    }
    check_pkce(sent, settings)?;
    if let Some(unknown) = sent.words("scope").into_iter().find(|scope| !settings.scopes.contains(scope)) {
        return Err(Wrong("invalid_scope", format!("{unknown} is not a scope of this server")));
    }
    if sent.all("resource").iter().any(|resource| !is_resource(resource)) {
        return Err(Wrong("invalid_target", "resource is an absolute URI without a fragment".to_owned()));
    }
    let prompt = sent.words("prompt");
    if prompt.len() > 1 && prompt.iter().any(|word| word == "none") {
        return Err(Wrong("invalid_request", "prompt=none stands alone".to_owned()));
    }
    if sent.get("max_age").is_some_and(|age| age.parse::<u32>().is_err()) {
        return Err(Wrong("invalid_request", "max_age is a number of seconds".to_owned()));
    }
    Ok(())
}

fn check_pkce(sent: &Parameters, settings: &Settings) -> Result<(), Wrong> {
    let Some(challenge) = sent.get("code_challenge") else {
        if settings.require_pkce {
            return Err(Wrong("invalid_request", "code_challenge is missing".to_owned()));
        }
        return Ok(());
    };
    // Absent means `plain` (RFC 7636 section 4.3).
    if sent.get("code_challenge_method") != Some("S256") {
        return Err(Wrong("invalid_request", "code_challenge_method is S256".to_owned()));
    }
    let base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if challenge.len() != 43 || !challenge.bytes().all(base64url) {
        return Err(Wrong("invalid_request", "code_challenge is no SHA-256 in base64url".to_owned()));
    }
    Ok(())
}

/// RFC 8707 section 2: absolute, without a fragment.
fn is_resource(resource: &str) -> bool {
    url::Url::parse(resource).is_ok_and(|url| url.fragment().is_none())
}
