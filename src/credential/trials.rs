//! After a restore: each refresh token that is in doubt is tried once, at its provider's pace (R107).
//!
//! A try is an ordinary refresh, under its lease and within the provider's budget; what its end means for a connection
//! is decided there. What it must never do: try one that is held back still, or one a second time in one run.

use futures_util::future::try_join_all;

use crate::{
    app::App,
    elicitation::ProviderId,
    store::{Restore, StoreError},
};

/// Tries of one provider that wait for their turn at the same time.
const PAGE: u32 = 100;

/// Tries every connection that `restore` has left in doubt, the providers side by side. What a provider does not answer
/// stays in doubt. Ends early when the process is about to.
///
/// # Errors
/// The store's; what was tried until then is settled.
pub async fn try_doubted(app: &App, restore: &Restore) -> Result<(), StoreError> {
    let tallies = app.store.restore_tally(restore).await?;
    let providers = tallies.iter().filter(|tally| tally.in_doubt > 0);
    try_join_all(providers.map(|tally| try_provider(app, restore, &tally.provider))).await?;
    Ok(())
}

async fn try_provider(app: &App, restore: &Restore, provider: &ProviderId) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = app.store.in_doubt(restore, provider, after, PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = Some(*last);
        let flights = page.iter().map(|(id, generation)| app.refreshes.join(app, *id, *generation).end());
        futures_util::future::join_all(flights).await;
        if app.shutdown.is_cancelled() {
            return Ok(());
        }
    }
}
