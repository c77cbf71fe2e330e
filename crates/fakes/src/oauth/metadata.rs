//! The part of RFC 8414 metadata that both fakes have.

use serde_json::{Map, Value, json};

use super::{Core, Par};
use crate::script::merge;

impl Core {
    /// The document with each fake's own members and then the test's changes on top.
    pub(crate) fn metadata(&self, own: Value) -> Value {
        let settings = self.settings();
        let mut document = Map::new();
        let mut put = |name: &str, value: Value| document.insert(name.to_owned(), value);
        put("issuer", json!(self.issuer));
        put("authorization_endpoint", json!(self.url("/authorize")));
        put("token_endpoint", json!(self.url("/token")));
        put("revocation_endpoint", json!(self.url("/revoke")));
        put("scopes_supported", json!(settings.scopes));
        put("response_types_supported", json!(["code"]));
        put("response_modes_supported", json!(["query", "form_post"]));
        put("grant_types_supported", json!(["authorization_code", "refresh_token"]));
        put("code_challenge_methods_supported", json!(["S256"]));
        put(
            "token_endpoint_auth_methods_supported",
            json!(["client_secret_basic", "client_secret_post", "none"]),
        );
        put("authorization_response_iss_parameter_supported", json!(settings.issuer_in_response));
        if settings.par != Par::Off {
            put("pushed_authorization_request_endpoint", json!(self.url("/par")));
            put("require_pushed_authorization_requests", json!(settings.par == Par::Required));
        }
        if let Value::Object(own) = own {
            document.extend(own);
        }
        merge(&mut document, settings.metadata_changes);
        Value::Object(document)
    }
}
