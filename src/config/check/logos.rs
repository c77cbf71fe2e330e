//! `logo`, which a provider of any kind can have: the path of a picture.

use std::{collections::BTreeMap, path::Path};

use toml::{Table, Value};

use super::Checker;
use crate::{config::Logo, elicitation::ProviderId};

impl Checker<'_> {
    /// Takes the logos out of the providers' tables, before their kinds are told apart, and reads the files.
    pub(super) fn logos(&mut self, table: &mut Table) -> BTreeMap<ProviderId, Logo> {
        let mut logos = BTreeMap::new();
        let Some(Value::Array(entries)) = table.get_mut("providers") else { return logos };
        for (at, entry) in entries.iter_mut().enumerate() {
            let Some(own) = entry.as_table_mut() else { continue };
            let Some(logo) = own.remove("logo") else { continue };
            let key = format!("providers[{at}].logo");
            let Some(path) = logo.as_str() else {
                self.refuse(key, "must be text: the path of a PNG or SVG file");
                continue;
            };
            let logo = self.findings.keep(key, Logo::read(Path::new(path)));
            // An id that is none is refused where it stands.
            let id = own.get("id").and_then(Value::as_str).and_then(|id| id.parse().ok());
            logos.extend(id.zip(logo));
        }
        logos
    }
}
