//! The database that a command works on: the one that is there. A wrong path must not look like an empty database, least
//! of all to whoever is in a hurry.

use super::{output::CliError, serve::refused};
use crate::{
    app::App,
    audit::Sealer,
    config::{self, Settings},
    elicitation::{MalformedId, ProviderId, ServerId},
    keys,
    random::Random,
    recorder,
    server::barred,
    store::Store,
    vault::Vault,
};

/// The database with its schema up to date; the commands that make it so are `serve` and `migrate`.
pub(super) async fn open(settings: &Settings) -> Result<Store, CliError> {
    is_there(settings)?;
    let database = &settings.database;
    let store = Store::open_existing(&database.url, database.connections).await.map_err(CliError::failed)?;
    if store.is_migrated().await.unwrap_or(false) {
        return Ok(store);
    }
    store.shut_down().await;
    Err(CliError::failed(
        "the database's schema is behind this program, or it is no database of ours; run `consentry migrate`",
    ))
}

/// A database with its audit record.
pub(super) struct Recorded {
    pub(super) store: Store,
    pub(super) sealer: Sealer,
    pub(super) vault: Vault,
}

/// The same with its audit record, for commands that need no more of the program.
pub(super) async fn recorded(settings: &mut Settings) -> Result<Recorded, CliError> {
    let keys = std::mem::take(&mut settings.keys);
    let vault = Vault::new(keys, Random).map_err(CliError::failed)?;
    let sealer = Sealer::new(vault.clone(), settings.audit_names_subjects);
    let store = open(settings).await?;
    Ok(Recorded { store: store.recorded(sealer.clone()), sealer, vault })
}

/// Where the chains end that this command has written to the audit record: what `audit verify --expect` compares with.
pub(super) async fn heads(store: &Store) -> Vec<String> {
    store.audit_heads().await.iter().map(ToString::to_string).collect()
}

/// Before a command seals something: from then on every server has to open it.
pub(super) async fn enter(app: &App) -> Result<(), CliError> {
    let entered = keys::enter(&app.store, &app.vault, None, app.clock.now()).await;
    barred(entered.map_err(CliError::failed)?).map_err(refused)
}

/// Ends a command that did what the server does, once everything is written, also where it stopped half way. Gives the
/// [`heads`].
pub(super) async fn finish(app: &App) -> Vec<String> {
    app.shutdown.cancel();
    app.tasks.close();
    app.tasks.wait().await;
    recorder::finish(app).await;
    let heads = heads(&app.store).await;
    app.store.shut_down().await;
    heads
}

/// Refuses a SQLite file that does not exist.
pub(super) fn is_there(settings: &Settings) -> Result<(), CliError> {
    match config::sqlite_file(&settings.database.url).filter(|file| !file.exists()) {
        None => Ok(()),
        Some(file) => Err(CliError::failed(format!(
            "there is no database {}: is this the right configuration, and the right directory to run in? `consentry \
             serve` and `consentry migrate` make a new one",
            file.display()
        ))),
    }
}

/// Ids that were given to narrow a command, as far as the configuration does not know them. What was taken out of it
/// may still have rows, so whether nobody knows one shows when it finds nothing.
#[derive(Debug, Default)]
pub(super) struct Narrowed {
    pub(super) server: Option<ServerId>,
    pub(super) provider: Option<ProviderId>,
    unknown: Vec<String>,
}

impl Narrowed {
    pub(super) fn by(
        settings: &Settings,
        server: Option<&str>,
        provider: Option<&str>,
    ) -> Result<Self, CliError> {
        let wrong = |what: &str, id: &str| CliError::Usage(format!("no such {what}: {id:?}"));
        let mut unknown = Vec::new();
        let server = parsed(server).map_err(|id| wrong("MCP server", id))?;
        let provider = parsed(provider).map_err(|id| wrong("provider", id))?;
        if let Some(id) = server.as_ref().filter(|id| !settings.mcp_servers.iter().any(|one| one.id == **id))
        {
            unknown.push(format!("no MCP server {id}"));
        }
        if let Some(id) = provider.as_ref().filter(|id| !settings.named().any(|(known, _)| known == *id)) {
            unknown.push(format!("no provider {id}"));
        }
        Ok(Self { server, provider, unknown })
    }

    /// An issuer that narrows too.
    pub(super) fn issuer(mut self, settings: &Settings, issuer: Option<&str>) -> Self {
        let knows = |issuer: &str| settings.authorization_servers.iter().any(|one| one.issuer == issuer);
        if let Some(issuer) = issuer.filter(|issuer| !knows(issuer)) {
            self.unknown.push(format!("no issuer {issuer}"));
        }
        self
    }

    /// Nothing was found: refused when that may be because an id is misspelt.
    pub(super) fn found_nothing(&self) -> Result<(), CliError> {
        if self.unknown.is_empty() {
            return Ok(());
        }
        let unknown = self.unknown.join(", ");
        Err(CliError::Usage(format!("the configuration has {unknown}, and nothing is stored of it")))
    }
}

fn parsed<T: std::str::FromStr<Err = MalformedId>>(id: Option<&str>) -> Result<Option<T>, &str> {
    id.map(|id| id.parse().map_err(|_| id)).transpose()
}
