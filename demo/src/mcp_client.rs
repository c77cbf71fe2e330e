//! An MCP client in the terminal, for one person and any MCP server: calls a tool, and shows a link or a form when the server
//! asks for something.
//!
//! | here | what |
//! |---|---|
//! | `person` | being asked: what is shown, what is opened, what is answered |
//! | `form` | the questions of a form, and the check of what is typed |
//!
//! What it must never do: fetch a link, open one that the person has not agreed to, or show less than the whole of it.

mod form;
mod person;

use rmcp::{
    RoleClient,
    model::{
        CallToolRequestParams, CallToolResult, ContentBlock, Implementation, JsonObject, ProtocolVersion,
        Tool,
    },
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};

use self::person::Person;
use crate::console::{Console, printable};

/// Which revision of the protocol the client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Era {
    /// 2025-11-25: the server asks within the call.
    #[default]
    Legacy,
    /// 2026-07-28: the server answers that it needs input, and the client calls again.
    Modern,
}

impl Era {
    /// The revision.
    pub fn version(self) -> ProtocolVersion {
        match self {
            Self::Legacy => ProtocolVersion::V_2025_11_25,
            Self::Modern => ProtocolVersion::V_2026_07_28,
        }
    }

    fn of(version: &ProtocolVersion) -> Self {
        if *version >= ProtocolVersion::V_2026_07_28 { Self::Modern } else { Self::Legacy }
    }

    /// How a connection begins; without an era the server decides.
    fn lifecycle(era: Option<Self>) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match era {
            Some(Self::Legacy) => ClientLifecycleMode::Initialize,
            Some(Self::Modern) => ClientLifecycleMode::Discover { preferred_versions },
            None => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
        }
    }
}

/// A client that is connected to an MCP server.
pub struct McpClient {
    service: RunningService<RoleClient, Person>,
    era: Era,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The tool's result.
    Done(String),
    /// The tool failed, in the server's words.
    Failed(String),
    /// The person said no.
    Declined,
}

impl McpClient {
    /// Connects to the server at `url` with an access token for it, where it wants one; in this era, or in the one that the
    /// server prefers.
    ///
    /// # Errors
    /// When the server cannot be reached, refuses the token or does not speak the revision.
    pub async fn connect(
        url: &str,
        token: Option<&str>,
        era: Option<Era>,
        console: Console,
    ) -> Result<Self, ClientInitializeError> {
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        let config = token.into_iter().fold(config, StreamableHttpClientTransportConfig::auth_header);
        let transport = StreamableHttpClientTransport::from_config(config);
        let person = Person::new(console, era.unwrap_or(Era::Modern));
        let service = person.serve_with_lifecycle(transport, Era::lifecycle(era)).await?;
        let server = service.peer_info();
        let agreed = server.as_ref().map(|server| Era::of(&server.protocol_version));
        let called = server.as_ref().and_then(|server| server.server_info.as_ref()).map(name);
        service.service().knows(called.unwrap_or_else(|| "The server".to_owned()), url);
        let era = era.or(agreed).unwrap_or_default();
        Ok(Self { service, era })
    }

    /// The revision that is spoken.
    pub fn era(&self) -> Era {
        self.era
    }

    /// What the server calls itself.
    pub fn server(&self) -> String {
        self.service.service().server()
    }

    /// The tools that the server has.
    ///
    /// # Errors
    /// When it does not tell.
    pub async fn tools(&self) -> Result<Vec<Tool>, ServiceError> {
        self.service.list_all_tools().await
    }

    /// Calls a tool, and again while all that is missing is what the person does in the browser.
    ///
    /// # Errors
    /// When the call gets no result.
    pub async fn call(&self, tool: &str, arguments: Option<JsonObject>) -> Result<CallOutcome, ServiceError> {
        let person = self.service.service();
        loop {
            let mut wanted = CallToolRequestParams::new(tool.to_owned());
            wanted.arguments.clone_from(&arguments);
            let result = match self.service.call_tool(wanted).await {
                Err(ServiceError::McpError(error)) if self.era == Era::Legacy => {
                    match person.needs_first(&error).await {
                        Some(true) => continue,
                        Some(false) => return Ok(CallOutcome::Declined),
                        None => return Err(ServiceError::McpError(error)),
                    }
                }
                other => other?,
            };
            let text = text(&result);
            if !result.is_error.unwrap_or(false) {
                return Ok(CallOutcome::Done(text));
            }
            if person.has_declined() {
                return Ok(CallOutcome::Declined);
            }
            // A modern server cannot hold a call for as long as a person may need; it then tells the link again.
            if self.era == Era::Legacy || !person.has_shown_link_in(&text) {
                return Ok(CallOutcome::Failed(text));
            }
        }
    }

    /// Ends the session.
    pub async fn close(self) {
        let _ = self.service.cancel().await;
    }
}

fn name(info: &Implementation) -> String {
    let name = info.title.as_ref().unwrap_or(&info.name);
    printable(name).replace('\n', " ")
}

fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(ContentBlock::as_text).map(|block| printable(&block.text));
    texts.collect::<Vec<_>>().join("\n")
}

impl std::fmt::Debug for McpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpClient").field("era", &self.era).finish_non_exhaustive()
    }
}
