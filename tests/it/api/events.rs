//! Signals, as a page and as a stream.

use std::time::Duration;

use consentry::signals::HEARTBEAT;
use serde_json::json;

use super::{
    bench::{Bench, With},
    calls::Caller,
};
use crate::engine::Database;

on_both_engines!(
    an_event_has_these_fields_and_no_others,
    r116_a_stream_is_taken_up_where_it_ended,
    a_stream_begins_now_and_is_woken,
    r116_a_silent_stream_lives,
    r116_a_drain_ends_the_stream_and_says_when_to_come_back,
    r116_streams_are_bounded,
    pages_go_on_behind_each_other,
);

/// An elicitation that is made and withdrawn: one signal.
async fn one_signal(caller: Caller<'_>, sub: &str) -> String {
    let id = caller.asked(&json!({ "provider": "acme", "subject": { "sub": sub } })).await;
    caller.post(&format!("/v1/elicitations/{id}/cancel"), &json!({})).await.ok(200);
    id.to_string()
}

async fn an_event_has_these_fields_and_no_others(db: Database) {
    let bench = Bench::new(db).await;
    let at = bench.clock.now().rfc3339();
    for (version, reference, legacy) in [("2025-11-25", "session-1", true), ("2026-07-28", "", false)] {
        let sub = format!("user-of-{version}");
        let body = json!({ "provider": "acme", "subject": { "sub": sub },
            "client": { "protocol_version": version, "elicitation": { "url": {} }, "ref": reference } });
        let id = bench.files().asked(&body).await;
        let before = bench.files().get("/v1/events?limit=200").await.ok(200)["next"].as_i64().unwrap();
        let connection = bench.complete(id).await.id.to_string();
        let page = bench.files().get(&format!("/v1/events?after={before}")).await.ok(200);
        let subject = json!({ "issuer": "https://id.example.com", "sub": sub });
        let mut completed = json!({
            "type": "elicitation.completed",
            "timestamp": at,
            "data": {
                "sequence": before + 2,
                "elicitation_id": id.to_string(),
                "client_ref": if legacy { json!("session-1") } else { json!(null) },
                "provider": "acme",
                "subject": subject,
                "connection_id": connection,
                "reason": "connected"
            }
        });
        if legacy {
            completed["data"]["mcp"] = json!({
                "method": "notifications/elicitation/complete",
                "params": { "elicitationId": id.to_string() }
            });
        }
        let created = json!({
            "type": "connection.created",
            "timestamp": at,
            "data": {
                "sequence": before + 1,
                "elicitation_id": null,
                "client_ref": null,
                "provider": "acme",
                "subject": subject,
                "connection_id": connection,
                "reason": null
            }
        });
        assert_eq!(page, json!({ "events": [created, completed], "next": before + 2 }));
        assert!(!page.to_string().contains("octocat"), "no labels");
    }
}

async fn r116_a_stream_is_taken_up_where_it_ended(db: Database) {
    let bench = Bench::new(db).await;
    let mut made = Vec::new();
    // More than one page of the feed.
    for user in 0..110 {
        made.push(one_signal(bench.files(), &format!("user-{user}")).await);
    }
    let mut stream = bench.files().stream(Some("0")).await;
    let mut last = String::new();
    for id in &made[..60] {
        let (sequence, kind, data) = stream.event().await;
        assert_eq!((kind.as_str(), &data["data"]["elicitation_id"]), ("elicitation.cancelled", &json!(id)));
        assert_eq!(data["data"]["sequence"].to_string(), sequence);
        last = sequence;
    }
    drop(stream);
    let mut stream = bench.files().stream(Some(&last)).await;
    for id in &made[60..] {
        assert_eq!(stream.event().await.2["data"]["elicitation_id"], json!(id));
    }
    // A number that was never given is taken for the latest one.
    let mut stream = bench.files().stream(Some("9223372036854775807")).await;
    let id = one_signal(bench.files(), "late").await;
    assert_eq!(stream.event().await.2["data"]["elicitation_id"], json!(id));
}

/// The clock stands still: only the wake-up can bring the event.
async fn a_stream_begins_now_and_is_woken(db: Database) {
    let bench = Bench::new(db).await;
    one_signal(bench.files(), "before").await;
    let mut stream = bench.files().stream(None).await;
    // Who is cut off before the first event knows where to go on.
    assert_eq!(stream.frame().await.unwrap(), ": connected\nid: 1\n\n");
    let files = bench.files();
    let (event, id) = tokio::join!(stream.event(), one_signal(files, "after"));
    assert_eq!(event.2["data"]["elicitation_id"], json!(id));
}

async fn r116_a_silent_stream_lives(db: Database) {
    let bench = Bench::new(db).await;
    let mut stream = bench.files().stream(None).await;
    stream.frame().await.unwrap();
    for _ in 0..3 {
        let seconds = HEARTBEAT.as_secs();
        let (frame, ()) = tokio::join!(stream.frame(), async {
            for _ in 0..seconds {
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                bench.clock.advance(Duration::from_secs(1));
            }
        });
        assert!(frame.unwrap().starts_with(": "));
    }
}

async fn r116_a_drain_ends_the_stream_and_says_when_to_come_back(db: Database) {
    let bench = Bench::new(db).await;
    let mut stream = bench.files().stream(None).await;
    stream.frame().await.unwrap();
    let (frame, ()) = tokio::join!(stream.frame(), async {
        tokio::task::yield_now().await;
        bench.app.shutdown.cancel();
    });
    let frame = frame.unwrap();
    let wait: u64 = frame.strip_prefix("retry: ").unwrap().trim().parse().unwrap();
    assert!((1_000..2_000).contains(&wait));
    assert_eq!(stream.frame().await, None);
}

async fn r116_streams_are_bounded(db: Database) {
    let bench = Bench::with(db, With { limits: "streams_per_server = 2", ..With::default() }).await;
    let accept = [("accept", "text/event-stream")];
    let first = bench.files().stream(None).await;
    let _second = bench.files().stream(None).await;
    let answer = bench.files().get_with("/v1/events", &accept).await;
    answer.refused(429, "too_many_streams");
    assert_eq!(answer.headers["retry-after"], "5");
    let _other = bench.notes().stream(None).await;
    drop(first);
    bench.files().stream(None).await;
}

async fn pages_go_on_behind_each_other(db: Database) {
    let bench = Bench::new(db).await;
    let mut made = Vec::new();
    for user in 0..5 {
        made.push(one_signal(bench.files(), &format!("user-{user}")).await);
    }
    let mut seen = Vec::new();
    let mut after = 0;
    loop {
        let page = bench.files().get(&format!("/v1/events?after={after}&limit=2")).await.ok(200);
        let events = page["events"].as_array().unwrap();
        if events.is_empty() {
            assert_eq!(page["next"], after);
            break;
        }
        seen.extend(events.iter().map(|event| event["data"]["elicitation_id"].as_str().unwrap().to_owned()));
        after = page["next"].as_i64().unwrap();
    }
    assert_eq!(seen, made);
}
