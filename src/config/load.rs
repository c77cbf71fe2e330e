//! The layers: defaults, the operator's file, the environment.

use std::{fs, path::Path};

use toml::{Table, Value};

use super::{
    ConfigError, Environment, Settings, check,
    findings::Findings,
    misspelt::{self, FILE, PREFIX},
};
use crate::provider::catalogue::Catalogue;

/// The defaults, which are the documented example file.
pub const DEFAULTS: &str = include_str!("../../config.example.toml");

/// Reads and checks the settings: the defaults, over them the file at `path` (or the one that the variable
/// `CONSENTRY_CONFIG` names, or none), over it the variables `CONSENTRY_SECTION__KEY`. Every secret is read.
///
/// # Errors
/// Everything that is wrong, each with its key and never with a value.
pub fn load(path: Option<&Path>, environment: &Environment) -> Result<Settings, Vec<ConfigError>> {
    let mut findings = Findings::default();
    let settings = Layers::read(DEFAULTS, path, environment, &mut findings)
        .and_then(|layers| check::settings(layers, environment, &mut findings));
    findings.settle(settings)
}

/// The catalogue of the settings, also where other settings are wrong.
///
/// # Errors
/// The settings cannot be read; the folder that `catalogue` names cannot be used.
pub fn load_catalogue(path: Option<&Path>, environment: &Environment) -> Result<Catalogue, Vec<ConfigError>> {
    let mut findings = Findings::default();
    let layers = Layers::read(DEFAULTS, path, environment, &mut findings);
    findings.settle(layers.map(|layers| layers.catalogue))
}

/// What the settings themselves say of the provider of this id, without what its entry in the catalogue says. Where a
/// secret is named, it tells from where and never the secret.
///
/// # Errors
/// The settings cannot be read.
pub fn provider_table(
    path: Option<&Path>,
    environment: &Environment,
    id: &str,
) -> Result<Table, Vec<ConfigError>> {
    let mut findings = Findings::default();
    let layers = Layers::read(DEFAULTS, path, environment, &mut findings);
    let table = layers.and_then(|layers| {
        let providers = layers.table.get("providers")?.as_array()?.iter();
        let mut tables = providers.filter_map(Value::as_table);
        tables.find(|table| table.get("id").and_then(Value::as_str) == Some(id)).cloned()
    });
    let mut table = findings.settle(Some(table.unwrap_or_default()))?;
    for (_, value) in table.iter_mut() {
        if let Some(source) = value.as_table_mut().filter(|source| source.len() == 1)
            && let Some(value) = source.get_mut("value")
        {
            *value = Value::String("(a secret)".to_owned());
        }
    }
    Ok(table)
}

/// The merged settings, not yet looked at.
pub(super) struct Layers {
    pub(super) table: Table,
    /// What the operator's file alone says.
    pub(super) file: Table,
    /// Path of each setting that the environment gave, and the variable's name.
    pub(super) from_environment: Vec<(String, String)>,
    /// What is known of providers.
    pub(super) catalogue: Catalogue,
    /// Sentences of variables that begin like ours and set nothing.
    pub(super) ignored: Vec<String>,
}

impl Layers {
    /// Merges the layers; `None` when one of them cannot be read.
    pub(super) fn read(
        defaults: &str,
        path: Option<&Path>,
        environment: &Environment,
        findings: &mut Findings,
    ) -> Option<Self> {
        let defaults = findings.keep("the defaults", parse(defaults))?;
        let named = environment.text(FILE).map(Path::new);
        let file = match path.or(named) {
            Some(path) => read_file(path, findings)?,
            None => Table::new(),
        };
        let mut table = defaults.clone();
        lay_over(&mut table, file.clone());
        let mut from_environment = Vec::new();
        for (name, value) in environment.iter() {
            let Some(keys) = keys_of(name, &defaults) else { continue };
            if keys.first().is_some_and(|section| !table.contains_key(section)) {
                let nearest = misspelt::nearest(&defaults, name);
                findings.refuse(name, format!("is no setting; the nearest is {nearest}"));
                continue;
            }
            match typed(&defaults, &keys, value.expose()).and_then(|value| set(&mut table, &keys, value)) {
                Ok(()) => from_environment.push((keys.join("."), name.to_owned())),
                Err(problem) => findings.refuse(name, problem),
            }
        }
        let sets = |name: &str| keys_of(name, &defaults).is_some();
        let ignored = misspelt::find(environment, &defaults, &table, sets, findings);
        let catalogue = catalogue(&table, findings);
        Some(Self { table, file, from_environment, catalogue, ignored })
    }

    /// The variable that gave the setting at `path`.
    pub(super) fn variable(&self, path: &str) -> Option<&str> {
        self.from_environment.iter().find(|(key, _)| key == path).map(|(_, name)| name.as_str())
    }
}

/// The built-in entries, with those of the folder that the settings name.
fn catalogue(table: &Table, findings: &mut Findings) -> Catalogue {
    const KEY: &str = "catalogue";
    let folder = match table.get(KEY).map(Value::as_str) {
        None | Some(Some("")) => return Catalogue::built_in(),
        Some(Some(folder)) => Path::new(folder),
        Some(None) => {
            findings.refuse(KEY, "must be text: the path of a folder");
            return Catalogue::built_in();
        }
    };
    Catalogue::with_overlay(folder).unwrap_or_else(|problems| {
        for problem in problems {
            findings.refuse(format!("{KEY}: {}", problem.place()), problem.problem);
        }
        Catalogue::built_in()
    })
}

fn read_file(path: &Path, findings: &mut Findings) -> Option<Table> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| format!("cannot be read: {}", error.kind()));
    findings.keep(&name, text).and_then(|text| findings.keep(&name, parse(&text)))
}

/// Parses TOML; the error tells the line and never shows it.
fn parse(text: &str) -> Result<Table, String> {
    text.parse::<Table>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        format!("is not TOML: line {line}: {}", error.message())
    })
}

/// Tables are merged, all else is replaced.
fn lay_over(lower: &mut Table, upper: Table) {
    for (key, value) in upper {
        match (lower.get_mut(&key), value) {
            (Some(Value::Table(lower)), Value::Table(upper)) => lay_over(lower, upper),
            (_, value) => {
                lower.insert(key, value);
            }
        }
    }
}

/// The setting that a variable names. One without `__` names a top-level scalar, or is none of ours: orchestrators make
/// variables such as `CONSENTRY_PORT`.
fn keys_of(name: &str, defaults: &Table) -> Option<Vec<String>> {
    let rest = name.strip_prefix(PREFIX)?.to_ascii_lowercase();
    let keys: Vec<String> = rest.split("__").map(str::to_owned).collect();
    let is_ours = keys.len() > 1 || defaults.get(&rest).is_some_and(|value| !value.is_table());
    is_ours.then_some(keys)
}

/// A variable's text as the kind that its default has.
fn typed(defaults: &Table, keys: &[String], text: &str) -> Result<Value, String> {
    let default = keys.split_first().and_then(|(first, rest)| {
        rest.iter().try_fold(defaults.get(first)?, |value, key| value.as_table()?.get(key))
    });
    match default {
        Some(Value::Array(_)) => Err("sets a list; lists stand in the file".to_owned()),
        Some(Value::Table(_)) => Err("sets a whole section; name one of its keys".to_owned()),
        Some(Value::Integer(_)) => {
            text.parse().map(Value::Integer).map_err(|_| "must be a whole number".to_owned())
        }
        Some(Value::Boolean(_)) => {
            text.parse().map(Value::Boolean).map_err(|_| "must be true or false".to_owned())
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}

fn set(table: &mut Table, keys: &[String], value: Value) -> Result<(), String> {
    let Some((last, sections)) = keys.split_last() else { return Ok(()) };
    let mut table = table;
    for section in sections {
        let entry = table.entry(section.clone()).or_insert_with(|| Value::Table(Table::new()));
        table = match entry {
            Value::Table(table) => table,
            Value::Array(_) => return Err("sets part of a list; lists stand in the file".to_owned()),
            _ => return Err("names no setting".to_owned()),
        };
    }
    table.insert(last.clone(), value);
    Ok(())
}
