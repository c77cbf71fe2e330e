//! The calls of the internal API.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::json;
use url::Url;

use crate::events::Events;
use crate::provider::Providers;
use crate::transport::{Call, Policy, Transport};
use crate::{
    Action, Answered, Connection, ConnectionQuery, Connections, Created, Elicitation, Error, McpClient,
    PageResult, PageVisit, Provider, Resolution, Resolve, Secret,
};

/// A connection to Consentry; cheap to clone, for the whole process.
///
/// A call is sent again on its own only where that cannot do anything twice: reads, creations with an idempotency key,
/// connections that were never made, and `503` with a `Retry-After` of a few seconds.
///
/// ```
/// use consentry_client::Client;
///
/// let consentry = Client::new("http://127.0.0.1:8081", "the API key")?;
/// assert!(!format!("{consentry:?}").contains("API key"));
/// # Ok::<(), consentry_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Client(Arc<Transport>);

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("base", &self.0.base.as_str()).finish_non_exhaustive()
    }
}

/// A [`Client`] with other limits than the usual ones.
///
/// ```
/// use consentry_client::Client;
/// use std::time::Duration;
///
/// let consentry = Client::builder("http://127.0.0.1:8081", "key").timeout(Duration::from_secs(3)).attempts(1).build()?;
/// # Ok::<(), consentry_client::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    base: String,
    api_key: Secret,
    policy: Policy,
}

impl Builder {
    /// How long an answer may take that the server need not wait for; 10 s unless told.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.policy.timeout = timeout;
        self
    }

    /// How often a call is sent at most; 3 unless told, and at least once.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.policy.attempts = attempts;
        self
    }

    /// How long to wait before the second try, doubled before each further one; 200 ms unless told.
    #[must_use]
    pub fn backoff(mut self, backoff: Duration) -> Self {
        self.policy.backoff = backoff;
        self
    }

    /// The longest wait before a further try, whatever the server asks for; 5 s unless told.
    #[must_use]
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.policy.longest_wait = wait;
        self
    }

    /// The client.
    ///
    /// # Errors
    ///
    /// [`Error::Setup`] when the base URL or the key cannot be used.
    pub fn build(self) -> Result<Client, Error> {
        let base = Url::parse(&self.base).map_err(|_| Error::Setup("the base URL is not a URL"))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(Error::Setup("the base URL is neither http nor https"));
        }
        let bearer = format!("Bearer {}", self.api_key.expose());
        let mut bearer =
            HeaderValue::try_from(bearer).map_err(|_| Error::Setup("the API key is not a header value"))?;
        bearer.set_sensitive(true);
        #[expect(
            clippy::disallowed_methods,
            reason = "this library's only HTTP client; the server does not link it"
        )]
        let http = reqwest::Client::builder()
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, bearer)]))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(Duration::from_secs(5))
            .build()
            .map_err(|_| Error::Setup("TLS cannot be set up"))?;
        Ok(Client(Arc::new(Transport { http, base, policy: self.policy })))
    }
}

impl Client {
    /// A client for the internal listener at this address.
    ///
    /// # Errors
    ///
    /// [`Error::Setup`] when the base URL or the key cannot be used.
    pub fn new(base_url: impl Into<String>, api_key: impl Into<String>) -> Result<Self, Error> {
        Self::builder(base_url, api_key).build()
    }

    /// The same with other limits.
    #[must_use]
    pub fn builder(base_url: impl Into<String>, api_key: impl Into<String>) -> Builder {
        let policy = Policy {
            timeout: Duration::from_secs(10),
            attempts: 3,
            backoff: Duration::from_millis(200),
            longest_wait: Duration::from_secs(5),
        };
        Builder { base: base_url.into(), api_key: Secret::new(api_key), policy }
    }

    /// The credential, or what the MCP client must be told first.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; `request_state_invalid` (400) is for the MCP client `-32602`, `provider_unavailable` (503) means
    /// to try later.
    pub async fn resolve(&self, wanted: &Resolve) -> Result<Resolution, Error> {
        let path = ["v1", "credentials", "resolve"];
        let call = Call::new(Method::POST, &path).body(wanted)?.wait(wanted.wait_seconds.unwrap_or(0));
        self.0.json(&call).await
    }

    /// Makes an elicitation although a connection may exist already. With an idempotency key the call can be repeated.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; the same key with another request is 422.
    pub async fn create_elicitation(
        &self,
        wanted: &Resolve,
        idempotency_key: Option<&str>,
    ) -> Result<Created, Error> {
        let path = ["v1", "elicitations"];
        let call = Call::new(Method::POST, &path).body(wanted)?.idempotency_key(idempotency_key);
        self.0.json(&call).await
    }

    /// How an elicitation stands, at once when its state is final and otherwise after at most `wait_seconds`.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; an id of another tenant is 404 like an unknown one.
    pub async fn elicitation(&self, id: &str, wait_seconds: u8) -> Result<Elicitation, Error> {
        let path = ["v1", "elicitations", id];
        let query = if wait_seconds == 0 { String::new() } else { format!("wait_seconds={wait_seconds}") };
        self.0.json(&Call::new(Method::GET, &path).query(query).wait(wait_seconds)).await
    }

    /// Passes on what the MCP client answered to `elicitation/create`.
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub async fn respond(&self, id: &str, action: Action) -> Result<Answered, Error> {
        self.respond_with(id, &json!({ "action": action })).await
    }

    /// The same with the client that answered: for its era and method in the words after [`Action::Error`], and for the
    /// form after [`Action::Accept`] where the MCP server's users type a code (`identity = "code"`).
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub async fn respond_as(&self, id: &str, action: Action, client: &McpClient) -> Result<Answered, Error> {
        self.respond_with(id, &json!({ "action": action, "client": client })).await
    }

    async fn respond_with(&self, id: &str, body: &serde_json::Value) -> Result<Answered, Error> {
        let path = ["v1", "elicitations", id, "response"];
        let call = Call::new(Method::POST, &path).body(body)?;
        let body = self.0.send(&call).await?;
        if body.is_empty() {
            return Ok(Answered::default());
        }
        serde_json::from_slice(&body).map_err(|_| Error::Unreadable("not of the expected form"))
    }

    /// Withdraws an elicitation that is no longer wanted.
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub async fn cancel(&self, id: &str) -> Result<(), Error> {
        let path = ["v1", "elicitations", id, "cancel"];
        self.0.send(&Call::new(Method::POST, &path)).await.map(drop)
    }

    /// Redeems the code that a browser brought to a page of this MCP server's own, once: a second time ends the visit.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; `page_code_invalid` (400) for one that is unknown, used, too old or another MCP server's, alike.
    pub async fn redeem(&self, code: &str) -> Result<PageVisit, Error> {
        let path = ["v1", "hosted", "redeem"];
        self.0.json(&Call::new(Method::POST, &path).body(&json!({ "code": code }))?).await
    }

    /// Says what came of a visit. What was accepted counts once the user's browser is back. The same may be said again.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; 409 `page_not_visited` when no visit is under way, `result_given` when another result was given before,
    /// `elicitation_over` when it has ended.
    pub async fn page_result(&self, id: &str, result: &PageResult) -> Result<Elicitation, Error> {
        let path = ["v1", "elicitations", id, "result"];
        self.0.json(&Call::new(Method::POST, &path).body(result)?).await
    }

    /// A page of connections.
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub async fn connections(&self, query: &ConnectionQuery) -> Result<Connections, Error> {
        let path = ["v1", "connections"];
        self.0.json(&Call::new(Method::GET, &path).query(query.encoded())).await
    }

    /// One connection.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; an id of another tenant is 404 like an unknown one.
    pub async fn connection(&self, id: &str) -> Result<Connection, Error> {
        let path = ["v1", "connections", id];
        self.0.json(&Call::new(Method::GET, &path)).await
    }

    /// Removes a connection, and revokes it at the provider.
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub async fn delete_connection(&self, id: &str) -> Result<(), Error> {
        let path = ["v1", "connections", id];
        self.0.send(&Call::new(Method::DELETE, &path)).await.map(drop)
    }

    /// Says that the provider refused a credential (`401`), so that it is not handed out again.
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub async fn report(&self, connection: &str, generation: u64) -> Result<(), Error> {
        let path = ["v1", "credentials", "report"];
        let body = json!({ "connection": connection, "generation": generation, "problem": "unauthorized" });
        self.0.send(&Call::new(Method::POST, &path).body(&body)?).await.map(drop)
    }

    /// The providers that this MCP server may ask for.
    ///
    /// # Errors
    ///
    /// Any [`Error`].
    pub async fn providers(&self) -> Result<Vec<Provider>, Error> {
        let path = ["v1", "providers"];
        self.0.json::<Providers>(&Call::new(Method::GET, &path)).await.map(|answer| answer.providers)
    }

    /// The signals of this MCP server, from behind the one with this id on, or from now on. Nothing is sent before
    /// [`Events::next`].
    #[must_use]
    pub fn events(&self, last_event_id: Option<String>) -> Events {
        Events::new(Arc::clone(&self.0), last_event_id)
    }
}
