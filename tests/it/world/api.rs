//! An MCP server's side: calls of the internal API with its key.

use reqwest::{Client, Method, StatusCode, header::HeaderMap};
use serde_json::{Value, json};

/// A caller of the internal API.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    base: String,
    key: String,
    issuer: String,
}

/// An answer of the API.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Null when there is none.
    pub(crate) body: Value,
}

/// An elicitation as the MCP server was told of it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) id: String,
    /// What the user opens.
    pub(crate) url: String,
}

/// An open stream of events.
pub(crate) struct Stream {
    text: String,
    answer: reqwest::Response,
}

impl Stream {
    /// The next block, such as an event or a comment; none at the end.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let chunk = self.answer.chunk().await.expect("the stream lives")?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next event's number, and the elicitation it is about.
    pub(crate) async fn event(&mut self) -> (i64, Value) {
        loop {
            let block = self.block().await.expect("the stream has not ended");
            let data = block.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(data) = data {
                let data: Value = serde_json::from_str(data).unwrap();
                return (data["data"]["sequence"].as_i64().unwrap(), data["data"]["elicitation_id"].clone());
            }
        }
    }
}

impl Answer {
    /// The body, of an answer with this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.body
    }
}

impl Api {
    pub(crate) fn new(client: Client, base: String, key: String, issuer: String) -> Self {
        Self { client, base, key, issuer }
    }

    /// The same caller with another key, or none.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self { key: key.to_owned(), ..self.clone() }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, None, &[]).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path, None, &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::POST, path, Some(body), &[]).await
    }

    /// One call, with further headers.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.tries(method, path, body, headers).await.expect("an answer of the API")
    }

    /// The same where the server may be gone before it has answered.
    pub(crate) async fn tries(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<Answer, reqwest::Error> {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        if !self.key.is_empty() {
            request = request.bearer_auth(&self.key);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let text = answer.text().await?;
        let body =
            serde_json::from_str(&text).unwrap_or(if text.is_empty() { Value::Null } else { text.into() });
        Ok(Answer { status, headers, body })
    }

    /// The stream of what happens from now on, or behind an event.
    pub(crate) async fn stream(&self, last_event_id: Option<&str>) -> Stream {
        let request = self.client.get(format!("{}/v1/events", self.base)).bearer_auth(&self.key);
        let request = request.header("accept", "text/event-stream");
        let request = last_event_id.into_iter().fold(request, |one, id| one.header("last-event-id", id));
        let mut answer = request.send().await.expect("an answer of the API");
        assert_eq!(answer.status().as_u16(), 200);
        let first = answer.chunk().await.expect("the stream lives").expect("a first word");
        Stream { text: String::from_utf8(first.to_vec()).unwrap(), answer }
    }

    /// What a tool asks for: a credential of `provider` for `sub`, for a client of the legacy era that opens URLs.
    pub(crate) fn question(&self, sub: &str, provider: &str) -> Value {
        json!({
            "provider": provider,
            "subject": { "issuer": self.issuer, "sub": sub },
            "client": {
                "protocol_version": "2025-11-25",
                "elicitation": { "url": {} },
                "ref": format!("client of {sub}"),
                "name": "Some Client",
                "method": "tools/call",
                "target": "list_files",
            },
            "message": "Connect Example Files to list your files.",
        })
    }

    /// `POST /v1/credentials/resolve` with [`Api::question`].
    pub(crate) async fn resolves(&self, sub: &str, provider: &str) -> Value {
        self.post("/v1/credentials/resolve", &self.question(sub, provider)).await.expect(200)
    }

    /// The same where the user must act: the link.
    pub(crate) async fn asks(&self, sub: &str, provider: &str) -> Link {
        let answer = self.resolves(sub, provider).await;
        assert_eq!(answer["status"], "action_required", "{answer}");
        link(&answer["elicitation"])
    }

    /// An elicitation as it is now.
    pub(crate) async fn elicitation(&self, id: &str) -> Value {
        self.get(&format!("/v1/elicitations/{id}")).await.expect(200)
    }

    /// The types of every signal so far, each with the elicitation it is about; null for a connection's.
    pub(crate) async fn told(&self) -> Vec<(String, Value)> {
        let headers = [("accept", "application/json")];
        let page = self.call(Method::GET, "/v1/events?after=0&limit=200", None, &headers).await.expect(200);
        let events = page["events"].as_array().expect("a page of events").clone();
        events
            .into_iter()
            .map(|event| {
                (event["type"].as_str().unwrap().to_owned(), event["data"]["elicitation_id"].clone())
            })
            .collect()
    }
}

/// Reads an elicitation of an answer.
pub(crate) fn link(elicitation: &Value) -> Link {
    let text = |name: &str| elicitation[name].as_str().unwrap_or_else(|| panic!("{elicitation}")).to_owned();
    Link { id: text("id"), url: text("url") }
}
