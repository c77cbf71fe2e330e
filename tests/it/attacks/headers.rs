//! Headers: those that we send with every answer, and those that we do not believe.

use reqwest::{Method, Url};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{about_to_return, ready};
use crate::{
    engine::Database,
    world::{FILES, Page, World},
};

on_both_engines! {
    r40_to_r47_what_cannot_be_parsed_is_answered_with_the_headers_too,
    r40_to_r47_every_answer_carries_the_headers,
    r118_a_head_that_is_too_big_for_http2_is_answered_with_the_headers_too,
    r48_what_a_request_says_of_its_host_is_not_believed,
}

/// R35, R40, R41, R43, R45, R47.
fn check(page: &Page, what: &str) {
    let policy = page.header("content-security-policy");
    for part in [
        "default-src 'none'",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action",
    ] {
        assert!(policy.contains(part), "{what}: {part} in {policy}");
    }
    for never in ["unsafe", "http:", "https:", "*"] {
        assert!(!policy.contains(never), "{what}: {never} in {policy}");
    }
    for (name, value) in [
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), value, "{what}: {name}");
    }
    if page.url.path().starts_with("/static/") && page.status == 200 {
        assert!(page.header("cache-control").contains("max-age"), "{what}");
    } else {
        assert_eq!(page.header("cache-control"), "no-store", "{what}");
    }
    let referrer = page.header("referrer-policy");
    let has_forms = page.forms().iter().any(|form| form.post);
    let expected = if has_forms { "same-origin" } else { "no-referrer" };
    assert!(referrer == expected || page.html.is_empty(), "{what}: {referrer}");
    assert!(["same-origin", "no-referrer"].contains(&referrer), "{what}: {referrer}");
    for name in page.headers.keys() {
        let name = name.as_str();
        assert!(!name.starts_with("access-control-"), "{what}: {name}");
        assert!(!["server", "x-powered-by"].contains(&name), "{what}: {name}");
    }
    if page.status.is_redirection() {
        assert_eq!(page.status, 303, "{what}");
    }
}

async fn r40_to_r47_every_answer_carries_the_headers(db: Database) {
    let world = World::start(db).await;
    let (mut alice, link, callback) = about_to_return(&world).await;
    alice.opens(callback.as_str()).await.is("connected");
    let open = world.api("files").asks("alice", crate::world::NOTES).await;
    alice.opens(&open.url).await.is("ready");
    alice.opens(&format!("{}/connections?server=files", world.public_url)).await.is("connections");
    let stylesheet = alice.page().html.split("href=\"").find(|rest| rest.starts_with("/static/")).unwrap();
    let stylesheet = stylesheet.split('"').next().unwrap().to_owned();
    let (id, long) = (&link.id, "x".repeat(3 * 1024 * 1024));
    let twice = format!("/connect?elicitationId={id}&elicitationId={id}");
    let callback = "/callback/files/example-files";
    let done = format!("/connect/{id}/done");
    let go_on = format!("/connect/{}/continue", open.id);
    let cases: Vec<(&str, &str, &str, u16)> = vec![
        ("GET", "/livez", "", 200),
        ("GET", &stylesheet, "", 200),
        ("GET", "/static/nothing.css", "", 404),
        ("GET", "/", "", 404),
        ("GET", "/nothing", "", 404),
        ("GET", "/v1/providers", "", 404),
        ("GET", "/metrics", "", 404),
        ("GET", "/connect", "", 404),
        ("GET", &twice, "", 400),
        ("GET", "/connect/%ff/done", "", 404),
        ("GET", &done, "", 200),
        ("HEAD", &done, "", 200),
        ("POST", &done, "", 405),
        ("DELETE", "/connect", "", 405),
        ("PUT", "/sign-out", "", 405),
        ("OPTIONS", "/connect", "", 405),
        ("TRACE", "/connect", "", 405),
        ("POST", &go_on, "csrf=x", 403),
        ("POST", &go_on, &long, 413),
        ("POST", "/sign-out", &long, 413),
        ("GET", callback, "", 303),
        ("HEAD", callback, "", 405),
        ("GET", "/sign-in?server=files", "", 303),
        ("GET", "/sign-in?server=nobody", "", 404),
        ("GET", "/sign-in/callback/example-id?code=x&state=y", "", 303),
        ("HEAD", "/sign-in/callback/example-id", "", 405),
        ("GET", "/sign-in/confirm?which=x", "", 401),
        ("GET", "/stopped/other-browser", "", 400),
        ("GET", "/stopped/provider-mismatch", "", 400),
        ("GET", "/stopped/unavailable", "", 503),
        ("GET", "/stopped/server-error", "", 500),
        ("GET", "/stopped/bad-request", "", 400),
        ("GET", "/stopped/sign-in-failed", "", 401),
        ("GET", "/stopped/nothing", "", 404),
        ("GET", "/connections?server=files", "", 200),
        ("GET", "/connections?server=nobody", "", 404),
    ];
    for (method, path, body, status) in cases {
        let url: Url = format!("{}{path}", world.public_url).parse().unwrap();
        let body = (!body.is_empty()).then(|| body.to_owned());
        let mut tab = alice.tab();
        let page = tab.request(method.parse::<Method>().unwrap(), url.clone(), body).await;
        let what = format!("{method} {}", &path[..path.len().min(60)]);
        assert_eq!(page.status.as_u16(), status, "{what}");
        check(page, &what);
        let mut misled = alice.tab();
        misled.more_headers.insert("host", "evil.example".parse().unwrap());
        let page = misled.request(method.parse::<Method>().unwrap(), url, None).await;
        assert!(page.status == 421 || path == "/livez", "{what}: {}", page.status);
        check(page, &format!("{what} of another host"));
    }
    let pages: Vec<Page> = alice.history().to_vec();
    for page in pages.iter().filter(|page| page.url.as_str().starts_with(&world.public_url)) {
        check(page, page.url.path());
    }
}

/// R48: neither what leaves for the third party nor any page holds it.
async fn r48_what_a_request_says_of_its_host_is_not_believed(db: Database) {
    let world = World::start(db).await;
    let link = world.api("files").asks("alice", FILES).await;
    let mut alice = world.browser();
    for (name, value) in [
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-port", "4443"),
        ("x-forwarded-prefix", "/evil.example"),
        ("x-forwarded-for", "203.0.113.7"),
        ("forwarded", "for=203.0.113.7;host=evil.example;proto=https"),
        ("x-original-host", "evil.example"),
        ("x-host", "evil.example"),
        ("x-original-url", "/evil.example"),
        ("x-rewrite-url", "/evil.example"),
    ] {
        let name: reqwest::header::HeaderName = name.parse().unwrap();
        alice.more_headers.insert(name, value.parse().unwrap());
    }
    alice.opens(&link.url).await;
    alice.signs_in("alice").await.is("ready");
    alice.connects("octocat").await.is("connected");
    let callback = format!("{}/callback/files/{FILES}", world.public_url);
    assert_eq!(world.files.authorize_log()[0].parameter("redirect_uri"), Some(&*callback));
    assert_eq!(world.files.token_log()[0].redirect_uri.as_deref(), Some(&*callback));
    let sign_in = format!("{}/sign-in/callback/example-id", world.public_url);
    assert_eq!(world.id.authorize_log()[0].parameter("redirect_uri"), Some(&*sign_in));
    for page in alice.history() {
        assert!(!page.html.contains("evil.example") && !page.html.contains("4443/"), "{}", page.url);
        for value in page.headers.values() {
            assert!(!value.to_str().unwrap_or_default().contains("evil.example"), "{}", page.url);
        }
    }
    let port = world.public_url.rsplit(':').next().unwrap();
    let notes = world.api("files").asks("alice", crate::world::NOTES).await;
    let alice = ready(&world, "alice", &notes).await;
    for host in [
        "evil.example",
        "localhost",
        "localhost:1",
        &format!("evil.localhost:{port}"),
        &format!("localhost.:{port}"),
        &format!("x@localhost:{port}"),
    ] {
        let mut tab = alice.tab();
        tab.more_headers.insert("host", host.parse().unwrap());
        let page = tab.goes(&notes.url).await;
        assert_eq!(page.status, 421, "{host}");
        assert!(!page.html.contains("evil"), "{host}: {}", page.html);
    }
}

/// No router sees these, so that no layer of ours does.
async fn r40_to_r47_what_cannot_be_parsed_is_answered_with_the_headers_too(db: Database) {
    let world = World::start(db).await;
    let public: Url = world.public_url.parse().unwrap();
    let big = format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "a".repeat(200_000));
    for (request, status) in [
        ("GET / HTTP/1.1\r\nhost : x\r\n\r\n", "400"),
        ("GET /\0 HTTP/1.1\r\nhost: x\r\n\r\n", "400"),
        ("NONSENSE\r\n\r\n", "400"),
        (big.as_str(), "431"),
    ] {
        let head = sent(("127.0.0.1", public.port().unwrap()), request).await;
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{head}");
        for line in [
            "content-security-policy: default-src 'none'",
            "x-frame-options: deny",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
        ] {
            assert!(head.contains(&format!("\r\n{line}")), "{line} is not in {head}");
        }
    }
    let internal: Url = world.internal_url.parse().unwrap();
    let head = sent(("127.0.0.1", internal.port().unwrap()), "GET / HTTP/1.1\r\nhost : x\r\n\r\n").await;
    assert!(head.starts_with("http/1.1 400 ") && head.contains("\r\ncache-control: no-store"), "{head}");
}

/// The limits of HTTP/1.1's heads, for a protocol that reads them in another way.
async fn r118_a_head_that_is_too_big_for_http2_is_answered_with_the_headers_too(db: Database) {
    let world = World::start(db).await;
    #[expect(clippy::disallowed_methods, reason = "a browser calls Consentry; its own client is for others")]
    let client = reqwest::Client::builder()
        .no_proxy()
        .http2_prior_knowledge()
        .resolve("localhost", ([127, 0, 0, 1], 0).into())
        .build()
        .unwrap();
    let url = format!("{}/livez", world.public_url);
    let asked = |headers: usize, bytes: usize| {
        let mut request = client.get(&url);
        for number in 0..headers {
            request = request.header(format!("x-{number}"), "a".repeat(bytes));
        }
        async { request.send().await.unwrap() }
    };
    assert_eq!(asked(1, 20_000).await.status(), 200);
    for (headers, bytes) in [(1, 33_000), (120, 10)] {
        let answer = asked(headers, bytes).await;
        assert_eq!(
            (answer.status(), answer.version()),
            (reqwest::StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, reqwest::Version::HTTP_2)
        );
        for (name, value) in [
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert_eq!(answer.headers()[name], value, "{name}");
        }
    }
}

/// What a listener answers to these bytes, in lower case.
async fn sent(to: (&str, u16), request: &str) -> String {
    let mut stream = TcpStream::connect(to).await.unwrap();
    // It may hang up before it has read all of what is too much.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let mut buffer = [0; 4_096];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        answer.extend_from_slice(&buffer[..read]);
        if answer.ends_with(b"\r\n\r\n") {
            break;
        }
    }
    String::from_utf8_lossy(&answer).to_lowercase()
}
