//! `[[providers]]` are of kinds, each with settings of its own, and share one space of ids.

use std::collections::HashMap;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::{Checker, shape};
use crate::config::{findings::Findings, raw};

/// The entries of `[[providers]]`, each with its path.
#[derive(Default)]
pub(super) struct Kinds {
    /// `oauth2`, which an entry is that does not say.
    pub(super) oauth2: Vec<(String, raw::Provider)>,
    /// `secret`.
    pub(super) secret: Vec<(String, raw::SecretForm)>,
    /// `redirect`.
    pub(super) redirect: Vec<(String, raw::HostedPage)>,
}

impl Kinds {
    /// Takes the list out of `table`, its presets laid under it already.
    pub(super) fn read(table: &mut Table, findings: &mut Findings) -> Self {
        let mut kinds = Self::default();
        let values = match table.remove("providers") {
            None => Vec::new(),
            Some(Value::Array(values)) => values,
            Some(_) => {
                findings.refuse("providers", "must be a list: [[providers]]");
                Vec::new()
            }
        };
        for (at, mut value) in values.into_iter().enumerate() {
            let path = format!("providers[{at}]");
            let kind = value.as_table_mut().and_then(|table| table.remove("kind"));
            match kind.as_ref().map_or(Some("oauth2"), Value::as_str) {
                Some("oauth2") => add(&mut kinds.oauth2, path, value, findings),
                Some("secret") => add(&mut kinds.secret, path, value, findings),
                Some("redirect") => add(&mut kinds.redirect, path, value, findings),
                _ => {
                    let problem = "must be \"oauth2\", \"secret\" or \"redirect\"";
                    findings.refuse(format!("{path}.kind"), problem);
                }
            }
        }
        kinds
    }

    /// Path and id of each entry, kind by kind.
    fn ids(&self) -> impl Iterator<Item = (&str, &str)> {
        let oauth2 = self.oauth2.iter().map(|(at, one)| (at.as_str(), one.id.as_str()));
        let secret = self.secret.iter().map(|(at, one)| (at.as_str(), one.id.as_str()));
        let redirect = self.redirect.iter().map(|(at, one)| (at.as_str(), one.id.as_str()));
        oauth2.chain(secret).chain(redirect)
    }
}

fn add<T: DeserializeOwned>(
    list: &mut Vec<(String, T)>,
    path: String,
    value: Value,
    findings: &mut Findings,
) {
    if let Some(raw) = shape(value, &path, findings) {
        list.push((path, raw));
    }
}

impl Checker<'_> {
    /// Ids are well-formed, and no two entries of whatever kind share one.
    pub(super) fn provider_ids(&mut self, kinds: &Kinds) {
        let mut ids = HashMap::new();
        let mut in_order: Vec<_> = kinds.ids().collect();
        // As they stand in the file: the second one of an id is refused. A longer number is a greater one.
        in_order.sort_by_key(|(at, _)| (at.len(), *at));
        for (at, id) in in_order {
            let key = format!("{at}.id");
            self.unique(&mut ids, &key, id);
            self.id(&key, id);
        }
    }
}
