//! Secrets show up nowhere: not in logs at their most talkative, not on pages, not in signals or the API's answers, not in
//! the database. (R14, R98, R105, R117.)
//!
//! One process runs this alone, so that what is logged is what this flow logs.

use std::{
    io,
    sync::{Arc, Mutex},
};

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};
use consentry_fakes::{Provider, TokenRequest};
use reqwest::Method;

use crate::{
    engine::{Database, Engine},
    hosted::{self, PAGE, accepted, redeems, says},
    rows::rows,
    secrets::{self, KEY, KEYS, WRONG},
    world::{Browser, FILES, NOTES, World},
};

on_both_engines! {
    r117_no_secret_is_logged_shown_told_or_stored,
}

/// Everything that was logged.
#[derive(Clone, Default)]
pub(crate) struct Logged(Arc<Mutex<Vec<u8>>>);

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Logged {
    pub(crate) fn start() -> Self {
        let logged = Self::default();
        let writer = logged.clone();
        let filter = tracing_subscriber::EnvFilter::new("trace");
        let layer = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
        layer.with_writer(move || writer.clone()).init();
        logged
    }

    /// At the level of the settings' most quiet, a JSON object a line.
    pub(crate) fn start_quiet() -> Self {
        let logged = Self::default();
        let writer = logged.clone();
        let filter = tracing_subscriber::EnvFilter::new("warn");
        let layer = tracing_subscriber::fmt().json().flatten_event(true).with_current_span(true);
        layer.with_span_list(false).with_env_filter(filter).with_writer(move || writer.clone()).init();
        logged
    }

    /// What was logged since the last time.
    pub(crate) fn taken(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// A secret and what it is.
type Canary = (&'static str, String);

/// What was said, and where.
type Said = (String, Vec<u8>);

/// The spellings in which a secret might stand somewhere.
fn spellings(secret: &str) -> Vec<String> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut found = vec![secret.to_owned(), hex.to_uppercase(), hex];
    // Inside of a longer text a base64 has one of three shifts; the ends that depend on neighbours are cut.
    for shift in 0..3 {
        let shifted = [&vec![0; shift][..], secret.as_bytes()].concat();
        for encoded in [BASE64_STANDARD_NO_PAD.encode(&shifted), BASE64_URL_SAFE_NO_PAD.encode(&shifted)] {
            let from = if shift == 0 { 0 } else { shift + 1 };
            found.push(encoded[from..encoded.len() - 2].to_owned());
        }
    }
    found.push(secret.chars().flat_map(|one| [one, '\0']).collect());
    found
}

/// Fails where one of them stands.
fn search(canaries: &[Canary], said: &[Said]) {
    // What is no text cannot hide what is.
    let said: Vec<(&str, _)> =
        said.iter().map(|(at, bytes)| (at.as_str(), String::from_utf8_lossy(bytes))).collect();
    for (what, secret) in canaries {
        assert!(secret.len() >= 16, "{what} is too short to be looked for");
        for spelling in spellings(secret) {
            for (at, text) in &said {
                assert!(!text.contains(&spelling), "{what} stands in {at}, as {spelling}");
            }
        }
    }
}

/// What the flow's parties know of its secrets.
fn secrets_of(provider: &Provider, found: &mut Vec<Canary>) {
    for TokenRequest { code, code_verifier, .. } in provider.token_log() {
        found.extend(code.map(|code| ("a code", code)));
        found.extend(code_verifier.map(|verifier| ("a verifier", verifier)));
    }
    for request in provider.authorize_log() {
        found.extend(request.parameter("state").map(|state| ("a state", state.to_owned())));
    }
    for revocation in provider.revocations().entries() {
        found.extend(revocation.token.map(|token| ("a revoked token", token)));
    }
}

/// Connects, declines, comes back without a session, fails; and gives everything that a browser was shown.
async fn walk(world: &World, cookies: &mut Vec<Canary>) -> Vec<Browser> {
    let api = world.api("files");
    let (files, notes) = (api.asks("alice", FILES).await, api.asks("alice", NOTES).await);
    let mut alice = world.browser();
    alice.opens(&files.url).await;
    alice.signs_in("alice").await.is("ready");
    alice.agrees().await.is("leaving");
    alice.leaves().await;
    alice.approves("octocat").await;
    keep(&alice, cookies);
    alice.jar().lose("localhost", "consentry-session");
    alice.returns().await.is("sign-in");
    alice.signs_in("alice").await.is("connected");
    keep(&alice, cookies);
    let mut bob = world.browser();
    bob.opens(&notes.url).await;
    bob.signs_in("bob").await.is("wrong-account");
    keep(&bob, cookies);
    alice.opens(&notes.url).await.is("ready");
    alice.agrees().await.is("leaving");
    alice.leaves().await;
    alice.denies().await;
    alice.returns().await.is("not-connected");
    world.notes.next_token_answer(consentry_fakes::Answer::error(400, "invalid_grant"));
    alice.connects("octocat").await.is("not-connected");
    let callback = alice
        .history()
        .iter()
        .rev()
        .find_map(|page| page.location().filter(|leads| leads.path().starts_with("/callback/")));
    bob.opens(callback.expect("the way back").as_str()).await.is("other-browser");
    alice.opens(&notes.url).await.is("ready");
    alice.connects("octocat").await.is("connected");
    keep(&alice, cookies);
    vec![alice, bob]
}

/// Types a wrong key, one that nobody can check, and one that works.
async fn types(world: &World, service: &consentry_fakes::KeyService) -> Browser {
    let api = world.api("files");
    let link = api.asks("alice", KEYS).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("secret-form");
    alice.types(WRONG).await.is("secret-rejected");
    service.next_answer("/bearer", consentry_fakes::Answer::status(500));
    alice.types(KEY).await.is("secret-unchecked");
    alice.types(KEY).await.is("connected");
    assert_eq!(api.resolves("alice", KEYS).await["credential"]["fields"]["api_key"], KEY);
    alice
}

/// Goes to a page of the MCP server's own, by a code that is redeemed and by one that is redeemed twice.
async fn visits(world: &World, found: &mut Vec<Canary>) -> Browser {
    let api = world.api("files");
    let link = api.asks("alice", PAGE).await;
    let mut alice = world.browser();
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("ready");
    for twice in [true, false] {
        let visit = alice.sets_out().await;
        redeems(&world.api("notes"), &visit).await.expect(400);
        redeems(&api, &visit).await.expect(200);
        says(&api, &link, &accepted()).await.expect(200);
        if twice {
            redeems(&api, &visit).await.expect(400);
        }
        alice.opens(&visit.back()).await.is(if twice { "not-connected" } else { "connected" });
        found.extend([("a visit's code", visit.code), ("a state", visit.state)]);
    }
    alice
}

/// A browser's cookies of ours are secrets.
fn keep(browser: &Browser, found: &mut Vec<Canary>) {
    let jar = browser.jar();
    found.extend(jar.of("localhost").map(|cookie| ("a cookie", cookie.value.clone())));
}

async fn r117_no_secret_is_logged_shown_told_or_stored(db: Database) {
    let logged = Logged::start();
    let service = secrets::service().await;
    let base = service.base_url().to_owned();
    let offered = |settings: &mut consentry::config::Settings| {
        secrets::offer(settings, secrets::form(&base));
        hosted::offer(settings);
    };
    let world = World::start_with(db, offered).await;
    let api = world.api("files");
    let mut canaries: Vec<Canary> = world.secrets();
    canaries.extend([("a typed key", KEY.to_owned()), ("a typed key that is wrong", WRONG.to_owned())]);
    let mut cookies = Vec::new();
    let mut browsers = walk(&world, &mut cookies).await;
    browsers.push(types(&world, &service).await);
    let mut trips = Vec::new();
    browsers.push(visits(&world, &mut trips).await);
    let mut tokens = Vec::new();
    for provider in [FILES, NOTES] {
        let token = &api.resolves("alice", provider).await["credential"]["access_token"];
        tokens.push(("an access token", token.as_str().unwrap().to_owned()));
    }
    let connections = api.get("/v1/connections?sub=alice").await.expect(200);
    let removed = connections["connections"][0]["id"].as_str().unwrap().to_owned();
    let gone = api.delete(&format!("/v1/connections/{removed}")).await;
    secrets_of(&world.files, &mut trips);
    secrets_of(&world.notes, &mut trips);
    for TokenRequest { code, code_verifier, .. } in world.id.token_log() {
        trips.extend(code.map(|code| ("a sign-in's code", code)));
        trips.extend(code_verifier.map(|verifier| ("a sign-in's verifier", verifier)));
    }
    canaries.extend(tokens);

    // To the MCP servers and in the metrics: nothing of it all.
    let mut said: Vec<Said> = vec![("an answer".into(), format!("{connections} {}", gone.body).into_bytes())];
    let headers = [("accept", "application/json")];
    for path in ["/v1/events?after=0", "/v1/providers", "/metrics", "/openapi.json", "/readyz"] {
        let answer = api.call(Method::GET, path, None, &headers).await;
        said.push((path.into(), answer.body.to_string().into_bytes()));
    }
    // The audit record too, with what is written when a minute is over.
    world
        .until(async || {
            world.advance(std::time::Duration::from_secs(61));
            rows(&world.database).await["audit"].iter().any(|row| row.contains("handed_out"))
        })
        .await;
    let elicitations = rows(&world.database).await["elicitations"].len();
    assert!(elicitations >= 2);
    // The database.
    for (table, rows) in rows(&world.database).await {
        said.push((format!("table {table}"), rows.join("\n").into_bytes()));
    }
    if world.database.engine == Engine::Sqlite {
        let file = world.database.url.expose().strip_prefix("sqlite:").unwrap().to_owned();
        for end in ["", "-wal", "-shm"] {
            said.push((format!("the file{end}"), std::fs::read(format!("{file}{end}")).unwrap_or_default()));
        }
    }
    // The log.
    let log = logged.0.lock().unwrap().clone();
    assert!(log.len() > 10_000, "the log is what is looked at: {} bytes", log.len());
    said.push(("the log".into(), log));
    search(&[&canaries[..], &cookies, &trips].concat(), &said);

    // A page shows a form's token, a redirect carries `state` and the code to whom they belong; nothing else.
    let ours = |browser: &Browser| {
        let pages = browser.history().iter().filter(|page| page.url.as_str().starts_with(&world.public_url));
        pages.map(|page| (page.url.path().to_owned(), page.html.clone().into_bytes())).collect::<Vec<Said>>()
    };
    let shown: Vec<Said> = browsers.iter().flat_map(ours).collect();
    search(&[&canaries[..], &cookies].concat(), &shown);
    // Where the browser leaves, its page has what it takes along.
    let along = ["a state", "a visit's code"];
    let without_states: Vec<Canary> = trips.into_iter().filter(|(what, _)| !along.contains(what)).collect();
    search(&without_states, &shown);
    // CSRF tokens are in no log.
    let fields = browsers.iter().flat_map(Browser::history).flat_map(|page| page.forms());
    let tokens = fields.flat_map(|form| form.fields).filter(|(name, _)| name == "csrf");
    let tokens: Vec<Canary> =
        tokens.map(|(_, token)| ("a form's token", token)).filter(|(_, token)| !token.is_empty()).collect();
    assert!(!tokens.is_empty());
    search(&tokens, &said);
    // The search itself finds what is there.
    let planted =
        vec![("here".to_owned(), BASE64_STANDARD.encode(format!("xx{}", tokens[0].1)).into_bytes())];
    assert!(std::panic::catch_unwind(|| search(&tokens[..1], &planted)).is_err());
}
