//! An MCP server whose tool needs the user's account at a third party, and which lets Consentry get it by `consentry-rmcp`:
//! who is calling, sessions bound to users, and the right answer for each client are that crate's. `files` is the tool.
//!
//! It never sees a password, a code or a refresh token, and holds an access token only for the call that needs it.

mod files;

use std::{io, net::SocketAddr, time::Duration};

use axum::Router;
use consentry_client::{Client, Prefer};
use consentry_rmcp::{Consentry, Endpoint, bearer::Bearer};
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use self::files::Files;

/// The name that people see.
const NAME: &str = "Demo MCP server";
/// The scope that a token must have.
const SCOPE: &str = "mcp";
/// Of pages in a browser, only those on this machine may call (the Inspector).
const LOCAL_PAGES: [&str; 2] = ["http://localhost:*", "http://127.0.0.1:*"];

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
        let router = router(&origin, settings, &stop)?;
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

fn router(origin: &str, settings: Settings, stop: &CancellationToken) -> io::Result<Router> {
    let bearer = Bearer::builder(format!("{origin}/mcp"), settings.issuer).scopes([SCOPE]).name(NAME);
    let bearer = bearer.only_rfc9068().build().map_err(io::Error::other)?;
    let client = Client::new(&settings.consentry, settings.api_key).map_err(io::Error::other)?;
    let mut consentry = Consentry::builder(client).patience(settings.patience);
    if settings.prefer == Prefer::Error {
        consentry = consentry.prefer_errors();
    }
    let files = Files { consentry: consentry.build(), http: http()?, api: settings.files };
    Ok(Endpoint::new(bearer).origins(LOCAL_PAGES).stop(stop.clone()).router(move || Ok(files.clone())))
}

fn http() -> io::Result<reqwest::Client> {
    #[expect(clippy::disallowed_methods, reason = "an MCP server's own client, not Consentry's")]
    let client = reqwest::Client::builder();
    let client =
        client.no_proxy().redirect(reqwest::redirect::Policy::none()).timeout(Duration::from_secs(10));
    client.build().map_err(io::Error::other)
}
