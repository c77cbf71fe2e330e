//! What is malformed, unknown, given twice or unproven is refused, and says so in one form.

use axum::body::Body;
use serde_json::{Value, json};

use super::bench::Bench;
use crate::engine::Database;

on_both_engines!(
    r110_a_call_without_a_known_key_is_refused,
    r118_unknown_routes_and_methods_are_problems,
    r118_bodies_are_read_strictly,
    fields_are_bounded,
    r52_queries_are_read_strictly,
);

fn fresh() -> Value {
    json!({ "provider": "acme", "subject": { "sub": "alice" } })
}

async fn r110_a_call_without_a_known_key_is_refused(db: Database) {
    let bench = Bench::new(db).await;
    let known = bench.files().bearer();
    let swapped = known.to_uppercase();
    for headers in [
        &[][..],
        &[("authorization", "Bearer ")],
        &[("authorization", "Basic Zm9vOmJhcg==")],
        &[("authorization", "Bearer nobody-has-this-key")],
        &[("authorization", swapped.as_str())],
        &[("authorization", known.as_str()), ("authorization", known.as_str())],
    ] {
        for (method, path) in
            [("GET", "/v1/providers"), ("POST", "/v1/credentials/resolve"), ("GET", "/v1/events")]
        {
            let answer = bench.call(method, path, headers, Body::empty()).await;
            answer.refused(401, "unauthorized");
            assert_eq!(answer.headers["www-authenticate"], "Bearer realm=\"consentry\"");
        }
    }
    // A key in the URL is no key (R116).
    let key = known.strip_prefix("Bearer ").unwrap();
    let answer = bench.call("GET", &format!("/v1/events?access_token={key}"), &[], Body::empty()).await;
    answer.refused(401, "unauthorized");
    let counted = bench.app.metrics.text();
    assert!(counted.contains("security_events_total{code=\"api_key_refused\"} 19"), "{counted}");
    assert!(!counted.contains(key));
}

async fn r118_unknown_routes_and_methods_are_problems(db: Database) {
    let bench = Bench::new(db).await;
    for path in
        ["/", "/v1", "/v1/", "/v1/nothing", "/v1/credentials/resolve/", "/connect", "/v1/%2e%2e/metrics"]
    {
        bench.files().get(path).await.refused(404, "not_found");
    }
    let answer = bench.call("PUT", "/v1/connections/x", &[], Body::empty()).await;
    answer.refused(405, "method_not_allowed");
    assert_eq!(answer.headers["allow"], "GET,HEAD,DELETE");
    for method in ["TRACE", "GET", "OPTIONS", "BREW"] {
        let answer = bench.call(method, "/v1/credentials/resolve", &[], Body::empty()).await;
        answer.refused(405, "method_not_allowed");
    }
}

async fn r118_bodies_are_read_strictly(db: Database) {
    let bench = Bench::new(db).await;
    let path = "/v1/credentials/resolve";
    let send = async |kind: Option<&str>, body: Vec<u8>| {
        let bearer = bench.files().bearer();
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(kind.map(|kind| ("content-type", kind)));
        bench.call("POST", path, &headers, Body::from(body)).await
    };
    let whole = fresh().to_string();
    for kind in ["application/json", "Application/JSON; charset=UTF-8"] {
        assert_eq!(send(Some(kind), whole.clone().into()).await.status, 200);
    }
    for kind in
        [None, Some("text/plain"), Some("application/json; charset=latin1"), Some("application/jsonx")]
    {
        send(kind, whole.clone().into()).await.refused(415, "unsupported_media_type");
    }
    let json = Some("application/json");
    let deep = "[".repeat(60_000);
    for broken in
        ["", "{", "nonsense", "{\"provider\":\"acme\",}", &format!("{whole} {whole}"), "{\"\u{0}\":1}"]
    {
        send(json, broken.into()).await.refused(400, "malformed_body");
    }
    for list in ["[]", "[\"acme\"]", "null", "\"acme\"", r#"{"provider":"acme","subject":[null,"alice"]}"#] {
        send(json, list.into()).await.refused(400, "invalid_field");
    }
    let deep = format!("{{\"client\":{{\"elicitation\":{deep}");
    send(json, deep.into()).await.refused(400, "malformed_body");
    send(json, b"{\"provider\":\"\xff\"}".to_vec()).await.refused(400, "malformed_body");
    send(json, vec![b' '; 65 * 1024]).await.refused(413, "body_too_large");
    let streamed = Body::from_stream(futures_util::stream::iter(
        (0..70).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1024])),
    ));
    let bearer = bench.files().bearer();
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    bench.call("POST", path, &headers, streamed).await.refused(413, "body_too_large");
    for twice in [
        r#"{"provider":"acme","provider":"globex","subject":{"sub":"alice"}}"#,
        r#"{"provider":"acme","subject":{"sub":"alice","sub":"bob"}}"#,
    ] {
        send(json, twice.into()).await.refused(400, "invalid_field");
    }
}

/// Each refusal names its field, and nothing was made.
async fn fields_are_bounded(db: Database) {
    let bench = Bench::new(db).await;
    let long = |count: usize| "x".repeat(count);
    let with = |field: &str, value: Value| {
        let mut body = fresh();
        body[field] = value;
        body
    };
    let client = |field: &str, value: Value| with("client", json!({ field: value }));
    let rows = [
        (with("extra", json!(1)), "unknown_field", "extra"),
        (client("extra", json!(1)), "unknown_field", "client.extra"),
        (with("subject", json!({ "sub": "alice", "email": "a@b" })), "unknown_field", "subject.email"),
        (
            json!({ "requests": [{ "provider": "acme", "x": 1 }], "subject": { "sub": "a" } }),
            "unknown_field",
            "requests[0].x",
        ),
        (json!({ "subject": { "sub": "alice" } }), "invalid_field", "provider"),
        (json!({ "provider": "acme", "subject": {} }), "invalid_field", "subject.sub"),
        (json!({ "provider": "acme" }), "invalid_field", "subject"),
        (with("subject_token", json!("t")), "invalid_field", "subject_token"),
        (json!({ "provider": "acme", "subject_token": "" }), "invalid_field", "subject_token"),
        (with("subject", json!({ "sub": "" })), "invalid_field", "subject.sub"),
        (with("subject", json!({ "sub": long(256) })), "invalid_field", "subject.sub"),
        (with("subject", json!({ "sub": "a\u{0}b" })), "invalid_field", "subject.sub"),
        (
            with("subject", json!({ "issuer": "https://evil.example", "sub": "alice" })),
            "issuer_not_allowed",
            "subject.issuer",
        ),
        (
            with("subject", json!({ "issuer": "https://id.example.com/", "sub": "alice" })),
            "issuer_not_allowed",
            "subject.issuer",
        ),
        (with("provider", json!("initech")), "provider_not_allowed", "provider"),
        (with("provider", json!("nobody")), "provider_not_allowed", "provider"),
        (with("provider", json!("../x")), "provider_not_allowed", "provider"),
        (with("scopes", json!(["admin"])), "scope_not_allowed", "scopes"),
        (with("scopes", json!(["read", "a b"])), "invalid_field", "scopes"),
        (with("scopes", json!(vec!["read"; 65])), "invalid_field", "scopes"),
        (with("scopes", json!("read")), "invalid_field", "scopes"),
        (with("requests", json!([{ "provider": "globex" }])), "invalid_field", "requests"),
        (json!({ "requests": [], "subject": { "sub": "a" } }), "invalid_field", "requests"),
        (
            json!({ "requests": vec![json!({ "provider": "acme" }); 9], "subject": { "sub": "a" } }),
            "invalid_field",
            "requests",
        ),
        (
            json!({ "requests": [{ "provider": "acme" }, { "provider": "acme" }], "subject": { "sub": "a" } }),
            "invalid_field",
            "requests[1].provider",
        ),
        (
            json!({ "requests": [{ "provider": "acme" }, { "provider": "globex", "scopes": ["x"] }], "subject": { "sub": "a" } }),
            "scope_not_allowed",
            "requests[1].scopes",
        ),
        (with("message", json!(long(1001))), "invalid_field", "message"),
        (with("message", json!("bell\u{7}")), "invalid_field", "message"),
        (with("wait_seconds", json!(51)), "invalid_field", "wait_seconds"),
        (with("wait_seconds", json!(-1)), "invalid_field", "wait_seconds"),
        (client("ref", json!("é".repeat(129))), "invalid_field", "client.ref"),
        (client("ref", json!("a\nb")), "invalid_field", "client.ref"),
        (client("name", json!(long(129))), "invalid_field", "client.name"),
        (client("method", json!(long(257))), "invalid_field", "client.method"),
        (client("target", json!(long(2049))), "invalid_field", "client.target"),
        (client("params_digest", json!(long(257))), "invalid_field", "client.params_digest"),
        (client("protocol_version", json!("latest")), "invalid_field", "client.protocol_version"),
        (client("elicitation", json!("url")), "invalid_field", "client.elicitation"),
        (client("prefer", json!("both")), "invalid_field", "client.prefer"),
    ];
    for (body, code, field) in rows {
        for path in ["/v1/credentials/resolve", "/v1/elicitations"] {
            let answer = bench.files().post(path, &body).await;
            answer.refused(400, code);
            assert_eq!(answer.body["field"], field, "{body}");
        }
    }
    assert!(bench.app.store.elicitations(None, None, 10).await.unwrap().is_empty());
    for (field, value) in
        [("ref", json!("é".repeat(128))), ("name", json!("é".repeat(128))), ("target", json!(long(2048)))]
    {
        assert_eq!(bench.files().resolve(&client(field, value)).await.status, 200, "{field}");
    }
    assert_eq!(bench.files().resolve(&with("message", json!("é".repeat(1000)))).await.status, 200);
}

async fn r52_queries_are_read_strictly(db: Database) {
    let bench = Bench::new(db).await;
    let id = bench.files().asked(&fresh()).await;
    for (path, code) in [
        (format!("/v1/elicitations/{id}?wait=1"), "unknown_parameter"),
        (format!("/v1/elicitations/{id}?wait_seconds=1&wait_seconds=1"), "duplicate_parameter"),
        (format!("/v1/elicitations/{id}?wait_seconds=51"), "invalid_parameter"),
        (format!("/v1/elicitations/{id}?wait_seconds=+1"), "invalid_parameter"),
        (format!("/v1/elicitations/{id}?wait_seconds="), "invalid_parameter"),
        ("/v1/connections?sub=a&sub=b".to_owned(), "duplicate_parameter"),
        ("/v1/connections?Sub=a".to_owned(), "unknown_parameter"),
        ("/v1/connections?sub=%ff".to_owned(), "invalid_parameter"),
        ("/v1/connections?sub=%00".to_owned(), "invalid_parameter"),
        ("/v1/connections?limit=0".to_owned(), "invalid_parameter"),
        ("/v1/connections?limit=201".to_owned(), "invalid_parameter"),
        ("/v1/connections?provider=A".to_owned(), "invalid_parameter"),
        ("/v1/connections?cursor=x".to_owned(), "invalid_cursor"),
        ("/v1/providers?x=1".to_owned(), "unknown_parameter"),
        ("/v1/events?after=-1".to_owned(), "invalid_parameter"),
        ("/v1/events?limit=201".to_owned(), "invalid_parameter"),
        ("/v1/events?last=1".to_owned(), "unknown_parameter"),
    ] {
        bench.files().get(&path).await.refused(400, code);
    }
    bench.files().post("/v1/credentials/resolve?x=1", &fresh()).await.refused(400, "unknown_parameter");
    let accept = ("accept", "text/html");
    bench.files().get_with("/v1/events", &[accept]).await.refused(406, "not_acceptable");
    let stream = ("accept", "text/event-stream");
    for id in ["x", "-1", "1 ", ""] {
        let answer = bench.files().get_with("/v1/events", &[stream, ("last-event-id", id)]).await;
        answer.refused(400, "invalid_parameter");
    }
}
