//! The official conformance suite of MCP, both of its published lines, against a server built from our crates. Which scenarios are
//! ours, which pass without proving anything, and which are about something else, stands in docs/conformance.md: that table is what
//! is tested here.

mod server;

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use self::server::Fixture;
use crate::program::{command, root};

/// The runs, as the table calls them: package, and what it is told.
const RUNS: [(&str, &str, &[&str]); 3] = [
    ("0.1", "conformance-released", &["--suite", "all"]),
    ("0.2, 2025-11-25", "conformance-coming", &["--requirements", "2025-11-25"]),
    ("0.2, 2026-07-28", "conformance-coming", &["--requirements", "2026-07-28"]),
];

/// What is said in the table: a scenario, and for each run what it must be.
fn table() -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(root().join("docs/conformance.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        (cells[0].trim_matches('`').to_owned(), cells[1..4].to_vec())
    })
    .collect()
}

/// The checks of each scenario of a run.
async fn outcomes(url: &str, package: &str, arguments: &[&str]) -> BTreeMap<String, Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command("conformance.mjs");
    command
        .arg(format!("node_modules/{package}/dist/index.js"))
        .args(["server", "--url", url])
        .args(arguments);
    command.arg("-o").arg(folder.path()).current_dir(root().join("tests/peers"));
    // Its exit code says what its results say in detail; it limits its own time.
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let outcomes = read(folder.path());
    assert!(outcomes.len() > 20, "the suite has not run: {said}");
    outcomes
}

/// `server-{scenario}-{time}/checks.json`, as the suite writes it.
fn read(folder: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = std::fs::read(path.join("checks.json")) else { continue };
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // The name ends with a time, `-2026-11-30T03-45-00-000Z`.
        let scenario = name.strip_prefix("server-").unwrap().rsplit_once('T').unwrap().0;
        let scenario = scenario[..scenario.len() - "-2026-11-30".len()].to_owned();
        found.insert(scenario, serde_json::from_slice(&text).unwrap());
    }
    found
}

fn failures(checks: &[Value]) -> Vec<&Value> {
    let bad = |check: &&Value| check["status"] == "FAILURE" || check["status"] == "WARNING";
    checks.iter().filter(bad).collect()
}

/// What the table says of each scenario of each run is so, and no scenario is missing in it.
#[tokio::test(flavor = "multi_thread")]
async fn the_conformance_suite_says_what_the_document_says() {
    let fixture = Fixture::start().await;
    let table = table();
    let mut wrong = Vec::new();
    for (column, (run, package, arguments)) in RUNS.into_iter().enumerate() {
        let outcomes = outcomes(&fixture.url, package, arguments).await;
        for (scenario, checks) in &outcomes {
            let Some((_, said)) = table.iter().find(|(name, _)| name == scenario) else {
                wrong.push(format!("{run}: {scenario} is not in the table; {:?}", failures(checks)));
                continue;
            };
            let failed = failures(checks);
            if ["green", "vacuous"].contains(&said[column].as_str()) && !failed.is_empty() {
                wrong.push(format!("{run}: {scenario}: {failed:?}"));
            }
        }
        for (scenario, said) in &table {
            if !said[column].is_empty() && !outcomes.contains_key(scenario) {
                wrong.push(format!("{run}: {scenario} was not run"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
