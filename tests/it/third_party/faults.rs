//! Metadata that must not be followed, and responses of somebody else.

use std::time::Duration;

use consentry_fakes::Answer;
use serde_json::{Map, Value, json};

use super::{DOCUMENT, DYNAMIC, STATIC, Stand};
use crate::engine::{Database, Engine};

on_both_engines!(r61_a_response_of_another_issuer_is_refused, r61_a_response_without_its_issuer_is_refused,);

const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const SERVER: &str = "/.well-known/oauth-authorization-server";

/// What is wrong, and where.
type Fault = (&'static str, fn(&Stand));

fn resource(stand: &Stand, name: &str, value: Value) {
    let changes = Map::from_iter([(name.to_owned(), value)]);
    stand.tools.configure(|says| says.changes = changes);
}

fn server(stand: &Stand, name: &str, value: Value) {
    stand.third.configure(|settings| drop(settings.metadata_changes.insert(name.to_owned(), value)));
}

/// R58, R73, R89, R91, R92: each ends on a page, before anything of the person's is begun; nobody is registered or asked for a token.
const FAULTS: &[Fault] = &[
    ("another resource", |stand| resource(stand, "resource", json!("https://evil.example/mcp"))),
    ("a part of it as the resource", |stand| {
        resource(stand, "resource", json!(format!("{}/deeper", stand.tools.url())));
    }),
    ("no resource", |stand| resource(stand, "resource", Value::Null)),
    ("no authorization server", |stand| resource(stand, "authorization_servers", json!([]))),
    ("an authorization server that is no list", |stand| {
        resource(stand, "authorization_servers", json!("https://id.example"));
    }),
    ("an authorization server in the clear", |stand| {
        resource(stand, "authorization_servers", json!(["http://id.example.com"]));
    }),
    ("an authorization server in a private network", |stand| {
        resource(stand, "authorization_servers", json!(["https://10.0.0.1"]));
    }),
    ("an authorization server at the metadata service", |stand| {
        resource(stand, "authorization_servers", json!(["http://169.254.169.254"]));
    }),
    ("an authorization server that is a script", |stand| {
        resource(stand, "authorization_servers", json!(["javascript:alert(1)"]));
    }),
    ("no document", |stand| {
        stand.tools.configure(|says| (says.in_challenge, says.at_path, says.at_root) = (false, false, false));
    }),
    ("a challenge that leads away", |stand| {
        let challenge = "Bearer resource_metadata=\"http://169.254.169.254/latest\"";
        stand.tools.always_answer("/mcp", Answer::status(401).header("www-authenticate", challenge));
    }),
    ("a page as resource metadata", |stand| stand.tools.always_answer(RESOURCE, Answer::html(200))),
    ("a redirect of resource metadata", |stand| {
        stand.tools.always_answer(RESOURCE, Answer::redirect("https://evil.example/"));
    }),
    ("endless resource metadata", |stand| {
        stand.tools.always_answer(RESOURCE, Answer::endless("application/json"));
    }),
    ("large resource metadata", |stand| {
        resource(stand, "filler", json!("x".repeat(70_000)));
    }),
    ("resource metadata that says a name twice", |stand| {
        let body = format!(
            "{{\"resource\":\"{0}\",\"resource\":\"{0}\",\"authorization_servers\":[\"{1}\"]}}",
            stand.tools.url(),
            stand.third.base_url()
        );
        stand.tools.always_answer(RESOURCE, Answer::body(200, "application/json", body));
    }),
    ("slow resource metadata", |stand| {
        stand.tools.always_answer(RESOURCE, Answer::trickle(Duration::from_millis(100), &"x".repeat(1_000)));
    }),
    ("resource metadata out of order", |stand| stand.tools.always_answer(RESOURCE, Answer::status(503))),
    ("another issuer", |stand| server(stand, "issuer", json!("https://evil.example"))),
    ("an issuer with a slash more", |stand| {
        server(stand, "issuer", json!(format!("{}/", stand.third.base_url())));
    }),
    ("no PKCE", |stand| server(stand, "code_challenge_methods_supported", Value::Null)),
    ("plain PKCE alone", |stand| server(stand, "code_challenge_methods_supported", json!(["plain"]))),
    ("a token endpoint in the clear", |stand| {
        server(stand, "token_endpoint", json!("http://id.example.com/token"));
    }),
    ("a token endpoint in a private network", |stand| {
        server(stand, "token_endpoint", json!("https://192.168.1.1/token"));
    }),
    ("an authorization endpoint that is a script", |stand| {
        server(stand, "authorization_endpoint", json!("javascript:alert(1)"));
    }),
    ("a revocation endpoint at the metadata service", |stand| {
        server(stand, "revocation_endpoint", json!("http://169.254.169.254/"));
    }),
    ("a registration endpoint at the metadata service", |stand| {
        server(stand, "registration_endpoint", json!("http://169.254.169.254/"));
    }),
    ("no token endpoint", |stand| server(stand, "token_endpoint", Value::Null)),
    ("a page as server metadata", |stand| {
        stand.third.always_answer(SERVER, Answer::html(200));
        stand.third.always_answer("/.well-known/openid-configuration", Answer::html(200));
    }),
    ("a redirect of server metadata", |stand| {
        stand.third.always_answer(SERVER, Answer::redirect("https://evil.example/"));
        stand.third.always_answer("/.well-known/openid-configuration", Answer::status(404));
    }),
    ("endless server metadata", |stand| {
        stand.third.always_answer(SERVER, Answer::endless("application/json"));
        stand.third.always_answer("/.well-known/openid-configuration", Answer::status(404));
    }),
];

/// Past each other's pauses and memories.
const DAY: Duration = Duration::from_secs(25 * 3_600);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r58_r91_r92_faulty_metadata_is_not_followed() {
    let quick =
        |settings: &mut consentry::config::Settings| settings.outbound.timeout = Duration::from_secs(1);
    for keys in [STATIC, DYNAMIC] {
        let db = Database::start(Engine::Sqlite).await;
        let stand = Stand::changed(db, keys, quick).await;
        for (what, spoil) in FAULTS {
            spoil(&stand);
            let mut alice = stand.arrives(&stand.asks().await).await;
            alice.agrees().await;
            let page = alice.page().name().unwrap_or_default();
            assert!(
                matches!(page.as_str(), "provider-unreachable" | "provider-misconfigured"),
                "{what}: {page}"
            );
            assert_eq!(alice.page().status, 502, "{what}");
            let report = stand.world.runs(&["doctor"], 1);
            let found =
                report["findings"].as_array().unwrap().iter().find(|one| one["what"] == "provider tools");
            let found = found.unwrap_or_else(|| panic!("{report}"));
            assert_eq!(found["state"], "bad", "{what}: {found}");
            let detail = found["detail"].as_str().unwrap();
            assert!(
                detail.contains("RFC 9728") || detail.contains("RFC 8414") || detail.contains("choice of"),
                "{what}: {detail}"
            );
            stand.tools.configure(|says| {
                (says.in_challenge, says.at_path, says.at_root) = (true, true, true);
                says.changes.clear();
            });
            stand.third.configure(|settings| settings.metadata_changes.clear());
            for path in [RESOURCE, "/mcp"] {
                stand.tools.answer_normally(path);
            }
            for path in [SERVER, "/.well-known/openid-configuration"] {
                stand.third.answer_normally(path);
            }
            stand.advance(DAY);
        }
        assert!(stand.third.token_log().is_empty() && stand.third.authorize_log().is_empty());
        assert_eq!(stand.asked("/register"), 0);
        // What was mended works again without anyone.
        stand.connected().await;
    }
}

/// What the settings ask for and the authorization server does not have is told, and nothing else is tried in its place.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_way_of_registering_that_is_not_offered_is_told() {
    for (keys, hint) in [(DOCUMENT, "client_documents_unsupported"), (DYNAMIC, "no_registration_endpoint")] {
        let stand = Stand::with(Database::start(Engine::Sqlite).await, keys).await;
        stand.third.configure_identity(|identity| {
            (identity.client_documents, identity.dynamic_registration) = (false, false);
        });
        let mut alice = stand.arrives(&stand.asks().await).await;
        alice.agrees().await.is("provider-misconfigured");
        let report = stand.world.runs(&["doctor"], 1);
        assert!(report.to_string().contains(hint), "{report}");
        assert_eq!(stand.asked("/register"), 0);
    }
}

/// Mix-up (RFC 9207): the response of an authorization server that the trip was not begun at.
async fn r61_a_response_of_another_issuer_is_refused(db: Database) {
    let stand = Stand::with(db, STATIC).await;
    let mut alice = stand.arrives(&stand.asks().await).await;
    let authorize = stand.leaves(&mut alice).await;
    let back = stand.third.approve(&authorize, "alice").await.unwrap();
    let mut forged = url::Url::parse(&back).unwrap();
    let others: Vec<(String, String)> = forged
        .query_pairs()
        .map(|(name, value)| {
            let value = if name == "iss" { stand.world.id.base_url().into() } else { value };
            (name.into_owned(), value.into_owned())
        })
        .collect();
    forged.query_pairs_mut().clear().extend_pairs(others);
    alice.opens(forged.as_str()).await.is("provider-mismatch");
    assert!(stand.third.token_log().is_empty());
    // Nothing was spent by it.
    alice.opens(&back).await.is("connected");
}

async fn r61_a_response_without_its_issuer_is_refused(db: Database) {
    let stand = Stand::with(db, DOCUMENT).await;
    let mut alice = stand.arrives(&stand.asks().await).await;
    let authorize = stand.leaves(&mut alice).await;
    let back = stand.third.approve(&authorize, "alice").await.unwrap();
    let mut forged = url::Url::parse(&back).unwrap();
    let others: Vec<(String, String)> = forged
        .query_pairs()
        .filter(|(name, _)| name != "iss")
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    forged.query_pairs_mut().clear().extend_pairs(others);
    alice.opens(forged.as_str()).await.is("provider-mismatch");
    assert!(stand.third.token_log().is_empty());
}
