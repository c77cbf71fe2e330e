//! What works and is still worth a word: told at start-up, by `check` and by `doctor`.

use super::{Registration, Settings};
use crate::store::Engine;

/// Sentences for the operator.
pub fn notes(settings: &Settings) -> Vec<String> {
    let mut notes = settings.ignored.clone();
    let listen = &settings.listen;
    let behind_proxy = settings.public_url.is_https() && listen.public_tls.is_none();
    if !settings.public_url.is_https() {
        notes.push("public_url is plain http: cookies are not Secure; for this machine alone".to_owned());
    }
    if !listen.internal.ip().is_loopback() && listen.internal_tls.is_none() {
        notes.push("listen.internal speaks plain http on more than this machine; see that only your MCP servers reach it".to_owned());
    }
    if behind_proxy && listen.trusted_proxies.is_empty() {
        notes.push(
            "listen.trusted_proxies is empty: behind a proxy all users share one address's rate limit"
                .to_owned(),
        );
    }
    if !settings.public_url.is_loopback() && Engine::of(&settings.database.url) == Ok(Engine::Sqlite) {
        notes.push("database.url is SQLite: one process alone may run on it".to_owned());
    }
    if settings.mcp_servers.is_empty() {
        notes.push("there are no [[mcp_servers]]: nobody can call the API".to_owned());
    }
    for provider in &settings.providers {
        let id = &provider.id;
        let by_document = provider
            .mcp
            .as_ref()
            .is_some_and(|mcp| mcp.registration == Registration::ClientIdMetadataDocument);
        if by_document && settings.public_url.is_loopback() {
            notes.push(format!("provider {id} is registered by a document below public_url, which nobody but this machine can read"));
        }
        if !provider.pkce {
            notes.push(format!("provider {id} is used without PKCE"));
        }
    }
    for (id, _) in settings.named() {
        if !settings.mcp_servers.iter().any(|server| server.providers.contains(id)) {
            notes.push(format!("provider {id} is used by no MCP server"));
        }
    }
    notes
}
