//! Keys that the schema knows and no entry has. A quirk that nobody has is one that nobody tests: it is deleted, and not
//! kept for a provider that may come.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fact;

/// A key or a value of a key that no entry needs to have, and why it is there all the same. A table's name alone stands for
/// all of its keys.
const KEPT: [(&str, &str, &str); 34] = [
    ("oauth2", "kind", REGISTRATION),
    ("oauth2", "allowed_scopes", REGISTRATION),
    ("oauth2", "client_key_algorithm", REGISTRATION),
    ("oauth2", "client_assertion_audience", REGISTRATION),
    ("AssertionAudience", "=issuer", REGISTRATION),
    ("AssertionAudience", "=token_endpoint", REGISTRATION),
    ("ClientAuthentication", "=private_key_jwt", REGISTRATION),
    ("oauth2", "requests_per_second", LIMITS),
    ("oauth2", "concurrent_requests", LIMITS),
    ("secret", "requests_per_second", LIMITS),
    ("secret", "concurrent_requests", LIMITS),
    ("oauth2", "resource", MCP),
    ("oauth2", "mcp", MCP),
    ("oauth2", "registration", MCP),
    ("Registration", "", MCP),
    ("redirect", "", "a page of an MCP server is its operator's own: no entry can be of one"),
    ("oauth2", "issuer_always_sent", OWN_SERVER),
    ("oauth2", "userinfo_endpoint", OWN_SERVER),
    ("oauth2", "form_post", OWN_SERVER),
    ("Field", "optional", OWN_FORM),
    ("FormProbe", "headers", OWN_FORM),
    ("FormProbe", "query", OWN_FORM),
    ("FormProbe", "basic", OWN_FORM),
    ("secret", "extends", "an overlay's entry extends one of these"),
    ("secret", "setup_url", "an overlay's form may have a page of its operator's"),
    ("Ask", "=user", DEFAULT),
    ("ProbeMethod", "=GET", DEFAULT),
    ("ProbeOf", "=answer", DEFAULT),
    ("RefreshTokens", "=sometimes", DEFAULT),
    ("RevocationMethod", "=POST", DEFAULT),
    ("RevocationToken", "=refresh_token", DEFAULT),
    ("StepMethod", "=POST", DEFAULT),
    ("RevocationBody", "=form", DEFAULT),
    ("TokenBody", "=form", DEFAULT),
];

const REGISTRATION: &str = "belongs to the operator's registration";
const LIMITS: &str = "is the operator's to measure";
const MCP: &str = "is for MCP servers as providers, which have no entry";
const OWN_SERVER: &str =
    "is for an authorization server of the operator's own, which cannot be changed for us";
const OWN_FORM: &str = "is for forms of the operator's own";
const DEFAULT: &str = "is the name of what is so by default";

#[test]
fn a_quirk_that_no_entry_has_is_deleted() {
    let schema = consentry::config::entry_schema();
    let definitions = &schema["definitions"];
    let mut used = BTreeSet::new();
    for fact in fact::all() {
        let kind = fact.text("kind").unwrap_or("oauth2").to_owned();
        marks(definitions, &kind, &fact.whole(), &mut used);
    }
    let unused: Vec<(String, String)> =
        known(definitions).into_iter().filter(|one| !used.contains(one)).collect();
    let kept = |table: &str, key: &str| {
        KEPT.iter().any(|(at, name, _)| *at == table && (name.is_empty() || *name == key))
    };
    let stray: Vec<_> = unused.iter().filter(|(table, key)| !kept(table, key)).collect();
    assert!(
        stray.is_empty(),
        "no entry uses {stray:?}: delete each from code, schema and documents, or let an entry that needs it use it"
    );
    // And nothing is kept here that an entry uses: then the reason is none.
    let needless: Vec<_> = KEPT
        .iter()
        .filter(|(table, key, _)| used.contains(&((*table).to_owned(), (*key).to_owned())))
        .collect();
    assert!(needless.is_empty(), "entries use {needless:?}: take them off the list");
}

/// What is recorded is of an entry, and none of it is passed over for a slip of the pen.
#[test]
fn every_recorded_answer_is_of_an_entry_and_is_read() {
    let ids: BTreeSet<String> = fact::all().into_iter().map(|fact| fact.id).collect();
    for (id, answers) in fact::answers() {
        assert!(ids.contains(&id), "answers/{id}.toml: there is no such entry");
        for (name, told) in answers {
            let further: &[&str] = match name.as_str() {
                "callback" | "values" => continue,
                "probe" => &["id", "label"],
                "token" | "steps" | "refresh" | "slots" | "renewal" | "error" | "choice" | "granted"
                | "rejected" => &[],
                _ => panic!("answers/{id}.toml: nobody reads {name}"),
            };
            let told = serde_json::to_value(told).unwrap();
            let tables: Vec<&Value> = match &told {
                Value::Array(list) => list.iter().collect(),
                Value::Object(named) if name == "slots" => named.values().collect(),
                one => vec![one],
            };
            for key in tables.into_iter().filter_map(Value::as_object).flat_map(|table| table.keys()) {
                let known = ["status", "type", "body"].iter().chain(further).any(|one| one == key);
                assert!(known, "answers/{id}.toml: nobody reads {name}.{key}");
            }
        }
    }
}

/// Every key of every table, and every value of those that have only some; `=` stands before a value.
fn known(definitions: &Value) -> BTreeSet<(String, String)> {
    let mut known = BTreeSet::new();
    for (table, definition) in definitions.as_object().into_iter().flatten() {
        let keys = definition["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone());
        let values = definition["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        known.extend(keys.chain(values.map(|value| format!("={value}"))).map(|key| (table.clone(), key)));
    }
    known
}

/// Marks the keys of a table, and of those in it.
fn marks(definitions: &Value, table: &str, entry: &Value, used: &mut BTreeSet<(String, String)>) {
    let properties = &definitions[table]["properties"];
    for (key, value) in entry.as_object().into_iter().flatten() {
        let schema = &properties[key];
        assert!(!schema.is_null(), "the schema of {table} has no {key}");
        used.insert((table.to_owned(), key.clone()));
        goes(definitions, schema, value, used);
    }
}

fn goes(definitions: &Value, schema: &Value, value: &Value, used: &mut BTreeSet<(String, String)>) {
    let to = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    if let Some(table) = to.and_then(|to| to.strip_prefix("#/definitions/")) {
        let definition = &definitions[table];
        if let Some(word) = value.as_str().filter(|_| definition["enum"].is_array()) {
            used.insert((table.to_owned(), format!("={word}")));
        } else if definition["properties"].is_object() {
            marks(definitions, table, value, used);
        } else {
            goes(definitions, definition, value, used);
        }
        return;
    }
    for choice in schema["oneOf"].as_array().into_iter().flatten() {
        goes(definitions, choice, value, used);
    }
    for one in value.as_array().into_iter().flatten() {
        goes(definitions, &schema["items"], one, used);
    }
    for (_, one) in value.as_object().into_iter().flatten() {
        goes(definitions, &schema["additionalProperties"], one, used);
    }
}
