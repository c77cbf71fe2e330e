//! An MCP client written by the letter of both revisions, over plain HTTP. Everything that it is sent goes through the
//! strict model of `consentry-elicitation`; one violation fails the test.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use consentry_elicitation::{Capability, Model, ProtocolVersion};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinHandle};

use crate::http;

/// What the client does when it is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    With(&'static str),
    WithAnError,
    Never,
}

pub(crate) const ACCEPT: Answers = Answers::With("accept");

pub(crate) struct Client {
    url: String,
    token: String,
    version: &'static str,
    /// The capability `elicitation`; null is none.
    declares: Value,
    session: Option<String>,
    next_id: AtomicU64,
    /// The parameters of what it was asked, in each era.
    pub(crate) asked: watch::Sender<Vec<Value>>,
    /// Completion notifications on the standalone stream.
    pub(crate) told: watch::Sender<Vec<Value>>,
    /// Requests on the standalone stream, which must not be.
    pub(crate) standalone: Arc<Mutex<Vec<Value>>>,
    listener: Option<JoinHandle<()>>,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Called {
    /// The last message: a response with `result` or `error`.
    pub(crate) message: Value,
    pub(crate) status: u16,
    /// Requests sent for it, the first included.
    pub(crate) legs: usize,
    /// Bodies of all rounds.
    pub(crate) rounds: Vec<Value>,
}

impl Called {
    pub(crate) fn text(&self) -> &str {
        self.message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{}", self.message))
    }

    pub(crate) fn is_error(&self) -> bool {
        self.message["result"]["isError"] == true
    }

    pub(crate) fn code(&self) -> i64 {
        self.message["error"]["code"].as_i64().unwrap_or_else(|| panic!("{}", self.message))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

impl Client {
    fn new(url: &str, token: &str, declares: Value, version: &'static str) -> Self {
        Self {
            url: url.to_owned(),
            token: token.to_owned(),
            version,
            declares,
            session: None,
            next_id: AtomicU64::new(1),
            asked: watch::Sender::default(),
            told: watch::Sender::default(),
            standalone: Arc::default(),
            listener: None,
        }
    }

    pub(crate) async fn modern(url: &str, token: &str, declares: Value) -> Self {
        Self::new(url, token, declares, "2026-07-28")
    }

    /// Shakes hands and opens the standalone stream.
    pub(crate) async fn legacy(url: &str, token: &str, declares: Value) -> Self {
        Self::legacy_of(url, token, declares, "2025-11-25").await
    }

    pub(crate) async fn legacy_of(url: &str, token: &str, declares: Value, version: &'static str) -> Self {
        let mut client = Self::new(url, token, declares, version);
        let mut capabilities = json!({});
        if !client.declares.is_null() {
            capabilities["elicitation"] = client.declares.clone();
        }
        let params = json!({ "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": { "name": "strict", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = client.post(&body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        client.session = Some(response.headers()["mcp-session-id"].to_str().unwrap().to_owned());
        let mut stream = Stream::new(response);
        assert_eq!(stream.next().await.unwrap()["result"]["protocolVersion"], version);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.post(&ready).send().await.unwrap().status(), 202);
        client.listen().await;
        client
    }

    pub(crate) fn session(&self) -> &str {
        self.session.as_deref().unwrap()
    }

    async fn listen(&mut self) {
        let response = self.with_headers(http().get(&self.url)).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let (told, standalone) = (self.told.clone(), Arc::clone(&self.standalone));
        self.listener = Some(tokio::spawn(async move {
            let mut stream = Stream::new(response);
            while let Some(message) = stream.next().await {
                if message.get("id").is_some() {
                    standalone.lock().unwrap().push(message);
                } else if message["method"] == "notifications/elicitation/complete" {
                    told.send_modify(|told| told.push(message["params"].clone()));
                }
            }
        }));
    }

    fn with_headers(&self, request: RequestBuilder) -> RequestBuilder {
        let mut request = request
            .bearer_auth(&self.token)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", self.version);
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        request
    }

    pub(crate) fn post(&self, body: &Value) -> RequestBuilder {
        let mut request = self.with_headers(http().post(&self.url)).json(body);
        if self.is_modern() {
            request = request.header("mcp-method", body["method"].as_str().unwrap_or_default());
            if let Some(name) = body["params"]["name"].as_str().or(body["params"]["uri"].as_str()) {
                request = request.header("mcp-name", name);
            }
        }
        request
    }

    fn is_modern(&self) -> bool {
        self.version >= "2026-07-28"
    }

    fn model(&self, method: &str) -> Model {
        let version: ProtocolVersion = self.version.parse().unwrap();
        let declared = Some(&self.declares).filter(|declared| !declared.is_null());
        let capability = Capability::declared(declared).unwrap();
        Model::new(&consentry_elicitation::Client::new(version, capability, method))
    }

    pub(crate) fn request(&self, tool: &str, arguments: &Value) -> Value {
        self.request_of("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub(crate) fn request_of(&self, method: &str, mut params: Value) -> Value {
        if self.is_modern() {
            let mut capabilities = json!({});
            if !self.declares.is_null() {
                capabilities["elicitation"] = self.declares.clone();
            }
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientCapabilities": capabilities,
                "io.modelcontextprotocol/clientInfo": { "name": "strict", "version": "1" },
            });
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    /// Calls `list_files` until there is a result.
    pub(crate) async fn call(&self, answers: Answers) -> Called {
        self.call_tool("list_files", json!({}), answers).await
    }

    /// Calls a tool; retries as the modern era has it.
    pub(crate) async fn call_tool(&self, tool: &str, arguments: Value, answers: Answers) -> Called {
        self.asks("tools/call", json!({ "name": tool, "arguments": arguments }), answers).await
    }

    /// Asks for anything that may need an account.
    pub(crate) async fn asks(&self, method: &str, params: Value, answers: Answers) -> Called {
        let mut model = self.model(method);
        let mut request = self.request_of(method, params.clone());
        let mut rounds = Vec::new();
        for legs in 1..=10 {
            let (message, status) = self.leg(&request, answers, &mut model).await;
            if message["result"]["resultType"] != "input_required" {
                self.judge_end(&mut model, method, &message, status);
                return Called { message, status, legs, rounds };
            }
            let round = message["result"].clone();
            let broken = model.receive_value(&json!({ "kind": "input_required", "body": round }));
            assert_eq!(broken, [], "{round}");
            request = self.retry_of(method, params.clone(), &round, answers);
            rounds.push(round);
        }
        panic!("the rounds do not end");
    }

    /// The next request of a call that was answered by a round.
    pub(crate) fn retry(&self, tool: &str, arguments: &Value, round: &Value, answers: Answers) -> Value {
        self.retry_of("tools/call", json!({ "name": tool, "arguments": arguments }), round, answers)
    }

    pub(crate) fn retry_of(&self, method: &str, params: Value, round: &Value, answers: Answers) -> Value {
        let mut request = self.request_of(method, params);
        let mut responses = json!({});
        for (key, asked) in round["inputRequests"].as_object().unwrap() {
            self.asked.send_modify(|all| all.push(asked["params"].clone()));
            if let Answers::With(action) = answers {
                responses[key] = json!({ "action": action });
            }
        }
        request["params"]["inputResponses"] = responses;
        request["params"]["requestState"] = round["requestState"].clone();
        request
    }

    /// One HTTP request, and what comes on its stream.
    pub(crate) async fn leg(&self, request: &Value, answers: Answers, model: &mut Model) -> (Value, u16) {
        let response = self.post(request).send().await.unwrap();
        let status = response.status().as_u16();
        if response.headers()["content-type"] == "application/json" {
            return (response.json().await.unwrap(), status);
        }
        let mut stream = Stream::new(response);
        while let Some(message) = stream.next().await {
            match (message.get("method").and_then(Value::as_str), message.get("id")) {
                (None, id) => {
                    assert_eq!(id, request.get("id"), "{message}");
                    return (message, status);
                }
                (Some("elicitation/create"), Some(id)) => {
                    let asked = json!({ "kind": "elicitation_request", "body": message["params"] });
                    assert_eq!(model.receive_value(&asked), [], "{message}");
                    self.asked.send_modify(|all| all.push(message["params"].clone()));
                    let answer = match answers {
                        Answers::Never => continue,
                        Answers::With(action) => {
                            json!({ "jsonrpc": "2.0", "id": id, "result": { "action": action } })
                        }
                        Answers::WithAnError => json!({ "jsonrpc": "2.0", "id": id,
                            "error": { "code": -32603, "message": "no" } }),
                    };
                    assert_eq!(self.post(&answer).send().await.unwrap().status(), 202);
                }
                (Some("notifications/elicitation/complete"), _) => {
                    panic!("not on a call's stream: {message}")
                }
                (Some(_), None) => {}
                (Some(_), Some(_)) => panic!("nobody asked for that: {message}"),
            }
        }
        panic!("the stream ended without an answer");
    }

    fn judge_end(&self, model: &mut Model, method: &str, message: &Value, status: u16) {
        let mut reply = if let Some(error) = message.get("error") {
            json!({ "kind": "jsonrpc_error", "body": error })
        } else if method == "tools/call" {
            json!({ "kind": "tool_result", "body": message["result"] })
        } else {
            // What a prompt or a resource says is no reply of Consentry's.
            Value::Null
        };
        if status != 200 {
            reply["http_status"] = json!(status);
        }
        if !reply.is_null() {
            assert_eq!(model.receive_value(&reply), [], "{message}");
        }
        // From here on the server may complete what it asked, and ask no more.
        model.finish();
        assert_eq!(*self.standalone.lock().unwrap(), [] as [Value; 0], "requests belong to calls");
    }

    /// Waits until its standalone stream has ended.
    pub(crate) async fn is_hung_up(&mut self) {
        let listener = self.listener.take().unwrap();
        tokio::time::timeout(std::time::Duration::from_secs(20), listener).await.expect("it ends").unwrap();
    }

    /// Waits until it was asked so often, and gives the last link.
    pub(crate) async fn is_asked(&self, times: usize) -> String {
        let asked = self.asked.subscribe().wait_for(|asked| asked.len() >= times).await.unwrap().clone();
        asked.last().unwrap()["url"].as_str().unwrap().to_owned()
    }

    /// Waits for that many completion notifications.
    pub(crate) async fn is_told(&self, times: usize) -> Vec<Value> {
        let mut told = self.told.subscribe();
        let enough = told.wait_for(|told| told.len() >= times);
        let told = tokio::time::timeout(std::time::Duration::from_secs(20), enough).await;
        told.expect("the news come").unwrap().clone()
    }

    /// What it was told so far. A call in between shows that whatever was sent before has come.
    pub(crate) async fn told_by_now(&self) -> Vec<Value> {
        let list = json!({ "jsonrpc": "2.0", "id": "list", "method": "tools/list" });
        let response = self.post(&list).send().await.unwrap();
        assert!(Stream::new(response).next().await.is_some());
        self.told.borrow().clone()
    }
}

/// The messages of an event stream.
pub(crate) struct Stream {
    response: Response,
    text: String,
}

impl Stream {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, text: String::new() }
    }

    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let data: String =
                    event.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).collect();
                self.text = rest.to_owned();
                if !data.is_empty() {
                    return Some(serde_json::from_str(&data).unwrap());
                }
            }
            let chunk = self.response.chunk().await.ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}
