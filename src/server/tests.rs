//! Start, readiness and stop, over real sockets.

use std::{fs, path::Path};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::*;
use crate::{
    clock::Clock,
    config::{self, Environment, Settings},
    random::Random,
};

fn settings(dir: &Path, more: &str) -> Settings {
    let path = |name: &str| dir.join(name).display().to_string();
    let key = path("key");
    if !Path::new(&key).exists() {
        let (_, text) = crate::vault::Key::generate(crate::vault::KeyId::new("k").unwrap(), &Random);
        fs::write(&key, text.expose()).unwrap();
    }
    let text = format!(
        "[listen]\npublic = \"127.0.0.1:0\"\ninternal = \"127.0.0.1:0\"\n\
         [database]\nurl = \"sqlite:{}\"\n{more}\n[encryption]\nkeys = [{{ id = \"k\", file = \"{key}\" }}]\n",
        path("consentry.db")
    );
    fs::write(path("consentry.toml"), text).unwrap();
    config::load(Some(path("consentry.toml").as_ref()), &Environment::default()).unwrap()
}

async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost:8080\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_server_starts_serves_counts_and_stops() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::build(settings(dir.path(), ""), Clock::system()).await.unwrap();
    let (public, internal) = (server.public_addr(), server.internal_addr());
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(server.run(shutdown.clone()));
    assert!(get(public, "/livez").await.starts_with("HTTP/1.1 200"));
    assert!(get(internal, "/livez").await.starts_with("HTTP/1.1 200"));
    let ready = get(internal, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 200") && ready.contains("\"ready\":true"), "{ready}");
    let elsewhere = get(public, "/nowhere?code=canary").await;
    assert!(elsewhere.starts_with("HTTP/1.1 404") && elsewhere.contains("x-request-id"), "{elsewhere}");
    // R118: an address has a length, and its refusal the headers of every page.
    let long = get(public, &format!("/connect?{}", "a".repeat(9_000))).await;
    assert!(long.starts_with("HTTP/1.1 414") && long.contains("content-security-policy"), "{long}");
    let metrics = get(internal, "/metrics").await;
    for line in [
        "consentry_http_requests_total{listener=\"public\",route=\"other\",status=\"404\"} 1",
        "consentry_http_requests_total{listener=\"public\",route=\"/livez\",status=\"200\"} 1",
        "consentry_security_events_total{code=\"wrong_account\"} 0",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    assert!(!metrics.contains("canary"));
    shutdown.cancel();
    assert_eq!(running.await.unwrap(), Ended::Drained);
}

/// While work is under way after the signal, `/readyz` says no; when it is over, the process ends.
#[tokio::test]
async fn a_drain_waits_for_an_exchange_and_tells_that_it_is_not_ready() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::build(settings(dir.path(), ""), Clock::system()).await.unwrap();
    let (app, internal) = (server.app().clone(), server.internal_addr());
    let exchange = CancellationToken::new();
    app.tasks.spawn(exchange.clone().cancelled_owned());
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(server.run(shutdown.clone()));
    assert!(get(internal, "/readyz").await.starts_with("HTTP/1.1 200"));
    shutdown.cancel();
    app.shutdown.cancelled().await;
    let ready = get(internal, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("\"accepting\":false"), "{ready}");
    assert!(!running.is_finished());
    exchange.cancel();
    assert_eq!(running.await.unwrap(), Ended::Drained);
}

#[tokio::test]
async fn a_drain_ends_when_its_time_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual();
    let server = Server::build(settings(dir.path(), ""), clock.clone()).await.unwrap();
    let app = server.app().clone();
    app.tasks.spawn(std::future::pending::<()>());
    let shutdown = CancellationToken::new();
    shutdown.cancel();
    let running = tokio::spawn(server.run(shutdown));
    app.shutdown.cancelled().await;
    while !running.is_finished() {
        clock.advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
    }
    assert_eq!(running.await.unwrap(), Ended::CutOff);
}

#[tokio::test]
async fn what_stands_in_the_way_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let behind = Server::build(settings(dir.path(), "migrate = false"), Clock::system()).await;
    assert!(matches!(behind, Err(BuildError::Schema)));

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut settings = settings(dir.path(), "");
    settings.listen.public = taken.local_addr().unwrap();
    let error = Server::build(settings, Clock::system()).await.err().unwrap().to_string();
    assert!(error.starts_with("cannot listen on 127.0.0.1:"), "{error}");
}
