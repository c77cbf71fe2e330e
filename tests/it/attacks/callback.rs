//! Coming back: whatever is wrong with it, nothing is spent, and the owner's own way back still works.

use reqwest::{Method, Url};

use super::{about_to_return, pairs, ready, token_requests, with_query};
use crate::{
    engine::Database,
    rows::rows,
    world::{FILES, World},
};

on_both_engines! {
    r4_a_callback_in_another_browser_or_session_is_refused,
    r71_each_single_fault_at_the_callback_changes_nothing,
    r59_the_cookie_of_the_trip_and_no_other_opens_it,
    r44_the_callback_never_renders,
}

/// R4: not in Bob's browser, not in nobody's, and not in Alice's own when Bob is signed in there.
async fn r4_a_callback_in_another_browser_or_session_is_refused(db: Database) {
    let world = World::start(db).await;
    let (mut alice, link, callback) = about_to_return(&world).await;
    let bobs = world.api("files").asks("bob", FILES).await;
    let before = rows(&world.database).await;
    world.browser().opens(callback.as_str()).await.is("other-browser");
    assert_eq!(rows(&world.database).await, before);
    let mut bob = ready(&world, "bob", &bobs).await;
    let before = rows(&world.database).await;
    bob.opens(callback.as_str()).await.is("other-browser");
    assert_eq!(rows(&world.database).await, before);

    // Alice's session is lost, and Bob signs in in her browser.
    alice.jar().lose("localhost", "consentry-session");
    alice.opens(&bobs.url).await.is("sign-in");
    alice.jar().lose("127.0.0.2", "");
    alice.signs_in("bob").await.is("sign-in");
    alice.confirms().await.is("ready");
    let before = rows(&world.database).await;
    alice.opens(callback.as_str()).await.is("wrong-account");
    assert_eq!(rows(&world.database).await, before);
    assert_eq!(token_requests(&world), 0);

    let switch = alice.page().link_to("/sign-in");
    alice.clicks(switch).await;
    alice.answers_as("alice").await.is("sign-in");
    alice.confirms().await;
    assert_eq!(world.api("files").elicitation(&link.id).await["state"], "authorizing");
    alice.opens(callback.as_str()).await.is("connected");
    assert_eq!(world.redeemed(), 1);
}

/// What is wrong with it, and where it leads.
type Fault = (&'static str, Url, &'static str);

/// R52, R56, R60, R61, R70: each with one thing wrong.
fn faults(callback: &Url, issuer: &str) -> Vec<Fault> {
    let own = pairs(callback);
    let get = |name: &str| own.iter().find(|(found, _)| found == name).unwrap().1.clone();
    let put = |name: &str, value: &str| {
        let changed = own
            .iter()
            .map(|(found, old)| (found.clone(), if found == name { value.to_owned() } else { old.clone() }));
        with_query(callback, &changed.collect::<Vec<_>>())
    };
    let without = |name: &str| {
        with_query(callback, &own.iter().filter(|(found, _)| found != name).cloned().collect::<Vec<_>>())
    };
    let and = |name: &str, value: &str| {
        let mut more = own.clone();
        more.push((name.to_owned(), value.to_owned()));
        with_query(callback, &more)
    };
    let error = |error: &str, iss: &str| {
        let pairs = [("error", error), ("state", &get("state")), ("iss", iss)];
        with_query(callback, &pairs.map(|(name, value)| (name.to_owned(), value.to_owned())))
    };
    let at = |path: &str| {
        let mut moved = callback.clone();
        moved.set_path(path);
        moved
    };
    let (bad, other, mismatch) = ("bad-request", "other-browser", "provider-mismatch");
    let upper = issuer.replace("http", "HTTP");
    let escaped = issuer.replace("://", ":%2F%2F");
    let mut found = vec![
        ("R52 state twice", and("state", &get("state")), bad),
        ("R52 code twice", and("code", "other"), bad),
        ("R52 iss twice", and("iss", issuer), bad),
        (
            "R52 an unknown one twice",
            with_query(&and("x", "1"), &[pairs(&and("x", "1")), vec![("x".into(), "2".into())]].concat()),
            bad,
        ),
        ("R56 access_token", and("access_token", "t"), bad),
        ("R56 id_token", and("id_token", "t"), bad),
        ("code and error", and("error", "access_denied"), bad),
        ("neither code nor error", without("code"), bad),
        ("an empty code", put("code", ""), bad),
        ("no state", without("state"), bad),
        ("an empty state", put("state", ""), bad),
        ("a long state", put("state", &"s".repeat(300)), bad),
        ("a long code", put("code", &"c".repeat(8 * 1024 + 1)), bad),
        ("an unknown state", put("state", &"s".repeat(43)), other),
        ("state in another case", put("state", &get("state").to_lowercase()), other),
        ("state with more", put("state", &format!("{} ", get("state"))), other),
        ("R60 another provider's path", at("/callback/files/example-notes"), mismatch),
        ("R60 another server's path", at("/callback/notes/example-files"), mismatch),
        ("R60 an unknown provider's path", at("/callback/files/nobody"), mismatch),
        ("R60 a path that is none", at("/callback/files/%00"), "not-found"),
        ("R61 no iss", without("iss"), mismatch),
        ("R61 an empty iss", put("iss", ""), mismatch),
        ("R61 another's iss", put("iss", "http://127.0.0.4:1"), mismatch),
        ("R61 a trailing slash", put("iss", &format!("{issuer}/")), mismatch),
        ("R61 upper case", put("iss", &upper), mismatch),
        ("R61 escaped twice", put("iss", &escaped), mismatch),
        ("R61 a space", put("iss", &format!("{issuer} ")), mismatch),
        ("R70 a no with another's iss", error("access_denied", "http://127.0.0.4:1"), mismatch),
        ("R70 a no without an iss", error("access_denied", ""), mismatch),
    ];
    found.push((
        "too many parameters",
        {
            let more = (0..70).map(|n| (format!("p{n}"), String::new()));
            with_query(callback, &own.iter().cloned().chain(more).collect::<Vec<_>>())
        },
        bad,
    ));
    found
}

/// R71: the right browser, the right session, and one thing wrong.
async fn r71_each_single_fault_at_the_callback_changes_nothing(db: Database) {
    let world = World::start(db).await;
    let (mut alice, link, callback) = about_to_return(&world).await;
    let before = rows(&world.database).await;
    for (what, url, page) in faults(&callback, world.files.base_url()) {
        let mut tab = alice.tab();
        let answer = tab.goes(url.as_str()).await;
        assert_eq!(answer.status, 303, "{what}");
        let leads = answer.location().unwrap();
        assert_eq!(leads.path(), format!("/stopped/{page}"), "{what}");
        assert_eq!(leads.query(), None, "{what}: nothing of it stays in the address");
        tab.follows().await.is(page);
        assert_eq!(rows(&world.database).await, before, "{what}");
        assert_eq!(token_requests(&world), 0, "{what}");
    }
    for method in [Method::HEAD, Method::POST, Method::PUT, Method::DELETE] {
        let answer = alice.tab().request(method.clone(), callback.clone(), None).await.clone();
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(rows(&world.database).await, before, "{method}");
    }
    let resume: Url =
        format!("{}/connect/{}/resume?attempt={}", world.public_url, link.id, link.id).parse().unwrap();
    assert_eq!(alice.tab().request(Method::HEAD, resume, None).await.status, 405);
    assert_eq!(rows(&world.database).await, before);
    assert_eq!(token_requests(&world), 0);

    alice.opens(callback.as_str()).await.is("connected");
    assert_eq!(token_requests(&world), 1);
}

/// R59, R70: without it, with another trip's, with one that is broken; and a forged no is not taken for one.
async fn r59_the_cookie_of_the_trip_and_no_other_opens_it(db: Database) {
    let world = World::start(db).await;
    let (mut alice, _, callback) = about_to_return(&world).await;
    let notes = world.api("files").asks("alice", crate::world::NOTES).await;
    let mut second = alice.tab();
    second.opens(&notes.url).await.is("ready");
    second.agrees().await.is("leaving");
    let cookies: Vec<(String, String)> =
        alice.jar().of("localhost").map(|cookie| (cookie.name.clone(), cookie.value.clone())).collect();
    let session = cookies.iter().find(|(name, _)| name == "consentry-session").unwrap().1.clone();
    let mut trips: Vec<_> =
        cookies.iter().filter(|(name, _)| name.starts_with("consentry-attempt-")).collect();
    trips.sort();
    let [(first, own), (_, others)] = trips[..] else { panic!("two trips: {trips:?}") };
    let mut broken = own.clone();
    broken.replace_range(20..21, if &broken[20..21] == "A" { "B" } else { "A" });
    let before = rows(&world.database).await;
    let mut no = callback.clone();
    let state = pairs(&callback).into_iter().find(|(name, _)| name == "state").unwrap();
    let iss = ("iss".to_owned(), world.files.base_url().to_owned());
    no.query_pairs_mut().clear().extend_pairs([state, iss, ("error".into(), "access_denied".into())]);
    for trip in [
        String::new(),
        format!("; {first}="),
        format!("; {first}={others}"),
        format!("; {first}={broken}"),
        format!("; {first}={own}; {first}={own}"),
        format!("; {first}={session}"),
    ] {
        for url in [&callback, &no] {
            let mut stranger = world.browser();
            let cookie = format!("consentry-session={session}{trip}");
            stranger.more_headers.insert("cookie", cookie.parse().unwrap());
            stranger.opens(url.as_str()).await.is("other-browser");
            assert_eq!(rows(&world.database).await, before, "{trip}");
        }
    }
    assert_eq!(token_requests(&world), 0);
    alice.opens(callback.as_str()).await.is("connected");
}

/// R44: a redirect to an address without a code, and a second time the same.
async fn r44_the_callback_never_renders(db: Database) {
    let world = World::start(db).await;
    let (mut alice, _, callback) = about_to_return(&world).await;
    for _ in 0..3 {
        let answer = alice.goes(callback.as_str()).await;
        assert_eq!((answer.status.as_u16(), answer.html.len()), (303, 0));
        let leads = answer.location().unwrap();
        assert!(leads.path().ends_with("/done") && !leads.as_str().contains("code="), "{leads}");
        alice.follows().await.is("connected");
    }
    assert_eq!(token_requests(&world), 1);
    // R64: what was asked with is what is redeemed with.
    let (asked, redeemed) = (world.files.authorize_log(), world.files.token_log());
    let sent = format!("{}/callback/files/{FILES}", world.public_url);
    assert_eq!(asked[0].parameter("redirect_uri"), Some(&*sent));
    assert_eq!(redeemed[0].redirect_uri.as_deref(), Some(&*sent));
    // R66: each parameter once.
    let names: Vec<&String> = asked[0].parameters.iter().map(|(name, _)| name).collect();
    let distinct: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(names.len(), distinct.len(), "{names:?}");
}
