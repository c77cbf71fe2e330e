//! What a person has connected, and disconnecting all of it.

use askama::Template;
use time::OffsetDateTime;

use super::{
    Page,
    action::{Action, Post, To, Weight},
    connection::Parting,
    frame::{Emblem, Frame, Permission},
    label::Label,
    mark::Mark,
    name::Name,
    page,
    sentence::Sentence,
    standing::Standing,
};
use crate::web::{assets, text};

/// `connections`: all that this person has connected.
#[derive(Template)]
#[template(path = "connections.html")]
pub struct Connections {
    /// The frame.
    pub frame: Frame,
    /// One for each MCP server.
    pub groups: Vec<Group>,
    /// Whether there are more than are shown.
    pub more: bool,
    /// Other places where one could be signed in, each with the way to sign in there.
    pub elsewhere: Vec<(Label, String)>,
    /// `/connections/disconnect-all`, where there is anything.
    pub disconnect_all: Option<String>,
}

/// What one MCP server uses.
#[derive(Clone)]
pub struct Group {
    /// The MCP server.
    pub server: Label,
    /// Who has connected it; only where several people are signed in.
    pub person: Option<Label>,
    /// What it uses.
    pub listed: Vec<Listed>,
}

impl Group {
    fn heading(&self) -> Sentence {
        match &self.person {
            Some(person) => text::connections_as(&self.server, person),
            None => text::connections_used_by(&self.server),
        }
    }
}

/// A connection, in the list or by itself.
#[derive(Clone)]
pub struct Listed {
    /// The provider.
    pub provider: Label,
    /// Its mark.
    pub mark: Mark,
    /// The account, where it is known.
    pub account: Option<Label>,
    /// The MCP server that uses it.
    pub server: Label,
    /// How it stands.
    pub standing: Standing,
    /// What is allowed.
    pub permissions: Vec<Permission>,
    /// What was asked for and is not allowed.
    pub missing: Vec<Permission>,
    /// When it was connected.
    pub connected_at: OffsetDateTime,
    /// When it was handed out last.
    pub last_used_at: Option<OffsetDateTime>,
    /// When it was renewed last without the person.
    pub refreshed_at: Option<OffsetDateTime>,
    /// When the provider ends it.
    pub ends_at: Option<OffsetDateTime>,
    /// Whether a key was saved without a check.
    pub unchecked: bool,
    /// Whether it is a key of a test mode.
    pub test_mode: bool,
    /// `/connections/{id}`.
    pub details: String,
    /// `POST /connections/{id}/reconnect`, while that can be done.
    pub reconnect: Option<Post>,
    /// What disconnecting it means.
    pub parting: Parting,
}

impl Listed {
    /// What to call it in a sentence: the account, else the provider.
    pub(super) fn called(&self) -> &Label {
        self.account.as_ref().unwrap_or(&self.provider)
    }

    pub(super) fn facts(&self) -> Vec<Sentence> {
        let mut facts = vec![text::connection_since(text::day(self.connected_at))];
        facts.extend(self.unchecked.then(text::connection_unchecked));
        facts.extend(self.test_mode.then(text::connection_test_mode));
        facts.extend(self.last_used_at.map(|at| text::connection_last_used(text::day(at))));
        facts.extend(self.refreshed_at.map(|at| text::connection_refreshed(text::day(at))));
        facts.extend(self.ends_at.map(|at| text::connection_ends(text::day(at))));
        facts
    }

    pub(super) fn advice(&self) -> Vec<Sentence> {
        self.standing.advice(&self.provider, &self.server)
    }

    /// Connecting it again, where that changes anything.
    pub(super) fn mend(&self, weight: Weight) -> Vec<Action> {
        let label = match self.standing {
            Standing::Active => return Vec::new(),
            Standing::Limited => text::more_permissions_button(self.called()),
            Standing::Ending(_) | Standing::Broken(_) => text::reconnect_button(self.called()),
        };
        self.reconnect
            .iter()
            .map(|post| Action { label: label.clone(), weight, to: To::Post(post.clone()) })
            .collect()
    }

    pub(super) fn technical(&self) -> Vec<Permission> {
        [self.permissions.as_slice(), &self.missing].concat()
    }

    fn details_label(&self) -> Sentence {
        match &self.account {
            Some(account) => text::connection_details(&self.provider, account),
            None => text::connection_details_nameless(&self.provider),
        }
    }

    fn mend_in_list(&self) -> Vec<Action> {
        self.mend(Weight::Other)
    }
}

page!(Connections, |_| Name::Connections, |_| Emblem::None, |_page| text::connections_heading());

/// `disconnect-all`: whether to disconnect everything.
#[derive(Template)]
#[template(path = "disconnect_all.html")]
pub struct DisconnectAll {
    /// The frame.
    pub frame: Frame,
    /// Everything.
    pub listed: Vec<Listed>,
    /// `POST /connections/disconnect-all`.
    pub disconnect: Post,
    /// `/connections`.
    pub back: String,
}

impl DisconnectAll {
    fn items(&self) -> Vec<Sentence> {
        let item = |one: &Listed| text::disconnect_all_item(&one.provider, one.called(), &one.server);
        self.listed.iter().map(item).collect()
    }

    fn actions(&self) -> Vec<Action> {
        vec![
            Action {
                label: text::disconnect_all_button(),
                weight: Weight::Final,
                to: To::Post(self.disconnect.clone()),
            },
            Action::other_link(text::disconnect_all_keep(), &self.back),
        ]
    }
}

page!(DisconnectAll, |_| Name::DisconnectAll, |_| Emblem::None, |_page| text::disconnect_all_heading());
