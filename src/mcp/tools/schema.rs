//! What clients are told of the tools (server/tools, "Data Types").

use serde_json::{Value, json};

use super::Tool;

/// All of them, in their order.
pub(in crate::mcp) fn definitions() -> Value {
    Tool::ALL.into_iter().map(definition).collect()
}

fn definition(tool: Tool) -> Value {
    let (title, description, input, output, annotations) = match tool {
        Tool::List => (
            "List my connections",
            "Lists the accounts that the user has connected at third parties, for each MCP server that uses them: whose \
             account, with which permissions, and whether it works.",
            json!({ "type": "object", "additionalProperties": false }),
            object(&json!({ "connections": { "type": "array", "items": connection() } }), &["connections"]),
            json!({ "readOnlyHint": true, "openWorldHint": false }),
        ),
        Tool::Connect => (
            "Connect an account",
            "Connects an account of the user at a third party, for one MCP server. The user chooses from a form what is not \
             given here, and then connects in a browser, by a link. Takes as long as the user does.",
            properties(&json!({
                "server": { "type": "string", "description": "The id of the MCP server that is to use the account." },
                "provider": { "type": "string", "description": "The id of the third party." },
                "again": {
                    "type": "boolean",
                    "description": "True to connect again what is connected already, perhaps with another account.",
                },
            })),
            object(
                &json!({
                    "connected": { "type": "boolean" },
                    "changed": { "type": "boolean", "description": "False when it was connected before." },
                    "connection": connection(),
                }),
                &["connected", "changed", "connection"],
            ),
            json!({ "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true }),
        ),
        Tool::Disconnect => (
            "Disconnect an account",
            "Removes one of the user's connections: tools lose access at once, and the third party is told to end it. The \
             user chooses and confirms by a form where the client can show one.",
            properties(&json!({
                "connection": { "type": "string", "description": "The id of the connection, from list_connections." },
                "confirm": {
                    "type": "boolean",
                    "description": "True when the user has said that it is to be removed. Needed where no form can be shown.",
                },
            })),
            object(
                &json!({
                    "disconnected": { "type": "boolean" },
                    "connection": connection(),
                    "provider_told": {
                        "type": "string",
                        "enum": ["confirmed", "pending", "impossible", "untold", "shared", "nothing"],
                        "description": "What the third party knows of it.",
                    },
                }),
                &["disconnected", "connection", "provider_told"],
            ),
            json!({ "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": true }),
        ),
    };
    json!({
        "name": tool.name(),
        "title": title,
        "description": description,
        "inputSchema": input,
        "outputSchema": output,
        "annotations": annotations,
    })
}

/// An input without anything that must be given.
fn properties(properties: &Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// As `shown` writes one.
fn connection() -> Value {
    let text = json!({ "type": "string" });
    let named = object(&json!({ "id": text, "name": text }), &["id", "name"]);
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let maybe = json!({ "type": ["string", "null"] });
    object(
        &json!({
            "id": text,
            "server": named,
            "provider": named,
            "account": maybe,
            "works": { "type": "boolean" },
            "status": { "type": "string", "enum": ["active", "needs_reconnect", "quarantined"] },
            "permissions": texts,
            "missing_permissions": texts,
            "connected_at": text,
            "last_used_at": maybe,
        }),
        &[
            "id",
            "server",
            "provider",
            "account",
            "works",
            "status",
            "permissions",
            "missing_permissions",
            "connected_at",
            "last_used_at",
        ],
    )
}
