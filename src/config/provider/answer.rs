//! How a provider is read, as data: where its answers hold what is looked for, what of them is kept, and what a person
//! should know before and after.
//!
//! Paths are dotted and go into lists by index: `authed_user.access_token`, `accounts[0].id`. Settings and the catalogue
//! share these types; `check` says what may stand in them.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use crate::config::{ProbeMethod, units::Span};

/// Everything that is read of a provider.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// The token endpoint's answer.
    pub answer: Answer,
    /// Further tokens of the same grant, by name.
    pub slots: BTreeMap<String, Slot>,
    /// Values that are kept with the connection, by name. None of them is secret.
    pub captures: BTreeMap<String, Capture>,
    /// The signature that must be on a callback.
    pub callback_signature: Option<CallbackSignature>,
    /// One of several tenants is chosen after the callback.
    pub choice: Option<Choice>,
    /// Where it is asked what was granted, where no answer says so.
    pub granted: Option<Granted>,
    /// Error codes of the authorization response that mean "an administrator must allow it first".
    pub admin_codes: Vec<String>,
    /// What must be there before connecting can work.
    pub preconditions: Vec<Precondition>,
    /// What the person is asked to choose on the provider's own page.
    pub picker: Option<String>,
}

/// Where a token endpoint's answer holds what is looked for; absent is as RFC 6749, section 5.1, has it.
#[derive(Clone, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The access token.
    pub access_token: Option<String>,
    /// The refresh token.
    pub refresh_token: Option<String>,
    /// The scheme under which the token is sent, whatever the answer calls its type. It is told to MCP servers as
    /// `token_type`, and `use` has it by default; `probe` wants its own.
    pub scheme: Option<String>,
    /// The life of the access token in seconds.
    pub expires_in: Option<String>,
    /// When the access token ends: seconds or milliseconds since the epoch, or a date of RFC 3339; told apart by content.
    pub expires_at: Option<String>,
    /// The life of an access token where the answer says nothing.
    #[serde(default, deserialize_with = "span")]
    #[schema(value_type = Option<Span>)]
    pub default_life: Option<Duration>,
    /// The life of the refresh token in seconds.
    pub refresh_expires_in: Option<String>,
    /// What was granted.
    pub scope: Option<String>,
    /// The parameter of the callback that says what was granted, where the answer does not.
    pub scope_from_callback: Option<String>,
    /// What a success says; where it is given, it alone tells a success from an error.
    pub ok: Option<Expected>,
    /// The error's code.
    pub error: Option<String>,
}

/// What must stand somewhere.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Where.
    pub path: String,
    /// Text, a number or a truth value.
    pub equals: Value,
}

/// A further token of a grant, such as a person's beside a bot's.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// The access token; nothing there means that the grant has no such token.
    pub access_token: String,
    /// The refresh token.
    pub refresh_token: Option<String>,
    /// The life of the access token in seconds.
    pub expires_in: Option<String>,
    /// What was granted with it.
    pub scope: Option<String>,
}

/// A value that is kept.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Where it is from.
    pub from: CaptureFrom,
    /// Where it stands there; for the callback the parameter's name.
    pub path: String,
    /// Whether nothing is connected without it.
    #[serde(default)]
    pub required: bool,
    /// Then it is an https URL or a host, whose host ends with one of these (with the dot) or is one of them.
    #[serde(default)]
    pub url_suffixes: Vec<String>,
}

/// Where a value is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaptureFrom {
    /// The token endpoint's answer.
    Answer,
    /// The callback's parameters.
    Callback,
    /// The probe's answer.
    Probe,
    /// The tenant that was chosen.
    Choice,
}

/// A signed callback.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CallbackSignature {
    /// The parameter that holds the signature.
    pub param: String,
    /// How it is made.
    pub style: SignatureStyle,
}

/// How a callback is signed with the client's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignatureStyle {
    /// HMAC-SHA256 in hexadecimal over the other parameters, ordered by name and form-encoded.
    SortedQueryHex,
}

/// Several tenants come with one grant, of which one is used.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Where they are listed; absent: in the probe's answer.
    pub url: Option<String>,
    /// Where the list stands; empty for the whole answer.
    #[serde(default)]
    pub list: String,
    /// A tenant's id.
    pub id: String,
    /// What the person knows it by: a path, or text with paths in braces.
    pub label: String,
    /// The name under which the id is kept.
    #[serde(rename = "as")]
    pub name: String,
    /// How those are told that came with this very consent, where the list holds others of this client too.
    pub consent: Option<ChoiceOfConsent>,
}

/// A mark that is the same in the access token, which is a JWT, and in the tenants that came with it. Where no tenant has
/// the token's, all are offered.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChoiceOfConsent {
    /// Where a tenant has it.
    pub path: String,
    /// The access token's claim.
    pub claim: String,
}

/// A question for what was granted, as some people untick permissions and no other answer tells.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Granted {
    /// Called by GET with the new access token.
    pub url: String,
    /// Where the list stands; empty for the whole answer.
    #[serde(default)]
    pub list: String,
    /// Where a permission's name stands in an entry of the list.
    pub scope: String,
    /// What an entry says that was granted; every one was when absent.
    pub only: Option<Expected>,
}

/// What must be there before connecting can work.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Precondition {
    /// Of which sort.
    pub kind: PreconditionKind,
    /// A sentence for the person.
    pub text: String,
    /// Where it is done.
    #[schema(value_type = Option<String>)]
    pub url: Option<Url>,
}

/// A sort of precondition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreconditionKind {
    /// An app must be installed at the provider.
    Install,
    /// An administrator must have allowed it.
    Admin,
    /// The account must be of a certain plan.
    Plan,
}

/// A call that names the account: paths into its JSON answer.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Where to; captured values may stand in it in braces. Absent: nobody is asked, and `of` is read.
    pub url: Option<String>,
    /// What is read where there is no URL.
    #[serde(default)]
    pub of: ProbeOf,
    /// `GET` (default) or `POST`.
    #[serde(default)]
    pub method: ProbeMethod,
    /// The JSON that is posted; none when absent.
    pub body: Option<String>,
    /// What stands before the token in `Authorization`: `Bearer` by default, nothing when it is empty.
    pub scheme: Option<String>,
    /// A stable id: a path, paths as alternatives (`a|b`), or text with such in braces.
    pub id: String,
    /// What the person recognises, written like `id`.
    pub label: String,
    /// What a success says.
    pub ok: Option<Expected>,
    /// Further headers. `{client_id}`, captured values and `{access_token}` may stand in them; with the last there is no
    /// `Authorization`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// What tells of the account without a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeOf {
    /// The token endpoint's answer.
    #[default]
    Answer,
    /// The ID token's claims.
    IdToken,
}

fn span<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Span::deserialize(from).map(|span| Some(span.0))
}
