//! The words of the machine: what it is told, what it says, and how it ends.

use std::time::Duration;

use super::verdict::{
    ACCOUNT_MISMATCH, CONSENT_EXPIRED, REFRESH_EXPIRED, REFUSED, ROTATION_LOST, UNAUTHORIZED,
};
use crate::{
    clock::Millis,
    connection::{PROVIDER_CHANGED, Status},
    provider::Failure,
    store::{Lease, Watched},
};

/// The spans of a deployment.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// Every back-off lets a try through after this long.
    pub trial: Duration,
    /// A lease: longer than a request and its storing can take.
    pub lease: Duration,
}

/// A row as the protocol sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its generation.
    pub generation: i64,
    /// Whether it can be refreshed at all.
    pub refreshable: bool,
    /// Whether it has ended: then nobody makes a newer generation but the person.
    pub ended: bool,
    /// The latest fence.
    pub lease_token: i64,
    /// Whether somebody has the lease.
    pub leased: bool,
    /// Not before then is the next one tried.
    pub next_attempt_at: Option<Millis>,
    /// Why it is over, if it is.
    pub over: Option<&'static str>,
}

impl Seen {
    /// Of a row at `now`.
    pub fn of(watched: &Watched, now: Millis) -> Self {
        let connection = &watched.connection;
        let passed = |at: Option<Millis>| at.is_some_and(|at| at <= now);
        let refused_again =
            [connection.refused_generation, connection.mended_generation] == [Some(connection.generation); 2];
        let over = if passed(connection.consent_expires_at) {
            Some(CONSENT_EXPIRED)
        } else if refused_again {
            Some(UNAUTHORIZED)
        } else {
            passed(connection.refresh_expires_at).then_some(REFRESH_EXPIRED)
        };
        Self {
            generation: connection.generation,
            refreshable: connection.status == Status::Active && connection.can_refresh,
            ended: connection.status != Status::Active,
            lease_token: watched.lease_token,
            leased: watched.lease_left.is_some(),
            next_attempt_at: connection.next_attempt_at,
            over,
        }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first.
    Begin,
    /// The row, or that it is gone.
    Seen(Option<Seen>),
    /// The provider may be asked.
    Permitted,
    /// The provider is left alone until then.
    Paused(Millis),
    /// The lease with the failures before it, or that it is not to be had.
    Taken(Option<(Lease, i64)>),
    /// The lease was given back, as far as the store is there.
    Released,
    /// What the provider said, with chance from 0 to 1,000.
    Answered(Answer, u64),
    /// Whether it was stored, or fenced off.
    Written(bool),
    /// The store did not do it, or its word was lost.
    StoreAway,
    /// A pause is over.
    Waited {
        /// The process is about to end.
        draining: bool,
    },
    /// The provider will be told.
    GivenBack,
}

/// What the provider said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// New tokens, of the same account as far as is known.
    Tokens,
    /// New tokens of another account.
    OtherAccount,
    /// No tokens.
    Failed(Failure),
    /// No tokens, from a provider that still takes a refresh token whose successor may have been lost.
    Doubtful(Failure),
    /// Nothing was sent: what is stored does not open.
    Unsent,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read the row.
    Look,
    /// Stand in the provider's line.
    Line,
    /// Take the lease of this generation.
    Take(i64),
    /// Give the lease back; nothing was sent.
    Release,
    /// Ask the provider, once.
    Send(Lease),
    /// Store under the fence.
    Write(Lease, Write),
    /// End the connection; it is over.
    Expire {
        /// At this generation.
        generation: i64,
        /// Why.
        reason: &'static str,
    },
    /// Wait.
    Pause(Pause),
    /// Have the new tokens revoked: the connection is gone, or has ended.
    GiveBack,
    /// That was all.
    Done(Finish),
}

/// What is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// The new tokens.
    Commit,
    /// A failure that ends nothing.
    Fail {
        /// Why.
        code: &'static str,
        /// Not before then is the next one tried.
        next_attempt_at: Option<Millis>,
        /// The request may have been acted on.
        keep_intent: bool,
    },
    /// The end.
    End {
        /// As what.
        status: Status,
        /// Why.
        reason: &'static str,
    },
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Another replica's refresh; the how-manieth look it is.
    Poll(u32),
    /// The next try.
    Until(Millis),
    /// The store; the how-manieth time.
    StoreAway(u32),
}

/// How it ended. Whoever waits looks the row up again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// New tokens are stored.
    Renewed,
    /// Somebody else has moved it, or it is not to be refreshed any more.
    Moved,
    /// Fenced off by another's refresh or a new consent: the tokens were dropped.
    Fenced,
    /// The connection was removed or has ended meanwhile: the tokens are given back.
    GaveBack,
    /// It ended.
    Ended(&'static str),
    /// It failed, and is tried again.
    Failed {
        /// Why.
        code: &'static str,
        /// Not before then.
        next_attempt_at: Option<Millis>,
    },
    /// It is not tried before then.
    Later(Millis),
    /// The provider as a whole is not asked before then.
    Paused(Millis),
    /// What is stored does not open.
    Unreadable,
    /// The store is away.
    StoreAway,
    /// Somebody else has been at it for long.
    Busy,
    /// The process is about to end.
    Drained,
}

impl Finish {
    /// Every word that [`Finish::code`] has.
    pub const CODES: [&'static str; 18] = [
        "renewed",
        "moved",
        "fenced",
        "given_back",
        REFUSED,
        ROTATION_LOST,
        ACCOUNT_MISMATCH,
        REFRESH_EXPIRED,
        CONSENT_EXPIRED,
        UNAUTHORIZED,
        PROVIDER_CHANGED,
        "failed",
        "later",
        "paused",
        "unreadable",
        "store_away",
        "busy",
        "drained",
    ];

    /// A stable name, for metrics: the reason of an end.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Renewed => "renewed",
            Self::Moved => "moved",
            Self::Fenced => "fenced",
            Self::GaveBack => "given_back",
            Self::Ended(reason) => reason,
            Self::Failed { .. } => "failed",
            Self::Later(_) => "later",
            Self::Paused(_) => "paused",
            Self::Unreadable => "unreadable",
            Self::StoreAway => "store_away",
            Self::Busy => "busy",
            Self::Drained => "drained",
        }
    }
}
