//! The browser's session, for pages that belong to no elicitation. (Those that do get it with the elicitation, in one
//! round trip.)

use crate::{
    clock::Millis,
    identity::SessionLife,
    secret::Hash,
    store::{SessionRow, StoreError, Visitor},
};

use super::here::Here;

impl Here {
    /// The browser, when its session is alive, and who is signed in on it for `issuer`: a page uses only the sign-in of
    /// its own issuer (R3). Keeps the idle stamp no older than a tenth of the idle life.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn visitor_of(&self, issuer: &str) -> Result<Option<Visitor>, StoreError> {
        let Some(row) = self.people().await? else { return Ok(None) };
        let SessionRow { browser, seen_at, sign_ins } = row;
        let sign_in = sign_ins.into_iter().find(|one| one.subject.issuer == issuer);
        let (subject, label) = sign_in.map(|one| (one.subject, one.label)).unzip();
        Ok(Some(Visitor { browser, seen_at, subject, label: label.flatten() }))
    }

    /// The browser, when its session is alive, with everybody who is signed in on it: at most one for each issuer.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn people(&self) -> Result<Option<SessionRow>, StoreError> {
        let Some(session) = self.session() else { return Ok(None) };
        let now = self.app.clock.now();
        let life = SessionLife::of(&self.app.settings.lifetimes);
        let found = self.app.store.session(&session, now, life.idle_since(now)).await?;
        if let Some(row) = &found {
            self.touch(&session, row.seen_at).await?;
        }
        Ok(found)
    }

    /// Keeps a session's idle stamp no older than a tenth of the idle life.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(super) async fn touch(&self, session: &Hash, seen_at: Millis) -> Result<(), StoreError> {
        let now = self.app.clock.now();
        if SessionLife::of(&self.app.settings.lifetimes).is_stamp_due(seen_at, now) {
            self.app.store.touch_session(session, now).await?;
        }
        Ok(())
    }
}
