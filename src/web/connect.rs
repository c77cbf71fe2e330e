//! `/connect`: what the person is asked, and what they answer. GET shows and changes nothing (R8).

use axum::{body::Bytes, extract::RawQuery, http::header, response::Response};
use time::OffsetDateTime;

use crate::{
    config::HostedPage,
    connect::{self, Opened, Refusal, View},
    connection::Connection,
    elicitation::{Attempt, AttemptId, Elicitation, ElicitationId, OwnedOpen, State},
    provider::ProviderError,
    store::Visit,
};

use super::{
    connections::{account_label, trouble},
    cookies::{self, SameSite},
    csrf,
    here::{Here, connect_path, done_path, leaving_path, person, see_other, sign_in_path},
    pages::{self, Bad, Label, Message, Post},
    parameters::{ParameterError, Parameters},
    secret,
    segments::{Body, Segments},
};

/// `GET /connect?elicitationId=`: the question, or whatever has become of it.
pub async fn show(here: Here, RawQuery(query): RawQuery) -> Response {
    let Ok(parameters) = Parameters::query(query.as_deref()) else { return here.bad(Bad::Malformed) };
    let Some(id) = parameters.get("elicitationId").and_then(|id| id.parse().ok()) else {
        return here.not_found();
    };
    let visit = match here.look(id).await {
        Ok(visit) => visit,
        Err(refusal) => return here.refuse(refusal, id, None),
    };
    let visited = visit.clone();
    match connect::open(&here.app, visit) {
        Ok(opened) => here.question(&opened, &parameters),
        Err(Refusal::NotSignedIn) => here.way_in(&visited, None),
        Err(refusal) => here.refuse(refusal, id, visited.visitor.as_ref()),
    }
}

/// `POST /connect/{id}/continue`: the person agreed; send the browser to the provider.
pub async fn agree(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let (opened, _) = match here.posted(&id, &body).await {
        Ok(posted) => posted,
        Err(response) => return *response,
    };
    let asked = opened.mine.elicitation().clone();
    let Ok(mine) = opened.mine.clone().open(here.app.clock.now()) else {
        return see_other(&done_path(asked.id, None));
    };
    if here.form_of(&asked).is_some() {
        // There is nowhere to go: the other key is typed here.
        return see_other(&format!("{}&{}=1", connect_path(asked.id), secret::REPLACE));
    }
    match connect::begin(&here.app, &mine, &opened).await {
        Ok(begun) => {
            let mut response = see_other(&leaving_path(asked.id, begun.id));
            let settings = &here.app.settings;
            let form_post = here.app.providers.get(&asked.provider).is_some_and(|one| one.form_post);
            let same_site = if form_post { SameSite::None } else { SameSite::Lax };
            let life = settings.lifetimes.attempt + settings.lifetimes.parked;
            let name = cookies::attempt(begun.id);
            let cookie = cookies::set(&settings.public_url, &name, &begun.cookie, Some(life), same_site);
            response.headers_mut().append(header::SET_COOKIE, cookie);
            for name in here.cookies.attempts_to_drop() {
                let cookie = cookies::remove(&settings.public_url, &name);
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
            response
        }
        Err(Refusal::Provider(error))
            if connect::leads_astray(&error) && here.settings(&opened).1.is_some() =>
        {
            here.input_refused(&opened, &mine)
        }
        Err(Refusal::Provider(error)) => here.provider_failed(&error, &opened),
        Err(refusal) => here.refuse(refusal, asked.id, Some(&opened.visitor)),
    }
}

/// `POST /connect/{id}/decline`: the person said no.
pub async fn decline(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let (opened, form) = match here.posted(&id, &body).await {
        Ok(posted) => posted,
        Err(response) => return *response,
    };
    let id = opened.mine.elicitation().id;
    // What came back and waits for an answer has this one.
    let waiting = match form.get("attempt").and_then(|attempt| attempt.parse::<AttemptId>().ok()) {
        Some(attempt) => opened.attempt(&here.app, attempt).await.ok(),
        None => None,
    };
    let now = here.app.clock.now();
    if let Ok(mine) = opened.mine.clone().open(now) {
        match here.app.store.decline(&mine, now).await {
            Ok(true) => {
                here.app.metrics.elicitations_ended(State::Declined, 1);
                if let Some(attempt) = waiting
                    && let Err(refusal) = connect::drop_offer(&here.app, &opened, &attempt).await
                {
                    return here.refuse(refusal, id, Some(&opened.visitor));
                }
            }
            Ok(false) => {}
            Err(error) => return here.store_trouble(&error),
        }
    }
    see_other(&done_path(id, None))
}

/// `POST /connect/{id}/keep`: the connection that is there will do.
pub async fn keep(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let (opened, _) = match here.posted(&id, &body).await {
        Ok(posted) => posted,
        Err(response) => return *response,
    };
    let asked = opened.mine.elicitation().clone();
    let now = here.app.clock.now();
    let suffices = opened.connection.as_ref().filter(|one| one.covers(&asked.scopes, now));
    let (Some(connection), Ok(mine)) = (suffices, opened.mine.clone().open(now)) else {
        return see_other(&connect_path(asked.id));
    };
    match here.app.store.keep(&mine, connection.as_grant(), now).await {
        Ok(true) => here.app.metrics.elicitations_ended(State::Completed, 1),
        Ok(false) => {}
        Err(error) => return here.store_trouble(&error),
    }
    see_other(&done_path(asked.id, None))
}

/// `POST /connect/{id}/account`: the answer on `account-changed`.
pub async fn account(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let (opened, form) = match here.posted(&id, &body).await {
        Ok(posted) => posted,
        Err(response) => return *response,
    };
    let id = opened.mine.elicitation().id;
    let answer = match form.get("use") {
        Some("new") => connect::Answer::New,
        Some("previous") => connect::Answer::Previous,
        _ => return here.bad(Bad::Malformed),
    };
    let Some(attempt) = form.get("attempt").and_then(|id| id.parse::<AttemptId>().ok()) else {
        return here.not_found();
    };
    let result = match opened.attempt(&here.app, attempt).await {
        Ok(found) => {
            let (cookie, seen) = (here.attempt_cookie(attempt), form.get("seen"));
            connect::answer(&here.app, &opened, &found, cookie, answer, seen).await
        }
        Err(refusal) => Err(refusal),
    };
    match result {
        Ok(()) => see_other(&done_path(id, Some(attempt))),
        Err(Refusal::Moved) => see_other(&done_path(id, Some(attempt))),
        Err(refusal) => here.refuse(refusal, id, Some(&opened.visitor)),
    }
}

/// `POST /connect/{id}/restart`: on `expired`, the same question again for the same person.
pub async fn restart(here: Here, Segments(id): Segments<String>, Body(body): Body) -> Response {
    let (opened, _) = match here.posted(&id, &body).await {
        Ok(posted) => posted,
        Err(response) => return *response,
    };
    match connect::restart(&here.app, &opened).await {
        Ok(id) => see_other(&connect_path(id)),
        Err(refusal) => here.refuse(refusal, opened.mine.elicitation().id, Some(&opened.visitor)),
    }
}

impl Here {
    /// Looks, and keeps the session's idle stamp no older than a tenth of its idle life.
    pub async fn look(&self, id: ElicitationId) -> Result<Visit, Refusal> {
        let session = self.session();
        let code = |id| self.code_cookie(id).map(|cookie| cookie.hash());
        let browser = connect::Browser { session: session.as_ref(), code: &code };
        let visit = connect::look(&self.app, id, browser).await?;
        if let (Some(session), Some(visitor)) = (session, &visit.visitor) {
            self.touch(&session, visitor.seen_at).await?;
        }
        Ok(visit)
    }

    /// The session or the browser's code, the form's token, the comparison: what every post under `/connect/{id}` begins with.
    pub async fn posted(&self, id: &str, body: &Bytes) -> Result<(Opened, Parameters), Box<Response>> {
        let id: ElicitationId = id.parse().map_err(|_| Box::new(self.not_found()))?;
        let form = Parameters::form(&self.headers, body).map_err(|error| {
            Box::new(self.bad(match error {
                ParameterError::MediaType => Bad::MediaType,
                ParameterError::Twice | ParameterError::Encoding => Bad::Malformed,
            }))
        })?;
        let visit = self.look(id).await.map_err(|refusal| Box::new(self.refuse(refusal, id, None)))?;
        let visitor = visit.visitor.clone();
        let known = visitor.is_some() || visit.code.is_some();
        if let (Some(key), true) = (self.form_key(&visit.elicitation), known) {
            csrf::check(&self.app, &self.headers, &key, form.get(csrf::FIELD))
                .map_err(|_| Box::new(self.bad(Bad::FromElsewhere)))?;
        }
        let opened = connect::open(&self.app, visit)
            .map_err(|refusal| Box::new(self.refuse(refusal, id, visitor.as_ref())))?;
        Ok((opened, form))
    }

    /// The page that asks to sign in. Says nothing about the owner.
    pub fn sign_in(&self, asked: &Elicitation, attempt: Option<AttemptId>) -> pages::SignIn {
        // The client's name and the message are the owner's business.
        let who = pages::Asked { client: None, ..self.asked(asked) };
        let server = self.app.server(&asked.server);
        let authority = server.and_then(|server| {
            let id = server.authorization_server.as_ref()?;
            self.app.settings.authorization_servers.iter().find(|one| one.id == *id)
        });
        pages::SignIn {
            frame: self.frame(),
            purpose: if attempt.is_some() {
                pages::SignInFor::Resume(who)
            } else {
                pages::SignInFor::Connect(who)
            },
            authority: authority.and_then(|one| one.name.as_deref()).map(Label::new),
            sign_in: sign_in_path(asked.id, attempt, false),
            others: Vec::new(),
        }
    }

    fn question(&self, opened: &Opened, parameters: &Parameters) -> Response {
        let is_set = |name| parameters.get(name) == Some("1");
        // The person wants to change what the provider's address is made of.
        let change = parameters.get("change") == Some("input");
        match opened.view(&self.app) {
            View::NeedsInput(mine) => self.needs_input(opened, &mine),
            View::Ready(mine) if change && self.settings(opened).1.is_some() => {
                self.needs_input(opened, &mine)
            }
            View::Ready(mine) if let Some(form) = self.form_of(mine.elicitation()) => {
                self.secret_form(opened, &mine, &form, is_set(secret::REVEAL))
            }
            View::AlreadyConnected(mine)
                if let Some(form) = self.form_of(mine.elicitation())
                    && (is_set(secret::REPLACE) || mine.elicitation().is_own()) =>
            {
                self.secret_form(opened, &mine, &form, is_set(secret::REVEAL))
            }
            View::Ready(mine) => self.ready(opened, &mine),
            // Who asks for it on their own connections page wants no word on what is there.
            View::AlreadyConnected(mine) if mine.elicitation().is_own() => self.ready(opened, &mine),
            View::AlreadyConnected(mine) => self.already_connected(opened, &mine),
            View::Satisfied(mine) => self.connected(opened, mine.elicitation(), None),
            View::Ended(mine, state) => self.ended(opened, mine.elicitation(), state),
        }
    }

    fn ready(&self, opened: &Opened, mine: &OwnedOpen) -> Response {
        let asked = mine.elicitation();
        let granted = opened.connection.as_ref().map(|one| one.granted.clone()).unwrap_or_default();
        let hint = opened.connection.as_ref().and_then(|one| one.account.label.as_deref());
        let (settings, change) = self.settings(opened);
        self.show(&pages::Ready {
            frame: self.frame_of(&opened.visitor),
            asked: self.asked(asked),
            before: opened.connection.as_ref().map(|one| self.before(one, asked)),
            message: asked.message.as_deref().and_then(Message::new),
            new: self.permissions(asked, &asked.scopes.without(&granted)),
            already: self.permissions(asked, &granted),
            notes: self.notes(opened),
            settings,
            change,
            what: self.page_of(asked).and_then(|page| page.what.as_deref().and_then(Message::new)),
            provider_host: self.provider_host(opened),
            account_hint: hint.map(Label::new),
            person: signed_in(opened),
            switch: signed_in(opened).map(|_| sign_in_path(asked.id, None, true)),
            expires_at: OffsetDateTime::from_unix_timestamp(asked.expires_at.seconds()).ok(),
            agree: self.agree_post(asked),
            decline: self.decline_post(asked),
        })
    }

    /// What must be there first, and what is chosen on the provider's page.
    fn notes(&self, opened: &Opened) -> Vec<pages::Note> {
        let Some(provider) = connect::leads_to(&self.app, opened) else { return Vec::new() };
        let first = provider.reads.preconditions.iter().map(|one| (&one.text, one.url.clone()));
        let all = first.chain(provider.reads.picker.iter().map(|text| (text, None)));
        let note = |(text, url): (&String, Option<url::Url>)| {
            Some(pages::Note {
                text: Message::new(&provider.told(text))?,
                link: url.and_then(pages::Away::new),
            })
        };
        all.filter_map(note).collect()
    }

    fn already_connected(&self, opened: &Opened, mine: &OwnedOpen) -> Response {
        let asked = mine.elicitation();
        let connection = opened.connection.as_ref();
        let granted = connection.map(|one| one.granted.clone()).unwrap_or_default();
        let label = connection.and_then(|one| one.account.label.as_deref());
        self.show(&pages::AlreadyConnected {
            frame: self.frame_of(&opened.visitor),
            asked: self.asked(asked),
            message: asked.message.as_deref().and_then(Message::new),
            account: Label::new(label.unwrap_or_default()),
            new: self.permissions(asked, &asked.scopes.without(&granted)),
            already: self.permissions(asked, &granted),
            keep: connection
                .filter(|one| one.covers(&asked.scopes, self.app.clock.now()))
                .map(|_| self.post_of(asked, "keep")),
            person: signed_in(opened),
            switch: signed_in(opened).map(|_| sign_in_path(asked.id, None, true)),
            agree: self.agree_post(asked),
            decline: self.decline_post(asked),
        })
    }

    /// The page of an elicitation that is answered on one of the MCP server's own.
    fn page_of(&self, asked: &Elicitation) -> Option<std::sync::Arc<HostedPage>> {
        self.app.may_visit(&asked.server, &asked.provider)
    }

    /// `POST .../continue`.
    pub fn agree_post(&self, asked: &Elicitation) -> Post {
        self.post_of(asked, "continue")
    }

    /// `POST .../decline`.
    pub fn decline_post(&self, asked: &Elicitation) -> Post {
        self.post_of(asked, "decline")
    }

    /// Before the browser has left: there is nothing yet that a page of the trip could tell.
    pub fn provider_failed(&self, error: &ProviderError, opened: &Opened) -> Response {
        let asked = opened.mine.elicitation();
        let (reference, server, provider) = (&self.reference, &asked.server, &asked.provider);
        let (why, what) = (error.code(), error.detail());
        tracing::warn!(reference, %server, %provider, step = "departure", why, what, "a step at the provider failed");
        let provider = Some(self.asked(asked).provider);
        let frame = self.frame_of(&opened.visitor);
        if error.is_misconfigured() {
            return self.show(&pages::ProviderMisconfigured { frame, provider, ended: false });
        }
        self.show(&pages::ProviderUnreachable {
            frame,
            provider,
            unusable: !error.is_unreachable(),
            again: Some(self.agree_post(asked)),
            change: self.settings(opened).1,
            decline: Some(self.decline_post(asked)),
        })
    }

    /// The host that the person will see next, as far as the configuration tells.
    fn provider_host(&self, opened: &Opened) -> String {
        let asked = opened.mine.elicitation();
        if let Some(host) = self.page_of(asked).as_ref().and_then(|page| page.url.host_str()) {
            return host.to_owned();
        }
        let provider = connect::leads_to(&self.app, opened);
        let configured = provider.as_ref().and_then(|one| {
            let mcp = || one.mcp.as_ref().map(|mcp| mcp.url.clone());
            let issuer = || one.issuer.as_deref().and_then(|issuer| url::Url::parse(issuer).ok());
            one.authorization_endpoint.clone().or_else(issuer).or_else(mcp)
        });
        configured
            .as_ref()
            .and_then(url::Url::host_str)
            .map_or_else(|| asked.provider.to_string(), str::to_owned)
    }

    fn before(&self, connection: &Connection, asked: &Elicitation) -> pages::Before {
        let now = self.app.clock.now();
        let why = match trouble(connection, now) {
            Some(trouble) => pages::Why::Again(trouble),
            None if connection.granted.covers(&asked.scopes) => pages::Why::Renew,
            None => pages::Why::More,
        };
        pages::Before { account: account_label(&connection.account), why }
    }

    /// `connected`, for a connection that is there; with the attempt that made it, what it lost is told too.
    pub fn connected(&self, opened: &Opened, asked: &Elicitation, attempt: Option<&Attempt>) -> Response {
        let connection = opened.connection.as_ref();
        let marks = connection.map(|one| one.marks).unwrap_or_default();
        let account = connected_account(connection);
        let granted = connection.map(|one| &one.granted);
        let missing = granted.map(|granted| asked.scopes.without(granted)).unwrap_or_default();
        let lost = attempt
            .zip(granted)
            .map(|(attempt, granted)| attempt.scopes.without(&asked.scopes).without(granted));
        let lost = lost.unwrap_or_default();
        let (frame, who) = (self.frame_of(&opened.visitor), self.asked(asked));
        // Where nobody can sign in there is no such page.
        let has_page = self.app.server(&asked.server).is_some_and(|one| one.authorization_server.is_some());
        let connections = has_page.then(|| format!("/connections?server={}", asked.server));
        let then = if asked.is_own() { pages::Then::Rest } else { pages::Then::GoBack };
        if missing.is_empty() && lost.is_empty() {
            return self.show(&pages::Connected {
                frame,
                asked: who,
                account,
                unchecked: marks.unchecked,
                test_mode: marks.test_mode,
                then,
                connections,
            });
        }
        // The connections page, where it leads, is for who is signed in.
        let rest = connection
            .filter(|one| signed_in(opened).is_some() && connect::worth_asking(&self.app, one).is_some());
        self.show(&pages::PartlyConnected {
            frame,
            asked: who,
            account,
            missing: self.permissions(asked, &missing),
            lost: self.permissions(asked, &lost),
            rest: rest.map(|one| self.post(format!("/connections/{}/reconnect", one.id))),
            then,
            connections,
        })
    }
}

/// What was connected, as far as its owner knows it again.
fn connected_account(connection: Option<&Connection>) -> pages::Account {
    let Some(connection) = connection else { return pages::Account::Nameless };
    if connection.marks.redirect {
        return pages::Account::Done(account_label(&connection.account));
    }
    let ending = connection.account.label.as_deref().and_then(|label| label.strip_prefix(connect::TAIL_MARK));
    match (ending.filter(|_| connection.marks.secret), account_label(&connection.account)) {
        (Some(ending), _) => pages::Account::KeyEnding(Label::new(ending)),
        (None, Some(label)) => pages::Account::Named(label),
        (None, None) => pages::Account::Nameless,
    }
}

/// Who is named beside the button; nobody where a code was typed.
pub(super) fn signed_in(opened: &Opened) -> Option<Label> {
    opened.visitor.subject.as_ref().map(|_| person(&opened.visitor))
}
