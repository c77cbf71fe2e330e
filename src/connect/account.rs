//! Another account came back than the connection has: the person says which one to use.

use crate::{
    app::App,
    connection::Account,
    elicitation::{Attempt, AttemptState, Outcome},
};

use super::{
    Refusal,
    cookie::AttemptCookie,
    finish::{Settling, revoke, settle},
    open::Opened,
    sealing::Offer,
};

/// What the person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Use the account that came back.
    New,
    /// Keep the one that was connected.
    Previous,
}

/// The account that waits on an attempt, for the page.
///
/// # Errors
/// [`Refusal::Moved`] when nothing waits there.
pub fn offered(app: &App, opened: &Opened, attempt: &Attempt) -> Result<Account, Refusal> {
    let sealed = attempt.offer.as_ref().ok_or(Refusal::Moved)?;
    Ok(Offer::open(&app.vault, opened.mine.elicitation(), attempt.id, sealed)?.account())
}

/// Carries the answer out, for the browser that began the attempt (R12).
///
/// # Errors
/// [`Refusal::OtherBrowser`] without the attempt's cookie, [`Refusal::Moved`] when nothing waits there.
pub async fn answer(
    app: &App,
    opened: &Opened,
    attempt: &Attempt,
    cookie: Option<&str>,
    answer: Answer,
) -> Result<(), Refusal> {
    AttemptCookie::open(&app.vault, attempt, cookie).ok_or(Refusal::OtherBrowser)?;
    let asked = opened.mine.elicitation();
    let sealed = attempt.offer.as_ref().filter(|_| attempt.state == AttemptState::Offered);
    let offer = Offer::open(&app.vault, asked, attempt.id, sealed.ok_or(Refusal::Moved)?)?;
    let existing = app.store.connection_for(&asked.server, &asked.owner, &asked.provider).await?;
    let now = app.clock.now();
    match answer {
        Answer::New => {
            let (tokens, account) = (offer.tokens(), offer.account());
            let from = AttemptState::Offered;
            match settle(app, attempt, &opened.mine, from, &tokens, &account, existing.as_ref()).await? {
                Settling::Done(outcome) => app.metrics.callback(outcome),
                Settling::Moved => return Err(Refusal::Moved),
                Settling::ClosedMeanwhile => {
                    app.store.spend(attempt, from, Outcome::ClosedMeanwhile, None, now).await?;
                    revoke(app, asked, &tokens, existing.as_ref());
                }
            }
        }
        Answer::Previous => {
            app.store.spend(attempt, AttemptState::Offered, Outcome::KeptPrevious, None, now).await?;
            revoke(app, asked, &offer.tokens(), None);
            let suffices = existing.filter(|one| one.covers(&asked.scopes, now));
            if let (Some(existing), Ok(open)) = (suffices, opened.mine.clone().open(now)) {
                app.store.keep(&open, existing.as_grant(), now).await?;
            }
        }
    }
    Ok(())
}
