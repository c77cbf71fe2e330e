//! Which token of a grant is refreshed, and what stands beside it afterwards.
//!
//! A grant with several tokens refreshes them one by one: each under a lease of its own, the one that ends first first.
//! The choice follows from the row alone, so that a try after a lost answer is of the same token.

use crate::{
    app::App,
    config::Provider,
    connection::Connection,
    credential::{Access, open_access},
    provider::{SlotTokens, Tokens, as_asked},
    scope::Scopes,
    secret::Secret,
    vault::OpenError,
};

/// What is sent, and everything that the row holds beside it.
pub(super) struct Which {
    /// The refresh token that is sent.
    pub(super) token: Secret,
    /// What was granted with it.
    pub(super) granted: Scopes,
    /// The name of the further token that it is of; none for the main one.
    pub(super) slot: Option<String>,
    access: Access,
    main: Secret,
}

/// What is stored then.
pub(super) struct Next {
    pub(super) access: Access,
    pub(super) refresh: Secret,
    pub(super) granted: Scopes,
}

impl Which {
    /// Opens what the row holds.
    pub(super) fn of(app: &App, connection: &Connection) -> Result<Self, OpenError> {
        let sealed = connection.refresh.as_ref().ok_or(OpenError::Malformed)?;
        let main = app
            .vault
            .open(&connection.place("refresh"), sealed)?
            .into_secret()
            .ok_or(OpenError::Malformed)?;
        let access = open_access(&app.vault, connection)?;
        // What a resource server has refused is the main one, as far as anybody knows.
        let refused = connection.refused_generation == Some(connection.generation);
        let slot = access.due().filter(|_| !refused).map(str::to_owned);
        let due = slot.as_ref().and_then(|name| access.slots.get(name));
        let (token, granted) = match due.and_then(|due| Some((due.refresh_token.clone()?, &due.granted))) {
            Some((token, granted)) => (token, granted.clone()),
            None => (main.clone(), connection.granted.clone()),
        };
        Ok(Self { token, granted, slot, access, main })
    }

    /// Without a new refresh token the old one stays (R78).
    pub(super) fn next(&self, connection: &Connection, provider: &Provider, tokens: &Tokens) -> Next {
        let Some(name) = &self.slot else {
            let mut access = Access::of(tokens);
            access.slots = self.access.slots.clone();
            for (name, new) in &tokens.slots {
                let before = self.access.slots.get(name);
                access.slots.insert(name.clone(), new.clone().over(before));
            }
            let beside = access.slots.values().map(|slot| as_asked(provider, &slot.granted));
            return Next {
                granted: beside.fold(tokens.granted.clone(), |all, slot| all.union(&slot)),
                refresh: tokens.refresh_token.clone().unwrap_or_else(|| self.main.clone()),
                access,
            };
        };
        let mut access = self.access.clone();
        let renewed = SlotTokens {
            access_token: tokens.access_token.clone(),
            refresh_token: Some(tokens.refresh_token.clone().unwrap_or_else(|| self.token.clone())),
            access_expires_at: tokens.access_expires_at,
            granted: tokens.granted.clone(),
        };
        let granted = connection.granted.without(&as_asked(provider, &self.granted));
        let granted = granted.union(&as_asked(provider, &renewed.granted));
        access.slots.insert(name.clone(), renewed);
        Next { access, refresh: self.main.clone(), granted }
    }
}
