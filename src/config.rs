//! The settings, as the rest of the program sees them: parsed, checked, with every secret read.
//!
//! `config.example.toml` is compiled in as the defaults, the operator's file and the environment lie over it ([`load`]),
//! and `check` refuses what cannot work, naming the key and never the value. Nothing else in the program reads the
//! environment or a settings file.

mod blueprint;
mod check;
mod document;
mod entry;
mod environment;
mod findings;
mod first_key;
mod hosted_page;
mod load;
mod logo;
mod misspelt;
mod network;
mod notes;
mod pattern;
mod provider;
mod raw;
mod schema;
mod secret_form;
mod secret_source;
#[cfg(test)]
mod tests;
mod units;
mod usage;
pub mod variables;

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use consentry_elicitation::Prefer;
use url::Url;

#[cfg(test)]
pub(crate) use self::check::form_of;
pub use self::{
    blueprint::{Blueprint, NotGiven},
    document::document,
    entry::entry_problems,
    environment::Environment,
    findings::ConfigError,
    first_key::{FirstKey, first_key, sqlite_file},
    hosted_page::HostedPage,
    load::{DEFAULTS, load, load_catalogue, provider_table},
    logo::{LOGO_MAX, Logo, LogoType},
    network::NotANetwork,
    notes::notes,
    pattern::Pattern,
    provider::{
        Answer, AssertionAudience, CallbackSignature, Capture, CaptureFrom, Choice, ChoiceOfConsent,
        ClientKey, ErrorClass, Expected, Granted, OwnRevocation, Precondition, PreconditionKind, Probe,
        ProbeOf, Provider, Reads, RefreshTokens, Registration, RevocationBody, RevocationEnds,
        RevocationMethod, RevocationProof, RevocationToken, SecondScope, Sending, SignatureStyle, Slot,
        StepMethod, StepText, ThirdPartyMcp, TokenBody, TokenStep,
    },
    schema::{entry_keys, entry_schema},
    secret_form::{Advice, FormField, FormProbe, ProbeMethod, SecretForm},
    usage::Usage,
};
use crate::{
    elicitation::{ProviderId, ServerId},
    secret::Secret,
    vault::Key,
};

/// Everything that an operator can set.
#[derive(Debug)]
pub struct Settings {
    /// The external base URL, without a path; the only source of links, redirect URIs and cookie attributes (R48).
    pub public_url: PublicUrl,
    /// The two listeners.
    pub listen: Listen,
    /// Where the rows are.
    pub database: Database,
    /// The ring of keys; the first seals, every one opens. `Server::build` moves them into the vault.
    pub keys: Vec<Key>,
    /// How long things live.
    pub lifetimes: Lifetimes,
    /// Bounds on what comes from outside.
    pub limits: Limits,
    /// The one HTTP client.
    pub outbound: OutboundSettings,
    /// Refreshing credentials.
    pub refresh: Refresh,
    /// Posting outcomes.
    pub webhooks: Webhooks,
    /// Whether the audit record names subjects, or keeps keyed digests of them.
    pub audit_names_subjects: bool,
    /// Log format and filter.
    pub log: Log,
    /// What pages say of the operator.
    pub operator: Operator,
    /// The MCP endpoint of our own, where it is enabled.
    pub mcp: Option<McpEndpoint>,
    /// Where users sign in.
    pub authorization_servers: Vec<AuthorizationServer>,
    /// Who may call the API.
    pub mcp_servers: Vec<McpServer>,
    /// What can be connected by OAuth.
    pub providers: Vec<Provider>,
    /// What can be connected by typing a key.
    pub secret_forms: Vec<SecretForm>,
    /// The logos of those that have one, of whatever kind.
    pub logos: BTreeMap<ProviderId, Logo>,
    /// What is done on pages of MCP servers' own.
    pub hosted_pages: Vec<Arc<HostedPage>>,
    /// Sentences of variables that look like settings and set nothing.
    pub ignored: Vec<String>,
}

impl Settings {
    /// Id and name of everything that can be connected, of whatever kind.
    pub fn named(&self) -> impl Iterator<Item = (&ProviderId, &str)> {
        let providers = self.providers.iter().map(|one| (&one.id, one.name.as_str()));
        let forms = self.secret_forms.iter().map(|one| (&one.id, one.name.as_str()));
        let pages = self.hosted_pages.iter().map(|one| (&one.id, one.name.as_str()));
        providers.chain(forms).chain(pages)
    }

    /// The MCP servers that have a webhook.
    pub fn posted(&self) -> impl Iterator<Item = ServerId> {
        self.mcp_servers.iter().filter(|server| server.webhook.is_some()).map(|server| server.id.clone())
    }
}

/// The external base URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(Url);

impl PublicUrl {
    /// Takes an `https` origin, or an `http` one whose host is loopback (`127.0.0.0/8`, `[::1]`, `localhost`,
    /// `*.localhost`).
    ///
    /// # Errors
    /// A sentence for the operator: another scheme, plain `http` elsewhere, userinfo, a path, a query or a fragment.
    pub fn new(url: Url) -> Result<Self, &'static str> {
        let Some(host) = url.host() else { return Err("has no host") };
        let loopback = match host {
            url::Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
            url::Host::Ipv4(address) => address.is_loopback(),
            url::Host::Ipv6(address) => address.is_loopback(),
        };
        match url.scheme() {
            "https" => {}
            "http" if loopback => {}
            "http" => return Err("must be https, unless its host is loopback"),
            _ => return Err("must be an https URL"),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not hold a user name or a password");
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err("must be an origin: no path, no query, no fragment");
        }
        Ok(Self(url))
    }

    /// `scheme://host[:port]`, without a trailing slash; what `Origin` is compared with.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// `host[:port]`, what `Host` is compared with.
    pub fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// An absolute URL for a path that begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// Whether cookies are `Secure` and carry the `__Host-` prefix.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether the host is this machine; then plain http and loopback targets are allowed.
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }
}

/// Where to listen.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Pages and callbacks, for browsers.
    pub public: SocketAddr,
    /// The API, for MCP servers and the operator; never the internet.
    pub internal: SocketAddr,
    /// Peers whose `X-Forwarded-For` is believed, as addresses or networks (R49).
    pub trusted_proxies: Vec<IpNetwork>,
    /// TLS on the public listener; plain behind a proxy otherwise.
    pub public_tls: Option<TlsFiles>,
    /// TLS on the internal listener.
    pub internal_tls: Option<TlsFiles>,
    /// For the head of a request, and for a TLS handshake.
    pub header_timeout: Duration,
    /// Open connections of each listener.
    pub connections: usize,
    /// After a signal to stop, what is under way may take this long.
    pub drain: Duration,
}

/// A network in CIDR form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork {
    /// Any address in it.
    pub address: std::net::IpAddr,
    /// How many leading bits count.
    pub prefix: u8,
}

/// Certificate and key, PEM; read again on SIGHUP.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate chain, leaf first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Where the rows are.
#[derive(Clone, Debug)]
pub struct Database {
    /// `sqlite:path` or `postgres://...`; may hold a password, hence a secret.
    pub url: Secret,
    /// Connections in the pool.
    pub connections: u32,
    /// Whether `serve` migrates first.
    pub migrate: bool,
}

/// How long things live.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// An unanswered elicitation.
    pub elicitation: Duration,
    /// A trip to the provider, and never beyond its elicitation.
    pub attempt: Duration,
    /// A response that waits for a sign-in.
    pub parked: Duration,
    /// A session that nobody uses.
    pub session_idle: Duration,
    /// A session.
    pub session: Duration,
    /// A sign-in that was begun and not finished.
    pub sign_in: Duration,
    /// Closed elicitations and read signals are kept this long.
    pub history: Duration,
    /// Rows of the audit record are kept this long.
    pub audit: Duration,
}

/// Refreshing credentials.
#[derive(Clone, Copy, Debug)]
pub struct Refresh {
    /// How long a caller of `resolve` waits for a refresh, at most.
    pub wait: Duration,
    /// Every pause and back-off lets one trial through after this long.
    pub trial: Duration,
    /// A connection that ends for good, as far as is known, is told of this long before.
    pub warn_ahead: Duration,
}

/// Posting outcomes.
#[derive(Clone, Copy, Debug)]
pub struct Webhooks {
    /// One post.
    pub timeout: Duration,
    /// Posts to one receiver at the same time, from one process.
    pub concurrent: u32,
}

/// Bounds on what comes from outside.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request body on either listener.
    pub body_bytes: usize,
    /// Bytes of a request's head on either listener.
    pub head_bytes: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Requests a minute that one address may make of the public listener.
    pub requests_per_minute: u32,
    /// New elicitations a minute for one subject.
    pub elicitations_per_minute: u32,
    /// Open event streams of one MCP server.
    pub streams_per_server: u32,
    /// Scopes in one request.
    pub scopes: usize,
}

/// The one HTTP client.
#[derive(Clone, Debug)]
pub struct OutboundSettings {
    /// Hosts, `host:port` or networks that are allowed though they are not public. While [`Settings::public_url`] is
    /// loopback, loopback is allowed as well.
    pub allowed: Vec<String>,
    /// PEM files of further roots to trust.
    pub ca_files: Vec<PathBuf>,
    /// An HTTP proxy; the environment's are ignored.
    pub proxy: Option<Url>,
    /// One whole request.
    pub timeout: Duration,
    /// Bytes of an answer.
    pub answer_bytes: usize,
}

/// How to log.
#[derive(Clone, Debug)]
pub struct Log {
    /// `tracing` filter, such as `info` or `consentry=debug`.
    pub filter: String,
    /// One JSON object a line instead of text.
    pub json: bool,
}

/// What pages say of the operator.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The name in titles.
    pub name: String,
    /// Where to ask for help.
    pub help_url: Option<Url>,
    /// The privacy notice.
    pub privacy_url: Option<Url>,
}

/// How our client proves itself at a token endpoint (RFC 6749, section 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// HTTP Basic, id and secret form-encoded.
    Basic,
    /// In the body.
    Post,
    /// A public client: the id alone.
    None,
    /// HTTP Basic with the secret as the user and no password. Only for providers.
    SecretAsUser,
    /// A JWT that our key has signed (RFC 7523). Only for providers.
    PrivateKeyJwt,
}

/// An authorization server: it signs users in and names them.
#[derive(Clone, Debug)]
pub struct AuthorizationServer {
    /// Part of the sign-in callback's path.
    pub id: String,
    /// Its issuer, compared byte for byte (R18).
    pub issuer: String,
    /// The name on buttons; the issuer's host when absent.
    pub name: Option<String>,
    /// Our registration there.
    pub client_id: String,
    /// Absent for a public client.
    pub client_secret: Option<Secret>,
    /// How we prove ourselves; from metadata when absent.
    pub client_authentication: Option<ClientAuthentication>,
    /// The claim that is the subject, in ID tokens and access tokens alike (R22).
    pub subject_claim: String,
    /// Asked for at sign-in besides `openid`.
    pub scopes: Vec<String>,
    /// Signature algorithms that are accepted (R17).
    pub algorithms: Vec<String>,
    /// How access tokens of this server are checked.
    pub access_tokens: AccessTokens,
    /// Leeway for `exp` and `iat`, at most 60 s (R20).
    pub leeway: Duration,
}

/// How an access token is checked when an MCP server passes one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessTokens {
    /// As a JWT by the issuer's keys (RFC 9068).
    Jwt,
    /// By asking the issuer (RFC 7662).
    Introspection,
}

/// A registered caller of the API, and the tenant boundary.
#[derive(Clone, Debug)]
pub struct McpServer {
    /// Its id, part of callback paths.
    pub id: ServerId,
    /// Its name on pages.
    pub name: String,
    /// Its resource identifier: the `aud` of its users' access tokens (RFC 8707).
    pub resource: String,
    /// Id of the authorization server that names its users; none where it names them itself, which is for
    /// [`BrowserIdentity::Code`] alone.
    pub authorization_server: Option<String>,
    /// How the person at the browser is known.
    pub identity: BrowserIdentity,
    /// What stands for the issuer of users that the MCP server names itself.
    pub own_issuer: String,
    /// SHA-256 of each key that it may call with.
    pub api_keys: Vec<crate::secret::Hash>,
    /// What it may ask for.
    pub providers: Vec<ProviderId>,
    /// It must pass the user's token and may not name the user itself.
    pub require_subject_token: bool,
    /// Where outcomes are posted.
    pub webhook: Option<Webhook>,
    /// Servers of different owners may not share a provider (R62).
    pub owner: Option<String>,
}

impl McpServer {
    /// Whether its users sign in at the authorization server of this id, in the browser too.
    pub fn signs_in_at(&self, authorization_server: &str) -> bool {
        self.identity == BrowserIdentity::SignIn
            && self.authorization_server.as_deref() == Some(authorization_server)
    }
}

/// How the person at the browser is known to be the one who was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrowserIdentity {
    /// They sign in at the MCP server's authorization server.
    SignIn,
    /// They type a code, which the page shows to this browser alone, into their MCP client.
    Code,
}

/// The MCP endpoint of our own, "my connections".
#[derive(Clone, Debug)]
pub struct McpEndpoint {
    /// Id of the authorization server whose access tokens it takes.
    pub authorization_server: String,
    /// What a token must be allowed.
    pub scope: Option<String>,
    /// Whose MCP servers it is for; those of the only owner, where none is named.
    pub owner: Option<String>,
    /// How a client of the legacy era is given a link.
    pub legacy_links: Prefer,
}

impl McpEndpoint {
    /// Whether it lists, makes and ends the connections of this MCP server: one of its owner's, whose users its authorization
    /// server names in the browser too.
    pub fn offers(&self, server: &McpServer) -> bool {
        let is_of_owner = self.owner.is_none() || self.owner == server.owner;
        is_of_owner && server.signs_in_at(&self.authorization_server)
    }

    /// Where it is, below the public URL; together they are its resource identifier.
    pub const PATH: &'static str = "/mcp";
}

/// Where outcomes are posted.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// The receiver.
    pub url: Url,
    /// The signing secret, `whsec_...`.
    pub secret: Secret,
    /// The one before it, while receivers change over: each post is signed with both (R113).
    pub former_secret: Option<Secret>,
}
