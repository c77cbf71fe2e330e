//! An MCP server whose tool needs the user's account at a third party, and which lets Consentry get it. It is written
//! to be copied.
//!
//! | here | what |
//! |---|---|
//! | `files` | the tool, as any tool on rmcp looks |
//! | `connect` | from a tool call to the user's credential: the one part that knows Consentry |
//! | `gate`, `bearer` | who is calling: RFC 9728 metadata, the token's check, sessions bound to users |
//! | `modern` | a fault of rmcp 3.11, mended |
//!
//! It never sees a password, a code or a refresh token, and holds an access token only for the call that needs it.

mod bearer;
mod connect;
mod files;
mod gate;
mod modern;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    http::{HeaderName, HeaderValue, Method, header},
    middleware,
    routing::get,
};
use consentry_client::Prefer;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowOrigin, CorsLayer};

pub use self::modern::without_elicitation_id;
use self::{bearer::Bearer, connect::Connect, files::Files, gate::Gate};

/// The name that people see.
const NAME: &str = "Demo MCP server";
/// A session outlives the elicitations in it, which live for half an hour; rmcp ends it after five minutes otherwise.
const SESSION_LIFE: Duration = Duration::from_secs(2 * 60 * 60);

/// What the MCP server needs to know.
#[derive(Clone)]
pub struct Settings {
    /// The issuer of its users' access tokens.
    pub issuer: String,
    /// Base URL of Consentry's internal listener.
    pub consentry: String,
    /// The key for it.
    pub api_key: String,
    /// Base URL of Example Files.
    pub files: String,
    /// How long a call waits for the user.
    pub patience: Duration,
    /// Whether clients of the legacy era are asked within the call, or by error `-32042`.
    pub prefer: Prefer,
}

/// A port that is taken: the address is known before the server runs.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

/// A running MCP server; dropping it stops it.
#[derive(Debug)]
pub struct McpServer {
    origin: String,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Bound {
    /// Takes `address`; port 0 is a free one.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn to(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self { address: listener.local_addr()?, listener })
    }

    /// The MCP endpoint, which is also the resource identifier: the `aud` of its users' tokens.
    pub fn resource(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Begins to serve.
    ///
    /// # Errors
    /// When the settings cannot be used.
    pub fn serve(self, settings: Settings) -> io::Result<McpServer> {
        let stop = CancellationToken::new();
        let origin = format!("http://{}", self.address);
        let router = router(&origin, self.address, settings, &stop)?;
        let stopped = stop.clone().cancelled_owned();
        let serving = axum::serve(self.listener, router).with_graceful_shutdown(stopped);
        let task = tokio::spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!(%error, "the MCP server ended");
            }
        });
        Ok(McpServer { origin, stop, task })
    }
}

impl McpServer {
    /// The MCP endpoint.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    /// Ends sessions and streams, and waits for that a little.
    pub async fn stop(mut self) {
        self.stop.cancel();
        let _ = timeout(Duration::from_secs(2), &mut self.task).await;
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}

fn router(
    origin: &str,
    address: SocketAddr,
    settings: Settings,
    stop: &CancellationToken,
) -> io::Result<Router> {
    let consentry = consentry_client::Client::new(&settings.consentry, settings.api_key);
    let consentry = consentry.map_err(io::Error::other)?;
    let http = http()?;
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_LIFE);
    let sessions = Arc::new(sessions);
    let gate = Arc::new(Gate {
        origin: origin.to_owned(),
        bearer: Bearer::new(settings.issuer, format!("{origin}/mcp"), http.clone()),
        sessions: Arc::clone(&sessions),
        owners: Default::default(),
    });
    // Against DNS rebinding: only our own name, and of pages in a browser only those on this machine (the Inspector).
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts([address.to_string()])
        .with_allowed_origins(LOCAL_PAGES.map(|page| format!("{page}:*")))
        .with_cancellation_token(stop.clone());
    let files = move || {
        let connect = Connect::new(consentry.clone(), settings.patience, settings.prefer);
        Ok(Files { connect, http: http.clone(), api: settings.files.clone() })
    };
    Ok(Router::new()
        .route_service("/mcp", StreamableHttpService::new(files, sessions, config))
        .route_layer(middleware::from_fn(modern::without_elicitation_id))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&gate), gate::check))
        // Behind the layers: these are for everybody.
        .route(gate::METADATA_PATH, get(gate::metadata))
        .with_state(gate)
        .layer(cors()))
}

const LOCAL_PAGES: [&str; 2] = ["http://localhost", "http://127.0.0.1"];

/// Lets MCP clients that are pages on this machine read the answers.
fn cors() -> CorsLayer {
    let local = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        LOCAL_PAGES.iter().any(|page| {
            origin.strip_prefix(page).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    };
    let name = HeaderName::from_static;
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| local(origin)))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            name("last-event-id"),
            name("mcp-method"),
            name("mcp-name"),
            name("mcp-protocol-version"),
            name("mcp-session-id"),
        ])
        .expose_headers([header::WWW_AUTHENTICATE, name("mcp-session-id")])
}

fn http() -> io::Result<reqwest::Client> {
    #[expect(clippy::disallowed_methods, reason = "an MCP server's own client, not Consentry's")]
    let client = reqwest::Client::builder();
    let client =
        client.no_proxy().redirect(reqwest::redirect::Policy::none()).timeout(Duration::from_secs(10));
    client.build().map_err(io::Error::other)
}
