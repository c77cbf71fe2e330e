//! One grant covers several tenants: the person says which one this connection is for.
//!
//! Until then the credential lies sealed on the attempt and is handed out to nobody. Only a tenant that the provider listed
//! for this very grant can be chosen, by the browser that began the attempt and the person whose question it is.

use crate::{
    app::App,
    elicitation::{Attempt, AttemptState, Outcome},
    provider::Tenant,
};

use super::{
    Refusal,
    cookie::AttemptCookie,
    finish::{Settling, give_back, is_another, settle},
    open::Opened,
    sealing::Offer,
};

/// What came of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// It is carried out; the attempt says what came of it.
    Taken,
    /// Not one of those that were offered. Nothing has changed.
    NotOffered,
}

/// The tenants to choose from; none where the attempt waits for something else.
///
/// # Errors
/// [`Refusal::Moved`] when nothing waits there.
pub fn tenants(app: &App, opened: &Opened, attempt: &Attempt) -> Result<Vec<Tenant>, Refusal> {
    let sealed = attempt.offer.as_ref().ok_or(Refusal::Moved)?;
    Ok(Offer::open(&app.vault, opened.mine.elicitation(), attempt.id, sealed)?.tenants())
}

/// Carries the choice of a tenant out.
///
/// # Errors
/// [`Refusal::OtherBrowser`] without the attempt's cookie, [`Refusal::Moved`] when nothing waits there any more.
pub async fn choose(
    app: &App,
    opened: &Opened,
    attempt: &Attempt,
    cookie: Option<&str>,
    id: &str,
) -> Result<Chosen, Refusal> {
    AttemptCookie::open(&app.vault, attempt, cookie).ok_or(Refusal::OtherBrowser)?;
    if attempt.state != AttemptState::Offered {
        return Err(Refusal::Moved);
    }
    let found = tenants(app, opened, attempt)?;
    if found.is_empty() {
        return Err(Refusal::Moved);
    }
    let Some(tenant) = found.into_iter().find(|one| one.id == id) else { return Ok(Chosen::NotOffered) };
    let (work, opened, attempt) = (app.clone(), opened.clone(), attempt.clone());
    let carried = app.to_the_end(async move { carry_out(&work, &opened, &attempt, &tenant).await });
    carried.await.unwrap_or(Err(Refusal::Moved)).map(|()| Chosen::Taken)
}

async fn carry_out(app: &App, opened: &Opened, attempt: &Attempt, tenant: &Tenant) -> Result<(), Refusal> {
    let asked = opened.mine.elicitation();
    let sealed = attempt.offer.as_ref().ok_or(Refusal::Moved)?;
    let offer = Offer::open(&app.vault, asked, attempt.id, sealed)?;
    let (mut tokens, account) = (offer.tokens(), offer.account());
    tokens.values = tokens.values.with(&tenant.values);
    let existing = app.store.connection_for(&asked.server, &asked.owner, &asked.provider).await?;
    if existing.as_ref().is_some_and(|existing| is_another(&existing.account, &account)) {
        // Which tenant is answered; which account is the next question.
        let next = Offer::new(&tokens, &account).seal(&app.vault, asked, attempt.id)?;
        let now = app.clock.now();
        return if app.store.offer_again(attempt, &next, now).await? { Ok(()) } else { Err(Refusal::Moved) };
    }
    let from = AttemptState::Offered;
    match settle(app, attempt, &opened.mine, from, &tokens, &account, existing.as_ref()).await? {
        Settling::Done(outcome) => app.metrics.callback(outcome),
        Settling::Moved => return Err(Refusal::Moved),
        Settling::ClosedMeanwhile => {
            let outcome = Outcome::ClosedMeanwhile;
            // Whoever does not spend it has lost to another answer, whose tokens these are.
            if !app.store.spend(attempt, from, outcome, None, app.clock.now()).await? {
                return Err(Refusal::Moved);
            }
            app.metrics.callback(outcome);
            give_back(app, asked, attempt, &tokens, &account).await;
        }
    }
    Ok(())
}
