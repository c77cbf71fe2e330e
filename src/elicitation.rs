//! One request to one user to connect one provider, and the moves that a browser can make of it.
//!
//! That the right person is at the browser is not a state: it is [`Owned`], a proof made anew in every request by
//! comparing subjects, and the store's browser moves take nothing less, so that a handler which forgets the check
//! does not compile (R3, R4). Who wins a race is not decided here but by the store's guarded statements.

use std::{fmt, str::FromStr, time::Duration};

use uuid::Uuid;

use crate::{
    clock::Millis,
    connection::{ConnectionId, Grant},
    scope::Scopes,
    secret::Hash,
    subject::Subject,
    vault::Sealed,
};

/// Makes a UUID newtype that parses strictly: 36 characters, lower case, hyphenated.
macro_rules! uuid_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub uuid::Uuid);

        impl std::str::FromStr for $name {
            type Err = $crate::elicitation::MalformedId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let id = uuid::Uuid::try_parse(text).map_err(|_| $crate::elicitation::MalformedId)?;
                // One spelling alone, so that an id has one URL (R5).
                if id.as_hyphenated().encode_lower(&mut [0; 36]) == text { Ok(Self(id)) } else { Err($crate::elicitation::MalformedId) }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }
    };
}
pub(crate) use uuid_id;

/// Makes a newtype for a configured name that is part of a URL path.
macro_rules! name_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = MalformedId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let fits = (1..=64).contains(&text.len())
                    && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
                    && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
                if fits { Ok(Self(text.to_owned())) } else { Err(MalformedId) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// An id that is not spelled as ids are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id")]
pub struct MalformedId;

uuid_id! {
    /// Names an elicitation; a UUID version 4 that stands in the link and grants nothing (R6).
    ElicitationId
}
uuid_id! {
    /// Names an attempt; a row key, never a capability.
    AttemptId
}
name_id! {
    /// A registered MCP server: 1 to 64 of `a-z`, `0-9`, `-`, `_`.
    ServerId
}
name_id! {
    /// A configured provider: 1 to 64 of `a-z`, `0-9`, `-`, `_`.
    ProviderId
}

/// Where an elicitation is in its life. Final states are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waiting for the person.
    Pending,
    /// A live attempt exists.
    Authorizing,
    /// Connected.
    Completed,
    /// The person, or their client, said no.
    Declined,
    /// The MCP server no longer wants it, or the connection was removed meanwhile.
    Cancelled,
    /// Nobody answered in time.
    Expired,
    /// Trying again cannot mend it.
    Failed,
}

impl State {
    /// Whether it can still be answered.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Authorizing)
    }

    /// As the store and the API write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Authorizing => "authorizing",
            Self::Completed => "completed",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Failed => "failed",
        }
    }
}

impl FromStr for State {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "pending" => Self::Pending,
            "authorizing" => Self::Authorizing,
            "completed" => Self::Completed,
            "declined" => Self::Declined,
            "cancelled" => Self::Cancelled,
            "expired" => Self::Expired,
            "failed" => Self::Failed,
            _ => return Err(MalformedId),
        })
    }
}

/// One request to one user to connect one provider.
#[derive(Clone, Debug)]
pub struct Elicitation {
    /// Stands in the link.
    pub id: ElicitationId,
    /// Who asks.
    pub server: ServerId,
    /// Who is asked. Pages never show it.
    pub owner: Subject,
    /// What is wanted.
    pub provider: ProviderId,
    /// With which permissions.
    pub scopes: Scopes,
    /// Whether the client is of the era that knows `elicitationId` and the completion notification.
    pub legacy: bool,
    /// The caller's opaque reference, given back in signals; empty when none.
    pub client_ref: String,
    /// The client's name, for the page.
    pub client_name: Option<String>,
    /// The MCP server's words, shown as plain text.
    pub message: Option<String>,
    /// As stored; [`Elicitation::state`] tells what is true now.
    pub stored: State,
    /// Why it ended, as a stable code.
    pub reason: Option<String>,
    /// What it was completed by.
    pub connection: Option<ConnectionId>,
    /// The grant that would already have satisfied it when it was made.
    pub seen: Option<Grant>,
    /// The end of the last live attempt, while there is one.
    pub attempt_until: Option<Millis>,
    /// When it was made.
    pub created_at: Millis,
    /// When it can no longer be answered; that instant itself is too late.
    pub expires_at: Millis,
    /// When it ended.
    pub closed_at: Option<Millis>,
}

impl Elicitation {
    /// The state at `now`. Expiry is decided here, not by the sweeper (R10).
    pub fn state(&self, now: Millis) -> State {
        match self.stored {
            State::Pending | State::Authorizing => {
                match (self.attempt_until > Some(now), self.expires_at > now) {
                    // Past the expiry only a claimed attempt is still under way: it may finish.
                    (true, _) => State::Authorizing,
                    (false, true) => State::Pending,
                    (false, false) => State::Expired,
                }
            }
            closed => closed,
        }
    }

    /// Proves that `who` is the person who was asked (R3).
    ///
    /// # Errors
    /// [`NotTheirs`] for anybody else.
    pub fn owned_by(self, who: &Subject) -> Result<Owned, NotTheirs> {
        if self.owner == *who { Ok(Owned(self)) } else { Err(NotTheirs) }
    }
}

/// Somebody else's elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("made for another person")]
pub struct NotTheirs;

/// Proof, made in this request and never stored, that the signed-in person is the one who was asked.
#[derive(Clone, Debug)]
pub struct Owned(Elicitation);

impl Owned {
    /// What is owned.
    pub fn elicitation(&self) -> &Elicitation {
        &self.0
    }

    /// Narrows the proof to an elicitation that can still be answered.
    ///
    /// # Errors
    /// The final state, whose page is shown instead.
    pub fn open(self, now: Millis) -> Result<OwnedOpen, State> {
        match self.0.state(now) {
            state if !state.is_open() => Err(state),
            _ if self.0.expires_at <= now => Err(State::Expired),
            _ => Ok(OwnedOpen(self.0)),
        }
    }
}

/// [`Owned`], and it can still be answered.
#[derive(Clone, Debug)]
pub struct OwnedOpen(Elicitation);

impl OwnedOpen {
    /// What is owned.
    pub fn elicitation(&self) -> &Elicitation {
        &self.0
    }

    /// Forgets that it was open when read.
    pub fn into_owned(self) -> Owned {
        Owned(self.0)
    }
}

/// What is needed to make an elicitation.
#[derive(Clone, Debug)]
pub struct NewElicitation {
    /// A fresh id.
    pub id: ElicitationId,
    /// Who asks.
    pub server: ServerId,
    /// Who is asked.
    pub owner: Subject,
    /// What is wanted.
    pub provider: ProviderId,
    /// With which permissions.
    pub scopes: Scopes,
    /// Whether the client is of the legacy era.
    pub legacy: bool,
    /// The caller's reference; empty when none, and then the elicitation is never used again.
    pub client_ref: String,
    /// The client's name.
    pub client_name: Option<String>,
    /// The MCP server's words.
    pub message: Option<String>,
    /// The satisfying grant that exists already.
    pub seen: Option<Grant>,
    /// When it expires.
    pub expires_at: Millis,
    /// The one that ran out and that this one follows, so that asking again twice makes one.
    pub restart_of: Option<ElicitationId>,
}

impl NewElicitation {
    /// What an open elicitation must share to be used again for this one; none without a client reference or a
    /// predecessor.
    pub fn reuse_key(&self) -> Option<Hash> {
        if self.client_ref.is_empty() {
            return self.restart_of.map(|former| Hash::of(format!("restart of {former}").as_bytes()));
        }
        let scopes = self.scopes.to_text();
        let era = if self.legacy { "legacy" } else { "modern" };
        let parts = [
            self.server.as_str(),
            &self.owner.issuer,
            &self.owner.sub,
            self.provider.as_str(),
            &scopes,
            era,
            &self.client_ref,
        ];
        let mut text = Vec::new();
        for part in parts {
            text.extend_from_slice(&(part.len() as u64).to_be_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        Some(Hash::of(&text))
    }
}

/// Where an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptState {
    /// Its `state` is unspent.
    Live,
    /// One request has spent its `state` and is finishing it.
    Claimed,
    /// The provider gave another account than before; the person is asked.
    Offered,
    /// Over, with an outcome.
    Settled,
}

impl AttemptState {
    /// As the store writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Claimed => "claimed",
            Self::Offered => "offered",
            Self::Settled => "settled",
        }
    }
}

impl FromStr for AttemptState {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "live" => Self::Live,
            "claimed" => Self::Claimed,
            "offered" => Self::Offered,
            "settled" => Self::Settled,
            _ => return Err(MalformedId),
        })
    }
}

/// How an attempt ended. Each but the first two leaves the elicitation as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that was asked for.
    Connected,
    /// Connected with fewer permissions than asked for.
    PartlyConnected,
    /// The person said no at the provider.
    Denied,
    /// The provider wants an administrator's approval first.
    AdminApproval,
    /// The provider could not be reached, or answered nonsense.
    Unreachable,
    /// The provider refuses our client: the operator's to mend.
    Misconfigured,
    /// The provider refused the code: too old, or spent.
    CodeRefused,
    /// The person kept the account they had.
    KeptPrevious,
    /// The elicitation was closed meanwhile; nothing was stored.
    ClosedMeanwhile,
    /// Ended with its browser's session, or by another sign-in.
    Ended,
}

impl Outcome {
    /// As the store writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::PartlyConnected => "partly_connected",
            Self::Denied => "denied",
            Self::AdminApproval => "admin_approval",
            Self::Unreachable => "unreachable",
            Self::Misconfigured => "misconfigured",
            Self::CodeRefused => "code_refused",
            Self::KeptPrevious => "kept_previous",
            Self::ClosedMeanwhile => "closed_meanwhile",
            Self::Ended => "ended",
        }
    }
}

impl FromStr for Outcome {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "connected" => Self::Connected,
            "partly_connected" => Self::PartlyConnected,
            "denied" => Self::Denied,
            "admin_approval" => Self::AdminApproval,
            "unreachable" => Self::Unreachable,
            "misconfigured" => Self::Misconfigured,
            "code_refused" => Self::CodeRefused,
            "kept_previous" => Self::KeptPrevious,
            "closed_meanwhile" => Self::ClosedMeanwhile,
            "ended" => Self::Ended,
            _ => return Err(MalformedId),
        })
    }
}

/// One trip to the provider within an elicitation.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Names it in our own URLs.
    pub id: AttemptId,
    /// The elicitation it is part of.
    pub elicitation: ElicitationId,
    /// The path's server, compared with at the callback (R60).
    pub server: ServerId,
    /// The path's provider.
    pub provider: ProviderId,
    /// The browser that began it, as its session's lineage.
    pub browser: Uuid,
    /// SHA-256 of `state`.
    pub state_hash: Hash,
    /// SHA-256 of the secret in this attempt's cookie (R59).
    pub binding_hash: Hash,
    /// The `iss` that must come back whenever one does (R61).
    pub expected_issuer: Option<String>,
    /// Whether its absence is an error.
    pub issuer_required: bool,
    /// As registered; sent the same at both endpoints (R64).
    pub redirect_uri: String,
    /// What was asked for: granted and wanted together.
    pub scopes: Scopes,
    /// Where it is.
    pub state: AttemptState,
    /// The sealed PKCE verifier, until it is spent (R57).
    pub verifier: Option<Sealed>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// The provider's error code, cleaned, for the page's details.
    pub detail: Option<String>,
    /// The first response, while it waits for a sign-in.
    pub parked: Option<Sealed>,
    /// Until when.
    pub parked_until: Option<Millis>,
    /// The credential of another account, while the person is asked.
    pub offer: Option<Sealed>,
    /// When it began.
    pub created_at: Millis,
    /// When its `state` is too old.
    pub expires_at: Millis,
    /// When it was claimed.
    pub claimed_at: Option<Millis>,
}

impl Attempt {
    /// How long a claimed attempt may take, also past its elicitation's expiry; then its process has died.
    pub const FINISH: Duration = Duration::from_secs(60);

    /// Whether it was claimed and nobody is finishing it any more at `now`.
    pub fn is_given_up(&self, now: Millis) -> bool {
        self.state == AttemptState::Claimed && self.claimed_at.is_some_and(|at| at.plus(Self::FINISH) <= now)
    }

    /// Whether its `state` can still be spent at `now`.
    pub fn is_live(&self, now: Millis) -> bool {
        self.state == AttemptState::Live && self.expires_at > now
    }
}

/// What is needed to begin an attempt.
#[derive(Clone, Debug)]
pub struct NewAttempt {
    /// A fresh row id.
    pub id: AttemptId,
    /// The browser that begins it.
    pub browser: Uuid,
    /// SHA-256 of `state`.
    pub state_hash: Hash,
    /// SHA-256 of the binding secret.
    pub binding_hash: Hash,
    /// The sealed PKCE verifier (R57).
    pub verifier: Sealed,
    /// The issuer expected back.
    pub expected_issuer: Option<String>,
    /// Whether its absence is an error.
    pub issuer_required: bool,
    /// As registered.
    pub redirect_uri: String,
    /// What is asked for.
    pub scopes: Scopes,
    /// Never beyond the elicitation's end.
    pub expires_at: Millis,
}

/// What claiming an attempt gives to the one request that won.
#[derive(Debug)]
pub struct Claimed {
    /// The attempt, now claimed.
    pub attempt: Attempt,
    /// The proof under which it was claimed.
    pub mine: Owned,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elicitation() -> Elicitation {
        Elicitation {
            id: ElicitationId(Uuid::from_u128(1)),
            server: "files".parse().unwrap(),
            owner: Subject::new("https://id.example", "alice").unwrap(),
            provider: "github".parse().unwrap(),
            scopes: Scopes::default(),
            legacy: true,
            client_ref: String::new(),
            client_name: None,
            message: None,
            stored: State::Pending,
            reason: None,
            connection: None,
            seen: None,
            attempt_until: None,
            created_at: Millis(0),
            expires_at: Millis(1_000),
            closed_at: None,
        }
    }

    /// R10: expiry is decided on read, and the instant itself is too late.
    #[test]
    fn the_instant_of_expiry_is_too_late() {
        assert_eq!(elicitation().state(Millis(999)), State::Pending);
        assert_eq!(elicitation().state(Millis(1_000)), State::Expired);
        let authorizing =
            Elicitation { stored: State::Authorizing, attempt_until: Some(Millis(500)), ..elicitation() };
        assert_eq!(authorizing.state(Millis(499)), State::Authorizing);
        assert_eq!(authorizing.state(Millis(500)), State::Pending);
        let completed = Elicitation { stored: State::Completed, ..elicitation() };
        assert_eq!(completed.state(Millis(2_000)), State::Completed);
    }

    /// R3: the proof exists for the owner alone.
    #[test]
    fn nobody_else_gets_the_proof() {
        let bob = Subject::new("https://id.example", "bob").unwrap();
        let elsewhere = Subject::new("https://other.example", "alice").unwrap();
        assert_eq!(elicitation().owned_by(&bob).unwrap_err(), NotTheirs);
        assert_eq!(elicitation().owned_by(&elsewhere).unwrap_err(), NotTheirs);
        let alice = elicitation().owner;
        assert!(elicitation().owned_by(&alice).unwrap().open(Millis(0)).is_ok());
    }

    /// R5: an id has one spelling.
    #[test]
    fn ids_are_parsed_strictly() {
        let id = "550e8400-e29b-41d4-a716-446655440000";
        assert!(id.parse::<ElicitationId>().is_ok());
        for bad in [
            "550E8400-E29B-41D4-A716-446655440000",
            "550e8400e29b41d4a716446655440000",
            "{550e8400-e29b-41d4-a716-446655440000}",
            "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
            " 550e8400-e29b-41d4-a716-446655440000",
            "",
        ] {
            assert!(bad.parse::<ElicitationId>().is_err(), "{bad:?}");
        }
        assert!("Files".parse::<ServerId>().is_err());
        assert!("../x".parse::<ServerId>().is_err());
    }
}
