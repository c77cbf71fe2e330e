//! The JSON Schema of an entry of the catalogue, made of the types that read it, and the same as a page of tables.
//!
//! Draft 7, which every editor's TOML extension understands.

mod table;

use serde_json::{Map, Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr, Type,
        schema::{ObjectBuilder, Schema},
    },
};

pub use self::table::document as entry_keys;
use super::{check::OPERATORS, raw, secret_source::SecretSource, units::Span};
use crate::provider::catalogue::About;

/// A kind of entry: its name, and the type that reads it.
struct Kind {
    name: &'static str,
    heading: &'static str,
    table: Value,
}

fn kinds() -> [Kind; 3] {
    [
        Kind { name: "oauth2", heading: "OAuth 2", table: definition::<raw::Provider>() },
        Kind { name: "secret", heading: "Keys that users enter", table: definition::<raw::SecretForm>() },
        Kind { name: "redirect", heading: "Pages of MCP servers", table: definition::<raw::HostedPage>() },
    ]
}

/// The schema.
pub fn entry_schema() -> Value {
    let mut definitions = Map::new();
    let (mut nested, about) = (Vec::new(), definition::<About>());
    <About as ToSchema>::schemas(&mut nested);
    <raw::Provider as ToSchema>::schemas(&mut nested);
    <raw::SecretForm as ToSchema>::schemas(&mut nested);
    for (name, schema) in nested {
        definitions.insert(name, plain(json!(schema)));
    }
    let mut choices = Vec::new();
    for Kind { name, mut table, .. } in kinds() {
        choices.push(json!({ "$ref": format!("#/definitions/{name}") }));
        if let Some(keys) = table["properties"].as_object_mut() {
            OPERATORS.iter().for_each(|key| drop(keys.remove(*key)));
            keys.extend(about["properties"].as_object().cloned().unwrap_or_default());
            let kind = json!({ "const": name, "description": "What is asked of the user. Default: oauth2." });
            keys.insert("kind".to_owned(), kind);
        }
        // What an entry extends may have the rest. Without its kind a table is of the first one.
        table["required"] = if name == "oauth2" { json!([]) } else { json!(["kind"]) };
        definitions.insert(name.to_owned(), table);
    }
    definitions.retain(|name, _| name != "SecretSource");
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "An entry of Consentry's catalogue of providers",
        "oneOf": choices,
        "definitions": definitions,
    })
}

fn definition<T: PartialSchema>() -> Value {
    plain(json!(T::schema()))
}

/// As TOML is: nothing is null. References as draft 7 has them, each alone in its table.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(object) => of_object(object),
        Value::Array(list) => list.into_iter().map(plain).collect(),
        other => other,
    }
}

fn of_object(object: Map<String, Value>) -> Value {
    let mut object: Map<String, Value> = object.into_iter().map(|(key, value)| (key, plain(value))).collect();
    if let Some(Value::Array(types)) = object.get("type") {
        let found = types.iter().find(|one| *one != "null").cloned();
        found.into_iter().for_each(|one| drop(object.insert("type".to_owned(), one)));
    }
    if let Some(Value::Array(choices)) = object.get("oneOf")
        && let [one, null] = choices.as_slice()
        && null["type"] == "null"
    {
        let one = one.clone();
        object.remove("oneOf");
        object.extend(one.as_object().cloned().unwrap_or_default());
    }
    if let Some(to) = object.get("$ref").and_then(Value::as_str) {
        let to = json!({ "$ref": to.replace("#/components/schemas/", "#/definitions/") });
        object.remove("$ref");
        if object.is_empty() {
            return to;
        }
        // Beside a reference nothing else counts.
        object.insert("allOf".to_owned(), json!([to]));
    }
    Value::Object(object)
}

impl PartialSchema for Span {
    fn schema() -> RefOr<Schema> {
        let words = "A span of time, such as \"30s\", \"10m\", \"12h\" or \"90d\".";
        let text = ObjectBuilder::new().schema_type(Type::String).description(Some(words));
        text.pattern(Some("^([0-9]+(ms|s|m|h|d))+$")).into()
    }
}

impl ToSchema for Span {}

/// Stands in the settings alone.
impl PartialSchema for SecretSource {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Object).into()
    }
}

impl ToSchema for SecretSource {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::catalogue::Catalogue;

    /// Every key with what it means; none that holds a secret.
    #[test]
    fn every_key_is_explained() {
        let schema = entry_schema();
        let mut bare = Vec::new();
        for (name, definition) in schema["definitions"].as_object().unwrap() {
            for (key, value) in definition["properties"].as_object().into_iter().flatten() {
                if value["description"].as_str().is_none_or(str::is_empty) {
                    bare.push(format!("{name}.{key}"));
                }
            }
        }
        assert!(bare.is_empty(), "without a description: {bare:?}");
        assert!(!schema.to_string().contains("SecretSource"));
    }

    /// Each table of the types refuses what it does not know, and so does the schema.
    #[test]
    fn unknown_keys_are_refused() {
        for (name, definition) in entry_schema()["definitions"].as_object().unwrap() {
            if definition.get("properties").is_some() {
                assert_eq!(definition["additionalProperties"], false, "{name}");
            }
        }
    }

    #[test]
    fn every_key_of_the_built_in_entries_is_there() {
        let schema = entry_schema();
        for id in Catalogue::built_in().ids() {
            let entry = Catalogue::built_in_entry(id).unwrap().unwrap();
            let keys = &schema["definitions"][entry.kind()]["properties"];
            for key in entry.own.keys() {
                assert!(keys.get(key).is_some(), "{id}: {key}");
            }
        }
    }
}
