//! Coming back from the provider. The order is the security (R71):
//!
//! 1. read strictly; 2. find the attempt by the hash of `state`; 3. this attempt's cookie; 4. path, `iss`, signature;
//! 5. the session (or this browser's code) and the comparison, or park; 6. claim; then [`finish`](super::finish).
//!
//! Up to the claim nothing is spent, so that a stranger who knows everything but the cookie and the session burns
//! nothing (R59, R70).

use tracing::Instrument;

use crate::{
    app::App,
    audit::{About, Actor},
    elicitation::{Attempt, AttemptId, AttemptState, Claimed, ElicitationId, Outcome, ProviderId, ServerId},
    provider::{AuthorizationError, classify_authorization_error, clean, is_genuine},
    telemetry::SecurityEvent,
};

use super::{
    Refusal,
    cookie::AttemptCookie,
    finish::{finish, patiently},
    hosted,
    open::{Browser, Opened, look, open},
    response::{From, Response, ResponseError, Verdict},
};

/// A browser that arrives at a callback.
pub struct Arriving<'a> {
    /// The path's MCP server.
    pub server: &'a ServerId,
    /// The path's provider.
    pub provider: &'a ProviderId,
    /// What the browser is known by.
    pub browser: Browser<'a>,
    /// Gives the value of an attempt's cookie.
    pub cookie: &'a (dyn Fn(AttemptId) -> Option<String> + Sync),
}

/// Where the browser goes next, always by 303.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// To the outcome.
    Done(ElicitationId, AttemptId),
    /// Parked: to sign in first.
    Resume(ElicitationId, AttemptId),
    /// Signed in as somebody else; nothing is spent.
    WrongAccount(ElicitationId),
    /// No attempt that was begun in this browser.
    OtherBrowser,
    /// Another provider's answer, or another callback's.
    ProviderMismatch,
    /// Not an authorization response.
    Bad(ResponseError),
}

/// Takes an authorization response through every check.
///
/// # Errors
/// The store's or the vault's; nothing is spent then.
pub async fn arrive(
    app: &App,
    parameters: &[(String, String)],
    at: &Arriving<'_>,
) -> Result<Arrival, Refusal> {
    let from = if app.hosted_page(at.provider).is_some() { From::Page } else { From::Provider };
    let response = match Response::read(parameters, from) {
        Ok(response) => response,
        Err(error) => return Ok(Arrival::Bad(error)),
    };
    let Some(attempt) = app.store.attempt_by_state(&response.state.hash()).await? else {
        return Ok(other_browser(app, None));
    };
    if (at.server, at.provider) != (&attempt.server, &attempt.provider) {
        // Whoever lacks the cookie learns no more than that.
        if !is_this_browsers(app, &attempt, at) {
            return Ok(other_browser(app, Some(&attempt)));
        }
        return Ok(mismatch(app, &attempt));
    }
    let provider = app.providers.get(at.provider);
    let genuine = provider.is_none_or(|provider| is_genuine(&provider, parameters));
    check(app, response, attempt, at, genuine).await
}

/// The way on after a sign-in that was missing: the same checks again, from the parked response, cookie and session
/// included.
///
/// # Errors
/// [`Refusal::NotSignedIn`] while nobody is signed in; [`Refusal::WrongAccount`]; [`Refusal::OtherBrowser`].
pub async fn resume(
    app: &App,
    elicitation: ElicitationId,
    id: AttemptId,
    browser: Browser<'_>,
    cookie: &(dyn Fn(AttemptId) -> Option<String> + Sync),
) -> Result<Arrival, Refusal> {
    let opened = open(app, look(app, elicitation, browser).await?)?;
    let attempt = opened.attempt(app, id).await?;
    if AttemptCookie::open(&app.vault, &attempt, cookie(id).as_deref()).is_none() {
        app.security_event(SecurityEvent::OtherBrowser, Actor::Unknown, opened.mine.elicitation());
        return Err(Refusal::OtherBrowser);
    }
    let parked = attempt.parked.as_ref().filter(|_| attempt.parked_until > Some(app.clock.now()));
    let Some(parked) = parked else { return Ok(Arrival::Done(elicitation, id)) };
    let response = Response::open(&app.vault, opened.mine.elicitation(), id, parked)?;
    let at = Arriving { server: &attempt.server, provider: &attempt.provider, browser, cookie };
    // What was parked was genuine.
    check(app, response, attempt.clone(), &at, true).await
}

/// Steps 3 to 6.
async fn check(
    app: &App,
    response: Response,
    attempt: Attempt,
    at: &Arriving<'_>,
    genuine: bool,
) -> Result<Arrival, Refusal> {
    if !is_this_browsers(app, &attempt, at) {
        return Ok(other_browser(app, Some(&attempt)));
    }
    let unsigned = !genuine && matches!(response.verdict, Verdict::Code(_));
    if unsigned || !is_issuers(&attempt, response.issuer.as_deref()) {
        return Ok(mismatch(app, &attempt));
    }
    let done = Arrival::Done(attempt.elicitation, attempt.id);
    if !attempt.is_live(app.clock.now()) {
        return Ok(done);
    }
    let visit = look(app, attempt.elicitation, at.browser).await?;
    let asked = visit.elicitation.clone();
    match open(app, visit) {
        Ok(opened) => {
            // From the claim on, whoever hangs up must not leave it half done.
            patiently(app, claim(app.clone(), response, attempt, opened)).await?;
            Ok(done)
        }
        Err(Refusal::WrongAccount) => Ok(Arrival::WrongAccount(asked.id)),
        Err(Refusal::NotSignedIn) => {
            let now = app.clock.now();
            let until = now.plus(app.settings.lifetimes.parked).min(attempt.expires_at);
            let sealed = response.seal(&app.vault, &asked, attempt.id)?;
            app.store.park(attempt.id, &sealed, until, now).await?;
            Ok(Arrival::Resume(asked.id, attempt.id))
        }
        Err(refusal) => Err(refusal),
    }
}

/// Step 6, and what follows for the one request that wins. Whatever is logged of it bears the reference of its pages.
async fn claim(app: App, response: Response, attempt: Attempt, opened: Opened) -> Result<(), Refusal> {
    let (reference, server, elicitation) = (attempt.id.reference(), &attempt.server, attempt.elicitation);
    let span = tracing::error_span!("trip", reference, %server, %elicitation);
    claim_it(app, response, attempt, opened).instrument(span).await
}

async fn claim_it(app: App, response: Response, attempt: Attempt, opened: Opened) -> Result<(), Refusal> {
    let of_page = attempt.page.is_some();
    if of_page && matches!(response.verdict, Verdict::Back) {
        return hosted::come_back(&app, &opened, &attempt).await;
    }
    let Some(claimed) = app.store.claim(opened.mine, &attempt, app.clock.now()).await? else {
        return Ok(());
    };
    match response.verdict {
        Verdict::Code(code) if !of_page => finish(&app, claimed, code, &response.said).await,
        // What is configured under this id is of another kind by now.
        Verdict::Code(_) | Verdict::Back => spend(&app, &claimed, Outcome::Misconfigured, None).await?,
        Verdict::Error(error) => {
            let outcome = match app.providers.get(&attempt.provider) {
                _ if of_page => hosted::outcome_of(&error),
                None => Outcome::Misconfigured,
                Some(provider) => match classify_authorization_error(&provider, &error) {
                    AuthorizationError::Denied => Outcome::Denied,
                    AuthorizationError::AdminApproval => Outcome::AdminApproval,
                    AuthorizationError::Transient => Outcome::Unreachable,
                    AuthorizationError::Misconfigured => Outcome::Misconfigured,
                    AuthorizationError::Other => Outcome::CodeRefused,
                },
            };
            let detail = clean(&error);
            if !matches!(outcome, Outcome::Denied | Outcome::AdminApproval) {
                let (provider, why, code) = (&attempt.provider, outcome.as_str(), detail.as_deref());
                tracing::warn!(%provider, step = "authorization", why, code, "a step at the provider failed");
            }
            spend(&app, &claimed, outcome, detail.as_deref()).await?;
        }
    }
    Ok(())
}

async fn spend(app: &App, claimed: &Claimed, outcome: Outcome, detail: Option<&str>) -> Result<(), Refusal> {
    let now = app.clock.now();
    app.store.spend(&claimed.attempt, AttemptState::Claimed, outcome, detail, now).await?;
    app.metrics.callback(outcome);
    Ok(())
}

fn is_this_browsers(app: &App, attempt: &Attempt, at: &Arriving<'_>) -> bool {
    AttemptCookie::open(&app.vault, attempt, (at.cookie)(attempt.id).as_deref()).is_some()
}

/// RFC 9207, section 2.4: compared exactly whenever present, required where the provider promises it. Where no
/// issuer is known, a promise cannot be checked and the path alone tells providers apart (R60, R61).
fn is_issuers(attempt: &Attempt, sent: Option<&str>) -> bool {
    match (sent, &attempt.expected_issuer) {
        (Some(sent), Some(expected)) => sent == expected,
        (Some(_), None) => true,
        (None, _) => !attempt.issuer_required,
    }
}

/// What the record says of a stranger's response: the attempt's own names, never what the request said.
fn about(attempt: &Attempt) -> About {
    About {
        server: Some(attempt.server.clone()),
        provider: Some(attempt.provider.clone()),
        elicitation: Some(attempt.elicitation),
        ..About::default()
    }
}

fn other_browser(app: &App, attempt: Option<&Attempt>) -> Arrival {
    let about = attempt.map(about).unwrap_or_default();
    app.security_event(SecurityEvent::OtherBrowser, Actor::Unknown, about);
    Arrival::OtherBrowser
}

fn mismatch(app: &App, attempt: &Attempt) -> Arrival {
    app.security_event(SecurityEvent::ProviderMismatch, Actor::Unknown, about(attempt));
    Arrival::ProviderMismatch
}
