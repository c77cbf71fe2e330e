//! Refuses what cannot work or is not safe (R103), and makes [`Settings`] of the rest.
//!
//! Everything that is wrong is told at once. What it must never do: repeat a value, or reach out to the network.

mod authorization_servers;
mod entries;
mod hosted_pages;
mod kinds;
mod logos;
mod mcp_endpoint;
mod mcp_providers;
mod mcp_servers;
mod providers;
mod reads;
mod revocations;
mod secret_forms;
mod secrets;
mod sections;
mod sending;
mod urls;
mod usage;
mod variables;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

pub(super) use self::entries::{OPERATORS, entry};
use super::{
    Environment, HostedPage, McpEndpoint, Provider, PublicUrl, SecretForm, Settings, findings::Findings,
    load::Layers, raw,
};
use kinds::Kinds;
use secrets::SecretsSeen;
use url::Url;
pub(super) use variables::concrete;

use crate::outbound::AddressPolicy;

/// Where our client metadata documents stand.
const CLIENT_DOCUMENTS: &str = "/client-metadata";

/// What every check can reach.
struct Checker<'a> {
    environment: &'a Environment,
    findings: &'a mut Findings,
    /// Whether `public_url` is this machine.
    loopback: bool,
    /// Where calls may go; from `outbound`, which is therefore checked first.
    policy: AddressPolicy,
    seen: SecretsSeen,
}

pub(super) fn settings(
    layers: Layers,
    environment: &Environment,
    findings: &mut Findings,
) -> Option<Settings> {
    let database_in_file = layers.variable("database.url").is_none();
    let (mut table, ignored) = (layers.table, layers.ignored);
    table.remove("catalogue");
    let public_url = public_url(table.remove("public_url"), findings);
    let loopback = public_url.as_ref().is_some_and(PublicUrl::is_loopback);
    let policy = AddressPolicy { allow_loopback: loopback, allowed: Vec::new() };
    let mut checker = Checker { environment, findings, loopback, policy, seen: SecretsSeen::default() };

    let outbound = section(&mut table, "outbound", checker.findings).map(|raw| checker.outbound(raw));
    let listen = section(&mut table, "listen", checker.findings).and_then(|raw| checker.listen(raw));
    let database = section(&mut table, "database", checker.findings)
        .and_then(|raw| checker.database(raw, database_in_file));
    let keys = section(&mut table, "encryption", checker.findings).and_then(|raw| checker.keys(raw));
    let lifetimes = section(&mut table, "lifetimes", checker.findings).map(|raw| checker.lifetimes(&raw));
    let limits = section(&mut table, "limits", checker.findings).map(|raw| checker.limits(&raw));
    let refresh = section(&mut table, "refresh", checker.findings).map(|raw| checker.refresh(&raw));
    let webhooks = section(&mut table, "webhooks", checker.findings).map(|raw| checker.webhooks(&raw));
    let audit = section::<raw::Audit>(&mut table, "audit", checker.findings);
    let log = section(&mut table, "log", checker.findings).map(|raw| checker.log(raw));
    let operator = section(&mut table, "operator", checker.findings).map(|raw| checker.operator(raw));
    let mcp = section::<raw::Mcp>(&mut table, "mcp", checker.findings);

    let declared = Declared {
        authorization_servers: declared(&table, "authorization_servers"),
        providers: declared(&table, "providers"),
    };
    let servers = list::<raw::AuthorizationServer>(&mut table, "authorization_servers", checker.findings);
    let authorization_servers = checker.authorization_servers(servers);
    let logos = checker.logos(&mut table);
    checker.presets(&mut table, &layers.catalogue);
    let (mut providers, secret_forms, hosted_pages) = checker.every_provider(&mut table);
    let documents = public_url.as_ref().map(|url| url.join(CLIENT_DOCUMENTS)).unwrap_or_default();
    providers
        .iter_mut()
        .filter_map(|one| one.mcp.as_mut())
        .for_each(|mcp| mcp.documents.clone_from(&documents));
    checker.reachable(&providers);
    let servers = list::<raw::McpServer>(&mut table, "mcp_servers", checker.findings);
    let mcp_servers = checker.mcp_servers(servers, &declared);
    checker.registrations(&mcp_servers, &providers);
    let resource = public_url.as_ref().map(|url| url.join(McpEndpoint::PATH)).unwrap_or_default();
    let mcp = mcp.map(|raw| checker.mcp_endpoint(raw, &resource, &declared, &mcp_servers));
    if public_url.as_ref().is_some_and(|url| !url.is_https()) {
        checker.demands_https(&providers);
    }
    for key in table.keys() {
        checker.findings.refuse(key, "is no setting");
    }
    Some(Settings {
        public_url: public_url?,
        listen: listen?,
        database: database?,
        keys: keys?,
        lifetimes: lifetimes?,
        limits: limits?,
        outbound: outbound?,
        refresh: refresh?,
        webhooks: webhooks?,
        audit_names_subjects: audit?.subjects == raw::AuditSubjects::Plain,
        log: log?,
        operator: operator?,
        mcp: mcp?,
        authorization_servers,
        mcp_servers,
        providers,
        secret_forms,
        logos,
        hosted_pages: hosted_pages.into_iter().map(Arc::new).collect(),
        ignored,
    })
}

fn public_url(value: Option<Value>, findings: &mut Findings) -> Option<PublicUrl> {
    let key = "public_url";
    let text = value.and_then(|value| value.as_str().map(str::to_owned)).ok_or("must be text");
    let text = findings.keep(key, text)?;
    let url = findings.keep(key, Url::parse(&text).map_err(|_| "is not a URL"))?;
    findings.keep(key, PublicUrl::new(url))
}

/// The ids that references may name, of entries with something wrong too: one mistake makes one finding.
struct Declared {
    authorization_servers: Vec<String>,
    providers: Vec<String>,
}

fn declared(table: &Table, name: &str) -> Vec<String> {
    let entries = table.get(name).and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.get("id")?.as_str()?.to_owned())).collect()
}

fn section<T: DeserializeOwned>(table: &mut Table, name: &str, findings: &mut Findings) -> Option<T> {
    let value = table.remove(name).unwrap_or_else(|| Value::Table(Table::new()));
    shape(value, name, findings)
}

/// The elements of an array of tables that have the right shape, each with its path.
fn list<T: DeserializeOwned>(table: &mut Table, name: &str, findings: &mut Findings) -> Vec<(String, T)> {
    let Some(value) = table.remove(name) else { return Vec::new() };
    let Value::Array(values) = value else {
        findings.refuse(name, format!("must be a list: [[{name}]]"));
        return Vec::new();
    };
    let shaped = values.into_iter().enumerate().filter_map(|(at, value)| {
        let path = format!("{name}[{at}]");
        shape(value, &path, findings).map(|raw| (path, raw))
    });
    shaped.collect()
}

fn shape<T: DeserializeOwned>(value: Value, at: &str, findings: &mut Findings) -> Option<T> {
    serde_path_to_error::deserialize(value).map_err(|error| findings.refuse_shape(at, &error)).ok()
}

impl Checker<'_> {
    /// What `[[providers]]` holds, of every kind; entries of the catalogue are checked by the same.
    fn every_provider(&mut self, table: &mut Table) -> (Vec<Provider>, Vec<SecretForm>, Vec<HostedPage>) {
        let blueprints = self.blueprints(table);
        let kinds = Kinds::read(table, self.findings);
        self.provider_ids(&kinds);
        let mut providers = self.providers(kinds.oauth2);
        blueprints.attach(&mut providers);
        (providers, self.secret_forms(kinds.secret), self.hosted_pages(kinds.redirect))
    }

    fn demand(&mut self, holds: bool, key: impl Into<String>, problem: impl Into<String>) {
        self.findings.demand(holds, key, problem);
    }

    fn refuse(&mut self, key: impl Into<String>, problem: impl Into<String>) {
        self.findings.refuse(key, problem);
    }
}

/// A form as the settings make it, for tests: the keys of its table, less kind and id.
#[cfg(test)]
pub(crate) fn form_of(keys: &str) -> super::SecretForm {
    let text = format!("[[providers]]\nkind = \"secret\"\nid = \"acme\"\n{keys}");
    let mut table: Table = text.parse().unwrap();
    let mut findings = Findings::default();
    let environment = Environment::default();
    let policy = AddressPolicy { allow_loopback: true, allowed: Vec::new() };
    let seen = SecretsSeen::default();
    let mut checker =
        Checker { environment: &environment, findings: &mut findings, loopback: true, policy, seen };
    let kinds = Kinds::read(&mut table, checker.findings);
    let mut forms = checker.secret_forms(kinds.secret);
    findings.settle(forms.pop()).unwrap()
}
