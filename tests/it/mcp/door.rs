//! Who may ask and in what form: tokens, origins, media types, headers, bodies.

use std::time::Duration;

use consentry::config::AccessTokens;
use consentry_elicitation::Capability;
use consentry_fakes::{Forge, Signature};
use reqwest::Method;
use serde_json::{Value, json};

use super::desk::{Desk, Got};
use crate::{engine::Database, world::World};

on_both_engines! {
    a1_a2_a3_a4_who_has_no_token_learns_where_to_get_one,
    a5_a6_a7_a10_p1_a_token_for_anything_else_is_refused,
    a11_a_token_in_the_query_is_refused,
    a14_a_token_without_the_scope_is_told_which,
    m26_another_origin_or_host_is_refused,
    m19_m27_headers_must_repeat_the_body,
    e20_m16_what_is_no_message_or_no_method_has_its_error,
    e43_one_person_has_a_pace,
    the_issuer_is_not_asked_at_will_about_tokens_that_nobody_knows,
    a_token_is_good_for_its_hour_in_whichever_steps_it_passes,
    where_it_is_not_enabled_there_is_nothing,
}

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

/// What is wrong with a body that was right.
type Change<'a> = &'a dyn Fn(&mut Value);

fn ping() -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string()
}

impl Desk {
    /// A POST with this token and these headers over what each needs.
    async fn posts(&self, token: &str, more: &[(&str, &str)], body: &str) -> Got {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("authorization", bearer.as_str())];
        for usual in [JSON, BOTH] {
            if !more.iter().any(|(name, _)| *name == usual.0) {
                headers.push(usual);
            }
        }
        headers.extend(more);
        self.sends(Method::POST, "/mcp", &headers, body).await
    }
}

async fn a1_a2_a3_a4_who_has_no_token_learns_where_to_get_one(db: Database) {
    let desk = Desk::start_with(db, |settings| {
        settings.mcp.iter_mut().for_each(|mcp| mcp.scope = Some("mcp".to_owned()));
    })
    .await;
    let well_known = "/.well-known/oauth-protected-resource";
    for headers in [&[][..], &[("authorization", "Basic YTpi")]] {
        let got = desk.sends(Method::POST, "/mcp", &[&[JSON, BOTH], headers].concat(), &ping()).await;
        assert_eq!(got.status, 401);
        let metadata = format!("{}{well_known}/mcp", desk.world.public_url);
        let challenge = format!("Bearer resource_metadata=\"{metadata}\", scope=\"mcp\"");
        assert_eq!(got.header("www-authenticate"), challenge);
    }
    for path in [format!("{well_known}/mcp"), well_known.to_owned()] {
        let got = desk.sends(Method::GET, &path, &[], "").await;
        assert_eq!(got.status, 200);
        assert_eq!(
            got.json(),
            json!({
                "resource": desk.resource(),
                "resource_name": "Consentry: my connections",
                "authorization_servers": [desk.world.id.base_url()],
                "scopes_supported": ["mcp"],
                "bearer_methods_supported": ["header"],
            })
        );
    }
    let mut claude = desk.client("alice", Capability::NONE);
    assert_eq!(claude.asks("tools/list", json!({})).await.status, 200);
}

async fn a5_a6_a7_a10_p1_a_token_for_anything_else_is_refused(db: Database) {
    let desk = Desk::start(db).await;
    let id = &desk.world.id;
    let forged = |forge: Forge| id.forged_access_token("alice", &desk.resource(), &forge).unwrap();
    let mut claude = desk.client("alice", Capability::NONE);
    let tokens = [
        ("of an MCP server", id.access_token_for("alice", "https://files.example/mcp").unwrap()),
        ("of the origin", id.access_token_for("alice", &desk.world.public_url).unwrap()),
        ("of another path", id.access_token_for("alice", &format!("{}/", desk.resource())).unwrap()),
        ("signed by nobody", forged(Forge::new().signed(Signature::Nothing))),
        ("signed by another", forged(Forge::new().signed(Signature::Stranger))),
        ("of another issuer", forged(Forge::new().claim("iss", "https://evil.example"))),
        ("without an end", forged(Forge::new().without("exp"))),
        ("an API key", desk.world.secrets()[0].1.clone()),
        ("nothing like a token", "x".to_owned()),
    ];
    for (what, token) in tokens {
        let got = claude.with_token(&token).asks("tools/list", json!({})).await;
        assert_eq!(got.status, 401, "{what}");
        assert!(got.header("www-authenticate").contains("error=\"invalid_token\""), "{what}: {got:?}");
        assert!(!got.text.contains(&token), "{what}");
    }
    assert_eq!(claude.asks("tools/list", json!({})).await.status, 200);
    desk.world.advance(Duration::from_secs(3_700));
    assert_eq!(claude.asks("tools/list", json!({})).await.status, 401, "it has run out");
    // Nor is a token of this endpoint good for an MCP server.
    let mut question = desk.world.api("files").question("alice", crate::world::FILES);
    question.as_object_mut().unwrap().remove("subject");
    question["subject_token"] = desk.token("alice").into();
    desk.world.api("files").post("/v1/credentials/resolve", &question).await.expect(401);
}

async fn a11_a_token_in_the_query_is_refused(db: Database) {
    let desk = Desk::start(db).await;
    let token = desk.token("alice");
    let path = format!("/mcp?access_token={token}");
    let got = desk.sends(Method::POST, &path, &[JSON, BOTH], &ping()).await;
    assert_eq!(got.status, 400);
    assert!(got.header("www-authenticate").contains("error=\"invalid_request\""));
    // Beside a good one as well.
    let bearer = format!("Bearer {token}");
    let got = desk.sends(Method::POST, &path, &[JSON, BOTH, ("authorization", &bearer)], &ping()).await;
    assert_eq!(got.status, 400);
    let twice = [JSON, BOTH, ("authorization", bearer.as_str()), ("authorization", bearer.as_str())];
    assert_eq!(desk.sends(Method::POST, "/mcp", &twice, &ping()).await.status, 400);
}

async fn a14_a_token_without_the_scope_is_told_which(db: Database) {
    let desk = Desk::start_with(db, |settings| {
        settings.mcp.iter_mut().for_each(|mcp| mcp.scope = Some("connections".to_owned()));
    })
    .await;
    let got = desk.posts(&desk.token("alice"), &[], &ping()).await;
    assert_eq!(got.status, 403);
    let challenge = got.header("www-authenticate");
    assert!(
        challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"connections\"")
    );
    assert!(challenge.contains("resource_metadata=\""), "{challenge}");
}

async fn m26_another_origin_or_host_is_refused(db: Database) {
    let desk = Desk::start(db).await;
    let token = desk.token("alice");
    let list = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" }).to_string();
    let modern = [("mcp-protocol-version", "2026-07-28")];
    for origin in ["https://evil.example", "null", "http://localhost", "http://localhost:1", "file://"] {
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let bearer = format!("Bearer {token}");
            let headers = [JSON, BOTH, ("authorization", &bearer), ("origin", origin)];
            let got = desk.sends(method, "/mcp", &headers, &list).await;
            assert_eq!(got.refused(), (403, -32600), "{origin}");
        }
    }
    let ours = desk.world.public_url.clone();
    let got = desk.posts(&token, &[modern[0], ("origin", &ours)], &list).await;
    assert_eq!(got.status, 202);
    let got = desk.posts(&token, &[modern[0], ("host", "evil.example")], &list).await;
    assert_eq!(got.status, 421);
    // A preflight asks for nothing that a page could read.
    let got = desk.sends(Method::OPTIONS, "/mcp", &[("origin", "https://evil.example")], "").await;
    assert!(got.status == 405 && got.headers.get("access-control-allow-origin").is_none());
}

async fn m19_m27_headers_must_repeat_the_body(db: Database) {
    let desk = Desk::start(db).await;
    let token = desk.token("alice");
    let claude = desk.client("alice", Capability::BOTH);
    let call = |change: Change<'_>| {
        let params = json!({ "name": "list_connections", "arguments": {}, "_meta": claude.meta() });
        let mut body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        change(&mut body);
        body.to_string()
    };
    let honest = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "list_connections"),
    ];
    assert_eq!(desk.posts(&token, &honest, &call(&|_| ())).await.status, 200);
    let encoded = [honest[0], honest[1], ("mcp-name", "=?base64?bGlzdF9jb25uZWN0aW9ucw==?=")];
    assert_eq!(desk.posts(&token, &encoded, &call(&|_| ())).await.status, 200);
    for (at, values) in [
        (0, &["", "2025-11-25", "2026-07-29"][..]),
        (1, &["", "tools/list", "Tools/call", "=?base64?dG9vbHMvY2FsbA==?="]),
        (2, &["", "connect", "list_connections, connect", "=?base64?!?="]),
    ] {
        for value in values {
            let mut headers = honest.to_vec();
            headers[at].1 = value;
            if value.is_empty() {
                headers.remove(at);
            }
            let got = desk.posts(&token, &headers, &call(&|_| ())).await;
            assert_eq!(got.refused(), (400, -32020), "{headers:?}");
            assert_eq!(got.json()["id"], 7);
        }
    }
    let version = "io.modelcontextprotocol/protocolVersion";
    let later: [(&str, &str); 3] = [("mcp-protocol-version", "2027-01-15"), honest[1], honest[2]];
    let got = desk
        .posts(&token, &later, &call(&|body| body["params"]["_meta"][version] = "2027-01-15".into()))
        .await;
    assert_eq!(got.refused(), (400, -32022));
    assert_eq!(got.json()["error"]["data"]["requested"], "2027-01-15");
    assert_eq!(got.json()["error"]["data"]["supported"][0], "2026-07-28");
    let got =
        desk.posts(&token, &[("mcp-protocol-version", "draft"), honest[1], honest[2]], &call(&|_| ())).await;
    assert_eq!(got.refused(), (400, -32022));
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let without = |name: &'static str| {
        move |body: &mut Value| {
            body["params"]["_meta"].as_object_mut().unwrap().remove(name).unwrap();
        }
    };
    let with =
        |name: &'static str, value: Value| move |body: &mut Value| body["params"][name] = value.clone();
    let (no_version, no_capabilities) = (without(version), without(capabilities));
    let (no_meta, arguments) = (with("_meta", Value::Null), with("arguments", json!([])));
    let (answers, state) = (with("inputResponses", json!([])), with("requestState", json!(7)));
    let odd = |body: &mut Value| {
        body["params"]["_meta"][capabilities]["elicitation"] = 7.into();
    };
    let changes: [(&str, Change<'_>); 7] = [
        ("no version", &no_version),
        ("no capabilities", &no_capabilities),
        ("no meta", &no_meta),
        ("capabilities of another type", &odd),
        ("arguments of another type", &arguments),
        ("answers of another type", &answers),
        ("a state of another type", &state),
    ];
    for (what, change) in changes {
        let got = desk.posts(&token, &honest, &call(change)).await;
        assert_eq!(got.refused(), (400, -32602), "{what}");
    }
    // A version of the legacy era is agreed on by a handshake, not declared.
    let legacy: [(&str, &str); 3] = [("mcp-protocol-version", "2025-11-25"), honest[1], honest[2]];
    let got = desk
        .posts(&token, &legacy, &call(&|body| body["params"]["_meta"][version] = "2025-11-25".into()))
        .await;
    assert_eq!(got.refused(), (400, -32602));
}

async fn e20_m16_what_is_no_message_or_no_method_has_its_error(db: Database) {
    let desk = Desk::start(db).await;
    let token = desk.token("alice");
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("7", -32600),
        ("{}", -32600),
        (&format!("[{}]", ping()), -32600),
        ("[]", -32600),
    ] {
        assert_eq!(desk.posts(&token, &[], body).await.refused(), (400, code), "{body}");
    }
    let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "x": "y".repeat(70_000) } });
    assert_eq!(desk.posts(&token, &[], &long.to_string()).await.refused(), (413, -32600));
    for (more, status) in [
        (("content-type", "text/plain"), 415),
        (("content-type", "application/x-www-form-urlencoded"), 415),
        (("accept", "application/json"), 406),
        (("accept", "text/event-stream"), 406),
        (("accept", "text/html"), 406),
    ] {
        assert_eq!(desk.posts(&token, &[more], &ping()).await.status, status, "{more:?}");
    }
    let mut claude = desk.client("alice", Capability::BOTH);
    for method in ["ping", "initialize", "resources/list", "subscriptions/listen", "elicitation/create", "x"]
    {
        assert_eq!(claude.asks(method, json!({})).await.refused(), (404, -32601), "{method}");
    }
    assert_eq!(claude.asks("tools/call", json!({ "name": "elsewhere" })).await.refused(), (400, -32602));
    // E6: a client of this era sends no responses, and a notification is taken.
    let modern = [("mcp-protocol-version", "2026-07-28")];
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} }).to_string();
    assert_eq!(desk.posts(&token, &modern, &response).await.refused(), (400, -32600));
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" }).to_string();
    assert_eq!(desk.posts(&token, &modern, &notification).await.status, 202);
    let bearer = format!("Bearer {token}");
    for method in [Method::PUT, Method::PATCH, Method::HEAD] {
        let got = desk.sends(method.clone(), "/mcp", &[("authorization", &bearer)], "").await;
        assert_eq!(got.status, 405, "{method}");
    }
    let got = desk.sends(Method::GET, "/mcp", &[BOTH, ("authorization", &bearer), modern[0]], "").await;
    assert_eq!(got.status, 405);
}

async fn e43_one_person_has_a_pace(db: Database) {
    let desk = Desk::start_with(db, |settings| {
        settings.limits.requests_per_minute = 60;
        settings.listen.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    // Whatever addresses they come from.
    let posts = async |token: &str, from: usize| {
        let from = format!("198.51.100.{from}");
        let headers = [("mcp-protocol-version", "2026-07-28"), ("x-forwarded-for", from.as_str())];
        desk.posts(token, &headers, "{}").await
    };
    let (alices, bobs) = (desk.token("alice"), desk.token("bob"));
    for from in 0..60 {
        assert_eq!(posts(&alices, from).await.refused(), (400, -32600));
    }
    let got = posts(&alices, 60).await;
    assert_eq!((got.refused(), got.header("retry-after")), ((429, -32600), "2"));
    assert_eq!(posts(&bobs, 61).await.status, 400);
    desk.world.advance(Duration::from_secs(2));
    assert_eq!(posts(&alices, 62).await.status, 400);
}

/// Of opaque tokens: each would be a question to the authorization server, which anybody could make up.
async fn the_issuer_is_not_asked_at_will_about_tokens_that_nobody_knows(db: Database) {
    let desk = Desk::start_with(db, |settings| {
        settings.authorization_servers[0].access_tokens = AccessTokens::Introspection;
    })
    .await;
    let id = &desk.world.id;
    id.configure_identity(|identity| identity.opaque_access_tokens = true);
    let asked = || id.log().entries().iter().filter(|one| one.path == "/introspect").count();
    let mut claude = desk.client("alice", Capability::NONE);
    assert_eq!(claude.asks("tools/list", json!({})).await.status, 200);
    for _ in 0..3 {
        let got = claude.with_token("made-up").asks("tools/list", json!({})).await;
        assert_eq!(got.status, 401);
    }
    assert_eq!(asked(), 2);
    for at in 0..598 {
        let got = claude.with_token(&format!("made-up-{at}")).asks("tools/list", json!({})).await;
        assert_eq!(got.status, 401, "{at}");
    }
    let got = claude.with_token("one-too-many").asks("tools/list", json!({})).await;
    assert_eq!((got.refused(), got.header("retry-after")), ((429, -32600), "1"));
    assert_eq!(asked(), 600);
    // Nobody who was known is held back by it.
    assert_eq!(claude.asks("tools/list", json!({})).await.status, 200);
    desk.world.advance(Duration::from_secs(1));
    assert_eq!(desk.client("bob", Capability::NONE).asks("tools/list", json!({})).await.status, 200);
}

async fn a_token_is_good_for_its_hour_in_whichever_steps_it_passes(db: Database) {
    let desk = Desk::start(db).await;
    let mut claude = desk.client("alice", Capability::NONE);
    for minute in 0..60 {
        assert_eq!(claude.asks("tools/list", json!({})).await.status, 200, "{minute}");
        desk.world.advance(Duration::from_mins(1));
    }
    // The leeway, and the parts of a second by which the clocks of the parties differ.
    desk.world.advance(Duration::from_secs(35));
    assert_eq!(claude.asks("tools/list", json!({})).await.status, 401);
    claude = claude.with_token(&desk.token("alice"));
    assert_eq!(claude.asks("tools/list", json!({})).await.status, 200);
}

async fn where_it_is_not_enabled_there_is_nothing(db: Database) {
    let world = World::start(db).await;
    let mut browser = world.browser();
    for path in ["/mcp", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]
    {
        browser.opens(&format!("{}{path}", world.public_url)).await.is("not-found");
    }
}
