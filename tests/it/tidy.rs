//! The rules of the house that a compiler does not know: which room may use what, and what stands nowhere.
//!
//! By grep, so it catches slips and not intent. A rule that stands in the way is changed here, in the open, with
//! its reason.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// A crate that only some files of `src/` may use, and why.
const ROOMS: &[(&str, &[&str], &str)] = &[
    ("sqlx", &["store"], "SQL is the store's; it sees only sealed values"),
    (
        "axum",
        &["web", "api", "mcp", "lib.rs", "server", "listen"],
        "moves are used by pages, API and workers alike",
    ),
    ("reqwest", &["outbound"], "one client checks addresses, sizes and times"),
    (
        "consentry_jwt",
        &["identity", "config/check/sending", "config/provider/sending"],
        "tokens are judged in one place, and a client's key is read where settings are",
    ),
    ("jsonwebtoken", &[], "crates/jwt reads tokens, strictly"),
    ("rmcp", &[], "the server does not depend on an MCP implementation"),
    ("anyhow", &["main.rs", "cli"], "errors have types that handlers can act on"),
];

/// What stands in no Rust file, and why.
const NOWHERE: &[(&str, &str)] = &[
    (concat!("#[", "allow("), "`#[expect(lint, reason = \"...\")]` says why and notices when it is over"),
    (concat!("#![", "allow("), "`#![expect(lint, reason = \"...\")]` says why and notices when it is over"),
    (concat!("#[", "ignore"), "a test that is not run says nothing"),
    (concat!("tod", "o!("), "it is done or it is not there"),
    (concat!("unimpl", "emented!("), "it is done or it is not there"),
];

/// What a name of a file must say: what is in it.
const EMPTY_NAMES: &[&str] =
    &["utils", "util", "common", "helpers", "helper", "services", "models", "manager", "misc"];

/// Lines that one file may have; people read a file in one sitting.
const LINES_MAX: usize = 600;

/// A file of this repository, by its path from the root.
struct File {
    path: String,
    text: String,
}

impl File {
    fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// Its lines with their numbers, less comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// The part that ships: not a test's file, and not what stands below `#[cfg(test)]`.
    fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_test = self.path.ends_with("/tests.rs") || self.path.contains("/tests/");
        let end = if is_test {
            1
        } else {
            (1..)
                .zip(self.text.lines())
                .find(|(_, line)| line.trim() == "#[cfg(test)]")
                .map_or(usize::MAX, |(number, _)| number)
        };
        self.code().take_while(move |(number, _)| *number < end)
    }
}

/// Every text file, less what is built, fetched or the repository's own.
fn files() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut rooms = vec![root.to_owned()];
    while let Some(room) = rooms.pop() {
        for entry in std::fs::read_dir(&room).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                let built = ["target", "node_modules", ".git", "__pycache__", ".venv"].contains(&&*name);
                if !built {
                    rooms.push(path);
                }
            } else if name != ".git"
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                let path = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                found.push(File { path, text });
            }
        }
    }
    assert!(found.iter().any(|file| file.path == "src/lib.rs"), "the repository was found");
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn rust() -> Vec<File> {
    let mut files = files();
    files.retain(|file| file.is("rs") && file.path != "tests/it/tidy.rs");
    files
}

/// Fails with every finding at once.
#[track_caller]
fn none(findings: &[String]) {
    let mut text = String::new();
    for finding in findings {
        write!(text, "\n  {finding}").unwrap();
    }
    assert!(findings.is_empty(), "{text}");
}

/// Whether `word` stands in `line` as a path's or a name's whole part.
fn uses(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = &line[at + word.len()..];
        !before.is_some_and(is_part) && after.starts_with("::")
    })
}

#[test]
fn each_room_uses_what_is_its_own() {
    let mut findings = Vec::new();
    for file in rust().iter().filter(|file| file.path.starts_with("src/")) {
        for (number, line) in file.shipped() {
            for (name, rooms, reason) in ROOMS {
                let allowed = rooms.iter().any(|room| {
                    let inside = &file.path["src/".len()..];
                    inside == *room
                        || inside == format!("{room}.rs")
                        || inside.starts_with(&format!("{room}/"))
                });
                if !allowed && uses(line, name) {
                    findings.push(format!("{}:{number} uses {name}: {reason}", file.path));
                }
            }
        }
    }
    none(&findings);
}

/// The domain is below everything: it neither waits nor calls.
#[test]
fn the_domain_does_no_input_or_output() {
    const DOMAIN: &[&str] = &["elicitation", "subject", "connection", "scope", "signal"];
    const ABOVE: &[&str] =
        &["store", "web", "api", "connect", "credential", "provider", "identity", "outbound", "app"];
    let mut findings = Vec::new();
    for file in rust().iter().filter(|file| DOMAIN.iter().any(|name| file.path == format!("src/{name}.rs"))) {
        for (number, line) in file.shipped() {
            let above = ABOVE.iter().any(|room| line.contains(&format!("crate::{room}::")));
            if above || line.contains("async fn") || uses(line, "tokio") {
                findings.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    none(&findings);
}

/// The store is below the moves and the borders.
#[test]
fn the_store_knows_nothing_above_it() {
    const ABOVE: &[&str] =
        &["web", "api", "connect", "credential", "provider", "identity", "outbound", "app", "server"];
    let mut findings = Vec::new();
    for file in rust().iter().filter(|file| file.path.starts_with("src/store")) {
        for (number, line) in file.shipped() {
            if ABOVE.iter().any(|room| line.contains(&format!("crate::{room}::"))) {
                findings.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    none(&findings);
}

#[test]
fn the_server_links_no_mcp_implementation() {
    let manifest = files().into_iter().find(|file| file.path == "Cargo.toml").unwrap().text;
    let package = &manifest[manifest.find("[package]").unwrap()..];
    assert!(!package.lines().any(|line| line.starts_with("rmcp")));
}

/// With these sqlx leaves a statement of SQLite behind its first row, and the error of its commit with it: a full disk
/// would be told as a success.
#[test]
fn what_writes_is_run_to_its_end() {
    let mut findings = Vec::new();
    for file in rust().iter().filter(|file| file.path.starts_with("src/store/")) {
        for (at, _) in file.text.match_indices(concat!("wri", "te!(self")) {
            let rest = &file.text[at..];
            let call = &rest[..rest.find(";\n").unwrap_or(rest.len())];
            if ["fetch_one", "fetch_optional", "fetch("].iter().any(|early| call.contains(early)) {
                findings.push(format!("{}: {}", file.path, call.lines().next().unwrap_or_default()));
            }
        }
    }
    none(&findings);
}

#[test]
fn each_file_says_what_it_is_for() {
    let findings: Vec<String> = rust()
        .iter()
        .filter(|file| !file.text.starts_with("//!") && !file.text.starts_with("#![doc"))
        .map(|file| format!("{} does not begin with //!", file.path))
        .collect();
    none(&findings);
}

#[test]
fn a_files_name_says_what_is_in_it() {
    let findings: Vec<String> = files()
        .iter()
        .filter(|file| {
            Path::new(&file.path).iter().any(|part| {
                let name = part.to_string_lossy();
                let name = name.split('.').next().unwrap_or_default();
                EMPTY_NAMES.contains(&name)
            })
        })
        .map(|file| file.path.clone())
        .collect();
    none(&findings);
}

#[test]
fn what_stands_nowhere() {
    let mut findings = Vec::new();
    for file in rust() {
        for (number, line) in file.code() {
            for (text, reason) in NOWHERE {
                if line.contains(text) {
                    findings.push(format!("{}:{number} has {text}: {reason}", file.path));
                }
            }
        }
    }
    none(&findings);
}

#[test]
fn nothing_that_ships_gives_up_without_a_reason() {
    let mut findings = Vec::new();
    for file in rust().iter().filter(|file| file.path.starts_with("src/")) {
        for (number, line) in file.shipped() {
            if line.contains(concat!(".unw", "rap()")) {
                findings.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    none(&findings);
}

#[test]
fn a_file_is_read_in_one_sitting() {
    let mut findings = Vec::new();
    let mut lengths = Vec::new();
    for file in rust() {
        let lines = file.text.lines().count();
        if file.path.starts_with("src/") {
            lengths.push(lines);
        }
        if lines > LINES_MAX {
            findings.push(format!("{} has {lines} lines", file.path));
        }
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    if median > 200 {
        findings.push(format!("half of the files of src/ have more than {median} lines"));
    }
    none(&findings);
}

/// Every value is escaped; the one way around it is not used.
#[test]
fn no_template_switches_escaping_off() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("templates/")) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let text: String = line.split_whitespace().collect();
            let script =
                line.contains("<script") || line.contains("javascript:") || line.contains(" onclick");
            let style = line.contains(" style=");
            if text.contains("|safe") || text.contains("|escape(\"none\")") || script || style {
                findings.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    none(&findings);
}

/// Time is the program's; a database's clock, time zone and rounding are its own.
#[test]
fn no_migration_asks_the_database_for_the_time() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("migrations/")) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let code = line.split("--").next().unwrap_or_default().to_lowercase();
            // A new column of an old table: the program before it inserts without naming it.
            let code = code.replace("not null default 0;", "not null;");
            for word in [
                "now()",
                "current_timestamp",
                "datetime(",
                "timestamp",
                "default",
                "trigger",
                " json",
                "check (",
            ] {
                if code.contains(word) {
                    findings.push(format!("{}:{number} has {word}", file.path));
                }
            }
        }
    }
    none(&findings);
}

/// A path or a name of somebody's machine helps nobody else.
#[test]
fn no_file_names_a_machine() {
    let mut machines: Vec<String> =
        ["home", "root", "Users", "work"].map(|folder| format!("/{folder}/")).into();
    machines.push("C:\\Users".to_owned());
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| !file.is("lock")) {
        for (number, line) in (1..).zip(file.text.lines()) {
            if machines.iter().any(|machine| line.contains(machine.as_str())) {
                findings.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    none(&findings);
}
