//! Answers: a result, an acceptance without one, and what both eras say of this server.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use consentry_elicitation::Era;
use serde_json::{Map, Value, json};

use super::{Mcp, message::Id};

/// Where a modern result names its server (basic/index, "Per-response protocol fields").
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// `202`: it was taken, and there is nothing to say.
pub(super) fn accepted() -> Response {
    StatusCode::ACCEPTED.into_response()
}

/// The JSON-RPC message of a result.
pub(super) fn message(id: &Id, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.to_json(), "result": result })
}

/// The answer to a request.
pub(super) fn result(id: &Id, result: &Value) -> Response {
    Json(message(id, result)).into_response()
}

impl Mcp {
    /// Who answers. Nobody decides anything by it (M22).
    pub(super) fn server_info(&self) -> Value {
        json!({ "name": "consentry", "title": self.title(), "version": env!("CARGO_PKG_VERSION") })
    }

    /// A result as this era has it: the modern one says what kind it is and who answers.
    pub(super) fn in_era(&self, era: Era, mut result: Map<String, Value>) -> Value {
        if era == Era::Modern {
            result.entry("resultType").or_insert_with(|| "complete".into());
            let meta = result.entry("_meta").or_insert_with(|| json!({}));
            meta[SERVER_INFO] = self.server_info();
        }
        Value::Object(result)
    }

    /// What a model is told of this server as a whole.
    pub(super) fn instructions(&self) -> &'static str {
        "The user's connections to third-party accounts, which tools of other MCP servers use. Connecting happens in the \
         user's browser, at the provider; no password or token is ever needed here. Never ask the user for one."
    }
}
