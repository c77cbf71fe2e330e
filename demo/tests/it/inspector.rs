//! `mcpdo`, the command line of MCP's Inspector, as a client of the demo's MCP server and of Consentry's own endpoint. Each command is a
//! process of its own; a daemon keeps the connection between them.

use std::process::Stdio;

use consentry_client::Prefer;
use demo::{Options, World};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    own::endpoint,
    program::{command, root},
    whole::browse,
};

const SCRIPT: &str = "node_modules/@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js";

/// An Inspector with a home of its own, and so a daemon of its own.
struct Inspector {
    home: TempDir,
    url: String,
}

impl Inspector {
    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = command("mcpdo.mjs");
        command.args([SCRIPT, "--format", "json"]).args(arguments).current_dir(root().join("tests/peers"));
        command.env("HOME", self.home.path()).env("MCP_INSPECTOR_SECRET_STORE", "memory");
        command.stdin(Stdio::null());
        command
    }

    /// What a command prints, of one that has succeeded.
    async fn says(&self, arguments: &[&str]) -> Value {
        let mut command = self.command(arguments);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {output:?}"))
    }

    async fn connects(&self, era: &str, elicit: &str, token: &str) -> Value {
        let header = format!("Authorization: Bearer {token}");
        self.says(&["connect", "--era", era, "--elicit", elicit, &self.url, "--header", &header]).await
    }

    async fn calls(&self, more: &[&str]) -> Value {
        self.says(&[&["--connection", self.url.as_str()], more].concat()).await
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        let _ = self.command(&["daemon", "stop"]).output();
    }
}

/// E5, E11, E16: in each era, and by the error, the Inspector finds the link, and has the result after the browser is done.
#[tokio::test(flavor = "multi_thread")]
async fn e5_e11_e16_the_inspector_is_asked_and_has_the_result() {
    for (era, prefer, origin) in [
        ("legacy", Prefer::Request, "server-request"),
        // It calls what an error asks for the same.
        ("legacy", Prefer::Error, "server-request"),
        ("modern", Prefer::Request, "input-required"),
    ] {
        let world = World::start(Options { prefer, ..Options::default() }).await.unwrap();
        let inspector = Inspector { home: tempfile::tempdir().unwrap(), url: world.mcp_server.url() };
        let connected = inspector.connects(era, "url", &world.token_for("alice").unwrap()).await;
        assert_eq!(connected["protocolEra"], era);
        let tools = inspector.calls(&["tools/list"]).await;
        assert_eq!(tools["tools"][0]["name"], "list_files", "{tools}");

        let pending = inspector.calls(&["tools/call", "list_files"]).await["elicitationPending"].clone();
        assert_eq!((&pending["mode"], &pending["origin"]), (&json!("url"), &json!(origin)), "{pending}");
        let link = pending["url"].as_str().unwrap();
        assert_eq!(browse(link, "alice", "octocat").await.page(), "connected");
        let id = pending["elicitationId"].as_str().unwrap();
        let result = inspector.calls(&["elicitation/respond", id, "--done"]).await;
        assert!(result.to_string().contains("octocat-notes.txt"), "{era} {result}");
        drop(inspector);
        world.stop().await;
    }
}

/// E5, E10, E11: of our own endpoint it finds the link and the form, and has the results.
#[tokio::test(flavor = "multi_thread")]
async fn e10_e11_the_inspector_connects_and_disconnects_at_our_own_endpoint() {
    for (era, origin) in [("legacy", "server-request"), ("modern", "input-required")] {
        let world = World::start(Options::default()).await.unwrap();
        let (url, token) = endpoint(&world);
        let inspector = Inspector { home: tempfile::tempdir().unwrap(), url };
        assert_eq!(inspector.connects(era, "both", &token).await["protocolEra"], era);
        let tools = inspector.calls(&["tools/list"]).await;
        assert_eq!(tools["tools"].as_array().unwrap().len(), 3, "{tools}");

        let pending = inspector.calls(&["tools/call", "connect"]).await["elicitationPending"].clone();
        assert_eq!((&pending["mode"], &pending["origin"]), (&json!("url"), &json!(origin)), "{pending}");
        assert_eq!(browse(pending["url"].as_str().unwrap(), "alice", "octocat").await.page(), "connected");
        let id = pending["elicitationId"].as_str().unwrap();
        let result = inspector.calls(&["elicitation/respond", id, "--done"]).await;
        assert!(result.to_string().contains("octocat"), "{era} {result}");
        let listed = inspector.calls(&["tools/call", "list_connections"]).await;
        assert!(listed.to_string().contains("octocat"), "{era} {listed}");

        let pending = inspector.calls(&["tools/call", "disconnect"]).await["elicitationPending"].clone();
        assert_eq!((&pending["mode"], &pending["origin"]), (&json!("form"), &json!(origin)), "{pending}");
        let id = pending["elicitationId"].as_str().unwrap();
        let fields = pending.to_string();
        assert!(fields.contains("\"confirm\"") && fields.contains("\"connection\""), "{pending}");
        let connection = pending["requestedSchema"]["properties"]["connection"]["oneOf"][0]["const"].clone();
        let connection = format!("connection:={connection}");
        let result = inspector.calls(&["elicitation/respond", id, "confirm:=true", &connection]).await;
        assert!(result.to_string().contains("provider_told"), "{era} {result}");
        drop(inspector);
        world.stop().await;
    }
}
