//! Consentry's part of the world: settings and a key as an operator would write them, and a server made of them.

use std::{fs, io, net::SocketAddr, path::Path};

use consentry::{
    clock::Clock,
    config::{self, Environment},
    random::Random,
    server::{BuildError, Server},
    vault::{Key, KeyId},
};
use consentry_fakes::{AuthorizationServer, Client, Provider};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{Consentry, Guest, StartError};

/// Ids in the settings.
const SERVER: &str = "files";
const PROVIDER: &str = "example-files";
const AUTHORITY: &str = "example-id";
/// The same of the other MCP server, when there is one.
const GUEST: &str = "guest";
const GUEST_PROVIDER: &str = "github";

/// What Consentry shares with the others, one secret with each.
pub(super) struct Secrets {
    sign_in: String,
    files: String,
    pub(super) api_key: String,
}

impl Secrets {
    pub(super) fn new() -> Self {
        let secret = || Random.secret().expose().to_owned();
        Self { sign_in: secret(), files: secret(), api_key: secret() }
    }
}

/// What Consentry's settings are made of.
pub(super) struct Plan<'a> {
    /// Both listeners; port 0 is a free one.
    pub(super) public: SocketAddr,
    pub(super) internal: SocketAddr,
    pub(super) directory: &'a Path,
    pub(super) database: Option<&'a str>,
    pub(super) example_id: &'a AuthorizationServer,
    pub(super) example_files: &'a Provider,
    pub(super) resource: &'a str,
    pub(super) guest: Option<&'a Guest>,
    pub(super) secrets: &'a Secrets,
}

impl Plan<'_> {
    /// Starts Consentry.
    pub(super) async fn start(&self) -> Result<Consentry, StartError> {
        let mut tries = if self.public.port() == 0 { 3 } else { 1 };
        loop {
            tries -= 1;
            match self.start_on(free(self.public).await?).await {
                // Somebody else took the port after it was found free.
                Err(StartError::Consentry(BuildError::Listen(..))) if tries > 0 => {}
                started => return started,
            }
        }
    }

    async fn start_on(&self, public: SocketAddr) -> Result<Consentry, StartError> {
        let public_url = format!("http://localhost:{}", public.port());
        self.register(&public_url);
        let file = self.directory.join("consentry.toml");
        let written = self.write_key().and_then(|()| fs::write(&file, self.settings(public, &public_url)));
        written.map_err(StartError::Directory)?;
        let settings = config::load(Some(&file), &Environment::default()).map_err(StartError::Settings)?;
        let server = Server::build(settings, Clock::system()).await?;
        let internal_url = format!("http://{}", server.internal_addr());
        let stop = CancellationToken::new();
        let task = tokio::spawn(server.run(stop.clone()));
        Ok(Consentry { public_url, internal_url, stop, task })
    }

    /// What an operator does in the settings of both parties: makes Consentry a client of theirs.
    fn register(&self, public_url: &str) {
        let client = |secret| Client::basic("consentry", secret).name("Consentry");
        let sign_in = format!("{public_url}/sign-in/callback/{AUTHORITY}");
        self.example_id.register(client(&self.secrets.sign_in).redirect_uri(sign_in));
        let callback = format!("{public_url}/callback/{SERVER}/{PROVIDER}");
        let guests = format!("{public_url}/callback/{GUEST}/{GUEST_PROVIDER}");
        self.example_files.register(client(&self.secrets.files).redirect_uri(callback).redirect_uri(guests));
    }

    fn write_key(&self) -> io::Result<()> {
        let id = KeyId::new("demo").map_err(io::Error::other)?;
        let (_, text) = Key::generate(id, &Random);
        fs::write(self.directory.join("consentry.key"), text.expose())
    }

    /// What differs from the defaults.
    fn settings(&self, public: SocketAddr, public_url: &str) -> String {
        let Self { internal, resource, secrets, .. } = self;
        let issuer = self.example_id.base_url();
        let directory = self.directory.display();
        let database =
            self.database.map_or_else(|| format!("sqlite:{directory}/consentry.db"), str::to_owned);
        let Secrets { sign_in, api_key, .. } = secrets;
        let server = mcp_server(SERVER, "Demo MCP server", resource, api_key, PROVIDER);
        let provider = self.provider(PROVIDER, "Example Files", "See the names of your files");
        let guest = self.guest.map(|guest| self.guest_settings(guest)).unwrap_or_default();
        format!(
            r#"public_url = "{public_url}"

[listen]
public = "{public}"
internal = "{internal}"
drain = "2s"

[database]
url = {{ value = '{database}' }}

[encryption]
keys = [{{ id = "demo", file = '{directory}/consentry.key' }}]

[operator]
name = "Consentry demo"

[mcp]
enabled = true

[[authorization_servers]]
id = "{AUTHORITY}"
name = "Example ID"
issuer = "{issuer}"
client_id = "consentry"
client_secret = {{ value = "{sign_in}" }}
{server}{provider}{guest}"#
        )
    }

    /// Another MCP server, and a provider that has GitHub's name and is Example Files.
    fn guest_settings(&self, Guest { resource, api_key }: &Guest) -> String {
        let name = "GitHub (played by Example Files)";
        mcp_server(GUEST, "Example MCP server", resource, api_key, GUEST_PROVIDER)
            + &self.provider(GUEST_PROVIDER, name, "See the names of your repositories")
    }

    /// Example Files, under any name.
    fn provider(&self, id: &str, name: &str, words: &str) -> String {
        let (url, secret) = (self.example_files.base_url(), &self.secrets.files);
        format!(
            r#"
[[providers]]
id = "{id}"
name = "{name}"
issuer = "{url}"
client_id = "consentry"
client_secret = {{ value = "{secret}" }}
scopes = ["files.read"]
scope_words = {{ "files.read" = "{words}" }}
probe = {{ url = "{url}/me", id = "id", label = "login" }}
"#
        )
    }
}

fn mcp_server(id: &str, name: &str, resource: &str, api_key: &str, provider: &str) -> String {
    format!(
        r#"
[[mcp_servers]]
id = "{id}"
name = "{name}"
resource = "{resource}"
authorization_server = "{AUTHORITY}"
api_keys = [{{ value = "{api_key}" }}]
providers = ["{provider}"]
"#
    )
}

/// A port that can be had. It is let go again, because Consentry's own URL stands in its settings, which come first.
async fn free(address: SocketAddr) -> Result<SocketAddr, StartError> {
    let taken = TcpListener::bind(address).await.and_then(|listener| listener.local_addr());
    taken.map_err(|error| StartError::Port("Consentry", address, error))
}
