//! From settings to a server: opens the database, checks that the keys fit it, binds.

use std::{fs, io, net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderValue, header};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Server, TlsFiles};
use crate::{
    app::{App, Parts},
    audit::Sealer,
    clock::Clock,
    config::{self, Settings},
    credential,
    identity::{Identity, IdentityError},
    keys::{self, Barred},
    listen::{Limits, Listener, Tls, TlsError},
    outbound::{self, AddressPolicy, Outbound, SetupError},
    provider::Providers,
    random::Random,
    recorder::Recorder,
    secret_form::SecretForms,
    store::{ConnectionFilter, Store, StoreError},
    telemetry::Metrics,
    vault::{KeyError, Vault},
    web,
};

/// A whole request body.
const BODY: Duration = Duration::from_secs(30);
/// Proxies in front keep connections for 60 s as a rule.
const IDLE: Duration = Duration::from_secs(75);
const WRITE: Duration = Duration::from_secs(30);
/// What connecting may take of a call.
const CONNECT: Duration = Duration::from_secs(3);
/// How long the start waits for authorization servers.
const PROBE: Duration = Duration::from_secs(3);

/// Stored credentials that are opened at the start, to see that the keys are those that sealed them.
const KEY_SAMPLES: u32 = 5;

/// Why there is no server. Names what the operator has to mend, and holds no value of a secret.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The ring of keys.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// What is stored was sealed with a key that is not there (R102).
    #[error("the database was sealed with the encryption key {0}, which is not configured: give it back")]
    KeyMissing(String),
    /// A ring that does not go with what is stored, or with the other processes.
    #[error(transparent)]
    KeyBarred(Barred),
    /// Another key under the same id: what is stored does not open (R102).
    #[error(
        "no stored credential opens with the encryption keys that are configured: give the right key back"
    )]
    KeyWrong,
    /// The client of outgoing calls.
    #[error("outgoing calls cannot be set up: {0}")]
    Outbound(#[from] SetupError),
    /// A file of certificates.
    #[error("{0} cannot be read: {1}")]
    CaFile(String, io::ErrorKind),
    /// A listener's certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The database.
    #[error("the database cannot be used: {0}")]
    Store(#[from] StoreError),
    /// Migrations are missing and `database.migrate` is off.
    #[error("the database's schema is behind this program; run `consentry migrate`")]
    Schema,
    /// An address.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::ErrorKind),
    /// An authorization server that cannot be worked with, which waiting does not mend.
    #[error("authorization server {0}: {1}")]
    AuthorizationServer(String, IdentityError),
}

impl Server {
    /// Opens the database (and migrates it, where `database.migrate` says so), binds both listeners, and asks each
    /// authorization server whether it can be worked with. One that cannot be reached now is asked again at the first
    /// sign-in.
    ///
    /// # Errors
    /// [`BuildError`].
    pub async fn build(settings: Settings, clock: Clock) -> Result<Self, BuildError> {
        // Taken first: an address in use should not cost a migration.
        let (public, internal, tls) = bind(&settings)?;
        let drain = settings.listen.drain;
        let app = assemble(settings, clock, Purpose::Serving).await?;
        probe(&app).await?;
        // Last: from here on others count on it.
        let replica = app.random.uuid();
        barred(keys::enter(&app.store, &app.vault, Some(replica), app.clock.now()).await?)?;
        Ok(Self { app, replica, public, internal, tls, drain })
    }
}

/// What the program is put together for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To serve: makes the database and brings it up to date, where the settings say so.
    Serving,
    /// For one command, maybe beside a server: works on the database that is there.
    Command,
}

/// Everything but the listeners, for the server and for commands that do what it does. Seals nothing: whoever does
/// begins with [`keys::enter`].
///
/// # Errors
/// [`BuildError`].
pub(crate) async fn assemble(
    mut settings: Settings,
    clock: Clock,
    purpose: Purpose,
) -> Result<App, BuildError> {
    let random = Random;
    let vault = Vault::new(std::mem::take(&mut settings.keys), random)?;
    let metrics = Metrics::new();
    metrics.know_providers(settings.providers.iter().map(|provider| &provider.id));
    metrics.know_forms(settings.secret_forms.iter().map(|form| &form.id));
    metrics.know_webhooks(settings.posted());
    let outbound = outbound(&settings, &metrics, &clock)?;
    let store = open(&settings, &vault, purpose)
        .await?
        .recorded(Sealer::new(vault.clone(), settings.audit_names_subjects));
    let store = store.posting(settings.posted());
    barred(keys::fits(&store, &vault, purpose == Purpose::Serving, clock.now()).await?)?;
    let identity = Identity::new(
        settings.authorization_servers.clone(),
        outbound.clone(),
        vault.clone(),
        clock.clone(),
        random,
        settings.public_url.clone(),
    );
    let providers =
        Providers::new(settings.providers.clone(), settings.refresh.trial, outbound.clone(), clock.clone());
    let secret_forms = SecretForms::new(settings.secret_forms.clone(), outbound.clone(), clock.clone());
    let recorder = Recorder::new(metrics.clone());
    Ok(App::new(Parts {
        settings,
        store,
        vault,
        clock,
        random,
        identity,
        providers,
        secret_forms,
        outbound,
        refreshes: credential::Refreshes::default(),
        metrics,
        recorder,
        tasks: TaskTracker::new(),
        shutdown: CancellationToken::new(),
    }))
}

/// A ring that does not go with what is stored, as an error of the start.
pub(crate) fn barred(fits: Result<(), Barred>) -> Result<(), BuildError> {
    fits.map_err(|barred| match barred {
        Barred::Missing(key) => BuildError::KeyMissing(key),
        barred => BuildError::KeyBarred(barred),
    })
}

/// The one client of outgoing calls.
///
/// # Errors
/// [`BuildError::Outbound`], [`BuildError::CaFile`].
pub(crate) fn outbound(
    settings: &Settings,
    metrics: &Metrics,
    clock: &Clock,
) -> Result<Outbound, BuildError> {
    let config::OutboundSettings { allowed, ca_files, proxy, timeout, answer_bytes } = &settings.outbound;
    let mut extra_ca_pem = Vec::new();
    for path in ca_files {
        let pem = fs::read(path);
        extra_ca_pem.push(pem.map_err(|error| BuildError::CaFile(path.display().to_string(), error.kind()))?);
    }
    let policy = AddressPolicy {
        allow_loopback: settings.public_url.is_loopback(),
        // The settings' check has refused what does not parse.
        allowed: allowed.iter().filter_map(|entry| entry.parse().ok()).collect(),
    };
    let limits = outbound::Limits {
        connect: CONNECT.min(*timeout),
        head: *timeout,
        total: *timeout,
        body: *answer_bytes,
        ..outbound::Limits::default()
    };
    let settings = outbound::OutboundSettings {
        policy,
        limits,
        extra_ca_pem,
        proxy: proxy.clone(),
        user_agent: concat!("consentry/", env!("CARGO_PKG_VERSION")).to_owned(),
        metrics: metrics.clone(),
    };
    Ok(Outbound::new(settings, clock.clone())?)
}

/// The database, with a schema that fits and nothing in it that no key opens.
async fn open(settings: &Settings, vault: &Vault, purpose: Purpose) -> Result<Store, BuildError> {
    let database = &settings.database;
    let store = match purpose {
        Purpose::Serving => Store::open(&database.url, database.connections).await?,
        Purpose::Command => Store::open_existing(&database.url, database.connections).await?,
    };
    if database.migrate && purpose == Purpose::Serving {
        store.migrate().await?;
    } else {
        match store.is_migrated().await {
            Ok(true) => {}
            // Refused: there is not even the table that tells.
            Ok(false) | Err(StoreError::Refused(_)) => return Err(BuildError::Schema),
            Err(error) => return Err(error.into()),
        }
    }
    // A few stand for all; each of them is looked at again when it is handed out. One that was tampered with must not
    // keep the others' server from starting.
    let few = store.connections(ConnectionFilter::default(), KEY_SAMPLES).await?;
    for connection in &few {
        if let Some(id) = connection.access.key_id().filter(|id| !vault.keys().any(|key| key == id)) {
            return Err(BuildError::KeyMissing(id.to_string()));
        }
    }
    if !few.is_empty() && few.iter().all(|one| credential::open(vault, one).is_err()) {
        return Err(BuildError::KeyWrong);
    }
    Ok(store)
}

fn bind(settings: &Settings) -> Result<(Listener, Listener, TlsFiles), BuildError> {
    let listen = &settings.listen;
    let trusted: Arc<[_]> = listen.trusted_proxies.clone().into();
    let mut tls = TlsFiles::default();
    let mut bound = |name, address, files: &Option<config::TlsFiles>| {
        let loaded = files.as_ref().map(Tls::load).transpose()?;
        tls.0.extend(loaded.clone().map(|loaded| (name, loaded)));
        let listener = Listener::bind(address, loaded, limits(settings), trusted.clone());
        listener.map_err(|error| BuildError::Listen(address, error.kind()))
    };
    let public = bound("public", listen.public, &listen.public_tls)?;
    let internal = bound("internal", listen.internal, &listen.internal_tls)?;
    // What cannot be parsed is answered before any router.
    let public = public.with_headers(&web::headers::every(&settings.public_url));
    let internal = internal.with_headers(&[(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))]);
    Ok((public, internal, tls))
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        head: settings.listen.header_timeout,
        body: BODY,
        idle: IDLE,
        write: WRITE,
        head_bytes: settings.limits.head_bytes,
        headers: settings.limits.headers,
        connections: settings.listen.connections,
    }
}

/// What waiting does not mend stops the start; what cannot be reached is logged.
async fn probe(app: &App) -> Result<(), BuildError> {
    let asked = app.settings.authorization_servers.iter().map(|server| async {
        let answer = tokio::select! {
            answer = app.identity.probe(&server.id) => answer.map(|_| ()),
            () = app.clock.sleep(PROBE) => Err(IdentityError::Unreachable("no answer in time")),
        };
        match answer {
            Ok(()) => Ok(()),
            Err(error @ IdentityError::Unreachable(_)) => {
                tracing::warn!(authorization_server = server.id, %error, "nobody can sign in until it answers");
                Ok(())
            }
            Err(error) => Err(BuildError::AuthorizationServer(server.id.clone(), error)),
        }
    });
    futures_util::future::try_join_all(asked).await.map(|_| ())
}
