//! Where nobody can sign in: two browsers with the same link, and only the one whose code was typed gets anywhere.

use consentry::config::BrowserIdentity;
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::token_requests;
use crate::{
    engine::Database,
    rows::rows,
    world::{Browser, FILES, Link, Page, World, encode, link},
};

on_both_engines! {
    by_a_code_a_person_connects_without_any_sign_in,
    r3_the_other_browser_with_the_link_gets_nowhere,
    r3_a_browser_with_a_code_that_nobody_typed_is_nobodys,
    r4_the_way_back_in_another_browser_is_nothing,
    r4_the_way_back_is_nothing_after_another_browsers_code,
    r4_a_lost_code_is_asked_for_again_before_anything_is_spent,
    r5_a_cookie_of_one_code_opens_no_other_elicitation,
    r6_the_page_of_a_code_tells_nothing_of_the_owner,
    r8_looking_mints_nothing_and_neither_does_another_site,
    r39_each_form_wants_the_token_of_its_own_code,
    r117_a_code_is_stored_and_logged_nowhere,
    whoever_is_signed_in_has_proven_nothing,
}

/// A world whose MCP server `files` knows its users by codes.
async fn world(db: Database) -> World {
    World::start_with(db, |settings| {
        settings.mcp_servers[0].identity = BrowserIdentity::Code;
        settings.mcp_servers[0].authorization_server = None;
    })
    .await
}

fn question(sub: &str) -> Value {
    json!({
        "provider": FILES,
        "subject": { "sub": sub },
        "client": {
            "protocol_version": "2025-11-25",
            "elicitation": { "form": {}, "url": {} },
            "ref": format!("client of {sub}"),
            "name": "Some Client",
            "method": "tools/call",
        },
        "message": "Connect Example Files to list your files.",
    })
}

async fn asks(world: &World, sub: &str) -> Link {
    let answer = world.api("files").post("/v1/credentials/resolve", &question(sub)).await.expect(200);
    assert_eq!(answer["status"], "action_required");
    link(&answer["elicitation"])
}

/// The person types this into their MCP client, which passes it on.
async fn types(world: &World, sub: &str, code: &str) -> Value {
    let mut question = question(sub);
    question["client"]["code"] = json!(code);
    world.api("files").post("/v1/credentials/resolve", &question).await.expect(200)
}

/// The code that a page shows; none when it shows none.
fn code_of(page: &Page) -> Option<String> {
    let (_, rest) = page.html.split_once("<p class=\"shown\"")?;
    let (_, rest) = rest.split_once('>')?;
    rest.split_once('<').map(|(code, _)| code.to_owned())
}

/// A browser that has opened the link and asked for its code.
async fn shows(world: &World, link: &Link) -> (Browser, String) {
    let mut browser = world.browser();
    assert_eq!(code_of(browser.opens(&link.url).await.is("code")), None);
    let code = code_of(browser.presses("/code").await.is("code")).expect("a code");
    (browser, code)
}

/// Alice's own browser, whose code she has typed.
async fn proven(world: &World, link: &Link) -> Browser {
    let (mut alice, code) = shows(world, link).await;
    assert_eq!(types(world, "alice", &code).await["status"], "action_required");
    alice.reloads().await.is("ready");
    alice
}

async fn by_a_code_a_person_connects_without_any_sign_in(db: Database) {
    let world = world(db).await;
    let link = asks(&world, "alice").await;
    let (mut alice, code) = shows(&world, &link).await;
    // It stays until it is too old, however often one looks, and a new one takes its place.
    assert_eq!(code_of(alice.reloads().await), Some(code.clone()));
    let next = code_of(alice.presses("/code").await.is("code")).unwrap();
    assert_ne!(next, code);
    let refused = types(&world, "alice", &code).await;
    assert!(refused["reply"]["body"]["message"].as_str().unwrap().ends_with("Tries left: 2."), "{refused}");
    types(&world, "alice", &next.to_lowercase()).await;
    let on = alice.page().link_to("/connect");
    let ready = alice.clicks(on).await.is("ready");
    assert!(
        ready.text().contains("If you did not do that yourself, close this page")
            && !ready.text().contains("Sign out")
    );
    let text = alice.connects("octocat").await.is("connected").text();
    assert!(text.contains("octocat") && !text.contains("Your connections"), "{text}");
    alice.reloads().await.is("connected");
    let answer = world.api("files").post("/v1/credentials/resolve", &question("alice")).await.expect(200);
    assert_eq!(answer["status"], "ready");
    // Nobody was asked to sign in anywhere.
    assert!(alice.history().iter().all(|page| !page.url.as_str().starts_with(world.id.base_url())));
    assert_eq!(rows(&world.database).await["sessions"].len(), 0);
    // A page of one's connections needs a sign-in, and there is none.
    alice.opens(&format!("{}/connections?server=files", world.public_url)).await.is("not-found");
}

/// R3, attacker learns the link: whatever she does with it in her own browser, it is not proven by Alice's code, nothing of
/// Alice's ends, and no request reaches the third party.
async fn r3_the_other_browser_with_the_link_gets_nowhere(db: Database) {
    let world = world(db).await;
    let link = asks(&world, "alice").await;
    let (mut alice, code) = shows(&world, &link).await;
    let (mut mallory, hers) = shows(&world, &link).await;
    assert_ne!(code, hers);
    // She mints as often as she likes: Alice's stays.
    for _ in 0..20 {
        mallory.presses("/code").await.is("code");
        world.browser().opens(&link.url).await.is("code");
    }
    types(&world, "alice", &code).await;
    mallory.reloads().await.is("code");
    alice.reloads().await.is("ready");
    let before = rows(&world.database).await;
    let csrf = mallory.page().form_to("/code").fields;
    for what in ["continue", "decline", "keep", "account", "restart", "input", "secret"] {
        let url: Url = format!("{}/connect/{}/{what}", world.public_url, link.id).parse().unwrap();
        mallory.opens(&link.url).await;
        mallory.request(Method::POST, url, Some(encode(&csrf))).await;
        let status = mallory.page().status.as_u16();
        let leads = mallory.page().location().map(|url| url.path().to_owned());
        assert!(status == 404 || leads.as_deref() == Some("/connect"), "{what}: {status}");
    }
    for what in ["leaving", "done", "resume"] {
        for id in [&link.id, "0193e2f0-0000-7000-8000-000000000000"] {
            let url = format!("{}/connect/{}/{what}?attempt={id}", world.public_url, link.id);
            let shown = mallory.opens(&url).await.name();
            assert!(matches!(shown.as_deref(), Some("code" | "not-found")), "{what}: {shown:?}");
        }
    }
    assert_eq!(rows(&world.database).await, before);
    alice.connects("octocat").await.is("connected");
    // The outcome is not for her either.
    mallory.opens(&link.url).await.is("expired");
    assert!(!mallory.page().text().contains("octocat"));
}

/// R3, attacker sends her own link: the victim's browser shows a code, and without it told she cannot guess it.
async fn r3_a_browser_with_a_code_that_nobody_typed_is_nobodys(db: Database) {
    let world = world(db).await;
    let link = asks(&world, "mallory").await;
    let (mut victim, code) = shows(&world, &link).await;
    let page = victim.page().text();
    assert!(page.contains("Never give this code to anyone."), "{page}");
    for guess in ["BBBB-BBBB", "CCCC-CCCC", "DDDD-DDDD"] {
        assert_ne!(guess, code);
        types(&world, "mallory", guess).await;
    }
    victim.reloads().await.is("expired");
    assert_eq!(world.api("files").elicitation(&link.id).await["state"], "failed");
    // Another link of hers is another guess at another code.
    assert_ne!(asks(&world, "mallory").await.id, link.id);
    assert_eq!(token_requests(&world), 0);
}

/// R4: the callback asks for this browser's code again, before the authorization code is sent anywhere.
async fn r4_the_way_back_in_another_browser_is_nothing(db: Database) {
    let world = world(db).await;
    let link = asks(&world, "alice").await;
    let mut alice = proven(&world, &link).await;
    alice.agrees().await.is("leaving");
    let leaving = alice.page().url.clone();
    alice.leaves().await;
    let callback = alice.approves("octocat").await.location().expect("the way back");
    let (mut mallory, _) = shows(&world, &link).await;
    mallory.opens(callback.as_str()).await.is("other-browser");
    mallory.opens(leaving.as_str()).await.is("code");
    // With the attempt's cookie stolen, but not the code's, it is parked and nothing is spent.
    let stolen = alice.jar().header(&callback, false, world.clock.now()).unwrap();
    let stolen = stolen.split("; ").find(|pair| pair.starts_with("consentry-attempt-")).unwrap().to_owned();
    let mut thief = world.browser();
    thief.more_headers.insert("cookie", stolen.parse().unwrap());
    thief.opens(callback.as_str()).await.is("code");
    assert_eq!(token_requests(&world), 0);
    alice.returns().await.is("connected");
    assert_eq!(token_requests(&world), 1);
}

/// One browser at a time: whoever typed a code that an attacker showed takes it back by typing their own, also while the
/// attacker is on the way to the third party.
async fn r4_the_way_back_is_nothing_after_another_browsers_code(db: Database) {
    let world = world(db).await;
    let link = asks(&world, "alice").await;
    let mut mallory = proven(&world, &link).await;
    mallory.agrees().await.is("leaving");
    mallory.leaves().await;
    mallory.approves("hubot").await;
    let (mut alice, code) = shows(&world, &link).await;
    types(&world, "alice", &code).await;
    alice.reloads().await.is("ready");
    mallory.returns().await.is("code");
    mallory.opens(&link.url).await.is("code");
    assert_eq!(token_requests(&world), 0);
    alice.connects("octocat").await.is("connected");
    assert_eq!(token_requests(&world), 1);
}

async fn r4_a_lost_code_is_asked_for_again_before_anything_is_spent(db: Database) {
    let world = world(db).await;
    let link = asks(&world, "alice").await;
    let mut alice = proven(&world, &link).await;
    alice.agrees().await.is("leaving");
    alice.leaves().await;
    alice.approves("octocat").await;
    alice.jar().lose("localhost", "consentry-code-");
    alice.returns().await.is("code");
    assert_eq!(token_requests(&world), 0);
    let resume = alice.page().url.clone();
    assert!(resume.path().ends_with("/resume"));
    let code = code_of(alice.presses("/code").await.is("code")).unwrap();
    types(&world, "alice", &code).await;
    alice.opens(resume.as_str()).await.is("connected");
    assert_eq!(token_requests(&world), 1);
}

/// R5: the cookie is sealed for its own elicitation, and its hash is looked for with it.
async fn r5_a_cookie_of_one_code_opens_no_other_elicitation(db: Database) {
    let world = world(db).await;
    let (hers, mallorys) = (asks(&world, "alice").await, asks(&world, "mallory").await);
    let mallory = {
        let (browser, code) = shows(&world, &mallorys).await;
        types(&world, "mallory", &code).await;
        browser
    };
    let url: Url = hers.url.parse().unwrap();
    let own = mallory.jar().header(&url, false, world.clock.now()).unwrap();
    let (_, value) = own.split_once('=').unwrap();
    let simple = hers.id.replace('-', "");
    let mut renamed = world.browser();
    renamed.more_headers.insert("cookie", format!("consentry-code-{simple}={value}").parse().unwrap());
    assert_eq!(code_of(renamed.opens(&hers.url).await.is("code")), None);
    let url = format!("{}/connect/{}/done", world.public_url, hers.id);
    renamed.opens(&url).await.is("code");
}

async fn r6_the_page_of_a_code_tells_nothing_of_the_owner(db: Database) {
    let world = world(db).await;
    let link = asks(&world, "alice").await;
    let (mut browser, _) = shows(&world, &link).await;
    let pages: Vec<Page> = browser.history().to_vec();
    for page in &pages {
        for word in ["alice", "Some Client", "list your files", "octocat"] {
            assert!(!page.html.contains(word), "{word} on {}", page.url);
        }
    }
    assert!(browser.page().text().contains("The files tools"));
    world.advance(std::time::Duration::from_mins(5));
    let over = browser.reloads().await.is("code");
    assert_eq!(code_of(over), None);
    assert!(over.text().contains("too old"));
    world.advance(std::time::Duration::from_mins(26));
    browser.reloads().await.is("expired");
}

async fn r8_looking_mints_nothing_and_neither_does_another_site(db: Database) {
    let world = world(db).await;
    let link = asks(&world, "alice").await;
    let before = rows(&world.database).await;
    let url: Url = format!("{}/connect/{}/code", world.public_url, link.id).parse().unwrap();
    let mut scanner = world.browser();
    for _ in 0..5 {
        scanner.opens(&link.url).await.is("code");
        for method in [Method::GET, Method::HEAD] {
            scanner.request(method, url.clone(), None).await;
            assert_eq!(scanner.page().status.as_u16(), 405);
        }
    }
    for (name, value) in
        [("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site"), ("sec-fetch-site", "none")]
    {
        let mut victim = world.browser();
        victim.more_headers.insert(name, value.parse().unwrap());
        let refused = victim.request(Method::POST, url.clone(), Some(String::new())).await;
        assert_eq!((refused.status.as_u16(), refused.headers.get("set-cookie")), (403, None));
    }
    assert_eq!(rows(&world.database).await["browser_codes"], before["browser_codes"]);
    // Nor is one minted for what does not exist, or needs none.
    let notes = world.api("notes").asks("alice", FILES).await;
    for id in ["0193e2f0-0000-7000-8000-000000000000", "nonsense", &notes.id] {
        let url = format!("{}/connect/{id}/code", world.public_url).parse().unwrap();
        scanner.request(Method::POST, url, Some(String::new())).await.is("not-found");
    }
    assert_eq!(rows(&world.database).await["browser_codes"].len(), 0);
}

async fn r39_each_form_wants_the_token_of_its_own_code(db: Database) {
    let world = world(db).await;
    let link = asks(&world, "alice").await;
    let mut alice = proven(&world, &link).await;
    let (mallory, _) = shows(&world, &link).await;
    let foreign = mallory.page().form_to("/code").fields;
    let own = alice.page().form_to("/continue");
    let before = rows(&world.database).await["attempts"].clone();
    for fields in [vec![], vec![("csrf".to_owned(), String::new())], foreign] {
        alice.opens(&link.url).await.is("ready");
        let refused = alice.request(Method::POST, own.action.clone(), Some(encode(&fields))).await;
        assert_eq!(refused.status.as_u16(), 403);
    }
    assert_eq!(rows(&world.database).await["attempts"], before);
    alice.opens(&link.url).await;
    alice.submits(own).await;
    alice.follows().await.is("leaving");
}

async fn r117_a_code_is_stored_and_logged_nowhere(db: Database) {
    let world = world(db).await;
    let link = asks(&world, "alice").await;
    let (mut alice, code) = shows(&world, &link).await;
    let wrong = types(&world, "alice", "QQQQ-QQQQ").await;
    let right = types(&world, "alice", &code).await;
    alice.reloads().await.is("ready");
    let plain = code.replace('-', "");
    let stored = rows(&world.database).await;
    for text in stored.values().flatten().chain([&wrong.to_string(), &right.to_string()]) {
        assert!(!text.contains(&code) && !text.contains(&plain) && !text.contains("QQQQ"), "{text}");
    }
    assert_eq!(stored["browser_codes"].len(), 1);
    let told = stored["audit"].iter().filter(|row| row.contains("code_matched")).count();
    assert_eq!(told, 1);
}

/// A session at an authorization server, even of a person of the same name, is no code.
async fn whoever_is_signed_in_has_proven_nothing(db: Database) {
    let world = World::start_with(db, |settings| {
        settings.mcp_servers[0].identity = BrowserIdentity::Code;
    })
    .await;
    let notes = world.api("notes").asks("alice", FILES).await;
    let mut alice = world.browser();
    alice.opens(&notes.url).await;
    alice.signs_in("alice").await.is("ready");
    let link = asks(&world, "alice").await;
    alice.opens(&link.url).await.is("code");
    alice.opens(&format!("{}/connect/{}/done", world.public_url, link.id)).await.is("code");
    let code = code_of(alice.presses("/code").await.is("code")).unwrap();
    types(&world, "alice", &code).await;
    alice.reloads().await.is("ready");
    alice.connects("octocat").await.is("connected");
    // What they ask for themselves on their connections page, they ask signed in.
    alice.opens(&format!("{}/connections?server=files", world.public_url)).await.is("connections");
}
