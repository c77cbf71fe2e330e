//! `/connections`: what a person has connected, wherever they are signed in; how each stands, and what to do about it.
//!
//! Everything here is the person's own: rows are found by who is signed in, or compared with it, and another's
//! connection is as unknown as one that never was.

mod change;
mod gone;
mod listed;

use axum::{extract::RawQuery, response::Response};

use crate::{
    connection::{ConnectionId, OwnConnection},
    elicitation::{Outcome, ServerId, State},
    store::{Held, SessionRow, SignInRow, Visitor},
};

use self::listed::moment;
pub(super) use self::listed::{account_label, trouble};
pub use self::{
    change::{disconnect, disconnect_all, reconnect},
    gone::show as disconnected,
};
use super::{
    here::Here,
    pages::{self, Away, Bad, Label, Page},
    parameters::Parameters,
    segments::Segments,
};

/// More than anybody has; what is beyond it is only said to be there.
const LISTED_MAX: u32 = 200;
/// What is told of the past of a connection.
const HISTORY_MAX: u32 = 20;

/// Whose connections a page is about.
#[derive(Clone)]
pub(super) enum Reach {
    /// Those of the person who is signed in for the issuer of this MCP server.
    Server {
        /// Its id.
        id: ServerId,
        /// Its name.
        name: Label,
        /// Its issuer.
        issuer: String,
    },
    /// Those of everybody who is signed in on this browser.
    Everywhere,
}

impl Reach {
    /// The list.
    fn path(&self) -> String {
        match self {
            Self::Server { id, .. } => format!("/connections?server={id}"),
            Self::Everywhere => "/connections".to_owned(),
        }
    }

    fn covers(&self, issuer: &str) -> bool {
        match self {
            Self::Server { issuer: one, .. } => one == issuer,
            Self::Everywhere => true,
        }
    }
}

/// A person who is signed in, and what is theirs.
struct Own {
    person: SignInRow,
    held: Vec<Held>,
}

/// `GET /connections[?server={id}]`.
pub async fn list(here: Here, RawQuery(query): RawQuery) -> Response {
    let (reach, row, own) = match here.gather(query.as_deref()).await {
        Ok(gathered) => gathered,
        Err(response) => return *response,
    };
    let several = own.len() > 1;
    let more = own.iter().any(|one| one.held.len() > LISTED_MAX as usize);
    let mut groups: Vec<pages::Group> = Vec::new();
    for Own { person, held } in &own {
        let mut last: Option<&ServerId> = None;
        for one in held.iter().take(LISTED_MAX as usize) {
            let listed = here.listed(one, held);
            match groups.last_mut().filter(|_| last == Some(&one.connection.server)) {
                Some(group) => group.listed.push(listed),
                None => groups.push(pages::Group {
                    server: listed.server.clone(),
                    person: several.then(|| called(person)),
                    listed: vec![listed],
                }),
            }
            last = Some(&one.connection.server);
        }
    }
    here.show(&pages::Connections {
        frame: here.frame_of_people(&row, &own),
        disconnect_all: (!groups.is_empty()).then(|| match &reach {
            Reach::Server { id, .. } => format!("/connections/disconnect-all?server={id}"),
            Reach::Everywhere => "/connections/disconnect-all".to_owned(),
        }),
        groups,
        more,
        elsewhere: match reach {
            Reach::Server { .. } => Vec::new(),
            Reach::Everywhere => {
                here.authorities(|issuer| !own.iter().any(|one| one.person.subject.issuer == issuer))
            }
        },
    })
}

/// `GET /connections/{id}`: one of them, with what happened to it.
pub async fn one(here: Here, Segments(id): Segments<String>) -> Response {
    let (visitor, mine) = match here.own(&id).await {
        Ok(found) => found,
        Err(response) => return *response,
    };
    let (held, all) = match here.held(&mine).await {
        Ok(Some(found)) => found,
        Ok(None) => return here.not_found(),
        Err(error) => return here.store_trouble(&error),
    };
    let past = match here.app.store.history_of(mine.connection(), HISTORY_MAX).await {
        Ok(past) => past,
        Err(error) => return here.store_trouble(&error),
    };
    let connection = mine.connection();
    let mut history: Vec<pages::History> = past
        .iter()
        .filter_map(|asked| {
            let what = match (asked.stored, asked.reason.as_deref()) {
                (State::Completed, Some(reason)) if reason == Outcome::Connected.as_str() => {
                    pages::Happened::Connected
                }
                (State::Completed, Some(reason)) if reason == Outcome::PartlyConnected.as_str() => {
                    pages::Happened::Partly
                }
                (State::Declined, _) => pages::Happened::Declined,
                (State::Expired, _) => pages::Happened::Expired,
                _ => return None,
            };
            let client = asked.client_name.as_deref().map(Label::new);
            Some(pages::History { at: moment(asked.closed_at?), what, client })
        })
        .collect();
    let renewed = connection.refreshed_at.filter(|_| listed::was_renewed(connection, &past));
    history.extend(renewed.map(|at| pages::History {
        at: moment(at),
        what: pages::Happened::Renewed,
        client: None,
    }));
    history.sort_by_key(|one| std::cmp::Reverse(one.at));
    here.show(&pages::Connection {
        frame: here.frame_of(&visitor),
        item: here.listed(&held, &all),
        history,
        settings: here.settings_of(connection),
        back: "/connections".to_owned(),
    })
}

/// `GET /connections/{id}/disconnect`: whether to. Changes nothing.
pub async fn ask(here: Here, Segments(id): Segments<String>) -> Response {
    let (visitor, mine) = match here.own(&id).await {
        Ok(found) => found,
        Err(response) => return *response,
    };
    match here.held(&mine).await {
        Ok(Some((held, all))) => here.show(&pages::Disconnect {
            frame: here.frame_of(&visitor),
            parting: here.listed(&held, &all).parting,
            settings: here.settings_of(mine.connection()),
            back: format!("/connections/{}", mine.connection().id),
        }),
        Ok(None) => here.not_found(),
        Err(error) => here.store_trouble(&error),
    }
}

/// `GET /connections/disconnect-all[?server={id}]`: whether to. Changes nothing.
pub async fn ask_all(here: Here, RawQuery(query): RawQuery) -> Response {
    let (reach, row, own) = match here.gather(query.as_deref()).await {
        Ok(gathered) => gathered,
        Err(response) => return *response,
    };
    let listed = own.iter().flat_map(|one| one.held.iter().map(|held| here.listed(held, &one.held)));
    let mut disconnect = here.post("/connections/disconnect-all");
    if let Reach::Server { id, .. } = &reach {
        disconnect = disconnect.with("server", id.as_str());
    }
    here.show(&pages::DisconnectAll {
        frame: here.frame_of_people(&row, &own),
        listed: listed.collect(),
        disconnect,
        back: reach.path(),
    })
}

fn called(person: &SignInRow) -> Label {
    Label::new(person.label.as_deref().unwrap_or(&person.subject.sub))
}

/// The browser of a session, as the one of its people that a page is for.
fn visitor(row: &SessionRow, person: Option<&SignInRow>) -> Visitor {
    Visitor {
        browser: row.browser,
        seen_at: row.seen_at,
        subject: person.map(|one| one.subject.clone()),
        label: person.and_then(|one| one.label.clone()),
    }
}

type Refused = Box<Response>;

impl Here {
    /// Everything of those who are signed in and whom the page is about; the page to sign in on when there is nobody.
    async fn gather(&self, query: Option<&str>) -> Result<(Reach, SessionRow, Vec<Own>), Refused> {
        let parameters = Parameters::query(query).map_err(|_| Box::new(self.bad(Bad::Malformed)))?;
        let reach = self.reach(parameters.get("server")).ok_or_else(|| Box::new(self.not_found()))?;
        let row = self.people().await.map_err(|error| Box::new(self.store_trouble(&error)))?;
        let Some(row) = row else { return Err(Box::new(self.show(&self.sign_in_for(&reach)))) };
        let mut own = Vec::new();
        for person in row.sign_ins.iter().filter(|one| reach.covers(&one.subject.issuer)) {
            let held = self.app.store.connections_of(&person.subject, LISTED_MAX + 1).await;
            let held = held.map_err(|error| Box::new(self.store_trouble(&error)))?;
            own.push(Own { person: person.clone(), held });
        }
        if own.is_empty() {
            return Err(Box::new(self.show(&self.sign_in_for(&reach))));
        }
        Ok((reach, row, own))
    }

    fn reach(&self, server: Option<&str>) -> Option<Reach> {
        let Some(id) = server else { return Some(Reach::Everywhere) };
        let server = self.app.server(&id.parse().ok()?)?;
        // Where nobody can sign in there is no such page.
        server.authorization_server.as_ref()?;
        let issuer = self.app.issuer_of(server)?.to_owned();
        Some(Reach::Server { id: server.id.clone(), name: Label::new(&server.name), issuer })
    }

    /// The connection of this id, for the person whose it is. Without anybody signed in, the way to a sign-in, whether
    /// there is such a connection or not.
    async fn own(&self, id: &str) -> Result<(Visitor, OwnConnection), Refused> {
        let id: ConnectionId = id.parse().map_err(|_| Box::new(self.not_found()))?;
        let row = self.people().await.map_err(|error| Box::new(self.store_trouble(&error)))?;
        let Some(row) = row.filter(|row| !row.sign_ins.is_empty()) else {
            return Err(Box::new(self.show(&self.sign_in_for(&Reach::Everywhere))));
        };
        let found = self.app.store.any_connection(id).await;
        let found = found.map_err(|error| Box::new(self.store_trouble(&error)))?;
        let mine = found.and_then(|found| {
            let person = row.sign_ins.iter().find(|one| one.subject == found.owner)?;
            Some((visitor(&row, Some(person)), found.owned_by(&person.subject).ok()?))
        });
        mine.ok_or_else(|| Box::new(self.not_found()))
    }

    /// One of a person's connections, and all of them; `None` when it is gone by now.
    async fn held(
        &self,
        mine: &OwnConnection,
    ) -> Result<Option<(Held, Vec<Held>)>, crate::store::StoreError> {
        let all = self.app.store.connections_of(&mine.connection().owner, LISTED_MAX + 1).await?;
        let one = all.iter().find(|held| held.connection.id == mine.connection().id).cloned();
        Ok(one.map(|one| (one, all)))
    }

    fn frame_of_people(&self, row: &SessionRow, own: &[Own]) -> pages::Frame {
        self.frame_of(&visitor(row, own.first().map(|one| &one.person)))
    }

    /// The page to sign in on, for one MCP server's issuer or for any.
    fn sign_in_for(&self, reach: &Reach) -> impl Page {
        let (purpose, mut ways) = match reach {
            Reach::Server { id, name, issuer } => {
                let named = self.app.identity.by_issuer(issuer).and_then(|one| one.name.as_deref());
                let way = (named.map(Label::new), format!("/sign-in?server={id}"));
                (pages::SignInFor::Connections(name.clone()), vec![way])
            }
            Reach::Everywhere => {
                let all = self.authorities(|_| true).into_iter();
                (pages::SignInFor::Everything, all.map(|(name, href)| (Some(name), href)).collect())
            }
        };
        let (authority, sign_in) = if ways.is_empty() { (None, "/".to_owned()) } else { ways.remove(0) };
        let others = ways.into_iter().filter_map(|(name, href)| Some((name?, href))).collect();
        pages::SignIn { frame: self.frame(), purpose, authority, sign_in, others }
    }

    /// Where people of the configured MCP servers sign in, each with the way there.
    fn authorities(&self, wanted: impl Fn(&str) -> bool) -> Vec<(Label, String)> {
        let settings = &self.app.settings;
        let used = settings.authorization_servers.iter().filter(|authority| {
            wanted(&authority.issuer)
                && settings
                    .mcp_servers
                    .iter()
                    .any(|server| server.authorization_server.as_ref() == Some(&authority.id))
        });
        used.map(|authority| {
            let host = url::Url::parse(&authority.issuer).ok();
            let host = host.as_ref().and_then(url::Url::host_str).unwrap_or(&authority.id);
            let name = Label::new(authority.name.as_deref().unwrap_or(host));
            (name, format!("/sign-in?as={}", authority.id))
        })
        .collect()
    }

    fn settings_of(&self, connection: &crate::connection::Connection) -> Option<Away> {
        self.app.manage_url(&connection.provider, &connection.values).and_then(Away::new)
    }
}
