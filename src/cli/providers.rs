//! `consentry providers`: the catalogue, and what of it is configured.

use serde_json::json;

use super::{
    Context,
    output::{CliError, table},
};
use crate::{
    config::{Provider, SecretForm, Settings},
    provider::catalogue,
    template::Template,
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The catalogue, and the providers of the configuration where there is a good one.
    List,
    /// One configured provider, with the redirect URIs to register; or one entry of the catalogue.
    Show {
        /// Its id.
        id: String,
    },
}

pub(super) fn run(context: &Context, command: &Command) -> Result<(), CliError> {
    match command {
        Command::List => list(context),
        Command::Show { id } => show(context, id),
    }
}

fn list(context: &Context) -> Result<(), CliError> {
    // The catalogue can be read before there is a configuration.
    let configured = context.settings().ok();
    let configured: Vec<_> = configured.iter().flat_map(Settings::named).collect();
    let presets = catalogue::names().filter_map(|name| Some((name, catalogue::preset(name)?)));
    let presets: Vec<_> = presets.map(|(name, preset)| (name, preset.name.unwrap_or_default())).collect();
    let value = json!({
        "configured": configured.iter().map(|(id, name)| json!({ "id": id.as_str(), "name": name })).collect::<Vec<_>>(),
        "catalogue": presets.iter().map(|(id, name)| json!({ "id": id, "name": name })).collect::<Vec<_>>(),
    });
    let mut rows: Vec<[String; 3]> = Vec::new();
    rows.extend(
        configured.iter().map(|(id, name)| [id.to_string(), (*name).to_owned(), "configured".to_owned()]),
    );
    rows.extend(presets.iter().map(|(id, name)| [(*id).to_owned(), name.clone(), "catalogue".to_owned()]));
    context.out.say(&value, &table(["id", "name", "where"], &rows))
}

fn show(context: &Context, id: &str) -> Result<(), CliError> {
    match context.settings() {
        Ok(settings) => match settings.providers.iter().find(|provider| provider.id.as_str() == id) {
            Some(provider) => configured(context, &settings, provider),
            None => match settings.secret_forms.iter().find(|form| form.id.as_str() == id) {
                Some(form) => secret_form(context, form),
                None => preset(context, id),
            },
        },
        Err(error) if catalogue::preset(id).is_none() => Err(error),
        Err(_) => preset(context, id),
    }
}

fn configured(context: &Context, settings: &Settings, provider: &Provider) -> Result<(), CliError> {
    let redirect_uris = redirect_uris(settings, provider);
    let value = json!({
        "id": provider.id.as_str(),
        "name": provider.name,
        "issuer": provider.issuer,
        "authorization_endpoint": provider.authorization_endpoint,
        "token_endpoint": provider.token_endpoint,
        "client_id": provider.client_id,
        "scopes": provider.scopes.to_vec(),
        "allowed_scopes": provider.allowed_scopes.to_vec(),
        "pkce": provider.pkce,
        "redirect_uris": redirect_uris,
        "docs_url": provider.docs_url,
    });
    let or_discovered =
        |url: &Option<url::Url>| url.as_ref().map_or("discovered".to_owned(), ToString::to_string);
    let mut text = format!(
        "{} ({})\nissuer          {}\nauthorization   {}\ntoken           {}\nclient_id       {}\nscopes          {}\n\
         allowed_scopes  {}\n\nRedirect URIs to register there:",
        provider.name,
        provider.id,
        provider.issuer.as_deref().unwrap_or("none"),
        or_discovered(&provider.authorization_endpoint),
        or_discovered(&provider.token_endpoint),
        provider.client_id,
        provider.scopes.to_text(),
        provider.allowed_scopes.to_text(),
    );
    for uri in redirect_uris {
        text.push_str(&format!("\n  {uri}"));
    }
    context.out.say(&value, &text)
}

fn secret_form(context: &Context, form: &SecretForm) -> Result<(), CliError> {
    let fields: Vec<_> = form
        .fields
        .iter()
        .map(|field| {
            json!({ "name": field.name, "label": field.label, "secret": field.secret, "optional": field.optional })
        })
        .collect();
    let probe = form.probe.as_ref().map(|probe| probe.url.text());
    let value = json!({
        "id": form.id.as_str(),
        "kind": "secret",
        "name": form.name,
        "fields": fields,
        "key_url": form.key_url,
        "probe": probe,
        "base_url": form.usage.base_url.as_ref().map(Template::text),
        "manage_url": form.manage_url,
        "docs_url": form.docs_url,
    });
    let mut text = format!(
        "{} ({}), connected by typing a key\nchecked by      {}\n\nFields:",
        form.name,
        form.id,
        probe.as_deref().unwrap_or("nothing; stored unchecked"),
    );
    for field in &form.fields {
        let secret = if field.secret { "secret" } else { "not secret" };
        let optional = if field.optional { ", optional" } else { "" };
        text.push_str(&format!("\n  {}: {} ({secret}{optional})", field.name, field.label));
    }
    context.out.say(&value, &text)
}

/// One for each MCP server that uses the provider (R60).
pub(super) fn redirect_uris(settings: &Settings, provider: &Provider) -> Vec<String> {
    let users = settings.mcp_servers.iter().filter(|server| server.providers.contains(&provider.id));
    users
        .map(|server| settings.public_url.join(&format!("/callback/{}/{}", server.id, provider.id)))
        .collect()
}

fn preset(context: &Context, id: &str) -> Result<(), CliError> {
    let preset =
        catalogue::preset(id).ok_or_else(|| CliError::failed("neither configured nor in the catalogue"))?;
    let value = json!({
        "id": id,
        "name": preset.name,
        "issuer": preset.issuer,
        "authorization_endpoint": preset.authorization_endpoint,
        "token_endpoint": preset.token_endpoint,
        "scope_words": preset.scope_words,
        "docs_url": preset.docs_url,
        "verified_on": preset.verified_on,
        "confidence": preset.confidence,
    });
    let mut text = format!(
        "{}, not configured. In the configuration:\n\n[[providers]]\nid = \"{id}\"\npreset = \"{id}\"\nclient_id = \"...\"\n\
         client_secret = {{ env = \"...\" }}\nscopes = [...]\n",
        preset.name.as_deref().unwrap_or(id),
    );
    if let Some(docs) = &preset.docs_url {
        text.push_str(&format!("\nIts documentation: {docs}"));
    }
    for (scope, words) in &preset.scope_words {
        text.push_str(&format!("\n  {scope}: {words}"));
    }
    context.out.say(&value, &text)
}
