//! A world whose MCP endpoint is enabled, and a client that speaks HTTP to it.

use std::time::Duration;

use consentry::{
    config::{McpEndpoint, Settings},
    elicitation::ElicitationId,
};
use consentry_elicitation::{Capability, Client, ElicitAction, Model, Prefer, ProtocolVersion};
use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::{Value, json};

use crate::{
    engine::Database,
    world::{self, Browser, ID, Replica, World},
};

/// How long one answer is held for a link, as clients get to see it.
pub(super) const LEG: Duration = Duration::from_secs(45);
/// Longer than a request needs to come to the place where it waits.
pub(super) const SETTLED: Duration = Duration::from_millis(300);
const MODERN: &str = "2026-07-28";

/// The endpoint with its world.
pub(super) struct Desk {
    pub(super) world: World,
    http: reqwest::Client,
}

/// The endpoint as a setting.
pub(super) fn enabled(settings: &mut Settings) {
    settings.mcp = Some(McpEndpoint {
        authorization_server: ID.to_owned(),
        scope: None,
        owner: None,
        legacy_links: Prefer::Request,
    });
}

impl Desk {
    pub(super) async fn start(db: Database) -> Self {
        Self::start_with(db, |_| ()).await
    }

    /// The same, with settings of the test's own.
    pub(super) async fn start_with(db: Database, change: impl Fn(&mut Settings)) -> Self {
        let world = World::start_with(db, |settings| {
            enabled(settings);
            change(settings);
        })
        .await;
        Self::in_world(world)
    }

    /// In a world whose settings enable it.
    pub(super) fn in_world(world: World) -> Self {
        let port = world.public_url.rsplit(':').next().unwrap();
        let http = world::client(format!("127.0.0.1:{port}").parse().unwrap());
        Self { world, http }
    }

    pub(super) fn resource(&self) -> String {
        format!("{}/mcp", self.world.public_url)
    }

    /// What an MCP client of this person holds.
    pub(super) fn token(&self, person: &str) -> String {
        self.world.id.access_token_for(person, &self.resource()).unwrap()
    }

    /// A client of this person that can be asked so.
    pub(super) fn client(&self, person: &str, elicitation: Capability) -> Agent {
        Agent {
            http: self.http.clone(),
            url: self.resource(),
            host: None,
            token: Some(self.token(person)),
            elicitation,
            session: None,
            version: ProtocolVersion::V2026_07_28,
            next_id: 0,
        }
    }

    /// Anything at all, sent to the public listener.
    pub(super) async fn sends(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Got {
        let mut request = self.http.request(method, format!("{}{path}", self.world.public_url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Got::read(request.body(body.to_owned()).send().await.unwrap()).await
    }

    /// The person opens a link and connects an account.
    pub(super) async fn connects(&self, browser: &mut Browser, person: &str, link: &str, account: &str) {
        browser.opens(link).await;
        if browser.page().name().as_deref() == Some("sign-in") {
            browser.signs_in(person).await;
        }
        browser.page().is("ready");
        browser.connects(account).await.is("connected");
    }

    /// Waits for what is held, while the time of one leg goes by.
    pub(super) async fn while_a_leg_passes<T>(&self, held: impl Future<Output = T>) -> T {
        let mut held = std::pin::pin!(held);
        loop {
            match tokio::time::timeout(SETTLED, held.as_mut()).await {
                Ok(done) => return done,
                Err(_) => self.world.advance(LEG),
            }
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Got {
    pub(super) async fn read(answer: reqwest::Response) -> Self {
        let (status, headers) = (answer.status(), answer.headers().clone());
        Self { status, headers, text: answer.text().await.unwrap() }
    }

    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Status and code of an error.
    #[track_caller]
    pub(super) fn refused(&self) -> (u16, i64) {
        let code = self.json()["error"]["code"].as_i64().unwrap_or_else(|| panic!("{self:?}"));
        (self.status.as_u16(), code)
    }

    #[track_caller]
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("{self:?}")).to_str().unwrap()
    }
}

/// An MCP client.
#[derive(Clone)]
pub(super) struct Agent {
    pub(super) http: reqwest::Client,
    pub(super) url: String,
    host: Option<String>,
    pub(super) token: Option<String>,
    pub(super) elicitation: Capability,
    /// Of the legacy era.
    pub(super) session: Option<String>,
    pub(super) version: ProtocolVersion,
    next_id: u64,
}

impl Agent {
    /// The same client with another process behind the endpoint's name.
    pub(super) fn at(&self, replica: &Replica) -> Self {
        let host = self.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
        Self { url: format!("http://{}/mcp", replica.address), host: Some(host), ..self.clone() }
    }

    pub(super) fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// A request to the endpoint, with what each request carries.
    pub(super) fn request(&self, method: Method) -> reqwest::RequestBuilder {
        let mut request = self.http.request(method, &self.url);
        if let Some(host) = &self.host {
            request = request.header("host", host);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
            request = request.header("mcp-protocol-version", self.version.to_string());
        }
        request.header("accept", "application/json, text/event-stream")
    }

    pub(super) fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// A strict client in the middle of a call of a tool.
    pub(super) fn model(&self) -> Model {
        Model::new(&Client::new(self.version, self.elicitation, "tools/call"))
    }

    /// What a request of the modern era declares.
    pub(super) fn meta(&self) -> Value {
        json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": { "name": "strict", "title": "A strict client", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": self.elicitation },
        })
    }

    /// A request of the modern era, whole.
    pub(super) async fn asks(&mut self, method: &str, mut params: Value) -> Got {
        params["_meta"] = self.meta();
        let body = json!({ "jsonrpc": "2.0", "id": self.fresh_id(), "method": method, "params": params });
        let mut request = self.request(Method::POST).json(&body);
        request = request.header("mcp-protocol-version", MODERN).header("mcp-method", method);
        if let Some(name) = params["name"].as_str() {
            request = request.header("mcp-name", name);
        }
        let got = Got::read(request.send().await.unwrap()).await;
        assert_eq!(got.header("content-type"), "application/json", "M24: nothing can be asked on it");
        got
    }

    /// A call of a tool in the modern era: the reply, as the strict client reads it. It must find nothing wrong.
    pub(super) async fn calls(&mut self, tool: &str, arguments: &Value, retry: &Value) -> Value {
        let mut params = json!({ "name": tool, "arguments": arguments });
        for (name, value) in retry.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        let got = self.asks("tools/call", params).await;
        let reply = reply(&got.json(), got.status);
        assert_eq!(self.model().receive_value(&reply), [], "{reply}");
        reply
    }
}

/// A JSON-RPC answer as the strict client takes it.
#[track_caller]
pub(super) fn reply(message: &Value, status: StatusCode) -> Value {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    if let Some(error) = message.get("error") {
        let mut reply = json!({ "kind": "jsonrpc_error", "body": error });
        if status != StatusCode::OK {
            reply["http_status"] = status.as_u16().into();
        }
        return reply;
    }
    assert_eq!(status, StatusCode::OK, "{message}");
    let result = &message["result"];
    let kind = if result["resultType"] == "input_required" { "input_required" } else { "tool_result" };
    json!({ "kind": kind, "body": result })
}

/// The answer to a round, with this action and content under its only key.
#[track_caller]
pub(super) fn answered(reply: &Value, action: ElicitAction, content: Option<Value>) -> Value {
    let (key, _) = only_request(reply);
    let mut answer = json!({ "action": action });
    if let Some(content) = content {
        answer["content"] = content;
    }
    json!({ "inputResponses": { key: answer }, "requestState": reply["body"]["requestState"] })
}

/// The only question of a round, with its key.
#[track_caller]
pub(super) fn only_request(reply: &Value) -> (String, Value) {
    assert_eq!(reply["kind"], "input_required", "{reply}");
    let requests = reply["body"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 1, "{reply}");
    let (key, request) = requests.iter().next().unwrap();
    (key.clone(), request["params"].clone())
}

/// The link of a question.
#[track_caller]
pub(super) fn link(params: &Value) -> String {
    assert_eq!(params["mode"], "url", "{params}");
    params["url"].as_str().unwrap().to_owned()
}

/// The id in a link.
#[track_caller]
pub(super) fn id_of(link: &str) -> ElicitationId {
    link.rsplit('=').next().unwrap().parse().unwrap()
}

/// What a form offers to choose from, by value and title.
#[track_caller]
pub(super) fn options(params: &Value, field: &str) -> Vec<(String, String)> {
    assert_eq!(params["mode"], "form", "{params}");
    let all = params["requestedSchema"]["properties"][field]["oneOf"].as_array();
    let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
    all.unwrap_or_else(|| panic!("{params}"))
        .iter()
        .map(|it| (text(it, "const"), text(it, "title")))
        .collect()
}

/// The data of a tool's result that is no error.
#[track_caller]
pub(super) fn data(reply: &Value) -> &Value {
    assert_eq!(
        (&reply["kind"], &reply["body"]["isError"]),
        (&json!("tool_result"), &json!(false)),
        "{reply}"
    );
    let data = &reply["body"]["structuredContent"];
    let text = reply["body"]["content"][1]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), *data, "it stands in the text as well");
    data
}

/// The words of a tool's result that is an error.
#[track_caller]
pub(super) fn said(reply: &Value) -> &str {
    assert_eq!((&reply["kind"], &reply["body"]["isError"]), (&json!("tool_result"), &json!(true)), "{reply}");
    assert_eq!(reply["body"].get("structuredContent"), None);
    reply["body"]["content"][0]["text"].as_str().unwrap()
}
