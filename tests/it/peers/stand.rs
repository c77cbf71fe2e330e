//! A Consentry whose authorization server and third party are both `oidc-provider`, each on a host of its own.
//!
//! Everybody lives in wall time here: the peers have no other.

use std::{fs, net::Ipv4Addr};

use consentry::{
    clock::Clock,
    config::{self, Environment},
    random::Random,
    server::{BuildError, Ended, Server},
    vault::{Key, KeyId},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use super::program::Peer;
use crate::{
    browser::driver::PATIENCE,
    engine::{Database, Engine},
    world::{self, FILES, ID, api::Api},
};

/// The MCP server's resource: what access tokens for it must be for.
pub(super) const RESOURCE: &str = "https://files.example/mcp";
/// Tries to find a free port.
const TRIES: usize = 5;

/// An `oidc-provider`.
pub(super) struct Party {
    pub(super) peer: Peer,
    pub(super) issuer: String,
    /// Its metadata, as it publishes them.
    pub(super) metadata: Value,
}

pub(super) struct Stand {
    pub(super) public_url: String,
    pub(super) api: Api,
    /// Plain HTTP, without redirects.
    pub(super) client: reqwest::Client,
    /// The authorization server.
    pub(super) id: Party,
    /// The third party.
    pub(super) files: Party,
    stop: CancellationToken,
    task: JoinHandle<Ended>,
    _directory: TempDir,
    _database: Database,
}

impl Stand {
    /// Starts everybody. Consentry's URL stands in everybody's settings and comes first: a port is chosen, and another
    /// when somebody has taken it meanwhile.
    pub(super) async fn start() -> Self {
        for _ in 0..TRIES {
            let port = 10_000 + u16::try_from(Random.below(20_000)).unwrap();
            let is_free = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.is_ok();
            if is_free && let Some(stand) = Self::start_on(port).await {
                return stand;
            }
        }
        panic!("no port is free");
    }

    async fn start_on(port: u16) -> Option<Self> {
        let public_url = format!("http://localhost:{port}");
        let secret = Random.secret().expose().to_owned();
        let client = world::client(([127, 0, 0, 1], port).into());
        let sign_in = format!("{public_url}/sign-in/callback/{ID}");
        let callback = format!("{public_url}/callback/files/{FILES}");
        let (id, files) = tokio::join!(
            Party::start(2, &secret, &sign_in, &client),
            Party::start(3, &secret, &callback, &client),
        );
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let (_, key) = Key::generate(KeyId::new("test").unwrap(), &Random);
        fs::write(at("consentry.key"), key.expose()).unwrap();
        let database = Database::start(Engine::Sqlite).await;
        let api_key = Random.secret().expose().to_owned();
        let settings = Plan {
            public_url: &public_url,
            port,
            database: database.url.expose(),
            key: &at("consentry.key").display().to_string(),
            id: &id.issuer,
            files: &files.issuer,
            secret: &secret,
            api_key: &api_key,
        };
        fs::write(at("consentry.toml"), settings.write()).unwrap();
        let settings = config::load(Some(&at("consentry.toml")), &Environment::default()).unwrap();
        let server = match Server::build(settings, Clock::system()).await {
            Ok(server) => server,
            Err(BuildError::Listen(..)) => return None,
            Err(error) => panic!("{error}"),
        };
        let base = format!("http://{}", server.internal_addr());
        let api = Api::new(client.clone(), base, api_key, id.issuer.clone());
        let stop = CancellationToken::new();
        let task = tokio::spawn(server.run(stop.clone()));
        let (_directory, _database) = (directory, database);
        Some(Self { public_url, api, client, id, files, stop, task, _directory, _database })
    }

    /// Stops Consentry, which must not have left anything behind.
    pub(super) async fn ends(self) {
        self.stop.cancel();
        let ended = timeout(PATIENCE, self.task).await.expect("it stops in time");
        assert_eq!(ended.expect("the server did not panic"), Ended::Drained);
    }
}

impl Party {
    /// On 127.0.0.`last`, with Consentry as its client.
    async fn start(last: u8, secret: &str, redirect_uri: &str, client: &reqwest::Client) -> Self {
        let registered = json!({
            "client_id": "consentry",
            "client_secret": secret,
            "client_name": "Consentry",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "client_secret_basic",
        });
        let config = json!({
            "host": format!("127.0.0.{last}"),
            "clients": [registered],
            "scopes": ["files"],
            "refresh": "always",
            "events": true,
        });
        let peer = Peer::start("oidc.mjs", &config);
        let ready = peer.tells("ready").await;
        let issuer = ready["issuer"].as_str().unwrap().to_owned();
        let discovery = format!("{issuer}/.well-known/openid-configuration");
        let metadata = client.get(discovery).send().await.unwrap().json().await.unwrap();
        Self { peer, issuer, metadata }
    }

    /// Where one of its endpoints is.
    pub(super) fn endpoint(&self, name: &str) -> &str {
        self.metadata[name].as_str().unwrap_or_else(|| panic!("no {name}: {}", self.metadata))
    }

    /// Whatever it took amiss.
    pub(super) fn errors(&self) -> Vec<Value> {
        let kinds =
            ["authorization.error", "grant.error", "userinfo.error", "revocation.error", "server_error"];
        kinds.iter().flat_map(|kind| self.peer.events(kind)).collect()
    }
}

/// What the settings are made of.
struct Plan<'a> {
    public_url: &'a str,
    port: u16,
    database: &'a str,
    key: &'a str,
    id: &'a str,
    files: &'a str,
    secret: &'a str,
    api_key: &'a str,
}

impl Plan<'_> {
    /// Nothing but issuers: everything else about the parties is discovered.
    fn write(&self) -> String {
        let Self { public_url, port, database, key, id, files, secret, api_key } = self;
        format!(
            r#"public_url = "{public_url}"

[listen]
public = "127.0.0.1:{port}"
internal = "127.0.0.1:0"

[database]
url = {{ value = '{database}' }}

[encryption]
keys = [{{ id = "test", file = '{key}' }}]

[[authorization_servers]]
id = "{ID}"
name = "The authorization server"
issuer = "{id}"
client_id = "consentry"
client_secret = {{ value = "{secret}" }}

[[mcp_servers]]
id = "files"
name = "The files tools"
resource = "{RESOURCE}"
authorization_server = "{ID}"
api_keys = [{{ value = "{api_key}" }}]
providers = ["{FILES}"]

[[providers]]
id = "{FILES}"
name = "The third party"
issuer = "{files}"
client_id = "consentry"
client_secret = {{ value = "{secret}" }}
scopes = ["openid", "email", "files"]
"#
        )
    }
}
