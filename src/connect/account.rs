//! Another account came back than the connection has: the person says which one to use.

use crate::{
    app::App,
    connection::{Account, Connection},
    credential::{home::seen_now, to_revoke},
    elicitation::{Attempt, AttemptState, Outcome},
};

use super::{
    Refusal,
    cookie::AttemptCookie,
    finish::{Settling, give_back, settle},
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

/// Carries the answer out, for the browser that began the attempt (R12). `seen` is the grant that the page named as
/// the one that would be replaced, where the form says so: when it is another by now, the person is asked again.
///
/// # Errors
/// [`Refusal::OtherBrowser`] without the attempt's cookie, [`Refusal::Moved`] when nothing waits there any more, or
/// what would be replaced has changed.
pub async fn answer(
    app: &App,
    opened: &Opened,
    attempt: &Attempt,
    cookie: Option<&str>,
    answer: Answer,
    seen: Option<&str>,
) -> Result<(), Refusal> {
    AttemptCookie::open(&app.vault, attempt, cookie).ok_or(Refusal::OtherBrowser)?;
    let (work, opened, attempt) = (app.clone(), opened.clone(), attempt.clone());
    let seen = seen.map(str::to_owned);
    let carried = app.to_the_end(async move { carry_out(&work, &opened, &attempt, answer, seen).await });
    carried.await.unwrap_or(Err(Refusal::Moved))
}

/// What names a connection's consent in the form.
pub fn seen(connection: Option<&Connection>) -> String {
    connection.map_or_else(|| "none".to_owned(), |one| format!("{}.{}", one.id, one.grant))
}

/// The account that was there is used no more: its grant is given back, unless another connection has it.
async fn give_way(app: &App, before: &Connection) {
    for revocation in to_revoke(app, before).unwrap_or_default() {
        if let Err(error) = app.store.queue_revocation(&revocation, app.clock.now()).await {
            tracing::warn!(connection = %before.id, %error, "a former grant was not given back");
        }
    }
}

/// Neither of them: what waited on the attempt is given back. Only for whoever has closed the elicitation with it.
///
/// # Errors
/// [`Refusal::Unreadable`] when what waits does not open.
pub async fn drop_offer(app: &App, opened: &Opened, attempt: &Attempt) -> Result<(), Refusal> {
    let asked = opened.mine.elicitation();
    let waiting = attempt.offer.as_ref().filter(|_| attempt.state == AttemptState::Offered);
    let Some(sealed) = waiting else { return Ok(()) };
    let offer = Offer::open(&app.vault, asked, attempt.id, sealed)?;
    give_back(app, asked, attempt, &offer.tokens(), &offer.account()).await;
    Ok(())
}

async fn carry_out(
    app: &App,
    opened: &Opened,
    attempt: &Attempt,
    answer: Answer,
    seen_by_person: Option<String>,
) -> Result<(), Refusal> {
    let asked = opened.mine.elicitation();
    let from = AttemptState::Offered;
    let sealed = attempt.offer.as_ref().filter(|_| attempt.state == from);
    let offer = Offer::open(&app.vault, asked, attempt.id, sealed.ok_or(Refusal::Moved)?)?;
    // Which tenant is asked first.
    if !offer.tenants().is_empty() {
        return Err(Refusal::Moved);
    }
    let (tokens, account) = (offer.tokens(), offer.account());
    let existing = app.store.connection_for(&asked.server, &asked.owner, &asked.provider).await?;
    if seen_by_person.is_some_and(|seen_by_person| seen_by_person != seen(existing.as_ref())) {
        return Err(Refusal::Moved);
    }
    let now = app.clock.now();
    let outcome = match answer {
        Answer::New => {
            match settle(app, attempt, &opened.mine, from, &tokens, &account, existing.as_ref()).await? {
                Settling::Done(outcome) => {
                    app.metrics.callback(outcome);
                    if let Some(before) = &existing {
                        give_way(app, before).await;
                    }
                    return Ok(());
                }
                Settling::Moved => return Err(Refusal::Moved),
                Settling::ClosedMeanwhile => Outcome::ClosedMeanwhile,
            }
        }
        Answer::Previous => Outcome::KeptPrevious,
    };
    // Whoever does not spend it has lost to another answer, whose tokens these are.
    if !app.store.spend(attempt, from, outcome, None, now).await? {
        return Err(Refusal::Moved);
    }
    app.metrics.callback(outcome);
    give_back(app, asked, attempt, &tokens, &account).await;
    let existing = existing.map(|one| seen_now(app, one));
    let suffices = existing.filter(|one| outcome == Outcome::KeptPrevious && one.covers(&asked.scopes, now));
    if let (Some(existing), Ok(open)) = (suffices, opened.mine.clone().open(now)) {
        app.store.keep(&open, existing.as_grant(), now).await?;
    }
    Ok(())
}
