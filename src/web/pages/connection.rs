//! One connection by itself: how it stands, what happened to it, and what disconnecting it means.

use askama::Template;
use time::OffsetDateTime;

use super::{
    Page,
    action::{Action, Away, Post, To, Weight},
    connections::Listed,
    frame::{Emblem, Frame},
    label::Label,
    name::Name,
    page,
    sentence::Sentence,
};
use crate::{
    config::RevocationEnds,
    web::{assets, text},
};

/// `connection`: one of them.
#[derive(Template)]
#[template(path = "connection.html")]
pub struct Connection {
    /// The frame.
    pub frame: Frame,
    /// The connection.
    pub item: Listed,
    /// What happened to it, the latest first.
    pub history: Vec<History>,
    /// Where the provider shows what has access.
    pub settings: Option<Away>,
    /// `/connections`.
    pub back: String,
}

/// Something that happened.
#[derive(Clone)]
pub struct History {
    /// When.
    pub at: OffsetDateTime,
    /// What.
    pub what: Happened,
    /// From which client it was asked for.
    pub client: Option<Label>,
}

/// What can have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The person connected it.
    Connected,
    /// The same, with fewer permissions than asked for.
    Partly,
    /// The person said no to a question.
    Declined,
    /// Nobody answered a question.
    Expired,
    /// It was renewed without the person.
    Renewed,
}

impl History {
    fn sentence(&self) -> Sentence {
        let day = text::day(self.at);
        match (self.what, &self.client) {
            (Happened::Connected, Some(client)) => text::happened_connected_in(day, client),
            (Happened::Connected, None) => text::happened_connected(day),
            (Happened::Partly, _) => text::happened_partly(day),
            (Happened::Declined, Some(client)) => text::happened_declined_in(day, client),
            (Happened::Declined, None) => text::happened_declined(day),
            (Happened::Expired, _) => text::happened_expired(day),
            (Happened::Renewed, _) => text::happened_renewed(day),
        }
    }
}

impl Connection {
    fn actions(&self) -> Vec<Action> {
        let actions = self.item.mend(Weight::Main);
        if actions.is_empty() && self.item.parting.kept == Kept::Key {
            // A key is changed now and then, also while it works.
            let label = text::connection_replace(self.item.called());
            let post = self.item.reconnect.iter();
            return post.map(|post| Action::other(label.clone(), post)).collect();
        }
        actions
    }

    fn links(&self) -> Vec<Action> {
        let provider = &self.item.provider;
        let mut links = vec![Action::other_link(text::your_connections(), &self.back)];
        let settings = self.settings.as_ref();
        links.extend(
            settings.map(|away| Action::other_link(text::disconnected_settings(provider), away.as_str())),
        );
        links
    }
}

fn heading(item: &Listed) -> Sentence {
    match &item.account {
        Some(account) => text::connection_heading(&item.provider, account),
        None => text::connection_heading_nameless(&item.provider),
    }
}

page!(Connection, |_| Name::Connection, |page| Emblem::Mark(page.item.mark.clone()), |page| heading(
    &page.item
));

/// What is kept of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// What the provider has granted.
    Grant,
    /// What a person has typed: it is ended where it was made, by them alone.
    Key,
    /// That something was done on a page of the MCP server's own.
    Deed,
}

/// What disconnecting means: here, at the provider, and for whom else.
#[derive(Clone)]
pub struct Parting {
    /// The provider.
    pub provider: Label,
    /// The account, else the provider.
    pub called: Label,
    /// The MCP server that uses it.
    pub server: Label,
    /// Other MCP servers with a connection of this person to the same account.
    pub others: Vec<Label>,
    /// What ends at the provider by it.
    pub ends: RevocationEnds,
    /// Until when a copy that was handed out may work, where nobody ends it before.
    pub works_until: Option<OffsetDateTime>,
    /// What it is.
    pub kept: Kept,
    /// `POST /connections/{id}/disconnect`.
    pub post: Post,
}

impl Parting {
    pub(super) fn means(&self) -> Vec<Sentence> {
        let Self { provider, called, server, .. } = self;
        if self.kept == Kept::Deed {
            let there = text::disconnect_there_done(provider);
            return vec![text::disconnect_here_done(server, called), there];
        }
        let mut means = vec![text::disconnect_here(server, called)];
        if self.kept == Kept::Key {
            means.push(text::disconnect_there_typed(provider));
            means.extend(self.others.iter().map(text::disconnect_other));
        } else if self.others.is_empty() || self.ends == RevocationEnds::Token {
            means.push(text::disconnect_there(provider));
        } else {
            means.push(text::disconnect_there_shared(provider));
        }
        if self.others.is_empty() && self.ends == RevocationEnds::Account {
            means.push(text::disconnect_there_wide(provider));
        }
        means.extend(self.others.iter().map(text::disconnect_other));
        means
            .extend(self.works_until.map(|at| text::disconnect_until(server, text::hour(at), text::day(at))));
        means.push(text::disconnect_past());
        means
    }

    pub(super) fn open(&self) -> Sentence {
        text::disconnect_open(&self.called)
    }

    fn action(&self) -> Action {
        let label = match self.called == self.provider {
            true => self.open(),
            false => text::disconnect_button(&self.provider, &self.called),
        };
        Action { label, weight: Weight::Final, to: To::Post(self.post.clone()) }
    }

    pub(super) fn actions(&self) -> Vec<Action> {
        vec![self.action()]
    }
}

/// `disconnect`: whether to disconnect it, with exactly what happens.
#[derive(Template)]
#[template(path = "disconnect.html")]
pub struct Disconnect {
    /// The frame.
    pub frame: Frame,
    /// What it means.
    pub parting: Parting,
    /// Where the provider shows what has access.
    pub settings: Option<Away>,
    /// `/connections/{id}`.
    pub back: String,
}

impl Disconnect {
    fn actions(&self) -> Vec<Action> {
        vec![self.parting.action(), Action::other_link(text::disconnect_keep(), &self.back)]
    }
}

page!(Disconnect, |_| Name::Disconnect, |_| Emblem::None, |page| text::disconnect_heading(
    &page.parting.provider
));
