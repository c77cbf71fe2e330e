//! Four MCP servers, three providers, a database, and the API's router over them.

use std::time::Duration;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use consentry::{
    app::{App, Parts},
    clock::Clock,
    config::{self, Environment},
    connection::{Account, Connection, ConnectionId, NewConnection},
    elicitation::{AttemptId, AttemptState, Elicitation, ElicitationId, NewAttempt, Outcome, ServerId},
    identity::Identity,
    outbound::{AddressPolicy, Outbound, OutboundSettings},
    provider::{Providers, fingerprint},
    random::Random,
    scope::Scopes,
    store::{Settled, Settlement},
    telemetry::Metrics,
    vault::{Key, Place, Sealed, Vault},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use super::calls::{Answer, Caller};
use crate::engine::Database;

pub(super) const ISSUER: &str = "https://id.example.com";

/// The API over a database.
pub(super) struct Bench {
    pub(super) app: App,
    pub(super) clock: Clock,
    /// Removed when the bench is dropped.
    _db: Database,
    pub(super) router: Router,
    keys: [String; 4],
    _place: TempDir,
}

/// What a bench can be started with, beside what it always has.
pub(super) struct With<'a> {
    pub(super) issuer: &'a str,
    pub(super) access_tokens: &'a str,
    pub(super) limits: &'a str,
}

impl Default for With<'_> {
    fn default() -> Self {
        Self { issuer: ISSUER, access_tokens: "jwt", limits: "" }
    }
}

impl Bench {
    pub(super) async fn new(db: Database) -> Self {
        Self::with(db, With::default()).await
    }

    pub(super) async fn with(db: Database, with: With<'_>) -> Self {
        let place = tempfile::tempdir().unwrap();
        let keys = [(); 4].map(|()| Random.secret().expose().to_owned());
        let clock = Clock::manual();
        let app = app(&db, &with, &keys, &clock, &place).await;
        Self { router: consentry::api::router(app.clone()), app, clock, _db: db, keys, _place: place }
    }

    /// Asks for `acme` and `globex`; its users are those of the one issuer.
    pub(super) fn files(&self) -> Caller<'_> {
        Caller { bench: self, key: &self.keys[0] }
    }

    /// The same of another tenant.
    pub(super) fn notes(&self) -> Caller<'_> {
        Caller { bench: self, key: &self.keys[1] }
    }

    /// One that may not name users.
    pub(super) fn careful(&self) -> Caller<'_> {
        Caller { bench: self, key: &self.keys[2] }
    }

    /// One whose users have no authorization server: they type codes.
    pub(super) fn coded(&self) -> Caller<'_> {
        Caller { bench: self, key: &self.keys[3] }
    }

    pub(super) async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        assert_eq!(parts.headers["cache-control"], "no-store", "{path}");
        assert_eq!(parts.headers["x-content-type-options"], "nosniff", "{path}");
        let bytes = to_bytes(body, 1 << 20).await.unwrap();
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// The elicitation as it is now.
    pub(super) async fn elicitation(&self, id: ElicitationId) -> Elicitation {
        self.app.store.elicitation(id).await.unwrap().unwrap()
    }

    /// Its owner goes the whole way, and the provider grants what was asked.
    pub(super) async fn complete(&self, id: ElicitationId) -> Connection {
        let granted = self.elicitation(id).await.scopes;
        self.complete_with(id, granted, None).await
    }

    /// The same with what the provider grants, and when its token ends; one that ends can be refreshed.
    pub(super) async fn complete_with(
        &self,
        id: ElicitationId,
        granted: Scopes,
        life: Option<Duration>,
    ) -> Connection {
        let now = self.clock.now();
        let asked = self.elicitation(id).await;
        let mine = asked.clone().owned_by(&asked.owner).unwrap();
        let store = &self.app.store;
        let trip = trip(now, &asked);
        assert!(store.begin(&mine.clone().open(now).unwrap(), &trip, now).await.unwrap());
        let attempt = store.attempt(id, trip.id).await.unwrap().unwrap();
        let claimed = store.claim(mine, &attempt, now).await.unwrap().unwrap();
        let existing = store.connection_for(&asked.server, &asked.owner, &asked.provider).await.unwrap();
        let connection = self.credential(&asked, existing.as_ref(), granted, life);
        let settlement = Settlement {
            mine: &claimed.mine,
            attempt: &claimed.attempt,
            from: AttemptState::Claimed,
            connection,
            over: existing.map(|one| (one.id, one.generation)),
            outcome: Outcome::Connected,
        };
        match store.settle(&settlement, now).await.unwrap() {
            Settled::Done { connection, .. } => *connection,
            other => panic!("{other:?}"),
        }
    }

    /// A token that names whose it is, sealed for the row it will have.
    fn credential(
        &self,
        asked: &Elicitation,
        existing: Option<&Connection>,
        granted: Scopes,
        life: Option<Duration>,
    ) -> NewConnection {
        let now = self.clock.now();
        let id = existing.map_or_else(|| ConnectionId(Random.row_id(now)), |one| one.id);
        let generation = existing.map_or(1, |one| one.generation + 1);
        let place = |column| Place {
            table: "connections",
            column,
            row: id.0,
            server: asked.server.as_str(),
            issuer: &asked.owner.issuer,
            sub: &asked.owner.sub,
            provider: asked.provider.as_str(),
            generation,
        };
        let token = token(&asked.server, &asked.owner.sub, asked.provider.as_str(), generation);
        let seal = |column, text: String| self.app.vault.seal(&place(column), text.as_bytes());
        NewConnection {
            id,
            account: Account { id: Some("583231".to_owned()), label: Some("octocat".to_owned()) },
            granted,
            asked: asked.scopes.clone(),
            generation,
            access: seal("access", format!("Bearer\n{token}")),
            refresh: life.map(|_| seal("refresh", "a-refresh-canary".to_owned())),
            access_expires_at: life.map(|life| now.plus(life)),
            refresh_expires_at: None,
            consent_expires_at: None,
            values: consentry::values::Values::default(),
            fingerprint: self.app.providers.get(&asked.provider).map(|provider| fingerprint(&provider)),
            marks: consentry::connection::Marks::default(),
        }
    }

    /// A connected user.
    pub(super) async fn connected(&self, caller: Caller<'_>, sub: &str, provider: &str) -> Connection {
        let id = caller.asked(&json!({ "provider": provider, "subject": { "sub": sub } })).await;
        self.complete(id).await
    }
}

/// The access token that [`Bench::complete`] stores.
pub(super) fn token(server: &ServerId, sub: &str, provider: &str, generation: i64) -> String {
    format!("canary-{server}-{sub}-{provider}-{generation}")
}

fn trip(now: consentry::clock::Millis, asked: &Elicitation) -> NewAttempt {
    NewAttempt {
        id: AttemptId(Random.row_id(now)),
        browser: Random.uuid(),
        state_hash: Random.secret().hash(),
        binding_hash: Random.secret().hash(),
        verifier: Some(Sealed::from_bytes(b"sealed verifier".to_vec())),
        expected_issuer: None,
        issuer_required: false,
        redirect_uri: "http://localhost:8080/callback/files/acme".to_owned(),
        scopes: asked.scopes.clone(),
        values: consentry::values::Values::default(),
        fingerprint: None,
        expires_at: asked.expires_at,
        page: None,
    }
}

async fn app(db: &Database, with: &With<'_>, keys: &[String; 4], clock: &Clock, place: &TempDir) -> App {
    let path = |name: &str| place.path().join(name).display().to_string();
    std::fs::write(path("key"), Key::generate("k".parse().unwrap(), &Random).1.expose()).unwrap();
    let server = |id: &str, key: &str, more: &str| {
        format!(
            "[[mcp_servers]]\nid = \"{id}\"\nname = \"The {id}\"\nresource = \"https://{id}.example.com/mcp\"\n\
             api_keys = [{{ value = \"{key}\" }}]\n\
             providers = [\"acme\", \"globex\"]\n{more}\n"
        )
    };
    let provider = |id: &str, name: &str| {
        format!(
            "[[providers]]\nid = \"{id}\"\nname = \"{name}\"\nauthorization_endpoint = \"https://{id}.example.com/a\"\n\
             token_endpoint = \"https://{id}.example.com/t\"\nclient_id = \"consentry\"\n\
             client_secret = {{ value = \"a-secret-of-{id}\" }}\nscopes = [\"read\"]\n\
             allowed_scopes = [\"read\", \"write\"]\n"
        )
    };
    let text = format!(
        "[database]\nurl = \"{database}\"\n[encryption]\nkeys = [{{ id = \"k\", file = \"{key}\" }}]\n\
         [limits]\n{limits}\n\
         [[authorization_servers]]\nid = \"main\"\nissuer = \"{issuer}\"\nclient_id = \"consentry\"\n\
         client_secret = {{ value = \"s3cret-s3cret\" }}\naccess_tokens = \"{access_tokens}\"\n{files}{notes}{careful}{coded}{acme}{globex}{initech}",
        database = db.url.expose(),
        key = path("key"),
        limits = with.limits,
        issuer = with.issuer,
        access_tokens = with.access_tokens,
        files = server("files", &keys[0], "authorization_server = \"main\""),
        notes = server("notes", &keys[1], "authorization_server = \"main\""),
        careful =
            server("careful", &keys[2], "authorization_server = \"main\"\nrequire_subject_token = true"),
        coded = server("coded", &keys[3], "identity = \"code\""),
        acme = provider("acme", "Acme"),
        globex = provider("globex", "Globex"),
        initech = provider("initech", "Initech"),
    );
    std::fs::write(path("consentry.toml"), text).unwrap();
    let mut settings = config::load(Some(path("consentry.toml").as_ref()), &Environment::default()).unwrap();
    let vault = Vault::new(std::mem::take(&mut settings.keys), Random).unwrap();
    let policy = AddressPolicy { allow_loopback: true, ..AddressPolicy::default() };
    let outbound = OutboundSettings { policy, ..OutboundSettings::default() };
    let outbound = Outbound::new(outbound, clock.clone()).unwrap();
    let identity = Identity::new(
        settings.authorization_servers.clone(),
        outbound.clone(),
        vault.clone(),
        clock.clone(),
        Random,
        settings.public_url.clone(),
    );
    App::new(Parts {
        providers: Providers::new(
            settings.providers.clone(),
            settings.refresh.trial,
            outbound.clone(),
            clock.clone(),
        ),
        secret_forms: consentry::secret_form::SecretForms::new(Vec::new(), outbound.clone(), clock.clone()),
        settings,
        store: db.store.clone(),
        vault,
        clock: clock.clone(),
        random: Random,
        identity,
        outbound,
        refreshes: consentry::credential::Refreshes::default(),
        metrics: Metrics::new(),
        recorder: consentry::recorder::Recorder::new(Metrics::new()),
        tasks: tokio_util::task::TaskTracker::new(),
        shutdown: tokio_util::sync::CancellationToken::new(),
    })
}
