//! A connection as its owner and their model are told of it: no secret, and a third party's words only as a short label.

use serde_json::{Value, json};

use super::ToolCall;
use crate::{
    clock::Millis,
    connection::{Account, Connection},
    elicitation::{ProviderId, ServerId},
    store::Held,
    untrusted::{is_hidden, visible},
};

/// Of an account's label, in characters.
const LABEL_CHARS_MAX: usize = 60;

impl ToolCall {
    /// As data.
    pub(super) fn shown(&self, held: &Held) -> Value {
        let connection = &held.connection;
        let now = self.mcp.app.clock.now();
        let scopes = |scopes: &crate::scope::Scopes| scopes.iter().map(str::to_owned).collect::<Vec<_>>();
        json!({
            "id": connection.id.to_string(),
            "server": { "id": connection.server.as_str(), "name": self.mcp.app.server_name(&connection.server) },
            "provider": { "id": connection.provider.as_str(), "name": self.mcp.app.provider_name(&connection.provider) },
            "account": label(&connection.account),
            "works": connection.is_alive(now),
            "status": connection.status.as_str(),
            "permissions": scopes(&connection.granted),
            "missing_permissions": scopes(&connection.asked.without(&connection.granted)),
            "connected_at": connection.created_at.rfc3339(),
            "last_used_at": held.used_at.map(Millis::rfc3339),
        })
    }

    /// In a few words: `GitHub for Example Files (octocat)`.
    pub(super) fn called(&self, connection: &Connection) -> String {
        let place = self.place(&connection.server, &connection.provider);
        match label(&connection.account) {
            Some(label) => format!("{place} ({label})"),
            None => place,
        }
    }

    /// `GitHub for Example Files`.
    pub(super) fn place(&self, server: &ServerId, provider: &ProviderId) -> String {
        let app = &self.mcp.app;
        format!("{} for {}", app.provider_name(provider), app.server_name(server))
    }
}

/// What the person recognises an account by. It is a third party's text, which a form and a model get to see: short, of
/// one line, and never something to click (E34).
pub(super) fn label(account: &Account) -> Option<String> {
    let text = account.label.as_deref().or(account.id.as_deref())?;
    let text = visible(text.to_owned());
    let line: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let short: String = line.trim().chars().filter(|c| !is_hidden(*c)).take(LABEL_CHARS_MAX).collect();
    Some(short).filter(|text| !text.is_empty() && !has_link(text))
}

/// Anything that a client could take for a link.
fn has_link(text: &str) -> bool {
    let text = text.to_lowercase();
    ["://", "www.", "]("].iter().any(|mark| text.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e34_a_label_is_short_of_one_line_and_nothing_to_click() {
        let of =
            |label: &str| super::label(&Account { id: Some("7".to_owned()), label: Some(label.to_owned()) });
        assert_eq!(of("octocat").as_deref(), Some("octocat"));
        assert_eq!(of("octo\ncat\u{202e}").as_deref(), Some("octo cat"));
        assert_eq!(of(&"x".repeat(500)).unwrap().chars().count(), LABEL_CHARS_MAX);
        for link in ["see https://evil.example/", "www.evil.example", "[me](x)"] {
            assert_eq!(of(link), None, "{link}");
        }
    }
}
