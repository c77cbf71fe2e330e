//! `consentry providers`: the catalogue, what the operator's folder makes of it, and what of it is configured.

mod diff;
mod lint;
mod show;

use std::path::PathBuf;

use serde_json::{Value, json};

pub(super) use self::show::redirect_uris;
use super::{
    Context,
    output::{CliError, table},
};
use crate::{
    config::{self, Settings},
    provider::catalogue::{Catalogue, Entry, Problem, Source},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The catalogue, and the providers of the configuration where there is a good one.
    List,
    /// One configured provider, with the redirect URIs to register; or one entry of the catalogue. Each key with its
    /// value and where that comes from.
    Show {
        /// Its id.
        id: String,
    },
    /// Look for mistakes in entries of the catalogue: the built-in ones and those of the folder that `catalogue` names.
    Lint {
        /// Only these: files, or folders of them.
        paths: Vec<PathBuf>,
    },
    /// The JSON Schema of an entry, for editors: write it beside your entries, which begin with `#:schema ./schema.json`.
    Schema,
    /// What the folder that `catalogue` names changes of the built-in entries.
    Diff {
        /// Another folder.
        folder: Option<PathBuf>,
    },
}

pub(super) fn run(context: &Context, command: &Command) -> Result<(), CliError> {
    match command {
        Command::List => list(context),
        Command::Show { id } => show::run(context, id),
        Command::Lint { paths } => lint::run(context, paths),
        Command::Schema => schema(context),
        Command::Diff { folder } => diff::run(context, folder.as_deref()),
    }
}

impl Context {
    /// The catalogue can be read before there is a configuration, and while it is wrong.
    fn catalogue(&self) -> Result<Catalogue, CliError> {
        config::load_catalogue(self.config.as_deref(), &self.environment).map_err(CliError::Config)
    }
}

fn schema(context: &Context) -> Result<(), CliError> {
    let schema = config::entry_schema();
    let text = serde_json::to_string_pretty(&schema).map_err(CliError::failed)?;
    context.out.say(&schema, &text)
}

fn list(context: &Context) -> Result<(), CliError> {
    let configured = context.settings().ok();
    let configured: Vec<_> = configured.iter().flat_map(Settings::named).collect();
    let catalogue = context.catalogue()?;
    let mut entries = Vec::new();
    for id in catalogue.ids() {
        entries.extend(catalogue.entry(id).map_err(refused)?);
    }
    let value = json!({
        "configured": configured.iter().map(|(id, name)| json!({ "id": id.as_str(), "name": name })).collect::<Vec<_>>(),
        "catalogue": entries.iter().map(listed).collect::<Vec<_>>(),
    });
    let mut rows: Vec<[String; 6]> = Vec::new();
    rows.extend(configured.iter().map(|(id, name)| {
        let nothing = String::new;
        [id.to_string(), (*name).to_owned(), "configured".to_owned(), nothing(), nothing(), nothing()]
    }));
    rows.extend(entries.iter().map(|entry| {
        let confidence = entry.about.confidence.map_or("", |confidence| confidence.word()).to_owned();
        let verified_on = entry.about.verified_on.clone().unwrap_or_default();
        let (kind, source) = (entry.kind().to_owned(), source(entry).to_owned());
        [entry.id.clone(), entry.name().to_owned(), source, kind, confidence, verified_on]
    }));
    let heading = ["id", "name", "where", "kind", "confidence", "verified on"];
    context.out.say(&value, &table(heading, &rows))
}

fn listed(entry: &Entry) -> Value {
    json!({
        "id": entry.id,
        "kind": entry.kind(),
        "name": entry.name(),
        "category": entry.about.category,
        "confidence": entry.about.confidence,
        "verified_on": entry.about.verified_on,
        "source": source(entry),
        "replaces_built_in": entry.replaces_built_in(),
        "extends": entry.about.extends,
    })
}

fn source(entry: &Entry) -> &'static str {
    match entry.source {
        Source::BuiltIn => "built-in",
        Source::Overlay(_) => "overlay",
    }
}

fn refused(problem: Problem) -> CliError {
    CliError::failed(problem)
}
