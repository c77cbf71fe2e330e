//! `consentry providers diff`: what an operator's folder makes of the built-in entries.

use std::path::Path;

use serde_json::{Value, json};
use toml::Table;

use super::{super::output::CliError, Context, refused};
use crate::provider::catalogue::{Catalogue, Entry, Problem};

pub(super) fn run(context: &Context, folder: Option<&Path>) -> Result<(), CliError> {
    let catalogue = match folder {
        Some(folder) => Catalogue::with_overlay(folder).map_err(|problems| told_all(&problems))?,
        None => context.catalogue()?,
    };
    let (mut values, mut text) = (Vec::new(), String::new());
    for id in catalogue.overlay_ids() {
        let Some(entry) = catalogue.entry(id).map_err(refused)? else { continue };
        let before = Catalogue::built_in_entry(id).map_err(refused)?;
        let changes = changes(before.as_ref(), &entry);
        let what = if before.is_some() { "changed" } else { "added" };
        text.push_str(&format!("{id}: {what} by {}\n", entry.file()));
        for change in changes.iter().filter(|_| before.is_some()) {
            for (sign, side) in [('-', &change.before), ('+', &change.after)] {
                let line = side.as_ref().map(|value| format!("  {sign} {} = {value}\n", change.key));
                text.push_str(&line.unwrap_or_default());
            }
        }
        let changes: Vec<Value> = changes.iter().map(Change::json).collect();
        values.push(json!({ "id": id, "what": what, "file": entry.file(), "changes": changes }));
    }
    if values.is_empty() {
        text.push_str("Nothing is changed: there is no folder of entries, or none in it.");
    }
    context.out.say(&json!({ "entries": values }), &text)
}

/// A key before and after.
struct Change {
    key: String,
    before: Option<toml::Value>,
    after: Option<toml::Value>,
}

impl Change {
    fn json(&self) -> Value {
        json!({ "key": self.key, "before": self.before, "after": self.after })
    }
}

fn changes(before: Option<&Entry>, after: &Entry) -> Vec<Change> {
    let nothing = Table::new();
    let before = before.map_or(&nothing, |entry| &entry.settings);
    let mut found = Vec::new();
    compare("", before, &after.settings, &mut found);
    found
}

/// Down to the keys that differ.
fn compare(path: &str, before: &Table, after: &Table, found: &mut Vec<Change>) {
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let mut keys: Vec<_> = after.keys().chain(gone).collect();
    keys.sort_unstable();
    for key in keys {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (before.get(key), after.get(key)) {
            (Some(toml::Value::Table(before)), Some(toml::Value::Table(after))) => {
                compare(&path, before, after, found);
            }
            (before, after) if before != after => {
                found.push(Change { key: path, before: before.cloned(), after: after.cloned() });
            }
            _ => {}
        }
    }
}

fn told_all(problems: &[Problem]) -> CliError {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    CliError::Failed(lines.join("\n"))
}
