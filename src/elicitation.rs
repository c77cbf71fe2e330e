//! One request to one user to connect one provider, and the moves that a browser can make of it.
//!
//! That the right person is at the browser is not a state: it is [`Owned`], a proof made anew in every request by
//! comparing subjects, and the store's browser moves take nothing less, so that a handler which forgets the check
//! does not compile (R3, R4). Where nobody can sign in, the proof is made of the code that this very browser showed
//! ([`Elicitation::owned_by_code`]). Who wins a race is not decided here but by the store's guarded statements.

mod attempt;
mod browser_code;
mod id;

use std::str::FromStr;

pub(crate) use self::id::uuid_id;
pub use self::{
    attempt::{Attempt, AttemptState, Claimed, NewAttempt, Outcome, PageCode, PageVisit},
    browser_code::BrowserCode,
    id::{AttemptId, ElicitationId, MalformedId, ProviderId, ServerId},
};
use crate::{
    clock::Millis,
    connection::{ConnectionId, Grant},
    scope::Scopes,
    secret::Hash,
    subject::Subject,
    values::Values,
};

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
    /// The provider's variables as the caller gave them: only a connection that was made with the same will do.
    pub values: Values,
    /// Variables as the person typed them. The caller's win.
    pub typed: Values,
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

/// What stands for the caller's reference in an elicitation that the person began on a page of ours. No caller can send
/// it, for it holds a control character; and none is told of it.
pub const OWN_REF: &str = "\u{1}own";

/// The same where an MCP client of our own endpoint asked; what names the client follows.
pub const ENDPOINT_REF: &str = "\u{1}mcp";

/// What both begin with, and no caller's reference does.
const OURS: char = '\u{1}';

impl Elicitation {
    /// Whether the person began it themselves, on a page of ours: then nobody waits for it elsewhere.
    pub fn is_own(&self) -> bool {
        self.client_ref == OWN_REF
    }

    /// The caller's reference, as signals and answers give it back; empty when there is none.
    pub fn caller_ref(&self) -> &str {
        if self.client_ref.starts_with(OURS) { "" } else { &self.client_ref }
    }

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

    /// Proves that this browser is the owner's: `code` is of the cookie that the request came with, was made for this
    /// elicitation, and the owner's MCP server has passed it on. Only for MCP servers that are configured for it.
    ///
    /// # Errors
    /// [`NotTheirs`] for any other browser.
    pub fn owned_by_code(self, code: &BrowserCode, now: Millis) -> Result<Owned, NotTheirs> {
        let proves = code.elicitation == self.id && code.is_proven(now);
        if proves { Ok(Owned(self)) } else { Err(NotTheirs) }
    }
}

/// Somebody else's elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("made for another person")]
pub struct NotTheirs;

/// Proof, made in this request and never stored, that the person at the browser is the one who was asked: signed in as
/// them, or at the browser whose code they have typed.
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
    /// The provider's variables, as the caller gave them.
    pub values: Values,
    /// Variables that the person typed before, where this one follows another.
    pub typed: Values,
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
        let values = self.values.to_json();
        let parts = [
            self.server.as_str(),
            &self.owner.issuer,
            &self.owner.sub,
            self.provider.as_str(),
            &scopes,
            era,
            &self.client_ref,
        ];
        // Without values as ever, so that what is open during a change of programs is found again.
        let parts = parts.into_iter().chain(values.as_deref());
        let mut text = Vec::new();
        for part in parts {
            text.extend_from_slice(&(part.len() as u64).to_be_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        Some(Hash::of(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elicitation() -> Elicitation {
        Elicitation {
            id: ElicitationId(uuid::Uuid::from_u128(1)),
            server: "files".parse().unwrap(),
            owner: Subject::new("https://id.example", "alice").unwrap(),
            provider: "github".parse().unwrap(),
            scopes: Scopes::default(),
            values: Values::default(),
            typed: Values::default(),
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

    /// R3: a code proves its own browser, for its own elicitation, while it lasts, and once it was typed.
    #[test]
    fn r3_only_a_typed_code_of_this_elicitation_proves() {
        let code = BrowserCode {
            elicitation: elicitation().id,
            browser: uuid::Uuid::from_u128(7),
            cookie: Hash::of(b"cookie"),
            expires_at: Millis(500),
            proven_at: Some(Millis(100)),
        };
        assert!(elicitation().owned_by_code(&code, Millis(499)).is_ok());
        assert_eq!(elicitation().owned_by_code(&code, Millis(500)).unwrap_err(), NotTheirs);
        let untyped = BrowserCode { proven_at: None, ..code };
        assert_eq!(elicitation().owned_by_code(&untyped, Millis(200)).unwrap_err(), NotTheirs);
        let other = BrowserCode { elicitation: ElicitationId(uuid::Uuid::from_u128(2)), ..code };
        assert_eq!(elicitation().owned_by_code(&other, Millis(200)).unwrap_err(), NotTheirs);
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
}
