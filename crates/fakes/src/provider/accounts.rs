//! The people of "Example Files" and what they keep there.

use serde_json::{Value, json};

/// An account at the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Stable number, as `id` (a JSON number) in `/me` and as `sub` (a string) in `/userinfo`.
    pub id: u64,
    /// The name people know it by.
    pub login: String,
    /// Display name.
    pub name: String,
    /// Names of its files.
    pub files: Vec<String>,
}

impl Account {
    /// An account with two files.
    pub fn new(id: u64, login: &str) -> Self {
        Self {
            id,
            login: login.to_owned(),
            name: login.to_owned(),
            files: vec![format!("{login}-notes.txt"), format!("{login}-budget.ods")],
        }
    }

    pub(super) fn me(&self) -> Value {
        json!({ "id": self.id, "login": self.login, "name": self.name })
    }

    pub(super) fn userinfo(&self) -> Value {
        json!({ "sub": self.id.to_string(), "preferred_username": self.login, "name": self.name })
    }

    pub(super) fn file_list(&self) -> Value {
        let files = self.files.iter().enumerate();
        let files: Vec<Value> = files.map(|(n, name)| json!({ "id": n + 1, "name": name })).collect();
        json!({ "owner": self.login, "files": files })
    }

    pub(super) fn repository_list(&self) -> Value {
        let named = self.files.iter().map(|name| json!({ "full_name": format!("{}/{name}", self.login) }));
        named.collect()
    }
}

pub(super) fn default_accounts() -> Vec<Account> {
    let named = |id, login, name: &str| Account { name: name.to_owned(), ..Account::new(id, login) };
    vec![named(583_231, "octocat", "The Octocat"), named(480_938, "hubot", "Hubot")]
}
