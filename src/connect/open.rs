//! Opening the link, and every later page of the same elicitation: who is here, and what do they see.

use crate::{
    app::App,
    audit::{About, Actor},
    connection::Connection,
    credential::home::seen_now,
    elicitation::{Attempt, AttemptId, ElicitationId, Owned, OwnedOpen, State},
    identity::SessionLife,
    secret::Hash,
    store::{Visit, Visitor},
    telemetry::SecurityEvent,
};

use super::{Refusal, code::is_by_code, input};

/// An elicitation that its owner has opened in this browser.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The proof (R3).
    pub mine: Owned,
    /// The owner's session, or their browser by its code.
    pub visitor: Visitor,
    /// The owner's connection for the same provider, without its sealed values.
    pub connection: Option<Connection>,
}

/// What the owner sees.
#[derive(Debug)]
pub enum View {
    /// Can be answered; nothing is connected that would do.
    Ready(OwnedOpen),
    /// Can be answered, once the person has said what is not known.
    NeedsInput(OwnedOpen),
    /// Can be answered; a connection that would do is there.
    AlreadyConnected(OwnedOpen),
    /// A connection came to satisfy it without it; the next read by the API completes it.
    Satisfied(Owned),
    /// Over.
    Ended(Owned, State),
}

/// What a browser can be known by.
#[derive(Clone, Copy)]
pub struct Browser<'a> {
    /// The hash of the session cookie's value.
    pub session: Option<&'a Hash>,
    /// Gives the hash of the secret in its code cookie for an elicitation.
    pub code: &'a (dyn Fn(ElicitationId) -> Option<Hash> + Sync),
}

/// Looks at an elicitation from a browser: one round trip, and nothing changed.
///
/// # Errors
/// [`Refusal::NotFound`], or the store's.
pub async fn look(app: &App, id: ElicitationId, browser: Browser<'_>) -> Result<Visit, Refusal> {
    let now = app.clock.now();
    let idle_since = SessionLife::of(&app.settings.lifetimes).idle_since(now);
    let code = (browser.code)(id);
    let visit = app.store.visit(id, browser.session, code.as_ref(), now, idle_since).await?;
    let visit = visit.ok_or(Refusal::NotFound)?;
    let connection = visit.connection.map(|connection| seen_now(app, connection));
    Ok(Visit { connection, ..visit })
}

/// Compares the signed-in person with the owner, or where nobody can sign in, asks whether this browser's code was typed.
/// It guards every route under `/connect/{id}`.
///
/// # Errors
/// [`Refusal::NotSignedIn`], [`Refusal::WrongAccount`] (a security event; nothing is changed).
pub fn open(app: &App, visit: Visit) -> Result<Opened, Refusal> {
    if is_by_code(app, &visit.elicitation) {
        return open_by_code(app, visit);
    }
    let Visit { elicitation, visitor, connection, code: _ } = visit;
    let visitor = visitor.ok_or(Refusal::NotSignedIn)?;
    let subject = visitor.subject.as_ref().ok_or(Refusal::NotSignedIn)?;
    let (id, server, provider) = (elicitation.id, elicitation.server.clone(), elicitation.provider.clone());
    let mine = elicitation.owned_by(subject).map_err(|_| {
        // The subject is who came, not the owner, whom the elicitation names.
        let about = About {
            server: Some(server.clone()),
            provider: Some(provider.clone()),
            elicitation: Some(id),
            subject: Some(subject.clone()),
            connection: None,
        };
        app.security_event(SecurityEvent::WrongAccount, Actor::Person, about);
        Refusal::WrongAccount
    })?;
    Ok(Opened { mine, visitor, connection })
}

/// Whoever is signed in counts for nothing here: the code alone does.
fn open_by_code(app: &App, visit: Visit) -> Result<Opened, Refusal> {
    let now = app.clock.now();
    let code = visit.code.ok_or(Refusal::NotSignedIn)?;
    let mine = visit.elicitation.owned_by_code(&code, now).map_err(|_| Refusal::NotSignedIn)?;
    let visitor = Visitor { browser: code.browser, seen_at: now, subject: None, label: None };
    Ok(Opened { mine, visitor, connection: visit.connection })
}

impl Opened {
    /// What to show.
    pub fn view(&self, app: &App) -> View {
        let now = app.clock.now();
        let open = match self.mine.clone().open(now) {
            Ok(open) => open,
            Err(state) => return View::Ended(self.mine.clone(), state),
        };
        let asked = self.mine.elicitation();
        match &self.connection {
            Some(connection) if connection.suits(&asked.scopes, &asked.values, now) => {
                if asked.seen == Some(connection.as_grant()) {
                    View::AlreadyConnected(open)
                } else {
                    View::Satisfied(self.mine.clone())
                }
            }
            _ if input::is_needed(app, self) => View::NeedsInput(open),
            _ => View::Ready(open),
        }
    }

    /// An attempt of this elicitation, for its own pages.
    ///
    /// # Errors
    /// [`Refusal::NotFound`], or the store's.
    pub async fn attempt(&self, app: &App, id: AttemptId) -> Result<Attempt, Refusal> {
        app.store.attempt(self.mine.elicitation().id, id).await?.ok_or(Refusal::NotFound)
    }
}
