//! The browser's session, for pages that belong to no elicitation. (Those that do get it with the elicitation, in one
//! round trip.)

use uuid::Uuid;

use crate::{
    identity::SessionLife,
    secret::Hash,
    store::{SessionRow, SignInRow, StoreError},
};

use super::here::Here;

/// A browser with a live session.
#[derive(Clone, Debug)]
pub struct Browser {
    /// The digest of its id, which its forms are bound to.
    pub session: Hash,
    row: SessionRow,
}

impl Browser {
    /// What tells it from other browsers, through changes of its session's id.
    pub fn id(&self) -> Uuid {
        self.row.browser
    }

    /// Who is signed in for an issuer; a page uses only that of its own (R3).
    pub fn signed_in(&self, issuer: &str) -> Option<&SignInRow> {
        self.row.sign_ins.iter().find(|one| one.subject.issuer == issuer)
    }
}

impl Here {
    /// The browser, when its session is alive. Keeps the idle stamp no older than a tenth of the idle life.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn browser(&self) -> Result<Option<Browser>, StoreError> {
        let Some(session) = self.session() else { return Ok(None) };
        let now = self.app.clock.now();
        let life = SessionLife::of(&self.app.settings.lifetimes);
        let Some(row) = self.app.store.session(&session, now, life.idle_since(now)).await? else {
            return Ok(None);
        };
        if life.is_stamp_due(row.seen_at, now) {
            self.app.store.touch_session(&session, now).await?;
        }
        Ok(Some(Browser { session, row }))
    }
}
