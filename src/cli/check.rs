//! `consentry check`: is the configuration good? Starts nothing and asks nobody.

use serde_json::json;

use super::{Context, output::CliError};
use crate::{
    config::{ConfigError, Settings, TlsFiles, notes},
    listen::Tls,
    store::Engine,
};

pub(super) fn run(context: &Context) -> Result<(), CliError> {
    let settings = context.settings()?;
    certificates(&settings)?;
    let notes = notes(&settings);
    let engine = match Engine::of(&settings.database.url) {
        Ok(Engine::Postgres) => "postgres",
        Ok(Engine::Sqlite) | Err(_) => "sqlite",
    };
    let (servers, mcp_servers, providers) =
        (settings.authorization_servers.len(), settings.mcp_servers.len(), settings.named().count());
    let keys: Vec<_> = settings.keys.iter().map(|key| key.id().to_string()).collect();
    let value = json!({
        "ok": true,
        "file": context.config,
        "public_url": settings.public_url.origin(),
        "listen": { "public": settings.listen.public, "internal": settings.listen.internal },
        "database": engine,
        "keys": keys,
        "authorization_servers": servers,
        "mcp_servers": mcp_servers,
        "providers": providers,
        "notes": notes,
    });
    let read = match &context.config {
        Some(file) => format!("read from {}", file.display()),
        None => "no file was named, only variables and defaults were read (--config FILE)".to_owned(),
    };
    let mut text = format!(
        "The configuration is good ({read}): {} on {engine}, {servers} authorization server(s), {mcp_servers} MCP server(s), \
         {providers} provider(s), sealing with key {}.",
        settings.public_url.origin(),
        keys.first().map_or("", String::as_str),
    );
    for note in &notes {
        text.push_str(&format!("\nnote: {note}"));
    }
    context.out.say(&value, &text)
}

fn certificates(settings: &Settings) -> Result<(), CliError> {
    let listen = &settings.listen;
    let refused = |key: &str, files: &Option<TlsFiles>| {
        let error = Tls::load(files.as_ref()?).err()?;
        Some(ConfigError { key: key.to_owned(), problem: format!("is refused: {error}") })
    };
    let errors: Vec<_> =
        [("listen.public_tls", &listen.public_tls), ("listen.internal_tls", &listen.internal_tls)]
            .into_iter()
            .filter_map(|(key, files)| refused(key, files))
            .collect();
    if errors.is_empty() { Ok(()) } else { Err(CliError::Config(errors)) }
}
