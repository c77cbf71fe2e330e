//! The MCP server's door: the token check, sessions bound to users, and rmcp's Streamable HTTP service behind, with the
//! settings that its defaults leave open.

use std::{io, sync::Arc, time::Duration};

use axum::{
    Router,
    http::{HeaderName, HeaderValue, Method, header},
    middleware,
};
use consentry_bearer::Bearer;
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowOrigin, CorsLayer};
use url::Url;

use crate::{
    call::SESSION,
    modern,
    sessions::{self, Sessions},
};

/// rmcp ends a session after five minutes in which nothing happened, an open stream notwithstanding; an elicitation lives for
/// half an hour by default.
const KEEP_ALIVE: Duration = Duration::from_hours(2);

/// An MCP endpoint on rmcp, both eras, for axum.
///
/// ```
/// use consentry_rmcp::{Endpoint, bearer::Bearer};
/// use rmcp::ServerHandler;
///
/// struct Files;
/// impl ServerHandler for Files {}
///
/// let bearer = Bearer::builder("https://files.example.com/mcp", "https://id.example.com").scopes(["mcp"]).build()?;
/// let app: axum::Router = Endpoint::new(bearer).router(|| Ok(Files));
/// # Ok::<(), consentry_rmcp::bearer::Setup>(())
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    bearer: Bearer,
    hosts: Vec<String>,
    origins: Vec<String>,
    keep_alive: Duration,
    stop: CancellationToken,
}

impl Endpoint {
    /// At the path of the resource identifier, under its host alone, for no page in a browser.
    #[must_use]
    pub fn new(bearer: Bearer) -> Self {
        let resource = Url::parse(bearer.resource()).ok();
        let host = resource.as_ref().and_then(|url| {
            let host = url.host_str()?;
            Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
        });
        Self {
            bearer,
            hosts: host.into_iter().collect(),
            origins: Vec::new(),
            keep_alive: KEEP_ALIVE,
            stop: CancellationToken::new(),
        }
    }

    /// Further names in `Host` (with a port, that port alone), for a proxy that does not pass on what it was asked for.
    #[must_use]
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Origins whose pages may call, such as `https://app.example.com:443` or `http://localhost:*`; a request of any
    /// other page is refused.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// How long a session of the legacy era lives without a request; two hours unless told. It should be longer than
    /// Consentry's `lifetimes.elicitation`, or who finishes late is not heard of.
    #[must_use]
    pub fn keep_alive(mut self, keep_alive: Duration) -> Self {
        self.keep_alive = keep_alive;
        self
    }

    /// Ends all sessions and streams when it is cancelled.
    #[must_use]
    pub fn stop(mut self, stop: CancellationToken) -> Self {
        self.stop = stop;
        self
    }

    /// The endpoint and its metadata, to be served or merged into a router. `server` makes one for each session, and for
    /// each request of the modern era.
    pub fn router<S>(self, server: impl Fn() -> Result<S, io::Error> + Send + Sync + 'static) -> Router
    where
        S: ServerHandler + Send + 'static,
    {
        let mut living = LocalSessionManager::default();
        living.session_config.keep_alive = Some(self.keep_alive);
        let living = Arc::new(living);
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(self.hosts)
            .with_allowed_origins(self.origins.iter().cloned())
            .enforce_origin_validation()
            .with_cancellation_token(self.stop);
        let service = StreamableHttpService::new(server, Arc::clone(&living), config);
        let sessions = Arc::new(Sessions::new(living));
        let path =
            Url::parse(self.bearer.resource()).map_or_else(|_| "/".to_owned(), |url| url.path().to_owned());
        Router::new()
            .route_service(&path, service)
            .route_layer(middleware::map_response(modern::without_elicitation_id))
            .route_layer(middleware::from_fn_with_state(sessions, sessions::check))
            .route_layer(self.bearer.layer())
            // Before the check: a browser asks without a token whether it may.
            .route_layer(cors(self.origins))
            // Behind the layers: it is for everybody.
            .route_service(&self.bearer.metadata_path(), self.bearer.metadata_service())
    }
}

/// Lets the pages that may call read the answers.
fn cors(origins: Vec<String>) -> CorsLayer {
    let name = HeaderName::from_static;
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| is_allowed(&origins, origin)))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            name("last-event-id"),
            name("mcp-method"),
            name("mcp-name"),
            name("mcp-protocol-version"),
            name(SESSION),
        ])
        .expose_headers([header::WWW_AUTHENTICATE, name(SESSION)])
}

/// As rmcp compares, which has the last word: an entry without a port means the scheme's own here.
fn is_allowed(origins: &[String], origin: &HeaderValue) -> bool {
    let Some(origin) = origin.to_str().ok().and_then(|text| Url::parse(text).ok()) else { return false };
    origins.iter().any(|allowed| {
        let (base, any_port) = match allowed.strip_suffix(":*") {
            Some(base) => (base, true),
            None => (allowed.as_str(), false),
        };
        Url::parse(base).is_ok_and(|base| {
            let same_port = base.port_or_known_default() == origin.port_or_known_default();
            base.scheme() == origin.scheme() && base.host() == origin.host() && (any_port || same_port)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origins = ["https://app.example.com:443", "http://localhost:*"].map(str::to_owned);
        for (origin, allowed) in [
            ("https://app.example.com", true),
            ("https://app.example.com:8443", false),
            ("http://app.example.com", false),
            ("http://localhost:6274", true),
            ("http://localhost.evil.example", false),
            ("https://evil.example", false),
            ("null", false),
        ] {
            assert_eq!(is_allowed(&origins, &HeaderValue::from_static(origin)), allowed, "{origin}");
        }
    }
}
