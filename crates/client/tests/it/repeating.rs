//! When a call is sent again, and when it must not be.

use std::time::Duration;

use consentry_client::{Client, Error, Resolve, User};
use serde_json::json;

use crate::client;
use crate::played::{Server, json as answer, problem};

fn wanted() -> Resolve {
    Resolve::new("github", User::subject("alice"))
}

#[tokio::test]
async fn a_read_is_repeated_and_then_given_up() {
    let fine = answer(200, &json!({ "providers": [] }));
    let (server, base) =
        Server::playing([answer(502, &json!({})), problem(503, "unavailable", None), fine]).await;
    client(&base).providers().await.unwrap();
    assert_eq!(server.asked().len(), 3);

    let (server, base) = Server::playing((0..9).map(|_| problem(503, "unavailable", Some("0")))).await;
    assert_eq!(client(&base).providers().await.unwrap_err().code(), Some("unavailable"));
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn a_refused_read_is_not_repeated() {
    for status in [400, 401, 403, 404, 500] {
        let (server, base) = Server::playing([problem(status, "no", Some("0"))]).await;
        assert_eq!(client(&base).providers().await.unwrap_err().code(), Some("no"));
        assert_eq!(server.asked().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_change_is_repeated_only_when_the_server_asks_for_it() {
    let ready = || answer(200, &json!({}));
    for (failure, sent) in [
        (problem(503, "provider_unavailable", Some("0")), 2),
        (problem(503, "provider_unavailable", None), 1),
        (problem(429, "too_many", Some("0")), 1),
        (answer(502, &json!({})), 1),
    ] {
        let (server, base) = Server::playing([failure, ready()]).await;
        assert_eq!(client(&base).report("c-1", 1).await.is_ok(), sent == 2);
        assert_eq!(server.asked().len(), sent);
    }
}

#[tokio::test]
async fn an_idempotency_key_makes_a_creation_repeatable() {
    for (key, sent) in [(Some("k"), 2), (None, 1)] {
        let (server, base) = Server::playing([answer(504, &json!({})), problem(400, "no", None)]).await;
        assert!(client(&base).create_elicitation(&wanted(), key).await.is_err());
        let keys: Vec<bool> =
            server.asked().iter().map(|asked| asked.headers.get("idempotency-key").is_some()).collect();
        assert_eq!(keys, vec![key.is_some(); sent]);
    }
}

#[tokio::test]
async fn a_long_wait_is_left_to_the_caller() {
    let (server, base) = Server::playing([problem(503, "provider_unavailable", Some("30"))]).await;
    let client = Client::builder(&base, "k").longest_wait(Duration::from_secs(5)).build().unwrap();
    let error = client.resolve(&wanted()).await.unwrap_err();
    assert_eq!(error.problem().unwrap().retry_after, Some(Duration::from_secs(30)));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_silent_server_is_not_waited_for_longer_than_told() {
    // Accepts and never answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let client = Client::builder(base, "k").timeout(Duration::from_millis(50)).attempts(1).build().unwrap();
    let error = client.providers().await.unwrap_err();
    assert!(matches!(&error, Error::Transport(error) if error.is_timeout()), "{error:?}");
}

/// What was never sent is sent again, also a change: the server was not there yet.
#[tokio::test]
async fn a_connection_that_was_never_made_is_tried_again() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let base = format!("http://{}", socket.local_addr().unwrap());
    let client = Client::builder(base, "k").backoff(Duration::from_millis(300)).build().unwrap();
    let (body, wanted) = (json!({ "code": "later", "status": 403 }), wanted());
    let server = async {
        // Refused until here: nobody listens on a socket that is only bound.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let router = axum::Router::new().fallback(move || std::future::ready(answer(403, &body)));
        axum::serve(socket.listen(8).unwrap(), router).await.unwrap();
    };
    let refused = tokio::select! {
        refused = client.resolve(&wanted) => refused.unwrap_err(),
        () = server => unreachable!(),
    };
    assert_eq!(refused.code(), Some("later"));
}

/// A wait is the server's to take; the limit comes on top of it.
#[tokio::test]
async fn a_wait_that_was_asked_for_is_not_cut_short() {
    let shown = json!({ "id": "e-1", "url": "http://localhost/", "state": "completed", "expires_at": "2026-11-29T12:00:00Z" });
    let slow = axum::Router::new().fallback(move || {
        let answer = answer(200, &shown);
        async {
            let _ = tokio::time::timeout(Duration::from_millis(300), std::future::pending::<()>()).await;
            answer
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, slow).await.unwrap() });
    let client = Client::builder(base, "k").timeout(Duration::from_millis(100)).attempts(1).build().unwrap();
    assert!(client.elicitation("e-1", 0).await.is_err());
    assert!(client.elicitation("e-1", 2).await.unwrap().state.is_final());
}
