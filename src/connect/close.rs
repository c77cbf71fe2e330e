//! Ending an elicitation from outside of its page: by a client's "no", a caller, or what no further trip can mend.

use consentry_elicitation::ElicitAction;

use crate::{
    app::App,
    elicitation::{Elicitation, State},
    store::StoreError,
};

/// Ends an open elicitation, with its signal; one that is over stays as it is. Tells whether it was ended.
///
/// # Errors
/// When the store is unavailable; then nothing has changed.
pub async fn close(app: &App, asked: &Elicitation, end: State, reason: &str) -> Result<bool, StoreError> {
    if !asked.stored.is_open() || !app.store.close(asked, end, reason, app.clock.now()).await? {
        return Ok(false);
    }
    app.metrics.elicitations_ended(end, 1);
    Ok(true)
}

/// Takes what the MCP client says of its user. A "no" closes; a yes there changes nothing (the store says what happened).
///
/// # Errors
/// As [`close`].
pub async fn hear(app: &App, asked: &Elicitation, action: ElicitAction) -> Result<(), StoreError> {
    let (end, reason) = match action {
        ElicitAction::Accept => return Ok(()),
        ElicitAction::Decline => (State::Declined, "declined_by_client"),
        ElicitAction::Cancel => (State::Cancelled, "cancelled_by_client"),
    };
    close(app, asked, end, reason).await.map(drop)
}
