//! Everybody: an authorization server, a third party, Consentry (one replica or two), and MCP servers on rmcp.

use std::{
    fs, io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::Router;
use consentry::{
    clock::Clock,
    config::{self, Environment},
    random::Random,
    server::{Ended, Server},
    vault::{Key, KeyId},
};
use consentry_fakes::{AuthorizationServer, Client, Listen, Provider};
use consentry_rmcp::{Builder, Call, Consentry, Endpoint, Need, bearer::Bearer, client, grant};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams, GetPromptResponse,
        GetPromptResult, PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
        ResourceContents, Role, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    tool, tool_handler, tool_router,
};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::browser::Browser;

pub(crate) struct Stand {
    pub(crate) id: AuthorizationServer,
    pub(crate) files: Provider,
    pub(crate) public_url: String,
    /// Consentry's internal listeners.
    pub(crate) internal: Vec<String>,
    pub(crate) api_key: String,
    /// Which replica browsers reach.
    front: Arc<AtomicUsize>,
    resource: SocketAddr,
    mcp: Option<TcpListener>,
    stop: CancellationToken,
    running: Vec<JoinHandle<Ended>>,
    _directory: TempDir,
}

/// An MCP server of the tests.
#[derive(Clone)]
pub(crate) struct Tools(pub(crate) Consentry);

#[tool_router]
impl Tools {
    #[tool(description = "needs one account")]
    async fn list_files(&self, call: Call) -> Result<CallToolResponse, ErrorData> {
        let need = Need::new("example-files").why("Connect Example Files to list your files.");
        let account = grant!(self.0.grant(call, need).await);
        Ok(says(&account))
    }

    #[tool(description = "needs two")]
    async fn compare(&self, call: Call) -> Result<CallToolResponse, ErrorData> {
        let needs = ["example-files", "more-files"].map(Need::from);
        let accounts = grant!(self.0.grants(call, needs).await);
        Ok(says(&accounts[1]))
    }

    #[tool(description = "asks from a task of its own")]
    async fn spawned(&self, call: Call) -> Result<CallToolResponse, ErrorData> {
        let consentry = self.0.clone();
        let task = tokio::spawn(async move { consentry.grant(call, "example-files").await });
        let account = grant!(task.await.unwrap());
        Ok(says(&account))
    }
}

fn says(account: &client::Grant) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(label(account))]).into()
}

fn label(account: &client::Grant) -> String {
    assert!(account.bearer().is_some_and(|token| !token.is_empty()));
    let label = account.connection.account.as_ref().and_then(|account| account.label.clone());
    label.unwrap_or("connected".to_owned())
}

#[tool_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources();
        ServerConfig::new(can.build())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let call = Call::of_prompt(&request, context);
        let account = grant!(self.0.grant(call, "example-files").await);
        let message = PromptMessage::new_text(Role::User, label(&account));
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let call = Call::of_resource(&request, context);
        let account = grant!(self.0.grant(call, "example-files").await);
        Ok(ReadResourceResult::new(vec![ResourceContents::text(label(&account), request.uri)]).into())
    }
}

impl Stand {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}/consentry.db", directory.path().display());
        Self::on(directory, &database, 1, Clock::system()).await
    }

    /// Consentry's time moves by `clock.advance` alone.
    pub(crate) async fn by(clock: Clock) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}/consentry.db", directory.path().display());
        Self::on(directory, &database, 1, clock).await
    }

    pub(crate) async fn on(directory: TempDir, database: &str, replicas: usize, clock: Clock) -> Self {
        let id = AuthorizationServer::start(Listen::on([127, 0, 0, 2])).await.unwrap();
        let files = Provider::start(Listen::on([127, 0, 0, 3])).await.unwrap();
        // The URLs stand in everybody's settings and come first.
        let front = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let public_url = format!("http://localhost:{}", front.local_addr().unwrap().port());
        let mcp = TcpListener::bind("127.0.0.4:0").await.unwrap();
        let resource = mcp.local_addr().unwrap();
        let secret = || Random.secret().expose().to_owned();
        let plan = Plan {
            public_url: &public_url,
            directory: &directory.path().display().to_string(),
            database,
            issuer: id.base_url(),
            provider: files.base_url(),
            resource: &format!("http://{resource}/mcp"),
            secret: &secret(),
            api_key: &secret(),
        };
        plan.register(&id, &files);
        let (_, key) = Key::generate(KeyId::new("test").unwrap(), &Random);
        fs::write(directory.path().join("consentry.key"), key.expose()).unwrap();
        let file = directory.path().join("consentry.toml");
        fs::write(&file, plan.write()).unwrap();

        let stop = CancellationToken::new();
        let (mut internal, mut public, mut running) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..replicas {
            let settings = config::load(Some(&file), &Environment::default()).unwrap();
            let server = Server::build(settings, clock.clone()).await.unwrap();
            internal.push(format!("http://{}", server.internal_addr()));
            public.push(server.public_addr());
            running.push(tokio::spawn(server.run(stop.clone())));
        }
        let api_key = plan.api_key.to_owned();
        let chosen = Arc::new(AtomicUsize::new(0));
        tokio::spawn(balance(front, public, Arc::clone(&chosen), stop.clone()));
        Self {
            id,
            files,
            public_url,
            internal,
            api_key,
            front: chosen,
            resource,
            mcp: Some(mcp),
            stop,
            running,
            _directory: directory,
        }
    }

    /// From now on browsers reach this replica.
    pub(crate) fn browsers_reach(&self, replica: usize) {
        self.front.store(replica, Ordering::SeqCst);
    }

    pub(crate) fn resource(&self) -> String {
        format!("http://{}/mcp", self.resource)
    }

    pub(crate) fn consentry(&self, replica: usize) -> client::Client {
        client::Client::new(&self.internal[replica], &self.api_key).unwrap()
    }

    /// The MCP server at the resource's own address, with the usual settings.
    pub(crate) async fn mcp(&mut self) -> String {
        self.mcp_with(|builder| builder).await
    }

    pub(crate) async fn mcp_with(&mut self, change: impl FnOnce(Builder) -> Builder) -> String {
        let consentry = change(Consentry::builder(self.consentry(0))).build();
        let router = self.endpoint().router(move || Ok(Tools(consentry.clone())));
        let listener = self.mcp.take().unwrap();
        self.serve(listener, router)
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        let bearer = Bearer::builder(self.resource(), self.id.base_url()).scopes(["mcp"]);
        Endpoint::new(bearer.build().unwrap()).stop(self.stop.clone())
    }

    /// Any router at the resource's own address.
    pub(crate) fn serve_app(&mut self, router: Router) -> String {
        let listener = self.mcp.take().unwrap();
        self.serve(listener, router)
    }

    /// Another process of the MCP server, behind the same name.
    pub(crate) async fn further_mcp(&self, replica: usize) -> String {
        let consentry = Consentry::new(self.consentry(replica));
        let listener = TcpListener::bind("127.0.0.4:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let router = self.endpoint().hosts([host]).router(move || Ok(Tools(consentry.clone())));
        self.serve(listener, router)
    }

    fn serve(&self, listener: TcpListener, router: Router) -> String {
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let stop = self.stop.clone().cancelled_owned();
        tokio::spawn(
            async move { axum::serve(listener, router).with_graceful_shutdown(stop).await.unwrap() },
        );
        url
    }

    pub(crate) fn token(&self, person: &str) -> String {
        self.id.access_token_for(person, &self.resource()).unwrap()
    }

    /// The person signs in, agrees, and allows access with that account.
    pub(crate) async fn connects(&self, link: &str, person: &str, account: &str) {
        let mut browser = Browser::default();
        browser.open(link).await;
        assert_eq!(browser.page(), "sign-in");
        browser.follow("/sign-in").await;
        browser.press("/sign-in", &[("person", person)]).await;
        assert_eq!(browser.page(), "ready");
        browser.press("/continue", &[]).await;
        assert_eq!(browser.page(), "leaving");
        browser.follow(self.files.base_url()).await;
        browser.press("/consent", &[("account", account)]).await;
        assert_eq!(browser.page(), "connected");
    }

    /// Stops Consentry, which must not have left anything behind.
    pub(crate) async fn ends(self) {
        self.stop.cancel();
        for running in self.running {
            let ended = tokio::time::timeout(Duration::from_secs(30), running).await.unwrap();
            assert_eq!(ended.unwrap(), Ended::Drained);
        }
    }
}

/// The operator's load balancer: whole connections, to the chosen one.
async fn balance(front: TcpListener, to: Vec<SocketAddr>, chosen: Arc<AtomicUsize>, stop: CancellationToken) {
    loop {
        let mut near = tokio::select! {
            near = front.accept() => near.unwrap().0,
            () = stop.cancelled() => return,
        };
        let address = to[chosen.load(Ordering::SeqCst)];
        tokio::spawn(async move {
            let mut far = tokio::net::TcpStream::connect(address).await?;
            tokio::io::copy_bidirectional(&mut near, &mut far).await.map(drop)?;
            io::Result::Ok(())
        });
    }
}

/// Consentry's settings.
struct Plan<'a> {
    public_url: &'a str,
    directory: &'a str,
    database: &'a str,
    issuer: &'a str,
    provider: &'a str,
    resource: &'a str,
    secret: &'a str,
    api_key: &'a str,
}

impl Plan<'_> {
    fn register(&self, id: &AuthorizationServer, files: &Provider) {
        let client = || Client::basic("consentry", self.secret).name("Consentry");
        id.register(client().redirect_uri(format!("{}/sign-in/callback/main", self.public_url)));
        let callback = |provider: &str| format!("{}/callback/files/{provider}", self.public_url);
        files.register(client().redirect_uri(callback("example-files")).redirect_uri(callback("more-files")));
    }

    fn write(&self) -> String {
        let Self { public_url, directory, database, issuer, provider, resource, secret, api_key } = self;
        let provider = |id: &str| {
            format!(
                r#"
[[providers]]
id = "{id}"
name = "Example Files"
issuer = "{provider}"
client_id = "consentry"
client_secret = {{ value = "{secret}" }}
scopes = ["files.read"]
scope_words = {{ "files.read" = "See the names of your files" }}
probe = {{ url = "{provider}/me", id = "id", label = "login" }}
"#
            )
        };
        let providers = [provider("example-files"), provider("more-files")].concat();
        format!(
            r#"public_url = "{public_url}"

[listen]
public = "127.0.0.1:0"
internal = "127.0.0.1:0"
drain = "2s"

[database]
url = {{ value = '{database}' }}

[encryption]
keys = [{{ id = "test", file = '{directory}/consentry.key' }}]

[[authorization_servers]]
id = "main"
name = "Example ID"
issuer = "{issuer}"
client_id = "consentry"
client_secret = {{ value = "{secret}" }}

[[mcp_servers]]
id = "files"
name = "The files tools"
resource = "{resource}"
authorization_server = "main"
api_keys = [{{ value = "{api_key}" }}]
providers = ["example-files", "more-files"]
{providers}"#
        )
    }
}
