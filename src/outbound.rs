//! The one HTTP client: everything that leaves the house goes through here.
//!
//! Providers, authorization servers and webhook receivers are named by configuration, but their metadata and their DNS
//! are not ours, so every address is checked where it is connected to (R89, R90): a name by the resolver of the client,
//! a literal before sending, because the library does not ask a resolver for it. The environment's proxies are ignored,
//! there are no cookies and no decompression, and everything has a limit (R93).
//!
//! What it must never do: follow a redirect, send anything twice, tell of a URL, a header or a body.
//!
//! Two clients hold apart what is open to everyone and what the operator named. Thus an exception for one host and port
//! never opens a connection that another target could use.

mod address;
mod answer;
mod error;
mod policy;
mod resolver;

use std::{fmt, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, Method, Request, header, header::InvalidHeaderValue};
use url::{Host, Url};
use zeroize::Zeroizing;

pub use self::{
    answer::{Answer, BadJson},
    error::{NotSent, OutboundError},
    policy::{AddressPolicy, Allowed, BadAllowed, RefusedTarget},
};
use self::{
    policy::Route,
    resolver::{Checked, Lookup},
};
use crate::{clock::Clock, secret::Secret, telemetry::Metrics};

/// Limits of one request. Counted in real time, for the peers live in it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until the connection stands, name resolution and TLS included.
    pub connect: Duration,
    /// From then until the head of the answer is there.
    pub head: Duration,
    /// For everything, the body included.
    pub total: Duration,
    /// Bytes of the body.
    pub body: usize,
    /// Number of header fields (HTTP/1.1).
    pub header_fields: usize,
    /// Bytes of the header (HTTP/2; for HTTP/1.1 the library has a limit of about 400 KiB).
    pub header_bytes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            head: Duration::from_secs(8),
            total: Duration::from_secs(15),
            body: 256 * 1024,
            header_fields: 100,
            header_bytes: 64 * 1024,
        }
    }
}

/// The rest of an answer that is worth reading for the connection's sake, in bytes.
const REST_MAX: u64 = 16 * 1024;

/// What the client is made of.
#[derive(Clone, Debug, Default)]
pub struct OutboundSettings {
    /// Where requests may go.
    pub policy: AddressPolicy,
    /// Limits of one request.
    pub limits: Limits,
    /// Certificate authorities to trust beside the system's, each a PEM bundle.
    pub extra_ca_pem: Vec<Vec<u8>>,
    /// An HTTP proxy for the public internet. It resolves the names, so refusing private addresses is then its part;
    /// trusted targets are reached directly.
    pub proxy: Option<Url>,
    /// `User-Agent`.
    pub user_agent: String,
    /// Where calls are counted.
    pub metrics: Metrics,
}

/// Why the client cannot be made; start-up stops on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// Not one PEM certificate in it.
    #[error("a certificate authority is not a PEM certificate")]
    Ca,
    /// Not an `http` or `https` URL.
    #[error("the proxy is not an http or https URL")]
    Proxy,
    /// Characters that no header may hold.
    #[error("the user agent holds characters that no header may hold")]
    UserAgent,
    /// TLS cannot be set up, for want of any certificate authority.
    #[error("TLS cannot be set up: is the system's package of certificate authorities installed?")]
    Tls,
}

/// The client. Cloning shares its connections.
#[derive(Clone)]
pub struct Outbound(Arc<Clients>);

struct Clients {
    open: reqwest::Client,
    trusted: reqwest::Client,
    policy: Arc<AddressPolicy>,
    lookup: Lookup,
    /// Whether a proxy resolves the names of the public internet.
    proxied: bool,
    limits: Limits,
    clock: Clock,
    metrics: Metrics,
}

impl Outbound {
    /// Makes the client.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(settings: OutboundSettings, clock: Clock) -> Result<Self, SetupError> {
        Self::with_lookup(settings, clock, &Lookup::System)
    }

    fn with_lookup(settings: OutboundSettings, clock: Clock, lookup: &Lookup) -> Result<Self, SetupError> {
        let (mut open, trusted) = (builder(&settings)?, builder(&settings)?);
        if let Some(proxy) = &settings.proxy {
            if !matches!(proxy.scheme(), "http" | "https") {
                return Err(SetupError::Proxy);
            }
            open = open.proxy(reqwest::Proxy::all(proxy.clone()).map_err(|_| SetupError::Proxy)?);
        }
        let policy = Arc::new(settings.policy);
        let proxied = settings.proxy.is_some();
        let resolver = |route, proxy| Checked {
            policy: Arc::clone(&policy),
            route,
            proxy,
            lookup: Lookup::clone(lookup),
        };
        Ok(Self(Arc::new(Clients {
            open: open
                .dns_resolver(resolver(Route::Open, settings.proxy))
                .build()
                .map_err(|_| SetupError::Tls)?,
            trusted: trusted
                .dns_resolver(resolver(Route::Trusted, None))
                .build()
                .map_err(|_| SetupError::Tls)?,
            lookup: lookup.clone(),
            proxied,
            limits: settings.limits,
            policy,
            clock,
            metrics: settings.metrics,
        })))
    }

    /// Whether a request to `url` would be sent, as far as can be said without asking DNS: for endpoints that metadata
    /// names (R91).
    ///
    /// # Errors
    /// [`RefusedTarget`].
    pub fn check(&self, url: &Url) -> Result<(), RefusedTarget> {
        self.0.policy.check(url)
    }

    /// Whether a request to `url` would be sent, DNS asked as well: for addresses that a person types. A name of which
    /// nobody knows in time is let through; a request to it will fail by itself.
    ///
    /// # Errors
    /// [`RefusedTarget`].
    pub async fn admits(&self, url: &Url) -> Result<(), RefusedTarget> {
        let route = self.0.policy.route(url)?;
        let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
        if self.0.proxied && route == Route::Open {
            return Ok(());
        }
        let found = tokio::time::timeout(self.0.limits.connect, self.0.lookup.addresses(name)).await;
        match found {
            Ok(Ok(addresses)) if !self.0.policy.admits(route, &addresses) => Err(RefusedTarget::Address),
            _ => Ok(()),
        }
    }

    /// Sends one request, once, and returns whatever is answered, 3xx to 5xx included.
    ///
    /// # Errors
    /// [`OutboundError`]; [`OutboundError::maybe_sent`] says whether the request may have arrived.
    pub async fn send(&self, request: Request<Vec<u8>>) -> Result<Answer, OutboundError> {
        let (parts, body) = request.into_parts();
        let url =
            Url::parse(&parts.uri.to_string()).map_err(|_| OutboundError::Refused(RefusedTarget::Url))?;
        self.deliver(parts.method, url, parts.headers, body).await
    }

    /// Sends one request, once, and returns the head of whatever is answered, as soon as it is there. `limit` takes the
    /// place of the limits of a whole request. What else the other side says is not heard.
    ///
    /// # Errors
    /// As [`Outbound::send`].
    pub async fn post(&self, request: Request<Vec<u8>>, limit: Duration) -> Result<Answer, OutboundError> {
        let (parts, body) = request.into_parts();
        let url =
            Url::parse(&parts.uri.to_string()).map_err(|_| OutboundError::Refused(RefusedTarget::Url))?;
        let response = self.call(parts.method, url, parts.headers, body, Some(limit)).await;
        self.0.metrics.outbound(response.as_ref().err().copied());
        let mut response = response?;
        let headers = std::mem::take(response.headers_mut());
        // A short rest is read, so that the connection can be used again.
        let short = response.content_length().is_some_and(|length| length <= REST_MAX);
        let status = response.status();
        let received_at = self.0.clock.now();
        if short {
            while let Ok(Some(_)) = response.chunk().await {}
        }
        Ok(Answer { status, headers, body: Vec::new(), received_at })
    }

    /// Gets JSON, with a bearer token where one is given (RFC 6750, section 2.1).
    ///
    /// # Errors
    /// As [`Outbound::send`]; whether the answer is JSON shows in [`Answer::json`].
    pub async fn get_json(&self, url: &Url, bearer: Option<&Secret>) -> Result<Answer, OutboundError> {
        let mut headers =
            HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static("application/json"))]);
        if let Some(token) = bearer {
            let value = authorization("Bearer", token).map_err(|_| OutboundError::Unwritable)?;
            headers.insert(header::AUTHORIZATION, value);
        }
        self.deliver(Method::GET, url.clone(), headers, Vec::new()).await
    }

    /// Where its calls are counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    async fn deliver(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Answer, OutboundError> {
        let answer = self.ask(method, url, headers, body).await;
        self.0.metrics.outbound(answer.as_ref().err().copied());
        answer
    }

    async fn ask(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Answer, OutboundError> {
        let response = self.call(method, url, headers, body, None).await?;
        self.receive(response).await
    }

    async fn call(
        &self,
        method: Method,
        url: Url,
        mut headers: HeaderMap,
        body: Vec<u8>,
        limit: Option<Duration>,
    ) -> Result<reqwest::Response, OutboundError> {
        let client = match self.0.policy.route(&url).map_err(OutboundError::Refused)? {
            Route::Open => &self.0.open,
            Route::Trusted => &self.0.trusted,
        };
        // The name that was checked is the name that is asked for.
        headers.remove(header::HOST);
        // Many answer 411 to a post that does not say how long it is (RFC 9110, section 8.6); the library says it only
        // of a body that is there.
        if body.is_empty() && method == Method::POST {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let mut request = reqwest::Request::new(method, url);
        *request.headers_mut() = headers;
        if !body.is_empty() {
            *request.body_mut() = Some(body.into());
        }
        let limits = self.0.limits;
        let head = limit.unwrap_or_else(|| limits.connect.saturating_add(limits.head));
        *request.timeout_mut() = limit;
        // The library has no limit for the head alone. When this one ends, connecting has ended before.
        tokio::time::timeout(head, client.execute(request))
            .await
            .map_err(|_| OutboundError::TimedOut { sent: true })?
            .map_err(|error| OutboundError::of(&error))
    }

    async fn receive(&self, mut response: reqwest::Response) -> Result<Answer, OutboundError> {
        let limit = self.0.limits.body;
        let announced =
            response.content_length().map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX));
        if announced > limit {
            return Err(OutboundError::TooLarge);
        }
        let mut body = Zeroizing::new(Vec::with_capacity(announced));
        while let Some(chunk) = response.chunk().await.map_err(|error| OutboundError::of(&error))? {
            if body.len() + chunk.len() > limit {
                return Err(OutboundError::TooLarge);
            }
            append(&mut body, &chunk);
        }
        Ok(Answer {
            status: response.status(),
            headers: std::mem::take(response.headers_mut()),
            body: std::mem::take(&mut *body),
            received_at: self.0.clock.now(),
        })
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outbound")
    }
}

/// Appends, and wipes the old buffer when a larger one is needed.
/// What `Authorization` is to hold: the token after its scheme, or alone where that is empty. It is never shown.
///
/// # Errors
/// When the token is nothing that a header can hold.
pub(crate) fn authorization(scheme: &str, token: &Secret) -> Result<HeaderValue, InvalidHeaderValue> {
    let value = Zeroizing::new(format!("{scheme} {}", token.expose()));
    let mut value = HeaderValue::from_str(value.trim_start())?;
    value.set_sensitive(true);
    Ok(value)
}

fn append(body: &mut Zeroizing<Vec<u8>>, chunk: &[u8]) {
    let needed = body.len() + chunk.len();
    if needed > body.capacity() {
        let mut larger = Vec::with_capacity(needed.max(2 * body.capacity()));
        larger.extend_from_slice(body);
        *body = Zeroizing::new(larger);
    }
    body.extend_from_slice(chunk);
}

#[expect(clippy::disallowed_methods, reason = "the one place where a client is made")]
fn builder(settings: &OutboundSettings) -> Result<reqwest::ClientBuilder, SetupError> {
    let limits = &settings.limits;
    let mut roots = Vec::new();
    for pem in &settings.extra_ca_pem {
        let bundle = reqwest::Certificate::from_pem_bundle(pem).map_err(|_| SetupError::Ca)?;
        if bundle.is_empty() {
            return Err(SetupError::Ca);
        }
        roots.extend(bundle);
    }
    let user_agent = HeaderValue::from_str(&settings.user_agent).map_err(|_| SetupError::UserAgent)?;
    Ok(reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        // Also of what HTTP/2 calls safe to send again. What remains is the pool's: a request of which it has not
        // written a byte moves from a connection that was closed while idle to a new one.
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .tls_certs_merge(roots)
        .user_agent(user_agent)
        .connect_timeout(limits.connect)
        .timeout(limits.total)
        .pool_idle_timeout(Duration::from_secs(30))
        .pool_max_idle_per_host(8)
        .http1_max_headers(limits.header_fields)
        .http2_max_header_list_size(limits.header_bytes))
}

#[cfg(test)]
mod tests;
