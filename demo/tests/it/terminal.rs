//! `demo client URL`: the client in the terminal, with MCP servers that are not its own, and what the specification asks of a client.

use std::{
    process::ExitCode,
    sync::{Arc, Mutex},
};

use consentry_client::Prefer;
use consentry_elicitation::COMPLETE_METHOD;
use consentry_fakes::{Listen, Sink};
use demo::{
    Options, World,
    console::Console,
    mcp_client::{Era, McpClient},
};
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

/// E48, E49, E57, E59: who asks, and the whole link with its host set apart; and the tool's result when alice has finished in her own
/// browser. In both eras.
#[tokio::test(flavor = "multi_thread")]
async fn e48_e49_e57_e59_the_terminal_shows_the_link_and_gets_the_result() {
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

/// Asks in the call what a test wants, one after the other; and tells what came back.
#[derive(Clone)]
struct Asks {
    requests: Vec<Value>,
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
        // Nobody has asked for that (E50).
        let news = CustomNotification::new(COMPLETE_METHOD, Some(json!({ "elicitationId": "unknown" })));
        context.peer.send_notification(ServerNotification::CustomNotification(news)).await.unwrap();
        for request in &self.requests {
            let request = serde_json::from_value(request.clone()).unwrap();
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
        }
        Ok(serde_json::from_value::<CallToolResult>(json!({ "content": [] })).unwrap().into())
    }
}

type Answer = Result<Value, i32>;

/// What a client with somebody at its console who types this answers to a question, what it shows, and what it opens.
async fn answers(request: Value, typed: &[&str]) -> (Answer, String, Vec<String>) {
    let screen = Screen::new();
    let console = Console::played(screen.clone(), typed);
    let answer = all(vec![request], console.clone()).await.remove(0);
    (answer, screen.text(), console.opened())
}

/// What a client with this console answers, one after the other.
async fn all(requests: Vec<Value>, console: Console) -> Vec<Answer> {
    let asks = Asks { requests, answered: Arc::default() };
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
    let client = McpClient::connect(&url, None, Some(Era::Legacy), console).await.unwrap();
    client.call("any", None).await.unwrap();
    client.close().await;
    serving.abort();
    std::mem::take(&mut *asks.answered.lock().unwrap())
}

fn link(url: &str) -> Value {
    json!({ "mode": "url", "message": "Look", "elicitationId": "e-1", "url": url })
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
    let (answer, text, _) = answers(form(&properties, &["account"]), &["2", "9", "2", ""]).await;
    assert_eq!(answer, Ok(json!({ "account": "c-2", "count": 2 })), "{text}");
    assert!(text.contains("1  octocat") && text.contains("count"), "{text}");
    assert!(!text.contains("is done"), "E50: news of something unknown are ignored: {text}");
}

/// E1: a form for a secret is not asked; E52: nor is any form where nobody could fill it in, which was not declared then.
#[tokio::test(flavor = "multi_thread")]
async fn e1_e52_the_terminal_refuses_what_it_must_not_be_asked() {
    let secret = json!({ "password": { "type": "string", "title": "Your password" } });
    let (answer, text, _) = answers(form(&secret, &[]), &["hunter2"]).await;
    assert_eq!(answer, Ok(json!("decline")), "{text}");
    assert!(text.contains("Careful") && !text.contains("Your password:"), "{text}");

    let harmless = form(&json!({ "name": { "type": "string" } }), &[]);
    let refused = all(vec![harmless, link("javascript:alert(1)")], Console::plain(Screen::new())).await;
    assert_eq!(refused, [Err(-32602), Err(-32602)]);
}

/// E55, E56, E60: what is odd about a link is told; it is opened after a yes and not otherwise, and never fetched.
#[tokio::test(flavor = "multi_thread")]
async fn e55_e56_e60_the_terminal_warns_and_opens_after_a_yes_alone() {
    let odd = "http://connect.example.com@xn--exmple-cua.test/";
    let (answer, text, opened) = answers(link(odd), &["d"]).await;
    assert_eq!((answer, opened), (Ok(json!("decline")), vec![]));
    assert_eq!(text.matches("Careful: ").count(), 3, "{text}");

    let page = Sink::start(Listen::default()).await.unwrap();
    let there = format!("{}/connect", page.base_url());
    for (typed, expected) in [("", vec![]), ("n", vec![]), ("d", vec![]), ("y", vec![there.clone()])] {
        let (_, text, opened) = answers(link(&there), &[typed]).await;
        assert_eq!(opened, expected, "{typed}: {text}");
        assert!(text.contains(&there), "{text}");
    }
    assert!(page.log().is_empty(), "the played browser opens nothing, and nobody else did");
}

/// E54: a server that asks again and again is not answered any more.
#[tokio::test(flavor = "multi_thread")]
async fn e54_the_terminal_is_asked_so_often_and_not_more() {
    let many = (0..22).map(|number| link(&format!("https://connect.example.com/{number}"))).collect();
    let answers = all(many, Console::plain(Screen::new())).await;
    let cancelled = answers.iter().filter(|answer| **answer == Ok(json!("cancel"))).count();
    assert_eq!((answers.len(), cancelled), (22, 2), "{answers:?}");
}
