//! The operator's folder of entries: which files count, and how one is read.
//!
//! What it must never do: follow a link out of the folder, wait at something that is no file, or read without a bound.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use super::Problem;
use crate::elicitation::ProviderId;

/// The longest entry.
const LONGEST: u64 = 64 * 1024;
/// The most entries of a folder.
const MOST: usize = 1_000;

/// Id and file of each entry. Hidden files and those that are not `*.toml` are left alone; a link may lead to a file of
/// the same folder, as those do that Kubernetes makes of a ConfigMap.
pub(super) fn files(folder: &Path) -> Result<BTreeMap<String, PathBuf>, Vec<Problem>> {
    let of_folder = |problem: String| vec![Problem::of_file(folder, problem)];
    let unreadable = |error: std::io::Error| of_folder(format!("cannot be read: {}", error.kind()));
    let inside = fs::canonicalize(folder).map_err(unreadable)?;
    let (mut found, mut problems) = (BTreeMap::new(), Vec::new());
    for file in fs::read_dir(folder).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || !name.ends_with(".toml") {
            continue;
        }
        match id_of(&path).and_then(|id| own_file(&path, &inside).map(|()| id)) {
            Ok(id) => drop(found.insert(id, path.clone())),
            Err(problem) => problems.push(problem),
        }
        if found.len() > MOST {
            return Err(of_folder(format!("has more than {MOST} entries")));
        }
    }
    if problems.is_empty() {
        return Ok(found);
    }
    problems.sort_by(|one, other| one.file.cmp(&other.file));
    Err(problems)
}

/// The id of an entry, which is the name of its file.
pub(super) fn id_of(path: &Path) -> Result<String, Problem> {
    let name = path.file_name().unwrap_or_default().to_str().unwrap_or_default();
    let id = name.strip_suffix(".toml").filter(|id| id.parse::<ProviderId>().is_ok()).map(str::to_owned);
    id.ok_or_else(|| {
        Problem::of_file(path, "must be called id.toml, the id being 1 to 64 of a-z, 0-9, hyphen, underscore")
    })
}

fn own_file(path: &Path, inside: &Path) -> Result<(), Problem> {
    let refused = |problem: String| Err(Problem::of_file(path, problem));
    match fs::canonicalize(path) {
        Err(error) => refused(format!("cannot be read: {}", error.kind())),
        Ok(real) if !real.starts_with(inside) => refused("is a link that leads out of the folder".to_owned()),
        Ok(real) if !real.is_file() => refused("is not a file".to_owned()),
        Ok(_) => Ok(()),
    }
}

/// The text of an entry.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::InvalidData => "is not UTF-8".to_owned(),
        kind => format!("cannot be read: {kind}"),
    };
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text)).map_err(unreadable)?;
    if text.len() as u64 > LONGEST {
        return Err("is longer than 64 KiB".to_owned());
    }
    Ok(text)
}
