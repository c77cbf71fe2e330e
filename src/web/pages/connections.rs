//! What a person has connected, and disconnecting it.

use askama::Template;
use time::OffsetDateTime;

use super::{
    Page,
    action::{Action, Away, Post, To, Weight},
    frame::{Emblem, Frame, Permission, Tone},
    label::Label,
    name::Name,
    notice::Notice,
    page,
    sentence::Sentence,
};
use crate::web::{assets, text};

/// `connections`: all that this person has connected.
#[derive(Template)]
#[template(path = "connections.html")]
pub struct Connections {
    /// The frame.
    pub frame: Frame,
    /// One for each connection.
    pub listed: Vec<Listed>,
}

/// A connection in the list.
#[derive(Clone)]
pub struct Listed {
    /// The provider.
    pub provider: Label,
    /// The account.
    pub account: Label,
    /// The MCP server that uses it.
    pub server: Label,
    /// How it stands.
    pub standing: Standing,
    /// What is allowed.
    pub permissions: Vec<Permission>,
    /// When it was connected.
    pub connected_at: OffsetDateTime,
    /// When it was handed out last.
    pub last_used_at: Option<OffsetDateTime>,
    /// When the provider ends it.
    pub ends_at: Option<OffsetDateTime>,
    /// `POST /connections/{id}/disconnect`.
    pub disconnect: Post,
}

/// How a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It works.
    Active,
    /// It works, with fewer permissions than asked for.
    Limited,
    /// `needs_reconnect`.
    NeedsReconnect,
    /// `quarantined`.
    Quarantined,
}

impl Listed {
    fn standing(&self) -> Sentence {
        match self.standing {
            Standing::Active => text::status_active(),
            Standing::Limited => text::status_limited(),
            Standing::NeedsReconnect => text::status_attention(),
            Standing::Quarantined => text::status_stopped(),
        }
    }

    fn tone(&self) -> Tone {
        match self.standing {
            Standing::Active => Tone::Good,
            Standing::Limited => Tone::Calm,
            Standing::NeedsReconnect => Tone::Caution,
            Standing::Quarantined => Tone::Stop,
        }
    }

    fn what_to_do(&self) -> Option<Sentence> {
        match self.standing {
            Standing::Active | Standing::Limited => None,
            Standing::NeedsReconnect => Some(text::status_attention_do(&self.server)),
            Standing::Quarantined => Some(text::status_stopped_why(&self.provider)),
        }
    }

    fn facts(&self) -> Vec<Sentence> {
        let mut facts = vec![text::connection_since(text::day(self.connected_at))];
        facts.extend(self.last_used_at.map(|at| text::connection_last_used(text::day(at))));
        facts.extend(self.ends_at.map(|at| text::connection_ends(text::day(at))));
        facts
    }

    fn actions(&self) -> Vec<Action> {
        let label = text::disconnect_button(&self.provider, &self.account);
        vec![Action { label, weight: Weight::Final, to: To::Post(self.disconnect.clone()) }]
    }
}

page!(Connections, |_| Name::Connections, |_| Emblem::None, |_page| text::connections_heading());

/// `disconnected`.
pub struct Disconnected {
    /// The frame.
    pub frame: Frame,
    /// The provider.
    pub provider: Label,
    /// The account.
    pub account: Label,
    /// The MCP server that used it.
    pub server: Label,
    /// What the provider knows of it.
    pub revocation: Revocation,
    /// Where the provider shows what has access.
    pub settings: Option<Away>,
    /// `/connections?server=`.
    pub connections: String,
}

/// What became of the access at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// The provider has confirmed that it ended.
    Confirmed,
    /// Not confirmed yet; it is tried again.
    Pending,
    /// The provider has no way to do it.
    Impossible,
    /// Left as it is, since ending it would end another connection too.
    Shared,
}

impl Notice for Disconnected {
    fn name(&self) -> Name {
        Name::Disconnected
    }
    fn frame(&self) -> &Frame {
        &self.frame
    }
    fn tone(&self) -> Tone {
        Tone::Good
    }
    fn heading(&self) -> Sentence {
        text::disconnected_heading(&self.provider)
    }
    fn body(&self) -> Vec<Sentence> {
        let provider = &self.provider;
        let there = match self.revocation {
            Revocation::Confirmed => text::disconnected_confirmed(provider),
            Revocation::Pending => text::disconnected_pending(provider),
            Revocation::Impossible => text::disconnected_impossible(provider),
            Revocation::Shared => text::disconnected_shared(provider),
        };
        vec![text::disconnected_what(&self.server, &self.account), there]
    }
    fn actions(&self) -> Vec<Action> {
        let mut actions = vec![Action::main_link(text::your_connections(), &self.connections)];
        actions.extend(
            self.settings
                .as_ref()
                .map(|away| Action::other_link(text::disconnected_settings(&self.provider), away.as_str())),
        );
        actions
    }
}
