//! An MCP server on rmcp with one tool, which lists the user's files at a third party. Between the markers stands what was
//! added to it for Consentry; README.md tells about each.

use std::io;

use axum::Router;
// consentry: begin
use consentry_rmcp::{Call, Consentry, Endpoint, bearer::Bearer, client::Client, grant};
// consentry: end
use rmcp::{
    ErrorData, ServerHandler,
    model::{
        CallToolResponse, CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig,
    },
    tool, tool_handler, tool_router,
};
use serde::Deserialize;

/// What the server needs to know.
#[derive(Clone)]
pub struct Settings {
    /// The URL of its MCP endpoint.
    pub resource: String,
    /// The authorization server of its users.
    pub issuer: String,
    /// Consentry's internal listener.
    pub consentry: String,
    /// The key for it.
    pub api_key: String,
    /// The API of the third party.
    pub files: String,
}

/// The server; one for each session.
#[derive(Clone)]
struct Files {
    http: reqwest::Client,
    api: String,
    // consentry: begin
    consentry: Consentry,
    // consentry: end
}

#[derive(Deserialize)]
struct Listing {
    owner: String,
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    name: String,
}

#[tool_router]
impl Files {
    #[tool(description = "List the files in your Example Files account")]
    async fn list_files(
        &self,
        // consentry: begin
        call: Call,
        // consentry: end
    ) -> Result<CallToolResponse, ErrorData> {
        // consentry: begin
        let account = grant!(self.consentry.grant(call, "example-files").await);
        let token = account.bearer().unwrap_or_default();
        // consentry: end
        let answer = self.http.get(format!("{}/files", self.api)).bearer_auth(token).send().await;
        let answer = answer.map_err(|_| unreachable_api())?;
        // consentry: begin
        if answer.status() == reqwest::StatusCode::UNAUTHORIZED {
            self.consentry.refused(&account).await;
        }
        // consentry: end
        let listing: Listing = answer.json().await.map_err(|_| unreachable_api())?;
        let names: Vec<String> = listing.files.into_iter().map(|file| file.name).collect();
        let text = format!("{} has: {}", listing.owner, names.join(", "));
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn unreachable_api() -> ErrorData {
    ErrorData::internal_error("Example Files cannot be reached at the moment", None)
}

#[tool_handler]
impl ServerHandler for Files {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("example-files", env!("CARGO_PKG_VERSION")))
    }
}

/// The whole server, to be served by axum.
///
/// # Errors
///
/// When the settings cannot be used.
pub fn app(settings: Settings) -> io::Result<Router> {
    #[expect(clippy::disallowed_methods, reason = "this server's own client")]
    let http = reqwest::Client::new();
    // consentry: begin
    let bearer = Bearer::builder(settings.resource, settings.issuer).scopes(["mcp"]).name("Example Files");
    let bearer = bearer.build().map_err(io::Error::other)?;
    let client = Client::new(settings.consentry, settings.api_key).map_err(io::Error::other)?;
    let consentry = Consentry::new(client);
    // consentry: end
    let files = Files {
        http,
        api: settings.files,
        // consentry: begin
        consentry,
        // consentry: end
    };
    // consentry: begin
    Ok(Endpoint::new(bearer).router(move || Ok(files.clone())))
    // consentry: end
}
