//! `/sign-in`: to the authorization server and back. What is on its way is in this browser's cookies alone, so that a
//! stranger's request keeps nothing and changes nothing (R24, R53).
//!
//! The callback never renders; like every callback it answers with a redirect to a clean address (R44).

pub mod confirm;
mod remembered;
pub mod sign_out;
mod travelling;

use axum::{extract::RawQuery, http::header, response::Response};

use crate::{
    audit::{About, Actor},
    elicitation::{AttemptId, ElicitationId, ServerId},
    identity::{Arrived, IdentityError, Response as Answer, SessionId, SessionLife, SignInRefusal, Target},
    store::{NewSignIn, SignedIn, StoreError},
    telemetry::SecurityEvent,
};

use self::remembered::Remembered;
use super::{
    cookies::{self, SameSite},
    here::{Here, see_other, sign_in_path},
    pages::{self, Bad, SignInTrouble},
    parameters::Parameters,
    segments::Segments,
};

/// `GET /sign-in`: starts a sign-in, also where there is one. Keeps nothing here.
pub async fn begin(here: Here, RawQuery(query): RawQuery) -> Response {
    let Ok(parameters) = Parameters::query(query.as_deref()) else { return here.bad(Bad::Malformed) };
    let Some(target) = target(&parameters) else { return here.not_found() };
    let server = match here.authority_of(&target).await {
        Ok(Some(server)) => server,
        Ok(None) => return here.not_found(),
        Err(error) => return here.store_trouble(&error),
    };
    let switch = parameters.get("switch") == Some("1");
    let browser = here.lineage().unwrap_or_else(|| here.app.random.uuid());
    match here.app.identity.begin(&server, target.clone(), switch, browser).await {
        Ok(begun) => {
            let mut response = see_other(&begun.location);
            here.keep_travelling(&mut response, &begun.cookie_key, &begun.cookie);
            response
        }
        Err(error) => {
            here.note(error);
            here.sign_in_failed(trouble(error), Some(&target))
        }
    }
}

/// `GET /sign-in/callback/{as}`: the authorization server sends the browser back here.
pub async fn arrive(
    here: Here,
    server: Result<Segments<String>, Response>,
    RawQuery(query): RawQuery,
) -> Response {
    let Ok(Segments(server)) = server else { return see_other("/stopped/not-found") };
    let arrived = match Answer::parse(query.as_deref().unwrap_or_default()) {
        Ok(answer) => here.complete(&server, &answer).await,
        Err(refusal) => Err((refusal.into(), None)),
    };
    let (arrived, cookie) = match arrived {
        Ok(arrived) => arrived,
        Err((error, target)) => {
            here.note(error);
            return see_other(&failed_path(trouble(error), target.as_ref()));
        }
    };
    let mut response = match here.receive(&server, &arrived).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(reference = here.reference, %error, "a sign-in could not be kept");
            return see_other("/stopped/unavailable");
        }
    };
    here.forget(&mut response, &cookie);
    response
}

/// Where a sign-in is to lead, by ids alone: an elicitation, a server's connections, or all connections of whoever signs
/// in at one authorization server; only one of them.
fn target(parameters: &Parameters) -> Option<Target> {
    match (parameters.get("elicitationId"), parameters.get("server"), parameters.get("as")) {
        (Some(id), None, None) => {
            let id = id.parse::<ElicitationId>().ok()?;
            let attempt = parameters.get("attempt").map(str::parse::<AttemptId>).transpose().ok()?;
            Some(Target::Elicitation { id, attempt })
        }
        (None, Some(server), None) => Some(Target::Connections { server: server.parse::<ServerId>().ok()? }),
        (None, None, Some(authority)) if is_id(authority) => {
            Some(Target::Everything { authority: authority.to_owned() })
        }
        _ => None,
    }
}

/// Spelled as ids are; whether there is one of this id is looked up next.
fn is_id(text: &str) -> bool {
    text.parse::<ServerId>().is_ok()
}

/// `/sign-in` for the same target once more.
fn again_path(target: &Target, switch: bool) -> String {
    match target {
        Target::Elicitation { id, attempt } => sign_in_path(*id, *attempt, switch),
        Target::Connections { server } => {
            format!("/sign-in?server={server}{}", if switch { "&switch=1" } else { "" })
        }
        Target::Everything { authority } => {
            format!("/sign-in?as={authority}{}", if switch { "&switch=1" } else { "" })
        }
    }
}

/// What a person is told of an error. Never the authorization server's own words (R34).
fn trouble(error: IdentityError) -> SignInTrouble {
    match error {
        IdentityError::Unreachable(_) | IdentityError::Busy(_) => SignInTrouble::Unreachable,
        IdentityError::SignIn(SignInRefusal::Denied) => SignInTrouble::SaidNo,
        IdentityError::SignIn(
            SignInRefusal::NotBegunHere | SignInRefusal::TooOld | SignInRefusal::CodeRefused,
        ) => SignInTrouble::TooLate,
        IdentityError::SignIn(
            SignInRefusal::Malformed
            | SignInRefusal::WrongIssuer
            | SignInRefusal::Failed
            | SignInRefusal::NoIdToken,
        )
        | IdentityError::UnknownServer
        | IdentityError::Metadata(_)
        | IdentityError::PairwiseOnly
        | IdentityError::ClientRefused
        | IdentityError::Token(_) => SignInTrouble::WentWrong,
    }
}

/// The words by which `/stopped/sign-in-failed` is told what happened.
const TROUBLES: [(&str, SignInTrouble); 3] = [
    ("said-no", SignInTrouble::SaidNo),
    ("too-late", SignInTrouble::TooLate),
    ("unreachable", SignInTrouble::Unreachable),
];

fn failed_path(trouble: SignInTrouble, target: Option<&Target>) -> String {
    let word = TROUBLES.iter().find(|(_, one)| *one == trouble).map_or("went-wrong", |(word, _)| word);
    let target = match target {
        Some(Target::Elicitation { id, attempt: None }) => format!("&elicitationId={id}"),
        Some(Target::Elicitation { id, attempt: Some(attempt) }) => {
            format!("&elicitationId={id}&attempt={attempt}")
        }
        Some(Target::Connections { server }) => format!("&server={server}"),
        Some(Target::Everything { authority }) => format!("&as={authority}"),
        None => String::new(),
    };
    format!("/stopped/sign-in-failed?why={word}{target}")
}

impl Here {
    /// `/stopped/sign-in-failed`, as [`failed_path`] wrote it. Shows nothing but fixed words, whatever the query says.
    pub fn sign_in_stopped(&self, query: Option<&str>) -> Response {
        let parameters = Parameters::query(query).unwrap_or_default();
        let why = parameters.get("why").unwrap_or_default();
        let trouble = TROUBLES.iter().find(|(word, _)| *word == why);
        let trouble = trouble.map_or(SignInTrouble::WentWrong, |(_, trouble)| *trouble);
        self.sign_in_failed(trouble, target(&parameters).as_ref())
    }

    fn sign_in_failed(&self, trouble: SignInTrouble, target: Option<&Target>) -> Response {
        self.show(&pages::SignInFailed {
            frame: self.frame(),
            trouble,
            again: target.map(|target| again_path(target, false)),
            switch: target.map(|target| again_path(target, true)),
        })
    }

    /// Id of the authorization server that names the users of what is wanted; `None` when there is no such thing.
    async fn authority_of(&self, target: &Target) -> Result<Option<String>, StoreError> {
        let server = match target {
            Target::Elicitation { id, .. } => match self.app.store.elicitation(*id).await? {
                Some(asked) => asked.server,
                None => return Ok(None),
            },
            Target::Connections { server } => server.clone(),
            Target::Everything { authority } => {
                let known = self.app.settings.authorization_servers.iter().any(|one| one.id == *authority);
                return Ok(known.then(|| authority.clone()));
            }
        };
        Ok(self.app.server(&server).and_then(|server| server.authorization_server.clone()))
    }

    /// What came back, with the cookie of its own `state`; the cookie's name goes along with a success.
    async fn complete(
        &self,
        server: &str,
        answer: &Answer,
    ) -> Result<(Arrived, String), (IdentityError, Option<Target>)> {
        let Some((name, cookie)) = self.travelling(&answer.cookie_key()) else {
            return Err((SignInRefusal::NotBegunHere.into(), None));
        };
        let life = self.app.settings.lifetimes.sign_in;
        let identity = &self.app.identity;
        match identity.complete(server, answer, cookie, life).await {
            Ok(arrived) => Ok((arrived, name.to_owned())),
            Err(error) => Err((error, identity.target_of(server, cookie))),
        }
    }

    /// Lets a sign-in count, unless it changes who this browser's person is: then they are asked first.
    async fn receive(&self, server: &str, arrived: &Arrived) -> Result<Response, StoreError> {
        if self.is_another(arrived).await? {
            return Ok(self.ask_to_confirm(server, arrived));
        }
        self.admit(arrived).await
    }

    /// Whether this browser's person for the issuer was somebody else, in the session or before it.
    async fn is_another(&self, arrived: &Arrived) -> Result<bool, StoreError> {
        if Remembered::read(self).is_another(&arrived.subject) {
            return Ok(true);
        }
        let last = self.visitor_of(&arrived.subject.issuer).await?.and_then(|visitor| visitor.subject);
        Ok(last.is_some_and(|last| last != arrived.subject))
    }

    /// The sign-in counts from here on: a new session id, and the way to what was wanted (R25).
    async fn admit(&self, arrived: &Arrived) -> Result<Response, StoreError> {
        let settings = &self.app.settings;
        let life = SessionLife::of(&settings.lifetimes);
        let now = self.app.clock.now();
        let id = SessionId::new(self.app.random);
        let new = NewSignIn {
            former: self.session(),
            id: id.hash(),
            browser: arrived.browser,
            subject: &arrived.subject,
            label: arrived.label.as_deref(),
            life_ms: life.whole_ms(),
        };
        let signed_in = self.app.store.sign_in(&new, now, life.idle_since(now)).await?;
        let mut response = see_other(&arrived.target.path());
        if signed_in == SignedIn::Renewed {
            let url = &settings.public_url;
            let cookie = cookies::set(url, cookies::SESSION, id.expose(), Some(life.whole()), SameSite::Lax);
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
        Remembered::read(self).keep(self, &arrived.subject, &mut response);
        Ok(response)
    }

    /// Logs why nobody was signed in; what looks like an attack is a security event.
    fn note(&self, error: IdentityError) {
        match error {
            IdentityError::SignIn(
                SignInRefusal::Malformed | SignInRefusal::NotBegunHere | SignInRefusal::WrongIssuer,
            )
            | IdentityError::Token(_) => {
                self.app.security_event(SecurityEvent::SignInRefused, Actor::Unknown, About::default());
                tracing::warn!(reference = self.reference, %error, "a sign-in is refused");
            }
            IdentityError::SignIn(_) => {
                tracing::info!(reference = self.reference, %error, "a sign-in has failed");
            }
            IdentityError::UnknownServer
            | IdentityError::Unreachable(_)
            | IdentityError::Busy(_)
            | IdentityError::Metadata(_)
            | IdentityError::PairwiseOnly
            | IdentityError::ClientRefused => {
                tracing::error!(reference = self.reference, %error, "nobody can sign in");
            }
        }
    }

    fn forget(&self, response: &mut Response, name: &str) {
        let cookie = cookies::remove(&self.app.settings.public_url, name);
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

#[cfg(test)]
mod tests;
