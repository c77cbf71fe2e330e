//! The official conformance suite of MCP, run against a server, and what docs/conformance.md says of it: that table is what is tested.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use super::program::{command, root};

/// A run of the suite: its column in the table, its package in `tests/peers`, and what it is told.
pub(crate) struct Run {
    pub(crate) column: &'static str,
    pub(crate) package: &'static str,
    pub(crate) arguments: &'static [&'static str],
}

/// Everything in this column that is not so, of a server at this URL.
pub(crate) async fn wrong(url: &str, run: &Run) -> Vec<String> {
    let outcomes = outcomes(url, run).await;
    let table = column(run.column);
    let mut wrong = Vec::new();
    for (scenario, checks) in &outcomes {
        let failed = failures(checks);
        match table.get(scenario).map(String::as_str) {
            None => wrong.push(format!("{}: {scenario} is not in the table; {failed:?}", run.column)),
            Some("green" | "vacuous") if !failed.is_empty() => {
                wrong.push(format!("{}: {scenario}: {failed:?}", run.column));
            }
            Some(_) => {}
        }
    }
    let missing =
        table.iter().filter(|(scenario, said)| !said.is_empty() && !outcomes.contains_key(*scenario));
    wrong.extend(missing.map(|(scenario, _)| format!("{}: {scenario} was not run", run.column)));
    wrong
}

/// What is said in the table of each scenario.
fn column(name: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("docs/conformance.md")).unwrap();
    let cells = |row: &str| {
        let row = row.trim().trim_matches('|').split('|');
        row.map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let head = cells(text.lines().find(|line| line.starts_with("| scenario |")).unwrap());
    let at = head.iter().position(|column| column == name).unwrap_or_else(|| panic!("no column {name}"));
    let rows = text.lines().filter(|line| line.starts_with("| `")).map(cells);
    rows.map(|row| (row[0].trim_matches('`').to_owned(), row[at].clone())).collect()
}

/// The checks of each scenario.
async fn outcomes(url: &str, run: &Run) -> BTreeMap<String, Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command("conformance.mjs");
    command.arg(format!("node_modules/{}/dist/index.js", run.package));
    command.args(["server", "--url", url]).args(run.arguments);
    command.arg("-o").arg(folder.path()).current_dir(root().join("tests/peers"));
    // Its exit code says what its results say in detail; it limits its own time.
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
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
