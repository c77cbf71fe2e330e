//! An MCP client in the terminal, for one person: calls a tool, and shows a link when the server asks for something
//! that has to happen in a browser.
//!
//! What it must never do: open a link that the person has not agreed to, or show less than the whole of it.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use consentry_elicitation::{COMPLETE_METHOD, Link};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
        CustomNotification, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
        Implementation, ProtocolVersion, UrlElicitationCapability,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext,
        RunningService, ServiceError,
    },
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};

use tokio::sync::Notify;

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
}

/// A client that is connected to an MCP server.
pub struct McpClient {
    service: RunningService<RoleClient, Person>,
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
    /// Connects to the server at `url` with an access token for it.
    ///
    /// # Errors
    /// When the server cannot be reached, refuses the token or does not speak the revision.
    pub async fn connect(
        url: &str,
        token: &str,
        era: Era,
        console: Console,
    ) -> Result<Self, ClientInitializeError> {
        let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(token);
        let transport = StreamableHttpClientTransport::from_config(config);
        let lifecycle = match era {
            Era::Legacy => ClientLifecycleMode::Initialize,
            Era::Modern => ClientLifecycleMode::Discover { preferred_versions: vec![era.version()] },
        };
        let person =
            Person { console, era, links: Mutex::default(), declined: Mutex::default(), done: Notify::new() };
        Ok(Self { service: person.serve_with_lifecycle(transport, lifecycle).await? })
    }

    /// Calls a tool without arguments, and again while all that is missing is what the person does in the browser.
    ///
    /// # Errors
    /// When the call gets no result.
    pub async fn call(&self, tool: &'static str) -> Result<CallOutcome, ServiceError> {
        loop {
            let result = self.service.call_tool(CallToolRequestParams::new(tool)).await?;
            let text = text(&result);
            let person = self.service.service();
            if !result.is_error.unwrap_or(false) {
                return Ok(CallOutcome::Done(text));
            }
            if *person.declined.lock().unwrap_or_else(PoisonError::into_inner) {
                return Ok(CallOutcome::Declined);
            }
            // A modern server cannot hold a call for as long as a person may need; it then tells the link again.
            if person.era == Era::Legacy || !person.has_shown_link_in(&text) {
                return Ok(CallOutcome::Failed(text));
            }
        }
    }

    /// Ends the session.
    pub async fn close(self) {
        let _ = self.service.cancel().await;
    }
}

fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(ContentBlock::as_text).map(|block| printable(&block.text));
    texts.collect::<Vec<_>>().join("\n")
}

/// The person at the terminal, as the server meets them.
struct Person {
    console: Console,
    era: Era,
    /// The links that were shown.
    links: Mutex<HashSet<String>>,
    declined: Mutex<bool>,
    /// Something that was asked for is done.
    done: Notify,
}

impl Person {
    fn has_shown_link_in(&self, text: &str) -> bool {
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.iter().any(|link| text.contains(link.as_str()))
    }

    async fn asked(&self, message: &str, link: &Link) -> ElicitationAction {
        let first = self.links.lock().unwrap_or_else(PoisonError::into_inner).insert(link.text().to_owned());
        if !first {
            self.console.say(&self.console.faint("  Still waiting for the same link."));
            return ElicitationAction::Accept;
        }
        self.show(message, link);
        let question = "  Open it in your browser? [y/N, d declines]";
        let answer = tokio::select! {
            answer = self.console.ask(question) => answer,
            // The person was quicker in the browser.
            () = self.done.notified() => return ElicitationAction::Accept,
        };
        let action = match answer.as_deref() {
            Some("y" | "yes") => self.open(link),
            Some("d") => ElicitationAction::Decline,
            // The person opens it on their own, here or elsewhere.
            _ => ElicitationAction::Accept,
        };
        if action == ElicitationAction::Decline {
            *self.declined.lock().unwrap_or_else(PoisonError::into_inner) = true;
        } else {
            self.console.say("  Waiting for you to finish in the browser ... (Ctrl-C stops everything)");
        }
        action
    }

    fn open(&self, link: &Link) -> ElicitationAction {
        if let Err(error) = self.console.open(link) {
            self.console
                .say(&format!("  No browser could be opened ({error}). Please open the link yourself."));
        }
        ElicitationAction::Accept
    }

    fn show(&self, message: &str, link: &Link) {
        let indented = |text: &str| text.replace('\n', "\n    ");
        let console = &self.console;
        console
            .say(&format!("  The server asks: {}\n", console.strong(&printable(message).replace('\n', " "))));
        console.say(&format!("    {}\n", indented(&console.link(link))));
        console.say(&format!("  It leads to {}.", console.strong(link.host())));
        for warning in link.warnings() {
            console.say(&format!("  {}", console.warning(&format!("Careful: {warning}."))));
        }
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let links_only = ElicitationCapability::new().with_url(UrlElicitationCapability::default());
        let mut can = ClientCapabilities::default();
        can.elicitation = Some(links_only);
        let name = Implementation::new("consentry-demo", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(can, name.with_title("Demo client")).with_protocol_version(self.era.version())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::UrlElicitationParams { message, url, .. } = request else {
            return Err(ErrorData::invalid_params("only URL mode was declared", None));
        };
        let link = Link::parse(&url)
            .map_err(|error| ErrorData::invalid_params(format!("the link is {error}"), None))?;
        Ok(ElicitResult::new(self.asked(&message, &link).await))
    }

    async fn on_custom_notification(&self, news: CustomNotification, _: NotificationContext<RoleClient>) {
        if news.method == COMPLETE_METHOD {
            let told = self.console.faint(&format!("({COMPLETE_METHOD})"));
            self.console.say(&format!("\n  The server says that it is done. {told}"));
            self.done.notify_waiters();
        }
    }
}

impl std::fmt::Debug for McpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpClient").field("era", &self.service.service().era).finish_non_exhaustive()
    }
}
