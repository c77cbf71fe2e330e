//! A call, as the adapter needs it: who calls, with which client, what for, and what a retry brought along.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use axum::http::request::Parts;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use consentry_bearer::Principal;
use consentry_elicitation::{Capability, Era, INPUT_METHODS, ProtocolVersion};
use rmcp::{
    ErrorData, RoleServer,
    handler::server::{common::FromContextPart, tool::ToolCallContext},
    model::{GetPromptRequestParams, InputResponses, JsonObject, ReadResourceRequestParams},
    service::RequestContext,
};
use serde_json::Value;

/// The header that names a legacy session.
pub(crate) const SESSION: &str = "mcp-session-id";

/// The call that a handler is answering. As a parameter of a tool it must stand **before** `Parameters`, which takes the
/// arguments away: a request for input is bound to them.
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) context: RequestContext<RoleServer>,
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) digest: String,
    pub(crate) state: Option<String>,
    pub(crate) responses: Option<InputResponses>,
}

impl<S> FromContextPart<ToolCallContext<'_, S>> for Call {
    fn from_context_part(context: &mut ToolCallContext<'_, S>) -> Result<Self, ErrorData> {
        Ok(Self {
            context: context.request_context.clone(),
            method: "tools/call",
            target: context.name.clone().into_owned(),
            digest: digest_of(context.arguments.as_ref()),
            state: context.request_state.clone(),
            responses: context.input_responses.clone(),
        })
    }
}

impl Call {
    /// In a `get_prompt` of your own.
    #[must_use]
    pub fn of_prompt(request: &GetPromptRequestParams, context: RequestContext<RoleServer>) -> Self {
        Self {
            context,
            method: "prompts/get",
            target: request.name.clone(),
            digest: digest_of(request.arguments.as_ref()),
            state: request.request_state.clone(),
            responses: request.input_responses.clone(),
        }
    }

    /// In a `read_resource`.
    #[must_use]
    pub fn of_resource(request: &ReadResourceRequestParams, context: RequestContext<RoleServer>) -> Self {
        Self {
            context,
            method: "resources/read",
            target: request.uri.clone(),
            digest: digest_of(None),
            state: request.request_state.clone(),
            responses: request.input_responses.clone(),
        }
    }

    /// The user behind the call, whose token was checked at the door.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.context.extensions.get::<Parts>()?.extensions.get::<Principal>()
    }

    pub(crate) fn client(&self) -> Client {
        let stated = self.context.protocol_version();
        let version = stated.as_ref().and_then(|version| version.as_str().parse().ok());
        let version: ProtocolVersion = version.unwrap_or(ProtocolVersion::V2025_06_18);
        // What this very request, or else this connection, has declared; never what another one has.
        let declared =
            self.context.client_capabilities().and_then(|all| serde_json::to_value(all.elicitation).ok());
        let declared = declared.filter(|declared| !declared.is_null());
        let info = self.context.client_info();
        let headers = self.context.extensions.get::<Parts>().map(|parts| &parts.headers);
        let session = headers.and_then(|headers| headers.get(SESSION)?.to_str().ok()).map(str::to_owned);
        Client {
            version: stated.map_or_else(|| version.to_string(), |stated| stated.as_str().to_owned()),
            era: version.era(),
            // What is no capability is none.
            capability: Capability::declared(declared.as_ref()).unwrap_or(Capability::NONE),
            declared,
            name: info.as_ref().map(|info| info.title.clone().unwrap_or_else(|| info.name.clone())),
            plain_name: info.map(|info| info.name),
            session: session.filter(|_| version.era() == Era::Legacy),
            may_round: INPUT_METHODS.contains(&self.method),
        }
    }
}

/// The MCP client of a call, as it has described itself.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) version: String,
    pub(crate) era: Era,
    pub(crate) capability: Capability,
    pub(crate) declared: Option<Value>,
    /// What it likes to be called.
    pub(crate) name: Option<String>,
    plain_name: Option<String>,
    /// The session id of the legacy era. It stays here: it is a secret between client and server.
    session: Option<String>,
    /// Whether the method can be answered by a request for input.
    pub(crate) may_round: bool,
}

impl Client {
    /// Whether it is one of these, by either of its names.
    pub(crate) fn is_one_of(&self, names: &[String]) -> bool {
        [&self.name, &self.plain_name].into_iter().flatten().any(|name| names.contains(name))
    }

    /// What Consentry knows this client by, so that news find back to it: a session without its id being told; in the
    /// modern era, which has no sessions, the user's OAuth client, so that an open link is found again.
    pub(crate) fn reference(&self, principal: &Principal) -> Option<String> {
        let short = |prefix: &str, text: &str| {
            let hash = digest(&SHA256, format!("consentry-rmcp {prefix} {text}").as_bytes());
            format!("{prefix}-{}", BASE64_URL_SAFE_NO_PAD.encode(&hash.as_ref()[..18]))
        };
        match self.era {
            Era::Legacy => self.session.as_deref().map(|id| short("session", id)),
            Era::Modern => principal.client_id().map(|id| short("client", id)),
        }
    }
}

/// `sha256:` and a digest that is the same in whichever order an object's members come.
fn digest_of(arguments: Option<&JsonObject>) -> String {
    let mut text = String::new();
    if let Some(arguments) = arguments {
        write_object(arguments, &mut text);
    }
    format!("sha256:{}", BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes())))
}

fn write_object(object: &JsonObject, to: &mut String) {
    to.push('{');
    for (name, value) in object.iter().collect::<BTreeMap<_, _>>() {
        to.push_str(&Value::from(name.as_str()).to_string());
        to.push(':');
        write(value, to);
        to.push(',');
    }
    to.push('}');
}

fn write(value: &Value, to: &mut String) {
    match value {
        Value::Object(object) => write_object(object, to),
        Value::Array(list) => {
            to.push('[');
            for item in list {
                write(item, to);
                to.push(',');
            }
            to.push(']');
        }
        scalar => to.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: &Value) -> String {
        digest_of(value.as_object())
    }

    #[test]
    fn a_digest_is_of_the_arguments_and_not_of_their_order() {
        let one: Value = serde_json::from_str(r#"{ "a": { "x": 1, "y": [1, 2] }, "b": "2" }"#).unwrap();
        let same: Value = serde_json::from_str(r#"{ "b": "2", "a": { "y": [1, 2], "x": 1 } }"#).unwrap();
        assert_eq!(of(&one), of(&same));
        for other in [
            json!({ "a": { "x": 1, "y": [2, 1] }, "b": "2" }),
            json!({ "a": { "x": 1, "y": [1, 2] }, "b": 2 }),
            json!({ "a": { "x": 1, "y": [1, 2], "b": "2" } }),
            json!({}),
        ] {
            assert_ne!(of(&one), of(&other), "{other}");
        }
        assert_ne!(digest_of(None), of(&json!({})));
    }
}
