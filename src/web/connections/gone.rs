//! `/connections/disconnected?was=`: what was disconnected, and what the provider says of it by now. Safe to reload.
//!
//! The rows are gone, so that what the page tells of them travels in its address: sealed, and opened for the people
//! whose they were and nobody else.

use axum::{extract::RawQuery, response::Response};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    connection::{Connection, ConnectionId},
    credential,
    elicitation::{ProviderId, ServerId},
    store::{SignInRow, StoreError},
    subject::Subject,
    values::Values,
    vault::Purpose,
    web::{
        here::Here,
        pages::{self, Away, Bad, Label, Revocation},
        parameters::Parameters,
    },
};

use super::{Reach, account_label, visitor};

/// The address would be too long with more; they are told by their number.
const TOLD_MAX: usize = 24;
/// Of an account's label.
const LABEL_CHARS_MAX: usize = 40;

/// What was disconnected, by whose it was.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Gone {
    pub(super) people: Vec<Person>,
    /// How many could not be.
    pub(super) failed: u64,
}

/// Whose it was.
#[derive(Serialize, Deserialize)]
pub(super) struct Person {
    issuer: String,
    sub: String,
    list: Vec<One>,
}

/// One of them.
#[derive(Serialize, Deserialize)]
pub(super) struct One {
    id: Uuid,
    server: String,
    provider: String,
    account: Option<String>,
    told: Told,
}

/// What the provider had said when the page was first made.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Told {
    Confirmed,
    Pending,
    Impossible,
    Shared,
    Unreadable,
    Unconfigured,
}

impl One {
    pub(super) fn new(connection: &Connection, revocation: credential::Revocation) -> Self {
        let account = account_label(&connection.account);
        Self {
            id: connection.id.0,
            server: connection.server.to_string(),
            provider: connection.provider.to_string(),
            account: account.map(|label| label.as_str().chars().take(LABEL_CHARS_MAX).collect()),
            told: match revocation {
                credential::Revocation::Confirmed => Told::Confirmed,
                credential::Revocation::Pending => Told::Pending,
                credential::Revocation::Impossible => Told::Impossible,
                credential::Revocation::Shared => Told::Shared,
                credential::Revocation::Unreadable => Told::Unreadable,
                credential::Revocation::Unconfigured => Told::Unconfigured,
            },
        }
    }
}

impl Gone {
    /// One person's.
    pub(super) fn add(&mut self, owner: &Subject, list: Vec<One>) {
        self.people.push(Person { issuer: owner.issuer.clone(), sub: owner.sub.clone(), list });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.failed == 0 && self.people.iter().all(|person| person.list.is_empty())
    }
}

/// `GET /connections/disconnected?was=`.
pub async fn show(here: Here, RawQuery(query): RawQuery) -> Response {
    let Ok(parameters) = Parameters::query(query.as_deref()) else { return here.bad(Bad::Malformed) };
    let Some(was) = parameters.get("was") else { return here.not_found() };
    let row = match here.people().await {
        Ok(row) => row.filter(|row| !row.sign_ins.is_empty()),
        Err(error) => return here.store_trouble(&error),
    };
    let Some(row) = row else { return here.show(&here.sign_in_for(&Reach::Everywhere)) };
    let opened = here.app.vault.open_text(Purpose::DisconnectedPage, &[], was).ok();
    let gone = opened.and_then(|plain| serde_json::from_slice::<Gone>(plain.expose()).ok());
    let Some(gone) = gone else { return here.not_found() };
    let mut told = Vec::new();
    let mut person = None;
    for Person { issuer, sub, list } in &gone.people {
        let is_theirs = |one: &&SignInRow| one.subject.issuer == *issuer && one.subject.sub == *sub;
        let Some(signed_in) = row.sign_ins.iter().find(is_theirs) else { continue };
        person = person.or(Some(signed_in));
        for one in list {
            match here.told(one, &signed_in.subject).await {
                Ok(one) => told.push(one),
                Err(error) => return here.store_trouble(&error),
            }
        }
    }
    if person.is_none() {
        return here.not_found();
    }
    let frame = here.frame_of(&visitor(&row, person));
    let again = format!("/connections/disconnected?was={was}");
    let connections = "/connections".to_owned();
    if gone.failed == 0 && told.len() == 1 {
        let gone = told.remove(0);
        return here.show(&pages::Disconnected { frame, gone, again, connections });
    }
    here.show(&pages::AllDisconnected { frame, gone: told, failed: gone.failed, again, connections })
}

impl Here {
    /// The page of what was disconnected.
    pub(super) fn gone_path(&self, mut gone: Gone) -> String {
        let mut left = TOLD_MAX;
        for person in &mut gone.people {
            person.list.truncate(left);
            left -= person.list.len();
        }
        let plain = serde_json::json!(gone).to_string();
        let was = self.app.vault.seal_text(Purpose::DisconnectedPage, &[], plain.as_bytes());
        format!("/connections/disconnected?was={was}")
    }

    /// What the provider knows by now: the outbox's word, while it has one.
    async fn told(&self, one: &One, owner: &Subject) -> Result<pages::Gone, StoreError> {
        let now = self.app.store.told_of(ConnectionId(one.id), owner).await?;
        let id = one.provider.parse::<ProviderId>().ok();
        let provider = id.as_ref().and_then(|id| self.app.connectable(id));
        let name = Label::new(provider.as_ref().map_or(&one.provider, |known| known.name()));
        let typed = provider.as_ref().is_some_and(|known| known.secret_form().is_some());
        let done = provider.as_ref().is_some_and(|known| known.hosted_page().is_some());
        let server = one.server.parse().ok();
        let server = server.and_then(|id: ServerId| self.app.server(&id));
        Ok(pages::Gone {
            called: one.account.as_deref().map_or_else(|| name.clone(), Label::new),
            server: Label::new(server.map_or(&one.server, |server| &server.name)),
            revocation: match (now.as_deref(), one.told) {
                (Some("due"), _) => Revocation::Pending,
                (Some("confirmed"), _) | (None, Told::Confirmed) => Revocation::Confirmed,
                (None, Told::Impossible) if typed => Revocation::Typed,
                (None, Told::Impossible) if done => Revocation::Done,
                (Some("impossible"), _) | (None, Told::Impossible) => Revocation::Impossible,
                (Some("shared"), _) | (None, Told::Shared) => Revocation::Shared,
                (Some("dead"), _) => Revocation::GivenUp,
                (None, Told::Unreadable) => Revocation::Unreadable,
                (None, Told::Unconfigured) => Revocation::Unconfigured,
                (_, _) => Revocation::Pending,
            },
            settings: id.and_then(|id| self.app.manage_url(&id, &Values::default())).and_then(Away::new),
            provider: name,
        })
    }
}
