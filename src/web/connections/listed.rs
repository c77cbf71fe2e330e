//! A connection as its owner reads of it.

use time::OffsetDateTime;

use crate::{
    clock::Millis,
    config::RevocationEnds,
    connect,
    connection::{Account, Connection, PROVIDER_CHANGED, Status},
    credential::refresh::{
        ACCOUNT_MISMATCH, CONSENT_EXPIRED, REFRESH_EXPIRED, REFUSED, ROTATION_LOST, UNAUTHORIZED,
    },
    elicitation::Elicitation,
    store::Held,
    web::{
        here::Here,
        pages::{self, Label, Standing, Trouble},
    },
};

/// The account's label, else its id, where either is known.
pub(in crate::web) fn account_label(account: &Account) -> Option<Label> {
    account.label.as_deref().or(account.id.as_deref()).map(Label::new)
}

/// When, for a page.
pub(super) fn moment(at: Millis) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(at.seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// Why nobody can be given this connection's credential; `None` when it works.
pub(in crate::web) fn trouble(connection: &Connection, now: Millis) -> Option<Trouble> {
    match (connection.status, connection.reason.as_deref()) {
        (Status::Active, _) if connection.is_alive(now) => None,
        (Status::Active, _) => Some(Trouble::RanOut),
        (Status::Quarantined, Some(reason)) => Some(of_reason(reason)),
        (Status::Quarantined, None) => Some(Trouble::Stopped),
        (Status::NeedsReconnect, Some(reason)) => Some(of_reason(reason)),
        (Status::NeedsReconnect, None) => Some(Trouble::Other),
    }
}

/// What ends a connection, as a person is told of it. Only what an older or a newer version wrote is not known.
fn of_reason(reason: &str) -> Trouble {
    match reason {
        ROTATION_LOST => Trouble::Lost,
        UNAUTHORIZED => Trouble::Reported,
        CONSENT_EXPIRED => Trouble::Over,
        REFRESH_EXPIRED => Trouble::Lapsed,
        REFUSED => Trouble::Refused,
        ACCOUNT_MISMATCH => Trouble::Stopped,
        PROVIDER_CHANGED => Trouble::Changed,
        _ => Trouble::Other,
    }
}

/// Whether the present tokens came without the person: no consent of theirs is as young.
pub(super) fn was_renewed(connection: &Connection, past: &[Elicitation]) -> bool {
    let consented = past.iter().filter(|asked| asked.connection == Some(connection.id));
    let last = consented.filter_map(|asked| asked.closed_at).max().unwrap_or(connection.created_at);
    connection.refreshed_at.is_some_and(|at| at > last)
}

impl Here {
    /// `all` are the person's connections, this one among them.
    pub(super) fn listed(&self, held: &Held, all: &[Held]) -> pages::Listed {
        let connection = &held.connection;
        let now = self.app.clock.now();
        let provider = self.provider_name(connection);
        let server = self.server_name(connection);
        let account = account_label(&connection.account);
        let missing = connection.asked.without(&connection.granted);
        let ends_at = ends_at(connection);
        let soon = ends_at.filter(|at| *at <= now.plus(self.app.settings.refresh.warn_ahead));
        let standing = match (trouble(connection, now), soon) {
            (Some(trouble), _) => Standing::Broken(trouble),
            (None, Some(at)) => Standing::Ending(moment(at)),
            (None, None) if missing.is_empty() => Standing::Active,
            (None, None) => Standing::Limited,
        };
        let mends = connect::worth_asking(&self.app, connection).is_some();
        let path = format!("/connections/{}", connection.id);
        let renewed = connection.refreshed_at.filter(|at| *at > connection.created_at);
        let copy = connection.access_expires_at.filter(|at| *at > now && connection.is_usable(now));
        pages::Listed {
            mark: self.mark(&connection.provider, &provider),
            standing,
            permissions: self.words(&connection.provider, &connection.granted),
            missing: self.words(&connection.provider, &missing),
            connected_at: moment(connection.created_at),
            last_used_at: held.used_at.map(moment),
            refreshed_at: renewed.map(moment),
            ends_at: ends_at.map(moment),
            reconnect: mends.then(|| self.post(format!("{path}/reconnect"))),
            parting: pages::Parting {
                provider: provider.clone(),
                called: account.clone().unwrap_or_else(|| provider.clone()),
                server: server.clone(),
                others: self.others(connection, all),
                ends: self
                    .app
                    .providers
                    .get(&connection.provider)
                    .map_or_else(RevocationEnds::default, |it| it.revocation_ends()),
                works_until: copy.map(moment),
                kept: kept(connection),
                post: self.post(format!("{path}/disconnect")),
            },
            unchecked: connection.marks.unchecked,
            test_mode: connection.marks.test_mode,
            details: path,
            provider,
            account,
            server,
        }
    }

    /// Other MCP servers with a connection of this person to the same account, or to one that may be the same.
    fn others(&self, connection: &Connection, all: &[Held]) -> Vec<Label> {
        let same = |one: &&Connection| {
            one.id != connection.id
                && one.provider == connection.provider
                && (one.account.id == connection.account.id
                    || one.account.id.is_none()
                    || connection.account.id.is_none())
        };
        all.iter().map(|held| &held.connection).filter(same).map(|one| self.server_name(one)).collect()
    }

    pub(super) fn provider_name(&self, connection: &Connection) -> Label {
        Label::new(&self.app.provider_name(&connection.provider))
    }

    pub(super) fn server_name(&self, connection: &Connection) -> Label {
        let server = self.app.server(&connection.server);
        Label::new(server.map_or(connection.server.as_str(), |server| &server.name))
    }
}

fn kept(connection: &Connection) -> pages::Kept {
    match (connection.marks.secret, connection.marks.redirect) {
        (true, _) => pages::Kept::Key,
        (false, true) => pages::Kept::Deed,
        (false, false) => pages::Kept::Grant,
    }
}

/// When it ends for good, as far as is known: with the consent, or with a refresh token of fixed life.
fn ends_at(connection: &Connection) -> Option<Millis> {
    let fixed = [connection.consent_expires_at, connection.refresh_expires_at];
    let renewable = fixed.into_iter().flatten().min();
    renewable.or(connection.access_expires_at.filter(|_| !connection.can_refresh))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::credential::refresh::REASONS;

    #[test]
    fn every_reason_has_a_sentence_of_its_own() {
        let provider = Label::new("Acme");
        let mut sentences = BTreeSet::from([Trouble::Other.sentence(&provider).plain()]);
        for reason in REASONS.into_iter().chain([PROVIDER_CHANGED]) {
            assert!(sentences.insert(of_reason(reason).sentence(&provider).plain()), "{reason}");
        }
        assert_eq!(sentences.len(), REASONS.len() + 2);
        assert_eq!(of_reason("what_nobody_wrote"), Trouble::Other);
    }
}
