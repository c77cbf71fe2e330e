//! "Example ID": signs people in by OpenID Connect, and issues access tokens for MCP servers to MCP clients.
//!
//! It knows no passwords: the sign-in page has a button for each person, for this is a fake.

mod client_documents;
mod cors;
mod discovery;
mod introspect;
mod issue;
mod people;
mod register;
mod routes;
mod shortcuts;
mod sign_in;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

pub use people::Person;

use crate::clients::Client;
use crate::clock::Clock;
use crate::log::{Log, Received, lock};
use crate::oauth::{AuthorizeRequest, Core, Refresh, Revocation, Settings, TokenRequest};
use crate::script::{Answer, scripted};
use crate::serve::{Listen, Running, bind};
use crate::tokens::{Forge, Keys, Signature};

const SCOPES: [&str; 7] =
    ["openid", "profile", "email", "offline_access", "mcp", "files.read", "files.write"];

/// What only this fake has, beside [`Settings`]. Changed at any time by `configure_identity`.
#[derive(Clone, Debug)]
pub struct IdentitySettings {
    /// Another `sub` for every client (OpenID Connect Core 8.1), in all tokens.
    pub pairwise_subjects: bool,
    /// Access tokens are random text that only introspection explains, instead of JWTs.
    pub opaque_access_tokens: bool,
    /// Clients may register themselves (RFC 7591).
    pub dynamic_registration: bool,
    /// A URL may be a `client_id`; what it serves describes the client.
    pub client_documents: bool,
    /// How ID tokens and access tokens are signed when no forge is set.
    pub signature: Signature,
    /// When set, only these `resource` values may be asked for (`invalid_target` else).
    pub resources: Option<Vec<String>>,
}

impl Default for IdentitySettings {
    fn default() -> Self {
        Self {
            pairwise_subjects: false,
            opaque_access_tokens: false,
            dynamic_registration: true,
            client_documents: true,
            signature: Signature::Rs256,
            resources: None,
        }
    }
}

/// A running authorization server; dropping it stops it.
#[derive(Debug)]
pub struct AuthorizationServer {
    inner: Arc<Inner>,
    running: Running,
}

#[derive(Debug)]
pub(crate) struct Inner {
    core: Arc<Core>,
    keys: Mutex<Keys>,
    identity: Mutex<IdentitySettings>,
    people: Mutex<Vec<Person>>,
    /// Who is signed in, by the value of the session cookie.
    sessions: Mutex<HashMap<String, sign_in::Session>>,
    forges: Mutex<Vec<Forge>>,
}

scripted!(AuthorizationServer, inner.core.script);

impl AuthorizationServer {
    /// Starts "Example ID" with alice and bob, fresh keys and no client registered.
    ///
    /// # Errors
    /// When the address cannot be listened on, or no key can be made.
    pub async fn start(listen: Listen) -> io::Result<Self> {
        let keys = tokio::task::spawn_blocking(Keys::generate).await.map_err(io::Error::other)?;
        let keys = keys.map_err(io::Error::other)?;
        let bound = bind(listen).await?;
        let settings = Settings::new(&SCOPES, "mcp", Refresh::Never);
        let inner = Arc::new(Inner {
            core: Arc::new(Core::new("Example ID", "example-id", &bound.base_url, settings)),
            keys: Mutex::new(keys),
            identity: Mutex::default(),
            people: Mutex::new(vec![Person::new("alice", "Alice"), Person::new("bob", "Bob")]),
            sessions: Mutex::default(),
            forges: Mutex::default(),
        });
        let running = bound.serve(routes::router(Arc::clone(&inner)));
        Ok(Self { inner, running })
    }

    /// `http://127.0.0.2:41234`; also the issuer. Endpoints: `/authorize`, `/token`, `/par`, `/revoke`, `/introspect`,
    /// `/userinfo`, `/register`, `/jwks`, and both well-known documents.
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

    /// A registered client, self-registered ones included.
    pub fn client(&self, id: &str) -> Option<Client> {
        self.inner.core.client(id)
    }

    /// Forgets a client, as a server does that was restarted without its memory.
    pub fn forget(&self, id: &str) {
        self.inner.core.forget(id);
    }

    /// Tells whose its access tokens are, for a resource server.
    pub(crate) fn judge(&self) -> Judge {
        Judge(Arc::clone(&self.inner.core))
    }

    /// Changes how it behaves as an OAuth server, from the next request on.
    pub fn configure(&self, change: impl FnOnce(&mut Settings)) {
        self.inner.core.configure(change);
    }

    /// Changes what only this fake has, from the next request on.
    pub fn configure_identity(&self, change: impl FnOnce(&mut IdentitySettings)) {
        change(&mut lock(&self.inner.identity));
    }

    /// Adds a person, or replaces the one with that subject.
    pub fn add_person(&self, person: Person) {
        let mut people = lock(&self.inner.people);
        people.retain(|known| known.sub != person.sub);
        people.push(person);
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

    /// New signing keys; the former ones are no longer published.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn rotate_key(&self) -> io::Result<()> {
        self.rotate(false)
    }

    /// New signing keys; the former ones stay published, as a careful issuer does it.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn rotate_key_and_publish_former(&self) -> io::Result<()> {
        self.rotate(true)
    }

    fn rotate(&self, publish_former: bool) -> io::Result<()> {
        let fresh = Keys::fresh_pairs().map_err(io::Error::other)?;
        lock(&self.inner.keys).rotate(fresh, publish_former);
        Ok(())
    }

    /// The next ID token of the token endpoint is made by this recipe; several are used in order.
    pub fn forge_next_id_token(&self, forge: Forge) {
        lock(&self.inner.forges).push(forge);
    }

    /// Queues an answer for the token endpoint; it is used once.
    pub fn next_token_answer(&self, answer: Answer) {
        self.inner.core.script.next("/token", answer);
    }
}

/// What a resource server asks of a token.
#[derive(Clone, Debug)]
pub(crate) struct Judge(Arc<Core>);

impl Judge {
    /// Whose it is, and for whom it was made, while it lives.
    pub(crate) fn judge(&self, token: &str) -> Option<(String, Vec<String>)> {
        self.0.living(token).map(|access| (access.subject, access.audience))
    }
}

impl Inner {
    fn identity(&self) -> IdentitySettings {
        lock(&self.identity).clone()
    }
}
