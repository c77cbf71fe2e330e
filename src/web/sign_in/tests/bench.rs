//! Two authorization servers, two MCP servers, a database, and browsers that keep cookies.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode, header},
};
use consentry_fakes::{AuthorizationServer, Client, Listen};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::{
    app::{App, Parts},
    clock::Clock,
    config::{self, Environment},
    elicitation::{ElicitationId, NewElicitation},
    identity::Identity,
    outbound::{AddressPolicy, Outbound, OutboundSettings},
    provider::Providers,
    random::Random,
    scope::Scopes,
    store::Store,
    subject::Subject,
    telemetry::Metrics,
    vault::{Key, Vault},
};

const ORIGIN: &str = "http://localhost:8080";

pub(super) struct Bench {
    pub(super) main: Arc<AuthorizationServer>,
    pub(super) second: Arc<AuthorizationServer>,
    pub(super) clock: Clock,
    app: App,
    router: Router,
    place: Arc<TempDir>,
}

impl Bench {
    pub(super) async fn new() -> Self {
        let start = async |id: &str| {
            let fake = AuthorizationServer::start(Listen::default()).await.unwrap();
            let callback = format!("{ORIGIN}/sign-in/callback/{id}");
            fake.register(Client::basic("consentry", "s3cret-s3cret").redirect_uri(callback));
            Arc::new(fake)
        };
        let (main, second) = (start("main").await, start("second").await);
        let place = Arc::new(tempfile::tempdir().unwrap());
        let key = Key::generate("k".parse().unwrap(), &Random).1;
        std::fs::write(place.path().join("key"), key.expose()).unwrap();
        let clock = Clock::manual();
        let app = app(&main, &second, &clock, &place).await;
        Self { main, second, clock, router: crate::web::router(app.clone()), app, place }
    }

    /// A second process on the same database.
    pub(super) async fn replica(&self) -> Self {
        let app = app(&self.main, &self.second, &self.clock, &self.place).await;
        Self {
            main: self.main.clone(),
            second: self.second.clone(),
            clock: self.clock.clone(),
            router: crate::web::router(app.clone()),
            app,
            place: self.place.clone(),
        }
    }

    /// The link of a fresh elicitation for this person.
    pub(super) async fn link_for(&self, person: &str) -> String {
        let now = self.clock.now();
        let new = NewElicitation {
            id: ElicitationId(Random.uuid()),
            server: "files".parse().unwrap(),
            owner: Subject::new(self.main.base_url(), person).unwrap(),
            provider: "acme".parse().unwrap(),
            scopes: Scopes::new(["read"]).unwrap(),
            values: crate::values::Values::default(),
            typed: crate::values::Values::default(),
            legacy: true,
            client_ref: String::new(),
            client_name: None,
            message: None,
            seen: None,
            expires_at: now.plus(Duration::from_mins(30)),
            restart_of: None,
        };
        self.app.store.create(&new, now).await.unwrap();
        format!("/connect?elicitationId={}", new.id)
    }

    pub(super) fn browser(&self) -> Browser {
        let fakes = [("main", self.main.clone()), ("second", self.second.clone())];
        Browser { router: self.router.clone(), fakes, jar: BTreeMap::new() }
    }

    /// A browser at this replica with another's cookies.
    pub(super) fn browser_with(&self, other: &Browser) -> Browser {
        Browser { jar: other.jar.clone(), ..self.browser() }
    }

    /// Lets the authorization servers believe in the test's time.
    pub(super) fn the_servers_follow_the_clock(&self) {
        for fake in [&self.main, &self.second] {
            let behind = self.clock.now().seconds() - fake.clock().now_s();
            fake.clock().advance(Duration::from_secs(u64::try_from(behind).unwrap_or(0)));
        }
    }
}

async fn app(
    main: &AuthorizationServer,
    second: &AuthorizationServer,
    clock: &Clock,
    place: &TempDir,
) -> App {
    let path = |name: &str| place.path().join(name).display().to_string();
    let text = format!(
        r#"
        [database]
        url = "sqlite:{database}"
        [encryption]
        keys = [{{ id = "k", file = "{key}" }}]
        [[authorization_servers]]
        id = "main"
        issuer = "{main}"
        client_id = "consentry"
        client_secret = {{ value = "s3cret-s3cret" }}
        [[authorization_servers]]
        id = "second"
        issuer = "{second}"
        client_id = "consentry"
        client_secret = {{ value = "s3cret-s3cret" }}
        [[mcp_servers]]
        id = "files"
        name = "Files"
        resource = "https://files.example.com/mcp"
        authorization_server = "main"
        api_keys = [{{ value = "{api_key_1}" }}]
        providers = ["acme"]
        [[mcp_servers]]
        id = "notes"
        name = "Notes"
        resource = "https://notes.example.com/mcp"
        authorization_server = "second"
        api_keys = [{{ value = "{api_key_2}" }}]
        providers = []
        [[providers]]
        id = "acme"
        name = "Acme"
        authorization_endpoint = "https://acme.example.com/authorize"
        token_endpoint = "https://acme.example.com/token"
        client_id = "consentry"
        client_secret = {{ value = "an-acme-secret" }}
        scopes = ["read"]
        "#,
        database = path("consentry.db"),
        key = path("key"),
        main = main.base_url(),
        second = second.base_url(),
        api_key_1 = Random.secret().expose(),
        api_key_2 = Random.secret().expose(),
    );
    std::fs::write(path("consentry.toml"), text).unwrap();
    let mut settings = config::load(Some(path("consentry.toml").as_ref()), &Environment::default()).unwrap();
    let store = Store::open(&settings.database.url, 4).await.unwrap();
    store.migrate().await.unwrap();
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
    let providers =
        Providers::new(settings.providers.clone(), settings.refresh.trial, outbound.clone(), clock.clone());
    App::new(Parts {
        settings,
        store,
        vault,
        clock: clock.clone(),
        random: Random,
        identity,
        providers,
        secret_forms: crate::secret_form::SecretForms::new(Vec::new(), outbound.clone(), clock.clone()),
        outbound,
        refreshes: crate::credential::Refreshes::default(),
        metrics: Metrics::new(),
        recorder: crate::recorder::Recorder::new(Metrics::new()),
        tasks: tokio_util::task::TaskTracker::new(),
        shutdown: tokio_util::sync::CancellationToken::new(),
    })
}

/// A browser: it keeps cookies, and goes where its user says.
#[derive(Clone)]
pub(super) struct Browser {
    router: Router,
    fakes: [(&'static str, Arc<AuthorizationServer>); 2],
    jar: BTreeMap<String, String>,
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: String,
    headers: HeaderMap,
}

impl Browser {
    pub(super) async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, None, &[]).await
    }

    /// As a form of our own page would post it.
    pub(super) async fn post(&mut self, path: &str, form: &str) -> Answer {
        self.ask("POST", path, Some(form), &[("sec-fetch-site", "same-origin"), ("origin", ORIGIN)]).await
    }

    pub(super) async fn ask(
        &mut self,
        method: &str,
        path: &str,
        form: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Answer {
        assert!(path.starts_with('/'), "{path}");
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, "localhost:8080");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if form.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let cookies: Vec<String> = self.jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        let request = request.body(Body::from(form.unwrap_or_default().to_owned())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 1 << 20).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        let answer = Answer { status: parts.status, headers: parts.headers, body };
        self.take(&answer);
        answer
    }

    /// Keeps the cookies of an answer.
    pub(super) fn take(&mut self, answer: &Answer) {
        for cookie in answer.headers.get_all(header::SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.contains("; Path=/; HttpOnly; SameSite=Lax"), "R35: {cookie}");
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            if cookie.contains("Max-Age=0") {
                self.jar.remove(name);
            } else {
                self.jar.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    pub(super) fn cookies(&self) -> Vec<(String, String)> {
        self.jar.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    pub(super) fn cookie(&self, start: &str) -> Option<String> {
        self.jar.iter().find(|(name, _)| name.starts_with(start)).map(|(_, value)| value.clone())
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.jar.insert(name.to_owned(), value.to_owned());
    }

    /// Begins a sign-in for one of our pages and gives the authorization server's URL.
    pub(super) async fn leave(&mut self, page: &str) -> String {
        let answer = self.get(&format!("/sign-in?{}", page.split_once('?').unwrap().1)).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        answer.location()
    }

    /// Signs in there, and gives the path that the browser is sent back to.
    pub(super) async fn come_back(&mut self, page: &str, person: &str) -> String {
        let authorize = self.leave(page).await;
        let (_, fake) = self.fakes.iter().find(|(_, fake)| authorize.starts_with(fake.base_url())).unwrap();
        path_of(&fake.approve(&authorize, person).await.unwrap())
    }

    /// The whole way; gives where it leads.
    pub(super) async fn sign_in(&mut self, page: &str, person: &str) -> String {
        let callback = self.come_back(page, person).await;
        self.get(&callback).await.location()
    }

    pub(super) async fn sign_out(&mut self) -> String {
        let form = self.get("/connections?server=files").await.form("/sign-out");
        let answer = self.post("/sign-out", &form).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        answer.location()
    }
}

impl Answer {
    pub(super) fn location(&self) -> String {
        let location = self.headers.get(header::LOCATION).map(|location| location.to_str().unwrap());
        location.unwrap_or_else(|| panic!("no redirect but {} {}", self.status, self.body)).to_owned()
    }

    /// `data-page`.
    pub(super) fn page(&self) -> &str {
        let (_, rest) =
            self.body.split_once("data-page=\"").unwrap_or_else(|| panic!("no page: {}", self.body));
        rest.split_once('"').unwrap().0
    }

    /// The hidden fields of the form with this action, as it would be posted.
    pub(super) fn form(&self, action: &str) -> String {
        let (_, rest) = self
            .body
            .split_once(&format!("action=\"{action}\""))
            .unwrap_or_else(|| panic!("no form {action}: {}", self.body));
        let form = rest.split_once("</form>").unwrap().0;
        let fields = form.split("<input ").skip(1).map(|input| {
            let attribute = |name: &str| {
                let (_, rest) = input.split_once(&format!("{name}=\"")).unwrap();
                rest.split_once('"').unwrap().0.to_owned()
            };
            format!("{}={}", attribute("name"), attribute("value"))
        });
        fields.collect::<Vec<_>>().join("&")
    }
}

/// The path and query of a URL of ours.
pub(super) fn path_of(url: &str) -> String {
    url.strip_prefix(ORIGIN).unwrap_or_else(|| panic!("not ours: {url}")).to_owned()
}
