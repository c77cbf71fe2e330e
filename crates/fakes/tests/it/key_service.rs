//! A key is taken where it belongs and nowhere else.

use base64::{Engine, prelude::BASE64_STANDARD};
use consentry_fakes::{Answer, KeyService, Listen};
use serde_json::Value;

use crate::client::http;

const KEY: &str = "key-of-octocat-0123456789";

/// As RFC 7617 has it; only an OAuth client encodes the two as a form before.
fn basic(user: &str, key: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{key}")))
}

async fn service() -> KeyService {
    let service = KeyService::start(Listen::default()).await.unwrap();
    service.add_key(KEY, "acct_1", "octocat@example.com");
    service
}

async fn get(service: &KeyService, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = http().get(format!("{}{path}", service.base_url()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn each_path_takes_a_key_in_one_place() {
    let service = service().await;
    let bearer = format!("Bearer {KEY}");
    let pair = basic("octocat@example.com", KEY);
    let query = format!("/query?api_key={KEY}");
    for (path, header) in [
        ("/bearer", Some(("authorization", &*bearer))),
        ("/header", Some(("x-api-key", KEY))),
        ("/basic", Some(("authorization", &*pair))),
        (&*query, None),
    ] {
        let headers: Vec<_> = header.into_iter().collect();
        let (status, body) = get(&service, path, &headers).await;
        assert_eq!((status, body["email"].as_str()), (200, Some("octocat@example.com")), "{path}");
        let both: Vec<_> = headers.iter().copied().chain([("x-api-key", "another")]).collect();
        assert_eq!(get(&service, path, &both).await.0, 400, "{path}");
    }
    for (path, name, value) in [
        ("/bearer", "authorization", &*basic("octocat@example.com", KEY)),
        ("/bearer", "authorization", KEY),
        ("/header", "authorization", &*bearer),
        ("/bearer", "accept", "*/*"),
    ] {
        assert_eq!(get(&service, path, &[(name, value)]).await.0, 400, "{path} {name}");
    }
    assert_eq!(get(&service, "/basic", &[("authorization", &*basic("hubot@example.com", KEY))]).await.0, 401);
    assert_eq!(service.log().entries().len(), 13);
}

#[tokio::test]
async fn graphql_says_what_is_wrong_in_a_200() {
    let service = service().await;
    let ask = async |key: &str, body: &'static str| {
        let request = http().post(format!("{}/graphql", service.base_url())).header("authorization", key);
        let answer = request.header("content-type", "application/json").body(body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let query = r#"{"query":"{ viewer { id email } }"}"#;
    assert_eq!(ask(KEY, query).await.1["data"]["viewer"]["id"], "acct_1");
    let (status, body) = ask("another", query).await;
    assert!(status == 200 && body["errors"].is_array() && body["data"].is_null());
    assert_eq!(ask(KEY, "{}").await.0, 400);
}

#[tokio::test]
async fn a_key_can_be_removed_and_forbidden() {
    let service = service().await;
    let status = async || get(&service, "/header", &[("x-api-key", KEY)]).await.0;
    service.forbid(KEY);
    assert_eq!(status().await, 403);
    service.remove_key(KEY);
    assert_eq!(status().await, 401);
    service.next_answer("/header", Answer::json(500, &serde_json::json!({})));
    assert_eq!([status().await, status().await], [500, 401]);
}
