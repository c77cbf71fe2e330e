//! A user's stored credential for a provider under an MCP server.
//!
//! Sealed values stay sealed here: the store sees nothing else, and only the moves open them.

use std::str::FromStr;

use crate::{
    clock::Millis,
    elicitation::{MalformedId, NotTheirs, ProviderId, ServerId, uuid_id},
    scope::Scopes,
    secret::Hash,
    subject::Subject,
    values::Values,
    vault::{Place, Sealed},
};

uuid_id! {
    /// Names a connection. One that is made after a disconnect has a new id.
    ConnectionId
}

/// Whether a connection can be handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Yes.
    Active,
    /// Not before the person connects again.
    NeedsReconnect,
    /// Not before somebody has looked: the provider answered for another account.
    Quarantined,
}

impl Status {
    /// As the store and the API write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::NeedsReconnect => "needs_reconnect",
            Self::Quarantined => "quarantined",
        }
    }
}

impl FromStr for Status {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "active" => Self::Active,
            "needs_reconnect" => Self::NeedsReconnect,
            "quarantined" => Self::Quarantined,
            _ => return Err(MalformedId),
        })
    }
}

/// Why a connection has ended whose provider is another place by the settings of now (R63).
pub const PROVIDER_CHANGED: &str = "provider_changed";

/// One consent: the connection and a number that each new consent moves and a refresh does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The connection.
    pub connection: ConnectionId,
    /// Its consents so far.
    pub number: i64,
}

/// Whose account it is at the provider, as the provider says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// A stable id; two connects are of one account when these are equal.
    pub id: Option<String>,
    /// What the person recognises. Untrusted text.
    pub label: Option<String>,
}

/// What is known of a credential besides its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// A person has typed it; else it was granted by OAuth, or done on a page.
    pub secret: bool,
    /// It was done on a page of the MCP server's own: there is no credential.
    pub redirect: bool,
    /// Nobody could say whether it works.
    pub unchecked: bool,
    /// It is of the service's test mode.
    pub test_mode: bool,
}

impl Marks {
    /// As the store writes them; none for a grant of OAuth.
    pub fn to_text(self) -> Option<String> {
        let words = [
            (self.secret, "secret"),
            (self.redirect, "redirect"),
            (self.unchecked, "unchecked"),
            (self.test_mode, "test_mode"),
        ];
        let words: Vec<&str> = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// What [`Marks::to_text`] wrote. A word that a newer program wrote is passed over.
    pub fn from_text(text: Option<&str>) -> Self {
        let has = |word: &str| text.unwrap_or_default().split(' ').any(|one| one == word);
        Self {
            secret: has("secret"),
            redirect: has("redirect"),
            unchecked: has("unchecked"),
            test_mode: has("test_mode"),
        }
    }

    /// As the settings and the API write the kind.
    pub fn kind(self) -> &'static str {
        match (self.secret, self.redirect) {
            (true, _) => "secret",
            (false, true) => "redirect",
            (false, false) => "oauth2",
        }
    }
}

/// A stored credential.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Its id.
    pub id: ConnectionId,
    /// The tenant.
    pub server: ServerId,
    /// Whose it is.
    pub owner: Subject,
    /// For which provider.
    pub provider: ProviderId,
    /// Which account there.
    pub account: Account,
    /// What the provider granted.
    pub granted: Scopes,
    /// What was ever asked for; what of it was not granted is not asked for again by `resolve`.
    pub asked: Scopes,
    /// Whether it can be handed out.
    pub status: Status,
    /// Why not, as a stable code.
    pub reason: Option<String>,
    /// Moves with every new token.
    pub generation: i64,
    /// Moves with every consent.
    pub grant: i64,
    /// The sealed access token and its type.
    pub access: Sealed,
    /// The sealed refresh token.
    pub refresh: Option<Sealed>,
    /// When the access token ends; never, when absent.
    pub access_expires_at: Option<Millis>,
    /// When the refresh token ends, where the provider says.
    pub refresh_expires_at: Option<Millis>,
    /// When the person's consent ends, where the provider limits it.
    pub consent_expires_at: Option<Millis>,
    /// When the present tokens were received; what their life is counted from.
    pub refreshed_at: Option<Millis>,
    /// Whether it has a refresh token; known where the token itself was not read.
    pub can_refresh: bool,
    /// The generation whose token a resource server refused: not handed out again.
    pub refused_generation: Option<i64>,
    /// The generation that the refresh after such a refusal made: a second refusal ends the connection.
    pub mended_generation: Option<i64>,
    /// Refreshes that failed since the last success.
    pub failures: i64,
    /// Why the last of them did, as a stable code.
    pub failure: Option<String>,
    /// Not before then is the next one tried.
    pub next_attempt_at: Option<Millis>,
    /// The variables that it was made with, and what the provider's answers were read for. Not secret.
    pub values: Values,
    /// The digest of the place that it is for (R63); none in rows from before there was one, and where nothing is sent.
    pub fingerprint: Option<Hash>,
    /// What kind it is, and how far it was checked.
    pub marks: Marks,
    /// When it was made.
    pub created_at: Millis,
    /// When it last changed.
    pub updated_at: Millis,
}

/// Proof, made in this request and never stored, that the signed-in person is the one whose connection it is.
#[derive(Clone, Debug)]
pub struct OwnConnection(Connection);

impl OwnConnection {
    /// What is owned.
    pub fn connection(&self) -> &Connection {
        &self.0
    }
}

impl Connection {
    /// Proves that `who` is the person whose it is (R3).
    ///
    /// # Errors
    /// [`NotTheirs`] for anybody else.
    pub fn owned_by(self, who: &Subject) -> Result<OwnConnection, NotTheirs> {
        if self.owner == *who { Ok(OwnConnection(self)) } else { Err(NotTheirs) }
    }

    /// This consent.
    pub fn as_grant(&self) -> Grant {
        Grant { connection: self.id, number: self.grant }
    }

    /// The place of one of its sealed columns, at its present generation (R99).
    pub fn place(&self, column: &'static str) -> Place<'_> {
        Place {
            table: "connections",
            column,
            row: self.id.0,
            server: self.server.as_str(),
            issuer: &self.owner.issuer,
            sub: &self.owner.sub,
            provider: self.provider.as_str(),
            generation: self.generation,
        }
    }

    /// Whether it does for `wanted` at `now`: alive, and what is missing was refused before.
    pub fn satisfies(&self, wanted: &Scopes, now: Millis) -> bool {
        self.is_alive(now) && self.is_settled(wanted)
    }

    /// The same, and it was made with each of `values`: another site's connection is another thing.
    pub fn suits(&self, wanted: &Scopes, values: &Values, now: Millis) -> bool {
        self.satisfies(wanted, now) && self.values.hold(values)
    }

    /// Whether the person has been asked for all of `wanted`: what of it is missing was refused before.
    pub fn is_settled(&self, wanted: &Scopes) -> bool {
        self.granted.union(&self.asked).covers(wanted)
    }

    /// Whether it is alive and covers all of `wanted` with what was really granted.
    pub fn covers(&self, wanted: &Scopes, now: Millis) -> bool {
        self.is_alive(now) && self.granted.covers(wanted)
    }

    /// Whether nobody has to be asked: it is active, and its access token can be used or made anew.
    pub fn is_alive(&self, now: Millis) -> bool {
        self.status == Status::Active && (self.can_refresh || self.is_usable(now))
    }

    /// Whether the kill switch has taken it out of use, to be removed next: it is as good as gone.
    pub fn is_taken_out(&self) -> bool {
        self.status == Status::Quarantined && self.reason.as_deref() == Some("disconnecting")
    }

    /// Whether the access token that it holds can be handed out at `now`: not run out, and not refused by a resource
    /// server. One whose refresh token is dead holds a living access token until then.
    pub fn is_usable(&self, now: Millis) -> bool {
        self.status != Status::Quarantined
            && self.reason.as_deref() != Some(PROVIDER_CHANGED)
            && self.access_expires_at.is_none_or(|at| at > now)
            && self.refused_generation != Some(self.generation)
    }
}

/// A credential as a settled attempt stores it: sealed by the caller for the row that it will have.
#[derive(Clone, Debug)]
pub struct NewConnection {
    /// The id that it gets when the subject has none for this provider yet.
    pub id: ConnectionId,
    /// The account.
    pub account: Account,
    /// What the provider granted.
    pub granted: Scopes,
    /// What was asked for.
    pub asked: Scopes,
    /// The generation that the values are sealed for.
    pub generation: i64,
    /// The sealed access token and its type.
    pub access: Sealed,
    /// The sealed refresh token.
    pub refresh: Option<Sealed>,
    /// When the access token ends.
    pub access_expires_at: Option<Millis>,
    /// When the refresh token ends.
    pub refresh_expires_at: Option<Millis>,
    /// When the consent ends.
    pub consent_expires_at: Option<Millis>,
    /// The variables that it was made with, and what the provider's answers were read for.
    pub values: Values,
    /// The digest of the place that it is for (R63).
    pub fingerprint: Option<Hash>,
    /// What kind it is, and how far it was checked.
    pub marks: Marks,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        Connection {
            id: ConnectionId(uuid::Uuid::from_u128(1)),
            server: "files".parse().unwrap(),
            owner: Subject::new("i", "s").unwrap(),
            provider: "github".parse().unwrap(),
            account: Account::default(),
            granted: Scopes::new(["a"]).unwrap(),
            asked: Scopes::new(["a", "b"]).unwrap(),
            status: Status::Active,
            reason: None,
            generation: 1,
            grant: 1,
            access: Sealed::from_bytes(Vec::new()),
            refresh: None,
            access_expires_at: Some(Millis(10)),
            refresh_expires_at: None,
            consent_expires_at: None,
            refreshed_at: None,
            can_refresh: false,
            refused_generation: None,
            mended_generation: None,
            failures: 0,
            failure: None,
            next_attempt_at: None,
            values: Values::default(),
            fingerprint: None,
            marks: Marks::default(),
            created_at: Millis(0),
            updated_at: Millis(0),
        }
    }

    /// Nobody is asked for ever: what was refused once is not asked for again.
    #[test]
    fn a_refused_scope_is_not_asked_for_again() {
        let wanted = Scopes::new(["a", "b"]).unwrap();
        assert!(connection().satisfies(&wanted, Millis(9)));
        assert!(!connection().covers(&wanted, Millis(9)));
        assert!(!connection().satisfies(&Scopes::new(["c"]).unwrap(), Millis(9)));
    }

    #[test]
    fn an_expired_token_satisfies_nothing_unless_it_can_be_made_anew() {
        assert!(!connection().satisfies(&Scopes::default(), Millis(10)));
        let refreshable = Connection { can_refresh: true, ..connection() };
        assert!(refreshable.satisfies(&Scopes::default(), Millis(10)));
        assert!(!refreshable.is_usable(Millis(10)));
    }

    #[test]
    fn a_refused_token_is_not_handed_out_and_its_successor_is() {
        let refused = Connection { refused_generation: Some(1), ..connection() };
        assert!(!refused.is_usable(Millis(9)));
        assert!(Connection { generation: 2, ..refused }.is_usable(Millis(9)));
    }
}
