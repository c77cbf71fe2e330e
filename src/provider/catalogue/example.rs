//! The settings that an entry needs, for an operator to copy.

use toml::{Table, Value};

use super::Entry;

impl Entry {
    /// A provider's table with this entry, and an operator's placeholders.
    pub fn example(&self) -> String {
        let id = &self.id;
        let mut text = format!("[[providers]]\nid = \"{id}\"\npreset = \"{id}\"\n");
        // A client that is registered without the operator is nothing to write down.
        let itself = self.settings.get("registration").is_some_and(|how| how.as_str() != Some("static"));
        if self.kind() == "oauth2" && !itself {
            text.push_str("client_id = \"...\"\n");
            let name = id.to_uppercase().replace('-', "_");
            match self.settings.get("client_authentication").and_then(Value::as_str) {
                Some("none") => {}
                Some("private_key_jwt") => {
                    text.push_str(&format!("client_key = {{ env = \"{name}_CLIENT_KEY\" }}\n"));
                }
                _ => text.push_str(&format!("client_secret = {{ env = \"{name}_CLIENT_SECRET\" }}\n")),
            }
            if let Some(scope) = self.a_scope() {
                text.push_str(&format!("scopes = [{scope:?}]\n"));
            }
        }
        self.values(&mut text);
        text
    }

    /// One to begin with, where the entry asks for none by itself: one that reads, where there is one.
    fn a_scope(&self) -> Option<&String> {
        let words = self.settings.get("scope_words").and_then(Value::as_table)?;
        let reads = |scope: &&String| scope.to_lowercase().contains("read");
        let scope = words.keys().find(reads).or_else(|| words.keys().next());
        scope.filter(|_| !self.settings.contains_key("scopes"))
    }

    /// What the operator can say of its addresses; a comment where nobody needs it.
    fn values(&self, text: &mut String) {
        let values: Vec<String> =
            self.variables().map(|(name, _, example)| format!("{name} = {example:?}")).collect();
        if !values.is_empty() {
            let mark = if self.needed_values().is_empty() { "# " } else { "" };
            text.push_str(&format!("{mark}values = {{ {} }}\n", values.join(", ")));
        }
    }

    /// An example of each value that the operator must give, for nobody else may.
    pub fn needed_values(&self) -> Table {
        let alone = |variable: &Table| {
            let others = may(variable, "user") || may(variable, "caller");
            !others && !variable.contains_key("default")
        };
        let needed = self.variables().filter(|(_, variable, _)| alone(variable));
        needed.map(|(name, _, example)| (name.clone(), Value::String(example.to_owned()))).collect()
    }

    /// What stands in its addresses and the operator may say, with an example of each.
    fn variables(&self) -> impl Iterator<Item = (&String, &Table, &str)> {
        let variables = self.settings.get("variables").and_then(Value::as_table).into_iter().flatten();
        variables.filter_map(|(name, variable)| {
            let variable = variable.as_table()?;
            let text = |key: &str| variable.get(key).and_then(Value::as_str);
            let operators = may(variable, "operator") && text("from_callback").is_none();
            operators.then(|| (name, variable, text("example").or(text("default")).unwrap_or("...")))
        })
    }
}

/// Whether this one may give the variable; all may where nobody is named.
pub(super) fn may(variable: &Table, who: &str) -> bool {
    let ask = variable.get("ask").and_then(Value::as_array);
    ask.is_none_or(|ask| ask.iter().any(|one| one.as_str() == Some(who)))
}
