//! `[[providers]]` of the kind `oauth2` as it stands in a file.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{ClientAuthentication, Usage, Variable};
use crate::config::{
    Answer, AssertionAudience, CallbackSignature, Capture, Choice, Granted, Precondition, Probe,
    RefreshTokens, Registration, RevocationBody, RevocationEnds, RevocationMethod, RevocationToken,
    SecondScope, Slot, StepText, TokenBody, secret_source::SecretSource, units::Span,
};

/// With its preset merged in, of which `preset` itself still tells.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Provider {
    /// Part of callback paths.
    pub(in crate::config) id: String,
    /// The entry of the catalogue that this table is laid over.
    #[serde(rename = "preset")]
    pub(in crate::config) _preset: Option<String>,
    /// The name on pages. Default: the id.
    pub(in crate::config) name: Option<String>,
    /// For discovery (RFC 8414, then OpenID Connect), and the `iss` that is expected back.
    pub(in crate::config) issuer: Option<String>,
    /// Whether every response must carry `iss` (RFC 9207). Default: false, or as discovery says.
    #[serde(default)]
    pub(in crate::config) issuer_always_sent: bool,
    /// Where the user agrees. Discovered when absent.
    pub(in crate::config) authorization_endpoint: Option<String>,
    /// Where codes are exchanged. Discovered when absent.
    pub(in crate::config) token_endpoint: Option<String>,
    /// Where tokens are revoked by RFC 7009. Discovered when absent.
    pub(in crate::config) revocation_endpoint: Option<String>,
    /// Its own way of revoking, in place of RFC 7009.
    pub(in crate::config) revocation: Option<Revocation>,
    /// Who the account is, as OpenID Connect says it. Discovered when absent.
    pub(in crate::config) userinfo_endpoint: Option<String>,
    /// The endpoint of the MCP server that this provider is, in place of endpoints.
    pub(in crate::config) mcp: Option<String>,
    /// How the client comes to be known at the MCP server's authorization server. Default: static.
    pub(in crate::config) registration: Option<Registration>,
    /// What a dynamic registration is proved with, where the authorization server wants it.
    pub(in crate::config) registration_token: Option<SecretSource>,
    /// The id of your registration there. Needed, unless `registration` is not static.
    pub(in crate::config) client_id: Option<String>,
    /// The secret of your registration there.
    pub(in crate::config) client_secret: Option<SecretSource>,
    /// How the client proves itself. Default: as discovery says, else "client_secret_basic" with a secret and "none"
    /// without.
    pub(in crate::config) client_authentication: Option<ClientAuthentication>,
    /// The private key that signs for the client ("private_key_jwt").
    pub(in crate::config) client_key: Option<SecretSource>,
    /// The key's `kid`, where the provider gave one.
    pub(in crate::config) client_key_id: Option<String>,
    /// The thumbprint of the key's certificate, where the provider knows keys by it.
    pub(in crate::config) client_key_thumbprint: Option<String>,
    /// By what algorithm the client's key signs. Default: RS256.
    pub(in crate::config) client_key_algorithm: Option<String>,
    /// Whom the client's signature is for. Default: the issuer where there is one, else the token endpoint.
    pub(in crate::config) client_assertion_audience: Option<AssertionAudience>,
    /// What is asked for when the caller names nothing.
    #[serde(default)]
    pub(in crate::config) scopes: Vec<String>,
    /// The most that a caller may ask for. Default: `scopes`.
    pub(in crate::config) allowed_scopes: Option<Vec<String>>,
    /// What separates scopes in the authorize URL: a space, comma, semicolon, plus or bar. Default: a space.
    #[serde(default = "space")]
    pub(in crate::config) scope_separator: String,
    /// A second parameter of the authorize URL, for scopes of another kind.
    pub(in crate::config) second_scope: Option<SecondScope>,
    /// Asked for always, beside what is wanted; nothing that a user is told of.
    #[serde(default)]
    pub(in crate::config) required_scopes: Vec<String>,
    /// Standard parameters that have another name there, each with that name: `client_id`, `client_secret`, `code`,
    /// `refresh_token` or `token`.
    #[serde(default)]
    pub(in crate::config) param_names: BTreeMap<String, String>,
    /// How token requests are written. Default: form.
    #[serde(default)]
    pub(in crate::config) token_body: TokenBody,
    /// Further parameters of the exchange of a code.
    #[serde(default)]
    pub(in crate::config) token_params: BTreeMap<String, String>,
    /// Further parameters of a refresh.
    #[serde(default)]
    pub(in crate::config) refresh_params: BTreeMap<String, String>,
    /// Further headers of both.
    #[serde(default)]
    pub(in crate::config) token_headers: BTreeMap<String, String>,
    /// Where tokens are refreshed, where that is not the token endpoint.
    pub(in crate::config) refresh_endpoint: Option<String>,
    /// Requests after the exchange of a code, each of which makes another access token of the one before.
    #[serde(default)]
    pub(in crate::config) token_steps: Vec<StepText>,
    /// Renews an access token by itself, where there is no refresh token.
    pub(in crate::config) renewal: Option<StepText>,
    /// Whether a grant comes with a refresh token. Default: sometimes.
    #[serde(default)]
    pub(in crate::config) refresh_token: RefreshTokens,
    /// For how long a refresh token is still taken after another one was given for it.
    pub(in crate::config) reuse_grace: Option<Span>,
    /// Scopes, each as users read it.
    #[serde(default)]
    pub(in crate::config) scope_words: BTreeMap<String, String>,
    /// Scopes that the provider calls otherwise in its answers, each with the name by which it is asked for.
    #[serde(default)]
    pub(in crate::config) scope_aliases: BTreeMap<String, String>,
    /// Scopes, each with those that come with it.
    #[serde(default)]
    pub(in crate::config) scope_includes: BTreeMap<String, Vec<String>>,
    /// Further parameters of the authorize URL. They cannot replace what Consentry sends itself.
    #[serde(default)]
    pub(in crate::config) authorize_params: BTreeMap<String, String>,
    /// Parameters that make the provider ask which account to use; sent on every connect.
    #[serde(default)]
    pub(in crate::config) account_chooser_params: BTreeMap<String, String>,
    /// The parameter that names the account which was connected before. Default: `login_hint`, in which only a plain
    /// address is sent; in another one a label of one word. Empty: nothing is sent.
    #[serde(default = "login_hint")]
    pub(in crate::config) account_hint_param: String,
    /// Resources (RFC 8707), sent with authorize and token requests.
    #[serde(default)]
    pub(in crate::config) resource: Vec<String>,
    /// Whether PKCE is used. False only where it breaks something. Default: true.
    #[serde(default = "yes")]
    pub(in crate::config) pkce: bool,
    /// Whether it answers by a form post instead of a redirect. Default: false.
    #[serde(default)]
    pub(in crate::config) form_post: bool,
    /// Error codes that mean "the user said no", besides access_denied.
    #[serde(default)]
    pub(in crate::config) cancel_codes: Vec<String>,
    /// What the provider's own error codes at its token endpoint mean.
    #[serde(default)]
    pub(in crate::config) error_classes: BTreeMap<String, ErrorClass>,
    /// A refresh token that nobody uses for this long ends; it is used in time.
    pub(in crate::config) refresh_idle: Option<Span>,
    /// The user's consent ends this long after it was given; they are asked in time.
    pub(in crate::config) consent_lifetime: Option<Span>,
    /// Requests a second, of one process. Default: 20, for keys 5.
    #[serde(default = "requests_per_second")]
    pub(in crate::config) requests_per_second: u32,
    /// Requests at the same time, of one process. Default: 16, for keys 8.
    #[serde(default = "concurrent_requests")]
    pub(in crate::config) concurrent_requests: u32,
    /// A call that tells whose the account is. Default: userinfo, or the ID token.
    pub(in crate::config) probe: Option<Probe>,
    /// How an MCP server uses the credential. Default: `Authorization` with the token's type.
    #[serde(rename = "use")]
    pub(in crate::config) usage: Option<Usage>,
    /// Where the token endpoint's answer holds what is looked for. Default: as RFC 6749 has it.
    #[serde(default)]
    pub(in crate::config) answer: Answer,
    /// Further tokens of the same grant, by name.
    #[serde(default)]
    pub(in crate::config) slots: BTreeMap<String, Slot>,
    /// Values that are kept with the connection and handed out with it, by name. None of them is secret.
    #[serde(default)]
    pub(in crate::config) captures: BTreeMap<String, Capture>,
    /// The signature that must be on a callback.
    pub(in crate::config) callback_signature: Option<CallbackSignature>,
    /// One of several tenants is chosen after the callback.
    pub(in crate::config) choice: Option<Choice>,
    /// Where it is asked what was granted, where no answer says so.
    pub(in crate::config) granted: Option<Granted>,
    /// Error codes that mean "an administrator must allow it first".
    #[serde(default)]
    pub(in crate::config) admin_codes: Vec<String>,
    /// What must be there before connecting can work; users read it before they leave.
    #[serde(default)]
    pub(in crate::config) preconditions: Vec<Precondition>,
    /// What the user is asked to choose on the provider's own page; a sentence.
    pub(in crate::config) picker: Option<String>,
    /// Where the user removes the access at the provider.
    pub(in crate::config) manage_url: Option<String>,
    /// The provider's documentation.
    pub(in crate::config) docs_url: Option<String>,
    /// What stands in braces in its addresses, by name. Read before the rest, for which samples take their places.
    #[serde(rename = "variables", default)]
    pub(in crate::config) _variables: BTreeMap<String, Variable>,
    /// The operator's values for them.
    #[serde(rename = "values", default)]
    pub(in crate::config) _values: BTreeMap<String, String>,
}

/// The provider's own way of revoking.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Revocation {
    /// Where to. `{client_id}` stands for the id of your registration.
    pub(in crate::config) url: String,
    /// The method. Default: POST.
    #[serde(default = "post")]
    pub(in crate::config) method: RevocationMethod,
    /// How the token is written. Default: form.
    #[serde(default = "form")]
    pub(in crate::config) body: RevocationBody,
    /// The name of the field that holds the token. Default: `token`, where nothing else says where it stands.
    pub(in crate::config) field: Option<String>,
    /// Further fields, with `{token}`, `{client_id}`, `{client_secret}`, and what is captured or chosen.
    #[serde(default)]
    pub(in crate::config) params: BTreeMap<String, String>,
    /// Whether the token itself is the proof, as a Bearer token. Default: false.
    #[serde(default)]
    pub(in crate::config) bearer: bool,
    /// Which token it wants. Default: the refresh token where there is one. An access token that has run out is refreshed
    /// before the connection is removed; where that fails and the token is not let in (401), it is not sent again, and the
    /// audit record has `revocation_given_up`.
    #[serde(default = "refresh_token")]
    pub(in crate::config) token: RevocationToken,
    /// How the client proves itself there. Default: as at the token endpoint, unless `bearer`, a header `Authorization`
    /// or a `{client_secret}` is the proof.
    pub(in crate::config) client_authentication: Option<ClientAuthentication>,
    /// Further headers, with `{token}`, `{client_id}` and `{client_secret}`: `Authorization = "Token {token}"`, for
    /// example, where the token is the proof under another scheme than Bearer.
    #[serde(default)]
    pub(in crate::config) headers: BTreeMap<String, String>,
    /// Statuses that say that the token is not known there: it is revoked.
    #[serde(default)]
    pub(in crate::config) gone: Vec<u16>,
    /// What ends by it: `"token"`, that token and what was made from it; `"grant"` (default), all that this person has
    /// allowed your app there, in each of their connections; `"account"`, also what other people of the same
    /// organisation have allowed it, which users are told before they disconnect.
    #[serde(default)]
    pub(in crate::config) ends: RevocationEnds,
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
pub(in crate::config) enum ErrorClass {
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
