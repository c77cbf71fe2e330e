//! The authorize endpoint for browsers: who is signed in here, may that be used, and the page that asks otherwise.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri};

use super::{Inner, Person};
use crate::answers::{authorize_parameters, refused, reply, set_cookie};
use crate::entropy;
use crate::log::lock;
use crate::oauth::{Asked, Refused, Reply, Turned, Via, browser_cookie};
use crate::pages::{escape, hidden, page};
use crate::parameters::Parameters;

/// Somebody is signed in in a browser.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    person: String,
    auth_time: i64,
}

/// `GET` or `POST /authorize`.
pub(super) async fn authorize(
    State(inner): State<Arc<Inner>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let party = &inner.core.party;
    let asked = match authorize_parameters(&method, &uri, &headers, &body) {
        Ok(sent) => inner.ask(sent, Via::Browser).await,
        Err(refusal) => Err(Turned::Here(refusal)),
    };
    match asked {
        Err(Turned::Here(refusal)) => refused(party, &refusal),
        Err(Turned::Back(error)) => reply(party, &error),
        Ok(asked) => inner.meet(asked, &headers),
    }
}

impl Inner {
    /// Reads a request; a client named by URL is introduced first.
    pub(super) async fn ask(&self, sent: Parameters, via: Via) -> Result<Asked, Turned> {
        let introduced = self.introduce(sent.get("client_id")).await;
        match (self.core.ask(sent, via), introduced) {
            // The document's own fault says more than "not registered".
            (Err(Turned::Here(_)), Err(refusal)) => Err(Turned::Here(refusal)),
            (Ok(asked), _) => self.check_resources(asked),
            (Err(turned), _) => Err(turned),
        }
    }

    fn check_resources(&self, asked: Asked) -> Result<Asked, Turned> {
        let allowed = self.identity().resources;
        let foreign = |resource: &String| allowed.as_ref().is_some_and(|allowed| !allowed.contains(resource));
        if asked.resources.iter().any(foreign) {
            return Err(Turned::Back(self.core.deny(&asked, "invalid_target")));
        }
        Ok(asked)
    }

    fn meet(&self, asked: Asked, headers: &HeaderMap) -> Response {
        let session = self.session(headers);
        let wants = |prompt: &str| asked.prompt.iter().any(|word| word == prompt);
        let silent = session.clone().filter(|session| self.is_fresh(session, asked.max_age));
        if wants("none") {
            let answer = match silent {
                Some(session) if !asked.client.unvetted => self.approve(&asked, &session),
                Some(_) => self.core.deny(&asked, "consent_required"),
                None => self.core.deny(&asked, "login_required"),
            };
            return reply(&self.core.party, &answer);
        }
        let must_ask = asked.client.unvetted || wants("login") || wants("select_account") || wants("consent");
        match silent {
            Some(session) if !must_ask => reply(&self.core.party, &self.approve(&asked, &session)),
            _ => self.sign_in_page(asked, headers, session.as_ref()),
        }
    }

    fn session(&self, headers: &HeaderMap) -> Option<Session> {
        let cookie = browser_cookie(headers, &format!("{}-session", self.core.cookie_prefix))?;
        lock(&self.sessions).get(&cookie).cloned()
    }

    fn is_fresh(&self, session: &Session, max_age: Option<i64>) -> bool {
        let age = self.core.clock.now_s().saturating_sub(session.auth_time);
        max_age.is_none_or(|limit| age <= limit)
    }

    fn approve(&self, asked: &Asked, session: &Session) -> Reply {
        self.core.approve(asked, &session.person, &asked.scopes, session.auth_time)
    }

    fn sign_in_page(&self, asked: Asked, headers: &HeaderMap, session: Option<&Session>) -> Response {
        let client = escape(&asked.client.name);
        let scopes = escape(&asked.scopes.join(", "));
        let resources = escape(&asked.resources.join(", "));
        let target =
            if resources.is_empty() { String::new() } else { format!(" at <code>{resources}</code>") };
        let hint = asked.login_hint.clone();
        let (handle, cookie) = self.core.put_aside(asked, headers);
        let buttons: String =
            lock(&self.people).iter().map(|person| button(person, hint.as_deref())).collect();
        let now = session.map_or(String::new(), |session| {
            format!("<p>You are signed in here as {}.</p>", escape(&session.person))
        });
        let body = format!(
            "<p>To go on to <strong>{client}</strong>, which asks for: {scopes}{target}.</p>{now}\n\
             <form method=\"post\" action=\"/sign-in\">{}<p>{buttons}</p>\n\
             <p><button type=\"submit\" name=\"cancel\" value=\"1\">Cancel</button></p></form>",
            hidden("request", &handle)
        );
        set_cookie(page(StatusCode::OK, &self.core.party, "Who are you?", &body), cookie)
    }

    fn read_answer(&self, headers: &HeaderMap, body: &Bytes) -> Result<(Asked, Option<Person>), Refused> {
        let sent = Parameters::form(headers, body)
            .map_err(|error| Refused::new("invalid_request", error.to_string()))?;
        let cancelled = sent.get("cancel").is_some();
        let person =
            if cancelled { None } else { Some(self.person(sent.get("person").unwrap_or_default())?) };
        Ok((self.core.take_up(sent.get("request").unwrap_or_default(), headers)?, person))
    }
}

fn button(person: &Person, hint: Option<&str>) -> String {
    let (sub, name) = (escape(&person.sub), escape(&person.name));
    let focus =
        if hint.is_some_and(|hint| hint == person.sub || hint == person.email) { " autofocus" } else { "" };
    format!("<button type=\"submit\" name=\"person\" value=\"{sub}\"{focus}>Continue as {name}</button>")
}

/// `POST /sign-in`: the form of that page.
pub(super) async fn answer(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    let party = &inner.core.party;
    match inner.read_answer(&headers, &body) {
        Err(refusal) => refused(party, &refusal),
        Ok((asked, None)) => reply(party, &inner.core.deny(&asked, "access_denied")),
        Ok((asked, Some(person))) => {
            let session = Session { person: person.sub, auth_time: inner.core.clock.now_s() };
            let answer = reply(party, &inner.approve(&asked, &session));
            let value = entropy::secret("");
            let cookie = inner.core.cookie("session", &value);
            lock(&inner.sessions).insert(value, session);
            set_cookie(answer, Some(cookie))
        }
    }
}
