//! A visit to a page of the MCP server's own: the person is sent there with a code, the MCP server redeems it and says what
//! came of it, and the browser comes back. Only both together complete the elicitation.
//!
//! The code says for whom a visit is, to the MCP server that it is of and to nobody else. What it must never do: let a code, or
//! the MCP server's word, stand for the person's being there (R71).

use std::time::Duration;

use url::Url;

use crate::{
    app::App,
    audit::Actor,
    config::HostedPage,
    connection::{Account, Connection, ConnectionId, Marks, NewConnection},
    elicitation::{
        Attempt, AttemptId, Elicitation, ElicitationId, NewAttempt, Outcome, OwnedOpen, PageCode, ServerId,
        State,
    },
    hosted::{Accepted, FailedAtPage},
    scope::Scopes,
    secret::Secret,
    store::{BothHalves, Redemption, Returned, Said, Settled},
    telemetry::SecurityEvent,
    values::Values,
};

use super::{Begun, Opened, Refusal, cookie::AttemptCookie, sealing::connection_place};

/// How long a code can be redeemed.
const CODE_LIFE: Duration = Duration::from_mins(10);
/// How often it is sealed anew when the connection moved meanwhile.
const ROUNDS: usize = 5;
/// What is sealed where another kind has its credential: there is none.
pub(crate) const NOTHING: &[u8] = b"{}";

/// Begins a visit (R57 does not apply: a code of ours takes the place of the provider's, and goes the other way).
pub(super) async fn begin(app: &App, mine: &OwnedOpen, opened: &Opened) -> Result<Begun, Refusal> {
    let (now, asked) = (app.clock.now(), mine.elicitation());
    let id = AttemptId(app.random.row_id(now));
    let cookie = AttemptCookie::with_code(app.random);
    let (state_hash, binding_hash) = cookie.hashes();
    let expires_at = now.plus(app.settings.lifetimes.attempt).min(asked.expires_at);
    let page = cookie
        .code
        .as_ref()
        .map(|code| PageCode { hash: code.hash(), expires_at: now.plus(CODE_LIFE).min(expires_at) });
    let attempt = NewAttempt {
        id,
        browser: opened.visitor.browser,
        state_hash,
        binding_hash,
        verifier: None,
        expected_issuer: None,
        issuer_required: false,
        redirect_uri: app.redirect_uri(&asked.server, &asked.provider),
        scopes: Scopes::default(),
        values: Values::default(),
        fingerprint: None,
        expires_at,
        page,
    };
    if !app.store.begin(mine, &attempt, now).await? {
        return Err(Refusal::Moved);
    }
    Ok(Begun { id, cookie: cookie.seal(&app.vault, id) })
}

/// The page's address for a live visit. A code that was redeemed goes nowhere again: a second time would end the visit.
pub(super) fn leave(
    app: &App,
    page: &HostedPage,
    attempt: &Attempt,
    cookie: &AttemptCookie,
) -> Result<Url, Refusal> {
    let code = cookie.code.as_ref().filter(|_| attempt.is_redeemable(app.clock.now()));
    let code = code.ok_or(Refusal::Moved)?;
    let mut url = page.url.clone();
    url.query_pairs_mut()
        .append_pair("code", code.expose())
        .append_pair("state", cookie.state.expose())
        .append_pair("redirect_uri", &attempt.redirect_uri);
    Ok(url)
}

/// For whom a visit is.
#[derive(Debug)]
pub struct Visiting {
    /// What is asked of whom.
    pub elicitation: Elicitation,
    /// Where the browser is sent back to.
    pub redirect_uri: String,
    /// Until when.
    pub expires_at: crate::clock::Millis,
}

/// Redeems a code. `None` for one that is unknown, another MCP server's, used or late, alike.
///
/// # Errors
/// The store's.
pub async fn redeem(app: &App, server: &ServerId, code: &Secret) -> Result<Option<Visiting>, Refusal> {
    let misused = |attempt: &Attempt| {
        let about = crate::audit::About {
            server: Some(server.clone()),
            provider: Some(attempt.provider.clone()),
            elicitation: Some(attempt.elicitation),
            ..crate::audit::About::default()
        };
        app.security_event(SecurityEvent::PageCodeMisused, Actor::Server, about);
    };
    match app.store.redeem(server, &code.hash(), app.clock.now()).await? {
        Redemption::Redeemed(attempt, elicitation) => Ok(Some(Visiting {
            elicitation: *elicitation,
            expires_at: attempt.expires_at,
            redirect_uri: attempt.redirect_uri,
        })),
        Redemption::Twice(attempt) | Redemption::Foreign(attempt) => {
            misused(&attempt);
            Ok(None)
        }
        Redemption::Refused => Ok(None),
    }
}

/// What an MCP server says came of a visit.
#[derive(Debug)]
pub enum PageResult {
    /// It was done.
    Accepted(Accepted),
    /// It came to nothing.
    Failed(FailedAtPage),
}

/// Why a result is not taken.
#[derive(Debug)]
pub enum NotTaken {
    /// The elicitation is not one of a page.
    NoPage,
    /// No visit with a redeemed code is under way.
    Nobody,
    /// Another result was taken before.
    Otherwise,
    /// The elicitation has ended.
    Over,
}

/// Takes a result. Where the browser was there first, the elicitation is completed; else that waits for the browser.
///
/// # Errors
/// [`Refusal::NotFound`], also for another MCP server's; the store's.
pub async fn tell(
    app: &App,
    server: &ServerId,
    id: ElicitationId,
    told: &PageResult,
) -> Result<Result<Elicitation, NotTaken>, Refusal> {
    let asked = super::read(app, server, id).await?;
    if app.hosted_page(&asked.provider).is_none() {
        return Ok(Err(NotTaken::NoPage));
    }
    let mut said = Said::Over;
    // Whoever has lost to another call hears what that one has done.
    for _ in 0..ROUNDS {
        said = hear(app, &asked, told).await?;
        let Said::Both(both) = &said else { break };
        let (work, both) = (app.clone(), both.clone());
        let settled = app.to_the_end(async move { settle(&work, &both).await }).await;
        match settled.unwrap_or(Err(Refusal::Moved)) {
            Ok(()) => {
                said = Said::Taken;
                break;
            }
            Err(Refusal::Moved) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    match said {
        Said::Taken | Said::Before => Ok(Ok(super::read(app, server, id).await?)),
        Said::Otherwise => Ok(Err(NotTaken::Otherwise)),
        Said::Nobody => Ok(Err(NotTaken::Nobody)),
        Said::Over => Ok(Err(NotTaken::Over)),
        Said::Both(_) => Err(Refusal::Moved),
    }
}

async fn hear(app: &App, asked: &Elicitation, told: &PageResult) -> Result<Said, Refusal> {
    let now = app.clock.now();
    match told {
        PageResult::Accepted(accepted) => Ok(app.store.accept_visit(asked, accepted, now).await?),
        PageResult::Failed(reason) => {
            let said = app.store.fail_visit(asked, reason, now).await?;
            if matches!(said, Said::Taken) {
                app.metrics.elicitations_ended(State::Failed, 1);
            }
            Ok(said)
        }
    }
}

/// The browser is back and every check was passed: completes what the MCP server has said, or waits for its word.
pub(super) async fn come_back(app: &App, opened: &Opened, attempt: &Attempt) -> Result<(), Refusal> {
    match app.store.come_back(&opened.mine, attempt, app.clock.now()).await? {
        Returned::Waits | Returned::Lost => Ok(()),
        Returned::Both(both) => match settle(app, &both).await {
            // Closed meanwhile, or another request was first: its page says what it is now.
            Err(Refusal::Moved) => Ok(()),
            settled => settled,
        },
    }
}

/// Stores what was done, and completes.
async fn settle(app: &App, both: &BothHalves) -> Result<(), Refusal> {
    let asked = both.elicitation();
    if app.may_visit(&asked.server, &asked.provider).is_none() {
        super::close(app, asked, State::Failed, "provider_removed").await?;
        return Err(Refusal::Moved);
    }
    for _ in 0..ROUNDS {
        let existing = app.store.connection_for(&asked.server, &asked.owner, &asked.provider).await?;
        let new = connection(app, asked, both.accepted(), existing.as_ref());
        let over = existing.as_ref().map(|one| (one.id, one.generation));
        match app.store.settle_visit(both, &new, over, app.clock.now()).await? {
            Settled::Done { completed, .. } => {
                app.metrics.callback(Outcome::Connected);
                app.metrics.elicitations_ended(State::Completed, completed.len());
                return Ok(());
            }
            Settled::Moved => {}
            Settled::ClosedMeanwhile | Settled::Lost => return Err(Refusal::Moved),
        }
    }
    Err(Refusal::Moved)
}

fn connection(
    app: &App,
    asked: &Elicitation,
    accepted: &Accepted,
    existing: Option<&Connection>,
) -> NewConnection {
    let id = existing.map_or_else(|| ConnectionId(app.random.row_id(app.clock.now())), |one| one.id);
    let generation = existing.map_or(1, |one| one.generation.saturating_add(1));
    NewConnection {
        id,
        account: Account { id: None, label: accepted.label.clone() },
        granted: Scopes::default(),
        asked: Scopes::default(),
        generation,
        access: app.vault.seal(&connection_place(asked, id, "access", generation), NOTHING),
        refresh: None,
        access_expires_at: None,
        refresh_expires_at: None,
        consent_expires_at: None,
        values: accepted.values.clone(),
        fingerprint: None,
        marks: Marks { redirect: true, ..Marks::default() },
    }
}

/// What an error in a page's return means; the codes are those of OAuth (RFC 6749, section 4.1.2.1).
pub(super) fn outcome_of(error: &str) -> Outcome {
    match error {
        "access_denied" => Outcome::Denied,
        "temporarily_unavailable" | "server_error" => Outcome::Unreachable,
        _ => Outcome::CodeRefused,
    }
}
