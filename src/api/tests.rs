//! What can be said of the API without calling it: its description is whole, and nothing is mounted beside it.

use std::collections::BTreeSet;

use super::openapi;

/// Every call of the contract, and no other.
const CALLS: [(&str, &str); 13] = [
    ("post", "/v1/credentials/resolve"),
    ("post", "/v1/credentials/report"),
    ("post", "/v1/elicitations"),
    ("get", "/v1/elicitations/{id}"),
    ("post", "/v1/elicitations/{id}/response"),
    ("post", "/v1/elicitations/{id}/cancel"),
    ("post", "/v1/elicitations/{id}/result"),
    ("post", "/v1/hosted/redeem"),
    ("get", "/v1/connections"),
    ("get", "/v1/connections/{id}"),
    ("delete", "/v1/connections/{id}"),
    ("get", "/v1/events"),
    ("get", "/v1/providers"),
];

#[test]
fn the_description_names_every_call() {
    let description = serde_json::to_value(openapi()).unwrap();
    assert_eq!(description["openapi"], "3.1.0");
    let mut described = BTreeSet::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for method in ["get", "put", "post", "delete", "patch"] {
            if item.get(method).is_some() {
                described.insert((method.to_owned(), path.clone()));
            }
        }
    }
    let calls: BTreeSet<(String, String)> =
        CALLS.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(described, calls);
}

/// A route that is mounted by hand would be missing from the description.
#[test]
fn every_call_is_mounted_with_its_description() {
    let source = include_str!("../api.rs");
    assert!(!source.contains(".route(\"/v1"), "mount it by `routes!`");
}

/// Each reference in the description leads somewhere.
#[test]
fn the_description_is_whole() {
    let description = serde_json::to_value(openapi()).unwrap();
    let schemas: BTreeSet<&String> =
        description["components"]["schemas"].as_object().unwrap().keys().collect();
    let text = description.to_string();
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.contains(&name.to_owned()), "{name}");
    }
    assert_eq!(description["security"][0], serde_json::json!({ "api_key": [] }));
}

/// R111: no schema speaks of a refresh token.
#[test]
fn r111_no_answer_has_a_refresh_token() {
    let description = serde_json::to_value(openapi()).unwrap().to_string();
    assert!(!description.contains("refresh_token"));
}
