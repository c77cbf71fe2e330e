//! One entry: its file, parsed, laid over the entry that it extends, split into what speaks of it and what is for the
//! settings.

use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::{
    about::{self, About},
    built_in, lines, overlay,
};

/// Where an entry comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Compiled in.
    BuiltIn,
    /// A file of the operator's.
    Overlay(PathBuf),
}

/// What is known of one provider.
#[derive(Clone, Debug)]
pub struct Entry {
    /// From the name of its file.
    pub id: String,
    /// Where it comes from.
    pub source: Source,
    /// What it says of itself.
    pub about: About,
    /// The keys of a provider's table in the settings, for the operator's own to be laid over.
    pub settings: Table,
    /// What the file itself says, without what it extends.
    pub own: Table,
    text: Cow<'static, str>,
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as in `acme.toml`, with its folder where that is the operator's.
    pub file: String,
    /// The line, from 1; none for what concerns the file as a whole.
    pub line: Option<usize>,
    /// The key's path, as in `probe.url`; empty for the file as a whole.
    pub key: String,
    /// A sentence without a subject: "must be https".
    pub problem: String,
}

impl Problem {
    pub(super) fn of_file(file: &Path, problem: impl Into<String>) -> Self {
        Self { file: file.display().to_string(), line: None, key: String::new(), problem: problem.into() }
    }

    /// `acme.toml:12: probe.url`
    pub fn place(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let key = if self.key.is_empty() { String::new() } else { format!(": {}", self.key) };
        format!("{}{line}{key}", self.file)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place(), self.problem)
    }
}

impl Entry {
    /// Reads a file of the operator's.
    pub(super) fn read(id: &str, path: &Path) -> Result<Self, Problem> {
        let text = overlay::read(path).map_err(|problem| Problem::of_file(path, problem))?;
        Self::parse(id, Source::Overlay(path.to_owned()), text.into())
    }

    pub(super) fn parse(id: &str, source: Source, text: Cow<'static, str>) -> Result<Self, Problem> {
        let empty = Table::new();
        let mut entry = Self {
            id: id.to_owned(),
            source,
            about: About::default(),
            settings: empty.clone(),
            own: empty,
            text,
        };
        entry.own = entry.text.parse::<Table>().map_err(|error| Problem {
            line: Some(lines::line_at(&entry.text, error.span().map_or(0, |span| span.start))),
            ..entry.problem("", format!("is not TOML: {}", error.message()))
        })?;
        entry.settings = entry.own.clone();
        let mut about = about::take(&mut entry.settings);
        if let Some(base) = entry.base()? {
            let own = std::mem::replace(&mut entry.settings, base.settings);
            entry.settings.extend(own);
            let mut inherited = base.own;
            // Somebody has looked at that file, not at this one.
            inherited.remove("verified_on");
            let mut inherited = about::take(&mut inherited);
            inherited.extend(about);
            about = inherited;
        }
        entry.about = serde_path_to_error::deserialize::<_, About>(Value::Table(about))
            .map_err(|error| entry.problem(&error.path().to_string(), sentence(error.inner().message())))?;
        Ok(entry)
    }

    /// One file, wherever it is.
    ///
    /// # Errors
    /// As [`super::Catalogue::with_overlay`] and [`super::Catalogue::entry`].
    pub fn of_file(path: &Path) -> Result<Self, Problem> {
        Self::read(&overlay::id_of(path)?, path)
    }

    /// What is asked of the user: "oauth2", "secret" or "redirect".
    pub fn kind(&self) -> &str {
        self.settings.get("kind").and_then(Value::as_str).unwrap_or("oauth2")
    }

    /// The name on pages; the id where there is none.
    pub fn name(&self) -> &str {
        self.settings.get("name").and_then(Value::as_str).unwrap_or(&self.id)
    }

    /// Whether it takes the place of a built-in one.
    pub fn replaces_built_in(&self) -> bool {
        self.source != Source::BuiltIn && built_in(&self.id).is_some()
    }

    /// The entry that it extends.
    fn base(&self) -> Result<Option<Self>, Problem> {
        let Some(name) = self.own.get("extends") else { return Ok(None) };
        let problem = |text: &str| self.problem("extends", text.to_owned());
        let name = name.as_str().ok_or_else(|| problem("must be the id of a built-in entry"))?;
        let text =
            built_in(name).ok_or_else(|| problem("is no built-in entry; see `consentry providers list`"))?;
        // One step and no more, so that it ends.
        if text.lines().any(|line| line.starts_with("extends")) {
            return Err(problem("names an entry that extends another one itself"));
        }
        let base = Self::parse(name, Source::BuiltIn, text.into())?;
        Ok(Some(base))
    }

    /// A problem of this key, with its file and line: those of the entry that it extends where the key stands there.
    pub fn problem(&self, key: &str, problem: impl Into<String>) -> Problem {
        let line = lines::line_of(&self.text, key).filter(|_| !key.is_empty());
        Problem { file: self.file(), line, key: key.to_owned(), problem: problem.into() }
    }

    /// The file, for people.
    pub fn file(&self) -> String {
        match &self.source {
            Source::BuiltIn => format!("{}.toml", self.id),
            Source::Overlay(path) => path.display().to_string(),
        }
    }

    /// The entry that a key comes from, where it is not this one's own.
    pub fn inherited(&self, key: &str) -> Option<&str> {
        self.about.extends.as_deref().filter(|_| !self.own.contains_key(key))
    }
}

/// serde's own sentence, behind a key.
fn sentence(message: &str) -> String {
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => format!("must be {expected}"),
        None => format!("is refused: {message}"),
    }
}
