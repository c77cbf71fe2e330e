//! `demo client URL`: the client in the terminal, for any MCP server.

use std::process::ExitCode;

use rmcp::model::JsonObject;

use super::{say_result, say_without};
use crate::{
    console::{Console, printable},
    mcp_client::{CallOutcome, Era, McpClient},
};

/// Where the access token for the server is looked for.
const TOKEN: &str = "MCP_TOKEN";

/// Calls a tool of an MCP server, or lists its tools.
#[derive(Clone, Debug, clap::Args)]
pub struct Call {
    /// The server's MCP endpoint (streamable HTTP). An access token, where it wants one, is taken from the variable MCP_TOKEN
    pub url: url::Url,
    /// The tool to call; without one the tools are listed
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// The tool's arguments, as a JSON object
    #[arg(long, value_name = "JSON", requires = "tool", value_parser = object)]
    pub arguments: Option<JsonObject>,
    /// The protocol revision: 2025-11-25 or 2026-07-28; left out, what the server prefers
    #[arg(long, value_enum)]
    pub era: Option<Era>,
    /// The access token; the tests' way, for what stands on a command line can be read by others
    #[arg(skip)]
    pub token: Option<String>,
}

fn object(text: &str) -> Result<JsonObject, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

/// Succeeds when the tool gave its result, or when the tools were listed.
pub(super) async fn call(call: &Call, console: &Console) -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "a command line's own variable")]
    let token = call.token.clone().or_else(|| std::env::var(TOKEN).ok());
    let connected = McpClient::connect(call.url.as_str(), token.as_deref(), call.era, console.clone()).await;
    let client = match connected {
        Ok(client) => client,
        Err(error) => {
            let why = printable(&error.to_string());
            console.say(&format!("  {} {why}", console.warning("The MCP server was not reached:")));
            console.say(&format!("  Where it wants an access token, {TOKEN} must hold one."));
            return ExitCode::FAILURE;
        }
    };
    let version = client.era().version();
    console.say(&format!("\n  {} (MCP {})", console.strong(&client.server()), version.as_str()));
    let ended = match &call.tool {
        Some(tool) => use_tool(&client, tool, call.arguments.clone(), console).await,
        None => list(&client, console).await,
    };
    client.close().await;
    ended
}

async fn list(client: &McpClient, console: &Console) -> ExitCode {
    let tools = match client.tools().await {
        Ok(tools) => tools,
        Err(error) => return failed("It does not tell its tools:", &error.to_string(), console),
    };
    console.say("\n  Its tools; --tool NAME calls one:\n");
    for tool in tools {
        let what = tool.description.as_deref().unwrap_or_default();
        let line = format!("{}  {}", console.strong(&tool.name), console.faint(&printable(what)));
        console.say(&format!("    {}", line.replace('\n', " ")));
    }
    ExitCode::SUCCESS
}

async fn use_tool(
    client: &McpClient,
    tool: &str,
    arguments: Option<JsonObject>,
    console: &Console,
) -> ExitCode {
    console.say(&format!("  Calling {} ...\n", console.strong(tool)));
    match client.call(tool, arguments).await {
        Ok(CallOutcome::Done(text)) => {
            say_result(&text, console);
            ExitCode::SUCCESS
        }
        Ok(other) => {
            say_without(&other, console);
            ExitCode::FAILURE
        }
        Err(error) => failed("The call got no result:", &error.to_string(), console),
    }
}

fn failed(what: &str, why: &str, console: &Console) -> ExitCode {
    console.say(&format!("  {} {}", console.warning(what), printable(why)));
    ExitCode::FAILURE
}
