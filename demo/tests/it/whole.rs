//! Everybody together: what the command prints, and what a person and another client do with it.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use consentry_elicitation::Link;
use demo::console::Console;
use demo::{Demo, Options, Part, World};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::browser::Browser;
use crate::client::{Person, connect, list_files, text};
use crate::http;

/// What the demo has printed so far.
#[derive(Clone)]
pub(crate) struct Screen(Arc<watch::Sender<String>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send_modify(|text| text.push_str(&String::from_utf8_lossy(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screen {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::default()))
    }

    pub(crate) fn text(&self) -> String {
        self.0.borrow().clone()
    }

    pub(crate) async fn shows(&self, what: &str) -> String {
        let mut screen = self.0.subscribe();
        let shown = timeout(Duration::from_secs(60), screen.wait_for(|text| text.contains(what))).await;
        shown.unwrap_or_else(|_| panic!("not shown: {}", *self.0.borrow())).unwrap().clone()
    }

    pub(crate) async fn link(&self) -> String {
        let text = self.shows("Waiting for you").await;
        let line = text.lines().map(str::trim).find(|line| line.contains("/connect?elicitationId=")).unwrap();
        assert_eq!(Link::parse(line).unwrap().host(), "localhost");
        line.to_owned()
    }
}

/// Without a terminal: prints the link, opens nothing, waits.
fn run(arguments: &[&str], screen: &Screen) -> impl Future<Output = ExitCode> + use<> {
    let demo = Demo::parse_from([&["demo"], arguments].concat());
    demo::run(demo, Console::plain(screen.clone()))
}

/// `demo client URL ...` with this token, and somebody at the terminal who types these answers.
pub(crate) fn terminal(
    arguments: &[&str],
    token: String,
    answers: &[&str],
    screen: &Screen,
) -> impl Future<Output = ExitCode> + use<> {
    let mut demo = Demo::parse_from([&["demo", "client"], arguments].concat());
    let Some(Part::Client(call)) = &mut demo.part else { panic!("the client alone") };
    call.token = Some(token);
    demo::run(demo, Console::played(screen.clone(), answers))
}

/// Signs in, agrees, and allows access.
pub(crate) async fn browse(link: &str, person: &str, account: &str) -> Browser {
    let mut browser = Browser::default();
    browser.open(link).await;
    assert_eq!(browser.page(), "sign-in");
    browser.follow("/sign-in").await;
    browser.press("/sign-in", &[("person", person)]).await;
    if browser.page() == "ready" {
        browser.press("/continue", &[]).await;
        assert_eq!(browser.page(), "leaving");
        browser.follow("http://127.0.0.3").await;
        browser.press("/consent", &[("account", account)]).await;
    }
    browser
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminals_client_prints_the_files_when_alice_has_connected() {
    for era in ["legacy", "modern"] {
        let screen = Screen::new();
        let running = tokio::spawn(run(&["--era", era], &screen));
        let link = screen.link().await;
        assert_eq!(browse(&link, "bob", "hubot").await.page(), "wrong-account", "{era}");
        assert_eq!(browse(&link, "alice", "octocat").await.page(), "connected", "{era}");
        assert_eq!(running.await.unwrap(), ExitCode::SUCCESS);
        let text = screen.0.borrow().clone();
        assert!(
            text.contains("The files of octocat at Example Files:\n    - octocat-notes.txt"),
            "{era}: {text}"
        );
        assert_eq!(
            text.matches("(notifications/elicitation/complete)").count(),
            usize::from(era == "legacy")
        );
        assert!(
            text.contains("the demo asked Example ID for it directly") && text.contains("Called once more")
        );
        assert!(!text.contains('\x1b'), "no style without a terminal");
    }
}

/// What Inspector and coding agents do: find the way from the 401, register, sign in with PKCE and `resource`.
#[tokio::test(flavor = "multi_thread")]
async fn another_client_signs_itself_in() {
    let world = World::start(Options::default()).await.unwrap();
    let url = world.mcp_server.url();
    let refused = http().post(&url).send().await.unwrap();
    let challenge = refused.headers()["www-authenticate"].to_str().unwrap().to_owned();
    let metadata = challenge.split("resource_metadata=\"").nth(1).unwrap().split('"').next().unwrap();
    let resource: Value = http().get(metadata).send().await.unwrap().json().await.unwrap();
    let issuer = resource["authorization_servers"][0].as_str().unwrap();
    let server = format!("{issuer}/.well-known/oauth-authorization-server");
    let server: Value = http().get(server).send().await.unwrap().json().await.unwrap();
    let at = |endpoint: &str| server[endpoint].as_str().unwrap().to_owned();

    let back = "http://127.0.0.1:33418/callback";
    let client =
        json!({ "client_name": "Agent", "redirect_uris": [back], "token_endpoint_auth_method": "none" });
    let client = http().post(at("registration_endpoint")).json(&client).send().await.unwrap();
    let client: Value = client.json().await.unwrap();
    let client_id = client["client_id"].as_str().unwrap();
    // RFC 7636, appendix B.
    let (verifier, challenge) =
        ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    let resource = resource["resource"].as_str().unwrap();
    let asked = [
        ("response_type", "code"),
        ("client_id", client_id),
        ("redirect_uri", back),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
        ("resource", resource),
        ("scope", "mcp"),
        ("state", "s-1"),
    ];
    let authorize = url::Url::parse_with_params(&at("authorization_endpoint"), asked).unwrap();
    let landed: url::Url =
        world.example_id.approve(authorize.as_str(), "alice").await.unwrap().parse().unwrap();
    let code = landed.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", back),
        ("client_id", client_id),
        ("code_verifier", verifier),
        ("resource", resource),
    ];
    let tokens = http().post(at("token_endpoint")).form(&form).send().await.unwrap();
    let tokens: Value = tokens.json().await.unwrap();

    let person = Person::declaring(Value::Null, demo::mcp_client::Era::Legacy);
    let client = connect(&url, tokens["access_token"].as_str().unwrap(), person).await;
    let result = list_files(&client).await.unwrap();
    let link = format!("{}/connect?elicitationId=", world.consentry.public_url);
    assert!(text(&result).contains(&link), "this client declares nothing: {}", text(&result));
    client.cancel().await.unwrap();
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_can_be_fixed_and_a_taken_one_is_named() {
    // The one before the taken one must be free now, or it is the one that is named.
    let (_taken, first) = std::iter::repeat_with(|| {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let first = taken.local_addr().unwrap().port().saturating_sub(1).min(65_000);
        (taken, first)
    })
    .find(|(_, first)| std::net::TcpListener::bind(("127.0.0.1", *first)).is_ok())
    .unwrap();
    let screen = Screen::new();
    run(&["--ports", &first.to_string()], &screen).await;
    let text = screen.0.borrow().clone();
    assert!(text.contains("could not start") && text.contains(&format!("127.0.0.1:{}", first + 1)), "{text}");
}

#[test]
fn other_clients_are_told_where_to_connect() {
    let help = Demo::try_parse_from(["demo", "--no-client", "--era", "modern"]);
    assert!(help.is_err(), "there is no client to speak of an era");
    assert!(Demo::try_parse_from(["demo", "--ports", "65532"]).is_err(), "five are needed");
}
