//! `consentry providers lint`: mistakes in entries of the catalogue, each with its file, line and key.

use std::path::PathBuf;

use serde_json::json;

use super::{super::output::CliError, Context};
use crate::{
    clock::Clock,
    provider::catalogue::{Catalogue, Entry, Finding, Level, Problem, lint},
};

pub(super) fn run(context: &Context, paths: &[PathBuf]) -> Result<(), CliError> {
    let today: String = Clock::system().now().rfc3339().chars().take(10).collect();
    let mut linted = Linted { today, entries: 0, findings: Vec::new() };
    if paths.is_empty() {
        linted.whole(&context.catalogue()?);
    }
    for path in paths {
        if path.is_dir() {
            match Catalogue::with_overlay(path) {
                Ok(catalogue) => linted.overlay(&catalogue),
                Err(problems) => problems.into_iter().for_each(|problem| linted.unusable(problem)),
            }
        } else {
            linted.one(Entry::of_file(path).map(Some));
        }
    }
    linted.tell(context)
}

struct Linted {
    today: String,
    entries: usize,
    findings: Vec<Finding>,
}

impl Linted {
    fn whole(&mut self, catalogue: &Catalogue) {
        for id in catalogue.ids() {
            self.one(catalogue.entry(id));
        }
    }

    fn overlay(&mut self, catalogue: &Catalogue) {
        for id in catalogue.overlay_ids() {
            self.one(catalogue.entry(id));
        }
    }

    fn one(&mut self, entry: Result<Option<Entry>, Problem>) {
        self.entries += 1;
        match entry {
            Ok(entry) => self.findings.extend(entry.iter().flat_map(|entry| lint(entry, &self.today))),
            Err(problem) => self.unusable(problem),
        }
    }

    fn unusable(&mut self, problem: Problem) {
        self.findings.push(Finding { level: Level::Error, problem });
    }

    fn tell(&self, context: &Context) -> Result<(), CliError> {
        let word = |level| match level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let count = |level| self.findings.iter().filter(|finding| finding.level == level).count();
        let (errors, warnings) = (count(Level::Error), count(Level::Warning));
        let findings: Vec<_> = self
            .findings
            .iter()
            .map(|Finding { level, problem }| {
                json!({ "level": word(*level), "file": problem.file, "line": problem.line, "key": problem.key, "problem": problem.problem })
            })
            .collect();
        let value = json!({ "ok": errors == 0, "entries": self.entries, "findings": findings });
        let mut text = String::new();
        for Finding { level, problem } in &self.findings {
            text.push_str(&format!("{}: {problem}\n", word(*level)));
        }
        let entries = self.entries;
        let noun = if entries == 1 { "entry" } else { "entries" };
        text.push_str(&format!("{entries} {noun}, {errors} error(s), {warnings} warning(s)"));
        context.out.say(&value, &text)?;
        if errors == 0 { Ok(()) } else { Err(CliError::Told) }
    }
}
