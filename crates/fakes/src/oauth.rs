//! What both fakes share as OAuth servers: who may ask, what was asked, what was approved, which code buys which token.
//!
//! Strict where the RFCs allow strictness. No HTTP handler here renders a page; no randomness or clock but ours.

mod authorize;
mod dialect;
mod entries;
mod exchange;
mod grants;
mod metadata;
mod pending;
mod pushed;
mod reply;
mod revoke;
mod token;

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value};

use crate::clients::{Authentication, Client};
use crate::clock::Clock;
use crate::log::{Log, Received, lock};
use crate::script::Script;

pub(crate) use authorize::{Asked, Turned};
pub use dialect::{Dialect, Written};
pub use entries::{Answered, Approval, AuthorizeRequest, Revocation, TokenRequest, Verdict, Via};
pub(crate) use grants::Access;
pub(crate) use pending::browser_cookie;
pub use reply::{FormPost, Reply};
pub(crate) use token::{Issue, TokenError};

use grants::Grants;
use pending::Pending;
use pushed::Pushed;

/// Pushed authorization requests (RFC 9126).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Par {
    /// No such endpoint.
    Off,
    /// Possible.
    Offered,
    /// Nothing else is accepted.
    Required,
}

/// What becomes of refresh tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// None is issued.
    Never,
    /// One for the life of the grant; a refresh answers without a new one.
    Static,
    /// A new one each time; the former is refused.
    Rotating,
    /// A new one each time; presenting a former one kills the whole family (RFC 9700 section 4.14.2).
    Strict,
}

/// How a fake behaves as an OAuth server. Changed at any time by `configure`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Metadata documents are served.
    pub metadata: bool,
    /// Members of the metadata documents that are replaced; `null` removes one.
    pub metadata_changes: Map<String, Value>,
    /// `iss` is in authorization responses, and advertised (RFC 9207).
    pub issuer_in_response: bool,
    /// Pushed authorization requests.
    pub par: Par,
    /// A request without an S256 challenge is refused.
    pub require_pkce: bool,
    /// What may be asked for; anything else is `invalid_scope`.
    pub scopes: Vec<String>,
    /// Taken for asked when a request names no scope (RFC 6749 section 3.3).
    pub default_scopes: Vec<String>,
    /// When set, approving grants exactly these scopes, whatever was asked and ticked.
    pub grant_only: Option<Vec<String>>,
    /// Refresh tokens.
    pub refresh: Refresh,
    /// How long after its use a former refresh token still counts as current (lost answers).
    pub rotation_grace: Duration,
    /// Life of an access token.
    pub access_token_life: Duration,
    /// Life of a code; 60 s.
    pub code_life: Duration,
    /// How requests are written here, where it is not as the RFCs have it.
    pub dialect: Dialect,
}

impl Settings {
    pub(crate) fn new(scopes: &[&str], default_scope: &str, refresh: Refresh) -> Self {
        Self {
            metadata: true,
            metadata_changes: Map::new(),
            issuer_in_response: true,
            par: Par::Off,
            require_pkce: true,
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            default_scopes: vec![default_scope.to_owned()],
            grant_only: None,
            refresh,
            rotation_grace: Duration::ZERO,
            access_token_life: Duration::from_secs(3600),
            code_life: Duration::from_secs(60),
            dialect: Dialect::default(),
        }
    }
}

/// A refusal that stays at this server: nothing is sent to the client's redirect URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}: {description}")]
pub struct Refused {
    /// HTTP status of the page.
    pub status: u16,
    /// An OAuth error code.
    pub error: String,
    /// Why, for the test's reader.
    pub description: String,
}

impl Refused {
    pub(crate) fn new(error: &str, description: impl Into<String>) -> Self {
        Self { status: 400, error: error.to_owned(), description: description.into() }
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST)
    }
}

/// The shared part of a fake.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) party: String,
    pub(crate) issuer: String,
    pub(crate) cookie_prefix: String,
    pub(crate) clock: Clock,
    pub(crate) script: Script,
    pub(crate) received: Log<Received>,
    pub(crate) authorize_log: Log<AuthorizeRequest>,
    pub(crate) token_log: Log<TokenRequest>,
    pub(crate) revocations: Log<Revocation>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    settings: Settings,
    clients: HashMap<String, Client>,
    pushed: HashMap<String, Pushed>,
    pending: HashMap<String, Pending>,
    grants: Grants,
    /// `jti` of every assertion that was taken.
    assertions: HashSet<String>,
}

impl Core {
    /// `issuer` is the base URL; its port makes the cookie names this server's own.
    pub(crate) fn new(party: &str, cookie: &str, issuer: &str, settings: Settings) -> Self {
        let port = issuer.rsplit(':').next().unwrap_or_default();
        Self {
            party: party.to_owned(),
            issuer: issuer.to_owned(),
            cookie_prefix: format!("{cookie}-{port}"),
            clock: Clock::default(),
            script: Script::default(),
            received: Log::default(),
            authorize_log: Log::default(),
            token_log: Log::default(),
            revocations: Log::default(),
            state: Mutex::new(State {
                settings,
                clients: HashMap::new(),
                pushed: HashMap::new(),
                pending: HashMap::new(),
                grants: Grants::default(),
                assertions: HashSet::new(),
            }),
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        lock(&self.state).settings.clone()
    }

    pub(crate) fn configure(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut lock(&self.state).settings);
    }

    pub(crate) fn register(&self, client: Client) {
        lock(&self.state).clients.insert(client.id.clone(), client);
    }

    pub(crate) fn forget(&self, id: &str) {
        lock(&self.state).clients.remove(id);
    }

    pub(crate) fn client(&self, id: &str) -> Option<Client> {
        lock(&self.state).clients.get(id).cloned()
    }

    /// The client that a secret alone names.
    fn client_of_secret(&self, secret: &str) -> Option<Client> {
        let of = Authentication::SecretAsUser(secret.to_owned());
        lock(&self.state).clients.values().find(|client| client.authentication == of).cloned()
    }

    pub(crate) fn secure(&self) -> bool {
        self.issuer.starts_with("https:")
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.issuer)
    }
}
