//! The tool. Everything about connecting is one call; the rest is what the tool is for.

use std::fmt::Write;

use consentry_client::Grant;
use consentry_rmcp::{Call, Consentry, Need, grant};
use rmcp::{
    ErrorData, ServerHandler,
    model::{
        CallToolResponse, CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig,
    },
    tool, tool_handler, tool_router,
};
use serde::{Deserialize, Serialize};

/// The MCP server, one for each session.
#[derive(Clone)]
pub(super) struct Files {
    pub(super) consentry: Consentry,
    pub(super) http: reqwest::Client,
    /// The API of Example Files.
    pub(super) api: String,
}

/// What Example Files answers.
#[derive(Deserialize, Serialize)]
struct Listing {
    owner: String,
    files: Vec<File>,
}

#[derive(Deserialize, Serialize)]
struct File {
    name: String,
}

#[tool_router]
impl Files {
    #[tool(
        description = "List the files in your Example Files account",
        annotations(title = "List files", read_only_hint = true)
    )]
    async fn list_files(&self, call: Call) -> Result<CallToolResponse, ErrorData> {
        let need = Need::new("example-files").why("Connect Example Files to list your files.");
        let account = grant!(self.consentry.grant(call, need).await);
        Ok(self.list(&account).await.into())
    }
}

impl Files {
    async fn list(&self, grant: &Grant) -> CallToolResult {
        let token = grant.bearer().unwrap_or_default();
        let answer = self.http.get(format!("{}/files", self.api)).bearer_auth(token).send().await;
        match answer.and_then(reqwest::Response::error_for_status) {
            Ok(answer) => match answer.json::<Listing>().await {
                Ok(listing) => listing.into(),
                Err(_) => failed("Example Files gave an answer that cannot be read."),
            },
            Err(error) if error.status() == Some(reqwest::StatusCode::UNAUTHORIZED) => {
                self.consentry.refused(grant).await;
                failed("Example Files no longer accepts this connection. Call the tool again.")
            }
            Err(_) => failed("Example Files cannot be reached at the moment. Try again later."),
        }
    }
}

impl From<Listing> for CallToolResult {
    fn from(listing: Listing) -> Self {
        let mut text = format!("The files of {} at Example Files:", listing.owner);
        for File { name } in &listing.files {
            let _ = write!(text, "\n- {name}");
        }
        let mut result = Self::success(vec![ContentBlock::text(text)]);
        result.structured_content = serde_json::to_value(listing).ok();
        result
    }
}

fn failed(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

#[tool_handler]
impl ServerHandler for Files {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("example-files", env!("CARGO_PKG_VERSION")))
    }
}
