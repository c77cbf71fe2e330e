//! Everybody, started together: each party on a host of its own, so that cookies stay apart and redirects are
//! cross-site, as in life.

mod plan;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use consentry::{
    config::ConfigError,
    server::{BuildError, Ended},
};
use consentry_client::Prefer;
use consentry_fakes::{AuthorizationServer, Listen, Provider, Refused};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use self::plan::{Plan, Secrets};
use crate::mcp_server::{self, Bound, McpServer};

/// How to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// The first of five ports in a row; free ones when absent.
    pub ports: Option<u16>,
    /// Consentry's database; a SQLite file that lives as long as the world when absent.
    pub database: Option<String>,
    /// How long the MCP server lets a call wait for the user.
    pub patience: Duration,
    /// How the MCP server asks clients of the legacy era.
    pub prefer: Prefer,
    /// Where another MCP server will be, which is not started here: one of `examples/`, or the reader's own.
    pub guest: Option<SocketAddr>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ports: None,
            database: None,
            patience: Duration::from_secs(600),
            prefer: Prefer::default(),
            guest: None,
        }
    }
}

/// Why the world did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port.
    #[error("{0} cannot have {1}: {2}")]
    Port(&'static str, SocketAddr, io::Error),
    /// The temporary directory.
    #[error("the temporary directory cannot be used: {0}")]
    Directory(io::Error),
    /// Consentry's settings.
    #[error("Consentry's settings: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Settings(Vec<ConfigError>),
    /// Consentry.
    #[error("Consentry: {0}")]
    Consentry(#[from] BuildError),
    /// The MCP server.
    #[error("the MCP server: {0}")]
    McpServer(io::Error),
}

/// The running world. Dropping it stops it; [`World::stop`] does so with manners.
pub struct World {
    /// Signs alice and bob in, and issues the tokens for the MCP server.
    pub example_id: AuthorizationServer,
    /// The third party.
    pub example_files: Provider,
    /// The MCP server.
    pub mcp_server: McpServer,
    /// Consentry.
    pub consentry: Consentry,
    /// Another MCP server, which somebody else starts.
    pub guest: Option<Guest>,
    /// Consentry's settings, key and database.
    directory: TempDir,
}

/// What another MCP server needs to know of itself. Its provider is `github`, played by Example Files.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its MCP endpoint: the `aud` of its users' tokens.
    pub resource: String,
    /// Its key for Consentry's internal API.
    pub api_key: String,
}

/// A running Consentry.
#[derive(Debug)]
pub struct Consentry {
    /// Where browsers come.
    pub public_url: String,
    /// Where MCP servers come.
    pub internal_url: String,
    stop: CancellationToken,
    task: JoinHandle<Ended>,
}

impl Drop for Consentry {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl World {
    /// Starts everybody.
    ///
    /// # Errors
    /// [`StartError`], with nothing left running.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let hosts = Hosts::choose().await;
        let port = |nth: u16| options.ports.map_or(0, |first| first.saturating_add(nth));
        let at = |nth| SocketAddr::new(hosts.of(nth), port(nth));
        let directory = TempDir::with_prefix("consentry-demo-").map_err(StartError::Directory)?;

        let listen = |nth| Listen::on(hosts.of(nth)).port(port(nth));
        let example_id = AuthorizationServer::start(listen(2)).await;
        let example_id = example_id.map_err(|error| StartError::Port("Example ID", at(2), error))?;
        let example_files = Provider::start(listen(3)).await;
        let example_files = example_files.map_err(|error| StartError::Port("Example Files", at(3), error))?;
        let bound = Bound::to(at(4)).await;
        let bound = bound.map_err(|error| StartError::Port("the MCP server", at(4), error))?;

        let secrets = Secrets::new();
        let guest = options
            .guest
            .map(|at| Guest { resource: format!("http://{at}/mcp"), api_key: Secrets::new().api_key });
        let plan = Plan {
            public: at(0),
            internal: at(1),
            directory: directory.path(),
            database: options.database.as_deref(),
            example_id: &example_id,
            example_files: &example_files,
            resource: &bound.resource(),
            guest: guest.as_ref(),
            secrets: &secrets,
        };
        let consentry = plan.start().await?;

        let settings = mcp_server::Settings {
            issuer: example_id.base_url().to_owned(),
            consentry: consentry.internal_url.clone(),
            api_key: secrets.api_key,
            files: example_files.base_url().to_owned(),
            patience: options.patience,
            prefer: options.prefer,
        };
        let mcp_server = bound.serve(settings).map_err(StartError::McpServer)?;
        Ok(Self { example_id, example_files, mcp_server, consentry, guest, directory })
    }

    /// An access token of `person` for the MCP server, as Example ID gives it to an MCP client that has signed them in.
    ///
    /// # Errors
    /// When there is no such person.
    pub fn token_for(&self, person: &str) -> Result<String, Refused> {
        self.example_id.access_token_for(person, &self.mcp_server.url())
    }

    /// The same for the other MCP server; none when there is no place for one.
    ///
    /// # Errors
    /// When there is no such person.
    pub fn guest_token_for(&self, person: &str) -> Result<Option<String>, Refused> {
        let token = |guest: &Guest| self.example_id.access_token_for(person, &guest.resource);
        self.guest.as_ref().map(token).transpose()
    }

    /// Where Consentry's settings, key and database are.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Stops everybody, and removes the directory.
    pub async fn stop(self) {
        let Self { mcp_server, mut consentry, example_id, example_files, directory, .. } = self;
        mcp_server.stop().await;
        consentry.stop.cancel();
        let _ = timeout(Duration::from_secs(5), &mut consentry.task).await;
        drop((example_id, example_files, directory));
    }
}

/// Which addresses the parties get.
struct Hosts {
    apart: bool,
}

impl Hosts {
    /// Everybody has 127.0.0.1 on macOS, where it is the only loopback address that is set up; cookies stay apart by
    /// their names.
    async fn choose() -> Self {
        Self { apart: TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).await.is_ok() }
    }

    /// Both of Consentry's listeners are on 127.0.0.1 (`localhost` to browsers); the others follow.
    fn of(&self, nth: u16) -> IpAddr {
        match nth {
            2..=4 if self.apart => IpAddr::from([127, 0, 0, u8::try_from(nth).unwrap_or(1)]),
            _ => Ipv4Addr::LOCALHOST.into(),
        }
    }
}
