//! The settings as they stand in a file: names, kinds and nothing else. `check` makes [`super::Settings`] of them.
//!
//! Every type refuses unknown keys. What has a default in `config.example.toml` is required here, for the default is
//! always there; what stands there commented out is optional, or has its default beside it.

mod hosted_page;
mod provider;
mod secret_form;
mod variable;

use consentry_elicitation::Prefer;
use serde::Deserialize;

pub(super) use self::hosted_page::HostedPage;
pub(super) use self::provider::{ErrorClass, Provider, Revocation};
pub(super) use self::secret_form::{Basic, Field, Probe as FormProbe, SecretForm, Usage};
pub(super) use self::variable::Variable;
use super::{
    secret_source::SecretSource,
    units::{Size, Span},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listen {
    pub(super) public: String,
    pub(super) internal: String,
    pub(super) trusted_proxies: Vec<String>,
    pub(super) public_tls: Option<TlsFiles>,
    pub(super) internal_tls: Option<TlsFiles>,
    pub(super) header_timeout: Span,
    pub(super) connections: usize,
    pub(super) drain: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TlsFiles {
    pub(super) certificate: String,
    pub(super) key: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Database {
    pub(super) url: TextOrSecret,
    pub(super) connections: u32,
    pub(super) migrate: bool,
}

/// A text, or where to find one that is secret.
#[derive(Debug)]
pub(super) enum TextOrSecret {
    Text(crate::secret::Secret),
    Secret(SecretSource),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Encryption {
    pub(super) keys: Vec<EncryptionKey>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EncryptionKey {
    pub(super) id: String,
    pub(super) file: Option<String>,
    pub(super) env: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lifetimes {
    pub(super) elicitation: Span,
    pub(super) attempt: Span,
    pub(super) parked: Span,
    pub(super) sign_in: Span,
    pub(super) session_idle: Span,
    pub(super) session: Span,
    pub(super) history: Span,
    pub(super) audit: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refresh {
    pub(super) wait: Span,
    pub(super) trial: Span,
    pub(super) warn_ahead: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Webhooks {
    pub(super) timeout: Span,
    pub(super) concurrent: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Audit {
    pub(super) subjects: AuditSubjects,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AuditSubjects {
    Hashed,
    Plain,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    pub(super) body: Size,
    pub(super) head: Size,
    pub(super) headers: usize,
    pub(super) requests_per_minute: u32,
    pub(super) elicitations_per_minute: u32,
    pub(super) streams_per_server: u32,
    pub(super) scopes: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outbound {
    pub(super) allowed: Vec<String>,
    pub(super) ca_files: Vec<String>,
    pub(super) proxy: Option<String>,
    pub(super) timeout: Span,
    pub(super) answer: Size,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Log {
    pub(super) filter: String,
    pub(super) format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Operator {
    pub(super) name: String,
    pub(super) help_url: Option<String>,
    pub(super) privacy_url: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mcp {
    pub(super) enabled: bool,
    pub(super) authorization_server: Option<String>,
    pub(super) owner: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) legacy_links: Prefer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientAuthentication {
    /// HTTP Basic.
    ClientSecretBasic,
    /// In the body.
    ClientSecretPost,
    /// A public client.
    None,
    /// The secret as the user name of HTTP Basic.
    SecretAsBasicUser,
    /// A signature (RFC 7523).
    PrivateKeyJwt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AccessTokens {
    Jwt,
    Introspection,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthorizationServer {
    pub(super) id: String,
    pub(super) issuer: String,
    pub(super) name: Option<String>,
    pub(super) client_id: String,
    pub(super) client_secret: Option<SecretSource>,
    pub(super) client_authentication: Option<ClientAuthentication>,
    #[serde(default = "sub")]
    pub(super) subject_claim: String,
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    #[serde(default = "algorithms")]
    pub(super) algorithms: Vec<String>,
    #[serde(default = "jwt")]
    pub(super) access_tokens: AccessTokens,
    #[serde(default = "leeway")]
    pub(super) leeway: Span,
}

fn sub() -> String {
    "sub".to_owned()
}

fn algorithms() -> Vec<String> {
    ["RS256", "PS256", "ES256", "EdDSA"].map(str::to_owned).to_vec()
}

fn jwt() -> AccessTokens {
    AccessTokens::Jwt
}

fn leeway() -> Span {
    Span(std::time::Duration::from_secs(30))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpServer {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) resource: String,
    pub(super) authorization_server: Option<String>,
    #[serde(default)]
    pub(super) identity: BrowserIdentity,
    pub(super) api_keys: Vec<SecretSource>,
    pub(super) providers: Vec<String>,
    #[serde(default)]
    pub(super) require_subject_token: bool,
    pub(super) webhook: Option<Webhook>,
    pub(super) owner: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum BrowserIdentity {
    #[default]
    SignIn,
    Code,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Webhook {
    pub(super) url: String,
    pub(super) secret: SecretSource,
    pub(super) former_secret: Option<SecretSource>,
}
