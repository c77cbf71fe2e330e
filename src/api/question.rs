//! What a caller asks for, checked: the body of `resolve` and of the creation of an elicitation.

use std::collections::BTreeMap;

use consentry_elicitation::{Capability, Client, InputResponses, Prefer, ProtocolVersion};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    config::BrowserIdentity, credential::Wanted, elicitation::ProviderId, scope::Scopes, secret::Secret,
    untrusted::visible,
};

use super::{
    auth::Caller,
    input::Object,
    problem::{Code, Problem},
    subject::{NamedSubject, Who},
    variables,
};

/// Providers that one call may ask for.
const REQUESTS_MAX: usize = 8;
/// How long an answer may be held, in seconds.
pub(super) const WAIT_SECONDS_MAX: u8 = 50;
/// Longest `client.ref`, in bytes.
const REF_BYTES_MAX: usize = 256;
/// Longest `client.name`, in characters.
const NAME_CHARS_MAX: usize = 128;
/// Longest `message`, in characters.
const MESSAGE_CHARS_MAX: usize = 1000;
/// Longest `client.method` and `client.params_digest`, in bytes.
const WORD_BYTES_MAX: usize = 256;
/// Longest `client.code`, in bytes: eight letters, and what people put between.
const CODE_BYTES_MAX: usize = 64;
/// Longest `client.target`, in bytes: a resource is named by a URI.
const TARGET_BYTES_MAX: usize = 2048;

/// What a tool needs, for whom, and on whose call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ResolveRequest)]
pub(super) struct QuestionBody {
    /// The provider's id; or `requests`.
    #[schema(example = "github")]
    provider: Option<String>,
    /// What the tool needs of it, within its `allowed_scopes`; the provider's `scopes` when left out.
    scopes: Option<Vec<String>>,
    /// Variables of the provider's addresses, such as `subdomain`; what is left out is known already, or the user is asked.
    /// `GET /v1/providers` lists them.
    variables: Option<BTreeMap<String, String>>,
    /// Several providers at once, up to 8, each named once; instead of `provider` and `scopes`.
    #[schema(value_type = Option<Vec<NeedBody>>, min_items = 1, max_items = 8)]
    requests: Option<Vec<Object<NeedBody>>>,
    /// The user, whom the MCP server has verified; or `subject_token`.
    #[schema(value_type = Option<NamedSubject>)]
    subject: Option<Object<NamedSubject>>,
    /// The user's access token for the MCP server, to be verified here; or `subject`.
    #[schema(value_type = Option<String>, format = Password)]
    subject_token: Option<Secret>,
    /// The MCP client whose call is being answered. Without it the answer is made for a legacy client that declared
    /// nothing.
    #[schema(value_type = Option<ClientBody>)]
    client: Option<Object<ClientBody>>,
    /// Why, in words for the user: plain text, up to 1000 characters.
    #[schema(max_length = 1000)]
    message: Option<String>,
    /// On a modern client's retry: the `requestState` that it sent back, verbatim.
    pub(super) request_state: Option<String>,
    /// On a modern client's retry: the `inputResponses` that it sent, verbatim.
    #[schema(value_type = Option<Object>)]
    pub(super) input_responses: Option<InputResponses>,
    /// On a retry: how long the answer may be held until the outcome is known, 0 to 50 seconds.
    #[schema(maximum = 50)]
    wait_seconds: Option<u8>,
}

/// One of several providers.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Need)]
struct NeedBody {
    /// The provider's id.
    provider: String,
    /// What the tool needs of it; the provider's `scopes` when left out.
    scopes: Option<Vec<String>>,
    /// Variables of the provider's addresses; what is left out is known already, or the user is asked.
    variables: Option<BTreeMap<String, String>>,
}

/// An MCP client, as it described itself.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Client)]
pub(super) struct ClientBody {
    /// The protocol version of the connection (legacy) or of the request (modern); taken for legacy when left out.
    #[schema(value_type = Option<String>, example = "2025-11-25")]
    protocol_version: Option<ProtocolVersion>,
    /// The capability `elicitation` that it declared, verbatim; absent or null is none.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    elicitation: Capability,
    /// The caller's opaque reference, up to 256 bytes, given back in signals. Not an identity and not a session id.
    #[serde(rename = "ref")]
    #[schema(max_length = 256)]
    reference: Option<String>,
    /// Its name, for the pages, up to 128 characters.
    #[schema(max_length = 128)]
    name: Option<String>,
    /// The method of the call that is being answered; `tools/call` when left out.
    #[schema(example = "tools/call")]
    method: Option<String>,
    /// The tool, prompt or resource that it names.
    target: Option<String>,
    /// A digest of the call's parameters, to which the request state of a modern round is bound.
    params_digest: Option<String>,
    /// What the user typed into the form that asks for the code on the page; only for an MCP server with
    /// `identity = "code"`.
    #[schema(value_type = Option<String>, example = "WDJB-MJHT")]
    code: Option<Secret>,
    /// How a legacy client is asked for one connection: `request` (the default) or `error`.
    #[schema(value_type = Option<String>, example = "request")]
    prefer: Option<Prefer>,
}

/// A checked question.
pub(super) struct Question {
    /// What is needed, in the caller's order; never empty.
    pub(super) needs: Vec<Wanted>,
    /// Whether the caller asked in the plural, and is answered so.
    pub(super) several: bool,
    pub(super) client: Client,
    /// Empty when none was given.
    pub(super) client_ref: String,
    pub(super) client_name: Option<String>,
    pub(super) params_digest: Option<String>,
    /// The code that the user typed.
    pub(super) code: Option<Secret>,
    pub(super) message: Option<String>,
    pub(super) wait_seconds: u8,
}

impl QuestionBody {
    /// Checks everything that needs nobody to be asked.
    pub(super) fn check(self, caller: &Caller) -> Result<(Question, Who), Problem> {
        let who = Who::new(caller, self.subject.map(|subject| subject.0), self.subject_token)?;
        let wait_seconds = self.wait_seconds.unwrap_or(0);
        if wait_seconds > WAIT_SECONDS_MAX {
            return Err(Problem::invalid_field("wait_seconds", "At most 50 seconds."));
        }
        if let Some(message) = &self.message {
            characters("message", message, MESSAGE_CHARS_MAX)?;
            printable("message", &message.replace(['\n', '\r', '\t'], ""))?;
        }
        // Clients show it as it is: what turns or hides text never gets there.
        let message = self.message.map(visible).filter(|message| !message.trim().is_empty());
        let several = self.requests.is_some();
        let needs = match (self.provider, self.scopes, self.variables, self.requests) {
            (Some(provider), scopes, variables, None) => {
                vec![need(caller, "", &provider, scopes, variables)?]
            }
            (None, None, None, Some(requests)) => needs(caller, requests)?,
            (None, _, _, None) => return Err(Problem::invalid_field("provider", "The field is missing.")),
            (_, _, _, Some(_)) => {
                let what = "Either `provider` with `scopes` and `variables`, or `requests`.";
                return Err(Problem::invalid_field("requests", what));
            }
        };
        let client = self.client.map_or_else(ClientBody::unknown, |client| client.0);
        client.check_lengths()?;
        client.check_code(caller)?;
        let question = Question {
            needs,
            several,
            client: client.answered(),
            client_ref: client.reference.unwrap_or_default(),
            client_name: client.name.map(visible).filter(|name| !name.trim().is_empty()),
            params_digest: client.params_digest,
            code: client.code,
            message,
            wait_seconds,
        };
        Ok((question, who))
    }
}

impl ClientBody {
    /// A client of which nothing is known gets plain words.
    pub(super) fn unknown() -> Self {
        Self {
            protocol_version: None,
            elicitation: Capability::NONE,
            reference: None,
            name: None,
            method: None,
            target: None,
            params_digest: None,
            code: None,
            prefer: None,
        }
    }

    /// A client that was sent a link and may be asked by a form, of which nothing else is known.
    pub(super) fn to_be_asked() -> Self {
        Self { elicitation: Capability::BOTH, ..Self::unknown() }
    }

    /// Checks what has a bound.
    pub(super) fn check_lengths(&self) -> Result<(), Problem> {
        let bytes: [(&'static str, Option<&String>, usize); 4] = [
            ("client.ref", self.reference.as_ref(), REF_BYTES_MAX),
            ("client.method", self.method.as_ref(), WORD_BYTES_MAX),
            ("client.target", self.target.as_ref(), TARGET_BYTES_MAX),
            ("client.params_digest", self.params_digest.as_ref(), WORD_BYTES_MAX),
        ];
        for (field, text, most) in bytes {
            let Some(text) = text else { continue };
            if text.len() > most {
                return Err(Problem::invalid_field(field, "The text is too long."));
            }
            printable(field, text)?;
        }
        if let Some(name) = &self.name {
            characters("client.name", name, NAME_CHARS_MAX)?;
            printable("client.name", name)?;
        }
        Ok(())
    }

    /// Whether it came with a code, which is for `resolve` alone.
    pub(super) fn has_code(&self) -> bool {
        self.code.is_some()
    }

    /// A code is taken where codes are used, from a client that can ask its user for it, and nowhere else passed over.
    fn check_code(&self, caller: &Caller) -> Result<(), Problem> {
        let Some(code) = &self.code else { return Ok(()) };
        let refused = if caller.server().identity != BrowserIdentity::Code {
            "This MCP server is not configured with `identity = \"code\"`; its users sign in."
        } else if !self.elicitation.form() {
            "The client did not declare forms, by which alone its user may be asked for a code."
        } else if code.is_empty() || code.expose().len() > CODE_BYTES_MAX {
            "1 to 64 bytes, as the user typed it."
        } else {
            return Ok(());
        };
        Err(Problem::invalid_field("client.code", refused))
    }

    /// The client as the choice of the reply sees it.
    pub(super) fn answered(&self) -> Client {
        let version = self.protocol_version.unwrap_or(ProtocolVersion::V2025_11_25);
        let method = self.method.as_deref().unwrap_or("tools/call");
        let client = Client::new(version, self.elicitation, method).prefer(self.prefer.unwrap_or_default());
        match &self.target {
            Some(target) => client.target(target),
            None => client,
        }
    }

    /// The same client, for which no link can be shown as such.
    pub(super) fn in_words(mut self) -> Self {
        self.elicitation = Capability::NONE;
        self
    }

    /// Takes the era that an elicitation was made for, where the client did not say.
    pub(super) fn of_era(mut self, legacy: bool) -> Self {
        let version = if legacy { ProtocolVersion::V2025_11_25 } else { ProtocolVersion::V2026_07_28 };
        self.protocol_version.get_or_insert(version);
        self
    }
}

fn needs(caller: &Caller, requests: Vec<Object<NeedBody>>) -> Result<Vec<Wanted>, Problem> {
    if !(1..=REQUESTS_MAX).contains(&requests.len()) {
        return Err(Problem::invalid_field("requests", "1 to 8 providers."));
    }
    let mut needs: Vec<Wanted> = Vec::with_capacity(requests.len());
    for (index, Object(request)) in requests.into_iter().enumerate() {
        let prefix = format!("requests[{index}].");
        let need = need(caller, &prefix, &request.provider, request.scopes, request.variables)?;
        if needs.iter().any(|before| before.provider == need.provider) {
            return Err(Problem::invalid_field(format!("{prefix}provider"), "The provider is named twice."));
        }
        needs.push(need);
    }
    Ok(needs)
}

/// A provider that this MCP server may ask for, with scopes that it may ask for.
fn need(
    caller: &Caller,
    prefix: &str,
    name: &str,
    scopes: Option<Vec<String>>,
    variables: Option<BTreeMap<String, String>>,
) -> Result<Wanted, Problem> {
    let allowed = name.parse().ok().filter(|id: &ProviderId| caller.server().providers.contains(id));
    let provider = allowed.and_then(|id| caller.app.connectable(&id)).ok_or_else(|| {
        let detail = "This MCP server may not ask for this provider; `GET /v1/providers` lists those it may.";
        Problem::new(Code::ProviderNotAllowed, detail).field(format!("{prefix}provider"))
    })?;
    let values = variables::given(prefix, &provider, variables)?;
    let Some(scopes) = scopes else {
        return Ok(Wanted { provider: provider.id().clone(), scopes: provider.scopes(), values });
    };
    let field = || format!("{prefix}scopes");
    if scopes.len() > caller.app.settings.limits.scopes {
        return Err(Problem::invalid_field(field(), "There are too many scopes."));
    }
    let scopes = Scopes::new(scopes).map_err(|_| {
        Problem::invalid_field(
            field(),
            "A scope is 1 to 256 visible ASCII characters (RFC 6749, section 3.3).",
        )
    })?;
    if !provider.allowed_scopes().covers(&scopes) {
        let detail =
            "A scope is beyond what may be asked of this provider; `GET /v1/providers` lists what may.";
        return Err(Problem::new(Code::ScopeNotAllowed, detail).field(field()));
    }
    Ok(Wanted { provider: provider.id().clone(), scopes, values })
}

fn characters(field: &'static str, text: &str, most: usize) -> Result<(), Problem> {
    // A character has at least one byte, so that most texts need not be counted.
    if text.len() > most && text.chars().count() > most {
        return Err(Problem::invalid_field(field, "The text is too long."));
    }
    Ok(())
}

fn printable(field: &'static str, text: &str) -> Result<(), Problem> {
    if text.chars().any(char::is_control) {
        return Err(Problem::invalid_field(field, "The text holds a control character."));
    }
    Ok(())
}
