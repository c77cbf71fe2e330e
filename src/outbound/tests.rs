//! The client against a server that says exactly what it is told to.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use http::StatusCode;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

/// A server of raw bytes: reads one request from each connection after the other and writes the next script's.
struct Peer {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

/// What is written for one request.
#[derive(Clone)]
enum Say {
    /// These bytes, and the connection stays open.
    Then(Vec<u8>),
    /// These bytes, and the connection is closed.
    Last(Vec<u8>),
    /// These bytes, again and again, with a pause.
    Drip(&'static [u8], Vec<u8>),
    /// These bytes as often as they are taken.
    Flood(&'static [u8], Vec<u8>),
    /// Nothing, for as long as the other side has patience.
    Nothing,
}

impl Peer {
    async fn start(script: Vec<Say>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests, connections) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
        let script = Arc::new(Mutex::new(script.into_iter()));
        let peer = Self { port, requests: Arc::clone(&requests), connections: connections.clone() };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(converse(stream, script.clone(), Arc::clone(&requests)));
            }
        });
        peer
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://127.0.0.1:{}{path}", self.port)).unwrap()
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: Arc<Mutex<std::vec::IntoIter<Say>>>,
    requests: Arc<Mutex<Vec<String>>>,
) {
    while let Some(request) = read_request(&mut stream).await {
        requests.lock().unwrap().push(request);
        let say = script.lock().unwrap().next();
        match say {
            Some(Say::Then(bytes)) => stream.write_all(&bytes).await.unwrap(),
            Some(Say::Last(bytes)) => {
                stream.write_all(&bytes).await.unwrap();
                return;
            }
            Some(Say::Drip(head, drop)) => {
                stream.write_all(head).await.unwrap();
                let clock = Clock::system();
                while stream.write_all(&drop).await.is_ok() {
                    clock.sleep(Duration::from_millis(20)).await;
                }
            }
            Some(Say::Flood(head, wave)) => {
                stream.write_all(head).await.unwrap();
                while stream.write_all(&wave).await.is_ok() {}
            }
            Some(Say::Nothing) => std::future::pending().await,
            None => return,
        }
    }
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |n| n.parse().unwrap());
            if body.len() >= length {
                return Some(text.into_owned());
            }
        }
        if stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
}

fn settings() -> OutboundSettings {
    OutboundSettings {
        policy: AddressPolicy { allow_loopback: true, allowed: Vec::new() },
        user_agent: "consentry/0".to_owned(),
        ..OutboundSettings::default()
    }
}

fn outbound() -> Outbound {
    Outbound::new(settings(), Clock::system()).unwrap()
}

fn hasty(limits: Limits) -> Outbound {
    Outbound::new(OutboundSettings { limits, ..settings() }, Clock::system()).unwrap()
}

fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn post(url: &Url, body: &str) -> Request<Vec<u8>> {
    Request::post(url.as_str()).body(body.as_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn a_request_goes_out_as_it_was_made() {
    let peer = Peer::start(vec![Say::Then(ok(r#"{"a":1}"#)), Say::Then(ok("{}"))]).await;
    let mut request = post(&peer.url("/token?x=1"), "grant_type=refresh_token");
    request.headers_mut().insert(header::HOST, HeaderValue::from_static("elsewhere.example"));
    let answer = outbound().send(request).await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (StatusCode::OK, &br#"{"a":1}"#[..]));
    assert_eq!(answer.json::<serde_json::Value>().unwrap()["a"], 1);
    outbound().get_json(&peer.url("/me"), Some(&Secret::new("t0ken"))).await.unwrap();
    let requests = peer.requests();
    assert!(requests[0].starts_with("POST /token?x=1 HTTP/1.1\r\n"), "{requests:?}");
    assert!(requests[0].contains(&format!("host: 127.0.0.1:{}\r\n", peer.port)), "{requests:?}");
    assert!(requests[0].contains("user-agent: consentry/0\r\n"), "{requests:?}");
    assert!(requests[0].ends_with("\r\n\r\ngrant_type=refresh_token"), "{requests:?}");
    assert!(requests[1].contains("authorization: Bearer t0ken\r\n"), "{requests:?}");
    for absent in ["accept-encoding", "cookie", "referer", "elsewhere"] {
        assert!(!requests.concat().contains(absent), "{absent}: {requests:?}");
    }
}

/// R89: a redirect is an answer like any other.
#[tokio::test]
async fn r89_redirects_are_returned_and_cookies_forgotten() {
    let peer = Peer::start(vec![
        Say::Then(
            b"HTTP/1.1 307 x\r\nlocation: /next\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n".to_vec(),
        ),
        Say::Then(ok("")),
    ])
    .await;
    let outbound = outbound();
    let answer = outbound.send(post(&peer.url("/a"), "x")).await.unwrap();
    assert_eq!(answer.status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(answer.headers[header::LOCATION], "/next");
    outbound.get_json(&peer.url("/b"), None).await.unwrap();
    assert_eq!(peer.requests().len(), 2);
    assert!(!peer.requests()[1].contains("a=b"));
}

/// R93: the limit is counted, not believed.
#[tokio::test]
async fn r93_an_answer_beyond_the_limit_is_cut_off() {
    let announced = b"HTTP/1.1 200 OK\r\ncontent-length: 262145\r\n\r\n".to_vec();
    let chunked: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = [&b"4000\r\n"[..], &[b'x'; 0x4000], b"\r\n"].concat();
    for say in [
        Say::Then(announced),
        Say::Flood(chunked, chunk),
        Say::Flood(b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 4096]),
        Say::Flood(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n".to_vec()),
        Say::Flood(b"HTTP/1.1 200 OK\r\nx: ", vec![b'y'; 4096]),
    ] {
        let peer = Peer::start(vec![say]).await;
        let error = outbound().send(post(&peer.url("/"), "x")).await.unwrap_err();
        assert_eq!(error, OutboundError::TooLarge);
        assert!(error.maybe_sent());
    }
    let whole = "x".repeat(262_144);
    let peer = Peer::start(vec![Say::Last(ok(&whole))]).await;
    assert_eq!(outbound().get_json(&peer.url("/"), None).await.unwrap().body.len(), 262_144);
}

/// R93: whoever is slow is left, however alive.
#[tokio::test]
async fn r93_slowness_ends_at_the_limits() {
    let limits = Limits {
        connect: Duration::from_millis(200),
        head: Duration::from_millis(200),
        total: Duration::from_millis(800),
        ..Limits::default()
    };
    for say in [
        Say::Nothing,
        Say::Drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()),
        Say::Drip(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", b"x".to_vec()),
    ] {
        let peer = Peer::start(vec![say]).await;
        let clock = Clock::system();
        let before = clock.now();
        let error = hasty(limits).send(post(&peer.url("/"), "x")).await.unwrap_err();
        assert_eq!(error, OutboundError::TimedOut { sent: true });
        assert!(before.until(clock.now()) < Duration::from_secs(5));
        assert_eq!(peer.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_connection_that_ends_after_the_request_is_ambiguous_and_not_tried_again() {
    for (bytes, expected) in [
        (&b""[..], OutboundError::Cut),
        (b"HTTP/1.1 200 OK\r\ncontent-le", OutboundError::Cut),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", OutboundError::Cut),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhal", OutboundError::Cut),
        (b"SSH-2.0-OpenSSH_9.2\r\n", OutboundError::Garbled),
        (b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", OutboundError::Garbled),
    ] {
        let peer = Peer::start(vec![Say::Last(bytes.to_vec()), Say::Then(ok("again"))]).await;
        let error = outbound().send(post(&peer.url("/"), "x")).await.unwrap_err();
        assert_eq!(error, expected, "{}", String::from_utf8_lossy(bytes));
        assert!(error.maybe_sent());
        assert_eq!(peer.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_request_lost_on_a_used_connection_is_not_tried_again() {
    let peer = Peer::start(vec![Say::Then(ok("one")), Say::Last(Vec::new()), Say::Then(ok("three"))]).await;
    let outbound = outbound();
    outbound.get_json(&peer.url("/1"), None).await.unwrap();
    assert_eq!(outbound.get_json(&peer.url("/2"), None).await.unwrap_err(), OutboundError::Cut);
    assert_eq!((peer.requests().len(), peer.connections.load(Ordering::SeqCst)), (2, 1));
}

#[tokio::test]
async fn what_was_not_sent_is_known_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let refused = Url::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
    let error = outbound().get_json(&refused, None).await.unwrap_err();
    assert_eq!(error, OutboundError::NotSent(NotSent::Connect));
    assert!(!error.maybe_sent());
    let error = outbound().get_json(&refused, Some(&Secret::new("a\r\nb"))).await.unwrap_err();
    assert_eq!(error, OutboundError::Unwritable);
    let nowhere = Outbound::with_lookup(settings(), Clock::system(), &Lookup::Fixed(Vec::new())).unwrap();
    let url = Url::parse("https://example.com/").unwrap();
    assert_eq!(nowhere.get_json(&url, None).await.unwrap_err(), OutboundError::NotSent(NotSent::Dns));
    let mute = Peer::start(vec![Say::Nothing]).await;
    let hasty = hasty(Limits { connect: Duration::from_millis(200), ..Limits::default() });
    let url = Url::parse(&format!("https://127.0.0.1:{}/", mute.port)).unwrap();
    let error = hasty.send(post(&url, "x")).await.unwrap_err();
    assert_eq!(error, OutboundError::TimedOut { sent: false }, "no TLS, no request");
}

/// R90: literals never reach the resolver, and are refused all the same.
#[tokio::test]
async fn r90_targets_that_are_not_allowed_hear_nothing() {
    let peer = Peer::start(vec![]).await;
    let strict = OutboundSettings { policy: AddressPolicy::default(), ..settings() };
    let strict = Outbound::new(strict, Clock::system()).unwrap();
    for host in ["127.0.0.1", "2130706433", "0x7f.1", "localhost", "a.localhost", "[::ffff:127.0.0.1]"] {
        for scheme in ["http", "https"] {
            let url = Url::parse(&format!("{scheme}://{host}:{}/", peer.port)).unwrap();
            let error = strict.send(post(&url, "x")).await.unwrap_err();
            assert!(matches!(error, OutboundError::Refused(_)), "{url} {error:?}");
        }
    }
    assert_eq!(peer.connections.load(Ordering::SeqCst), 0);
}

/// R89: a name that DNS leads here is refused, in development too; named by the operator, it is not.
#[tokio::test]
async fn r89_names_are_judged_by_their_addresses() {
    let peer = Peer::start(vec![Say::Then(ok("yes"))]).await;
    let here = |allowed: &[&str], answers: &[&str]| {
        let allowed = allowed.iter().map(|text| text.parse().unwrap()).collect();
        let settings =
            OutboundSettings { policy: AddressPolicy { allow_loopback: true, allowed }, ..settings() };
        let answers = answers.iter().map(|text| text.parse().unwrap()).collect();
        Outbound::with_lookup(settings, Clock::system(), &Lookup::Fixed(answers)).unwrap()
    };
    let url = Url::parse(&format!("https://rebound.example:{}/", peer.port)).unwrap();
    for answers in
        [&["127.0.0.1"][..], &["93.184.215.14", "127.0.0.1"], &["::ffff:127.0.0.1"], &["169.254.169.254"]]
    {
        let error = here(&[], answers).get_json(&url, None).await.unwrap_err();
        assert_eq!(error, OutboundError::Refused(RefusedTarget::Address), "{answers:?}");
        // And is said before anything is to be sent.
        assert_eq!(here(&[], answers).admits(&url).await, Err(RefusedTarget::Address), "{answers:?}");
    }
    assert_eq!(here(&[], &["93.184.215.14"]).admits(&url).await, Ok(()));
    assert_eq!(here(&[], &[]).admits(&url).await, Ok(()), "a name that nobody knows is told by the request");
    let proxied = OutboundSettings { proxy: Some("http://127.0.0.1:9".parse().unwrap()), ..settings() };
    let lookup = Lookup::Fixed(vec!["10.0.0.1".parse().unwrap()]);
    let proxied = Outbound::with_lookup(proxied, Clock::system(), &lookup).unwrap();
    assert_eq!(proxied.admits(&url).await, Ok(()), "names are the proxy's");
    assert_eq!(peer.connections.load(Ordering::SeqCst), 0);
    let own = here(&[&format!("own.example:{}", peer.port)], &["127.0.0.1"]);
    let url = Url::parse(&format!("http://own.example:{}/", peer.port)).unwrap();
    assert_eq!(own.get_json(&url, None).await.unwrap().body, b"yes");
}

/// R97: no certificate is trusted unless it is signed by an authority that is.
#[tokio::test]
async fn r97_an_unknown_certificate_is_refused_and_a_configured_one_accepted() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://localhost:{}/", listener.local_addr().unwrap().port())).unwrap();
    let elsewhere = Url::parse(&format!("https://127.0.0.1:{}/", url.port().unwrap())).unwrap();
    let acceptor = tls(&made);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                let script = Arc::new(Mutex::new(vec![Say::Last(ok("safe"))].into_iter()));
                converse(stream, script, Arc::default()).await;
            }
        }
    });
    let error = outbound().get_json(&url, None).await.unwrap_err();
    assert_eq!(error, OutboundError::NotSent(NotSent::Tls));
    let private = OutboundSettings { extra_ca_pem: vec![made.cert.pem().into_bytes()], ..settings() };
    let private = Outbound::new(private, Clock::system()).unwrap();
    assert_eq!(private.get_json(&url, None).await.unwrap().body, b"safe");
    let error = private.get_json(&elsewhere, None).await.unwrap_err();
    assert_eq!(error, OutboundError::NotSent(NotSent::Tls), "the name is not in the certificate");
}

fn tls(made: &rcgen::CertifiedKey<rcgen::KeyPair>) -> tokio_rustls::TlsAcceptor {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    tokio_rustls::TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_public_internet_alone() {
    let proxy = Peer::start(vec![Say::Last(b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec())]).await;
    let peer = Peer::start(vec![Say::Then(ok("direct"))]).await;
    let settings = OutboundSettings { proxy: Some(proxy.url("/")), ..settings() };
    let outbound = Outbound::new(settings, Clock::system()).unwrap();
    let public = Url::parse("https://example.com/secret").unwrap();
    let error = outbound.get_json(&public, None).await.unwrap_err();
    assert_eq!(error, OutboundError::NotSent(NotSent::Connect));
    assert!(proxy.requests()[0].starts_with("CONNECT example.com:443 HTTP/1.1\r\n"));
    assert_eq!(outbound.get_json(&peer.url("/"), None).await.unwrap().body, b"direct");
    let private = Url::parse("https://169.254.169.254/").unwrap();
    assert!(matches!(outbound.get_json(&private, None).await.unwrap_err(), OutboundError::Refused(_)));
    assert_eq!(proxy.requests().len(), 1);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let refused = |settings| Outbound::new(settings, Clock::system()).unwrap_err();
    assert_eq!(
        refused(OutboundSettings { extra_ca_pem: vec![b"no pem".to_vec()], ..settings() }),
        SetupError::Ca
    );
    assert_eq!(
        refused(OutboundSettings { user_agent: "a\nb".to_owned(), ..settings() }),
        SetupError::UserAgent
    );
    let proxy = Url::parse("socks5://127.0.0.1:1080").unwrap();
    assert_eq!(refused(OutboundSettings { proxy: Some(proxy), ..settings() }), SetupError::Proxy);
}

#[tokio::test]
async fn errors_do_not_tell_what_was_asked() {
    let peer = Peer::start(vec![Say::Last(b"HTTP/1.1 canary-head\r\n\r\n".to_vec())]).await;
    let error = outbound().send(post(&peer.url("/p?code=canary-query"), "canary-body")).await.unwrap_err();
    let shown = format!("{error} {error:?} {}", error.code());
    assert!(!shown.contains("canary"), "{shown}");
}
