//! The settings as they stand in a file: names, kinds and nothing else. `check` makes [`super::Settings`] of them.
//!
//! Every type refuses unknown keys. What has a default in `config.example.toml` is required here, for the default is
//! always there; what stands there commented out is optional, or has its default beside it.

mod secret_form;
mod variable;

use std::collections::BTreeMap;

use consentry_elicitation::Prefer;
use serde::Deserialize;

pub(super) use self::secret_form::{Basic, Field, Probe as FormProbe, SecretForm, Usage};
pub(super) use self::variable::Variable;
use super::{
    Answer, AssertionAudience, CallbackSignature, Capture, Choice, Granted, Precondition, Probe,
    RefreshTokens, RevocationBody, RevocationEnds, RevocationMethod, RevocationToken, SecondScope, Slot,
    StepText, TokenBody,
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

/// With its preset merged in, of which `preset` itself still tells.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Provider {
    /// Part of callback paths.
    pub(super) id: String,
    /// The entry of the catalogue that this table is laid over.
    #[serde(rename = "preset")]
    pub(super) _preset: Option<String>,
    /// The name on pages. Default: the id.
    pub(super) name: Option<String>,
    /// For discovery (RFC 8414, then OpenID Connect), and the `iss` that is expected back.
    pub(super) issuer: Option<String>,
    /// Whether every response must carry `iss` (RFC 9207). Default: false, or as discovery says.
    #[serde(default)]
    pub(super) issuer_always_sent: bool,
    /// Where the user agrees. Discovered when absent.
    pub(super) authorization_endpoint: Option<String>,
    /// Where codes are exchanged. Discovered when absent.
    pub(super) token_endpoint: Option<String>,
    /// Where tokens are revoked by RFC 7009. Discovered when absent.
    pub(super) revocation_endpoint: Option<String>,
    /// Its own way of revoking, in place of RFC 7009.
    pub(super) revocation: Option<Revocation>,
    /// Who the account is, as OpenID Connect says it. Discovered when absent.
    pub(super) userinfo_endpoint: Option<String>,
    /// The id of your registration there.
    pub(super) client_id: String,
    /// The secret of your registration there.
    pub(super) client_secret: Option<SecretSource>,
    /// How the client proves itself. Default: as discovery says, else "client_secret_basic" with a secret and "none"
    /// without.
    pub(super) client_authentication: Option<ClientAuthentication>,
    /// The private key that signs for the client ("private_key_jwt").
    pub(super) client_key: Option<SecretSource>,
    /// The key's `kid`, where the provider gave one.
    pub(super) client_key_id: Option<String>,
    /// The thumbprint of the key's certificate, where the provider knows keys by it.
    pub(super) client_key_thumbprint: Option<String>,
    /// By what algorithm the client's key signs. Default: RS256.
    pub(super) client_key_algorithm: Option<String>,
    /// Whom the client's signature is for. Default: the issuer where there is one, else the token endpoint.
    pub(super) client_assertion_audience: Option<AssertionAudience>,
    /// What is asked for when the caller names nothing.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// The most that a caller may ask for. Default: `scopes`.
    pub(super) allowed_scopes: Option<Vec<String>>,
    /// What separates scopes in the authorize URL: a space, comma, semicolon, plus or bar. Default: a space.
    #[serde(default = "space")]
    pub(super) scope_separator: String,
    /// A second parameter of the authorize URL, for scopes of another kind.
    pub(super) second_scope: Option<SecondScope>,
    /// Asked for always, beside what is wanted; nothing that a user is told of.
    #[serde(default)]
    pub(super) required_scopes: Vec<String>,
    /// Standard parameters that have another name there, each with that name.
    #[serde(default)]
    pub(super) param_names: BTreeMap<String, String>,
    /// How token requests are written. Default: form.
    #[serde(default)]
    pub(super) token_body: TokenBody,
    /// Further parameters of the exchange of a code.
    #[serde(default)]
    pub(super) token_params: BTreeMap<String, String>,
    /// Further parameters of a refresh.
    #[serde(default)]
    pub(super) refresh_params: BTreeMap<String, String>,
    /// Further headers of both.
    #[serde(default)]
    pub(super) token_headers: BTreeMap<String, String>,
    /// Where tokens are refreshed, where that is not the token endpoint.
    pub(super) refresh_endpoint: Option<String>,
    /// Requests after the exchange of a code, each of which makes another access token of the one before.
    #[serde(default)]
    pub(super) token_steps: Vec<StepText>,
    /// Renews an access token by itself, where there is no refresh token.
    pub(super) renewal: Option<StepText>,
    /// Whether a grant comes with a refresh token. Default: sometimes.
    #[serde(default)]
    pub(super) refresh_token: RefreshTokens,
    /// For how long a refresh token is still taken after another one was given for it.
    pub(super) reuse_grace: Option<Span>,
    /// Scopes, each as users read it.
    #[serde(default)]
    pub(super) scope_words: BTreeMap<String, String>,
    /// Scopes that the provider calls otherwise in its answers, each with the name by which it is asked for.
    #[serde(default)]
    pub(super) scope_aliases: BTreeMap<String, String>,
    /// Scopes, each with those that come with it.
    #[serde(default)]
    pub(super) scope_includes: BTreeMap<String, Vec<String>>,
    /// Further parameters of the authorize URL. They cannot replace what Consentry sends itself.
    #[serde(default)]
    pub(super) authorize_params: BTreeMap<String, String>,
    /// Parameters that make the provider ask which account to use; sent on every connect.
    #[serde(default)]
    pub(super) account_chooser_params: BTreeMap<String, String>,
    /// The parameter that names the account which was connected before. Default: `login_hint`, in which only an
    /// address is sent.
    #[serde(default = "login_hint")]
    pub(super) account_hint_param: String,
    /// Resources (RFC 8707), sent with authorize and token requests.
    #[serde(default)]
    pub(super) resource: Vec<String>,
    /// Whether PKCE is used. False only where it breaks something. Default: true.
    #[serde(default = "yes")]
    pub(super) pkce: bool,
    /// Whether it answers by a form post instead of a redirect. Default: false.
    #[serde(default)]
    pub(super) form_post: bool,
    /// Error codes that mean "the user said no", besides access_denied.
    #[serde(default)]
    pub(super) cancel_codes: Vec<String>,
    /// What the provider's own error codes at its token endpoint mean.
    #[serde(default)]
    pub(super) error_classes: BTreeMap<String, ErrorClass>,
    /// A refresh token that nobody uses for this long ends; it is used in time.
    pub(super) refresh_idle: Option<Span>,
    /// The user's consent ends this long after it was given; they are asked in time.
    pub(super) consent_lifetime: Option<Span>,
    /// Requests a second, of one process. Default: 20, for keys 5.
    #[serde(default = "requests_per_second")]
    pub(super) requests_per_second: u32,
    /// Requests at the same time, of one process. Default: 16, for keys 8.
    #[serde(default = "concurrent_requests")]
    pub(super) concurrent_requests: u32,
    /// A call that tells whose the account is. Default: userinfo, or the ID token.
    pub(super) probe: Option<Probe>,
    /// How an MCP server uses the credential. Default: `Authorization` with the token's type.
    #[serde(rename = "use")]
    pub(super) usage: Option<Usage>,
    /// Where the token endpoint's answer holds what is looked for. Default: as RFC 6749 has it.
    #[serde(default)]
    pub(super) answer: Answer,
    /// Further tokens of the same grant, by name.
    #[serde(default)]
    pub(super) slots: BTreeMap<String, Slot>,
    /// Values that are kept with the connection and handed out with it, by name. None of them is secret.
    #[serde(default)]
    pub(super) captures: BTreeMap<String, Capture>,
    /// The signature that must be on a callback.
    pub(super) callback_signature: Option<CallbackSignature>,
    /// One of several tenants is chosen after the callback.
    pub(super) choice: Option<Choice>,
    /// Where it is asked what was granted, where no answer says so.
    pub(super) granted: Option<Granted>,
    /// Error codes that mean "an administrator must allow it first".
    #[serde(default)]
    pub(super) admin_codes: Vec<String>,
    /// What must be there before connecting can work; users read it before they leave.
    #[serde(default)]
    pub(super) preconditions: Vec<Precondition>,
    /// What the user is asked to choose on the provider's own page; a sentence.
    pub(super) picker: Option<String>,
    /// Where the user removes the access at the provider.
    pub(super) manage_url: Option<String>,
    /// The provider's documentation.
    pub(super) docs_url: Option<String>,
    /// What stands in braces in its addresses, by name. Read before the rest, for which samples take their places.
    #[serde(rename = "variables", default)]
    pub(super) _variables: BTreeMap<String, Variable>,
    /// The operator's values for them.
    #[serde(rename = "values", default)]
    pub(super) _values: BTreeMap<String, String>,
}

/// The provider's own way of revoking.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Revocation {
    /// Where to. `{client_id}` stands for the id of your registration.
    pub(super) url: String,
    /// The method. Default: POST.
    #[serde(default = "post")]
    pub(super) method: RevocationMethod,
    /// How the token is written. Default: form.
    #[serde(default = "form")]
    pub(super) body: RevocationBody,
    /// The name of the field that holds the token. Default: `token`, where nothing else says where it stands.
    pub(super) field: Option<String>,
    /// Further fields, with `{token}`, `{client_id}` and `{client_secret}`.
    #[serde(default)]
    pub(super) params: BTreeMap<String, String>,
    /// Whether the token itself is the proof, as a Bearer token. Default: false.
    #[serde(default)]
    pub(super) bearer: bool,
    /// Which token it wants. Default: the refresh token where there is one.
    #[serde(default = "refresh_token")]
    pub(super) token: RevocationToken,
    /// How the client proves itself there. Default: as at the token endpoint.
    pub(super) client_authentication: Option<ClientAuthentication>,
    /// Further headers, with the same as `params`.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    /// Statuses that say that the token is not known there: it is revoked.
    #[serde(default)]
    pub(super) gone: Vec<u16>,
    /// What ends by it. Default: the grant.
    #[serde(default)]
    pub(super) ends: RevocationEnds,
}

fn post() -> RevocationMethod {
    RevocationMethod::Post
}

fn form() -> RevocationBody {
    RevocationBody::Form
}

fn refresh_token() -> RevocationToken {
    RevocationToken::RefreshToken
}

/// What an error code of the token endpoint means at this provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ErrorClass {
    /// The grant is dead.
    Terminal,
    /// The registration is refused; every grant is kept.
    Operator,
    /// The request is refused; every grant is kept.
    Configuration,
    /// Later.
    Transient,
}

fn requests_per_second() -> u32 {
    20
}

fn concurrent_requests() -> u32 {
    16
}

fn login_hint() -> String {
    "login_hint".to_owned()
}

fn space() -> String {
    " ".to_owned()
}

fn yes() -> bool {
    true
}
