//! The hands of the machine: the store, the provider, the vault and the clock.

use std::time::Duration;

use uuid::Uuid;

use super::{
    flight::Ending,
    machine::Machine,
    step::{Action, Answer, Event, Finish, Pause, Seen, Spans, Write},
    verdict::ROTATION_LOST,
    which::{Next, Which},
};
use crate::{
    app::App,
    audit::Actor,
    clock::Millis,
    config::Provider,
    connection::{Connection, ConnectionId, PROVIDER_CHANGED, Status},
    credential::{
        Unwanted,
        client::{self, ClientError},
        home::Home,
    },
    provider::{Class, Permit, ProviderError, Tokens, fingerprint, renewed},
    store::{Failing, Lease, Renewed, StoreError},
    telemetry::SecurityEvent,
    values::Values,
    vault::{OpenError, Place},
};

/// Refreshes in one go, at most: one for each token of a grant.
const TOKENS_MAX: usize = 4;
/// What storing the outcome may take beside the request itself.
const COMMIT: Duration = Duration::from_secs(20);
/// Looks at another replica's refresh that come quickly, for it is over soon as a rule.
const QUICK_POLLS: u32 = 30;
const QUICK: Duration = Duration::from_millis(100);
const SLOW: Duration = Duration::from_secs(1);
/// Between two tries of the store: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// Makes a generation newer than `beyond`, or finds out why not; where a grant has several tokens, one for each of them
/// that is due. Every way out is counted.
pub(super) async fn refresh(app: &App, connection: ConnectionId, beyond: i64) -> Ending {
    let mut beyond = beyond;
    for _ in 1..TOKENS_MAX {
        match once(app, connection, beyond).await {
            (_, Some(renewed)) => beyond = renewed,
            (ending, None) => return ending,
        }
    }
    once(app, connection, beyond).await.0
}

/// One refresh; with the generation that it made where another token is due.
async fn once(app: &App, connection: ConnectionId, beyond: i64) -> (Ending, Option<i64>) {
    let spans = Spans { trial: app.settings.refresh.trial, lease: app.settings.outbound.timeout + COMMIT };
    let mut machine = Machine::new(connection, beyond, spans);
    let mut hands = Hands { app, connection, spans, owner: app.random.uuid(), held: None, unreadable: None };
    let mut event = Event::Begin;
    loop {
        event = match machine.step(event, app.clock.now()) {
            Action::Done(finish) => {
                hands.tell(&finish);
                let renewed = hands.held.filter(|held| held.another && matches!(finish, Finish::Renewed));
                let generation = renewed.map(|held| held.connection.generation.saturating_add(1));
                return (Ending { finish, unreadable: hands.unreadable }, generation);
            }
            action => hands.act(action).await,
        };
    }
}

struct Hands<'a> {
    app: &'a App,
    connection: ConnectionId,
    spans: Spans,
    /// Of the lease that is taken next.
    owner: Uuid,
    held: Option<Held>,
    unreadable: Option<OpenError>,
}

/// What is at hand between the look and the end.
struct Held {
    connection: Connection,
    provider: Option<std::sync::Arc<Provider>>,
    permit: Option<Permit>,
    tokens: Option<Tokens>,
    renewed: Option<Renewed>,
    /// Whether another token of the grant is to be refreshed at once.
    another: bool,
}

impl Hands<'_> {
    async fn act(&mut self, action: Action) -> Event {
        match action {
            Action::Look => self.look().await,
            Action::Line => self.line().await,
            Action::Take(generation) => self.take(generation).await,
            Action::Release => self.release().await,
            Action::Send(lease) => self.send(&lease).await,
            Action::Write(lease, write) => self.write(&lease, &write).await,
            Action::Expire { generation, reason } => {
                let now = self.app.clock.now();
                let ended = self.app.store.end_by_clock(self.connection, generation, reason, now).await;
                self.written(ended.map(|ended| ended.is_some()))
            }
            Action::Pause(pause) => self.pause(pause).await,
            Action::GiveBack => self.give_back().await,
            // The caller ends.
            Action::Done(_) => Event::StoreAway,
        }
    }

    async fn look(&mut self) -> Event {
        match self.app.store.watch_connection(self.connection).await {
            // One that is taken out of use is gone: what comes for it is given back.
            Ok(Some(watched)) if !watched.connection.is_taken_out() => {
                let mut seen = Seen::of(&watched, self.app.clock.now());
                let home = match self.home(&watched.connection).await {
                    Ok(home) => home,
                    Err(error) => return self.away(&error),
                };
                if matches!(home, Home::Changed) {
                    seen.over = Some(PROVIDER_CHANGED);
                }
                // What was received and is not stored stays at hand until its fate is known.
                if self.held.as_ref().is_none_or(|held| held.tokens.is_none()) {
                    let connection = watched.connection;
                    let offered = self.app.offers(&connection.server, &connection.provider).is_some();
                    let provider = home.provider().filter(|_| offered);
                    self.held = Some(Held {
                        connection,
                        provider,
                        permit: None,
                        tokens: None,
                        renewed: None,
                        another: false,
                    });
                }
                Event::Seen(Some(seen))
            }
            Ok(_) => Event::Seen(None),
            Err(error) => self.away(&error),
        }
    }

    /// Where it is from, as far as that is still there. A third-party MCP server is asked for that first, when it was not for
    /// a while, and our client there is brought along.
    async fn home(&self, connection: &Connection) -> Result<Home, StoreError> {
        let home = Home::of_connection(self.app, connection);
        let due = connection.can_refresh && connection.status == Status::Active;
        if !due || home.as_provider().is_none_or(|provider| provider.mcp.is_none()) {
            return Ok(home);
        }
        self.app.providers.look_again(&connection.provider).await;
        let (Home::Same(provider) | Home::Unsaid(provider)) = Home::of_connection(self.app, connection)
        else {
            return Ok(Home::Changed);
        };
        match client::armed_lastingly(self.app, &connection.server, provider).await {
            Ok(Some(provider)) => Ok(Home::Same(provider)),
            Ok(None) => Ok(Home::Changed),
            Err(ClientError::Store(error)) => Err(error),
            Err(ClientError::Open(error)) => {
                self.app.security_event(SecurityEvent::SealedValueUnreadable, Actor::Program, connection);
                tracing::error!(connection = %self.connection, %error, "a client's secret does not open");
                Ok(Home::Gone)
            }
        }
    }

    /// Nothing of the database's is held while it waits.
    async fn line(&mut self) -> Event {
        let later = Event::Paused(self.app.clock.now().plus(self.spans.trial));
        let Some(held) = &mut self.held else { return later };
        // Taken out of the settings: what is stored waits for it.
        let Some(provider) = &held.provider else { return later };
        match self.app.providers.permit(provider).await {
            Ok(permit) => held.permit = Some(permit),
            Err(paused) => return Event::Paused(paused.until),
        }
        // Before the lease, for discovery can take long; what is wrong with it the request finds out again.
        if let Err(error) = self.app.providers.endpoints(provider).await {
            tracing::debug!(provider = %provider.id, code = error.code(), "no endpoints to refresh at");
        }
        Event::Permitted
    }

    async fn take(&mut self, generation: i64) -> Event {
        let Self { app, connection, spans, .. } = *self;
        self.owner = app.random.uuid();
        let taking = app.store.take_lease(connection, generation, self.owner, spans.lease, app.clock.now());
        match taking.await {
            Ok(Some((mut lease, connection))) => {
                let failures = connection.failures;
                if let Some(held) = &mut self.held {
                    held.connection = connection;
                    // An access token that renews itself goes on being good: an answer that was lost has cost nothing.
                    let renews = held.provider.as_ref().is_some_and(|it| it.sending.renewal.is_some());
                    lease.recovering &= !renews;
                }
                Event::Taken(Some((lease, failures)))
            }
            Ok(None) => {
                self.held = None;
                Event::Taken(None)
            }
            Err(error) => self.away(&error),
        }
    }

    async fn release(&mut self) -> Event {
        self.held = None;
        let released = self.app.store.release_lease(self.connection, self.owner, self.spans.lease).await;
        match released {
            Ok(_) => Event::Released,
            Err(error) => self.away(&error),
        }
    }

    async fn send(&mut self, lease: &Lease) -> Event {
        let app = self.app;
        let roll = app.random.below(1001);
        let Some(held) = &mut self.held else { return Event::Answered(Answer::Unsent, roll) };
        let (Some(provider), Some(permit)) = (held.provider.clone(), held.permit.take()) else {
            return Event::Answered(Answer::Unsent, roll);
        };
        let which = match Which::of(app, &held.connection) {
            Ok(which) => which,
            Err(error) => {
                app.security_event(SecurityEvent::SealedValueUnreadable, Actor::Program, &held.connection);
                tracing::error!(connection = %self.connection, %error, "a refresh token does not open");
                self.unreadable = Some(error);
                return Event::Answered(Answer::Unsent, roll);
            }
        };
        let answer =
            app.providers.refresh(&provider, permit, &which.token, &which.granted, which.slot.as_deref());
        let answer = answer.await;
        let tokens = match answer {
            Ok(tokens) => tokens,
            Err(failure) => {
                if failure.class == Class::Operator {
                    let server = &held.connection.server;
                    client::refused(app, server, &provider, client::Refused::Refresh).await;
                }
                tracing::warn!(
                    connection = %self.connection,
                    server = %held.connection.server,
                    provider = %provider.id,
                    step = "refresh",
                    class = failure.class.as_str(),
                    code = failure.word(),
                    status = failure.status,
                    key = failure.spot.key.as_deref(),
                    at = failure.spot.at.as_deref(),
                    has = failure.spot.has.as_deref(),
                    recovering = lease.recovering,
                    "a refresh failed"
                );
                let grace = provider.sending.reuse_grace.filter(|_| lease.recovering);
                let doubtful = grace.is_some_and(|grace| lease.unanswered_for < grace);
                let answer = if doubtful { Answer::Doubtful(failure) } else { Answer::Failed(failure) };
                return Event::Answered(answer, roll);
            }
        };
        match app.providers.same_account(
            &provider,
            &tokens,
            &held.connection.account,
            &held.connection.values,
        ) {
            Ok(()) => {}
            // Another token of the grant may be another account's there, as a bot's is.
            Err(_) if which.slot.is_some() => {}
            Err(ProviderError::AccountMismatch) => return Event::Answered(Answer::OtherAccount, roll),
            // What cannot be read says nothing about the account; the tokens are spent if they are not stored.
            Err(error) => {
                let (code, detail) = (error.code(), error.detail());
                tracing::warn!(provider = %provider.id, code, detail, "an ID token of a refresh cannot be used");
            }
        }
        let next = which.next(&held.connection, &provider, &tokens);
        held.another = next.access.is_due(app.clock.now());
        held.renewed = Some(renew(app, &held.connection, &provider, &tokens, &which, &next));
        held.tokens = Some(tokens);
        Event::Answered(Answer::Tokens, roll)
    }

    async fn write(&mut self, lease: &Lease, write: &Write) -> Event {
        let (store, now) = (&self.app.store, self.app.clock.now());
        let written = match write {
            Write::Commit => match self.held.as_ref().and_then(|held| held.renewed.as_ref()) {
                Some(renewed) => {
                    store.commit_refresh(lease, renewed, now).await.map(|stored| stored.is_some())
                }
                None => Ok(false),
            },
            Write::Fail { code, next_attempt_at, keep_intent } => {
                let failing = Failing { code, next_attempt_at: *next_attempt_at, keep_intent: *keep_intent };
                store.fail_refresh(lease, &failing).await
            }
            Write::End { status, reason } => {
                let ended = store.end_refresh(lease, *status, reason, now).await;
                if let (Status::Quarantined, Ok(Some(ended))) = (status, &ended) {
                    self.app.security_event(SecurityEvent::AccountMismatch, Actor::Unknown, ended);
                }
                ended.map(|ended| ended.is_some())
            }
        };
        self.written(written)
    }

    fn written(&self, written: Result<bool, StoreError>) -> Event {
        match written {
            Ok(written) => Event::Written(written),
            Err(error) => self.away(&error),
        }
    }

    fn away(&self, error: &StoreError) -> Event {
        tracing::warn!(connection = %self.connection, %error, "the store failed a refresh");
        Event::StoreAway
    }

    async fn pause(&mut self, pause: Pause) -> Event {
        let app = self.app;
        let over = async {
            match pause {
                Pause::Poll(number) => poll_pause(app, number).await,
                Pause::Until(at) => app.clock.sleep_until(at).await,
                Pause::StoreAway(number) => {
                    let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(number)).min(LAST_PAUSE);
                    app.clock.sleep(pause).await;
                }
            }
        };
        tokio::select! {
            () = over => Event::Waited { draining: false },
            () = app.shutdown.cancelled() => Event::Waited { draining: true },
        }
    }

    /// The connection is gone, or has ended, and with it the person's wish.
    async fn give_back(&mut self) -> Event {
        let Some(Held { connection, provider, tokens: Some(tokens), .. }) = &self.held else {
            return Event::GivenBack;
        };
        let by_access_token = provider.as_ref().is_some_and(|provider| provider.revokes_by_access_token());
        // Where they came from, which may be another place than a consent of meanwhile is for.
        let place = provider.as_deref().map(fingerprint);
        let slots = tokens.slots.values().map(|slot| slot.to_revoke(by_access_token));
        for (token, hint) in slots.chain([tokens.to_revoke(by_access_token)]) {
            if let Err(error) = Unwanted::of(connection, token, hint, place).queue(self.app).await {
                return self.away(&error);
            }
        }
        Event::GivenBack
    }

    fn tell(&self, finish: &Finish) {
        self.app.metrics.refresh_ended(finish);
        let connection = self.connection;
        match finish {
            Finish::Ended(reason @ ROTATION_LOST) => {
                tracing::error!(%connection, reason, "the answer with the next refresh token was lost; the person must reconnect");
            }
            Finish::Ended(reason) => tracing::warn!(%connection, reason, "a connection needs its person"),
            Finish::Fenced => tracing::warn!(%connection, "a refresh came too late and was dropped"),
            Finish::StoreAway => tracing::error!(%connection, "the outcome of a refresh could not be stored"),
            _ => tracing::debug!(%connection, ?finish, "a refresh is over"),
        }
    }
}

/// Seals for the next generation.
fn renew(
    app: &App,
    connection: &Connection,
    provider: &Provider,
    tokens: &Tokens,
    which: &Which,
    next: &Next,
) -> Renewed {
    let generation = connection.generation.saturating_add(1);
    let seal =
        |column, plain: &[u8]| app.vault.seal(&Place { generation, ..connection.place(column) }, plain);
    let now = app.clock.now();
    Renewed {
        access: seal("access", next.access.bytes().expose()),
        refresh: seal("refresh", next.refresh.expose().as_bytes()),
        granted: next.granted.clone(),
        access_expires_at: next.access.expires_at(),
        refresh_expires_at: match which.slot {
            Some(_) => connection.refresh_expires_at,
            None => refresh_end(connection, provider, tokens, now),
        },
        values: match which.slot {
            // What is kept is of the main one.
            Some(_) => connection.values.clone(),
            None => renewed_values(connection, provider, tokens),
        },
        warned_until: now.plus(app.settings.refresh.warn_ahead),
    }
}

/// With what the answer says anew. A host beyond its list is not followed, and nothing that is good is lost for it.
fn renewed_values(connection: &Connection, provider: &Provider, tokens: &Tokens) -> Values {
    let (new, refused) = renewed(provider, &tokens.answer);
    for name in refused {
        let (connection, provider) = (connection.id, &provider.id);
        tracing::warn!(%connection, %provider, name, "a refresh gave a value that does not fit; the old one stays");
    }
    connection.values.with(&new)
}

/// What the provider says; else its idle limit from now on; else as before, while the token is the same.
fn refresh_end(connection: &Connection, provider: &Provider, tokens: &Tokens, now: Millis) -> Option<Millis> {
    let idle = || provider.refresh_idle.map(|idle| now.plus(idle));
    let before = connection.refresh_expires_at.filter(|_| tokens.refresh_token.is_none());
    tokens.refresh_expires_at.or_else(idle).or(before)
}

/// Another replica is a peer: it goes on in real time, whatever this process's clock shows.
async fn poll_pause(app: &App, number: u32) {
    let span = if number <= QUICK_POLLS { QUICK } else { SLOW };
    let jitter = u32::try_from(app.random.below(400)).unwrap_or(0);
    #[expect(clippy::disallowed_methods, reason = "a peer lives in real time")]
    tokio::time::sleep(span * (1000 - jitter) / 1000).await;
}
