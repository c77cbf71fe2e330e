//! An MCP client that declares what a test wants, answers what a test wants, and remembers what it was sent.

use std::sync::{Arc, Mutex};

use consentry_elicitation::COMPLETE_METHOD;
use demo::mcp_client::Era;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
    CustomNotification, ElicitRequestParams, ElicitResult, ElicitationAction, Implementation,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, RequestContext, RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::sync::watch;

/// What the client does when it is asked.
#[derive(Clone, Copy)]
pub(crate) enum Answers {
    With(&'static str),
    Never,
    WithAnError,
}

#[derive(Clone)]
pub(crate) struct Person {
    declares: Value,
    era: Era,
    answers: Answers,
    pub(crate) asked: Arc<Mutex<Vec<Value>>>,
    pub(crate) told: watch::Sender<Vec<Value>>,
}

impl Person {
    pub(crate) fn declaring(declares: Value, era: Era) -> Self {
        let (asked, told) = (Arc::default(), watch::Sender::default());
        Self { declares, era, answers: Answers::With("accept"), asked, told }
    }

    pub(crate) fn answering(mut self, answers: Answers) -> Self {
        self.answers = answers;
        self
    }

    /// Waits until that many completion notifications have come.
    pub(crate) async fn is_told(&self, times: usize) -> Vec<Value> {
        self.told.subscribe().wait_for(|told| told.len() >= times).await.unwrap().clone()
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let can: ClientCapabilities =
            serde_json::from_value(json!({ "elicitation": self.declares })).unwrap();
        ClientConfig::new(can, Implementation::new("test", "1")).with_protocol_version(self.era.version())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(request).unwrap();
        let filled_in = filled_in(&request);
        self.asked.lock().unwrap().push(request);
        match self.answers {
            Answers::With("accept") => {
                let accepted = ElicitResult::new(ElicitationAction::Accept);
                Ok(filled_in.into_iter().fold(accepted, ElicitResult::with_content))
            }
            Answers::With("decline") => Ok(ElicitResult::new(ElicitationAction::Decline)),
            Answers::With(_) => Ok(ElicitResult::new(ElicitationAction::Cancel)),
            Answers::WithAnError => Err(ErrorData::internal_error("no", None)),
            Answers::Never => std::future::pending().await,
        }
    }

    async fn on_custom_notification(&self, news: CustomNotification, _: NotificationContext<RoleClient>) {
        assert_eq!(news.method, COMPLETE_METHOD);
        self.told.send_modify(|told| told.push(news.params.unwrap_or_default()));
    }
}

/// A form with the first choice of each list, and with yes.
fn filled_in(request: &Value) -> Option<Value> {
    let fields = request["requestedSchema"]["properties"].as_object()?;
    let value = |field: &Value| match field["oneOf"][0].get("const") {
        Some(first) => first.clone(),
        None => json!(true),
    };
    Some(fields.iter().map(|(name, field)| (name.clone(), value(field))).collect())
}

pub(crate) type Client = RunningService<RoleClient, Person>;

pub(crate) async fn connect(url: &str, token: &str, person: Person) -> Client {
    let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(token);
    let lifecycle = match person.era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        Era::Modern => ClientLifecycleMode::Discover { preferred_versions: vec![person.era.version()] },
    };
    let transport = StreamableHttpClientTransport::from_config(config);
    person.serve_with_lifecycle(transport, lifecycle).await.unwrap()
}

/// Calls the tool; rounds of the modern era are driven as clients do.
pub(crate) async fn list_files(client: &Client) -> Result<CallToolResult, ServiceError> {
    client.call_tool(CallToolRequestParams::new("list_files")).await
}

/// One round.
pub(crate) async fn once(client: &Client) -> CallToolResponse {
    client.call_tool_once(CallToolRequestParams::new("list_files")).await.unwrap()
}

pub(crate) fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(ContentBlock::as_text).map(|block| block.text.clone()).collect()
}
