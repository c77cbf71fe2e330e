//! Forms from elsewhere.

use reqwest::{Method, Url};

use super::ready;
use crate::{
    engine::Database,
    rows::rows,
    world::{FILES, NOTES, World, encode},
};

on_both_engines! {
    r39_every_post_wants_our_token_from_our_page,
    r36_many_trips_at_once_keep_the_cookies_few,
}

/// A token, and headers in place of the browser's.
type Forgery<'a> = (Option<&'a str>, &'a [(&'a str, &'a str)]);

/// R39: without the token, with one of another session, or sent by another site with the right one: 403, and nothing
/// has changed.
async fn r39_every_post_wants_our_token_from_our_page(db: Database) {
    let world = World::start(db).await;
    let api = world.api("files");
    let first = api.asks("alice", FILES).await;
    let mut alice = ready(&world, "alice", &first).await;
    alice.connects("octocat").await.is("connected");
    let open = api.asks("alice", NOTES).await;
    let connection = api.resolves("alice", FILES).await["connection"]["id"].as_str().unwrap().to_owned();
    let bobs = api.asks("bob", FILES).await;
    let bob = ready(&world, "bob", &bobs).await;
    let token = |browser: &crate::world::Browser| {
        let form = browser.page().form_to("/continue");
        form.fields.into_iter().find(|(name, _)| name == "csrf").expect("a token").1
    };
    let foreign = token(&bob);
    alice.opens(&open.url).await.is("ready");
    let own = token(&alice);
    let mut paths: Vec<String> = ["continue", "decline", "keep", "account", "restart"]
        .iter()
        .map(|what| format!("/connect/{}/{what}", open.id))
        .collect();
    paths.extend(["/sign-out".to_owned(), format!("/connections/{connection}/disconnect")]);
    let forgeries: [Forgery<'_>; 10] = [
        (None, &[]),
        (Some(""), &[]),
        (Some(&foreign), &[]),
        (Some(&own[1..]), &[]),
        (Some(&own), &[("sec-fetch-site", "cross-site")]),
        (Some(&own), &[("sec-fetch-site", "same-site")]),
        (Some(&own), &[("sec-fetch-site", "none")]),
        (Some(&own), &[("sec-fetch-site", ""), ("origin", "https://evil.example")]),
        (Some(&own), &[("sec-fetch-site", "cross-site"), ("origin", &world.public_url)]),
        (None, &[("sec-fetch-site", "cross-site"), ("origin", "null")]),
    ];
    let before = rows(&world.database).await;
    for path in &paths {
        let url: Url = format!("{}{path}", world.public_url).parse().unwrap();
        for (token, headers) in &forgeries {
            let mut tab = alice.tab();
            for (name, value) in *headers {
                let name: reqwest::header::HeaderName = name.parse().unwrap();
                tab.more_headers.insert(name, value.parse().unwrap());
            }
            if headers.is_empty() {
                tab.more_headers.insert("sec-fetch-site", "same-origin".parse().unwrap());
            }
            let mut fields = vec![("use".to_owned(), "new".to_owned()), ("attempt".into(), open.id.clone())];
            fields.extend(token.map(|token| ("csrf".to_owned(), token.to_owned())));
            let answer = tab.request(Method::POST, url.clone(), Some(encode(&fields))).await.clone();
            assert_eq!(answer.status, 403, "{path} {token:?} {headers:?}");
            assert!(answer.headers.get("set-cookie").is_none());
            assert_eq!(rows(&world.database).await, before, "{path} {token:?} {headers:?}");
        }
        // Neither is a form in JSON one of ours.
        let mut tab = alice.tab();
        tab.more_headers.insert("content-type", "text/plain".parse().unwrap());
        let answer = tab.request(Method::POST, url, Some(encode(&[("csrf".into(), own.clone())]))).await;
        assert_eq!(answer.status, 415, "{path}");
    }
    assert_eq!(rows(&world.database).await, before);
}

/// R36: fifty trips in one browser. The newest eight are good, the others say so, and the cookies stay below 4 KiB.
async fn r36_many_trips_at_once_keep_the_cookies_few(db: Database) {
    let world = World::start(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = ready(&world, "alice", &link).await;
    let mut trips = Vec::new();
    for _ in 0..50 {
        // Attempts are told apart in age by the millisecond.
        world.clock.advance(std::time::Duration::from_millis(2));
        let mut tab = alice.tab();
        tab.opens(&link.url).await.is("ready");
        tab.agrees().await.is("leaving");
        let url = tab.page().url.clone();
        let sent = tab.jar().header(&url, false, world.clock.now()).unwrap();
        assert!(sent.len() < 4096, "{} bytes of cookies", sent.len());
        trips.push((tab.page().refresh().unwrap(), tab));
    }
    let old = trips.drain(..42).collect::<Vec<_>>();
    for (authorize, mut tab) in old {
        let callback = world.files.approve(authorize.as_str(), "octocat").unwrap();
        tab.opens(&callback).await.is("other-browser");
    }
    assert_eq!(super::token_requests(&world), 0);
    for (authorize, tab) in &mut trips {
        let callback = world.files.deny(authorize.as_str()).unwrap();
        tab.opens(&callback).await.is("not-connected");
    }
    alice.opens(&link.url).await.is("ready");
    alice.connects("octocat").await.is("connected");
}
