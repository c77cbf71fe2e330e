//! The listener over real sockets: what is slow is cut, what is too big refused, and a stop lets work finish.

use std::{fs, path::Path};

use axum::routing::{get, post};
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Notify,
};
use tokio_rustls::TlsConnector;

use super::*;
use crate::{config::TlsFiles, web::client_ip::ClientIp};

const QUICK: Duration = Duration::from_millis(200);

fn limits() -> Limits {
    Limits {
        head: QUICK,
        body: QUICK,
        idle: Duration::from_secs(20),
        write: QUICK,
        head_bytes: 8_192,
        headers: 32,
        connections: 64,
    }
}

struct Running {
    address: SocketAddr,
    stop: Stop,
    task: tokio::task::JoinHandle<()>,
}

fn start(router: Router, limits: Limits, tls: Option<Tls>) -> Running {
    let trusted = ["127.0.0.0/8".parse().unwrap()];
    let listener = Listener::bind(([127, 0, 0, 1], 0).into(), tls, limits, trusted.into()).unwrap();
    let (address, stop) = (listener.address(), Stop::default());
    let task = tokio::spawn(listener.serve(router, stop.clone()));
    Running { address, stop, task }
}

fn plain() -> Router {
    Router::new()
        .route("/", get(|| async { "here" }))
        .route("/ip", get(|ip: axum::Extension<ClientIp>| async move { ip.0.0.to_string() }))
        .route("/echo", post(|body: String| async move { body }))
}

/// Sends `bytes` and reads until the other side closes.
async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn get_of(path: &str, more: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{more}\r\n").into_bytes()
}

#[tokio::test]
async fn a_request_is_answered_and_its_client_told() {
    let running = start(plain(), limits(), None);
    assert!(exchange(running.address, &get_of("/", "")).await.ends_with("here"));
    let forwarded = get_of("/ip", "x-forwarded-for: 192.0.2.9\r\n");
    assert!(exchange(running.address, &forwarded).await.ends_with("192.0.2.9"));
}

/// R118: whoever does not send a head, a body or a handshake in time is cut off, and others are served meanwhile.
#[tokio::test]
async fn r118_slow_clients_are_cut() {
    let running = start(plain(), limits(), None);
    for start in ["", "P", "PRI * HTTP/2.0", "GET / HTTP/1.1\r\nhost: x\r\n", "GET"] {
        assert_eq!(exchange(running.address, start.as_bytes()).await, "", "{start:?}");
    }
    let mut second = TcpStream::connect(running.address).await.unwrap();
    second.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = [0; 1_024];
    assert!(second.read(&mut answer).await.unwrap() > 0);
    second.write_all(b"GET / HTT").await.unwrap();
    assert_eq!(second.read(&mut answer).await.unwrap(), 0);
    let body = "POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9\r\n\r\nab";
    let answer = exchange(running.address, body.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 400") || answer.is_empty(), "{answer}");
    assert!(exchange(running.address, &get_of("/", "")).await.ends_with("here"));
}

/// An idle connection is not a slow one: a proxy's pool would run into it.
#[tokio::test]
async fn an_idle_connection_stays() {
    let running = start(plain(), limits(), None);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    for _ in 0..2 {
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut answer = [0; 1_024];
        let read = stream.read(&mut answer).await.unwrap();
        assert!(answer[..read].ends_with(b"here"));
        let silent = tokio::time::timeout(3 * QUICK, stream.read(&mut answer)).await;
        assert!(silent.is_err(), "the connection was closed");
    }
}

/// R118: heads have a size and a number of headers; bad ones are refused by the parser.
#[tokio::test]
async fn r118_big_and_broken_heads_are_refused() {
    let running = start(plain(), limits(), None);
    let big = get_of("/", &format!("x: {}\r\n", "a".repeat(9_000)));
    assert!(exchange(running.address, &big).await.starts_with("HTTP/1.1 431"));
    let many = get_of("/", &"x: y\r\n".repeat(64));
    assert!(exchange(running.address, &many).await.starts_with("HTTP/1.1 431"));
    for broken in [
        "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "GET / HTTP/1.1\r\nhost : x\r\n\r\n",
        "GET /\0 HTTP/1.1\r\nhost: x\r\n\r\n",
    ] {
        assert!(exchange(running.address, broken.as_bytes()).await.starts_with("HTTP/1.1 400"), "{broken:?}");
    }
}

#[tokio::test]
async fn no_more_connections_than_allowed_are_served_at_once() {
    let running = start(plain(), Limits { connections: 1, head: Duration::from_secs(20), ..limits() }, None);
    let first = TcpStream::connect(running.address).await.unwrap();
    let second = get_of("/", "");
    let mut second = Box::pin(exchange(running.address, &second));
    assert!(tokio::time::timeout(QUICK, &mut second).await.is_err());
    drop(first);
    assert!(second.await.ends_with("here"));
}

/// R116, R118: a stop closes the door at once, lets an exchange finish, and in the end waits for nobody.
#[tokio::test]
async fn a_stop_lets_what_is_under_way_finish() {
    let (entered, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let router = plain().route(
        "/slow",
        get({
            let (entered, go) = (entered.clone(), go.clone());
            move || async move {
                entered.notify_one();
                go.notified().await;
                "done"
            }
        }),
    );
    let running = start(router, limits(), None);
    let mut idle = TcpStream::connect(running.address).await.unwrap();
    idle.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = [0; 1_024];
    assert!(idle.read(&mut answer).await.unwrap() > 0);
    let slow = tokio::spawn({
        let address = running.address;
        async move { exchange(address, &get_of("/slow", "")).await }
    });
    entered.notified().await;
    running.stop.gently.cancel();
    assert_eq!(idle.read(&mut answer).await.unwrap(), 0, "an idle connection ends at once");
    while TcpStream::connect(running.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!running.task.is_finished());
    go.notify_one();
    assert!(slow.await.unwrap().ends_with("done"));
    running.task.await.unwrap();
}

#[tokio::test]
async fn a_hard_stop_waits_for_nobody() {
    let running = start(plain().route("/never", get(std::future::pending::<()>)), limits(), None);
    let never = tokio::spawn({
        let address = running.address;
        async move { exchange(address, &get_of("/never", "")).await }
    });
    assert!(exchange(running.address, &get_of("/", "")).await.ends_with("here"));
    running.stop.gently.cancel();
    running.stop.hard.cancel();
    running.task.await.unwrap();
    assert_eq!(never.await.unwrap(), "");
}

fn certificate(dir: &Path) -> (TlsFiles, rcgen::Certificate) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles { certificate: dir.join("crt.pem"), key: dir.join("key.pem") };
    fs::write(&files.certificate, made.cert.pem()).unwrap();
    fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    (files, made.cert)
}

async fn over_tls(
    address: SocketAddr,
    trusted: &rcgen::Certificate,
    alpn: &[u8],
) -> io::Result<Option<Vec<u8>>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let alpn = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
    if alpn.as_deref() == Some(b"http/1.1") {
        stream.write_all(&get_of("/", "")).await?;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(answer.ends_with(b"here"));
    }
    Ok(alpn)
}

#[tokio::test]
async fn a_certificate_is_replaced_while_serving_and_a_bad_one_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    let (files, first) = certificate(dir.path());
    let tls = Tls::load(&files).unwrap();
    let running = start(plain(), limits(), Some(tls.clone()));
    assert_eq!(
        over_tls(running.address, &first, b"http/1.1").await.unwrap().as_deref(),
        Some(&b"http/1.1"[..])
    );
    assert_eq!(over_tls(running.address, &first, b"h2").await.unwrap().as_deref(), Some(&b"h2"[..]));

    fs::write(&files.certificate, "nothing").unwrap();
    assert_eq!(tls.reload(), Err(TlsError::Certificate(files.certificate.display().to_string())));
    over_tls(running.address, &first, b"http/1.1").await.unwrap();

    let (_, second) = certificate(dir.path());
    tls.reload().unwrap();
    over_tls(running.address, &second, b"http/1.1").await.unwrap();
    assert!(over_tls(running.address, &first, b"http/1.1").await.is_err());

    // R118: silence instead of a handshake is cut, too.
    assert_eq!(exchange(running.address, b"").await, "");
}

/// A client that sends its whole body before it reads gets the answer, even if nobody wanted the body.
#[tokio::test]
async fn an_answer_is_not_lost_behind_an_unread_body() {
    let running = start(plain(), Limits { body: Duration::from_secs(20), ..limits() }, None);
    for path in ["/", "/unknown", "/echo"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 4194304\r\n\r\n"
        );
        let request = [head.into_bytes(), vec![b'a'; 4 << 20]].concat();
        let answer = exchange(running.address, &request).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{path}: {}", answer.lines().next().unwrap_or("nothing"));
    }
}

/// RFC 9110, section 10.1.1: who holds the body back until it is wanted is answered at once, and not told to go on.
#[tokio::test]
async fn a_body_that_is_held_back_is_not_called_for() {
    let running = start(plain(), Limits { body: Duration::from_secs(60), ..limits() }, None);
    let held_back = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n";
    let answer = exchange(running.address, held_back.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
}

/// R118: the rest of a body has no more time than the body.
#[tokio::test]
async fn r118_the_rest_of_a_body_is_not_waited_for_beyond_its_time() {
    let running = start(plain(), limits(), None);
    let slow = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9\r\n\r\nab";
    assert!(exchange(running.address, slow.as_bytes()).await.starts_with("HTTP/1.1 405"));
}
