//! `docs/provider-keys.md`: the schema as tables, for people.

use serde_json::{Map, Value};

use super::{definition, entry_schema, kinds};
use crate::provider::catalogue::About;

const HEAD: &str = "<!-- Made by scripts/generate from the types that read an entry; change their comments. -->\n\n# The keys of an entry\n\n\
     All keys that an entry of [the catalogue](providers/README.md) can have; [add a provider](add-a-provider.md) has the common ones, with an example.\n\
     Unknown keys are refused. Paths go into JSON by dots and into lists by index: `data.emails[0].value`. The same keys stand in `[[providers]]` of\n\
     the [settings](configuration.md), except those that an entry says of itself.\n";

/// The document.
pub fn document() -> String {
    let schema = entry_schema();
    let definitions = schema["definitions"].as_object().cloned().unwrap_or_default();
    let about = definition::<About>();
    let about = about["properties"].as_object().cloned().unwrap_or_default();
    let mut text = HEAD.to_owned();
    text.push_str("\n## What an entry says of itself\n");
    rows(&mut text, &about);
    for kind in kinds() {
        let mut keys = definitions[kind.name]["properties"].as_object().cloned().unwrap_or_default();
        keys.retain(|key, _| !about.contains_key(key));
        text.push_str(&format!("\n## {}: `kind = \"{}\"`\n", kind.heading, kind.name));
        rows(&mut text, &keys);
    }
    let is_kind = |name: &str| kinds().iter().any(|kind| kind.name == name);
    for (name, definition) in definitions.iter().filter(|(name, _)| !is_kind(name)) {
        if let Some(keys) = definition["properties"].as_object() {
            text.push_str(&format!("\n## {name}\n"));
            if let Some(words) = definition["description"].as_str() {
                text.push_str(&format!("\n{}\n", one_line(words)));
            }
            rows(&mut text, keys);
        }
    }
    text
}

fn rows(text: &mut String, keys: &Map<String, Value>) {
    text.push_str("\n| key | is | |\n|---|---|---|\n");
    for (key, value) in keys {
        let words = one_line(value["description"].as_str().unwrap_or_default());
        text.push_str(&format!("| `{key}` | {} | {words} |\n", kind_of(value)));
    }
}

/// What may stand there, in few words.
fn kind_of(value: &Value) -> String {
    if let Some(name) = reference(value) {
        return named(name);
    }
    match value["type"].as_str() {
        Some("array") => format!("list of {}", kind_of(&value["items"])),
        Some("object") if value["additionalProperties"].is_object() => {
            format!("table of {}", kind_of(&value["additionalProperties"]))
        }
        Some("string") => "text".to_owned(),
        Some("integer") => "number".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some(other) => other.to_owned(),
        None if value.get("const").is_some() => format!("`{}`", value["const"]),
        None => "any value".to_owned(),
    }
}

fn reference(value: &Value) -> Option<&str> {
    let to = value.get("$ref").or_else(|| value["allOf"].get(0)?.get("$ref"))?;
    to.as_str()?.strip_prefix("#/definitions/")
}

/// A table has a section of its own; words are listed.
fn named(name: &str) -> String {
    let schema = entry_schema();
    let definition = &schema["definitions"][name];
    if let Some(words) = definition["enum"].as_array() {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    if definition.get("properties").is_some() {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    "span, such as `\"30m\"`".to_owned()
}

fn one_line(words: &str) -> String {
    // References to Rust's items mean nothing here.
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}
