//! What every handler, worker and command can reach. Cloning shares it.

use std::{ops::Deref, sync::Arc};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    audit::{About, Actor, Entry},
    clock::Clock,
    config::{HostedPage, McpServer, Provider, Settings},
    connectable::Connectable,
    credential::Refreshes,
    elicitation::{ProviderId, ServerId},
    identity::Identity,
    outbound::Outbound,
    provider::Providers,
    random::Random,
    recorder::Recorder,
    secret_form::SecretForms,
    store::Store,
    telemetry::{Metrics, SecurityEvent},
    values::Values,
    vault::Vault,
};

/// The whole program's state.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// What the state is made of.
pub struct Parts {
    /// The settings; their keys have moved into the vault.
    pub settings: Settings,
    /// The database.
    pub store: Store,
    /// The ring of keys.
    pub vault: Vault,
    /// The only clock.
    pub clock: Clock,
    /// The only generator.
    pub random: Random,
    /// Who is at the browser, and who is behind an access token.
    pub identity: Identity,
    /// The third parties.
    pub providers: Providers,
    /// What is connected by typing a key.
    pub secret_forms: SecretForms,
    /// The one client of outgoing calls.
    pub outbound: Outbound,
    /// Refreshes that are under way in this process.
    pub refreshes: Refreshes,
    /// What is counted.
    pub metrics: Metrics,
    /// What is recorded off the request's path.
    pub recorder: Recorder,
    /// Work that outlives its request; a drain waits for it.
    pub tasks: TaskTracker,
    /// Cancelled when the process drains: waits and streams end.
    pub shutdown: CancellationToken,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl App {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// A registered MCP server.
    pub fn server(&self, id: &ServerId) -> Option<&McpServer> {
        self.settings.mcp_servers.iter().find(|server| server.id == *id)
    }

    /// The one redirect URI of a provider under an MCP server, the same at both endpoints (R60, R64).
    pub fn redirect_uri(&self, server: &ServerId, provider: &ProviderId) -> String {
        self.settings.public_url.join(&format!("/callback/{server}/{provider}"))
    }

    /// The provider, while this MCP server is registered and may ask for it. What was asked before the configuration
    /// changed is not answered after.
    pub fn offers(&self, server: &ServerId, provider: &ProviderId) -> Option<Arc<Provider>> {
        let may = self.server(server).is_some_and(|server| server.providers.contains(provider));
        self.providers.get(provider).filter(|_| may)
    }

    /// What is configured under this id, whatever its kind.
    pub fn connectable(&self, id: &ProviderId) -> Option<Connectable> {
        let provider = || self.providers.get(id).map(Connectable::OAuth2);
        let form = || self.secret_forms.get(id).map(Connectable::Secret);
        provider().or_else(form).or_else(|| self.hosted_page(id).map(Connectable::Redirect))
    }

    /// The same, while this MCP server is registered and may ask for it.
    pub fn may_ask(&self, server: &ServerId, provider: &ProviderId) -> Option<Connectable> {
        let may = self.server(server).is_some_and(|server| server.providers.contains(provider));
        self.connectable(provider).filter(|_| may)
    }

    /// The page of an MCP server's own that is configured under this id.
    pub fn hosted_page(&self, id: &ProviderId) -> Option<Arc<HostedPage>> {
        self.settings.hosted_pages.iter().find(|page| page.id == *id).cloned()
    }

    /// The same, while this MCP server is registered and may ask for it.
    pub fn may_visit(&self, server: &ServerId, provider: &ProviderId) -> Option<Arc<HostedPage>> {
        self.may_ask(server, provider)?.hosted_page().cloned()
    }

    /// What an MCP server is called. One that was removed from the settings meanwhile still has its id.
    pub fn server_name(&self, id: &ServerId) -> String {
        self.server(id).map_or_else(|| id.to_string(), |server| server.name.clone())
    }

    /// What a provider is called, the same way.
    pub fn provider_name(&self, id: &ProviderId) -> String {
        self.connectable(id).map_or_else(|| id.to_string(), |one| one.name().to_owned())
    }

    /// Where a person removes our access at a provider; none where that depends on values that are not known.
    pub fn manage_url(&self, id: &ProviderId, values: &Values) -> Option<url::Url> {
        let filled_in = match self.connectable(id)? {
            Connectable::OAuth2(_) => Connectable::OAuth2(self.providers.with(id, &[values]).ok()?),
            other => other,
        };
        filled_in.manage_url().cloned()
    }

    /// Counts, logs and records a refusal that a defender wants to see. `actor` is who was refused, if that is known.
    pub fn security_event(&self, event: SecurityEvent, actor: Actor, about: impl Into<About>) {
        self.metrics.security_event(event);
        self.recorder.note(Entry::of_event(event, actor, about.into(), self.clock.now()));
    }

    /// Runs what must not end with the request that began it, in a task that a drain waits for. `None` when it
    /// panicked.
    pub async fn to_the_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        self.tasks.spawn(work).await.ok()
    }

    /// The issuer that names an MCP server's users.
    pub fn issuer_of<'a>(&'a self, server: &'a McpServer) -> Option<&'a str> {
        let Some(id) = &server.authorization_server else { return Some(&server.own_issuer) };
        self.settings
            .authorization_servers
            .iter()
            .find(|authority| authority.id == *id)
            .map(|authority| authority.issuer.as_str())
    }
}
