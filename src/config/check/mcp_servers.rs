//! `[[mcp_servers]]`: who may call the API, and for what.

use std::collections::{BTreeMap, HashMap};

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{Checker, Declared};
use crate::{
    config::{McpServer, Webhook, raw},
    elicitation::{ProviderId, ServerId},
    secret::Secret,
};

impl Checker<'_> {
    pub(super) fn mcp_servers(
        &mut self,
        list: Vec<(String, raw::McpServer)>,
        declared: &Declared,
    ) -> Vec<McpServer> {
        let mut ids = HashMap::new();
        for (at, raw) in &list {
            self.unique(&mut ids, &format!("{at}.id"), &raw.id);
            let known = declared.authorization_servers.contains(&raw.authorization_server);
            self.demand(
                known,
                format!("{at}.authorization_server"),
                "names no [[authorization_servers]] entry",
            );
        }
        self.owners(&list);
        list.into_iter().filter_map(|(at, raw)| self.mcp_server(&at, raw, declared)).collect()
    }

    /// A provider is one registration of a client, which different owners may not share (R62).
    fn owners(&mut self, list: &[(String, raw::McpServer)]) {
        let mut owners: BTreeMap<&str, (&str, Option<&str>)> = BTreeMap::new();
        for (at, raw) in list {
            for (n, provider) in raw.providers.iter().enumerate() {
                let (first, owner) = *owners.entry(provider).or_insert((at, raw.owner.as_deref()));
                let problem = format!(
                    "is used by {first} too, which has another owner; give each its own registration"
                );
                self.demand(owner == raw.owner.as_deref(), format!("{at}.providers[{n}]"), problem);
            }
        }
    }

    fn mcp_server(&mut self, at: &str, raw: raw::McpServer, declared: &Declared) -> Option<McpServer> {
        self.id(&format!("{at}.id"), &raw.id);
        self.name(&format!("{at}.name"), &raw.name);
        self.resource(&format!("{at}.resource"), &raw.resource);
        self.demand(!raw.api_keys.is_empty(), format!("{at}.api_keys"), "must hold at least one key");
        let mut api_keys = Vec::new();
        for (n, source) in raw.api_keys.iter().enumerate() {
            api_keys.extend(self.api_key(&format!("{at}.api_keys[{n}]"), source));
        }
        let (mut ids, mut own) = (Vec::new(), HashMap::new());
        for (n, id) in raw.providers.iter().enumerate() {
            let key = format!("{at}.providers[{n}]");
            self.unique(&mut own, &key, id);
            let known = declared.providers.contains(id);
            self.demand(known, key, "names no [[providers]] entry");
            ids.extend(id.parse::<ProviderId>());
        }
        if let Some(owner) = &raw.owner {
            self.text(&format!("{at}.owner"), owner);
        }
        let webhook = raw.webhook.and_then(|raw| self.webhook(&format!("{at}.webhook"), &raw));
        Some(McpServer {
            id: raw.id.parse::<ServerId>().ok()?,
            name: raw.name,
            resource: raw.resource,
            authorization_server: raw.authorization_server,
            api_keys,
            providers: ids,
            require_subject_token: raw.require_subject_token,
            webhook,
            owner: raw.owner,
        })
    }

    fn webhook(&mut self, at: &str, raw: &raw::Webhook) -> Option<Webhook> {
        let url = self.endpoint(&format!("{at}.url"), &raw.url);
        let key = format!("{at}.secret");
        let secret = raw.secret.read(&key, self.environment, self.loopback, self.findings)?;
        self.demand(is_webhook_secret(&secret), &key, "must be whsec_ and base64 of 24 to 64 bytes");
        self.only_use(&key, &secret);
        Some(Webhook { url: url?, secret })
    }
}

/// Standard Webhooks, "Signature scheme" (R113).
fn is_webhook_secret(secret: &Secret) -> bool {
    let bytes = secret.expose().strip_prefix("whsec_").and_then(|text| BASE64_STANDARD.decode(text).ok());
    bytes.is_some_and(|bytes| (24..=64).contains(&bytes.len()))
}
