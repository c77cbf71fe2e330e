//! One trip to the provider within an elicitation, and how it ended.

use std::{str::FromStr, time::Duration};

use uuid::Uuid;

use super::{AttemptId, ElicitationId, MalformedId, Owned, ProviderId, ServerId};
use crate::{clock::Millis, hosted::Accepted, scope::Scopes, secret::Hash, values::Values, vault::Sealed};

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
    /// The provider could not be reached.
    Unreachable,
    /// The provider answered something that cannot be used: its entry is wrong, or it is out of order.
    Unusable,
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
    /// The detail of [`Outcome::CodeRefused`] when a page's code was redeemed twice.
    pub const TWICE: &str = "code_used_twice";

    /// As the store writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::PartlyConnected => "partly_connected",
            Self::Denied => "denied",
            Self::AdminApproval => "admin_approval",
            Self::Unreachable => "unreachable",
            Self::Unusable => "unusable",
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
            "unusable" => Self::Unusable,
            "misconfigured" => Self::Misconfigured,
            "code_refused" => Self::CodeRefused,
            "kept_previous" => Self::KeptPrevious,
            "closed_meanwhile" => Self::ClosedMeanwhile,
            "ended" => Self::Ended,
            _ => return Err(MalformedId),
        })
    }
}

impl AttemptId {
    /// What a person can give to the operator: the same on each page of this trip and in the log, 16 hexadecimal digits.
    pub fn reference(self) -> String {
        format!("{:016x}", self.0.as_u64_pair().1)
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
    /// The provider's variables that it was begun with, and what its answers were read for since.
    pub values: Values,
    /// The digest of the place that it was begun at (R63).
    pub fingerprint: Option<Hash>,
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
    /// Where the trip is a visit to a page of the MCP server's own.
    pub page: Option<PageVisit>,
}

/// What is known of a visit to a page of the MCP server's own. It is done when both halves are there, the MCP server's
/// result and the browser's return, whichever came first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageVisit {
    /// When the code is too old to be redeemed.
    pub code_expires_at: Millis,
    /// When the MCP server redeemed the code.
    pub redeemed_at: Option<Millis>,
    /// What the MCP server says was done. Provisional until the browser is back.
    pub accepted: Option<Accepted>,
    /// When the browser came back, through every check. From then on the attempt lives as long as its elicitation.
    pub returned_at: Option<Millis>,
}

/// The code that a browser takes to a page of the MCP server's own.
#[derive(Clone, Debug)]
pub struct PageCode {
    /// SHA-256 of it.
    pub hash: Hash,
    /// Never beyond the attempt's end.
    pub expires_at: Millis,
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

    /// Whether its code can still be redeemed at `now`; what has been redeemed is not sent anywhere again.
    pub fn is_redeemable(&self, now: Millis) -> bool {
        let page = self.page.as_ref();
        self.is_live(now) && page.is_some_and(|page| page.redeemed_at.is_none() && page.code_expires_at > now)
    }

    /// Whether the browser is back at `now`, and the MCP server has not said yet what came of it.
    pub fn is_waiting(&self, now: Millis) -> bool {
        self.is_live(now) && self.page.as_ref().is_some_and(|page| page.returned_at.is_some())
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
    /// The sealed PKCE verifier (R57); none on a visit to a page.
    pub verifier: Option<Sealed>,
    /// The issuer expected back.
    pub expected_issuer: Option<String>,
    /// Whether its absence is an error.
    pub issuer_required: bool,
    /// As registered.
    pub redirect_uri: String,
    /// What is asked for.
    pub scopes: Scopes,
    /// The provider's variables.
    pub values: Values,
    /// The digest of the place that it is begun at (R63).
    pub fingerprint: Option<Hash>,
    /// Never beyond the elicitation's end.
    pub expires_at: Millis,
    /// The code of a visit to a page.
    pub page: Option<PageCode>,
}

/// What claiming an attempt gives to the one request that won.
#[derive(Debug)]
pub struct Claimed {
    /// The attempt, now claimed.
    pub attempt: Attempt,
    /// The proof under which it was claimed.
    pub mine: Owned,
}
