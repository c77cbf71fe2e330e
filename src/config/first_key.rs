//! The encryption key of a first start, so that trying Consentry out takes one command.
//!
//! What it must never do: replace a key, or make one beside a database that another key has sealed.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::{
    ConfigError, Environment,
    findings::Findings,
    load::{DEFAULTS, Layers},
};
use crate::{
    random::Random,
    secret::Secret,
    vault::{Key, KeyId},
};

/// What became of the first key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstKey {
    /// Made here; the operator is to be told.
    Made(PathBuf),
    /// There is one, or the operator has named others.
    NotNeeded,
}

/// Makes the key file of the embedded defaults when neither it nor the SQLite database exists. `serve` calls it before
/// [`super::load`]; nothing else does.
///
/// # Errors
/// The database exists and its key does not; the file cannot be written; the settings cannot be read.
pub fn first_key(
    path: Option<&Path>,
    environment: &Environment,
    random: Random,
) -> Result<FirstKey, Vec<ConfigError>> {
    of_defaults(DEFAULTS, path, environment, random)
}

/// The same with other defaults, for a test that must not write into its working directory.
pub(super) fn of_defaults(
    defaults: &str,
    path: Option<&Path>,
    environment: &Environment,
    random: Random,
) -> Result<FirstKey, Vec<ConfigError>> {
    let mut findings = Findings::default();
    let made = Layers::read(defaults, path, environment, &mut findings)
        .and_then(|layers| make(&layers, random, &mut findings));
    findings.settle(made)
}

fn make(layers: &Layers, random: Random, findings: &mut Findings) -> Option<FirstKey> {
    let at = "encryption.keys";
    if layers.file.contains_key("encryption") {
        return Some(FirstKey::NotNeeded);
    }
    let key = layers.table.get("encryption")?.get("keys")?.get(0)?;
    let (id, file) = (key.get("id")?.as_str()?, PathBuf::from(key.get("file")?.as_str()?));
    if file.exists() {
        return Some(FirstKey::NotNeeded);
    }
    // Postgres, or a URL kept elsewhere: whether that database is new cannot be told from here, so `load` will say
    // that the file is missing.
    let url =
        layers.table.get("database").and_then(|database| database.get("url")).and_then(toml::Value::as_str);
    let Some(database) = url.and_then(file_of) else { return Some(FirstKey::NotNeeded) };
    if database.exists() {
        let (database, file) = (database.display(), file.display());
        findings.refuse(at, format!("name the file {file}, which is missing, but the database {database} exists: give its key back"));
        return None;
    }
    let id = findings.keep(at, KeyId::new(id))?;
    let written = write(&file, id, random)
        .map_err(|error| format!("could not be made in {}: {}", file.display(), error.kind()));
    findings.keep(at, written)?;
    Some(FirstKey::Made(file))
}

fn write(file: &Path, id: KeyId, random: Random) -> std::io::Result<()> {
    let (_, text) = Key::generate(id, &random);
    // `create_new`: a second process that starts at the same moment fails instead of replacing the first one's key.
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    out.write_all(text.expose().as_bytes())?;
    out.write_all(b"\n")?;
    out.sync_all()
}

/// The file of a `sqlite:` URL.
pub fn sqlite_file(url: &Secret) -> Option<PathBuf> {
    file_of(url.expose())
}

fn file_of(url: &str) -> Option<PathBuf> {
    let rest = url.strip_prefix("sqlite:")?;
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let path = rest.split('?').next().unwrap_or_default();
    (!path.is_empty()).then(|| PathBuf::from(path))
}
