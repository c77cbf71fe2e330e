//! The tenants that one grant covers, of which a connection is for one: sites, organisations, accounts.
//!
//! What must never happen here: a tenant without an id that can be told exactly, or with a host outside of its list.

use serde_json::Value;

use crate::{
    config::{CaptureFrom, Choice, Provider},
    provider::{
        account::label,
        capture,
        diagnosis::{Failed, Spot, Step},
        path,
    },
    values::Values,
};

/// Tenants that are offered; a list of more is cut.
const TENANTS_MAX: usize = 200;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its id, in the values too under the choice's name.
    pub id: String,
    /// What the person knows it by. Untrusted text, clean and short.
    pub label: String,
    /// What is kept when it is chosen.
    pub values: Values,
}

/// Reads the list out of an answer; `mark` is that of this consent, where there is one.
///
/// # Errors
/// [`ProviderError::Malformed`](super::ProviderError::Malformed) when there is no list, or none in it that the choice can
/// do without.
pub(super) fn tenants(
    provider: &Provider,
    choice: &Choice,
    answer: &Value,
    mark: Option<&str>,
) -> Result<Vec<Tenant>, Failed> {
    let malformed = |what, key: &str, path: &str, answer| {
        let spot = Spot::at(Step::Choice).lost(format!("choice.{key}"), path, answer, &Values::default());
        Failed::unusable(what, spot)
    };
    let list = match path::find(answer, &choice.list) {
        Some(Value::Array(list)) => list.as_slice(),
        _ => return Err(malformed("tenant_list", "list", &choice.list, answer)),
    };
    let marked = |entry: &&Value| {
        let own = choice.consent.as_ref().and_then(|consent| path::text_at(entry, &consent.path));
        own.is_some() && own.as_deref() == mark
    };
    let all = list.iter().all(|entry| !marked(&entry));
    let mut tenants: Vec<Tenant> = Vec::new();
    for entry in list.iter().filter(|entry| all || marked(entry)).take(TENANTS_MAX) {
        let nothing = Values::default();
        let Some(id) = path::exact(entry, &nothing, &choice.id) else { continue };
        if tenants.iter().any(|one| one.id == id) {
            continue;
        }
        let mut values = capture::from_answer(provider, CaptureFrom::Choice, entry)?;
        if values.insert(&choice.name, &id).is_err() {
            continue;
        }
        let shown = label(&path::readable(entry, &nothing, &choice.label)).or_else(|| label(&id));
        tenants.push(Tenant { label: shown.unwrap_or_default(), id, values });
    }
    if !tenants.is_empty() {
        return Ok(tenants);
    }
    Err(match list.first() {
        Some(first) => malformed("no_tenant", "id", &choice.id, first),
        None => malformed("no_tenant", "list", &choice.list, answer),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::{
        config::{self, Capture},
        provider::{ProviderError, tests::acme},
    };

    fn read(provider: &Provider, choice: &Choice, answer: &Value) -> Result<Vec<Tenant>, ProviderError> {
        tenants(provider, choice, answer, None).map_err(|failed| failed.error)
    }

    fn choice() -> Choice {
        Choice {
            url: None,
            list: "accounts".into(),
            id: "id".into(),
            label: "{name} ({kind})".into(),
            name: "account_id".into(),
            consent: None,
        }
    }

    #[test]
    fn tenants_are_told_by_exact_ids() {
        let provider = acme("https://acme.example");
        let answer = json!({"accounts": [
            {"id": 7, "name": "One"},
            {"id": "8", "name": "Two\u{202e}", "kind": "test"},
            {"id": "8", "name": "again"},
            {"name": "nameless"},
            {"id": 1.5, "name": "half"},
        ]});
        let found = tenants(&provider, &choice(), &answer, None).unwrap();
        let shown: Vec<_> = found.iter().map(|one| (one.id.as_str(), one.label.as_str())).collect();
        assert_eq!(shown, [("7", "One"), ("8", "Two (test)")]);
        assert_eq!(found[0].values.get("account_id"), Some("7"));
    }

    /// Those of former consents are not offered beside those of this one; where nothing tells them apart, all are.
    #[test]
    fn tenants_of_this_consent_are_told_by_its_mark() {
        let provider = acme("https://acme.example");
        let consent = config::ChoiceOfConsent { path: "event".into(), claim: "event_id".into() };
        let choice = Choice { consent: Some(consent), ..choice() };
        let answer = json!({"accounts": [
            {"id": "1", "event": "e-1"}, {"id": "2", "event": "e-2"}, {"id": "3", "event": "e-2"}, {"id": "4"},
        ]});
        for (mark, offered) in [
            (Some("e-2"), vec!["2", "3"]),
            (Some("e-1"), vec!["1"]),
            (Some("e-3"), vec!["1", "2", "3", "4"]),
            (Some(""), vec!["1", "2", "3", "4"]),
            (None, vec!["1", "2", "3", "4"]),
        ] {
            let found = tenants(&provider, &choice, &answer, mark).unwrap();
            let ids: Vec<_> = found.iter().map(|one| one.id.as_str()).collect();
            assert_eq!(ids, offered, "{mark:?}");
        }
    }

    #[test]
    fn without_a_tenant_nothing_is_connected() {
        let provider = acme("https://acme.example");
        for (answer, what) in [
            (json!({"accounts": []}), "no_tenant"),
            (json!({}), "tenant_list"),
            (json!(null), "tenant_list"),
            (json!({"accounts": "x"}), "tenant_list"),
        ] {
            assert_eq!(read(&provider, &choice(), &answer), Err(ProviderError::Malformed { what }));
        }
    }

    /// R73: a tenant whose host is outside of the list is not offered, and nothing is connected.
    #[test]
    fn r73_a_tenants_host_is_within_its_list() {
        let mut provider = acme("https://acme.example");
        let capture = Capture {
            from: CaptureFrom::Choice,
            path: "uri".into(),
            required: true,
            url_suffixes: vec![".acme.example".into()],
        };
        provider.reads.captures = BTreeMap::from([("base_uri".into(), capture)]);
        let with = |uri: &str| json!({"accounts": [{"id": "7", "name": "One", "uri": uri}]});
        let found = tenants(&provider, &choice(), &with("https://eu.acme.example/"), None).unwrap();
        assert_eq!(found[0].values.get("base_uri"), Some("https://eu.acme.example"));
        let refused = Err(ProviderError::Malformed { what: "value_refused" });
        assert_eq!(read(&provider, &choice(), &with("https://eu.acme.example.evil.org")), refused);
    }
}
