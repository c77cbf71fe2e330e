//! Variables that begin like ours and set nothing: most are misspelt, and what they should set would stay at its default.
//!
//! What it must never do: repeat a value.

use strsim::levenshtein;
use toml::{Table, Value};

use super::{Environment, findings::Findings};

/// What every variable of ours begins with.
pub(super) const PREFIX: &str = "CONSENTRY_";
/// Names the settings file.
pub(super) const FILE: &str = "CONSENTRY_CONFIG";

/// Refuses a variable that is a setting's but for its underscores, and gives a sentence of each other one that sets
/// nothing and that the settings do not name as a secret's.
pub(super) fn find(
    environment: &Environment,
    defaults: &Table,
    table: &Table,
    sets: impl Fn(&str) -> bool,
    findings: &mut Findings,
) -> Vec<String> {
    let mut settings = vec![FILE.to_owned()];
    names(defaults, PREFIX, &mut settings);
    let mut secrets = Vec::new();
    sources(&Value::Table(table.clone()), &mut secrets);
    let mut notes = Vec::new();
    for (name, _) in environment.iter() {
        let ours = name.starts_with(PREFIX) && !is_of_an_orchestrator(name);
        if !ours || name == FILE || sets(name) || secrets.iter().any(|secret| secret == name) {
            continue;
        }
        let Some(nearest) = settings.iter().min_by_key(|setting| levenshtein(setting, name)) else {
            continue;
        };
        if bare(nearest) == bare(name) {
            findings.refuse(name, format!("is no setting; it is spelt {nearest}"));
        } else {
            notes
                .push(format!("the variable {name} is no setting, and is ignored; the nearest is {nearest}"));
        }
    }
    notes
}

/// The nearest setting to a variable that names a section which is not there.
pub(super) fn nearest(defaults: &Table, name: &str) -> String {
    let mut settings = Vec::new();
    names(defaults, PREFIX, &mut settings);
    settings.into_iter().min_by_key(|setting| levenshtein(setting, name)).unwrap_or_default()
}

/// The variable of each setting that one can be given to.
fn names(table: &Table, before: &str, all: &mut Vec<String>) {
    for (key, value) in table {
        let name = format!("{before}{}", key.to_ascii_uppercase());
        match value {
            Value::Table(table) => names(table, &format!("{name}__"), all),
            Value::Array(_) => {}
            _ => all.push(name),
        }
    }
}

/// The variables that secrets are read from.
fn sources(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::Table(table) => {
            all.extend(table.get("env").and_then(Value::as_str).map(str::to_owned));
            table.values().for_each(|value| sources(value, all));
        }
        Value::Array(list) => list.iter().for_each(|value| sources(value, all)),
        _ => {}
    }
}

/// Kubernetes and Docker make variables of each service's name: `CONSENTRY_PORT`, `CONSENTRY_DB_SERVICE_HOST`.
fn is_of_an_orchestrator(name: &str) -> bool {
    name.ends_with("_PORT")
        || name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || name.contains("_PORT_")
}

fn bare(name: &str) -> String {
    name.replace('_', "").to_ascii_uppercase()
}
