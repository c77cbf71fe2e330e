//! The catalogue: laying a provider's table over its entry, and asking of an entry alone what will be asked of the whole.

use toml::{Table, Value};

use super::Checker;
use crate::{
    config::{ConfigError, Environment, findings::Findings},
    outbound::AddressPolicy,
    provider::catalogue::{Catalogue, Entry, Problem, Source},
};

/// What an operator alone can say, and stands in no entry.
pub(in crate::config) const OPERATORS: [&str; 10] = [
    "id",
    "preset",
    "client_id",
    "client_secret",
    "client_key",
    "client_key_id",
    "client_key_thumbprint",
    "registration_token",
    "values",
    "logo",
];
/// The variable of the registration that an entry is given to be checked.
const PLACEHOLDER: &str = "REGISTRATION";

impl Checker<'_> {
    /// Lays each provider over its entry; the operator's fields win. One with an entry that cannot be used is taken out,
    /// so that one mistake makes one finding.
    pub(super) fn presets(&mut self, table: &mut Table, catalogue: &Catalogue) {
        let Some(Value::Array(providers)) = table.get_mut("providers") else { return };
        let laid = std::mem::take(providers).into_iter().enumerate();
        *providers = laid.filter_map(|(at, provider)| self.laid_over(at, provider, catalogue)).collect();
    }

    fn laid_over(&mut self, at: usize, provider: Value, catalogue: &Catalogue) -> Option<Value> {
        let Some(id) = provider.get("preset").and_then(Value::as_str) else { return Some(provider) };
        let entry = match catalogue.entry(id) {
            Ok(Some(entry)) => entry,
            Ok(None) => {
                let problem = "is not in the catalogue; see `consentry providers list`";
                self.refuse(format!("providers[{at}].preset"), problem);
                return Some(provider);
            }
            Err(problem) => {
                self.refuse_entry(problem);
                return None;
            }
        };
        // The built-in ones are as they were when they were tested.
        if matches!(entry.source, Source::Overlay(_)) {
            let problems = self::entry(&entry, self.policy.clone());
            if !problems.is_empty() {
                problems.into_iter().for_each(|problem| self.refuse_entry(problem));
                return None;
            }
        }
        let mut whole = entry.settings;
        if let Value::Table(own) = provider {
            whole.extend(own);
        }
        Some(Value::Table(whole))
    }

    fn refuse_entry(&mut self, problem: Problem) {
        self.refuse(format!("catalogue: {}", problem.place()), problem.problem);
    }
}

/// What the settings would say against an entry, with a registration beside it.
pub(in crate::config) fn entry(entry: &Entry, policy: AddressPolicy) -> Vec<Problem> {
    let of_operators = OPERATORS.iter().filter(|key| entry.settings.contains_key(**key));
    let problems: Vec<Problem> = of_operators
        .map(|key| entry.problem(key, "stands in the settings, not in an entry of the catalogue"))
        .collect();
    if !problems.is_empty() {
        return problems;
    }
    let mut table = Table::from_iter([("providers".to_owned(), Value::Array(vec![registered(entry)]))]);
    let environment = Environment::new([(PLACEHOLDER, "a registration's secret")]);
    let mut findings = Findings::default();
    let loopback = policy.allow_loopback;
    let mut checker = Checker {
        environment: &environment,
        findings: &mut findings,
        loopback,
        policy,
        seen: super::SecretsSeen::default(),
    };
    checker.every_provider(&mut table);
    let errors = findings.settle::<()>(None).err().unwrap_or_default();
    errors.into_iter().map(|error| located(entry, error)).collect()
}

/// As an operator would have it.
fn registered(entry: &Entry) -> Value {
    let mut table = entry.settings.clone();
    let text = |text: &str| Value::String(text.to_owned());
    table.insert("id".to_owned(), text(&entry.id));
    let itself = table.get("registration").is_some_and(|how| how.as_str() != Some("static"));
    if !itself && table.get("kind").is_none_or(|kind| kind.as_str() == Some("oauth2")) {
        table.insert("client_id".to_owned(), text("client"));
        match table.get("client_authentication").and_then(Value::as_str) {
            Some("none") => {}
            // The key is the operator's, and nothing of an entry depends on it.
            Some("private_key_jwt") => drop(table.remove("client_authentication")),
            _ => {
                let secret = Table::from_iter([("env".to_owned(), text(PLACEHOLDER))]);
                table.insert("client_secret".to_owned(), Value::Table(secret));
            }
        }
        let values = entry.needed_values();
        if !values.is_empty() {
            table.insert("values".to_owned(), Value::Table(values));
        }
    }
    Value::Table(table)
}

/// The same with the file and the line.
fn located(entry: &Entry, error: ConfigError) -> Problem {
    let key = error.key.strip_prefix("providers[0]").unwrap_or(&error.key);
    entry.problem(key.trim_start_matches('.'), error.problem)
}
