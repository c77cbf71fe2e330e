//! A client of the legacy era in the middle of a call: reads the stream of its POST, and answers by posts of its own.

use consentry_elicitation::{Capability, ElicitAction, Model, ProtocolVersion};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::desk::{Agent, Desk, Got, reply};

impl Desk {
    /// A client with a session.
    pub(super) async fn session(&self, person: &str, elicitation: Capability) -> Agent {
        let mut agent = self.client(person, elicitation);
        agent.begins("2025-11-25").await;
        agent
    }
}

impl Agent {
    /// `initialize` with this version, and what follows it.
    pub(super) async fn begins(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": { "elicitation": self.elicitation },
            "clientInfo": { "name": "strict", "title": "A strict client", "version": "1" },
        });
        let body =
            json!({ "jsonrpc": "2.0", "id": self.fresh_id(), "method": "initialize", "params": params });
        let got = Got::read(self.request(Method::POST).json(&body).send().await.unwrap()).await;
        let result = got.json()["result"].take();
        self.version =
            result["protocolVersion"].as_str().unwrap_or_else(|| panic!("{got:?}")).parse().unwrap();
        assert!(self.version < ProtocolVersion::V2026_07_28);
        self.session = Some(got.header("mcp-session-id").to_owned());
        let ready = self.posts(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        assert_eq!((ready.status, &*ready.text), (StatusCode::ACCEPTED, ""));
        result
    }

    /// Any message.
    pub(super) async fn posts(&self, message: &Value) -> Got {
        Got::read(self.request(Method::POST).json(message).send().await.unwrap()).await
    }

    /// A request that is answered at once.
    pub(super) async fn says(&mut self, method: &str, params: Value) -> Got {
        let id = self.fresh_id();
        let got =
            self.posts(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        if got.status == StatusCode::OK {
            assert_eq!(got.json()["id"], id);
        }
        got
    }

    /// A call of a tool, whose answer may take a while.
    pub(super) async fn begins_call(&mut self, tool: &str, arguments: Value) -> Talk {
        let id = self.fresh_id();
        let params = json!({ "name": tool, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let answer = self.request(Method::POST).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let is_stream = answer.headers()["content-type"] == "text/event-stream";
        Talk { agent: self.clone(), model: self.model(), id, is_stream, text: String::new(), answer }
    }
}

/// A call under way.
pub(super) struct Talk {
    pub(super) agent: Agent,
    pub(super) model: Model,
    id: u64,
    is_stream: bool,
    text: String,
    answer: reqwest::Response,
}

impl Talk {
    async fn message(&mut self) -> Value {
        if !self.is_stream {
            let mut text = String::new();
            while let Some(chunk) = self.answer.chunk().await.unwrap() {
                text.push_str(std::str::from_utf8(&chunk).unwrap());
            }
            return serde_json::from_str(&text).unwrap();
        }
        loop {
            let block = self.block().await;
            if let Some(data) = block.lines().find_map(|line| line.strip_prefix("data: ")) {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    /// The next block of the stream, such as an event or a comment.
    pub(super) async fn block(&mut self) -> String {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return block;
            }
            let chunk = self.answer.chunk().await.unwrap().expect("the stream has not ended");
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The server's next question: its id and parameters.
    pub(super) async fn question(&mut self) -> (Value, Value) {
        let message = self.message().await;
        assert_eq!(message["method"], "elicitation/create", "{message}");
        let params = message["params"].clone();
        let reply = json!({ "kind": "elicitation_request", "body": params });
        assert_eq!(self.model.receive_value(&reply), [], "{message}");
        (message["id"].clone(), params)
    }

    /// Answers a question as its user decides, with this content.
    pub(super) async fn answers(&self, id: &Value, action: ElicitAction, content: Option<Value>) {
        let mut result = json!({ "action": action });
        if let Some(content) = content {
            result["content"] = content;
        }
        let got = self.agent.posts(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await;
        assert_eq!((got.status, &*got.text), (StatusCode::ACCEPTED, ""));
    }

    /// The notification that a link is done with.
    pub(super) async fn completion(&mut self) -> Value {
        let message = self.message().await;
        assert_eq!(
            (message.get("id"), &message["method"]),
            (None, &json!("notifications/elicitation/complete"))
        );
        assert_eq!(
            self.model.notified("notifications/elicitation/complete", &message["params"]),
            [],
            "{message}"
        );
        message["params"]["elicitationId"].clone()
    }

    /// The result. Nothing comes behind it.
    pub(super) async fn result(mut self) -> Value {
        let message = self.message().await;
        assert_eq!(message["id"], self.id, "{message}");
        let reply = reply(&message, StatusCode::OK);
        assert_eq!(self.model.receive_value(&reply), [], "{reply}");
        if self.is_stream {
            assert_eq!((self.answer.chunk().await.unwrap(), &*self.text), (None, ""));
        }
        reply
    }
}

/// The stream of a session.
pub(super) struct Notices {
    text: String,
    answer: reqwest::Response,
}

impl Agent {
    /// The same client with another session's id.
    pub(super) fn in_session(mut self, id: &str) -> Self {
        self.session = Some(id.to_owned());
        self
    }

    /// Opens the stream of its session.
    pub(super) async fn listens(&self) -> Notices {
        let mut answer = self.request(Method::GET).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        assert_eq!(answer.headers()["x-accel-buffering"], "no");
        let first = answer.chunk().await.unwrap().unwrap();
        assert!(first.starts_with(b":"), "a first word, which says nothing");
        Notices { text: String::new(), answer }
    }
}

impl Notices {
    /// The next message.
    pub(super) async fn message(&mut self) -> Value {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let data = block.lines().find_map(|line| line.strip_prefix("data: ")).map(str::to_owned);
                self.text = rest.to_owned();
                match data {
                    Some(data) => return serde_json::from_str(&data).unwrap(),
                    None => continue,
                }
            }
            let chunk = self.answer.chunk().await.unwrap().expect("the stream has not ended");
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// Reads on while time passes in such steps: how many it takes until the stream ends, of 20 at most.
    pub(super) async fn ends_after(mut self, desk: &Desk, step: std::time::Duration) -> Option<u32> {
        for steps in 0..=20 {
            let read = async { while self.answer.chunk().await.unwrap().is_some() {} };
            if tokio::time::timeout(super::desk::SETTLED, read).await.is_ok() {
                return Some(steps);
            }
            desk.world.advance(step);
        }
        None
    }

    /// A message that comes while nothing more happens; there should be none.
    pub(super) async fn silent(&mut self) -> Option<Value> {
        tokio::time::timeout(super::desk::SETTLED, self.message()).await.ok()
    }
}
