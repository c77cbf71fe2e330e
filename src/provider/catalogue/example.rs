//! The settings that an entry needs, for an operator to copy.

use toml::Value;

use super::Entry;

impl Entry {
    /// A provider's table with this entry, and an operator's placeholders.
    pub fn example(&self) -> String {
        let id = &self.id;
        let mut text = format!("[[providers]]\nid = \"{id}\"\npreset = \"{id}\"\n");
        if self.kind() == "oauth2" {
            text.push_str("client_id = \"...\"\n");
            let name = id.to_uppercase().replace('-', "_");
            match self.settings.get("client_authentication").and_then(Value::as_str) {
                Some("none") => {}
                Some("private_key_jwt") => {
                    text.push_str(&format!("client_key = {{ env = \"{name}_CLIENT_KEY\" }}\n"));
                }
                _ => text.push_str(&format!("client_secret = {{ env = \"{name}_CLIENT_SECRET\" }}\n")),
            }
            if !self.settings.contains_key("scopes") {
                let words = self.settings.get("scope_words").and_then(Value::as_table);
                let first = words.and_then(|words| words.keys().next());
                text.push_str(&format!(
                    "scopes = [{}]\n",
                    first.map(|scope| format!("{scope:?}")).unwrap_or_default()
                ));
            }
        }
        text
    }
}
