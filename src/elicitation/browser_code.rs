//! A code that one browser shows, and by which that browser alone is proven to be the owner's.

use uuid::Uuid;

use super::ElicitationId;
use crate::{clock::Millis, secret::Hash};

/// A browser's code for one elicitation, found by the hash of the cookie that this request came with.
#[derive(Clone, Debug)]
pub struct BrowserCode {
    /// What it is for, and for nothing else.
    pub elicitation: ElicitationId,
    /// Names the browser in the rows of its attempts.
    pub browser: Uuid,
    /// The hash of the cookie's secret.
    pub cookie: Hash,
    /// Until when the code can be typed; of a proven browser, until when it is the owner's.
    pub expires_at: Millis,
    /// When the owner's MCP server passed the code on.
    pub proven_at: Option<Millis>,
}

impl BrowserCode {
    /// Whether the owner has typed it. The row is of the browser at hand already; and it is not too old.
    pub fn is_proven(&self, now: Millis) -> bool {
        self.proven_at.is_some() && self.expires_at > now
    }

    /// Whether it can still be typed.
    pub fn waits(&self, now: Millis) -> bool {
        self.proven_at.is_none() && self.expires_at > now
    }
}
