//! How a credential that is handed out is used: the table `use` of its provider with the values in their places.

use crate::{app::App, connection::Connection, usage::Use};

use super::Credential;

/// Headers, query and base URL for this credential.
pub fn usage(app: &App, connection: &Connection, credential: &Credential) -> Use {
    match credential {
        Credential::Fields(typed) => {
            let form = app.secret_forms.get(&connection.provider);
            form.map(|form| Use::of(&form.usage, |name| typed.get(name))).unwrap_or_default()
        }
        Credential::Page => Use::default(),
        Credential::Token(access) => {
            let plain = || Use::of_token(&access.token_type, &access.token);
            // With the connection's own address: in the entry of the settings stand samples.
            let provider = app.providers.with(&connection.provider, &[&connection.values]);
            let Ok(provider) = provider else { return plain() };
            let Some(usage) = &provider.usage else { return plain() };
            let used = Use::of(usage, |name| match name {
                "access_token" => Some(access.token.expose()),
                "client_id" => Some(&provider.client_id),
                name => connection.values.get(name),
            });
            // Only an address was said: the token goes where tokens go.
            let placed = !(used.headers.is_empty() && used.query.is_empty());
            if placed { used } else { Use { base_url: used.base_url, ..plain() } }
        }
    }
}
