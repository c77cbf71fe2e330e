//! What a connection hands out, as it is sealed: the token with its type and, where a grant has several, the others.
//!
//! All of them stand in one sealed value, so that they are stored and moved together. With several the connection's row
//! says when the first of them ends, and the value when the main one does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{
    clock::Millis,
    connection::Connection,
    provider::{SlotTokens, Tokens},
    scope::Scopes,
    secret::{Secret, SecretBytes},
    vault::{OpenError, Vault},
};

/// Another token that ends so soon after one was refreshed is refreshed at once.
const SOON: std::time::Duration = std::time::Duration::from_secs(60);

/// An access token that may leave, over TLS, to the MCP server that it belongs to.
#[derive(Clone, Debug)]
pub struct Access {
    /// The token.
    pub token: Secret,
    /// Its type, `Bearer` as a rule (RFC 6750).
    pub token_type: String,
    /// When it ends, where further tokens stand beside it; else the connection says so.
    pub ends_at: Option<Millis>,
    /// Further tokens of the same grant, by name.
    pub slots: BTreeMap<String, SlotTokens>,
}

impl Access {
    /// As the provider gave them.
    pub fn of(tokens: &Tokens) -> Self {
        Self {
            token: tokens.access_token.clone(),
            token_type: tokens.token_type.clone(),
            ends_at: tokens.access_expires_at,
            slots: tokens.slots.clone(),
        }
    }

    /// When the main one ends, which is this connection's.
    pub fn main_expires_at(&self, connection: &Connection) -> Option<Millis> {
        if self.slots.is_empty() { connection.access_expires_at } else { self.ends_at }
    }

    /// When the first of them ends; a further one that cannot be made anew does not count.
    pub fn expires_at(&self) -> Option<Millis> {
        self.first().map(|(at, _)| at).into_iter().chain(self.ends_at).min()
    }

    /// The further token that is refreshed next; none when it is the main one.
    pub fn due(&self) -> Option<&str> {
        let (at, name) = self.first()?;
        self.ends_at.is_none_or(|main| at < main).then_some(name)
    }

    /// The further token that ends first, of those that can be made anew.
    fn first(&self) -> Option<(Millis, &str)> {
        let slots = self.slots.iter().filter(|(_, slot)| slot.refresh_token.is_some());
        slots.filter_map(|(name, slot)| Some((slot.access_expires_at?, name.as_str()))).min()
    }

    /// Whether another one is to be refreshed at once.
    pub fn is_due(&self, now: Millis) -> bool {
        !self.slots.is_empty() && self.expires_at().is_some_and(|at| at <= now.plus(SOON))
    }

    /// To be sealed: the type, a line feed, the token, and with further tokens another line.
    pub fn bytes(&self) -> SecretBytes {
        let mut text = format!("{}\n{}", self.token_type.replace('\n', ""), self.token.expose());
        if !self.slots.is_empty() {
            let beside = Beside { ends_at: self.ends_at, slots: SealedSlots::of(&self.slots) };
            text.push('\n');
            text.push_str(&Zeroizing::new(serde_json::to_string(&beside).unwrap_or_default()));
        }
        SecretBytes::new(text.into_bytes())
    }

    fn read(plain: &Secret) -> Option<Self> {
        let (token_type, rest) = plain.expose().split_once('\n')?;
        let (token, beside) = match rest.split_once('\n') {
            Some((token, beside)) => (token, serde_json::from_str(beside).ok()?),
            None => (rest, Beside::default()),
        };
        Some(Self {
            token: Secret::new(token),
            token_type: token_type.to_owned(),
            ends_at: beside.ends_at,
            slots: beside.slots.tokens(),
        })
    }
}

/// Opens what a connection hands out.
///
/// # Errors
/// When the value was not sealed for this very row and generation, or its key is missing.
pub fn open_access(vault: &Vault, connection: &Connection) -> Result<Access, OpenError> {
    let plain = vault
        .open(&connection.place("access"), &connection.access)?
        .into_secret()
        .ok_or(OpenError::Malformed)?;
    Access::read(&plain).ok_or(OpenError::Malformed)
}

#[derive(Default, Serialize, Deserialize)]
struct Beside {
    ends_at: Option<Millis>,
    slots: SealedSlots,
}

/// Further tokens as they stand in a sealed value.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct SealedSlots(BTreeMap<String, SealedSlot>);

#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct SealedSlot {
    access_token: String,
    refresh_token: Option<String>,
    #[zeroize(skip)]
    access_expires_at: Option<Millis>,
    granted: Vec<String>,
}

impl SealedSlots {
    pub(crate) fn of(slots: &BTreeMap<String, SlotTokens>) -> Self {
        let sealed = |slot: &SlotTokens| SealedSlot {
            access_token: slot.access_token.expose().to_owned(),
            refresh_token: slot.refresh_token.as_ref().map(|token| token.expose().to_owned()),
            access_expires_at: slot.access_expires_at,
            granted: slot.granted.to_vec(),
        };
        Self(slots.iter().map(|(name, slot)| (name.clone(), sealed(slot))).collect())
    }

    pub(crate) fn tokens(&self) -> BTreeMap<String, SlotTokens> {
        let opened = |slot: &SealedSlot| SlotTokens {
            access_token: Secret::new(slot.access_token.as_str()),
            refresh_token: slot.refresh_token.as_deref().map(Secret::new),
            access_expires_at: slot.access_expires_at,
            granted: Scopes::new(slot.granted.clone()).unwrap_or_default(),
        };
        self.0.iter().map(|(name, slot)| (name.clone(), opened(slot))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(ends_at: Option<i64>, refreshable: bool) -> SlotTokens {
        SlotTokens {
            access_token: Secret::new("user-token"),
            refresh_token: refreshable.then(|| Secret::new("user-refresh")),
            access_expires_at: ends_at.map(Millis),
            granted: Scopes::new(["search:read"]).unwrap(),
        }
    }

    fn access(ends_at: Option<i64>, slots: Vec<(&str, SlotTokens)>) -> Access {
        Access {
            token: Secret::new("main-token"),
            token_type: "Bearer".into(),
            ends_at: ends_at.map(Millis),
            slots: slots.into_iter().map(|(name, slot)| (name.to_owned(), slot)).collect(),
        }
    }

    #[test]
    fn all_tokens_come_back_from_one_value() {
        let alone = access(Some(7), vec![]);
        assert_eq!(alone.bytes().expose(), b"Bearer\nmain-token");
        let opened = Access::read(&Secret::new("Bearer\nmain-token")).unwrap();
        assert!(opened.slots.is_empty() && opened.ends_at.is_none());
        let both = access(Some(7), vec![("user", slot(Some(5), true))]);
        let text = String::from_utf8(both.bytes().expose().to_vec()).unwrap();
        let opened = Access::read(&Secret::new(text)).unwrap();
        assert_eq!((opened.token.expose(), opened.ends_at), ("main-token", Some(Millis(7))));
        let user = &opened.slots["user"];
        assert_eq!(user.access_token.expose(), "user-token");
        assert_eq!(user.refresh_token.as_ref().unwrap().expose(), "user-refresh");
        assert_eq!((user.access_expires_at, user.granted.to_text()), (Some(Millis(5)), "search:read".into()));
        assert!(Access::read(&Secret::new("Bearer\nmain-token\n{")).is_none());
    }

    #[test]
    fn what_ends_first_is_refreshed_first() {
        for (main, user, refreshable, due, first) in [
            (Some(7), Some(5), true, Some("user"), Some(5)),
            (Some(5), Some(7), true, None, Some(5)),
            (Some(5), Some(5), true, None, Some(5)),
            (None, Some(5), true, Some("user"), Some(5)),
            (Some(7), Some(5), false, None, Some(7)),
            (Some(7), None, true, None, Some(7)),
            (None, None, true, None, None),
        ] {
            let access = access(main, vec![("user", slot(user, refreshable))]);
            assert_eq!(access.due(), due, "{main:?} {user:?}");
            assert_eq!(access.expires_at(), first.map(Millis), "{main:?} {user:?}");
        }
    }
}
