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

/// A stream that has told nothing yet is taken up where it began, not where it is by then.
#[tokio::test]
async fn a_stream_that_breaks_off_before_its_first_signal_loses_none() {
    let begun = ": connected\nid: 41\n\n";
    let answers = [stream(&[begun], false), stream(&[begun, &signal(42)], true)];
    let (server, base) = Server::playing(answers).await;
    let mut events = client(&base).events(None);
    events.open().await.unwrap();
    assert_eq!(server.asked().len(), 1);
    assert_eq!(sequences(&mut events, 1).await, [42]);
    let asked = server.asked();
    assert!(asked[0].headers.get("last-event-id").is_none());
    assert_eq!(asked[1].headers["last-event-id"], "41");
}

/// What comes with the beginning is not lost by opening, and a server that does not say where it stands serves as well.
#[tokio::test]
async fn opening_waits_for_the_beginning_and_takes_nothing_away() {
    let both = format!(": connected\n\n{}", signal(1));
    let (_, base) =
        Server::playing([problem(503, "unavailable", None), stream(&[&both, &signal(2)], true)]).await;
    let mut events = client(&base).events(None);
    events.open().await.unwrap();
    events.open().await.unwrap();
    assert_eq!(sequences(&mut events, 2).await, [1, 2]);

    let (_, base) = Server::playing([problem(401, "unauthorized", None)]).await;
    assert_eq!(client(&base).events(None).open().await.unwrap_err().code(), Some("unauthorized"));
}

/// A connection on which nothing comes, not even a heartbeat, is given up, and taken up anew behind the last signal.
#[tokio::test]
async fn a_silent_stream_is_taken_for_dead() {
    let (server, base) = Server::playing([stream(&[&signal(1)], true), stream(&[&signal(2)], true)]).await;
    let mut events = client(&base).events(None);
    assert_eq!(sequences(&mut events, 1).await, [1]);
    let mut next = std::pin::pin!(events.next());
    tokio::select! {
        biased;
        _ = &mut next => panic!("there is nothing yet"),
        () = tokio::task::yield_now() => {}
    }
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(51)).await;
    tokio::time::resume();
    assert_eq!(next.await.unwrap().data.sequence, 2);
    assert_eq!(server.asked()[1].headers["last-event-id"], "1");
}
