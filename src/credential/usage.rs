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
        Credential::Token(access) => {
            let plain = || Use::of_token(&access.token_type, &access.token);
            let Some(provider) = app.providers.get(&connection.provider) else { return plain() };
            let Some(usage) = &provider.usage else { return plain() };
            // What the operator has given and what is so by default are no values of the connection.
            let known = app.providers.variables(&connection.provider, &[&connection.values]).values;
            let used = Use::of(usage, |name| match name {
                "access_token" => Some(access.token.expose()),
                "client_id" => Some(&provider.client_id),
                name => connection.values.get(name).or_else(|| known.get(name)),
            });
            // Only an address was said: the token goes where tokens go.
            let placed = !(used.headers.is_empty() && used.query.is_empty());
            if placed { used } else { Use { base_url: used.base_url, ..plain() } }
        }
    }
}
