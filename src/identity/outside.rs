//! Opaque tokens that anybody at all may present, at an endpoint on the public listener: how often the authorization
//! server is asked about those that nobody knows, and for how long its no is believed.
//!
//! A token is known by its hash alone. What it must never do: remember that something was down, which says nothing of a token;
//! hold back a token that the server has known a moment ago because of what strangers make up.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::{IdentityError, TokenRefusal, access_token::Recent};
use crate::{clock::Clock, pace::Pace, secret::Hash};

/// How long the issuer's no is believed. Short: a token that was made a moment ago may not be known everywhere yet.
const REFUSED_LIFE: Duration = Duration::from_secs(10);
/// New tokens that are asked about in a minute.
const NEW_PER_MINUTE: u32 = 600;
/// Questions to one authorization server at the same time.
const QUESTIONS: usize = 16;
/// How long one waits for its turn, and before another should be tried.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is kept of one authorization server.
pub(super) struct Outside {
    refused: Recent<TokenRefusal>,
    new: Pace<()>,
    turns: Semaphore,
    clock: Clock,
}

impl Outside {
    pub(super) fn new(clock: Clock) -> Self {
        let (refused, new) = (Recent::default(), Pace::per_minute(NEW_PER_MINUTE, clock.clone()));
        Self { refused, new, turns: Semaphore::new(QUESTIONS), clock }
    }

    /// A turn to ask about this token.
    ///
    /// # Errors
    /// `Token` when the answer is known and is no; `Busy` when too much is asked.
    pub(super) async fn turn(
        &self,
        token: &Hash,
        is_new: bool,
    ) -> Result<SemaphorePermit<'_>, IdentityError> {
        self.check(token)?;
        if is_new {
            self.new.check(&()).map_err(IdentityError::Busy)?;
        }
        let turn = tokio::select! {
            biased;
            turn = self.turns.acquire() => turn.map_err(|_| IdentityError::Busy(PATIENCE))?,
            () = self.clock.sleep(PATIENCE) => return Err(IdentityError::Busy(PATIENCE)),
        };
        // Who stood in the line with the same token may have heard it meanwhile.
        self.check(token)?;
        Ok(turn)
    }

    fn check(&self, token: &Hash) -> Result<(), IdentityError> {
        self.refused.get(token, self.clock.now()).map_or(Ok(()), |refusal| Err(refusal.into()))
    }

    /// The issuer has said no.
    pub(super) fn refuse(&self, token: Hash, refusal: TokenRefusal) {
        let now = self.clock.now();
        self.refused.keep(token, refusal, now.plus(REFUSED_LIFE), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many at once; the next waits a little, and is told to come again.
    #[tokio::test]
    async fn only_so_much_is_asked_at_the_same_time() {
        let clock = Clock::manual();
        let outside = Outside::new(clock.clone());
        let mut turns = Vec::new();
        for at in 0..QUESTIONS {
            turns.push(outside.turn(&Hash::of(&at.to_be_bytes()), true).await.unwrap());
        }
        let next = Hash::of(b"next");
        let busy = tokio::join!(outside.turn(&next, true), async { clock.advance(PATIENCE) }).0;
        assert_eq!(busy.err(), Some(IdentityError::Busy(PATIENCE)));
        let waits = tokio::join!(outside.turn(&next, false), async { drop(turns.pop()) }).0;
        assert!(waits.is_ok());
        // The answer came to another while it stood in the line.
        turns.push(waits.unwrap());
        let no = TokenRefusal::Inactive;
        let told = tokio::join!(outside.turn(&next, true), async {
            outside.refuse(next, no);
            drop(turns.pop());
        });
        assert_eq!(told.0.err(), Some(no.into()));
    }
}
