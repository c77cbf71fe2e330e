//! `consentry providers show`: a whole provider, and from where each key of it comes.
//!
//! What it must never do: show what stands where a secret is named.

use serde_json::{Map, Value, json};

use super::{
    super::output::{CliError, table},
    Context, refused, source,
};
use crate::{
    config::{self, Provider, Registration, Settings},
    provider::catalogue::Entry,
};

/// The most of a value that a line shows; `--json` has it whole.
const WIDTH: usize = 90;

pub(super) fn run(context: &Context, id: &str) -> Result<(), CliError> {
    let settings = context.settings();
    if let Ok(settings) = &settings
        && let Some(provider) = settings.providers.iter().find(|provider| provider.id.as_str() == id)
    {
        return configured(context, settings, provider);
    }
    if let Ok(settings) = &settings
        && let Some((_, name)) = settings.named().find(|(known, _)| known.as_str() == id)
    {
        return of_another_kind(context, id, name);
    }
    match context.catalogue()?.entry(id).map_err(refused)? {
        Some(entry) => of_catalogue(context, &entry, settings.is_ok()),
        None => Err(settings.err().unwrap_or_else(|| {
            let unnamed = if context.config.is_none() { "; no file was named (--config FILE)" } else { "" };
            CliError::failed(format!("{id} is neither configured nor in the catalogue{unnamed}"))
        })),
    }
}

/// A key of a provider: its value, and the file that it comes from.
struct Key {
    name: String,
    value: toml::Value,
    from: String,
}

impl Key {
    fn of_entry(entry: &Entry) -> Vec<Self> {
        let from =
            |name: &str| entry.inherited(name).map_or_else(|| entry.file(), |base| format!("{base}.toml"));
        let keys = entry.settings.iter();
        keys.map(|(name, value)| Self { name: name.clone(), value: value.clone(), from: from(name) })
            .collect()
    }

    fn json(keys: &[Self]) -> Value {
        let one = |key: &Self| (key.name.clone(), json!({ "value": key.value, "from": key.from }));
        keys.iter().map(one).collect::<Map<_, _>>().into()
    }

    fn text(keys: &[Self]) -> String {
        let short = |text: String| match text.char_indices().nth(WIDTH) {
            Some((at, _)) => format!("{}...", &text[..at]),
            None => text,
        };
        let row = |key: &Self| [key.name.clone(), short(key.value.to_string()), key.from.clone()];
        let mut text = table(["key", "value", "from"], &keys.iter().map(row).collect::<Vec<_>>());
        if keys.iter().any(|key| key.value.to_string().chars().count() > WIDTH) {
            text.push_str("\n\nWhat ends in ... is whole with --json.");
        }
        text
    }
}

fn configured(context: &Context, settings: &Settings, provider: &Provider) -> Result<(), CliError> {
    let redirect_uris = redirect_uris(settings, provider);
    let documents = client_documents(settings, provider);
    let (entry, keys) = keys_of(context, provider.id.as_str())?;
    let value = json!({
        "id": provider.id.as_str(),
        "name": provider.name,
        "mcp": provider.mcp.as_ref().map(|mcp| &mcp.text),
        "client_documents": documents,
        "issuer": provider.issuer,
        "authorization_endpoint": provider.authorization_endpoint,
        "token_endpoint": provider.token_endpoint,
        "client_id": provider.client_id,
        "scopes": provider.scopes.to_vec(),
        "allowed_scopes": provider.allowed_scopes.to_vec(),
        "pkce": provider.pkce,
        "redirect_uris": redirect_uris,
        "docs_url": provider.docs_url,
        "keys": Key::json(&keys),
    });
    let mut text = format!("{} ({}), configured", provider.name, provider.id);
    let how = match provider.mcp.as_ref().map(|mcp| mcp.registration) {
        None | Some(Registration::Static) => "Redirect URIs to register there",
        Some(_) => "Redirect URIs of our client there",
    };
    for (heading, addresses) in
        [(how, &redirect_uris), ("Client ids, where the authorization server reads of us", &documents)]
    {
        if !addresses.is_empty() {
            text.push_str(&format!("\n\n{heading}:"));
            addresses.iter().for_each(|one| text.push_str(&format!("\n  {one}")));
        }
    }
    if redirect_uris.is_empty() {
        text.push_str("\n\nNo MCP server lists the provider, so there is no redirect URI yet.");
    }
    if let Some(entry) = entry {
        text.push_str(&sentences(&entry, &redirect_uris.join(", ")));
    }
    text.push_str(&format!("\n\n{}", Key::text(&keys)));
    context.out.say(&value, &text)
}

/// Where nothing is registered at the provider.
fn of_another_kind(context: &Context, id: &str, name: &str) -> Result<(), CliError> {
    let (_, keys) = keys_of(context, id)?;
    let kind = keys.iter().find(|key| key.name == "kind").and_then(|key| key.value.as_str());
    let value = json!({ "id": id, "kind": kind, "name": name, "keys": Key::json(&keys) });
    context.out.say(&value, &format!("{name} ({id}), configured\n\n{}", Key::text(&keys)))
}

/// What an entry says to its operator, with what is to be pasted there.
fn sentences(entry: &Entry, callback_url: &str) -> String {
    let about = &entry.about;
    let mut text = String::new();
    for (heading, sentences) in
        [("At the provider", &about.setup), ("Note", &about.notes), ("Not checked", &about.unverified)]
    {
        for (n, sentence) in sentences.iter().enumerate() {
            let before = if n == 0 { format!("\n\n{heading}:\n  ") } else { "\n  ".to_owned() };
            text.push_str(&format!("{before}{}", sentence.replace("{callback_url}", callback_url)));
        }
    }
    text
}

/// The entry that a configured provider is laid over, and all of its keys: those of the entry, under those of the settings.
fn keys_of(context: &Context, id: &str) -> Result<(Option<Entry>, Vec<Key>), CliError> {
    let own = config::provider_table(context.config.as_deref(), &context.environment, id);
    let own = own.map_err(CliError::Config)?;
    let entry = match own.get("preset").and_then(toml::Value::as_str) {
        Some(preset) => context.catalogue()?.entry(preset).map_err(refused)?,
        None => None,
    };
    let mut keys = entry.as_ref().map(Key::of_entry).unwrap_or_default();
    keys.retain(|key| !own.contains_key(&key.name));
    let from = |(name, value)| Key { name, value, from: "settings".to_owned() };
    keys.extend(own.into_iter().map(from));
    keys.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((entry, keys))
}

/// One for each MCP server that uses the provider, where our client there is known by a document.
fn client_documents(settings: &Settings, provider: &Provider) -> Vec<String> {
    let by_document =
        provider.mcp.as_ref().filter(|mcp| mcp.registration == Registration::ClientIdMetadataDocument);
    let users = settings.mcp_servers.iter().filter(|server| server.providers.contains(&provider.id));
    let users = users.map(|server| server.id.as_str());
    by_document.map_or_else(Vec::new, |mcp| users.map(|id| mcp.document(id, provider.id.as_str())).collect())
}

/// One for each MCP server that uses the provider (R60).
pub(in crate::cli) fn redirect_uris(settings: &Settings, provider: &Provider) -> Vec<String> {
    let users = settings.mcp_servers.iter().filter(|server| server.providers.contains(&provider.id));
    users
        .map(|server| settings.public_url.join(&format!("/callback/{}/{}", server.id, provider.id)))
        .collect()
}

fn of_catalogue(context: &Context, entry: &Entry, readable: bool) -> Result<(), CliError> {
    let keys = Key::of_entry(entry);
    let about = &entry.about;
    let get = |key: &str| entry.settings.get(key);
    let value = json!({
        "id": entry.id,
        "kind": entry.kind(),
        "name": entry.name(),
        "source": source(entry),
        "issuer": get("issuer"),
        "authorization_endpoint": get("authorization_endpoint"),
        "token_endpoint": get("token_endpoint"),
        "scope_words": get("scope_words"),
        "docs_url": get("docs_url"),
        "verified_on": about.verified_on,
        "confidence": about.confidence,
        "about": about,
        "example": entry.example(),
        "keys": Key::json(&keys),
    });
    // What cannot be read may configure it.
    let configured =
        if readable { "not configured" } else { "the configuration cannot be read: see `check`" };
    let mut text = format!("{} ({}), {configured}, {}", entry.name(), entry.id, source(entry));
    let sure = about.confidence.map_or("not said", |confidence| confidence.word());
    let when = about.verified_on.as_deref().unwrap_or("never");
    text.push_str(&format!("\nconfidence: {sure}; checked at the provider: {when}"));
    text.push_str(&sentences(entry, "{callback_url}"));
    text.push_str(&format!("\n\nIn the configuration:\n\n{}\n\n{}", entry.example(), Key::text(&keys)));
    context.out.say(&value, &text)
}
