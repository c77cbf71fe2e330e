//! What can be said against an entry without asking its provider: what would stop a start, and what would leave an
//! operator or a user without words.

use toml::Value;
use url::Url;

use super::{Entry, Problem, Source};
use crate::config;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The entry cannot be used, or says something that cannot be so.
    Error,
    /// It works, and somebody will miss something.
    Warning,
}

/// What was found, and how much it matters.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Whether it can stay.
    pub level: Level,
    /// What it is.
    pub problem: Problem,
}

/// The longest sentence of those that an entry says of itself.
const LONGEST_SENTENCE: usize = 600;

/// Every rule on one entry; `today` is `YYYY-MM-DD`.
pub fn lint(entry: &Entry, today: &str) -> Vec<Finding> {
    let problems = config::entry_problems(entry);
    let mut linter = Linter { entry, findings: Vec::new() };
    linter.findings.extend(problems.into_iter().map(|problem| Finding { level: Level::Error, problem }));
    linter.what_it_says_of_itself(today);
    linter.what_people_need();
    linter.findings
}

struct Linter<'a> {
    entry: &'a Entry,
    findings: Vec<Finding>,
}

impl Linter<'_> {
    fn note(&mut self, level: Level, key: &str, problem: impl Into<String>) {
        self.findings.push(Finding { level, problem: self.entry.problem(key, problem) });
    }

    /// A built-in entry is for everybody; an operator's own may lack what only others would read.
    fn expected(&self) -> Level {
        if self.entry.source == Source::BuiltIn { Level::Error } else { Level::Warning }
    }

    fn what_it_says_of_itself(&mut self, today: &str) {
        let about = &self.entry.about;
        let expected = self.expected();
        for (key, there) in
            [("category", about.category.is_some()), ("confidence", about.confidence.is_some())]
        {
            if !there {
                self.note(expected, key, "is missing");
            }
        }
        if about.setup.is_empty() {
            self.note(Level::Warning, "setup", "is missing: what does the operator click at the provider?");
        }
        if let Some(day) = &about.verified_on {
            if !is_day(day) {
                self.note(Level::Error, "verified_on", "must be a day as YYYY-MM-DD");
            } else if day.as_str() > today {
                self.note(Level::Error, "verified_on", "is in the future");
            }
        }
        for (key, sentences) in
            [("setup", &about.setup), ("notes", &about.notes), ("unverified", &about.unverified)]
        {
            for (at, sentence) in sentences.iter().enumerate() {
                let fits = !sentence.trim().is_empty()
                    && sentence.len() <= LONGEST_SENTENCE
                    && !sentence.chars().any(char::is_control);
                if !fits {
                    let problem = "must be a sentence of at most 600 characters, without line breaks";
                    self.note(Level::Error, &format!("{key}[{at}]"), problem);
                }
            }
        }
        if about.setup_url.as_ref().is_some_and(|url| !is_link(url)) {
            self.note(Level::Error, "setup_url", "must be an https URL");
        }
    }

    fn what_people_need(&mut self) {
        let settings = &self.entry.settings;
        let expected = self.expected();
        for key in ["name", "docs_url"] {
            if !settings.contains_key(key) {
                self.note(expected, key, "is missing");
            }
        }
        if self.entry.kind() == "secret" && !settings.contains_key("use") {
            self.note(Level::Warning, "use", "is missing: how does an MCP server use the values?");
        }
        let words = settings.get("scope_words").and_then(Value::as_table);
        for key in ["scopes", "allowed_scopes"] {
            for scope in settings.get(key).and_then(Value::as_array).into_iter().flatten() {
                let Some(scope) = scope.as_str() else { continue };
                if !words.is_some_and(|words| words.contains_key(scope)) {
                    let problem = format!("has {scope}, for which scope_words has no plain words");
                    self.note(Level::Warning, key, problem);
                }
            }
        }
    }
}

fn is_link(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.scheme() == "https")
}

fn is_day(text: &str) -> bool {
    let format = time::macros::format_description!("[year]-[month]-[day]");
    time::Date::parse(text, format).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: &str = "2026-11-30";

    fn findings(text: &str) -> Vec<String> {
        let source = Source::Overlay("acme.toml".into());
        let entry = Entry::parse("acme", source, text.to_owned().into()).unwrap();
        lint(&entry, TODAY).into_iter().map(|finding| finding.problem.to_string()).collect()
    }

    #[test]
    fn each_rule_names_its_line() {
        let whole = "name = \"Acme\"\nissuer = \"https://acme.example\"\nconfidence = \"low\"\ncategory = \"dev\"\n\
                     docs_url = \"https://acme.example/docs\"\nsetup = [\"Click.\"]\n";
        assert_eq!(findings(whole), [""; 0]);
        for (line, told) in [
            ("colour = \"red\"", "acme.toml:7: colour is no setting"),
            ("token_endpoint = \"http://acme.example\"", "acme.toml:7: token_endpoint is refused"),
            ("verified_on = \"2027-01-01\"", "acme.toml:7: verified_on is in the future"),
            ("verified_on = \"yesterday\"", "acme.toml:7: verified_on must be a day"),
            ("setup_url = \"http://acme.example\"", "acme.toml:7: setup_url must be an https URL"),
            ("notes = [\"\"]", "acme.toml:7: notes[0] must be a sentence"),
            ("scopes = [\"read\"]", "acme.toml:7: scopes has read, for which"),
            ("client_id = \"mine\"", "acme.toml:7: client_id stands in the settings"),
            (
                "revocation = { url = \"https://acme.example/{app}\" }",
                "acme.toml:7: revocation.url has something in braces",
            ),
            ("[variables.a]\nlabel = \"A\"\npattern = \"(\"", "acme.toml:9: variables.a.pattern"),
            (
                "[variables.a]\nlabel = \"A\"\nsuffixes = [\"acme.example\"]",
                "acme.toml:9: variables.a.suffixes",
            ),
            (
                "[captures.a]\nfrom = \"answer\"\npath = \"a\"\nurl_suffixes = [\"x\"]",
                "acme.toml:10: captures.a.url",
            ),
            (
                "authorize_params = { state = \"x\" }",
                "acme.toml:7: authorize_params.state is sent by Consentry",
            ),
        ] {
            let found = findings(&format!("{whole}{line}\n"));
            assert!(found.iter().any(|one| one.starts_with(told)), "{line}: {found:?}");
        }
    }

    /// Every built-in entry is without errors, and reads its own keys only.
    #[test]
    fn every_built_in_entry_is_good() {
        let mut bad = Vec::new();
        for (id, _) in super::super::BUILT_IN {
            match super::super::Catalogue::built_in_entry(id) {
                Ok(entry) => bad.extend(
                    lint(&entry.unwrap(), TODAY)
                        .into_iter()
                        .filter(|finding| finding.level == Level::Error)
                        .map(|finding| finding.problem.to_string()),
                ),
                Err(problem) => bad.push(problem.to_string()),
            }
        }
        assert!(bad.is_empty(), "{}", bad.join("\n"));
    }
}
