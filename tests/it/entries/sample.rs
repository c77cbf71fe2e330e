//! Values that a person could type into an entry's form, made from what the entry says of its fields. No two are the
//! same.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{
    strategy::{Strategy, ValueTree},
    string::string_regex,
    test_runner::TestRunner,
};
use regex_lite::Regex;
use toml::{Table, Value};

use super::fact::Fact;

/// Tries to find a value that fits what is wanted of it.
const TRIES: usize = 1_000;

pub(super) struct Samples {
    runner: TestRunner,
    serial: u32,
    given: BTreeSet<String>,
}

impl Samples {
    pub(super) fn new() -> Self {
        Self { runner: TestRunner::deterministic(), serial: 0, given: BTreeSet::new() }
    }

    /// A value for each field, of the usual look; what is chosen or names a place is as the entry shows it.
    pub(super) fn fill(&mut self, fact: &Fact) -> BTreeMap<String, String> {
        let fields = fact.tables("fields");
        fields.iter().map(|field| (text(field, "name").to_owned(), self.value(field))).collect()
    }

    /// A usual value of a field.
    pub(super) fn value(&mut self, field: &Table) -> String {
        if let Some(suffix) = list(field, "suffixes").first() {
            return format!("acme{suffix}");
        }
        let first = || choices(field).into_iter().next();
        if let Some(chosen) = of(field, "default").map(str::to_owned).or_else(first) {
            return chosen;
        }
        let example = of(field, "example").filter(|example| !example.contains('…'));
        if let Some(example) = example {
            return example.to_owned();
        }
        match of(field, "pattern") {
            Some(pattern) => {
                let unfit = of(field, "test").map(matcher);
                self.like(pattern, |value| unfit.as_ref().is_none_or(|unfit| !unfit.is_match(value)))
            }
            // Whatever a header can hold, so that what is encoded wrongly shows.
            None => self.unseen(|serial, _| format!("KEY.{serial}+/=&%20 ?#~\"{{x}}'\\{serial}")),
        }
    }

    /// A value of the field's wrong kinds, at this place in their list.
    pub(super) fn wrong(&mut self, field: &Table, at: usize) -> String {
        let kinds: Vec<&str> = wrong(field).iter().map(|(pattern, _)| *pattern).collect();
        let before: Vec<Regex> = kinds[..at].iter().map(|pattern| matcher(pattern)).collect();
        self.like(kinds[at], |value| before.iter().all(|pattern| !pattern.is_match(value)))
    }

    /// Matches a pattern, and what else is wanted.
    pub(super) fn like(&mut self, pattern: &str, fits: impl Fn(&str) -> bool) -> String {
        let whole = matcher(pattern);
        let begins = pattern.strip_prefix('^');
        let core = begins.unwrap_or(pattern);
        let ends = core.strip_suffix('$').filter(|core| !core.ends_with('\\'));
        let made = string_regex(ends.unwrap_or(core)).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        let found = (0..TRIES).find_map(|_| {
            let value = self.unseen(|serial, runner| {
                let middle = made.new_tree(runner).unwrap().current();
                let (head, tail) = (format!("x{serial:08}"), format!("{serial:016}abcd{serial:04}"));
                let head = if begins.is_some() { "" } else { &head };
                format!("{head}{middle}{}", if ends.is_some() { "" } else { &tail })
            });
            (whole.is_match(&value) && fits(&value)).then_some(value)
        });
        found.unwrap_or_else(|| panic!("nothing fits {pattern}"))
    }

    fn unseen(&mut self, make: impl Fn(u32, &mut TestRunner) -> String) -> String {
        loop {
            self.serial += 1;
            let value = make(self.serial, &mut self.runner);
            if self.given.insert(value.clone()) {
                return value;
            }
        }
    }
}

pub(super) fn matcher(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

pub(super) fn of<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key)?.as_str()
}

pub(super) fn text<'a>(table: &'a Table, key: &str) -> &'a str {
    of(table, key).unwrap_or_default()
}

pub(super) fn list<'a>(table: &'a Table, key: &str) -> Vec<&'a str> {
    let list = table.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

pub(super) fn choices(field: &Table) -> Vec<String> {
    let choices = field.get("choices").and_then(Value::as_table);
    choices.into_iter().flatten().map(|(value, _)| value.clone()).collect()
}

/// Patterns of wrong kinds, each with its advice.
pub(super) fn wrong(field: &Table) -> Vec<(&str, &str)> {
    let list = field.get("wrong").and_then(Value::as_array);
    let kinds = list.into_iter().flatten().filter_map(Value::as_table);
    kinds.map(|kind| (text(kind, "pattern"), text(kind, "advice"))).collect()
}

pub(super) fn is_secret(field: &Table) -> bool {
    field.get("secret").and_then(Value::as_bool) != Some(false)
}

/// The entry's example begins as values do.
pub(super) fn example_fits(field: &Table) -> Result<(), String> {
    let (Some(example), Some(pattern)) = (of(field, "example"), of(field, "pattern")) else { return Ok(()) };
    let pattern = matcher(&format!("^(?:{pattern})"));
    let begins = example.trim_end_matches('…');
    let tails = if begins == example { 0..=0 } else { 0..=64 };
    let fits = tails.into_iter().any(|more| pattern.is_match(&format!("{begins}{}", "0".repeat(more))));
    if fits { Ok(()) } else { Err(format!("the example `{example}` does not fit the pattern")) }
}
