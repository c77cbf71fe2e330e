//! A token that a provider has still to end, as the outbox keeps it.
//!
//! The token is sealed for the job's own row: the connection that it was of is gone, or never had it.

use std::str::FromStr;

use crate::{
    clock::Millis,
    connection::ConnectionId,
    elicitation::{MalformedId, ProviderId, ServerId, uuid_id},
    secret::Hash,
    subject::Subject,
    values::Values,
    vault::{Place, Sealed},
};

uuid_id! {
    /// Names a revocation.
    RevocationId
}

/// How far a revocation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// To be sent, or sent again.
    Due,
    /// The provider has confirmed that the access ended.
    Confirmed,
    /// The provider has no way to be told.
    Impossible,
    /// Not told, because that would end another connection with the same account too.
    Shared,
    /// Given up.
    Dead,
}

impl State {
    /// Every state, for documents and tests.
    pub const ALL: [Self; 5] = [Self::Due, Self::Confirmed, Self::Impossible, Self::Shared, Self::Dead];

    /// As the store writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Confirmed => "confirmed",
            Self::Impossible => "impossible",
            Self::Shared => "shared",
            Self::Dead => "dead",
        }
    }
}

impl FromStr for State {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(MalformedId)
    }
}

/// Which of the two tokens it is (RFC 7009, section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Ends what was made from it as well.
    Refresh,
    /// Where there is no refresh token.
    Access,
}

impl Hint {
    /// As `token_type_hint` says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refresh => "refresh_token",
            Self::Access => "access_token",
        }
    }
}

impl FromStr for Hint {
    type Err = MalformedId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "refresh_token" => Ok(Self::Refresh),
            "access_token" => Ok(Self::Access),
            _ => Err(MalformedId),
        }
    }
}

/// A revocation to be queued.
#[derive(Clone, Debug)]
pub struct NewRevocation {
    /// Its id, which the token is sealed for.
    pub id: RevocationId,
    /// The connection that the token was of; none when it never became one's.
    pub connection: Option<ConnectionId>,
    /// The tenant.
    pub server: ServerId,
    /// Whose it is.
    pub owner: Subject,
    /// Who is to be told.
    pub provider: ProviderId,
    /// The account there, where it is known.
    pub account_id: Option<String>,
    /// Which of the two tokens.
    pub hint: Hint,
    /// The token, sealed for its [`place`].
    pub token: Sealed,
    /// The variables that it was got with, and what the provider's answers were read for.
    pub values: Values,
    /// The digest of the place that it is for: it is sent to no other (R63).
    pub fingerprint: Option<Hash>,
}

/// The cell that a revocation's token is sealed for (R99).
pub fn place<'a>(
    id: RevocationId,
    server: &'a ServerId,
    owner: &'a Subject,
    provider: &'a ProviderId,
) -> Place<'a> {
    Place {
        table: "revocations",
        column: "token",
        row: id.0,
        server: server.as_str(),
        issuer: &owner.issuer,
        sub: &owner.sub,
        provider: provider.as_str(),
        generation: 0,
    }
}

/// A revocation that one process works on until its claim ends.
#[derive(Clone, Debug)]
pub struct Revocation {
    /// As it was queued.
    pub queued: NewRevocation,
    /// Tries, this one included.
    pub tries: i64,
    /// Until then nobody else works on it.
    pub claimed_until: Millis,
    /// When it was queued.
    pub created_at: Millis,
}
