//! `[[mcp_servers]]`: who may call the API, and for what.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{Checker, Declared};
use crate::{
    config::{BrowserIdentity, McpServer, Provider, Registration, Webhook, raw},
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
            self.users(at, raw, declared);
        }
        self.owners(&list);
        list.into_iter().filter_map(|(at, raw)| self.mcp_server(&at, raw, declared)).collect()
    }

    /// Who names the users: an authorization server, or with codes the MCP server itself.
    fn users(&mut self, at: &str, raw: &raw::McpServer, declared: &Declared) {
        let key = format!("{at}.authorization_server");
        match &raw.authorization_server {
            Some(id) => {
                let known = declared.authorization_servers.contains(id);
                self.demand(known, key, "names no [[authorization_servers]] entry");
            }
            None => {
                let codes = raw.identity == raw::BrowserIdentity::Code;
                self.demand(codes, key, "is missing; only with identity = \"code\" it may be left out");
                let problem = "needs an authorization_server, which the tokens are of";
                self.demand(!raw.require_subject_token, format!("{at}.require_subject_token"), problem);
            }
        }
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

    /// The same registration under two ids is one all the same (R62).
    pub(super) fn registrations(&mut self, servers: &[McpServer], providers: &[Provider]) {
        let mut owners: BTreeMap<(&str, &str), (&ProviderId, Option<&str>)> = BTreeMap::new();
        for server in servers {
            for id in &server.providers {
                let Some(provider) = providers.iter().find(|provider| provider.id == *id) else { continue };
                // Where each callback is registered by itself, nothing is shared.
                if provider.mcp.as_ref().is_some_and(|mcp| mcp.registration != Registration::Static) {
                    continue;
                }
                let mcp = provider.mcp.as_ref().map(|mcp| &mcp.url);
                let endpoint = provider.token_endpoint.as_ref().or(mcp).map(url::Url::as_str);
                let place = provider.issuer.as_deref().or(endpoint).unwrap_or_default();
                let owner = server.owner.as_deref();
                let registration = (place, provider.client_id.as_str());
                let (first, first_owner) = *owners.entry(registration).or_insert((id, owner));
                // The same id is refused with a sentence of its own.
                self.demand(
                    first == id || first_owner == owner,
                    format!("mcp_servers.{}.providers.{id}", server.id),
                    format!("is the registration of {first} too, which another owner uses"),
                );
            }
        }
    }

    /// A browser sends the attempt's cookie with a form from elsewhere only when it is `Secure`.
    pub(super) fn demands_https(&mut self, providers: &[Provider]) {
        for provider in providers {
            let problem = "needs an https public_url: the answer comes as a form from another site";
            self.demand(!provider.form_post, format!("providers.{}.form_post", provider.id), problem);
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
        let identity = match raw.identity {
            raw::BrowserIdentity::SignIn => BrowserIdentity::SignIn,
            raw::BrowserIdentity::Code => BrowserIdentity::Code,
        };
        Some(McpServer {
            own_issuer: format!("urn:consentry:mcp-server:{}", raw.id),
            identity,
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
        self.demand(is_webhook_secret(&secret), &key, WEBHOOK_SECRET);
        self.only_use(&key, &secret);
        let former = format!("{at}.former_secret");
        let former_secret = raw.former_secret.as_ref().and_then(|source| {
            let secret = source.read(&former, self.environment, self.loopback, self.findings)?;
            self.demand(is_webhook_secret(&secret), &former, WEBHOOK_SECRET);
            self.only_use(&former, &secret);
            Some(secret)
        });
        Some(Webhook { url: url?, secret, former_secret })
    }
}

const WEBHOOK_SECRET: &str = "must be whsec_ and base64 of 24 to 64 random bytes";
/// 24 random bytes have more different ones than this, but for a chance of one in 10^15.
const WEBHOOK_SECRET_DISTINCT_MIN: usize = 12;

/// Standard Webhooks, "Signature scheme" (R113). What is typed, repeated or empty proves nothing to the receiver.
fn is_webhook_secret(secret: &Secret) -> bool {
    let bytes = secret.expose().strip_prefix("whsec_").and_then(|text| BASE64_STANDARD.decode(text).ok());
    bytes.is_some_and(|bytes| {
        let distinct: BTreeSet<u8> = bytes.iter().copied().collect();
        (24..=64).contains(&bytes.len()) && distinct.len() >= WEBHOOK_SECRET_DISTINCT_MIN
    })
}
