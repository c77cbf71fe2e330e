//! The link in other spellings, in other hands, before scanners.

use reqwest::{Method, Url};

use super::{about_to_return, ready, token_requests};
use crate::{
    engine::Database,
    rows::rows,
    world::{FILES, World},
};

on_both_engines! {
    r5_no_spelling_of_a_link_opens_it_for_somebody_else,
    r8_looking_changes_nothing,
    r46_no_address_leads_elsewhere,
}

/// Addresses made of Alice's, as an attacker with a session of his own would try them.
fn spellings(base: &str, link: &str, own: &str) -> Vec<String> {
    let mut found = Vec::new();
    let upper = link.to_uppercase();
    let mut ids = vec![
        link.to_owned(),
        upper,
        link.replace('-', ""),
        format!("{{{link}}}"),
        format!("urn:uuid:{link}"),
    ];
    for at in 0..link.len() {
        let escaped = format!("{}%{:02X}{}", &link[..at], link.as_bytes()[at], &link[at + 1..]);
        ids.extend([
            escaped,
            format!("{}%00{}", &link[..at], &link[at..]),
            format!("{}+{}", &link[..at], &link[at..]),
        ]);
        for odd in ["%20", "%09", "%0a", "%2f", "%5c", "%ef%bc%8d", "..", "'", "\"", ";", "%2500"] {
            ids.push(format!("{}{odd}{}", &link[..at], &link[at..]));
        }
    }
    for id in &ids {
        found.push(format!("{base}/connect?elicitationId={id}"));
        found.push(format!("{base}/connect/{id}/done"));
        found.push(format!("{base}/connect/{id}/leaving?attempt={link}"));
    }
    let connect = [
        "/connect",
        "/connect/",
        "//connect",
        "/./connect",
        "/connect/.",
        "/x/../connect",
        "/CONNECT",
        "/connect%2f",
        "/%63onnect",
        "/connect;a=b",
    ];
    for path in connect {
        for query in [
            format!("elicitationId={link}"),
            format!("elicitationId={own}&elicitationId={link}"),
            format!("elicitationId={link}&elicitationId={own}"),
            format!("elicitationid={link}"),
            format!("ELICITATIONID={own}&elicitationId={link}"),
            format!("elicitationId[]={link}"),
            format!("elicitationId={own},{link}"),
            format!("elicitationId={own}%26elicitationId={link}"),
            format!("elicitationId={link}#elicitationId={own}"),
            format!("elicitationId={link}&sub=bob&owner=bob&user=bob&attempt=1"),
            format!("id={own}&elicitationId={link}&switch=1"),
            format!("elicitationId={link}&state=x&code=y"),
        ] {
            found.push(format!("{base}{path}?{query}"));
        }
    }
    for page in [
        "done", "leaving", "resume", "continue", "decline", "keep", "account", "restart", "input", "secret",
        "nothing",
    ] {
        for (before, after) in [("", ""), (own, "/../"), ("./", ""), ("%2e%2e/", ""), ("", "/"), ("", "%2f")]
        {
            found.push(format!("{base}/connect/{before}{after}{link}/{page}"));
            found.push(format!(
                "{base}/connect/{link}/{before}{after}{page}?elicitationId={own}&attempt={own}"
            ));
        }
    }
    found
}

/// R5: Bob, signed in, with an open link of his own, and Alice's in every spelling.
async fn r5_no_spelling_of_a_link_opens_it_for_somebody_else(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let mut question = api.question("alice", FILES);
    question["message"] = "For Alice's eyes.".into();
    let answer = api.post("/v1/elicitations", &question).await.expect(201);
    let link = crate::world::link(&answer["elicitation"]);
    let own = api.asks("bob", FILES).await;
    let mut bob = ready(&world, "bob", &own).await;
    let csrf = bob.page().form_to("/continue").fields;
    let before = rows(&world.database).await;
    let spelt = spellings(&world.public_url, &link.id, &own.id);
    assert!(spelt.len() > 1_500, "{}", spelt.len());
    for address in spelt {
        let Ok(url) = address.parse::<Url>() else { continue };
        let is_own = url.as_str().contains(&own.id) && !url.as_str().contains(&link.id);
        for method in [Method::GET, Method::POST] {
            if method == Method::POST && (is_own || !url.path().contains(&link.id)) {
                continue;
            }
            let body = (method == Method::POST).then(|| crate::world::encode(&csrf));
            let page = bob.request(method.clone(), url.clone(), body).await.clone();
            assert!(!page.html.contains("Alice"), "{method} {address}: {}", page.html);
            let name = page.name().unwrap_or_default();
            let is_refused = matches!(&*name, "wrong-account" | "not-found" | "bad-request" | "");
            assert!(is_refused || is_own, "{method} {address}: {name}");
            assert!(page.status.as_u16() < 500, "{method} {address}");
            assert!(
                page.location().is_none_or(|leads| !leads.path().ends_with("/leaving")),
                "{method} {address}"
            );
        }
    }
    assert_eq!(rows(&world.database).await, before);
    assert!(world.files.authorize_log().is_empty());
}

/// R8: a hundred looks at every address of the flow, by scanners and by the owner's own prefetch, and not a byte has
/// changed; then she finishes.
async fn r8_looking_changes_nothing(db: Database) {
    let world = World::start(db).await;
    let (mut alice, link, callback) = about_to_return(&world).await;
    let mut addresses: Vec<Url> = alice
        .history()
        .iter()
        .map(|page| page.url.clone())
        .filter(|url| url.as_str().starts_with(&world.public_url))
        .collect();
    for path in ["done", "continue", "decline", "keep", "account", "restart", "nothing"] {
        addresses.push(format!("{}/connect/{}/{path}", world.public_url, link.id).parse().unwrap());
    }
    for path in ["/connections?server=files", "/sign-out", "/sign-in?server=files", "/stopped/other-browser"]
    {
        addresses.push(format!("{}{path}", world.public_url).parse().unwrap());
    }
    let before = rows(&world.database).await;
    let jar = alice.jar().clone();
    for round in 0..100 {
        let mut looks = if round % 2 == 0 { world.browser() } else { alice.tab() };
        if round % 3 == 0 {
            looks.more_headers.insert("sec-purpose", "prefetch;prerender".parse().unwrap());
        }
        let method = if round % 4 < 2 { Method::GET } else { Method::HEAD };
        for url in &addresses {
            looks.request(method.clone(), url.clone(), None).await;
        }
        // Her own GET of the callback is no look: it is the way back.
        world.browser().request(method, callback.clone(), None).await;
    }
    *alice.jar() = jar;
    assert_eq!(rows(&world.database).await, before);
    assert_eq!(token_requests(&world), 0);
    alice.opens(callback.as_str()).await.is("connected");
}

/// R46: whatever stands in an address, a redirect leads to us or to the authorization server.
async fn r46_no_address_leads_elsewhere(db: Database) {
    let world = World::start(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, "alice", &link).await;
    let elsewhere = [
        "//evil.example",
        "https://evil.example",
        "http:evil.example",
        "https:%2f%2fevil.example",
        "\\\\evil.example",
        "/\\evil.example",
        "%09//evil.example",
        "https://localhost@evil.example",
        "https://evil.example%23.localhost",
        "javascript:alert(1)",
        "data:text/html,x",
        "%0d%0aLocation:%20https://evil.example",
        "//evil%E3%80%82example",
        "https://evil.example/%2e%2e",
        "///evil.example",
        "/%2f/evil.example",
        "http://0x7f000001.evil.example",
    ];
    let id = &link.id;
    let mut asked = 0;
    for payload in elsewhere {
        for path in [
            format!("/connect?elicitationId={payload}"),
            format!("/connect?elicitationId={id}&return_to={payload}&next={payload}&redirect_uri={payload}"),
            format!("/connect/{id}/done?attempt={payload}"),
            format!("/connect/{id}/done?return={payload}"),
            format!("/connect/{id}/leaving?attempt={payload}"),
            format!("/connect/{id}/resume?attempt={payload}"),
            format!("/connect/{payload}/done"),
            format!("/sign-in?elicitationId={payload}"),
            format!("/sign-in?server={payload}"),
            format!("/sign-in?server=files&return_to={payload}&redirect_uri={payload}"),
            format!("/sign-in?elicitationId={id}&attempt={payload}"),
            format!("/sign-in?elicitationId={id}&switch={payload}"),
            format!("/sign-in/callback/{payload}"),
            format!("/sign-in/callback/example-id?error=access_denied&state={payload}&error_uri={payload}"),
            format!("/sign-in/confirm?which={payload}"),
            format!("/callback/{payload}/example-files?state=x&code=y"),
            format!("/callback/files/{payload}?state=x&code=y"),
            format!("/callback/files/example-files?error=x&error_uri={payload}&state={payload}"),
            format!("/stopped/{payload}"),
            format!("/stopped/wrong-account?elicitationId={payload}"),
            format!("/stopped/sign-in-failed?why={payload}&server={payload}"),
            format!("/connections?server={payload}"),
            format!("/{payload}"),
            payload.to_owned(),
        ] {
            let Ok(url) = format!("{}{path}", world.public_url).parse::<Url>() else { continue };
            if !url.as_str().starts_with(&format!("{}/", world.public_url)) {
                continue;
            }
            asked += 1;
            let page = alice.tab().request(Method::GET, url, None).await.clone();
            assert!(page.status.as_u16() < 500, "{path}");
            if let Some(leads) = page.location() {
                assert_eq!(page.status, 303, "{path}");
                let ours = leads.as_str().starts_with(&format!("{}/", world.public_url));
                let ids = leads.as_str().starts_with(&format!("{}/authorize?", world.id.base_url()));
                assert!(ours || ids, "{path} leads to {leads}");
            }
            for (leads, words) in page.links() {
                assert!(leads.host_str() == Some("localhost"), "{path}: {words} leads to {leads}");
            }
        }
    }
    assert!(asked > 300, "{asked}");
    alice.opens(&link.url).await.is("ready");
}
