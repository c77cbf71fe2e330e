//! `demo client URL`: the client in the terminal, with MCP servers that are not its own, and what the specification asks of a client.

use std::{
    process::ExitCode,
    sync::{Arc, Mutex},
};

use consentry_client::Prefer;
use demo::{Options, World, console::Console, mcp_client::McpClient};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CustomNotification, ElicitationAction,
        ServerCapabilities, ServerConfig, ServerNotification,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::whole::{Screen, browse, terminal};

/// E48, E49, E56, E57, E59: who asks, and the whole link with its host set apart; nothing is opened without a yes; and the tool's
/// result when alice has finished in her own browser. In both eras.
#[tokio::test(flavor = "multi_thread")]
async fn e49_e57_the_terminal_shows_the_link_and_gets_the_result() {
    for era in ["legacy", "modern"] {
        let world = World::start(Options::default()).await.unwrap();
        let (url, token) = (world.mcp_server.url(), world.token_for("alice").unwrap());
        let screen = Screen::new();
        let call = [url.as_str(), "--tool", "list_files", "--era", era];
        let calling = tokio::spawn(terminal(&call, token.clone(), &["n"], &screen));
        let link = screen.link().await;
        let text = screen.shows("It leads to localhost").await;
        assert!(text.contains("example-files asks") && text.contains(&url), "{text}");
        assert!(text.contains("       ^^^^^^^^^\n"), "the host stands out: {text}");
        assert!(text.contains("Open it in your browser? [y/N, d declines]"), "{text}");
        assert_eq!(browse(&link, "alice", "octocat").await.page(), "connected");
        assert_eq!(calling.await.unwrap(), ExitCode::SUCCESS, "{era}");
        screen.shows("octocat-notes.txt").await;

        // Without a tool it lists them, in the era that the server prefers.
        let screen = Screen::new();
        assert_eq!(terminal(&[&url], token, &[], &screen).await, ExitCode::SUCCESS);
        let text = screen.shows("list_files").await;
        assert!(text.contains("(MCP 2026-07-28)"), "{text}");
        world.stop().await;
    }
}

/// E16, E50, E51: after `-32042` the links are shown, and the call is made again when the server says that they are done.
#[tokio::test(flavor = "multi_thread")]
async fn e51_the_terminal_opens_what_an_error_asks_for_and_calls_again() {
    let world = World::start(Options { prefer: Prefer::Error, ..Options::default() }).await.unwrap();
    let (url, token) = (world.mcp_server.url(), world.token_for("alice").unwrap());
    let screen = Screen::new();
    let call = [url.as_str(), "--tool", "list_files", "--era", "legacy"];
    let calling = tokio::spawn(terminal(&call, token.clone(), &["n"], &screen));
    let link = screen.link().await;
    assert_eq!(browse(&link, "alice", "octocat").await.page(), "connected");
    assert_eq!(calling.await.unwrap(), ExitCode::SUCCESS);
    screen.shows("octocat-notes.txt").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_at_the_terminal_ends_the_call() {
    let world = World::start(Options::default()).await.unwrap();
    for era in ["legacy", "modern"] {
        let (url, token) = (world.mcp_server.url(), world.token_for("alice").unwrap());
        let screen = Screen::new();
        let call = [url.as_str(), "--tool", "list_files", "--era", era];
        assert_eq!(terminal(&call, token, &["d"], &screen).await, ExitCode::FAILURE, "{era}");
        screen.shows("You declined").await;
    }
    world.stop().await;
}

/// Asks once, in the call, what a test wants; and tells what came back.
#[derive(Clone)]
struct Asks {
    request: Value,
    /// Sent before the question.
    news: Option<Value>,
    answered: Arc<Mutex<Vec<Result<Value, i32>>>>,
}

impl ServerHandler for Asks {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(news) = &self.news {
            let news = CustomNotification::new("notifications/elicitation/complete", Some(news.clone()));
            context.peer.send_notification(ServerNotification::CustomNotification(news)).await.unwrap();
        }
        let request = serde_json::from_value(self.request.clone()).unwrap();
        let answer = context.peer.create_elicitation_with_timeout(request, None).await;
        let answer = match answer {
            Ok(answer) if answer.action == ElicitationAction::Accept => {
                Ok(answer.content.unwrap_or_default())
            }
            Ok(answer) => Ok(json!(answer.action)),
            Err(rmcp::ServiceError::McpError(error)) => Err(error.code.0),
            Err(error) => panic!("{error}"),
        };
        self.answered.lock().unwrap().push(answer);
        Ok(serde_json::from_value::<CallToolResult>(json!({ "content": [] })).unwrap().into())
    }
}

/// What a client answers that has this console, and what it shows.
async fn answers(request: Value, console: impl Fn(Screen) -> Console) -> (Result<Value, i32>, String) {
    let asks = Asks { request, news: Some(json!({ "elicitationId": "unknown" })), answered: Arc::default() };
    let (service, listener) = (asks.clone(), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(
        move || Ok(service.clone()),
        sessions,
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().route_service("/mcp", service);
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let screen = Screen::new();
    let era = Some(demo::mcp_client::Era::Legacy);
    let client = McpClient::connect(&url, None, era, console(screen.clone())).await.unwrap();
    client.call("any", None).await.unwrap();
    client.close().await;
    serving.abort();
    let answer = asks.answered.lock().unwrap().remove(0);
    (answer, screen.text())
}

fn form(properties: &Value, required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "mode": "form", "message": "Which one?", "requestedSchema": schema })
}

/// E47, E61: a form is asked field by field, what does not fit is asked again, and what was chosen by its title is sent by its value.
#[tokio::test(flavor = "multi_thread")]
async fn e61_the_terminal_checks_a_form_before_it_is_sent() {
    let properties = json!({
        "account": { "type": "string", "title": "Account", "oneOf": [
            { "const": "c-1", "title": "octocat" }, { "const": "c-2", "title": "hubot" } ] },
        "count": { "type": "integer", "minimum": 1, "maximum": 5, "default": 2 },
    });
    // Too many, then everything again.
    let typed = |screen| Console::played(screen, &["2", "9", "2", ""]);
    let (answer, text) = answers(form(&properties, &["account"]), typed).await;
    assert_eq!(answer, Ok(json!({ "account": "c-2", "count": 2 })), "{text}");
    assert!(text.contains("1  octocat") && text.contains("count"), "{text}");
    assert!(!text.contains("is done"), "E50: news of something unknown are ignored: {text}");
}

/// E1: a form for a secret is not asked; E52: nor is any form where nobody could fill it in, which was not declared then.
#[tokio::test(flavor = "multi_thread")]
async fn e52_the_terminal_refuses_what_it_must_not_be_asked() {
    let secret = json!({ "password": { "type": "string", "title": "Your password" } });
    let (answer, text) = answers(form(&secret, &[]), |screen| Console::played(screen, &["hunter2"])).await;
    assert_eq!(answer, Ok(json!("decline")), "{text}");
    assert!(text.contains("Careful") && !text.contains("Your password:"), "{text}");

    let harmless = json!({ "name": { "type": "string" } });
    let (answer, _) = answers(form(&harmless, &[]), Console::plain).await;
    assert_eq!(answer, Err(-32602));
    let script =
        json!({ "mode": "url", "message": "Look", "elicitationId": "e-1", "url": "javascript:alert(1)" });
    let (answer, _) = answers(script, Console::plain).await;
    assert_eq!(answer, Err(-32602));
}

/// E60: what is odd about a link is told before it is opened.
#[tokio::test(flavor = "multi_thread")]
async fn e60_the_terminal_warns_of_an_odd_link() {
    let odd = json!({ "mode": "url", "message": "Look", "elicitationId": "e-1", "url": "http://connect.example.com@xn--exmple-cua.test/" });
    let (answer, text) = answers(odd, |screen| Console::played(screen, &["d"])).await;
    assert_eq!(answer, Ok(json!("decline")));
    assert_eq!(text.matches("Careful: ").count(), 3, "{text}");
}
