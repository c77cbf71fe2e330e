//! `[providers.variables.name]` and `values`: what stands in a provider's addresses for something that is known later.

use std::collections::{BTreeMap, HashMap};

use toml::{Table, Value};

use super::{Checker, SecretsSeen, shape};
use crate::{
    config::{
        Pattern, Provider,
        blueprint::{Blueprint, Piece, fill, kept, no_environment, part, pieces, texts},
        findings::Findings,
        raw,
        variables::{Ask, Part, Variable},
    },
    outbound::AddressPolicy,
    values::{VALUES_MAX, Values, is_name},
};

/// What else may stand in braces: known when a request is sent, and put in then.
const LATER: &[&str] =
    &["client_id", "client_secret", "token", "access_token", "refresh_token", "token_type", "id_token"];

/// Fields of our own forms.
const FORMS: &[&str] = &["attempt", "csrf", "save"];

/// The blueprints of the providers that have variables, by their ids.
#[derive(Default)]
pub(super) struct Blueprints(HashMap<String, Blueprint>);

impl Blueprints {
    /// Gives each provider its own.
    pub(super) fn attach(mut self, providers: &mut [Provider]) {
        for provider in providers {
            provider.blueprint = self.0.remove(provider.id.as_str()).map(Into::into);
        }
    }
}

/// The provider that `base` is by a table that was filled in.
pub(in crate::config) fn concrete(
    table: Table,
    base: &Provider,
    policy: &AddressPolicy,
    loopback: bool,
) -> Option<Provider> {
    let (environment, mut findings) = (no_environment(), Findings::default());
    let raw: raw::Provider = shape(Value::Table(table), "provider", &mut findings)?;
    let mut checker = Checker {
        environment: &environment,
        findings: &mut findings,
        loopback,
        policy: policy.clone(),
        seen: SecretsSeen::default(),
    };
    let mut built = checker.provider("provider", raw)?;
    built.client_secret.clone_from(&base.client_secret);
    built.sending.client_key.clone_from(&base.sending.client_key);
    built.blueprint.clone_from(&base.blueprint);
    checker.check_provider("provider", &built);
    findings.is_empty().then_some(built)
}

impl Checker<'_> {
    /// Takes variables and values out of the providers' tables, and puts samples in their places, so that all else is
    /// checked as if they were known.
    pub(super) fn blueprints(&mut self, table: &mut Table) -> Blueprints {
        let mut found = Blueprints::default();
        let Some(Value::Array(entries)) = table.get_mut("providers") else { return found };
        for (at, entry) in entries.iter_mut().enumerate() {
            let Some(own) = entry.as_table_mut() else { continue };
            if own.get("kind").is_some_and(|kind| kind.as_str() != Some("oauth2")) {
                continue;
            }
            let at = format!("providers[{at}]");
            let id = own.get("id").and_then(Value::as_str).map(str::to_owned);
            let blueprint = self.blueprint(&at, own);
            if let (Some(id), Some(blueprint)) = (id, blueprint) {
                found.0.insert(id, blueprint);
            }
        }
        found
    }

    fn blueprint(&mut self, at: &str, own: &mut Table) -> Option<Blueprint> {
        let declared = own.remove("variables");
        let values = own.remove("values");
        let raw: BTreeMap<String, raw::Variable> = match declared {
            Some(declared) => shape(declared, &format!("{at}.variables"), self.findings)?,
            None => BTreeMap::new(),
        };
        let values: BTreeMap<String, String> = match values {
            Some(values) => shape(values, &format!("{at}.values"), self.findings)?,
            None => BTreeMap::new(),
        };
        self.sentences(at, own, &raw);
        let later = later(own);
        let mut parts = self.uses(at, own, &raw, &later);
        let mut variables = BTreeMap::new();
        self.demand(raw.len() <= VALUES_MAX, format!("{at}.variables"), "are more than 32");
        for (name, raw) in raw {
            let key = format!("{at}.variables.{name}");
            self.demand(is_name(&name), &key, "must be named by 1 to 64 of a-z, 0-9 and _");
            self.demand(!later.contains(&name), &key, "has the name of something else that stands in braces");
            self.demand(!FORMS.contains(&name.as_str()), &key, "has the name of a field that every form has");
            let part = parts.remove(&name);
            self.demand(part.is_some(), &key, "stands in no address, header or parameter");
            variables.extend(self.variable(&key, raw, part.unwrap_or_default()).map(|one| (name, one)));
        }
        let given = self.given(at, &variables, &values);
        if variables.is_empty() {
            return None;
        }
        let mut kept = kept(own);
        kept.remove("kind");
        let policy = self.policy.clone();
        let blueprint = Blueprint { variables, given, table: kept, policy, loopback: self.loopback };
        let samples: BTreeMap<_, _> =
            blueprint.variables.iter().map(|(name, one)| (name, one.sample())).collect();
        fill(own, &|name| {
            let sample =
                samples.iter().find(|(known, _)| known.as_str() == name).and_then(|(_, it)| it.as_deref());
            blueprint.given.get(name).or(sample)
        });
        Some(blueprint)
    }

    /// In a sentence, people read what a variable stands for; braces mean nothing to them.
    fn sentences(&mut self, at: &str, own: &Table, declared: &BTreeMap<String, raw::Variable>) {
        let picker = own.get("picker").and_then(Value::as_str).map(|text| ("picker".to_owned(), text));
        let list = own.get("preconditions").and_then(Value::as_array).into_iter().flatten().enumerate();
        let texts = list
            .filter_map(|(n, one)| Some((format!("preconditions[{n}].text"), one.get("text")?.as_str()?)));
        let texts: Vec<(String, &str)> = texts.chain(picker).collect();
        for (key, text) in texts {
            let known = pieces(text).into_iter().all(|piece| match piece {
                Piece::Name(name, _) => declared.contains_key(name),
                Piece::Text(_) => true,
            });
            self.demand(known, format!("{at}.{key}"), "has something in braces that is no variable");
        }
    }

    /// Where each variable stands; a host wins. What is not declared is refused.
    fn uses(
        &mut self,
        at: &str,
        own: &mut Table,
        declared: &BTreeMap<String, raw::Variable>,
        later: &[String],
    ) -> HashMap<String, Part> {
        let mut parts: HashMap<String, Part> = HashMap::new();
        let mut wrong = Vec::new();
        texts(own, &mut |key, text, address| {
            for piece in pieces(text) {
                let Piece::Name(name, brace) = piece else { continue };
                if !declared.contains_key(name) {
                    // What is asked of these is asked where they are read.
                    let elsewhere =
                        ["probe.", "choice.", "granted.", "use."].iter().any(|of| key.starts_with(of));
                    if address && !elsewhere && !later.iter().any(|known| known == name) {
                        wrong.push((key.to_owned(), "has something in braces that is no variable"));
                    }
                    continue;
                }
                let part = if address { part(text, brace) } else { Some(Part::Elsewhere) };
                let Some(part) = part else {
                    wrong.push((
                        key.to_owned(),
                        "has a variable where a scheme, a user name or a port stands",
                    ));
                    continue;
                };
                let before = parts.entry(name.to_owned()).or_default();
                match (&*before, &part) {
                    (Part::Elsewhere, _) => *before = part,
                    // Behind different ends, none is fixed.
                    (Part::Host(one), Part::Host(other)) if one != other => {
                        *before = Part::Host(String::new());
                    }
                    _ => {}
                }
            }
        });
        for (key, problem) in wrong {
            self.refuse(format!("{at}.{key}"), problem);
        }
        parts
    }

    fn variable(&mut self, at: &str, raw: raw::Variable, part: Part) -> Option<Variable> {
        self.text(&format!("{at}.label"), &raw.label);
        let pattern = match raw.pattern {
            Some(pattern) => Some(self.findings.keep(format!("{at}.pattern"), Pattern::whole(&pattern))?),
            None => None,
        };
        let ask = raw.ask.unwrap_or_else(|| Ask::ALL.to_vec());
        self.demand(!ask.is_empty(), format!("{at}.ask"), "must name somebody");
        for suffix in &raw.suffixes {
            let fits = suffix.strip_prefix('.').is_some_and(is_domain);
            self.demand(
                fits,
                format!("{at}.suffixes"),
                "must be domains that begin with a dot, in lower case",
            );
        }
        for host in &raw.hosts {
            let fits = is_domain(host) || host.parse::<std::net::Ipv4Addr>().is_ok();
            self.demand(fits, format!("{at}.hosts"), "must be host names in lower case");
        }
        let (tail, whole) = match &part {
            Part::Host(tail) => (Some(tail.as_str()), tail.is_empty()),
            Part::Elsewhere => (None, false),
        };
        let fixed = tail.is_some_and(is_fixed);
        let listed = !raw.suffixes.is_empty() || !raw.hosts.is_empty() || !raw.choices.is_empty();
        let operators = raw.from_callback.is_none() && ask == [Ask::Operator];
        self.demand(
            tail.is_none() || fixed || listed || operators,
            at,
            "stands in a host and needs suffixes, hosts or choices, or ask = [\"operator\"]",
        );
        if raw.from_callback.is_some() {
            self.demand(listed, at, "comes from a response and needs suffixes, hosts or choices");
        }
        for choice in raw.choices.keys() {
            let fits = if tail.is_some() { is_domain(choice) || is_label(choice) } else { is_plain(choice) };
            self.demand(fits, format!("{at}.choices"), "holds a value that does not fit where it stands");
        }
        let mut variable = Variable {
            label: raw.label,
            help: raw.help,
            example: raw.example,
            pattern,
            choices: raw.choices,
            default: raw.default,
            suffixes: raw.suffixes,
            hosts: raw.hosts,
            from_callback: raw.from_callback,
            ask,
            part,
        };
        let default = variable.default.as_ref().and_then(|text| variable.accept(text).ok());
        for (key, text) in [("default", &variable.default), ("example", &variable.example)] {
            let fits = text.as_ref().is_none_or(|text| variable.accept(text).is_ok());
            self.demand(fits, format!("{at}.{key}"), "does not fit its own rules");
        }
        // In the one form that values are compared in.
        variable.default = default;
        let what = if whole { "needs an example that is a host" } else { "needs an example" };
        self.demand(variable.sample().is_some(), at, what);
        Some(variable)
    }

    /// The operator's own values.
    fn given(
        &mut self,
        at: &str,
        variables: &BTreeMap<String, Variable>,
        values: &BTreeMap<String, String>,
    ) -> Values {
        let mut given = Values::default();
        for (name, text) in values {
            let key = format!("{at}.values.{name}");
            let Some(variable) = variables.get(name).filter(|one| one.may(Ask::Operator)) else {
                self.refuse(key, "is no variable that the settings may give");
                continue;
            };
            if let Some(value) = self.findings.keep(&key, variable.accept(text)) {
                self.demand(given.insert(name, &value).is_ok(), key, "is no value");
            }
        }
        given
    }

    /// Somebody must be able to give each value.
    pub(super) fn reachable(&mut self, providers: &[Provider]) {
        for provider in providers {
            let Some(blueprint) = provider.blueprint.as_deref() else { continue };
            let key = format!("providers.{}.variables", provider.id);
            self.demand(provider.mcp.is_none(), key, "does not go with mcp");
            for (name, variable) in &blueprint.variables {
                let known = blueprint.given.get(name).is_some() || variable.default.is_some();
                let asked = variable.may(Ask::Caller) || variable.may(Ask::User);
                let key = format!("providers.{}.values.{name}", provider.id);
                let others = variable.from_callback.is_some() || asked;
                self.demand(known || others, key, "must be set: nobody else may give it");
            }
        }
    }
}

/// Names that are put in when a request is sent.
fn later(own: &Table) -> Vec<String> {
    let declaring =
        ["captures", "slots"].into_iter().filter_map(|key| own.get(key).and_then(Value::as_table));
    let captures = declaring.flat_map(|table| table.keys().cloned());
    let chosen = own.get("choice").and_then(|choice| choice.get("as")).and_then(Value::as_str);
    LATER.iter().map(|name| (*name).to_owned()).chain(captures).chain(chosen.map(str::to_owned)).collect()
}

fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(plain)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// A name below a top level, in lower case.
fn is_domain(text: &str) -> bool {
    text.contains('.') && text.split('.').all(is_label)
}

/// Whether what stands behind a variable is a name that somebody in particular has.
fn is_fixed(tail: &str) -> bool {
    tail == ".localhost" || tail.strip_prefix('.').is_some_and(is_domain)
}

fn is_plain(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'{' | b'}'))
}
