//! The official conformance suite against Consentry's own MCP endpoint, by its last columns in docs/conformance.md. The suite has no way
//! to send an access token, so that a proxy adds one.

use std::sync::Arc;

use axum::{Router, body::Body, extract::State, http::Request, response::Response};
use tokio::net::TcpListener;

use super::desk::Desk;
use crate::{
    engine::{Database, Engine},
    peers::suite::{Run, wrong},
    world,
};

const RUNS: [Run; 2] = [
    Run {
        column: "own, 2025-11-25",
        package: "conformance-coming",
        arguments: &["--requirements", "2025-11-25"],
    },
    Run {
        column: "own, 2026-07-28",
        package: "conformance-coming",
        arguments: &["--requirements", "2026-07-28"],
    },
];

struct Way {
    http: reqwest::Client,
    /// The proxy's own host, which becomes Consentry's, in `Origin` as well; any other is passed on.
    own: String,
    host: String,
    origin: String,
    token: String,
}

async fn pass(State(way): State<Arc<Way>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let url = format!("{}{}", way.origin, parts.uri);
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let mut on = way.http.request(parts.method, url).bearer_auth(&way.token).body(body);
    for (name, value) in &parts.headers {
        if name == "host" && value.as_bytes() == way.own.as_bytes() {
            on = on.header("host", &way.host);
        } else if name == "origin" && value.as_bytes() == format!("http://{}", way.own).as_bytes() {
            on = on.header("origin", &way.origin);
        } else if !["connection", "content-length", "transfer-encoding"].contains(&name.as_str()) {
            on = on.header(name, value);
        }
    }
    let answer = on.send().await.unwrap();
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer.headers() {
        response = response.header(name, value);
    }
    response.body(Body::from_stream(answer.bytes_stream())).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_conformance_suite_says_of_our_endpoint_what_the_document_says() {
    let desk = Desk::start(Database::start(Engine::Sqlite).await).await;
    let host = desk.world.public_url.strip_prefix("http://").unwrap().to_owned();
    let port = host.rsplit(':').next().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = format!("localhost:{}", listener.local_addr().unwrap().port());
    let way = Way {
        http: world::client(format!("127.0.0.1:{port}").parse().unwrap()),
        own: own.clone(),
        origin: desk.world.public_url.clone(),
        host,
        token: desk.token("alice"),
    };
    let router = Router::new().fallback(pass).with_state(Arc::new(way));
    let proxy = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let mut found = Vec::new();
    for run in &RUNS {
        found.extend(wrong(&format!("http://{own}/mcp"), run).await);
    }
    proxy.abort();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
