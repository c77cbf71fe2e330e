//! "Example Files": a third party with an API, as a strict OAuth 2 server.
//!
//! No OpenID Connect here. Its token log is the judge of every attack: a code that shows up there was redeemed.

mod accounts;
mod api;
mod consent;
mod own_revocation;
mod routes;
mod shortcuts;

use std::io;
use std::sync::{Arc, Mutex};

pub use accounts::Account;

use crate::clients::Client;
use crate::clock::Clock;
use crate::log::{Log, Received, lock};
use crate::oauth::{AuthorizeRequest, Core, Refresh, Revocation, Settings, TokenRequest};
use crate::script::{Answer, scripted};
use crate::serve::{Listen, Running, bind};

/// The scopes of "Example Files".
const SCOPES: [&str; 3] = ["files.read", "files.write", "profile"];

/// A running provider; dropping it stops it.
#[derive(Debug)]
pub struct Provider {
    inner: Arc<Inner>,
    running: Running,
}

#[derive(Debug)]
pub(crate) struct Inner {
    core: Arc<Core>,
    accounts: Mutex<Vec<Account>>,
}

scripted!(Provider, inner.core.script);

impl Provider {
    /// Starts "Example Files" with the accounts `octocat` and `hubot` and no client registered.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn start(listen: Listen) -> io::Result<Self> {
        Self::named("Example Files", listen).await
    }

    /// The same under another name, for tests with several providers.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn named(name: &str, listen: Listen) -> io::Result<Self> {
        let bound = bind(listen).await?;
        let settings = Settings::new(&SCOPES, "profile", Refresh::Strict);
        let core = Arc::new(Core::new(name, "example-files", &bound.base_url, settings));
        let inner = Arc::new(Inner { core, accounts: Mutex::new(accounts::default_accounts()) });
        let running = bound.serve(routes::router(Arc::clone(&inner)));
        Ok(Self { inner, running })
    }

    /// `http://127.0.0.3:41234`; also the issuer. Endpoints: `/authorize`, `/token`, `/revoke`, `/par`, `/me`,
    /// `/userinfo`, `/files`, `DELETE /applications/{client_id}/grant` (GitHub's way of revoking), `/refresh` (where a dialect refreshes there),
    /// `GET /long-lived` and `GET /renew` (an access token for an access token), `DELETE /tokens/current`,
    /// and `POST /deauthorize` (other ways of revoking), `/.well-known/oauth-authorization-server`.
    pub fn base_url(&self) -> &str {
        &self.running.base_url
    }

    /// Where it listens.
    pub fn address(&self) -> std::net::SocketAddr {
        self.running.address
    }

    /// Registers a client, or replaces it.
    pub fn register(&self, client: Client) {
        self.inner.core.register(client);
    }

    /// Changes how it behaves, from the next request on.
    pub fn configure(&self, change: impl FnOnce(&mut Settings)) {
        self.inner.core.configure(change);
    }

    /// Adds an account, or replaces the one with its login.
    pub fn add_account(&self, account: Account) {
        let mut accounts = lock(&self.inner.accounts);
        accounts.retain(|known| known.login != account.login);
        accounts.push(account);
    }

    /// Its clock, to be moved.
    pub fn clock(&self) -> &Clock {
        &self.inner.core.clock
    }

    /// Every request that reached it.
    pub fn log(&self) -> &Log<Received> {
        &self.inner.core.received
    }

    /// Every request that reached the token endpoint, in order.
    pub fn token_log(&self) -> Vec<TokenRequest> {
        self.inner.core.token_log.entries()
    }

    /// The same log, to be waited on.
    pub fn token_requests(&self) -> &Log<TokenRequest> {
        &self.inner.core.token_log
    }

    /// Every authorize request, from browsers and shortcuts.
    pub fn authorize_log(&self) -> Vec<AuthorizeRequest> {
        self.inner.core.authorize_log.entries()
    }

    /// The revocation requests, to be read or waited on.
    pub fn revocations(&self) -> &Log<Revocation> {
        &self.inner.core.revocations
    }

    /// How often a grant was revoked because a spent code or refresh token came again.
    pub fn reuse_kills(&self) -> usize {
        self.inner.core.reuse_kills()
    }

    /// Queues an answer for the token endpoint; it is used once.
    pub fn next_token_answer(&self, answer: Answer) {
        self.inner.core.script.next("/token", answer);
    }

    /// How many queued answers of a path were not used yet.
    pub fn unused_answers(&self, path: &str) -> usize {
        self.inner.core.script.unused(path)
    }

    /// The account removes every client in its settings here: all its grants end, nobody is told.
    pub fn revoke_account(&self, login: &str) {
        self.inner.core.revoke_account(login);
    }
}
