//! What a client says of itself, where it says it: once for a connection in the legacy era, in every request in the
//! modern one. Nothing is remembered between requests of the modern era (M18, M20), and who the client claims to be is
//! not read at all (M22).

use serde_json::Value;

use crate::form::escaped;
use crate::{Capability, Client, Era, ProtocolVersion, RpcError};

/// Where a modern request names its revision.
pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Where a modern request declares what its client can do.
pub const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

impl Capability {
    /// What the parameters of `initialize` declare for the connection (legacy era).
    ///
    /// # Errors
    ///
    /// `-32602` when `capabilities` is missing or cannot be read.
    ///
    /// ```
    /// use consentry_elicitation::Capability;
    /// use serde_json::json;
    ///
    /// let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} } });
    /// assert_eq!(Capability::of_connection(&params)?, Capability::FORM);
    /// assert!(Capability::of_connection(&json!({})).is_err());
    /// # Ok::<(), consentry_elicitation::RpcError>(())
    /// ```
    pub fn of_connection(initialize: &Value) -> Result<Self, RpcError> {
        declared(initialize.get("capabilities"), "/capabilities")
    }
}

impl Client {
    /// The client of a modern request, which says all of itself.
    ///
    /// # Errors
    ///
    /// `-32602` when the revision or the capabilities are missing or cannot be read, or the revision is none of the
    /// modern era. On HTTP the status is 400 (M19).
    ///
    /// ```
    /// use consentry_elicitation::{Capability, Client, ProtocolVersion};
    /// use serde_json::json;
    ///
    /// let params = json!({
    ///     "name": "list_files",
    ///     "_meta": {
    ///         "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    ///         "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "url": {} } },
    ///     },
    /// });
    /// let client = Client::of_request("tools/call", &params)?;
    /// assert_eq!(client.protocol_version, ProtocolVersion::V2026_07_28);
    /// assert_eq!(client.elicitation, Capability::URL);
    /// assert_eq!(client.target.as_deref(), Some("list_files"));
    /// # Ok::<(), consentry_elicitation::RpcError>(())
    /// ```
    pub fn of_request(method: &str, params: &Value) -> Result<Self, RpcError> {
        let Some(meta) = params.get("_meta").filter(|meta| meta.is_object()) else {
            return Err(RpcError::invalid_params("/_meta: is missing or not an object"));
        };
        let at = |key: &str| format!("/_meta/{}", escaped(key));
        let version = meta.get(VERSION_KEY).and_then(Value::as_str).and_then(|text| text.parse().ok());
        let Some(version) = version.filter(|version: &ProtocolVersion| version.era() == Era::Modern) else {
            let why = "is missing or names no revision in which requests declare it";
            return Err(RpcError::invalid_params(format!("{}: {why}", at(VERSION_KEY))));
        };
        let elicitation = declared(meta.get(CAPABILITIES_KEY), &at(CAPABILITIES_KEY))?;
        let client = Self::new(version, elicitation, method);
        let target = ["name", "uri"].iter().find_map(|key| params.get(key)?.as_str());
        Ok(target.map_or(client.clone(), |target| client.target(target)))
    }
}

fn declared(capabilities: Option<&Value>, at: &str) -> Result<Capability, RpcError> {
    let Some(capabilities) = capabilities.and_then(Value::as_object) else {
        return Err(RpcError::invalid_params(format!("{at}: is missing or not an object")));
    };
    Capability::declared(capabilities.get("elicitation"))
        .map_err(|error| RpcError::invalid_params(format!("{at}/elicitation: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(version: &Value, capabilities: &Value) -> Value {
        json!({ "name": "t", "_meta": { VERSION_KEY: version, CAPABILITIES_KEY: capabilities } })
    }

    #[test]
    fn e45_e46_a_connection_declares_once() {
        for (capabilities, expected) in [
            (json!({}), Capability::NONE),
            (json!({ "elicitation": {} }), Capability::FORM),
            (json!({ "elicitation": { "form": {}, "url": {} }, "roots": {} }), Capability::BOTH),
        ] {
            assert_eq!(Capability::of_connection(&json!({ "capabilities": capabilities })), Ok(expected));
        }
        let broken =
            Capability::of_connection(&json!({ "capabilities": { "elicitation": true } })).unwrap_err();
        assert_eq!(broken.code, -32602);
        assert!(broken.message.starts_with("/capabilities/elicitation: "), "{}", broken.message);
    }

    #[test]
    fn m18_m20_each_request_declares_for_itself() {
        let version = json!("2026-07-28");
        for (capabilities, expected) in [
            (json!({}), Capability::NONE),
            (json!({ "elicitation": {} }), Capability::FORM),
            (json!({ "elicitation": { "url": {} } }), Capability::URL),
        ] {
            let client = Client::of_request("tools/call", &request(&version, &capabilities)).unwrap();
            assert_eq!(client.elicitation, expected);
        }
    }

    #[test]
    fn m19_a_request_without_what_it_must_declare_is_malformed() {
        let none = json!({});
        for (params, at) in [
            (json!({ "name": "t" }), "/_meta: "),
            (json!({ "_meta": [] }), "/_meta: "),
            (request(&Value::Null, &none), "/_meta/io.modelcontextprotocol~1protocolVersion: "),
            (request(&json!("2025-11-25"), &none), "/_meta/io.modelcontextprotocol~1protocolVersion: "),
            (request(&json!("draft"), &none), "/_meta/io.modelcontextprotocol~1protocolVersion: "),
            (
                request(&json!("2026-07-28"), &Value::Null),
                "/_meta/io.modelcontextprotocol~1clientCapabilities: ",
            ),
            (
                request(&json!("2026-07-28"), &json!({ "elicitation": { "url": 1 } })),
                "/_meta/io.modelcontextprotocol~1clientCapabilities/elicitation: ",
            ),
        ] {
            let error = Client::of_request("tools/call", &params).unwrap_err();
            assert_eq!(error.code, -32602, "{params}");
            assert!(error.message.starts_with(at), "{}", error.message);
        }
    }
}
