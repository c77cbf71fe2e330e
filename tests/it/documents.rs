//! The documents that people read: their settings load, their links lead somewhere, and the tests that they name
//! exist. (The Rust of the README is compiled by the documentation tests of `consentry-client`.)

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use consentry::{
    config::{Environment, load},
    connection::PROVIDER_CHANGED,
    credential::refresh::REASONS,
    provider::catalogue::{Catalogue, Entry, index, lint},
    secret::Hash,
};

const WITH_SETTINGS: [&str; 3] = ["README.md", "docs/getting-started.md", "docs/other-mcp-servers.md"];
const NAMING_TESTS: [&str; 3] = ["README.md", "SECURITY.md", "docs/protocol.md"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The fenced blocks of a document in this language.
fn blocks<'a>(text: &'a str, language: &'a str) -> impl Iterator<Item = &'a str> {
    let fence = format!("```{language}\n");
    text.match_indices(&fence)
        .map(|(at, fence)| text[at + fence.len()..].split("\n```").next().unwrap())
        .collect::<Vec<_>>()
        .into_iter()
}

#[test]
fn the_settings_in_the_documents_are_accepted() {
    let secret = "0123456789abcdef0123456789abcdef-";
    let environment = Environment::new([
        ("ID_CLIENT_SECRET", format!("{secret}id")),
        ("FILES_API_KEY", format!("{secret}api")),
        ("GITHUB_CLIENT_SECRET", format!("{secret}github")),
        ("ENCRYPTION_KEY", BASE64_STANDARD.encode(Hash::of(b"a test").as_bytes())),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("consentry.toml");
    for document in WITH_SETTINGS {
        let text = read(document);
        assert!(blocks(&text, "toml").next().is_some(), "{document} shows no settings");
        for settings in blocks(&text, "toml") {
            let key = "[encryption]\nkeys = [{ id = \"k\", env = \"ENCRYPTION_KEY\" }]\n";
            fs::write(&file, format!("{settings}\n{key}")).unwrap();
            if let Err(errors) = load(Some(&file), &environment) {
                panic!("{document}: {errors:?} in\n{settings}");
            }
        }
    }
}

/// Each page of a provider shows settings that an operator can start from.
#[test]
fn the_settings_on_the_pages_of_providers_are_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("consentry.toml");
    let key = BASE64_STANDARD.encode(Hash::of(b"a test").as_bytes());
    for page in pages_of_providers() {
        let text = read(&page);
        let settings = blocks(&text, "toml").next().unwrap();
        let named = settings.split("env = \"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        let secrets = named.map(|name| (name, "the-secret-of-an-app".to_owned()));
        let environment = Environment::new(secrets.chain([("ENCRYPTION_KEY".to_owned(), key.clone())]));
        let encryption = "[encryption]\nkeys = [{ id = \"k\", env = \"ENCRYPTION_KEY\" }]\n";
        fs::write(&file, format!("public_url = \"https://connect.example.com\"\n{encryption}{settings}\n"))
            .unwrap();
        if let Err(errors) = load(Some(&file), &environment) {
            panic!("{}: {errors:?} in\n{settings}", page.display());
        }
    }
}

/// One page for each entry, as the program makes it now (`scripts/generate`).
#[test]
fn the_pages_of_providers_are_up_to_date() {
    let pages: Vec<PathBuf> = pages_of_providers().collect();
    let catalogue = Catalogue::built_in();
    for id in catalogue.ids() {
        let entry = catalogue.entry(id).unwrap().unwrap();
        let page = PathBuf::from(format!("docs/providers/{id}.md"));
        assert!(pages.contains(&page), "{} is missing: scripts/generate", page.display());
        assert_eq!(read(&page).trim_end(), entry.page().trim_end(), "scripts/generate");
    }
    assert_eq!(pages.len(), catalogue.ids().len(), "a page has no entry: scripts/generate");
    assert_eq!(read("docs/providers/README.md").trim_end(), index().unwrap().trim_end(), "scripts/generate");
}

fn pages_of_providers() -> impl Iterator<Item = PathBuf> {
    let pages = documents().into_iter().filter(|path| path.starts_with("docs/providers"));
    pages.filter(|path| !path.ends_with("README.md"))
}

/// Nothing can be said against the entries that the guide shows.
#[test]
fn the_entries_in_the_guide_are_good() {
    let folder = tempfile::tempdir().unwrap();
    let text = read("docs/add-a-provider.md");
    let entries: Vec<&str> = blocks(&text, "toml")
        .filter(|block| block.contains("#:schema") || block.contains("extends"))
        .collect();
    assert_eq!(entries.len(), 3);
    for text in entries {
        let file = folder.path().join("acme.toml");
        fs::write(&file, text).unwrap();
        let entry = Entry::of_file(&file).unwrap_or_else(|problem| panic!("{problem} in\n{text}"));
        let findings = lint(&entry, "2100-01-01");
        let findings: Vec<_> = findings.iter().map(|finding| finding.problem.to_string()).collect();
        assert!(findings.iter().all(|one| one.contains("scope_words has no")), "{findings:?} in\n{text}");
    }
}

/// The API and the pages explain every reason for which a connection needs its user, and no other.
#[test]
fn every_reason_of_a_connection_is_explained() {
    let every: BTreeSet<&str> = REASONS.into_iter().chain([PROVIDER_CHANGED]).collect();
    for (document, head) in [
        ("docs/http-api.md", "| `reason` | |"),
        ("docs/pages.md", "| why it needs to be connected again | `reason` |"),
    ] {
        let text = read(document);
        let (_, table) = text.split_once(head).unwrap();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let column = usize::from(document == "docs/pages.md");
        let cells = rows.map(|row| row.trim_matches('|').split(" | ").nth(column).unwrap());
        let named: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        assert!(named.is_subset(&every), "{document}: {named:?}");
        // That of another account has its own line among the states on the pages.
        let missing: Vec<_> = every.difference(&named).collect();
        assert!(missing.is_empty() || missing == [&"account_mismatch"], "{document}: {missing:?}");
    }
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    for document in documents() {
        let text = read(&document);
        let folder = document.parent().unwrap().to_owned();
        for target in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { root().join(&document) } else { root().join(folder.join(path)) };
            assert!(file.exists(), "{}: {target}", document.display());
            assert!(heading.is_empty() || has_heading(&file, heading), "{}: {target}", document.display());
        }
    }
}

/// As GitHub makes an anchor of a heading.
fn has_heading(file: &Path, anchor: &str) -> bool {
    let text = fs::read_to_string(file).unwrap();
    let mut headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    headings.any(|heading| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).eq(anchor.chars())
    })
}

fn documents() -> Vec<PathBuf> {
    let of = |folder: &str| {
        fs::read_dir(root().join(folder)).unwrap().filter_map(|entry| {
            let path = entry.unwrap().path();
            let is_text = path.extension().is_some_and(|extension| extension == "md");
            is_text.then(|| path.strip_prefix(root()).unwrap().to_owned())
        })
    };
    let others = [
        "docs/providers",
        "clients/typescript",
        "clients/python",
        "examples/typescript",
        "examples/python",
        "examples/rust",
    ];
    of(".").chain(of("docs")).chain(others.into_iter().flat_map(of)).collect()
}

/// A table's last column under "tested by" or "tests" names tests, by a part of their path and name.
#[test]
fn every_test_that_a_document_names_exists() {
    let names = names_of_tests();
    for document in NAMING_TESTS {
        let mut named = 0;
        let mut in_table = false;
        for line in read(document).lines() {
            let Some(row) = line.strip_prefix('|') else {
                in_table = false;
                continue;
            };
            let last = row.trim_end_matches('|').rsplit('|').next().unwrap().trim();
            if matches!(last, "tested by" | "tests") {
                in_table = true;
            } else if in_table {
                for name in last.split('`').skip(1).step_by(2) {
                    named += 1;
                    assert!(
                        names.iter().any(|test| test.contains(name)),
                        "{document}: no test is called {name}"
                    );
                }
            }
        }
        assert!(named > 10, "{document} names {named} tests");
    }
}

/// `crate::module::name` of every test, as far as a path tells the module.
fn names_of_tests() -> Vec<String> {
    let mut names = Vec::new();
    for folder in ["src", "tests/it", "crates", "demo"] {
        collect(&root().join(folder), &mut names);
    }
    names
}

fn collect(folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let module = path.strip_prefix(root()).unwrap().with_extension("").display().to_string();
            let module = module.replace('/', "::");
            let module =
                module.strip_prefix("src::").or(module.strip_prefix("tests::it::")).unwrap_or(&module);
            let inner = if text.contains("mod tests {") { "::tests" } else { "" };
            // On both engines a test is an argument of a macro: its name stands at the beginning of a line.
            for line in text.lines().map(str::trim_start) {
                let name = line
                    .strip_prefix("fn ")
                    .or(line.strip_prefix("async fn "))
                    .and_then(|rest| rest.split('(').next());
                names.extend(name.map(|name| format!("{module}{inner}::{name}")));
            }
        }
    }
}
