//! A form where nobody can sign in: only the browser whose code was typed sees it and can send it.

use consentry::config::BrowserIdentity;
use consentry_fakes::KeyService;
use reqwest::Method;
use serde_json::{Value, json};

use super::{KEY, KEYS, form, offer, service};
use crate::{
    engine::Database,
    rows::rows,
    world::{Browser, Link, Page, World, encode, link},
};

on_both_engines! {
    by_a_code_a_person_types_a_key_without_any_sign_in,
    r51_another_browser_with_the_link_neither_sees_nor_sends_the_form,
    r51_a_code_that_is_lost_while_a_key_is_typed_is_asked_for_again,
}

/// A world whose MCP server `files` knows its users by codes.
async fn start(db: Database) -> (World, KeyService) {
    let service = service().await;
    let base = service.base_url().to_owned();
    let world = World::start_with(db, |settings| {
        settings.mcp_servers[0].identity = BrowserIdentity::Code;
        settings.mcp_servers[0].authorization_server = None;
        offer(settings, form(&base));
    });
    (world.await, service)
}

async fn resolves(world: &World, code: Option<&str>) -> Value {
    let question = json!({
        "provider": KEYS,
        "subject": { "sub": "alice" },
        "client": {
            "protocol_version": "2025-11-25",
            "elicitation": { "form": {}, "url": {} },
            "ref": "client of alice",
            "method": "tools/call",
            "code": code,
        },
    });
    world.api("files").post("/v1/credentials/resolve", &question).await.expect(200)
}

/// A browser that has opened the link and shows its code.
async fn shows(world: &World, link: &Link) -> (Browser, String) {
    let mut browser = world.browser();
    browser.opens(&link.url).await.is("code");
    let code = code_of(browser.presses("/code").await.is("code"));
    (browser, code)
}

fn code_of(page: &Page) -> String {
    let shown = page.html.split_once("<p class=\"shown\"").expect("a code").1;
    let (_, rest) = shown.split_once('>').expect("a tag");
    rest.split_once('<').expect("a text").0.to_owned()
}

/// A browser of alice's whose code she has typed, at the form.
async fn at_the_form(world: &World, link: &Link) -> Browser {
    let (mut alice, code) = shows(world, link).await;
    resolves(world, Some(&code)).await;
    alice.reloads().await.is("secret-form");
    alice
}

async fn by_a_code_a_person_types_a_key_without_any_sign_in(db: Database) {
    let (world, service) = start(db).await;
    let asked = link(&resolves(&world, None).await["elicitation"]);
    let mut alice = at_the_form(&world, &asked).await;
    let page = alice.page().clone();
    assert!(page.text().contains("A key can read everything in its workspace."), "{}", page.text());
    assert!(!page.text().contains("alice") && !page.html.contains("/sign-in"), "nobody is signed in");
    let refused = alice.types(super::WRONG).await.is("secret-rejected").clone();
    assert!(!refused.html.contains(super::WRONG));
    let done = alice.types(KEY).await.is("connected").text();
    assert!(done.contains("octocat@example.com"), "{done}");
    alice.reloads().await.is("connected");
    let ready = resolves(&world, None).await;
    assert_eq!((&ready["status"], &ready["credential"]["fields"]["api_key"]), (&json!("ready"), &json!(KEY)));
    assert_eq!(service.log().entries().len(), 2);
    // The next question wants the next code.
    let question = json!({ "provider": KEYS, "subject": { "sub": "alice" }, "client": {
        "protocol_version": "2025-11-25", "elicitation": { "url": {} }, "ref": "client of alice" } });
    let made = world.api("files").post("/v1/elicitations", &question).await.expect(201);
    alice.opens(made["elicitation"]["url"].as_str().unwrap()).await.is("code");
}

/// Also with the token of the owner's form, and also when it has a code of its own.
async fn r51_another_browser_with_the_link_neither_sees_nor_sends_the_form(db: Database) {
    let (world, service) = start(db).await;
    let asked = link(&resolves(&world, None).await["elicitation"]);
    let (mut mallory, _) = shows(&world, &asked).await;
    let alice = at_the_form(&world, &asked).await;
    let form = alice.key_form().set("api_key", KEY);
    for mut other in [mallory.tab(), world.browser()] {
        other.opens(&asked.url).await.is("code");
        other.request(Method::POST, form.action.clone(), Some(encode(&form.fields))).await;
        assert_ne!(other.follows().await.name().as_deref(), Some("connected"));
    }
    mallory.opens(&format!("{}/connect/{}/done", world.public_url, asked.id)).await.is("code");
    assert!(service.log().entries().is_empty() && rows(&world.database).await["connections"].is_empty());
    assert_eq!(world.api("files").elicitation(&asked.id).await["state"], "pending");
}

async fn r51_a_code_that_is_lost_while_a_key_is_typed_is_asked_for_again(db: Database) {
    let (world, service) = start(db).await;
    let asked = link(&resolves(&world, None).await["elicitation"]);
    let alice = at_the_form(&world, &asked).await;
    let form = alice.key_form().set("api_key", KEY);
    let mut again = world.browser();
    again.opens(&asked.url).await.is("code");
    let page = again.request(Method::POST, form.action, Some(encode(&form.fields))).await.clone();
    assert!(!page.html.contains(KEY));
    again.follows().await.is("code");
    assert!(service.log().entries().is_empty());
    let code = code_of(again.presses("/code").await.is("code"));
    resolves(&world, Some(&code)).await;
    // Nothing of what was typed was kept.
    again.opens(&asked.url).await.is("secret-form");
    again.types(KEY).await.is("connected");
}
