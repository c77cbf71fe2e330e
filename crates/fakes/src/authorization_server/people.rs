//! The people who can sign in, and what is said about them.

use serde_json::{Map, Value, json};

use super::Inner;
use crate::log::lock;
use crate::oauth::Refused;
use crate::tokens::fingerprint;

/// A person at the authorization server.
#[derive(Clone, Debug)]
pub struct Person {
    /// `sub` when subjects are public, and the value of the sign-in button.
    pub sub: String,
    /// Display name.
    pub name: String,
    /// `email` claim.
    pub email: String,
    /// More claims of ID tokens and userinfo; they replace the ordinary ones of their names.
    pub claims: Map<String, Value>,
}

impl Person {
    /// Somebody with an address at example.com.
    pub fn new(sub: &str, name: &str) -> Self {
        Self {
            sub: sub.to_owned(),
            name: name.to_owned(),
            email: format!("{sub}@example.com"),
            claims: Map::new(),
        }
    }

    /// One more claim.
    #[must_use]
    pub fn claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.claims.insert(name.to_owned(), value.into());
        self
    }

    /// The claims that these scopes open (OpenID Connect Core 5.4).
    pub(super) fn claims_for(&self, scopes: &[String]) -> Map<String, Value> {
        let has = |wanted: &str| scopes.iter().any(|scope| scope == wanted);
        let mut claims = Map::new();
        if has("profile") {
            claims.insert("name".to_owned(), json!(self.name));
            claims.insert("preferred_username".to_owned(), json!(self.sub));
        }
        if has("email") {
            claims.insert("email".to_owned(), json!(self.email));
            claims.insert("email_verified".to_owned(), json!(true));
        }
        claims.extend(self.claims.clone());
        claims
    }
}

impl Inner {
    pub(super) fn person(&self, sub: &str) -> Result<Person, Refused> {
        let people = lock(&self.people);
        let person = people.iter().find(|person| person.sub == sub).cloned();
        person.ok_or_else(|| Refused::new("invalid_request", format!("there is nobody called {sub}")))
    }

    /// The subject that this client sees.
    pub(super) fn subject(&self, person: &str, client_id: &str) -> String {
        if self.identity().pairwise_subjects {
            fingerprint(&[&self.core.issuer, client_id, person])
        } else {
            person.to_owned()
        }
    }
}
