//! One server for each SQLite file. A second would answer from caches of its own, wake nobody of the first, and wait
//! for its write lock.
//!
//! The lock is on a file beside the database: locks on the database's own file are SQLite's, which loses them when this
//! process closes another handle of it. It is the system's, so that it ends with the process, however that ends.
//! Commands that only look or change something beside a server do not take it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::ErrorKind,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    str::FromStr,
};

use sqlx::sqlite::SqliteConnectOptions;

use super::statements::Engine;
use crate::secret::Secret;

/// That this process alone serves from a SQLite file; nothing on Postgres. Dropping it lets another one.
#[derive(Debug)]
pub struct Alone(#[expect(dead_code, reason = "held for its lock")] Option<File>);

/// Why it does not.
#[derive(Debug, thiserror::Error)]
pub enum AloneError {
    /// Another process does.
    #[error("another server runs on {0}: SQLite is for one process, Postgres for more")]
    Taken(String),
    /// It cannot be known.
    #[error("the lock file {0} cannot be used: {1}")]
    File(String, ErrorKind),
}

impl Alone {
    /// Takes the file's lock, without waiting for it.
    ///
    /// # Errors
    /// [`AloneError`].
    pub fn claim(url: &Secret) -> Result<Self, AloneError> {
        // A URL that is not ours is refused where it is opened.
        if Engine::of(url) != Ok(Engine::Sqlite) {
            return Ok(Self(None));
        }
        let Ok(options) = SqliteConnectOptions::from_str(url.expose()) else { return Ok(Self(None)) };
        // By whatever name it is reached.
        let named = options.get_filename();
        let database = std::fs::canonicalize(named).unwrap_or_else(|_| named.to_path_buf());
        let mut name = database.clone().into_os_string();
        name.push(".lock");
        let path = PathBuf::from(name);
        let unusable = |error: &std::io::Error| AloneError::File(path.display().to_string(), error.kind());
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = opened.map_err(|error| unusable(&error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(Some(file))),
            Err(TryLockError::WouldBlock) => Err(AloneError::Taken(database.display().to_string())),
            Err(TryLockError::Error(error)) => Err(unusable(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_a_file() {
        let place = tempfile::tempdir().unwrap();
        let url = |name: &str| Secret::new(format!("sqlite:{}", place.path().join(name).display()));
        let first = Alone::claim(&url("a.db")).unwrap();
        assert!(matches!(Alone::claim(&url("a.db")), Err(AloneError::Taken(_))));
        let _another = Alone::claim(&url("b.db")).unwrap();
        drop(first);
        let _again = Alone::claim(&url("a.db")).unwrap();
        let postgres = Secret::new("postgres://localhost/consentry");
        let _both = [Alone::claim(&postgres).unwrap(), Alone::claim(&postgres).unwrap()];
    }
}
