//! The one request that won: exchange the code, ask who it is, settle.
//!
//! It runs in a task of its own, because a browser that hangs up must not cancel an exchange that was sent (R81).
//! No transaction is open while the provider is asked.

use std::{future::Future, time::Duration};

use crate::{
    app::App,
    audit::Actor,
    config::{Provider, RefreshTokens},
    connection::{Account, Connection, ConnectionId, Marks, NewConnection, Status},
    credential::{Access, Unwanted, client},
    elicitation::{Attempt, AttemptState, Claimed, Elicitation, Outcome, Owned, State},
    provider::{ProviderError, Tenant, Tokens, Told, from_callback, unrenewable},
    scope::Scopes,
    secret::Secret,
    store::{Settled, Settlement, StoreError},
    telemetry::SecurityEvent,
    vault::OpenError,
};

use super::{
    Refusal, close,
    input::{Said, armed, come_back},
    sealing::{Offer, attempt_place, connection_place},
};

/// How long the winner's answer waits for the outcome before it shows `working`.
pub const FINISH_PATIENCE: Duration = Duration::from_secs(20);
/// How long after the claim a credential is still tried to be stored; a claimed attempt is given up after 60 s.
const SETTLING_MAX: Duration = Duration::from_secs(50);
/// Why a grant is not kept: its provider gives a refresh token with each, and this one has none.
pub const NO_REFRESH_TOKEN: &str = "no_refresh_token";
/// Between two tries to store it: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// How often the account is compared again when the connection moved meanwhile.
const COMPARISONS_MAX: usize = 5;

/// Runs a trip's end in a task of its own, and waits for it as long as a browser should.
pub(super) async fn patiently<F>(app: &App, work: F) -> Result<(), Refusal>
where
    F: Future<Output = Result<(), Refusal>> + Send + 'static,
{
    tokio::select! {
        result = app.to_the_end(work) => result.unwrap_or(Ok(())),
        () = app.clock.sleep(FINISH_PATIENCE) => Ok(()),
    }
}

/// From the claim to the outcome; every way out has settled the attempt, or offers another account.
pub(super) async fn finish(app: &App, claimed: Claimed, code: Secret, said: &Said) {
    let Claimed { mut attempt, mine } = claimed;
    let result = redeem(app, &mut attempt, &mine, &code, said).await;
    let (outcome, detail) = match result {
        Ok(outcome) => {
            if let Some(outcome) = outcome {
                app.metrics.callback(outcome);
            }
            return;
        }
        Err(Refusal::Provider(error)) => {
            if is_final(&error) && !registers_itself(app, mine.elicitation()) {
                close_failed(app, mine.elicitation(), "client_refused").await;
            }
            let detail = error.detail().or_else(|| is_unusable(&error).then(|| error.code()));
            (outcome_of(&error), detail.map(str::to_owned))
        }
        Err(Refusal::ProviderGone) => {
            close_failed(app, mine.elicitation(), "provider_removed").await;
            (Outcome::Misconfigured, None)
        }
        Err(refusal) => {
            if matches!(refusal, Refusal::Unreadable(_)) {
                app.security_event(SecurityEvent::SealedValueUnreadable, Actor::Program, mine.elicitation());
            }
            tracing::error!(attempt = %attempt.id, error = %refusal, "a trip could not be finished");
            (Outcome::Unreachable, None)
        }
    };
    app.metrics.callback(outcome);
    let now = app.clock.now();
    if let Err(error) =
        app.store.spend(&attempt, AttemptState::Claimed, outcome, detail.as_deref(), now).await
    {
        tracing::error!(attempt = %attempt.id, %error, "an attempt's outcome could not be stored");
    }
}

/// The outcome; none when the person is asked first which account to use.
async fn redeem(
    app: &App,
    attempt: &mut Attempt,
    mine: &Owned,
    code: &Secret,
    said: &Said,
) -> Result<Option<Outcome>, Refusal> {
    let asked = mine.elicitation();
    let departed = come_back(app, asked, attempt, said).await;
    let provider = match departed {
        Ok(departed) => armed(app, asked, departed).await,
        Err(refusal) => Err(refusal),
    };
    let provider = provider.inspect_err(|refusal| tell_callback(refusal, attempt))?;
    let sealed = attempt.verifier.as_ref().ok_or(OpenError::Malformed)?;
    let verifier = app.vault.open(&attempt_place(asked, attempt.id, "verifier"), sealed)?;
    let verifier = verifier.into_secret().ok_or(OpenError::Malformed)?;
    // What does not fit is found out before the code is used.
    let kept = from_callback(&provider, |name| said.get(name).map(str::to_owned))?;
    let granted = granted(&provider, said).unwrap_or_else(|| attempt.scopes.clone());
    let exchanged = app.providers.exchange(&provider, code, &verifier, &attempt.redirect_uri, &granted).await;
    app.metrics.exchange(&provider.id, exchanged.as_ref().err());
    if exchanged.as_ref().is_err_and(is_final) {
        client::refused(app, &asked.server, &provider, client::Refused::Exchange).await;
    }
    let mut tokens = exchanged?;
    tokens.values = attempt.values.with(&kept);
    let Told { account, tenants } = match app.providers.account(&provider, &mut tokens).await {
        Ok(told) => told,
        Err(error) => {
            give_back(app, asked, attempt, &tokens, &Account::default()).await;
            return Err(error.into());
        }
    };
    let lasting = demand_lasting(app, attempt, asked, &provider, &tokens, &account).await;
    if let Err(refusal) = lasting {
        give_back(app, asked, attempt, &tokens, &account).await;
        return Err(refusal);
    }
    let settled = match tenants.as_slice() {
        [_, _, ..] => ask_for_tenant(app, attempt, asked, &tokens, &account, &tenants).await,
        [only] => {
            tokens.values = tokens.values.with(&only.values);
            compare_and_settle(app, attempt, mine, &tokens, &account).await
        }
        [] => compare_and_settle(app, attempt, mine, &tokens, &account).await,
    };
    if settled.is_err() {
        give_back(app, asked, attempt, &tokens, &account).await;
    }
    settled
}

/// What the response says was granted, where the provider says it there.
fn granted(provider: &Provider, said: &Said) -> Option<Scopes> {
    let parameter = provider.reads.answer.scope_from_callback.as_deref()?;
    Some(Scopes::lenient(&said.get(parameter)?.replace(provider.scope_separator, " ")))
}

/// The credential waits on the attempt until the person has said which tenant it is for.
async fn ask_for_tenant(
    app: &App,
    attempt: &Attempt,
    asked: &Elicitation,
    tokens: &Tokens,
    account: &Account,
    tenants: &[Tenant],
) -> Result<Option<Outcome>, Refusal> {
    let offer = Offer::among(tokens, account, tenants).seal(&app.vault, asked, attempt.id)?;
    if app.store.offer(attempt, &offer, app.clock.now()).await? {
        return Ok(None);
    }
    closed_meanwhile(app, attempt, asked, tokens, account).await
}

/// Step 8 and 9: another account than the connection has is asked about; else settle, and compare again when the
/// connection moved in between.
async fn compare_and_settle(
    app: &App,
    attempt: &Attempt,
    mine: &Owned,
    tokens: &Tokens,
    account: &Account,
) -> Result<Option<Outcome>, Refusal> {
    let asked = mine.elicitation();
    for _ in 0..COMPARISONS_MAX {
        let existing = app.store.connection_for(&asked.server, &asked.owner, &asked.provider).await?;
        if existing.as_ref().is_some_and(|existing| is_another(&existing.account, account)) {
            let offer = Offer::new(tokens, account).seal(&app.vault, asked, attempt.id)?;
            if app.store.offer(attempt, &offer, app.clock.now()).await? {
                return Ok(None);
            }
            return closed_meanwhile(app, attempt, asked, tokens, account).await;
        }
        match settle(app, attempt, mine, AttemptState::Claimed, tokens, account, existing.as_ref()).await? {
            Settling::Done(outcome) => return Ok(Some(outcome)),
            Settling::Moved => {}
            Settling::ClosedMeanwhile => {
                return closed_meanwhile(app, attempt, asked, tokens, account).await;
            }
        }
    }
    Err(Refusal::Moved)
}

/// What became of a settlement.
pub(super) enum Settling {
    Done(Outcome),
    Moved,
    ClosedMeanwhile,
}

/// Seals for the row that the connection has or will have, and settles.
pub(super) async fn settle(
    app: &App,
    attempt: &Attempt,
    mine: &Owned,
    from: AttemptState,
    tokens: &Tokens,
    account: &Account,
    existing: Option<&Connection>,
) -> Result<Settling, Refusal> {
    let asked = mine.elicitation();
    let connection = seal_connection(app, attempt, asked, tokens, account, existing)?;
    let complete = tokens.granted.covers(&asked.scopes);
    let outcome = if complete { Outcome::Connected } else { Outcome::PartlyConnected };
    let over = existing.map(|existing| (existing.id, existing.generation));
    let settlement = Settlement { mine, attempt, from, connection, over, outcome };
    let last = attempt.claimed_at.unwrap_or(app.clock.now()).plus(SETTLING_MAX);
    let mut pause = FIRST_PAUSE;
    loop {
        match app.store.settle(&settlement, app.clock.now()).await {
            Ok(Settled::Done { completed, .. }) => {
                app.metrics.elicitations_ended(State::Completed, completed.len());
                return Ok(Settling::Done(outcome));
            }
            Ok(Settled::Moved) => return Ok(Settling::Moved),
            Ok(Settled::ClosedMeanwhile | Settled::Lost) => return Ok(Settling::ClosedMeanwhile),
            // The code is spent and the consent is given: a store that is away for a moment must not lose them.
            Err(error) if error.is_transient() || matches!(error, StoreError::Unavailable(_)) => {
                if app.clock.now().plus(pause) >= last || app.shutdown.is_cancelled() {
                    return Err(error.into());
                }
                tracing::warn!(attempt = %attempt.id, %error, "a credential could not be stored yet");
                app.clock.sleep(pause).await;
                pause = (pause * 2).min(LAST_PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn seal_connection(
    app: &App,
    attempt: &Attempt,
    asked: &Elicitation,
    tokens: &Tokens,
    account: &Account,
    existing: Option<&Connection>,
) -> Result<NewConnection, Refusal> {
    let id = existing.map_or_else(|| ConnectionId(app.random.row_id(app.clock.now())), |one| one.id);
    let generation = existing.map_or(1, |one| one.generation.saturating_add(1));
    // What this person has answered is not asked again; another account is another question.
    let answered = existing.filter(|one| !is_another(&one.account, account));
    let kept = match (
        &tokens.refresh_token,
        living(existing, attempt, account).and_then(|one| one.refresh.as_ref().map(|it| (one, it))),
    ) {
        (None, Some((one, sealed))) => {
            let token =
                app.vault.open(&one.place("refresh"), sealed)?.into_secret().ok_or(OpenError::Malformed)?;
            Some((token, one.refresh_expires_at))
        }
        _ => None,
    };
    let (kept, kept_until) = kept.unzip();
    let now = app.clock.now();
    let provider = app.providers.get(&asked.provider);
    let idle_end = provider.as_ref().and_then(|provider| provider.refresh_idle).map(|idle| now.plus(idle));
    let consent_end = provider.and_then(|provider| provider.consent_lifetime).map(|life| now.plus(life));
    let idle_end = idle_end.filter(|_| tokens.refresh_token.is_some());
    let refresh = tokens.refresh_token.as_ref().or(kept.as_ref()).map(|token| {
        app.vault.seal(&connection_place(asked, id, "refresh", generation), token.expose().as_bytes())
    });
    let access = Access::of(tokens);
    Ok(NewConnection {
        id,
        account: account.clone(),
        granted: tokens.granted.clone(),
        asked: answered.map_or_else(|| attempt.scopes.clone(), |one| one.asked.union(&attempt.scopes)),
        generation,
        access: app.vault.seal(&connection_place(asked, id, "access", generation), access.bytes().expose()),
        refresh,
        access_expires_at: access.expires_at(),
        refresh_expires_at: tokens.refresh_expires_at.or(idle_end).or(kept_until.flatten()),
        consent_expires_at: consent_end,
        values: tokens.values.clone(),
        fingerprint: attempt.fingerprint,
        marks: Marks::default(),
    })
}

/// The connection whose refresh token goes on living beside a new access token: only where both are surely of one
/// account at one place (R78, R63).
fn living<'a>(
    existing: Option<&'a Connection>,
    attempt: &Attempt,
    account: &Account,
) -> Option<&'a Connection> {
    let here = existing.filter(|one| one.fingerprint == attempt.fingerprint);
    let same = here.filter(|one| one.account.id.is_some() && one.account.id == account.id);
    same.filter(|one| one.status == Status::Active)
}

/// Refuses what cannot be renewed, where this provider always gives what renews. Otherwise it would end in an hour, and
/// nobody would know why.
async fn demand_lasting(
    app: &App,
    attempt: &Attempt,
    asked: &Elicitation,
    provider: &Provider,
    tokens: &Tokens,
    account: &Account,
) -> Result<(), Refusal> {
    if provider.sending.refresh_token != RefreshTokens::Always || tokens.refresh_token.is_some() {
        return Ok(());
    }
    let existing = app.store.connection_for(&asked.server, &asked.owner, &asked.provider).await?;
    if living(existing.as_ref(), attempt, account).is_some_and(|one| one.can_refresh) {
        return Ok(());
    }
    Err(unrenewable(provider, tokens, NO_REFRESH_TOKEN).into())
}

async fn closed_meanwhile(
    app: &App,
    attempt: &Attempt,
    asked: &Elicitation,
    tokens: &Tokens,
    account: &Account,
) -> Result<Option<Outcome>, Refusal> {
    let outcome = Outcome::ClosedMeanwhile;
    app.store.spend(attempt, AttemptState::Claimed, outcome, None, app.clock.now()).await?;
    give_back(app, asked, attempt, tokens, account).await;
    Ok(Some(outcome))
}

/// Gives back what is not stored, as far as the provider takes it.
pub(super) async fn give_back(
    app: &App,
    asked: &Elicitation,
    attempt: &Attempt,
    tokens: &Tokens,
    account: &Account,
) {
    let Some(provider) = app.providers.get(&asked.provider) else { return };
    let by_access_token = provider.revokes_by_access_token();
    let values = attempt.values.with(&tokens.values);
    let slots = tokens.slots.values().map(|slot| slot.to_revoke(by_access_token));
    for (token, hint) in slots.chain([tokens.to_revoke(by_access_token)]) {
        let unwanted = Unwanted {
            connection: None,
            server: &asked.server,
            owner: &asked.owner,
            provider: &asked.provider,
            account_id: account.id.as_deref(),
            token,
            hint,
            values: &values,
            fingerprint: attempt.fingerprint,
        };
        if let Err(error) = unwanted.queue(app).await {
            tracing::warn!(elicitation = %asked.id, %error, "a token was not given back");
        }
    }
}

async fn close_failed(app: &App, asked: &Elicitation, reason: &str) {
    if let Err(error) = close(app, asked, State::Failed, reason).await {
        tracing::error!(elicitation = %asked.id, %error, "a failed elicitation could not be closed");
    }
}

/// Whether the person must be asked: two ids that differ, or an account that was known and now is not (R12). Where no
/// account was known before, nothing can be compared.
pub(super) fn is_another(before: &Account, now: &Account) -> bool {
    before.id.is_some() && before.id != now.id
}

/// Our client itself is refused: no further trip of this person can mend it.
fn is_final(error: &ProviderError) -> bool {
    let ProviderError::Misconfigured { code } = error else { return false };
    matches!(code.as_str(), "invalid_client" | "unauthorized_client")
}

/// A client that was registered here is registered again, and the next trip goes with that one.
fn registers_itself(app: &App, asked: &Elicitation) -> bool {
    app.providers.get(&asked.provider).is_some_and(|provider| client::registers_itself(&provider))
}

fn outcome_of(error: &ProviderError) -> Outcome {
    match error {
        ProviderError::CodeRefused { .. } => Outcome::CodeRefused,
        ProviderError::Misconfigured { .. } | ProviderError::Policy => Outcome::Misconfigured,
        ProviderError::Unreachable { .. } => Outcome::Unreachable,
        ProviderError::Denied { .. } | ProviderError::Malformed { .. } | ProviderError::AccountMismatch => {
            Outcome::Unusable
        }
    }
}

fn is_unusable(error: &ProviderError) -> bool {
    outcome_of(error) == Outcome::Unusable
}

/// A response that does not fit is no step that asks the provider something: it is told of here.
fn tell_callback(refusal: &Refusal, attempt: &Attempt) {
    if let Refusal::Provider(error) = refusal {
        let (provider, why, what) = (&attempt.provider, error.code(), error.detail());
        tracing::warn!(%provider, step = "callback", why, what, "a step at the provider failed");
    }
}
