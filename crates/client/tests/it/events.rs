//! The stream of signals, and how it is taken up again.

use consentry_client::{Error, EventKind, Events};
use serde_json::json;

use crate::client;
use crate::played::{Server, json as answer, problem, stream};

fn signal(sequence: u64) -> String {
    let data = json!({ "type": "elicitation.completed", "timestamp": "2026-11-29T12:00:00Z", "data": {
        "sequence": sequence, "elicitation_id": "e-1", "client_ref": "session-7f3a", "provider": "github",
        "subject": { "issuer": "https://id.example.com", "sub": "alice" }, "connection_id": "c-1", "reason": null,
        "mcp": { "method": "notifications/elicitation/complete", "params": { "elicitationId": "e-1" } } } });
    format!("id: {sequence}\nevent: elicitation.completed\ndata: {data}\n\n")
}

async fn sequences(events: &mut Events, count: usize) -> Vec<u64> {
    let mut seen = Vec::new();
    for _ in 0..count {
        seen.push(events.next().await.unwrap().data.sequence);
    }
    seen
}

#[tokio::test]
async fn a_broken_stream_goes_on_behind_the_last_signal() {
    let [one, two, three] = [signal(1), signal(2), signal(3)];
    let (half, rest) = two.split_at(20);
    let answers = [
        stream(&["retry: 0\n\n", ": heartbeat\n\n", &one, half], false),
        problem(503, "unavailable", None),
        stream(&[half, rest, &three], true),
    ];
    let (server, base) = Server::playing(answers).await;
    let mut events = client(&base).events(Some("0".into()));
    assert_eq!(sequences(&mut events, 3).await, [1, 2, 3]);
    assert_eq!(events.last_event_id(), Some("3"));

    let asked = server.asked();
    let ids: Vec<&str> = asked.iter().map(|asked| asked.headers["last-event-id"].to_str().unwrap()).collect();
    assert_eq!(ids, ["0", "1", "1"]);
    assert!(
        asked.iter().all(|asked| asked.uri == "/v1/events" && asked.headers["accept"] == "text/event-stream")
    );
}

#[tokio::test]
async fn a_signal_carries_the_notification_for_its_client() {
    let (_, base) = Server::playing([stream(&[&signal(7)], true)]).await;
    let event = client(&base).events(None).next().await.unwrap();
    assert_eq!(event.kind, EventKind::ElicitationCompleted);
    assert_eq!(event.data.client_ref.as_deref(), Some("session-7f3a"));
    let notification = event.data.mcp.unwrap();
    assert_eq!(notification.method, "notifications/elicitation/complete");
    assert_eq!(notification.params, json!({ "elicitationId": "e-1" }));
}

#[tokio::test]
async fn a_signal_that_cannot_be_read_is_passed_over() {
    let later = signal(3).replace("elicitation.completed", "elicitation.later");
    let (_, base) = Server::playing([stream(&["id: 2\ndata: {\n\n", &later], true)]).await;
    let mut events = client(&base).events(None);
    assert!(matches!(events.next().await, Err(Error::Unreadable(_))));
    assert_eq!(events.next().await.unwrap().kind, EventKind::Other);
    assert_eq!(events.last_event_id(), Some("3"));
}

#[tokio::test]
async fn a_dropped_call_loses_nothing() {
    let one = signal(1);
    let (half, rest) = one.split_at(30);
    let (_, base) = Server::playing([stream(&[half, rest, &signal(2)], true)]).await;
    let mut events = client(&base).events(None);
    // Polled a few times and dropped, over and over, until the first signal is there.
    let first = loop {
        tokio::select! {
            biased;
            event = events.next() => break event.unwrap(),
            () = async { for _ in 0..50 { tokio::task::yield_now().await; } } => {}
        }
    };
    assert_eq!(first.data.sequence, 1);
    assert_eq!(sequences(&mut events, 1).await, [2]);
}

#[tokio::test]
async fn a_refusal_is_told_and_not_repeated() {
    let answers = [problem(401, "unauthorized", None), answer(200, &json!({ "events": [] }))];
    let (server, base) = Server::playing(answers).await;
    let mut events = client(&base).events(None);
    assert_eq!(events.next().await.unwrap_err().code(), Some("unauthorized"));
    assert!(matches!(events.next().await, Err(Error::Unreadable(_))));
    assert_eq!(server.asked().len(), 2);
}
